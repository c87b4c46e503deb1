"""compare(): two Scores -> what differs between them, rows matched by `rollout_id`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.agreement import advantage_signs, group_signal, rank_agreement, reward_deltas
from rewardkit.analysis.case_changes import case_changes
from rewardkit.analysis.definition_changes import Change, definition_changes, unseen_sources
from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.analysis.equal_kl import EqualKL, at_equal_kl
from rewardkit.analysis.forecast import LIMITS, forecast
from rewardkit.analysis.matched import match_rows, side_by_side
from rewardkit.analysis.statistics.groups import Codes
from rewardkit.errors import InputError, preview
from rewardkit.findings import SEVERITIES, Finding, percent
from rewardkit.html import markup
from rewardkit.rewards.training import Training
from rewardkit.scoring.cases import Case
from rewardkit.scoring.scores import Scores

__all__ = ["Comparison", "compare", "of_rows"]

SHOWN = 5  # of a list in the text for a person; the record has all
GRAVE = ("high", "warn")


@dataclass(frozen=True, eq=False)
class Comparison:
    """What differs between two scored tables, A and B.

    `table` has one row a matched rollout: rollout_id, reward and advantage of each, delta (B minus A; NaN
    where one is not judged). `rewards`, `advantages`, `ranks` and `signal` are figures of these rows (see
    `analysis.agreement`); `new` and `gone` are findings, of all rows of each side, and `graded` those that
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
        return sum(self.rewards[name] for name in ("up", "down", "newly_judged", "no_longer_judged"))

    @property
    def worst_new(self) -> str | None:
        """The highest severity that B has and A had not; a case that was lost counts as high."""
        found = {item.severity for item in self.new} | {after.severity for _, after in self._graded(True)}
        found |= {"high"} if self.cases and self.cases["lost"] else set()
        return next((severity for severity in SEVERITIES if severity in found), None)

    @property
    def verdict(self) -> str:
        """One of "same", "changed", "gains", "losses", "gains and losses".

        Gains and losses are of cases, and of findings that are high or warn. Which of two rewards is right
        they do not say.
        """
        cases = self.cases or {}
        before = {item.severity for item in self.gone} | {was.severity for was, _ in self._graded(False)}
        told = ["gains"] if cases.get("gained") or before.intersection(GRAVE) else []
        told += ["losses"] if self.worst_new in GRAVE else []
        return " and ".join(told) or ("changed" if self.changed or self.advantages["changed"] else "same")

    def _graded(self, worse: bool) -> list[tuple[Finding, Finding]]:
        """Findings that are worse in B, or those that are less so."""
        rank = SEVERITIES.index
        return [(was, now) for was, now in self.graded if (rank(now.severity) < rank(was.severity)) is worse]

    def record(self) -> dict[str, Any]:
        """The comparison as plain data."""
        sides = {"a": self.a, "b": self.b}
        prints = {name: side.scores.reward.record()["fingerprints"] for name, side in sides.items()}
        return {
            "verdict": self.verdict,
            "changed": self.changed,
            **{
                name: {
                    "reward": side.scores.reward.name,
                    "rows": len(side.scores),
                    "rollouts": side.scores.rollouts.source,
                    "fingerprints": prints[name],
                }
                for name, side in sides.items()
            },
            "training": self.a.training.record(),
            "matching": dict(self.matching),
            "notes": list(self.notes),
            "definition": {
                "same": prints["a"]["reward"] == prints["b"]["reward"],
                "same_scoring": prints["a"]["scoring"] == prints["b"]["scoring"],
                "changes": [item.record() for item in self.changes],
            },
            "run": dict(self.run),
            "rewards": dict(self.rewards),
            "advantage_sign_changes": dict(self.advantages),
            "rank_agreement": dict(self.ranks),
            "group_signal": dict(self.signal),
            "cases": self.cases and dict(self.cases),
            "findings": {
                "new": [item.record() for item in self.new],
                "gone": [item.record() for item in self.gone],
                "severity": [{**now.record(), "before": was.severity} for was, now in self.graded],
            },
            "forecast": {**self.forecast.record(), "limits": list(LIMITS)},
        }

    def _repr_html_(self) -> str:
        return markup.outlined(repr(self))

    def __repr__(self) -> str:
        names = [f"{side.scores.reward.name!r}" for side in (self.a, self.b)]
        worse = [f"{now.severity:<4}  {now.sentence} (was {was.severity})" for was, now in self._graded(True)]
        better = [*self.gone, *(was for was, _ in self._graded(False))]
        lines = [
            f"comparison of {names[0]} (A) with {names[1]} (B) on {self.matching['matched']} rollouts that "
            f"both have: {self.verdict}",
            *(f"  note: {sentence}" for sentence in self.notes),
            *_of_definition(self),
            *of_rows(self),
            *_of_forecast(self.forecast),
            *_of_cases(self.cases),
            *_listed("new findings", [f"{item.severity:<4}  {item.sentence}" for item in self.new]),
            *_listed("findings that are more severe", worse),
            *_in_a_line("findings gone or less severe", [_named(item) for item in better]),
        ]
        return "\n".join(lines)


def compare(
    scores_a: Scores,
    scores_b: Scores,
    *,
    cases: Sequence[Case] | str | Path | None = None,
    training: Any = None,
    label: str | None = None,
    seed: int = 0,
    timeout: float | None = None,
) -> Comparison:
    """What differs between two scored tables: from their definitions to what they would select for.

    Two rewards on the same rollouts, or two runs: rows are matched by `rollout_id`, the others are counted.
    Advantages and findings are those of all rows of each side, under the settings of `training`; `label` is
    a column that is trusted, as in `diagnose` and `forecast`. `cases` are checked where a reward can be run,
    which one from a record cannot; `timeout` bounds each call there, as in `check`. Intervals are a bootstrap
    over the prompts of A, seeded. InputError: no Scores, no rollout in common, rollouts of other prompts
    under the same `rollout_id`, one that stands twice, cases, settings or a label that cannot be used.
    """
    for scores in (scores_a, scores_b):
        if not isinstance(scores, Scores):
            raise InputError(
                f"compare takes two Scores, as rk.score or rk.load_scores give them, not {preview(scores)}"
            )
    training = Training.of(training)
    rows, counts = match_rows(scores_a, scores_b)
    of_cases = case_changes(scores_a.reward, scores_b.reward, cases, timeout=timeout)
    a, b = (diagnose(scores, training=training, label=label, seed=seed) for scores in (scores_a, scores_b))
    matched = side_by_side(a, b, rows, counts, seed=seed)
    records = scores_a.reward.record(), scores_b.reward.record()
    first, second = _by_key(a), _by_key(b)
    return Comparison(
        a,
        b,
        table=matched.table(),
        matching=matched.counts,
        changes=definition_changes(*records),
        run=_run(scores_a, scores_b),
        rewards=reward_deltas(matched),
        advantages=advantage_signs(matched),
        ranks=rank_agreement(matched),
        signal=group_signal(matched) | {"all_a": _without_signal(a), "all_b": _without_signal(b)},
        cases=of_cases,
        new=_only(b, a),
        gone=_only(a, b),
        graded=tuple(
            (item, second[key])
            for key, item in first.items()
            if key in second and second[key].severity != item.severity
        ),
        forecast=_forecast(a, b, rows, label, same=not counts["other_completions"]),
        notes=(*matched.notes(), *_of_label(a, b), *map(_unseen, unseen_sources(*records))),
    )


def _forecast(
    a: Diagnosis, b: Diagnosis, rows: tuple[Codes, Codes], label: str | None, *, same: bool
) -> EqualKL:
    """What both rewards select for among the matched rows; `same` says that these are the same completions.

    Then the primary component of each side is followed on both: one measure for what two rewards pick.
    """
    measures = {
        f"{side.scores.reward.primary} ({name})": side.scores.score(side.scores.reward.primary)[own]
        for side, own, name in zip((a, b), rows, "AB", strict=True)
        if same and not side.scores.reward.split_by
    }
    ids = a.scores.table["rollout_id"].to_numpy()[rows[0]]
    both = []
    for side, own in zip((a, b), rows, strict=True):
        read = side.scores.rollouts
        table = side.scores.table.iloc[own].reset_index(drop=True).assign(rollout_id=ids, **measures)
        some = replace(read, table=read.table.iloc[own].reset_index(drop=True))
        both.append(replace(side.scores, table=table, rollouts=some))
    if not np.array_equal(both[0].rollouts.prompts, both[1].rollouts.prompts):
        why = "the rollouts in both are not of the same prompts, so nothing is compared at equal KL"
        return EqualKL("tilted", np.array([]), {}, (why,))
    first, second = (
        forecast(scores, label=label, columns=list(measures), training=a.training, seed=a.seed)
        for scores in both
    )
    return at_equal_kl(first, second)


def _without_signal(side: Diagnosis) -> float:
    """Share of the groups of all rows, of several judged siblings, that have no signal."""
    dead = sum(int(view.dead.sum()) for view in side.views)
    live = sum(int(view.live.sum()) for view in side.views)
    return dead / (dead + live) if dead + live else float("nan")


def _of_label(a: Diagnosis, b: Diagnosis) -> list[str]:
    """Why the label says nothing, of A, of B or of both, a sentence each."""
    told: dict[str, list[str]] = {}
    for name, side in (("A", a), ("B", b)):
        for why in dict.fromkeys(view.context.why_no_label for view in side.views):
            told.setdefault(why, []).append(name)
    return [
        f"{' and '.join(names)} cannot be held against the label: {why}" for why, names in told.items() if why
    ]


def _unseen(name: str) -> str:
    return f"the source of {name} is unknown on both sides, so a change of it cannot be seen"


def _run(a: Scores, b: Scores) -> dict[str, Any]:
    """What was not the same when the two were scored: name -> [A, B]."""
    plain = [
        {"ignore_gates": scores.run.get("ignore_gates"), **scores.run.get("versions", {})}
        for scores in (a, b)
    ]
    names = dict.fromkeys([*plain[0], *plain[1]])
    both = {name: [side.get(name) for side in plain] for name in names}
    return {name: values for name, values in both.items() if values[0] != values[1]}


Key = tuple[str, str | None, str, tuple[Any, ...]]
"""Code, component, part, and where one code may be said of several things, of which."""


def _by_key(diagnosis: Diagnosis) -> dict[Key, Finding]:
    """Each finding by what it is about; the worst of those that say the same."""
    found: dict[Key, Finding] = {}
    for item in sorted(diagnosis.findings, key=lambda item: SEVERITIES.index(item.severity)):
        about = tuple(item.evidence.get(name) for name in ("column", "other", "longer"))
        found.setdefault((item.code, item.component, item.part, about), item)
    return found


def _only(a: Diagnosis, b: Diagnosis) -> tuple[Finding, ...]:
    """The findings of A that B has not.

    One of a slice is there, too, where B says it of the whole: that is then not said again of its slices.
    """
    there = _by_key(b)
    said = {key[:3] for key, item in there.items() if not item.evidence.get("inconclusive")}
    wholes = sorted((view.part for view in a.views), key=len, reverse=True)

    def said_of_the_whole(item: Finding) -> bool:
        whole = next((name for name in wholes if item.part.startswith(f"{name}: ")), "")
        return item.part not in wholes and (item.code, item.component, whole) in said

    return tuple(item for key, item in _by_key(a).items() if key not in there and not said_of_the_whole(item))


def _listed(what: str, items: Sequence[str], shown: int = SHOWN) -> list[str]:
    """A heading with the count, and the first few below it."""
    more = [f"    and {len(items) - shown} more"] if len(items) > shown else []
    return [f"  {what}: {len(items)}", *(f"    {item}" for item in items[:shown]), *more] if items else []


def _in_a_line(what: str, items: Sequence[str]) -> list[str]:
    more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return [f"  {what}: {len(items)} ({', '.join(items[:SHOWN])}{more})"] if items else []


def _named(item: Finding) -> str:
    of = f" of {item.component!r}" if item.component else ""
    return f"{f'[{item.part}] ' if item.part else ''}{item.severity} {item.code}{of}"


def _of_definition(found: Comparison) -> list[str]:
    lines = _listed("changes of the definition", [str(item) for item in found.changes], shown=3 * SHOWN)
    lines += [f"  {name} was {was} for A, {now} for B" for name, (was, now) in found.run.items()]
    return lines or ["  the definition is the same"]


def of_rows(found: Comparison) -> list[str]:
    """Rewards, advantages, ranks and groups, a line each; or why there is no figure."""
    rewards, signs, ranks, signal = found.rewards, found.advantages, found.ranks, found.signal
    kinds = ("up", "down", "equal", "newly_judged", "no_longer_judged", "judged_in_neither")
    counts = ", ".join(f"{rewards[kind]} {kind.replace('_', ' ')}" for kind in kinds if rewards[kind])
    if rewards["up"] or rewards["down"]:
        counts += (
            f"; mean {rewards['mean_a']:.3g} -> {rewards['mean_b']:.3g}, by {rewards['value']:+.3g}"
            f"{_around(rewards, '{:+.3g}'.format)}"
        )
    read = [*rewards["largest_up"][:2], *rewards["largest_down"][:2]]
    counts += "; to read: " if read else ""
    counts += ", ".join(f"{row['rollout_id']!r} ({row['delta']:+.3g})" for row in read)
    pushed = signs["reason"] or (
        f"{percent(signs['value'])}{_around(signs)} of {signs['n']} rows are pushed the other way, "
        f"{signs['to_zero']} no longer pushed, {signs['from_zero']} newly"
    )
    order = ranks["reason"] or (
        f"tau-b {ranks['value']:.3f}{_around(ranks, '{:.3f}'.format)} over {ranks['n']:,} pairs"
    )
    dead = signal["reason"] or (
        f"{percent(signal['zero_std_a'])} -> {percent(signal['zero_std_b'])} of {signal['n']}; "
        f"{signal['lost']} lost their signal, {signal['gained']} gained one"
    )
    if found.matching["only_a"] or found.matching["only_b"]:
        dead += f" (with the rows of one side: {percent(signal['all_a'])} -> {percent(signal['all_b'])})"
    return [
        f"  reward: {counts}",
        f"  advantage ({found.a.training}): {pushed}",
        f"  order of siblings: {order}",
        f"  groups without a signal: {dead}",
    ]


def _around(figure: Mapping[str, Any], shown: Callable[[float], str] = percent) -> str:
    low, high = figure["interval"]
    return "" if np.isnan(low) else f" ({shown(low)} to {shown(high)})"


def _of_forecast(found: EqualKL) -> list[str]:
    """Where the shorter of the two curves ends, the label, both primary components and the length."""
    names = [name for name in found.figures if name in ("label", "words") or name.endswith((" (A)", " (B)"))]
    told = []
    for name in names if len(found.kl) and found.kl[-1] > 0 else []:
        pair = found.figures[name]
        around = _around({"interval": (pair.low[-1], pair.high[-1])}, "{:+.3g}".format)
        told.append(
            f"{name} {pair.a[-1]:.3g} by A, {pair.b[-1]:.3g} by B: {pair.difference[-1]:+.3g}{around}"
        )
    head = [f"what each selects for, at a KL of {found.kl[-1]:.2g} nats ({found.how})"] if told else []
    return [
        *(f"  {item}:" for item in head),
        *(f"    {item}" for item in told),
        *(f"    note: {note}" for note in found.notes),
        *(f"    limit: {limit}" for limit in LIMITS if told),
    ]


def _of_cases(cases: Mapping[str, Any] | None) -> list[str]:
    if cases is None:
        return []
    passed = ", ".join(f"{name.upper()} passes {cases[name]['passed']}" for name in "ab" if cases[name])
    if cases["reason"]:
        return [f"  cases were not compared: {cases['reason']}" + (f"; {passed}" if passed else "")]
    return [
        f"  cases: {passed} of {cases['cases']}",
        *_in_a_line("cases lost", [repr(name) for name in cases["lost"]]),
        *_in_a_line("cases gained", [repr(name) for name in cases["gained"]]),
    ]
