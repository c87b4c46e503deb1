"""`rewardkit forecast`: what a reward would select for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.group import main
from rewardkit.cli.options import (
    json_option,
    label_option,
    rollout_options,
    seed_option,
    training_option,
    weights_option,
)
from rewardkit.cli.output import emit
from rewardkit.cli.scored import SCORES, scored_or_logged
from rewardkit.rollouts.write import write_whole

PICTURES = (".png", ".svg", ".pdf")


def _picture(ctx: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and value.suffix.lower() not in PICTURES:
        raise click.BadParameter(f"{str(value)!r} is no picture; its name ends with {', '.join(PICTURES)}")
    return value


@main.command("forecast", epilog=SCORES)
@click.argument("scores")
@label_option
@click.option(
    "--follow",
    multiple=True,
    metavar="COLUMN",
    help="Another column of numbers to forecast; repeat for more.",
)
@training_option
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_picture,
    help="Draw the curves into this file (PNG, SVG or PDF).",
)
@rollout_options
@weights_option
@seed_option
@json_option
def forecast_command(
    scores: str,
    label: str | None,
    follow: tuple[str, ...],
    training: rk.Training,
    plot: Path | None,
    reading: dict[str, Any],
    log_weights: dict[str, float],
    seed: int,
    as_json: bool,
) -> None:
    """Say what the reward of SCORES would select for among the siblings that were logged, per nat of KL."""
    read = scored_or_logged(scores, reading, log_weights)
    found = rk.forecast(read.scores, label=label, columns=follow, training=training, seed=seed)
    drawn = _draw(found, plot) if plot is not None else ""
    record = {**found.record(), **read.about, "plot": str(plot) if plot is not None else None}
    emit(record, f"{read.head}{found}{drawn}", as_json)


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
