"""Replies of a judge with several verdicts, of which the reward reads another's.

A judge that thinks aloud quotes the rubric, or the candidate, before its own verdict.
Where its replies with one verdict have it is where its own stands.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rewardkit.findings import Finding, Findings, rule
from rewardkit.probes.code.verdicts import (
    LONGEST_REPLY,
    MOST_REPLIES,
    OF_JUDGE,
    VERDICT_TEXT,
)
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.text_columns import FEWEST_TEXTS, NO_TEXT_COLUMNS
from rewardkit.strategies.strategy import Row

NEARLY_ALL = 0.9
"""Share of replies that must agree where a verdict stands, and what it is worth. Our
choice."""
PLACES = {0: "first", -1: "last"}


@dataclass(frozen=True, eq=False)
class JudgeReply:
    """A logged reply with verdicts, in their order, its row, and what that earned."""

    row: Row
    earned: float
    text: str
    verdicts: list[str]

    @property
    def has_one(self) -> bool:
        """Whether all of its verdicts are the same."""
        return len({*self.verdicts}) == 1


@rule("other_verdict_read")
def other_verdicts(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report that what is paid goes by the first verdict of replies, not the last.

    Or by the last, where the judge begins with its own.
    """
    for column, replies in _find_replies(observed).items():
        worth = _find_worth(replies)
        own_place = _find_place(replies)
        if own_place is None or len({*worth.values()}) < 2:
            continue
        read_place = -1 - own_place
        several = [reply for reply in replies if not reply.has_one]
        count = 0  # of replies whose verdicts are worth different amounts
        misread = []
        for reply in several:
            by_own = worth.get(reply.verdicts[own_place])
            by_other = worth.get(reply.verdicts[read_place])
            if by_own is None or by_other is None or by_own == by_other:
                continue
            count += 1
            if round(reply.earned, 6) == by_other:
                misread.append(reply)
        if len(misread) < max(FEWEST_TEXTS, NEARLY_ALL * count):
            continue
        misread.sort(key=lambda reply: (-reply.earned, len(reply.text)))
        code, first = "other_verdict_read", misread[0]
        outcome = f"the judge said {first.text!r}"
        yield observed.finding(
            code,
            len(replies),
            len(misread),
            examples=[observed.row_example(first.row, first.earned, code, outcome)],
            column=column,
            several=len(several),
            read=PLACES[read_place],
            own=PLACES[own_place],
            read_verdict=first.verdicts[read_place],
            own_verdict=first.verdicts[own_place],
        )
        return


def _find_replies(observed: Observed) -> Mapping[str, list[JudgeReply]]:
    """Find the columns in which a judge's verdicts stand."""
    replies: dict[str, list[JudgeReply]] = defaultdict(list)
    for row, earned in observed.calibration.judged[:MOST_REPLIES]:
        for column in row.keys() - NO_TEXT_COLUMNS:
            text = row[column]
            if OF_JUDGE.search(column) and isinstance(text, str):
                verdicts = VERDICT_TEXT.findall(text[:LONGEST_REPLY])
                if verdicts:
                    replies[column].append(JudgeReply(row, earned, text, verdicts))
    return dict(sorted(replies.items()))


def _find_worth(replies: Sequence[JudgeReply]) -> dict[str, float]:
    """Return what lone verdicts are worth; {} where they earn this or that."""
    rewards: dict[str, Counter[float]] = defaultdict(Counter)
    for reply in replies:
        if reply.has_one:
            rewards[reply.verdicts[0]][round(reply.earned, 6)] += 1
    worth = {}
    agreeing = 0
    for verdict, counts in rewards.items():
        ((worth[verdict], count),) = counts.most_common(1)
        agreeing += count
    total = sum(counts.total() for counts in rewards.values())
    return worth if agreeing >= NEARLY_ALL * total else {}


def _find_place(replies: Sequence[JudgeReply]) -> int | None:
    """Return where the judge's own verdict stands, 0 or -1; None where it differs."""
    places: Counter[int] = Counter()
    for reply in replies:
        lines = reply.text.strip().splitlines()
        if reply.has_one and len(lines) > 1:
            for place in PLACES:
                places[place] += reply.verdicts[place] in lines[place]
                places[-1 - place] -= reply.verdicts[place] in lines[place]
    if not places:
        return None
    place, lead = places.most_common(1)[0]
    count = sum(reply.has_one for reply in replies)
    return place if lead >= NEARLY_ALL * count else None
