"""Comparison: what compare() found between two scored tables, as figures, as plain data and for a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.comparison.definition_changes import Change
from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.forecast import LIMITS
from rewardkit.analysis.plain import to_plain
from rewardkit.analysis.statistics.groups import Floats
from rewardkit.analysis.statistics.selection import Pair
from rewardkit.findings import SEVERITIES, Finding, counted, percent
from rewardkit.html.pages import HasPage, More, Page, Table

GRAVE = ("high", "warn")
SHOWN = 3  # of a list, in the text; the record and the tables have more
LONGEST = 60  # characters of one there
MOVES = ("up", "down", "equal", "newly_judged", "no_longer_judged", "judged_in_neither")


@dataclass(frozen=True, eq=False)
class EqualKL:
    """Two rewards at the same values of `kl` of the tilted view, a `Pair` a figure that both follow.

    "reward" and scores are each by its own reward: they compare only where the definitions are the same, the
    label, the lengths and columns always. `notes` say what could not be compared.
    """

    how: str
    kl: Floats
    figures: Mapping[str, Pair]
    notes: tuple[str, ...]

    @property
    def last(self) -> list[tuple[str, str, str, str]]:
        """Each figure by A, by B, and B minus A with its interval, where the shorter of the curves ends."""
        rows = []
        for name, at in self.figures.items() if self.kl.any() else ():
            around = _around((at.low[-1], at.high[-1]), _signed)
            rows.append(
                (
                    name,
                    f"{at.a[-1]:.3g}",
                    f"{at.b[-1]:.3g}",
                    _signed(at.difference[-1]) + around,
                )
            )
        return rows


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(HasPage):
    """What differs between two scored tables, A and B.

    `table` has one row a matched rollout: rollout_id, reward and advantage of each, delta (B minus A; NaN
    where one is not judged). `rewards`, `advantages`, `ranks` and `signal` are figures of these rows (see
    `comparison.figures`); `new` and `gone` are findings, of all rows of each side, and `graded` those that
    have another severity, before and after. `forecast` is what each would select for among the matched rows,
    where "<component> (A)" is what A's primary component says of the picks of both. `cases` is ``None`` where
    none were given. `run` has what else was not the same (versions, `ignore_gates`), and `notes` say what to
    be careful with.
    """

    a: Diagnosis
    b: Diagnosis
    table: pd.DataFrame = field(repr=False)
    matching: Mapping[str, Any]
    changes: tuple[Change, ...]
    run: Mapping[str, Any]
    rewards: Mapping[str, Any]
    advantages: Mapping[str, Any]
    ranks: Mapping[str, Any]
    signal: Mapping[str, Any]
    cases: Mapping[str, Any] | None
    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]
    graded: tuple[tuple[Finding, Finding], ...]
    forecast: EqualKL
    notes: tuple[str, ...]

    @property
    def changed(self) -> int:
        """Number of matched rows whose reward differs, or is judged on one side only."""
        return sum(
            self.rewards[name]
            for name in MOVES
            if name not in ("equal", "judged_in_neither")
        )

    @property
    def worse(self) -> list[tuple[Finding, Finding]]:
        """Of `graded` those that are more severe in B."""
        return [pair for pair in self.graded if pair[1].order[0] < pair[0].order[0]]

    @property
    def better(self) -> list[Finding]:
        """The findings of A that are gone, or less severe, in B."""
        return [
            *self.gone,
            *(was for was, now in self.graded if was.order[0] < now.order[0]),
        ]

    @property
    def worst_new(self) -> str | None:
        """The highest severity that B has and A had not; a case that was lost counts as high."""
        found = {item.severity for item in [*self.new, *(now for _, now in self.worse)]}
        found |= {"high"} if self.cases and self.cases["lost"] else set()
        return next((severity for severity in SEVERITIES if severity in found), None)

    @property
    def verdict(self) -> str:
        """One of "same", "changed", "gains", "losses", "gains and losses".

        Gains and losses are of cases, and of findings that are high or warn. Which of two rewards is right
        they do not say.
        """
        grave = any(item.severity in GRAVE for item in self.better)
        told = ["gains"] if grave or (self.cases or {}).get("gained") else []
        told += ["losses"] if self.worst_new in GRAVE else []
        return " and ".join(told) or (
            "changed" if self.changed or self.advantages["changed"] else "same"
        )

    def record(self) -> dict[str, Any]:
        """The comparison as plain data."""
        sides = {"a": self.a.scores, "b": self.b.scores}
        about = {
            name: {"reward": side.reward.name, "rows": len(side), "rollouts": side.rollouts.source,
                   "fingerprints": side.reward.record()["fingerprints"]}
            for name, side in sides.items()
        }  # fmt: skip
        a, b = (about[name]["fingerprints"] for name in sides)
        same = {
            "same": a["reward"] == b["reward"],
            "same_scoring": a["scoring"] == b["scoring"],
        }
        graded = [{**now.record(), "before": was.severity} for was, now in self.graded]
        own = ("verdict", "changed", "matching", "notes", "run", "rewards", "cases")
        plain: dict[str, Any] = to_plain({
            **{name: getattr(self, name) for name in own},
            **about,
            "training": self.a.training,
            "definition": {**same, "changes": self.changes},
            "advantage_sign_changes": self.advantages,
            "rank_agreement": self.ranks,
            "group_signal": self.signal,
            "findings": {"new": self.new, "gone": self.gone, "severity": graded},
            "forecast": {**to_plain(self.forecast), "limits": LIMITS},
        })  # fmt: skip
        return plain

    def page(self) -> Page:
        """Return the verdict, what moved in a line each, what to do, and folded tables of it."""
        a, b = (repr(side.scores.reward.name) for side in (self.a, self.b))
        both = counted(self.matching["matched"], "rollout")
        notes = [f"Note: {note}" for note in [*self.notes, *self.forecast.notes]]
        limits = [f"Limit: {limit}" for limit in LIMITS[1:] if self.forecast.last]
        return Page(
            f"{self.verdict}: {b} (B) against {a} (A) on {both} that both have",
            [*_definition(self), *moved(self), *_selection(self.forecast), *_cases(self.cases),
             *_findings(self), *notes[:SHOWN], f"Next: {_next(self)}",
             More("", [*notes[SHOWN:], *limits]), *_tables(self)],
        )  # fmt: skip


def moved(found: Comparison) -> list[str]:
    """Rewards, advantages, order of siblings and groups, a line each; or why there is no figure."""
    rewards, signs, ranks, signal = (
        found.rewards,
        found.advantages,
        found.ranks,
        found.signal,
    )
    told = ", ".join(
        f"{rewards[kind]:,} {kind.replace('_', ' ')}" for kind in MOVES if rewards[kind]
    )
    if rewards["up"] or rewards["down"]:
        told += "; mean {mean_a:.3g} -> {mean_b:.3g}, {value:+.3g}".format(**rewards)
        told += _around(rewards["interval"], "{:+.3g}".format)
    turned = f"none of {signs['n']:,} changes its sign"
    if signs["changed"]:
        turned = (
            f"{percent(signs['value'])}{_around(signs['interval'])} of {signs['n']:,} change sign, "
            f"{signs['to_zero']:,} become 0, {signs['from_zero']:,} are 0 no more"
        )
    order = f"{ranks['value']:.3f}{_around(ranks['interval'], '{:.3f}'.format)} over {ranks['n']:,} pairs"
    dead = (
        f"{percent(signal['zero_std_a'])} -> {percent(signal['zero_std_b'])} of {signal['n']:,}; "
        f"{signal['lost']:,} lost their gradient, {signal['gained']:,} gained one"
    )
    return [
        f"Rewards: {told}",
        f"Advantages ({found.a.training}): {signs['reason'] or turned}",
        f"Order of siblings: {ranks['reason'] or f'tau-b {order}'}",
        f"Groups without a gradient: {signal['reason'] or dead}",
    ]


def _around(
    interval: tuple[float, float], shown: Callable[[float], str] = percent
) -> str:
    return "" if np.isnan(interval[0]) else " ({} to {})".format(*map(shown, interval))


def _signed(value: float) -> str:
    return f"{round(value, 4) + 0:+.3g}"


def _first(items: Sequence[str]) -> str:
    shown = [
        item if len(item) <= LONGEST else f"{item[:LONGEST]}..."
        for item in items[:SHOWN]
    ]
    return ", ".join(shown) + (
        f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    )


def _definition(found: Comparison) -> list[str]:
    changes = [*map(str, found.changes)]
    lines = (
        [f"Definition: {counted(len(changes), 'change')}: {_first(changes)}"]
        if changes
        else []
    )
    lines += [
        f"{name} was {was} for A, {now} for B" for name, (was, now) in found.run.items()
    ]
    return lines or ["Definition: the same"]


def _selection(found: EqualKL) -> list[str]:
    """The label, both primary components and the length."""
    rows = [
        row
        for row in found.last
        if row[0] in ("label", "words") or row[0].endswith((" (A)", " (B)"))
    ]
    if not rows:
        return []
    told = [
        f"  {name}: {a} by A, {b} by B, {difference}" for name, a, b, difference in rows
    ]
    return [
        f"What each selects for, at a KL of {found.kl[-1]:.2g} nats:",
        *told,
        f"  Limit: {LIMITS[0]}",
    ]


def _cases(cases: Mapping[str, Any] | None) -> list[str]:
    if cases is None:
        return []
    passed = ", ".join(
        f"{name.upper()} passes {cases[name]['passed']}" for name in "ab" if cases[name]
    )
    if cases["reason"]:
        return [
            f"Cases were not compared: {cases['reason']}"
            + (f"; {passed}" if passed else "")
        ]
    lists = {kind: [*map(repr, cases[kind])] for kind in ("lost", "gained")}
    told = [
        f"{len(names)} {kind} ({_first(names)})"
        for kind, names in lists.items()
        if names
    ]
    return [", ".join([f"Cases: {passed} of {cases['cases']}", *told])]


def _findings(found: Comparison) -> list[str]:
    """How many came and went; of those that are new or worse the first, in words."""
    bad = [f"  {item.severity}: {item.sentence}" for item in found.new]
    bad += [
        f"  {now.severity}: {now.sentence} (was {was.severity})"
        for was, now in found.worse
    ]
    counts = {
        "new": found.new,
        "more severe": found.worse,
        "gone or less severe": found.better,
    }
    told = [f"{len(items)} {what}" for what, items in counts.items() if items]
    more = [f"  and {len(bad) - SHOWN} more"] if len(bad) > SHOWN else []
    return [f"Findings: {', '.join(told) or 'the same as before'}", *bad[:SHOWN], *more]


def _next(found: Comparison) -> str:
    """What to do first."""
    if found.cases and found.cases["lost"]:
        return (
            "mend the cases that B loses; rk.explain shows why each is paid what it is"
        )
    if found.worst_new:
        return "read what is new in B; rk.suggest(comparison.b) measures changes that answer it"
    if found.verdict == "same":
        return "nothing; B trains as A does"
    most = [*found.rewards["largest_down"][:2], *found.rewards["largest_up"][:2]]
    named = ", ".join(repr(row["rollout_id"]) for row in most) or "comparison.table"
    return f"read the rollouts that moved most ({named}); B is better only where it is right about them"


def _tables(found: Comparison) -> list[Table]:
    ab, finding = ("A", "B"), ("severity", "finding", "what it says")
    changes = [
        (str(item).partition(": ")[0], item.before or "", item.after or "")
        for item in found.changes
    ]
    most = [*found.rewards["largest_down"], *found.rewards["largest_up"]]
    read = [
        (row["rollout_id"], *(f"{row[name]:.3g}" for name in ("a", "b", "delta")))
        for row in most
    ]
    bad = [*found.new, *(now for _, now in found.worse)]
    findings = {"new or more severe": bad, "gone or less severe": found.better}
    cases = {what: (found.cases or {}).get(what) or [] for what in ("lost", "gained")}
    return [
        Table(f"{counted(len(changes), 'change')} of the definition", ("what", *ab), changes),
        Table("Rollouts that moved most", ("rollout", *ab, "B - A"), read, (*ab, "B - A")),
        Table("What each selects for", ("mean of", *ab, "B - A"), found.forecast.last, (*ab, "B - A")),
        *(Table(f"{counted(len(items), 'finding')} {what}", finding,
                [(item.severity, item.code, item.sentence) for item in items])
          for what, items in findings.items()),
        *(Table(f"{counted(len(names), 'case')} {what}", ("case",), [(name,) for name in names])
          for what, names in cases.items()),
    ]  # fmt: skip
