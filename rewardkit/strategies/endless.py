"""Endless: completions that make code run long or fall over; every call must return."""

from __future__ import annotations

from collections.abc import Iterator

from rewardkit.strategies.strategy import (
    Strategy,
    Subject,
    strategies_of_texts,
    strategy,
)

VERY_LONG = 100_000  # characters: what is slow beyond is not worth a line
LONG_COMPLETION = 40_000
"""Characters that a completion may well have: some ten thousand tokens. A hang on more
is for information."""

FREE: dict[str, str] = {"expects": "back", "needs": "nothing"}


@strategy("hang", "a completion of 100,000 characters", **FREE)
def very_long(subject: Subject) -> Iterator[str]:
    yield "word " * (VERY_LONG // 5)
    yield subject.format.write("1" * VERY_LONG)


_marked = strategies_of_texts(
    "hang", lambda subject, text: [subject.format.write(text)], **FREE
)
MARKED_TEXTS = (
    _marked(
        "huge_powers",
        "numbers and powers that no computer counts up to",
        *("9" * 12, "9" * 18, "-1" + "0" * 15, "9**9**9", "10^10^10^10"),
        *("9^{9^{9^{9}}}", "99999999!"),
        *("1e999999999", "2**10000000000", "10**-99999999"),
    ),
    _marked(
        "long_runs",
        "a run of one sign",
        *(sign * 30_000 + "!" for sign in ("a", " ", "\n", "(", "<", "-", "1", "\\")),
        *("a" * 30 + "!", "ab" * 20 + "\n!"),
    ),
)


@strategy("hang", "brackets and tags within one another without end", **FREE)
def deep_nesting(subject: Subject) -> Iterator[str]:
    depth = LONG_COMPLETION // 2
    yield subject.format.write("(" * depth + subject.kind + ")" * depth)
    yield subject.format.write("[" * depth + "]" * depth)
    depth = LONG_COMPLETION // 6
    yield subject.format.write('{"a":' * depth + "1" + "}" * depth)
    yield subject.format.write(r"\frac{1}{" * 2000 + "1" + "}" * 2000)
    yield r"\boxed{" * (LONG_COMPLETION // 7)
    for depth in (25, 60):
        for opening, closing in ("{}", "[]", "()"):
            yield subject.format.write(opening * depth + closing * depth)
        yield r"\boxed{" * depth + "1" + "}" * depth
    tag = f"<{subject.format.tag or 'answer'}>"
    yield tag * (LONG_COMPLETION // len(tag))
    yield tag + "<" * LONG_COMPLETION


@strategy("hang", "a pattern or code of its own that takes for ever", **FREE)
def runs_for_ever(subject: Subject) -> Iterator[str]:
    for text in (
        r"(?:.?){400}\x00",
        r"(.+)+\x00",
        "while True: pass",
        "import time; time.sleep(100000)",
    ):
        yield subject.format.write(text)
    yield "```python\nwhile True:\n    pass\n```"


@strategy("hang", "a bracket that is never closed, or closed twice", **FREE)
def left_open(subject: Subject) -> Iterator[str]:
    for opening, closing in ("{}", "[]", "()", "<>", '""'):
        yield subject.format.write(opening)
        yield subject.format.write(f"{opening}1{closing}{closing}")
        yield f"{subject.format.lead}{subject.format.opening}{opening}"


PATTERNS = Strategy(
    "patterns",
    "hang",
    lambda subject: (),
    "a text that a pattern in its code goes through over and over",
    expects="back",
    needs="nothing",
)
"""Which texts these are depends on the reward: `contract/hang.py` writes them."""
