"""Choose pairs of siblings for cases that say, or ask, which is better."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from rewardkit.answers import Row
from rewardkit.html.excerpts import one_line
from rewardkit.plain import write_order, write_pair
from rewardkit.primitives import extract
from rewardkit.primitives.messages import prompt_text
from rewardkit.primitives.texts import normal_text, words
from rewardkit.primitives.verify import read_number
from rewardkit.probes.subjects.log import in_turn
from rewardkit.rewards.reward import Floats
from rewardkit.scoring.cases import TODO
from rewardkit.scoring.scores import Scores
from rewardkit.starting.extractions import Extraction, measure_extractor
from rewardkit.starting.task import StartingTask

RIGHT_AND_WRONG = "right above wrong"
"""Kind of pairs that the truth decides."""
DISPUTED = "log disagrees"
"""Kind of pairs in which the log's own verdict on a completion is different."""

QUOTA = {
    RIGHT_AND_WRONG: 6,
    DISPUTED: 4,
    "readings differ": 4,
    "cut off": 3,
    "long and short": 2,
    "form": 2,
    "highest reward": 2,
    "same reward": 1,
}
"""Kind of pair -> number of cases, if the log has as many. Our choice."""
MOST_STARTING_CASES = 20
"""Most cases of all kinds. Our choice."""

ANOTHER = "siblings"  # kind of other pairs, used if a kind has too few
ALONE = "alone"  # kind of a completion without a different sibling
LONGEST_READ_FIRST = 20_000
"""Characters of a completion; longer ones come last, as nobody reads them."""
LONGEST_IN_WHY = 60  # characters of a value in a `why`
LONGER_FACTOR = 1.5  # ratio of words from which a sibling is longer: our choice
MOST_SIBLINGS_PAIRED = 12  # siblings of a prompt that are compared in pairs: our choice
USUAL_END = 0.8
"""Least share of completions that end like a finished text. If it is reached, a
completion that does not was cut off. Our choice."""


class SiblingPair(NamedTuple):
    """Two rows of one prompt, or a single row; the kind of the pair, and why.

    `prompt` is the index of its task, and the prompt. `better` counts the components by
    which the first row earns more; a pair with fewer is clearer.
    """

    kind: str
    rows: tuple[Row, ...]
    why: str
    prompt: tuple[int, Hashable]
    better: int = 0

    @property
    def is_decided(self) -> bool:
        """Whether the first row is certainly better."""
        return self.kind == RIGHT_AND_WRONG

    @property
    def identities(self) -> set[Hashable]:
        """Its completions with their prompt; each is used in one case only."""
        return {(self.prompt, row["completion"]) for row in self.rows}


def write_pairs(tasks: Sequence[StartingTask], scores: Scores) -> list[dict[str, Any]]:
    """Return up to `MOST_STARTING_CASES` cases in the form of a case file.

    A right completion above a wrong one is a decided order, if the wrong one is no
    better by any other component. All other cases are undecided.
    """
    ids = scores.rollouts.table["rollout_id"].tolist()
    place_of = {rollout_id: place for place, rollout_id in enumerate(ids)}
    pairs: list[SiblingPair] = []
    for number, task in enumerate(tasks):
        places = [place_of[row["rollout_id"]] for row in task.rows]
        siblings = _Siblings(task, scores, places)
        for prompt, rows in siblings.by_prompt.items():
            pairs += siblings.find(rows, (number, prompt))
    pairs.sort(key=lambda pair: (any(map(_is_long, pair.rows)), pair.better))
    chosen_pairs = _choose(in_turn(pairs, lambda pair: (pair.kind, pair.prompt[0])))
    return [_write_case(pair, scores.reward.needs) for pair in chosen_pairs]


def _choose(pairs: Sequence[SiblingPair]) -> list[SiblingPair]:
    """Choose pairs of each kind up to its quota, then further pairs of any kind.

    Prefers prompts that were chosen least often; uses no completion twice.
    """
    by_quota = list(Counter(QUOTA).elements())
    kinds = [*QUOTA, ANOTHER, ALONE]
    chosen: list[SiblingPair] = []
    used: set[Hashable] = set()
    prompts: Counter[tuple[int, Hashable]] = Counter()
    for kind in [*by_quota, *kinds * len(by_quota)]:
        options = []
        for pair in pairs:
            if pair.kind == kind and used.isdisjoint(pair.identities):
                options.append(pair)
        if options:
            pair = min(options, key=lambda option: prompts[option.prompt])
            chosen.append(pair)
            used |= pair.identities
            prompts[pair.prompt] += 1
        if len(chosen) == MOST_STARTING_CASES:
            break
    return sorted(chosen, key=lambda pair: kinds.index(pair.kind))


# --- find pairs for cases

PossibleCase = tuple[str, tuple[int, int], str]
"""Kind of a case, the rows of its task, and the question or the reason."""


@dataclass(frozen=True, eq=False)
class _Siblings:
    """The rows of a task, with properties; `places` are their rows in `scores`.

    Lists and arrays have shape (rows,).
    """

    task: StartingTask
    scores: Scores
    places: Sequence[int]

    @cached_property
    def by_prompt(self) -> dict[Hashable, list[int]]:
        """Prompt -> its first few rows, without equal completions.

        The key has the prompt's text, too: the first message of a simulated user may
        differ within a group.
        """
        codes = self.scores.rollouts.prompts[self.places].tolist()
        rows = list(enumerate(self.task.rows))
        row_of: dict[Hashable, dict[str, int]] = defaultdict(dict)
        for row, columns in sorted(rows, key=lambda pair: _is_long(pair[1])):
            siblings = row_of[codes[row], prompt_text(columns.get("prompt"))]
            if len(siblings) < MOST_SIBLINGS_PAIRED:
                siblings.setdefault(columns["completion"], row)
        return {prompt: list(siblings.values()) for prompt, siblings in row_of.items()}

    @cached_property
    def ways(self) -> list[Extraction]:
        """The ways to read an answer; besides the last number also the first."""
        ways = list(self.task.extractions)
        chosen = self.task.chosen
        if chosen is not None and chosen.extractor == extract.number():
            first = extract.number(which="first")
            ways.append(measure_extractor(first, self.task.rows, self.task.truth))
        return ways

    @cached_property
    def verdicts(self) -> list[float | None]:
        """1.0 for a row that every way to read finds right, 0.0 if every one is wrong.

        None if the ways do not agree, or no truth decides.
        """
        chosen = self.task.chosen
        verdicts: list[float | None] = [None] * len(self.task.rows)
        if chosen is None or not self.task.truth.verified:
            return verdicts
        ways = [way for way in self.ways if way.share_right > 0]
        for row, columns in enumerate(self.task.rows):
            if columns.get("ground_truth") is None or self.is_disputed[row]:
                continue
            scores = {way.scores[row] for way in ways if way.values[row]}
            if scores == {1.0} and chosen.values[row] is not None:
                verdicts[row] = 1.0
            elif scores <= {0.0}:  # wrong, or without an answer
                verdicts[row] = 0.0
        return verdicts

    @cached_property
    def is_disputed(self) -> list[bool]:
        """Whether the log's own verdict is different."""
        disputed: list[bool] = self.task.is_disputed.tolist()
        return disputed

    @cached_property
    def differing(self) -> list[bool]:
        """Whether ways to read the answer read different answers."""
        differing = []
        chosen = self.task.chosen
        for row in range(len(self.task.rows)):
            values = [way.values[row] for way in self.ways]
            answers = {_normalize(value) for value in values if value is not None}
            is_missed = chosen is None or chosen.values[row] is None
            differing.append(len(answers) > 1 or bool(answers and is_missed))
        return differing

    @cached_property
    def is_cut(self) -> Sequence[bool | None]:
        """Whether a completion was cut off, by its finish reason, else by its end.

        None without a reason where other completions have one.
        """
        reasons = [row.get("finish_reason") for row in self.task.rows]
        if any(reasons):
            return [reason == "length" if reason else None for reason in reasons]
        texts = [row["completion"].rstrip() for row in self.task.rows]
        is_open = [text[-1:].isalnum() or text.endswith((",", "=")) for text in texts]
        if np.mean(is_open) > 1 - USUAL_END:
            return [False] * len(texts)
        return is_open

    @cached_property
    def sizes(self) -> list[int]:
        """Number of words in each completion."""
        return [len(words(row["completion"])) for row in self.task.rows]

    @cached_property
    def rewards(self) -> Floats:
        """The first reward of each row."""
        rewards: Floats = self.scores.rewards[self.places]
        return rewards

    @cached_property
    def paid_scores(self) -> dict[str, Floats]:
        """Weighted score of each component, NaN if it is not scored."""
        weights = self.scores.reward.weights
        return {
            name: weight * self.scores.score(name)[self.places]
            for name, weight in weights.items()
        }

    def find(
        self, rows: Sequence[int], prompt: tuple[int, Hashable]
    ) -> Iterable[SiblingPair]:
        """Return the clearest pair of each kind among these siblings."""
        if len(rows) == 1:
            kind = DISPUTED if self.is_disputed[rows[0]] else ALONE
            why = f"what is this worth, or from what to what?{self._say_logged(rows)}"
            return [SiblingPair(kind, (self.task.rows[rows[0]],), why, prompt)]
        best_of_kind: dict[str, SiblingPair] = {}
        for siblings in combinations(rows, 2):
            for kind, places, why in self._compare(*siblings):
                listed = tuple(self.task.rows[row] for row in places)
                better = self._count_better(*places)
                pair = SiblingPair(kind, listed, why, prompt, better)
                best = best_of_kind.setdefault(kind, pair)
                if pair.better < best.better:
                    best_of_kind[kind] = pair
        return best_of_kind.values()

    def _compare(self, first: int, second: int) -> Iterator[PossibleCase]:
        """Yield the possible cases of two siblings."""
        verdict = self.task.verdict
        if verdict is not None and verdict.is_right[first] < verdict.is_right[second]:
            first, second = second, first
        pair = first, second
        truths = [self.task.rows[row].get("ground_truth") for row in pair]
        if truths[0] != truths[1]:
            return
        verdicts = [self.verdicts[row] for row in pair]
        for right, wrong in (pair, pair[::-1]):
            if (self.verdicts[right], self.verdicts[wrong]) == (1.0, 0.0):
                if self._is_no_worse(right, wrong):
                    yield RIGHT_AND_WRONG, (right, wrong), self._explain(right, wrong)
        if len(set(verdicts)) > 1 and None not in verdicts:
            return  # the truth decides, so there is nothing to ask
        is_judged = "both are right" if verdicts == [1.0, 1.0] else "neither is right"
        if self.task.chosen is None or None in verdicts:
            is_judged = "nothing says which is right"
            if self.is_disputed[first] or self.is_disputed[second]:
                is_judged = "the truth says otherwise of one"
        is_judged += self._say_logged(pair)
        for kind, why in self._list_differences(first, second):
            yield kind, pair, f"{why}; {is_judged}"
        yield ANOTHER, pair, is_judged

    def _list_differences(self, first: int, second: int) -> Iterator[tuple[str, str]]:
        """Yield the kinds of pair that two siblings are, and their difference."""
        if self.is_disputed[first] or self.is_disputed[second]:
            row = first if self.is_disputed[first] else second
            yield DISPUTED, f"of one, {self._list_readings(row)}"
        if self.differing[first] != self.differing[second]:
            row = first if self.differing[first] else second
            yield "readings differ", f"of one, {self._list_readings(row)}"
        if {self.is_cut[first], self.is_cut[second]} == {True, False}:
            yield "cut off", "one was cut off, the other was not"
        sizes = sorted((self.sizes[first], self.sizes[second]))
        if sizes[1] > LONGER_FACTOR * sizes[0]:
            yield "long and short", f"{sizes[1]:,} words beside {sizes[0]:,}"
        if self._keeps_form(first) != self._keeps_form(second):
            yield "form", "one keeps the form, the other does not"
        rewards = self.rewards[[first, second]].tolist()
        if rewards[0] == rewards[1]:
            yield "same reward", "both earn the same now"
        elif max(rewards) == np.nanmax(self.rewards):
            yield "highest reward", "one earns the highest reward now"

    def _say_logged(self, rows: Sequence[int]) -> str:
        """Describe the log's own verdict on the rows, "" without one."""
        if self.task.verdict is None:
            return ""
        words = self.task.verdict.describe(rows)
        return f"; {words}" if words else ""

    def _count_better(self, first: int, second: int) -> int:
        """Count the components by which the first row earns more."""
        return sum(
            scores[first] > scores[second] for scores in self.paid_scores.values()
        )

    def _is_no_worse(self, right: int, wrong: int) -> bool:
        """Return whether the right row earns at least as much by every component.

        False if it was cut off, or may have been.
        """
        if self.is_cut[right] is not False:
            return False
        for scores in self.paid_scores.values():
            is_judged = not np.isnan(scores[wrong])
            if is_judged and not scores[right] >= scores[wrong]:
                return False
        return True

    def _keeps_form(self, row: int) -> bool:
        """Return whether a component for the form of the answer pays the row."""
        forms = []
        for name, scores in self.paid_scores.items():
            forms.append(name.rpartition("/")[2] == "format" and scores[row] > 0)
        return any(forms)

    def _explain(self, right: int, wrong: int) -> str:
        assert self.task.chosen is not None  # else no row has a verdict
        values = self.task.chosen.values
        truth = _quote(self.task.rows[right].get("ground_truth"))
        return (
            f"the truth is {truth}: {_quote(values[right])} is right, "
            f"{_quote(values[wrong])} is not, and is no better in anything else"
        )

    def _list_readings(self, row: int) -> str:
        why = ", ".join(
            f"{way.short_code} takes {_quote(way.values[row])}" for way in self.ways
        )
        if self.task.truth.verified:
            why += f"; the truth is {_quote(self.task.rows[row].get('ground_truth'))}"
        return why


def _is_long(row: Row) -> bool:
    return len(row["completion"]) > LONGEST_READ_FIRST


def _normalize(value: Any) -> str:
    if not isinstance(value, str):
        return str(value)  # a list
    number = read_number(value)
    return normal_text(value) if number is None else str(number)


def _quote(value: Any) -> str:
    if value is None:
        return "nothing"
    return repr(one_line(str(value), LONGEST_IN_WHY))


# --- the case


def _write_case(pair: SiblingPair, needs: Sequence[str]) -> dict[str, Any]:
    """Return a case in the form of a case file: an order, or a single completion."""
    columns = []
    rows = [json.loads(json.dumps(row, default=str)) for row in pair.rows]
    for row in rows:
        prompt = row.get("prompt")
        wanted = {} if prompt is None else {"prompt": prompt_text(prompt)}
        for name in ("completion", "ground_truth", *needs):
            if name in row:
                wanted[name] = row[name]
        columns.append(wanted)
    ids = [one_line(str(row["rollout_id"]), LONGEST_IN_WHY) for row in rows]
    if len(rows) == 1:
        why = f"{TODO}: {pair.why} (rollout {ids[0]})"
        return {"name": pair.kind, **columns[0], "why": why}
    why = f"{pair.why} (rollouts {ids[0]}, {ids[1]})"
    if pair.is_decided:
        return {"name": pair.kind, **write_order(*columns), "why": why}
    return {"name": pair.kind, **write_pair(*columns), "why": f"{TODO}: {why}"}
