"""Near misses: answers that are wrong by a little, which must not earn full marks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

from rewardkit.primitives.verify.numbers import as_decimal, read_number
from rewardkit.probes.strategies.attempts import Attempt, Probe, probe_of
from rewardkit.probes.strategies.special_values import truth_like
from rewardkit.probes.subjects.answers import changed
from rewardkit.probes.subjects.logged import split
from rewardkit.probes.subjects.subject import Subject

__all__ = ["PROBES"]

LONGEST = 80  # characters of a text of which a longer one is another answer for certain
SMALL = 99  # up to here one more or less is more than a hundredth

Change = Callable[[Any], Iterable[str | Decimal]]


def _near(name: str, says: str, **changes: Change) -> Probe:
    """A probe of answers that are near the right one, by its kind; a number comes as a Decimal."""

    def build(subject: Subject) -> Iterator[str]:
        answer: Any = subject.right.strip()
        if subject.kind == "number" and (number := read_number(answer)) is not None:
            answer = as_decimal(number)
        for value in changes[subject.kind](answer):
            yield subject.format.write(value if isinstance(value, str) else _digits(value))

    return Probe(name, "near_misses", build, says, knows="near", kinds=tuple(changes))


def _digits(value: Decimal) -> str:
    return f"{value.normalize():f}"


def _other_digit(value: Decimal) -> list[str]:
    found = re.fullmatch(r"(-?)(\d)(\d+)", _digits(value))
    return [f"{found[1]}{int(found[2]) % 9 + 1}{found[3]}"] if found else []


def _nine_tenths(value: Decimal) -> list[Decimal]:
    small = value == int(value) and abs(value) <= SMALL
    return [value + Decimal("0.9").copy_sign(value)] if small else []


def _fifths(value: Decimal) -> list[Decimal]:
    fifths = [(value * Decimal(share)).to_integral_value() for share in ("1.2", "0.8")]
    return fifths if abs(value) >= 5 else []


def _more_digits(value: Decimal) -> list[str]:
    text = _digits(value)
    return [f"{text}7", f"3{text}"] if text.isdecimal() else []


def _fewer_digits(value: Decimal) -> list[str]:
    text = _digits(value)
    return [text[0], text[1:].lstrip("0") or text[:-1]] if re.fullmatch(r"[1-9]\d+", text) else []


def _more_letters(text: str) -> list[str]:
    return [f"un{text}", f"{text}less"] if len(text) <= LONGEST and "\n" not in text else []


def _half(text: str) -> list[str]:
    return [text[: len(text) // 2].rstrip()] if len(text) > 5 else []


def _words_turned(text: str) -> list[str]:
    words = text.split()
    return [" ".join(reversed(words))] if len(set(words)) > 2 else []


def _without_one(text: str) -> Iterator[str]:
    items, joint = split(text)
    yield joint.join(items[:-1])


def _one_value(text: str) -> list[str]:
    """The object with the last of its values another one."""
    whole = json.loads(text)
    if _leaves(whole) < 2:
        return []
    if isinstance(whole, dict):
        *_, last = whole
        return [_json({**whole, last: changed(whole[last])})]
    return [_json([*whole[:-1], changed(whole[-1])])]


def _leaves(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_leaves, value.values() if isinstance(value, dict) else value))
    return 1


def _one_item(text: str) -> list[str]:
    """The list with one item more, and with one less."""
    whole = json.loads(text)
    if not isinstance(whole, list) or not whole:
        return []
    return [_json([*whole, changed(whole[-1])]), *([_json(whole[:-1])] if len(whole) > 1 else [])]


def _one_key(text: str) -> list[str]:
    whole = json.loads(text)
    if not isinstance(whole, dict) or len(whole) < 2:
        return []
    *_, last = whole
    return [_json({key: value for key, value in whole.items() if key != last})]


def _swapped(text: str) -> list[str]:
    """The object with two of its values exchanged."""
    whole = json.loads(text)
    items = list(whole.items()) if isinstance(whole, dict) else []
    texts = [key for key, value in items if isinstance(value, str)]
    if len(texts) < 2 or whole[texts[0]] == whole[texts[1]]:
        return []
    return [_json({**whole, texts[0]: whole[texts[1]], texts[1]: whole[texts[0]]})]


def _longer_values(text: str) -> list[str]:
    """The object with something added to each of its values."""
    whole = json.loads(text)
    return [_json(_longer(whole))] if isinstance(whole, dict) and whole else []


def _longer(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _longer(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_longer(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return int(f"1{abs(value)}6")
    return f"un{value}less" if isinstance(value, str) else value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _other_constant(text: str) -> list[str]:
    """The code with another number in it."""
    found = re.search(r"(?<![\w.])\d+(?![\w.])", text)
    return [f"{text[: found.start()]}{int(found[0]) + 7}{text[found.end() :]}"] if found else []


@probe_of("near_misses", "a list with another item in the place of one", knows="near", kinds=("list",))
def other_item(subject: Subject) -> Iterator[str]:
    items, joint = split(subject.right)
    others = (item for answer in subject.wrong for item in split(answer)[0])
    for item in [other for other in others if other not in items][:1]:
        yield subject.format.write(joint.join([*items[:-1], item]))


@probe_of("near_misses", "a number with other decimals", knows="near", kinds=("number",))
def other_decimals(subject: Subject) -> Iterator[Attempt]:
    if re.search(r"\.\d", subject.right):
        truth = truth_like(subject.columns.get("ground_truth"), "3.25")
        if truth is not None:
            yield Attempt.of(subject.format.write("3.75"), ground_truth=truth)


@probe_of("near_misses", "a half-open interval that is open at the other end", knows="near")
def other_end(subject: Subject) -> Iterator[str]:
    found = re.fullmatch(r"([\[(])([^\[\](),]+,[^\[\](),]+)([\])])", subject.right.strip())
    if found and found[1] + found[3] in ("[)", "(]"):
        turned = ("(", "]") if found[1] == "[" else ("[", ")")
        yield subject.format.write(found[2].join(turned))


PROBES = (
    _near("digit_changed", "an answer with another first digit", number=_other_digit),
    _near("sign_flipped", "the answer with the other sign", number=lambda value: [-value] if value else []),
    _near("a_tenth", "a tenth of the answer", number=lambda value: [value / 10] if value else []),
    _near("tenfold", "ten times the answer", number=lambda value: [value * 10] if value else []),
    _near("and_nine_tenths", "the answer and nine tenths", number=_nine_tenths),
    _near(
        "one_off",
        "an answer off by one",
        number=lambda value: [value + 1, value - 1] if abs(value) <= SMALL else [],
    ),
    _near("a_fifth_more", "an answer off by a fifth", number=_fifths),
    _near("too_much", "a longer answer that contains the right one", number=_more_digits, text=_more_letters),
    _near("too_little", "a part of the answer", number=_fewer_digits, text=_half, code=_half),
    _near(
        "plus_one", "the answer with something added", mathematics=lambda text: [f"{text}+1", f"-({text})"]
    ),
    other_decimals,
    _near("words_turned", "the words of the answer in another order", code=_words_turned),
    _near("other_constant", "code with another number in it", code=_other_constant),
    _near("one_item", "a list with one item more, or one less", json=_one_item, list=_without_one),
    other_item,
    other_end,
    _near("one_value", "an object with one wrong value", json=_one_value),
    _near("longer_values", "an object whose values contain the right ones", json=_longer_values),
    _near("one_key", "an object without one of its keys", json=_one_key),
    _near("swapped_values", "an object with two of its values exchanged", json=_swapped),
)
