"""at_equal_kl(): what two rewards would select for when both have moved the policy equally far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from rewardkit.analysis.forecast import Forecast
from rewardkit.analysis.statistics.curves import Curve, Selection, band
from rewardkit.analysis.statistics.groups import Floats
from rewardkit.errors import InputError, did_you_mean, preview

__all__ = ["EqualKL", "Pair", "at_equal_kl"]

STEPS = 9
"""Values of KL that are compared where none are asked for, evenly apart in its square root. Our choice."""
VIEWS = ("tilted", "best_of")
LEVEL = 0.95  # of the intervals, as in `Bootstrap`


@dataclass(frozen=True, eq=False)
class Pair:
    """One figure under both rewards, and b minus a with its 95 % interval: (kl,) each, NaN if not known."""

    a: Floats
    b: Floats
    difference: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class EqualKL:
    """Two rewards at the same values of `kl`, a `Pair` a figure that both forecasts follow.

    "reward" and scores are each by its own reward: they compare only where the definitions are the same, the
    label, the lengths and columns always. `notes` say what could not be compared.
    """

    how: Literal["tilted", "best_of"]
    kl: Floats
    figures: Mapping[str, Pair]
    notes: tuple[str, ...]

    @property
    def table(self) -> pd.DataFrame:
        """One row a figure and KL."""
        columns = ("a", "b", "difference", "low", "high")
        frames = [
            pd.DataFrame({"figure": name, "kl": self.kl, **{key: getattr(pair, key) for key in columns}})
            for name, pair in self.figures.items()
        ]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "how": self.how,
            "kl": self.kl.tolist(),
            "figures": {
                name: {key: getattr(pair, key).tolist() for key in pair.__dataclass_fields__}
                for name, pair in self.figures.items()
            },
            "notes": list(self.notes),
        }


def at_equal_kl(
    a: Forecast,
    b: Forecast,
    *,
    how: Literal["tilted", "best_of"] = "tilted",
    kl: Sequence[float] | None = None,
) -> EqualKL:
    """The figures of two rewards on the same rollouts at common values of KL, and their differences.

    Curves are straight between their points as functions of the square root of KL, in which a little
    selection is linear (Gao et al., arXiv 2210.10760, use it too). "tilted" compares at a KL that was
    measured; "best_of" at the bound, which is the same n and which a reward with ties does not use up. `kl`
    defaults to values up to where the shorter curve ends ("best_of": those of the n that both have); what is
    asked for beyond that is NaN. Intervals are of the differences in the same resamples of the prompts; a
    resample whose curve ends earlier stays at its last point. InputError: forecasts of different rollouts or
    seeds, an unknown view, a KL below 0.
    """
    for item in (a, b):
        if not isinstance(item, Forecast):
            raise InputError(
                f"at_equal_kl takes two forecasts, as rk.forecast gives them, not {preview(item)}"
            )
    if how not in VIEWS:
        raise InputError(f"how={how!r} is not one of {list(VIEWS)}{did_you_mean(str(how), VIEWS)}")
    if not a.scores.table["rollout_id"].equals(b.scores.table["rollout_id"]):
        raise InputError(
            f"the forecasts are of different rollouts ({len(a.scores)} and {len(b.scores)} rows); make both "
            "on the rows that they share, in one order"
        )
    if a.seed != b.seed:
        raise InputError(
            f"the forecasts have seeds {a.seed!r} and {b.seed!r}; make both with one, so that they resample "
            "the same prompts"
        )
    first, second = getattr(a, how), getattr(b, how)
    wanted = _common(first, second) if kl is None else np.asarray(kl, dtype=float).reshape(-1)
    if not (wanted >= 0).all():
        raise InputError(
            f"kl={preview(kl)} holds {wanted[~(wanted >= 0)][0]:g}; give numbers from 0 on, in nats"
        )
    names = [name for name in first.curves if name in second.curves and len(first) and len(second)]
    shared = [name for name in names if name != "label" or a.label == b.label]
    paired = np.array_equal(a.scores.rollouts.prompts, b.scores.rollouts.prompts)
    figures = {name: _pair(first, second, name, wanted, paired=paired) for name in shared}
    notes = _notes(a, b, first, second, wanted)
    if not paired:
        notes.append(
            "the rows are of other prompts in the two forecasts, so the differences have no interval"
        )
    return EqualKL(how, wanted, figures, tuple(notes))


def _common(first: Selection, second: Selection) -> Floats:
    """Values of KL that both curves reach."""
    if not (len(first) and len(second)):
        return np.array([])
    if first.how == "best_of":
        return first.kl[np.isin(first.points, second.points)]
    reach = max(0.0, min(first.kl[-1], second.kl[-1]))
    return np.asarray(np.linspace(0, np.sqrt(reach), STEPS) ** 2 if reach > 0 else np.zeros(1), dtype=float)


def _pair(first: Selection, second: Selection, name: str, wanted: Floats, *, paired: bool) -> Pair:
    (a, of_a), (b, of_b) = (_at(view, view.curves[name], wanted) for view in (first, second))
    if not paired:
        nothing = np.full(len(wanted), np.nan)
        return Pair(a, b, b - a, nothing, nothing)
    return Pair(a, b, b - a, *band(of_b - of_a, ~np.isnan(b - a), LEVEL))


def _at(view: Selection, curve: Curve, wanted: Floats) -> tuple[Floats, Floats]:
    """The value of a curve at these KLs, and in each resample (resamples, kl); NaN beyond its end."""
    beyond = wanted > view.kl[-1] * (1 + 1e-9)
    value = interpolated(view.kl[None], curve.value[None], wanted)[0]
    draws = interpolated(view.kl_draws, np.where(np.isnan(curve.low), np.nan, curve.draws), wanted)
    return np.where(beyond, np.nan, value), np.where(beyond, np.nan, draws)


def interpolated(kl: Floats, values: Floats, wanted: Floats) -> Floats:
    """Each row of `values` (rows, points) at `wanted`, straight in the square root of `kl`: (rows, wanted).

    Rows of `kl` rise. Before the first point and beyond the last one it is their value.

    >>> interpolated(np.array([[0.0, 0.25, 1.0]]), np.array([[0.0, 1.0, 3.0]]), np.array([0.0625, 4.0]))
    array([[0.5, 3. ]])
    """
    if kl.shape[1] == 1:
        return np.repeat(values, len(wanted), axis=1)
    d, at = np.sqrt(np.maximum(kl, 0)), np.sqrt(wanted)
    left = np.clip((d[:, None, :] <= at[:, None]).sum(axis=2) - 1, 0, kl.shape[1] - 2)
    below, above = (np.take_along_axis(d, place, axis=1) for place in (left, left + 1))
    width = above - below
    share = np.clip(np.where(width > 0, (at - below) / np.where(width > 0, width, 1.0), 1.0), 0, 1)
    start, end = (np.take_along_axis(values, place, axis=1) for place in (left, left + 1))
    return np.where(share == 0, start, np.where(share == 1, end, start + share * (end - start)))


def _notes(a: Forecast, b: Forecast, first: Selection, second: Selection, wanted: Floats) -> list[str]:
    """Why one of them has no figure somewhere."""
    notes = []
    for which, forecast, view in (("first", a, first), ("second", b, second)):
        name = f"the {which} reward, {forecast.scores.reward.name!r},"
        if len(view) == 0:
            notes.append(f"{name} judges no row")
        elif view.kl[-1] <= 0:
            notes.append(f"{name} selects nothing: its siblings cannot be told apart")
        elif (wanted > view.kl[-1] * (1 + 1e-9)).any():
            notes.append(f"{name} is known up to a KL of {view.kl[-1]:.3g} only")
    if a.label != b.label:
        notes.append(f"the labels differ ({a.label!r} and {b.label!r}) and are not compared")
    return notes
