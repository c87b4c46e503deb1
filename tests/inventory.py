"""Every primitive as a call on one text, with what its value must be: for fuzzing and the table of times."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import rewardkit as rk

Check = Callable[[str, Any], str | None]

extract, verify, measure = rk.extract, rk.verify, rk.measure

EXTRACTORS = (
    extract.tag("answer"),
    extract.tag("think", which="first", unclosed=True, prefilled=True),
    extract.boxed(),
    extract.after("####"),
    extract.after("Answer:", until="end", case=False),
    extract.answer_phrase(),
    extract.pattern(r"total: (\d+)"),
    extract.number(),
    extract.number(which="first", percent=True),
    extract.gsm8k(mode="strict"),
    extract.gsm8k(mode="flexible"),
    extract.choice(),
    extract.choice("abcd", case=False),
    extract.code_block(),
    extract.code_block("python", unclosed=True),
    extract.json_value(),
    extract.json_value("a.0", which="first", repair=True),
    extract.python_literal(),
    extract.python_literal("a"),
    extract.citation(),
    extract.math_answer(),
    extract.tool_call(),
    extract.tool_call("f", path="arguments.a"),
    extract.first_of(extract.tag("answer"), extract.boxed(), extract.number()),
    extract.within(extract.tag("answer"), extract.number()),
    extract.every(extract.number()),
    extract.every(extract.citation()),
)

SCHEMA = {
    "type": "object",
    "required": ["a"],
    "properties": {"a": {"type": "string", "pattern": "^(x+)+$"}},
}

MEASURES = (
    measure.tags("think", "answer"),
    measure.tags("plan(step+)", "note?", "answer", outside="nowhere", partial=True),
    measure.length(full_until=15, zero_from=60),
    measure.length(
        full_until=200, zero_from=400, full_from=50, unit="characters", fall="cosine"
    ),
    measure.overlong(limit=100, buffer=20),
    measure.repetition(),
    measure.repetition(kind="loop"),
    measure.repetition(kind="sentences"),
    measure.keywords("because", "so"),
    measure.keywords("答案", "the", mode="count", full_at=3),
    measure.json_schema(SCHEMA),
    measure.regex(r"^\s*<think>"),
    measure.steps(full_at=3),
    measure.steps(full_at=3, kind="sections"),
    measure.diversity(),
)

VERIFICATIONS: tuple[tuple[Callable[..., Any], str], ...] = (
    (verify.matches, "Paris"),
    (partial(verify.matches, unicode_form="NFKC", case=True), "Paris"),
    (verify.numbers_equal, "1,234.5"),
    (partial(verify.numbers_equal, relative=0.01), "-3/4"),
    (verify.closeness, "12"),
    (verify.math_equal, r"\frac{1}{2}"),
    (verify.sets_equal, "{1, 2, 3}"),
    (verify.sets_f1, "{1, 2, 3}"),
    (partial(verify.lists_equal, partial=True), "[1, 'a', 3]"),
    (verify.json_equal, '{"a": 1, "b": [true, null]}'),
    (partial(verify.json_equal, partial=True), '{"a": 1, "b": {"c": "x"}}'),
    (verify.choice_equal, "B"),
    (verify.contains, "5"),
    (verify.f1, "the cat sat on the mat"),
    *(
        (measure.similarity(method), "the cat sat")
        for method in ("ratio", "partial", "token_sort", "token_set")
    ),
)

TRANSCRIPTS = (
    measure.turns(full_until=2, zero_from=5),
    measure.tool_calls("f"),
    measure.calls_within(2),
    measure.call_efficiency(1, 3),
    measure.failed_calls(),
    measure.repeated_calls(),
    measure.grounding(),
)


@lru_cache(maxsize=1)
def samples() -> list[str]:
    """Real completions, to damage."""
    names = ("gallery:arithmetic", "gallery:mixed")
    return [
        text
        for name in names
        for text in rk.load_rollouts(name).table["completion"].head(200)
    ]


def conversation(text: str) -> list[dict[str, Any]]:
    """A transcript in which the text stands wherever a text can stand."""
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": text}}
    return [
        {"role": "user", "content": text},
        {"role": "assistant", "content": text, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": text},
        {"role": "assistant", "content": [{"type": "text", "text": text}]},
    ]


def _spans_fit(extractor: Any, text: str, value: Any) -> str | None:
    spans = extractor.spans(text)
    if any(not 0 <= start <= end <= len(text) for start, end in spans):
        return f"spans {spans} outside of the text"
    if (value is None or value == []) != (not spans):
        return f"value {value!r:.60} with spans {spans}"
    verbatim = not re.search(
        r"path=|(json_value|python_literal|tool_call|code_block)\(", repr(extractor)
    )
    if verbatim and isinstance(value, str) and value != text[slice(*spans[0])]:
        return f"value {value!r:.60} is not what stands at {spans}"
    return None


def _share(text: str, value: Any) -> str | None:
    is_share = (
        value is None
        or isinstance(value, bool)
        or (isinstance(value, float) and 0.0 <= value <= 1.0)
    )
    return None if is_share else f"{value!r:.60} is no share"


def _is(*kinds: type) -> Check:
    return lambda text, value: (
        None if isinstance(value, kinds) else f"{value!r:.60} is of another type"
    )


def _named(function: Any) -> str:
    if isinstance(function, partial):
        options = ", ".join(
            f"{key}={value!r}" for key, value in function.keywords.items()
        )
        return f"{function.func.__name__}(..., {options})"
    return getattr(function, "__name__", repr(function))


def _calls() -> Mapping[str, tuple[Callable[[str], Any], Check]]:
    calls: dict[str, tuple[Callable[[str], Any], Check]] = {}
    for extractor in EXTRACTORS:
        calls[repr(extractor)] = (extractor, partial(_spans_fit, extractor))
    for item in MEASURES:
        calls[repr(item)] = (item, _share)
    for function, truth in VERIFICATIONS:
        name = _named(function)
        calls[name] = (lambda text, f=function, t=truth: f(text, t), _share)
        calls[f"{name}, hostile truth"] = (
            lambda text, f=function, t=truth: f(t, text),
            _share,
        )
    for item in TRANSCRIPTS:
        calls[repr(item)] = (lambda text, f=item: f(conversation(text)), _share)
    cited = measure.citations("f1")
    calls[repr(cited)] = (lambda text: cited(text, ["a1", "b"]), _share)
    calls[f"{cited!r}, hostile truth"] = (
        lambda text: cited("[Source: a1]", text),
        _share,
    )
    calls["read_number"] = (verify.read_number, _is(Decimal, Fraction, type(None)))
    said = partial(extract.assistant_text, turns="all", tool_calls=True)
    calls["assistant_text"] = (lambda text: said(conversation(text)), _is(str))
    return calls


CALLS = _calls()
