"""A rule of prompts whose own query returns nothing, so that an empty one is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewardkit.findings import Example, Finding, rule
from rewardkit.primitives.messages import prompt_text
from rewardkit.probes.findings.evidence import Observed, row_example
from rewardkit.probes.trials import FULL_MARKS
from rewardkit.strategies.programs import EMPTY_QUERY, QUERY
from rewardkit.strategies.strategy import Row

EMPTY_RESULT = "empty_truth_result"
SHARE_OF_QUERIES = 0.1  # share of the remaining budget
MOST_EMPTY = 0.9
"""Share of the prompts from which it is not their data that pays. Our choice."""


@rule(EMPTY_RESULT)
def empty_truth_results(
    observed: Observed, findings: Sequence[Finding]
) -> Iterator[Finding]:
    """Report prompts on which an empty query is paid; on all of them it is a hole."""
    queries = [item for item in observed.subjects if QUERY.match(item.answer or "")]
    if not queries:
        return
    subject, tries = queries[0], observed.tries
    scale, completion = observed.scale(subject), subject.write(EMPTY_QUERY)
    prompts: dict[str, Row] = {}
    for row, _ in observed.calibration.pool:
        prompts.setdefault(prompt_text(row.get("prompt")), row)
    rows = [tries.varied(row, completion) for row in prompts.values()]
    outcomes = tries.outcomes(rows, share=SHARE_OF_QUERIES)
    examples: list[Example] = []
    for row, outcome in zip(rows, outcomes, strict=True):
        if outcome is not None and scale.gain(outcome.reward) >= FULL_MARKS:
            columns = observed.shown_columns(row)
            item = row_example(row, outcome.reward, EMPTY_RESULT, "", columns)
            examples.append(item)
    count = len(examples)
    if 0 < count < MOST_EMPTY * len(rows):
        yield observed.finding(
            EMPTY_RESULT, len(rows), count, examples=examples, gain=1.0
        )
