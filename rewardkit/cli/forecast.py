"""`rewardkit forecast`: what a reward would select for."""

from __future__ import annotations

from pathlib import Path

import rewardkit as rk
from rewardkit.cli.command import Answer, Options, command
from rewardkit.cli.scores import scored_or_logged
from rewardkit.rollouts.paths import write_whole

PICTURES = (".png", ".svg", ".pdf")


@command(
    "SCORES --label --training --seed READING --log-weight --json",
    {
        "--follow COLUMN...": "Another column of numbers to forecast.",
        "--plot OUTPUT": f"Draw the curves into this file ({', '.join(PICTURES)}).",
    },
)
def forecast(options: Options) -> Answer:
    """Say what SCORES would select for, per nat of KL.

    It reweights the siblings that were logged, and cannot foresee what none of them
    wrote.

    Example:
      rewardkit score gallery:arithmetic gallery:arithmetic -o run1
      rewardkit forecast run1
    """
    if options.plot is not None and options.plot.suffix.lower() not in PICTURES:
        raise rk.InputError(
            f"{str(options.plot)!r} is no picture; its name ends with {', '.join(PICTURES)}"
        )
    source = scored_or_logged(options)
    forecast_of_scores = rk.forecast(
        source.scores,
        columns=options.follow or (),
        **options.select("label training seed"),
    )
    drawn_line = (
        _draw(forecast_of_scores, options.plot) if options.plot is not None else ""
    )
    record = {
        **forecast_of_scores.record(),
        **source.about,
        "plot": str(options.plot) if options.plot is not None else None,
    }
    return Answer(record, f"{source.head}{forecast_of_scores}{drawn_line}")


def _draw(forecast_of_scores: rk.Forecast, path: Path) -> str:
    """Draw the curves into a file, whole or not at all; the line that says so."""
    from rewardkit.notebook import plots  # what it imports takes seconds

    plots.without_a_screen()
    figure = plots.forecast_curves(forecast_of_scores)[0].get_figure(root=True)
    assert figure is not None
    form = path.suffix.lower().removeprefix(".")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda temporary: figure.savefig(temporary, format=form, dpi=120))
    return f"\n\npicture: {path}"
