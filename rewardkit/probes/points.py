"""Render a finding of a probe on a page, with completions that show it."""

from __future__ import annotations

import math
from dataclasses import replace

from rewardkit.findings import Example, Finding, percent
from rewardkit.html.blocks import Block, Code, Quote
from rewardkit.html.excerpts import LONGEST_EXCERPT, UserText, one_line, visible
from rewardkit.html.pages import Point, point_of, quote_of, redact_example
from rewardkit.primitives.messages import turns_before
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.explain import field_spans

LONGEST_TURNS = 60  # characters of the turns before a completion
LINES_OF_HANG = 3  # lines that are quoted of a completion that hangs
LONGEST_SNIPPET = 1200  # characters of the code that shows a finding

CODES_OF_CHANGES = (
    "differs_between_calls",
    "hidden_state",
    "depends_on_order",
    "depends_on_siblings",
)
"""Findings whose examples have a row's reward, and its reward before."""


def probe_point(finding: Finding, reward: Reward) -> Point:
    """Show a finding with its examples, its rate, and code to reproduce it."""
    examples = quote_examples(finding, reward)
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


def quote_examples(
    finding: Finding, reward: Reward, *, longest: int = LONGEST_EXCERPT
) -> list[Quote]:
    """Quote the examples with different completions, the shortest first."""
    different: dict[str, Example] = {}
    for example in finding.examples:
        different.setdefault(example.completion, example)
    quotes = []
    for example in sorted(different.values(), key=lambda item: len(item.completion)):
        spans = {}
        if finding.family != "hang":  # no field is taken from what hangs
            spans = field_spans(reward, example.columns)
        redacted = _describe(redact_example(example), finding)
        about = UserText(_describe(example, finding), instead=redacted)
        quote = quote_of(example, about, spans, longest=longest)
        if finding.family == "hang" and quote.text is not None:
            lines = quote.text.split("\n")  # which may be thousands
            if len(lines) > LINES_OF_HANG:
                omitted = len(lines) - LINES_OF_HANG + 1
                lines[LINES_OF_HANG - 1 :] = [f"... and {omitted:,} more lines"]
            quote = replace(quote, text="\n".join(lines))
        quotes.append(quote)
    return quotes


def make_snippet(finding: Finding) -> str:
    """Write the shortest line of Python that shows a finding; "" if there is none."""
    if finding.evidence.get("kind") == "contract":  # no single call shows it
        return 'rk.probe(reward, rollouts, only="contract")'
    snippets = [
        example.snippet
        for example in finding.examples
        if "completion" in example.columns
    ]
    shortest = min(snippets, key=len, default="")
    return " ".join(visible(shortest).splitlines())


def _describe(example: Example, finding: Finding) -> str:
    """Describe the outcome of an example, its prompt and its truth."""
    outcome = one_line(example.outcome)
    place = one_line(example.rollout_id, 40)
    if not place.startswith("case "):
        place = f"prompt of rollout {place}"
    if finding.code in CODES_OF_CHANGES:
        outcome = f"earns {outcome}"
    elif math.isnan(example.reward):
        outcome = f"no reward ({outcome})" if outcome else "no reward"
    elif outcome:
        outcome = f"earns {example.reward:.4g} ({outcome})"
    parts = [outcome, place]
    if "ground_truth" in example.columns:
        parts.append(f"truth {one_line(repr(example.columns['ground_truth']), 60)}")
    turns = turns_before(example.columns.get("messages")).removesuffix(": ")
    parts.append(one_line(turns, LONGEST_TURNS))
    return "; ".join(filter(None, parts))
