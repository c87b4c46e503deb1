"""Results of probing, for the tests of what is made of them: of small rewards, and of findings by hand."""

import math
from dataclasses import replace
from functools import cache

from planted_probes import somewhere

import rewardkit as rk
from rewardkit.findings import Example, Finding
from rewardkit.reasons import Reason, ReasonCode

HOSTILE = "<script>pwned()</script>\x1b[2J\u202etxt\u200b\ud800\r\n&amp;"
ROWS = [
    {
        "rollout_id": f"r{place}-{text}",
        "prompt": f"What is {answer - 1} and 1?",
        "completion": f"<answer>{text}</answer>",
        "ground_truth": str(answer),
    }
    for place, answer in enumerate((42, 17, 83, 210))
    for text in (str(answer), "1")
]


PREDICTION = {"prediction": rk.extract.tag("answer")}
CORRECT = rk.Component("correct", rk.verify.numbers_equal)
FORM = rk.Component("form", rk.measure.tags("answer"), weight=0.2)
STRICT = rk.Reward("strict", PREDICTION, [CORRECT])
LEAKY = rk.Reward("leaky", PREDICTION, [rk.Component("somewhere", somewhere), FORM])
FAILING = rk.Reward(
    "failing", components=[rk.Component("fails", lambda completion: 1 / 0)]
)


@cache
def held() -> rk.ProbeResult:
    """A result without an alarm."""
    return rk.probe(STRICT, ROWS)


@cache
def leaked() -> rk.ProbeResult:
    """A result with a hole."""
    return rk.probe(LEAKY, ROWS)


def example(completion: str = "<answer>7</answer>", **options: object) -> Example:
    """An example; by default one that is paid as a right answer is."""
    figures = {
        "reward": 1.0,
        "expected": (0.0, 0.1),
        "right": 1.0,
        "wrong": 0.0,
        **options,
    }
    columns = {"completion": completion, "ground_truth": "42"}
    return Example(figures.pop("rollout_id", "r1"), columns, **figures)


def finding(
    code="longer", severity="high", family="padding", **options: object
) -> Finding:
    """A finding of a hole, as `causes` makes them."""
    pays = {
        "kind": "pays",
        "says": "more words",
        "value": 1.0,
        "interval": (0.5, 1.0),
        "gain": 1.0,
    }
    evidence = {
        **pays,
        "found": 4,
        "tried": 4,
        "also": [],
        **options.pop("evidence", {}),
    }
    examples = options.pop("examples", (example(),))
    component = options.pop("component", None)
    return Finding(
        code,
        severity,
        component,
        evidence,
        4,
        0.25,
        family=family,
        examples=examples,
        **options,
    )


def failed(
    error: str, words: str, *, completion: str = "", code: str = "raises", passed_by=()
) -> Finding:
    """A finding of a failure whose reason quotes a completion."""
    reason = Reason(
        ReasonCode.RAISED, error=error, words=words, passed_by=tuple(passed_by)
    )
    shown = example(
        completion,
        reward=math.nan,
        expected=None,
        outcome=str(reason),
        right=math.nan,
        wrong=math.nan,
    )
    evidence = {
        "kind": "",
        "reason": reason,
        "says": f"fails: {reason}",
        "what": "1 of 4",
    }
    return finding(code, family="contract", evidence=evidence, examples=(shown,))


def with_findings(*findings: Finding, **options: object) -> rk.ProbeResult:
    """A result with these findings."""
    return replace(held(), findings=findings, **options)
