"""Outlooks that are kept with a run, so that a training is rehearsed once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import Any

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.forecast import Forecast
from rewardkit.analysis.rehearsal.outlook import Outlook, TakesOver
from rewardkit.history.runs import Run

OUTLOOK = "outlook"
"""Key of what is known of a run under which its outlook stands."""


def kept_outlook(run: Run, diagnosis: Diagnosis) -> Outlook | None:
    """Return the outlook that was kept with a run, made under the same settings.

    None where there is none, or one of other settings, label or seed.
    """
    stored = run.about.get(OUTLOOK)
    if stored is None or stored["settings"] != _settings(diagnosis):
        return None
    fields = dict(stored["fields"])
    if fields["takes_over"] is not None:
        takes_over = dict(fields["takes_over"])
        takes_over["share"] = tuple(takes_over["share"])
        fields["takes_over"] = TakesOver(**takes_over)
    fields["untried"] = tuple(fields["untried"])
    return Outlook(**fields)


def keep_outlook(run: Run, source: Diagnosis | Forecast, outlook: Outlook) -> None:
    """Keep an outlook with its run, unless its folder cannot be written.

    Args:
        run: The run.
        source: What it was made of, which has the settings.
        outlook: The outlook.
    """
    about = {"settings": _settings(source), "fields": asdict(outlook)}
    with suppress(OSError):
        run.changed(outlook=about)


def _settings(source: Diagnosis | Forecast) -> dict[str, Any]:
    """Return what an outlook depends on beside the scores."""
    label = source.views[0].context.label_name
    return {"training": source.training.record(), "label": label, "seed": source.seed}
