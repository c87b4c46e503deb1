"""How a finding of a probe stands on a page: with completions that show it."""

from __future__ import annotations

import math

from rewardkit.findings import Example, Finding, percent
from rewardkit.html.blocks import Block, Code, Quote
from rewardkit.html.excerpts import UserText, one_line, visible
from rewardkit.html.pages import Point, point_of, quote_of
from rewardkit.primitives.messages import turns_before
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.explain import field_spans

LONGEST_SNIPPET = 1200  # characters of the lines that show a finding

CODES_OF_CHANGES = (
    "differs_between_calls",
    "hidden_state",
    "depends_on_order",
    "depends_on_siblings",
)
"""Findings whose examples say what a row earns, and what it earned before."""


def probe_point(finding: Finding, reward: Reward) -> Point:
    """Show a finding with its examples, its rate, and a line of code that shows it."""
    examples = [_quote(item, finding, reward) for item in clearest_examples(finding)]
    details: list[Block] = []
    evidence = finding.evidence
    if "interval" in evidence and finding.code != "hang":
        rate, low, high = map(percent, (evidence["value"], *evidence["interval"]))
        rate_of = f"{rate} of {finding.n}"
        details.append(f"rate: {rate_of} (95 % interval {low} to {high})")
    if evidence.get("also"):
        details.append(f"same cause: {', '.join(evidence['also'])}")
    snippet = make_snippet(finding)
    if len(snippet) > LONGEST_SNIPPET:
        snippet = f"{snippet[:LONGEST_SNIPPET]} ... (whole in finding.examples)"
    if snippet:
        details.append(Code(UserText(snippet)))
    return point_of(finding, examples=examples, details=details)


def clearest_examples(finding: Finding) -> list[Example]:
    """List the examples with different completions, the shortest first."""
    different: dict[str, Example] = {}
    for example in finding.examples:
        different.setdefault(example.completion, example)
    return sorted(different.values(), key=lambda example: len(example.completion))


def describe_turns(example: Example, longest: int = 150) -> str:
    """Write what a transcript has before its completion on one line; "" without one."""
    turns = turns_before(example.columns.get("messages"))
    return one_line(turns.removesuffix(": "), longest)


def make_snippet(finding: Finding) -> str:
    """Write the shortest line of Python that shows a finding; "" where none does."""
    if finding.evidence.get("kind") == "contract":  # no single call shows it
        return 'rk.probe(reward, rollouts, only="contract")'
    snippets = [
        example.snippet
        for example in finding.examples
        if "completion" in example.columns
    ]
    if not snippets:
        return ""
    return " ".join(visible(min(snippets, key=len)).splitlines())


def _quote(example: Example, finding: Finding, reward: Reward) -> Quote:
    spans = {}
    if finding.family != "hang":  # no field is taken from what hangs
        spans = field_spans(reward, example.columns)
    return quote_of(example, _describe(example, finding), spans)


def _describe(example: Example, finding: Finding) -> UserText:
    """Say what an example got instead of a reward, and which rollout it is for."""
    outcome = one_line(example.said)
    place = one_line(example.rollout_id, 40)
    if not place.startswith("case "):
        place = f"for the prompt of rollout {place}"
    if finding.code in CODES_OF_CHANGES:
        outcome = f"earns {outcome}"
    elif math.isnan(example.reward):
        outcome = f"no reward ({outcome})" if outcome else "no reward"
    elif outcome:
        outcome = f"earns {example.reward:.4g} ({outcome})"
    parts = [outcome, place]
    if "ground_truth" in example.columns:
        parts.append(f"truth {one_line(repr(example.columns['ground_truth']), 60)}")
    turns = describe_turns(example, 60)
    if turns:
        parts.append(f"after {turns}")
    return UserText("; ".join(filter(None, parts)), instead=place)
