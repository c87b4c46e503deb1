"""A rule of phrases that a reward looks for and cannot find, as it folds the case."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeGuard

from rewardkit.findings import Finding, Findings, rule
from rewardkit.probes.code.constants import constants, names_used
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.runner import rewards_in
from rewardkit.strategies.strategy import Row

FOLDING = frozenset({"lower", "casefold"})
"""Methods of a text after which it holds no capital letters."""

FEWEST_WORDS = 3
"""Words of a phrase: two may be a name. Our choice."""

LEAST_HOLDERS = 3
"""Completions of the log that hold one of the phrases. Our choice."""

MOST_HOLDERS = 12
"""Completions from which the phrases are taken out. Our choice."""

SHARE_OF_PHRASES = 0.1
"""Share of the remaining budget of calls."""


@rule("phrase_unread")
def unread_phrases(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report phrases with capitals that logged texts hold and no reward depends on.

    Only in code that puts texts into lower case: there such a phrase is never found.
    """
    functions = list(observed.reward.functions)
    if FOLDING.isdisjoint(names_used(functions)):
        return
    phrases = [re.escape(text) for text in constants(functions) if _is_phrase(text)]
    if not phrases:
        return
    pattern = re.compile("|".join(phrases).replace("'", "['’]"), re.IGNORECASE)
    holders: list[tuple[Row, float, str]] = []
    for row, outcome in observed.calibration.pool:
        match = pattern.search(str(row["completion"]))
        if match is not None and outcome.is_judged:
            holders.append((row, outcome.reward, match[0]))
    if len(holders) < LEAST_HOLDERS:
        return
    highest_first = sorted(holders, key=lambda holder: -holder[1])  # 0 cannot be lost
    changed = highest_first[:MOST_HOLDERS]
    rows = []
    for row, _, _ in changed:
        text = pattern.sub("", str(row["completion"]))
        rows.append(observed.tries.varied(row, text))
    rewards = rewards_in(observed.tries.outcomes(rows, share=SHARE_OF_PHRASES))
    if list(rewards) != [reward for _, reward, _ in changed]:
        return
    shortest = min(changed, key=lambda holder: len(str(holder[0]["completion"])))
    row, reward, phrase = shortest
    yield observed.finding(
        "phrase_unread",
        len(rows),
        len(rows),
        examples=[observed.row_example(row, reward, "phrase_unread")],
        phrase=phrase,
        holders=len(holders),
        judged=len(observed.calibration.pool),
    )


def _is_phrase(text: str | int) -> TypeGuard[str]:
    """Return whether a constant is words of a sentence, with a capital letter."""
    if not isinstance(text, str) or "\n" in text or text == text.lower():
        return False
    words = text.split()
    lower = [word for word in words if word.isalpha() and word.islower()]
    return len(words) >= FEWEST_WORDS and 2 * len(lower) >= len(words)
