"""`rewardkit forecast`: what a reward would select for."""

from __future__ import annotations

from pathlib import Path

import rewardkit as rk
from rewardkit.cli.command import Answer, Asked, command
from rewardkit.cli.scores import scored_or_logged
from rewardkit.rollouts.write import write_whole

PICTURES = (".png", ".svg", ".pdf")


@command(
    "SCORES --label --training --seed READING --log-weight --json",
    {
        "--follow COLUMN...": "Another column of numbers to forecast.",
        "--plot OUTPUT": f"Draw the curves into this file ({', '.join(PICTURES)}).",
    },
)
def forecast(asked: Asked) -> Answer:
    """Say what SCORES would select for, per nat of KL.

    It reweights the siblings that were logged, and cannot foresee what none of them wrote.

    Example:
      rewardkit score gallery:arithmetic gallery:arithmetic -o run1
      rewardkit forecast run1
    """
    if asked.plot is not None and asked.plot.suffix.lower() not in PICTURES:
        raise rk.InputError(
            f"{str(asked.plot)!r} is no picture; its name ends with {', '.join(PICTURES)}"
        )
    read = scored_or_logged(asked)
    found = rk.forecast(
        read.scores, columns=asked.follow or (), **asked.some("label training seed")
    )
    drawn = _draw(found, asked.plot) if asked.plot is not None else ""
    record = {
        **found.record(),
        **read.about,
        "plot": str(asked.plot) if asked.plot is not None else None,
    }
    return Answer(record, f"{read.head}{found}{drawn}")


def _draw(found: rk.Forecast, path: Path) -> str:
    """Draw the curves into a file, whole or not at all; the line that says so."""
    from rewardkit.notebook import plots  # what it imports takes seconds

    plots.without_a_screen()
    figure = plots.forecast_curves(found)[0].get_figure(root=True)
    assert figure is not None
    form = path.suffix.lower().removeprefix(".")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda temporary: figure.savefig(temporary, format=form, dpi=120))
    return f"\n\npicture: {path}"
