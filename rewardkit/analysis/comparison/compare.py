"""compare(): two versions or more -> what differs, and which one to train on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, groupby, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from rewardkit.analysis.comparison.changes import MOST_CHANGES
from rewardkit.analysis.comparison.grounds import mark_of
from rewardkit.analysis.comparison.pair import Pair, make_pair
from rewardkit.analysis.comparison.sides import Side, open_sides
from rewardkit.analysis.comparison.version_table import (
    figures_by_version,
    version_blocks,
)
from rewardkit.errors import InputError, preview
from rewardkit.findings import NOT_DECIDED, counted
from rewardkit.html.blocks import Block, Code
from rewardkit.html.excerpts import UserText
from rewardkit.html.pages import HasPage, More, Page
from rewardkit.plain import Record, to_plain
from rewardkit.rewards.training import Training
from rewardkit.scoring.cases import Case, load_cases

BETTER = "better"
WORSE = "worse"
NO_DIFFERENCE = "no difference"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(HasPage):
    """What differs between versions of a reward, and which one to train on.

    `sides` are the versions in the order in which they were given, the oldest first;
    `pairs` has each but the first against the first, `steps` each against the one
    before it.
    """

    sides: tuple[Side, ...]
    all_pairs: Mapping[tuple[int, int], Pair] = field(repr=False)

    @property
    def names(self) -> list[str]:
        """Return the names of the versions."""
        return [side.name for side in self.sides]

    @property
    def pairs(self) -> list[Pair]:
        """Return each version against the first."""
        return [self.all_pairs[0, place] for place in range(1, len(self.sides))]

    @property
    def steps(self) -> list[Pair]:
        """Return each version against the one before it."""
        return [self.all_pairs[place] for place in pairwise(range(len(self.sides)))]

    # --- the verdict

    @property
    def best(self) -> Side | None:
        """Return the version to train on, None where that is not decided.

        It is better than at least one other version, and worse than none; of several
        such versions the last. A pair that is not decided leaves no best one.
        """
        for side in reversed(self.sides):
            verdicts = {verdict for _, _, verdict in self._against_others(side)}
            if BETTER in verdicts and verdicts <= {BETTER, NO_DIFFERENCE}:
                return side
        return None

    def _against_others(self, side: Side) -> list[tuple[Side, Pair, str]]:
        """Return each other version, the pair, and the verdict on this version."""
        reverse = {BETTER: WORSE, WORSE: BETTER}
        verdicts = []
        for pair in self.all_pairs.values():
            if side is pair.sides[0]:
                verdict = reverse.get(pair.verdict, pair.verdict)
                verdicts.append((pair.sides[1], pair, verdict))
            elif side is pair.sides[1]:
                verdicts.append((pair.sides[0], pair, pair.verdict))
        return verdicts

    @property
    def verdict(self) -> str:
        """Return "train on NAME", "no difference" or "not decided"."""
        best = self.best
        if best is not None:
            return f"train on {best.name}"
        if all(pair.verdict == NO_DIFFERENCE for pair in self.all_pairs.values()):
            return NO_DIFFERENCE
        return NOT_DECIDED

    @cached_property
    def figures(self) -> list[Record]:
        """Return the figures of each version, see `figures_by_version`."""
        return figures_by_version(self.sides, self.pairs)

    @property
    def reason(self) -> str:
        """Return the reason for the verdict; of several versions the first ground."""
        best = self.best
        if best is not None:
            return self._explain_best(best)
        if len(self.sides) == 2 or self.verdict == NO_DIFFERENCE:
            return self.pairs[-1].reason
        reasons = []
        unbeaten = []
        for side in self.sides:
            worse = []
            for other, _, verdict in self._against_others(side):
                if verdict == WORSE:
                    worse.append(other.name)
            if worse:
                reasons.append(f"{side.name} is worse than {', '.join(worse)}")
            else:
                unbeaten.append(side.name)
        if len(unbeaten) > 1:
            reasons.append(self._explain_tie(unbeaten))
        return "; ".join(reasons)

    def _explain_best(self, best: Side) -> str:
        """Say which versions the best one beats, and by which measure."""
        against = self._against_others(best)
        if len(against) == 1:
            return _why_better(*against[0])
        names: dict[str, list[str]] = {BETTER: [], NO_DIFFERENCE: []}
        for other, _, verdict in against:
            names[verdict].append(other.name)
        text = f"better than {_list_in_order(names[BETTER], self.names)}"
        if names[NO_DIFFERENCE]:
            alike = _list_in_order(names[NO_DIFFERENCE], self.names)
            text += f", no difference from {alike}"
        first = next(pair for _, pair, verdict in against if verdict == BETTER)
        return f"{text}; {' -> '.join(first.names)}: {first.grounds[0].sentence}"

    def _explain_tie(self, names: Sequence[str]) -> str:
        """Say what differs between versions that no other one beats."""
        listed = ", ".join(names)
        differences = []
        for pair in self.all_pairs.values():
            is_open = bool(pair.redefined_task) and pair.verdict == NOT_DECIDED
            has_reason = bool(pair.grounds) or is_open
            if not {*pair.names} <= {*names} or not (has_reason or pair.marked):
                continue
            reason = pair.reason if has_reason else ", ".join(pair.marked)
            differences.append(f"{_against(pair)}: {reason}")
        if not differences:
            return f"nothing tells {listed} apart beyond noise"
        return (
            f"what differs between {listed} does not decide ({'; '.join(differences)})"
        )

    @property
    def worst_new(self) -> str | None:
        """Return the highest severity that is new in the last against the first."""
        return self.pairs[-1].worst_new

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what to be careful with, a sentence each."""
        notes = chain.from_iterable(pair.notes for pair in self.pairs)
        return tuple(dict.fromkeys(notes))

    @property
    def rehearsals(self) -> str:
        """Say which trainings were rehearsed just now, and in what time.

        "" where all outlooks were read from kept runs.
        """
        seconds = {side.name: side.rehearsed[1] for side in self.sides}
        names = ", ".join(name for name in seconds if seconds[name])
        if not names:
            return ""
        total = sum(seconds.values())
        return f"the training on {names} was rehearsed in {total:.1f} s"

    # --- tables

    @property
    def turned(self) -> pd.DataFrame:
        """Return rollouts whose advantage changes its sign, the largest changes first.

        A row a rollout and version: the version and the one it is held against,
        rollout_id, reward and advantage there and here, completion.
        """
        return pd.concat([pair.turned for pair in self.pairs], ignore_index=True)

    @property
    def slices(self) -> pd.DataFrame:
        """Return the AUC of each version in each slice: right above wrong siblings.

        A row a slice and version: the AUC of the first version and of this one, their
        difference with its interval (99 % for all slices together), and the mark.
        """
        rows = []
        for pair in self.pairs:
            for label, figure in {"all": pair.order, **pair.slices}.items():
                low, high = figure["interval"]
                rows.append(
                    {
                        "version": pair.names[1],
                        "against": pair.names[0],
                        "slice": label,
                        "auc_before": figure["auc_a"],
                        "auc": figure["auc_b"],
                        "difference": figure["value"],
                        "low": low,
                        "high": high,
                        "mark": mark_of(figure),
                    }
                )
        return pd.DataFrame(rows)

    # --- as data, and as text

    def record(self) -> Record:
        """Return the comparison as plain data; of two with what the pair says."""
        pairs = [pair.record() for pair in self.pairs]
        only = pairs[0] if len(pairs) == 1 else {}
        best = self.best
        versions = []
        for side, figures in zip(self.sides, self.figures, strict=True):
            versions.append({**side.record(), "figures": figures})
        plain: Record = to_plain(
            {
                **only,
                "verdict": self.verdict,
                "reason": self.reason,
                "best": None if best is None else best.name,
                "worst_new": self.worst_new,
                "training": self.sides[0].diagnosis.training,
                "notes": self.notes,
                "versions": versions,
                "pairs": pairs,
            }
        )
        return plain

    @property
    def in_short(self) -> Page:
        """Return the verdict with its reason, and the figures by version."""
        verdict = f"{self.verdict[:1].upper()}{self.verdict[1:]}"
        blocks = version_blocks(self.names, self.figures)
        tasks = [pair.task for pair in self.pairs if pair.task]
        words = " or ".join(dict.fromkeys(task.words for task in tasks))
        if tasks and all(task.is_labelled for task in tasks):
            blocks.append(f"Right is what {words} says")
        elif tasks:
            blocks.append(
                f"Without a label, right is judged by {words}; label=... names a "
                "column that is trusted"
            )
        return Page(verdict, blocks, self.reason)

    def page(self) -> Page:
        """Return the verdict, the figures by version, what changed, and what moved."""
        short = self.in_short
        blocks = [*short.blocks]
        for pair in self.steps:
            blocks += _definition_blocks(pair)
        for pair in self.pairs:
            if len(self.pairs) == 1:
                blocks += [*pair.lines, *pair.examples]
            else:
                blocks.append(f"{_against(pair)}: {pair.verdict}, {pair.reason}")
        notes = [f"Note: {note}" for note in self.notes]
        blocks += notes[:MOST_CHANGES]
        blocks.append(f"Next: {self.next_step}")
        best = self.best
        if best is not None and len(self.pairs) > 1:
            reasons = [_why_better(*entry) for entry in self._against_others(best)]
            blocks.append(More(f"{best.name} against each", reasons))
        blocks.append(More("", notes[MOST_CHANGES:]))
        for pair in self.steps:
            if pair.source_lines:
                texts = [UserText(x, "a line of source") for x in pair.source_lines]
                title = f"Source, {' -> '.join(pair.names)}"
                blocks.append(More(title, [*map(Code, texts)]))
        for pair in self.pairs:
            if len(self.pairs) == 1:
                blocks += pair.tables
            else:
                moved = [*pair.lines, *pair.examples, *pair.tables]
                blocks.append(More(_against(pair), moved))
        return Page(short.title, blocks, short.summary)

    @property
    def next_step(self) -> str:
        """Return the first thing to do."""
        if self.verdict == NO_DIFFERENCE:
            return "nothing; they train alike"
        if self.best is not None:
            grave, _ = self.best.figures["findings"]
            if grave:
                count = counted(grave, "high finding")
                return f"mend the {count} of {self.best.name} before it is trained on"
            return f"train on {self.best.name}"
        for other in self.pairs:
            if other.cases and other.cases["lost"]:
                return (
                    f"mend the cases that {other.names[1]} loses; rk.explain shows why "
                    "each is paid what it is"
                )
        write = "write cases for what they must get, and compare with cases"
        for other in reversed(self.pairs):
            ids = other.advantages["rollout_ids"][:MOST_CHANGES]
            if ids:
                listed = ", ".join(map(repr, ids))
                return (
                    f"read rollouts whose advantage changes its sign ({listed}); "
                    f"{write}"
                )
        return "write cases for what the versions must give, and compare with cases"


def _definition_blocks(pair: Pair) -> list[Block]:
    """Return what changed in the definition, the first changes in sight."""
    lines = pair.definition_lines
    names = " -> ".join(pair.names)
    head = f"Definition, {names}: {'; '.join(lines[:MOST_CHANGES])}"
    if len(lines) <= MOST_CHANGES:
        return [head]
    hidden = counted(len(lines) - MOST_CHANGES, "change")
    return [f"{head}; and {hidden} more", More(f"All changes, {names}", lines)]


def _against(pair: Pair) -> str:
    return f"{pair.names[1]} against {pair.names[0]}"


def _list_in_order(names: Sequence[str], every: Sequence[str]) -> str:
    """List names, three or more that are neighbours in `every` as a range.

    >>> _list_in_order(["v1", "v2", "v3", "v5"], ["v1", "v2", "v3", "v4", "v5"])
    'v1 to v3, v5'
    """
    texts = []
    for is_listed, neighbours in groupby(every, names.__contains__):
        listed = [*neighbours] if is_listed else []
        if len(listed) > 2:
            listed = [f"{listed[0]} to {listed[-1]}"]
        texts += listed
    return ", ".join(texts)


def _why_better(other: Side, pair: Pair, verdict: str) -> str:
    """Say why the best of a pair is no worse than the other one."""
    if verdict == NO_DIFFERENCE:
        return f"no difference from {other.name}"
    if other is pair.sides[0]:
        return f"better than {other.name}: {pair.reason}"
    return f"{other.name} is worse: {pair.reason}"


def compare(
    *versions: Any,
    names: Sequence[str] | None = None,
    cases: Sequence[Case] | str | Path | None = None,
    training: Any = None,
    label: str | None = None,
    seed: int = 0,
    timeout: float | None = None,
) -> Comparison:
    """Compare versions of a reward, and say which one to train on.

    From their definitions to what training makes of them, on the same rollouts or on
    those of several runs: rows are matched by `rollout_id`. All figures, findings and
    rehearsals are of the whole groups that all versions have; other rows are counted.

    Args:
        *versions: Two or more, the oldest first: Scores, kept runs, or what names one:
            a version ("v2"), a tag, a folder of scores.
        names: What they are called; by default the names of runs and folders, and A,
            B ... for Scores.
        cases: Cases, or their file, to check where a reward can be run; one from a run
            record can where its source was kept.
        training: Settings of the trainer, as `Training.of` takes them.
        label: A column that is trusted, as in `diagnose` and `forecast`; without one
            that under which all the kept runs were kept.
        seed: Of the bootstrap over the prompts of A.
        timeout: Seconds for each call of the cases, as in `check`.

    Raises:
        InputError: Fewer than two, no Scores, no rollout in common, rollouts of other
            prompts under the same `rollout_id`, one that stands twice, or cases,
            settings or a label that cannot be used.
        RolloutsError: Scores that are not there, or cannot be read.
    """
    if len(versions) < 2:
        raise InputError(
            f"compare takes two versions or more, not {len(versions)}: Scores, kept "
            "runs, or the names of runs and folders"
        )
    settings = Training.of(training)
    if names is not None and len(names) != len(versions):
        raise InputError(
            f"names={preview(names)} are {len(names)}, of {len(versions)} versions"
        )
    sides = open_sides(versions, names, training=settings, label=label, seed=seed)
    if isinstance(cases, str | Path):
        cases = load_cases(cases)
    pairs = {}
    for first, second in combinations(range(len(sides)), 2):
        pair = make_pair(sides[first], sides[second], cases=cases, timeout=timeout)
        pairs[first, second] = pair
    if len(sides) > 2 and any(pair.redefined_task for pair in pairs.values()):
        for places, pair in pairs.items():
            pairs[places] = replace(pair, is_task_redefined=True)
    return Comparison(sides, MappingProxyType(pairs))
