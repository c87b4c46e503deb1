"""Ways to read the answer: extractors that a log calls for, what each takes, how often it is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.primitives import extract
from rewardkit.primitives.extract import Extractor
from rewardkit.probes.subjects.formats import KEY, THINKING, tags_in
from rewardkit.starting.code import code_of
from rewardkit.starting.truths import Row, Truth

__all__ = ["Way", "other_readings", "taken", "ways"]

TAGS, KEYS = 3, 2  # names that are tried of each
RARE = 0.01  # share of the completions under which a way is an accident: our choice
USED = 0.5  # share of the completions in which a form stands that is the usual one: our choice
COMMON = 0.25  # share from which on a form is one that the policy knows: our choice
SLIGHT = 0.01  # by which shares of right answers differ by chance: our choice
BESIDE = 0.05  # share of the completions in which a second form is worth reading, too: our choice
NEAR = 0.9  # of how often the best way is right, from which on a stricter one is taken: our choice
SHORT = 200  # characters up to which completions may be the answer and nothing else: our choice


@dataclass(frozen=True, eq=False)
class Way:
    """A way to read the answer, measured: what it takes from each row, and how that compares with the truth.

    `extractor` is None where the completion itself is the answer. `scores` are None where the truth is not
    judged; a `marked` way reads what the writer marked as the answer, others take what stands there.
    """

    extractor: Extractor | None
    marked: bool
    values: tuple[str | None, ...]
    scores: tuple[float | None, ...]

    @property
    def code(self) -> str:
        """The code that makes it."""
        return "the completion" if self.extractor is None else code_of(self.extractor)

    @property
    def short(self) -> str:
        """Its code, as short as a person needs it."""
        return self.code.replace("rk.extract.", "")

    @property
    def found(self) -> float:
        """Share of the completions in which it finds something."""
        return sum(value is not None for value in self.values) / max(1, len(self.values))

    @property
    def right(self) -> float:
        """Mean score of what it takes, over the rows with a truth; 0.0 where there is none."""
        judged = [score for score in self.scores if score is not None]
        return sum(judged) / max(1, len(judged))

    @property
    def sure(self) -> float:
        """Mean score of the answers that it finds."""
        return self.right / self.found if self.found else 0.0


def ways(rows: Sequence[Row], prompts: Sequence[str], truth: Truth) -> list[Way]:
    """The ways that find something in these rows, the strictest first."""
    texts = [row["completion"] for row in rows]
    seen: dict[Extractor | None, bool] = {}
    for extractor, marked in _candidates(texts, prompts, truth):
        seen.setdefault(extractor, marked)
    found: list[Way] = []
    for extractor, marked in seen.items():
        way = _measured(extractor, marked, rows, truth)
        if way.found >= RARE and not any(_says_as_much(other, way) for other in found):
            found.append(way)
    return found


def _says_as_much(outer: Way, way: Way) -> bool:
    """Whether what stands inside of what a way takes is no better an answer."""
    inside = isinstance(way.extractor, extract.within) and way.extractor.outer == outer.extractor
    return inside and outer.right + SLIGHT >= way.right


def _measured(extractor: Extractor | None, marked: bool, rows: Sequence[Row], truth: Truth) -> Way:
    read: Callable[[str], str | None] = str if extractor is None else extractor
    values = tuple(read(row["completion"]) for row in rows)
    known: dict[Any, float | None] = {}  # siblings often say the same, and some comparisons take their time
    scores = []
    for value, row in zip(values, rows, strict=True):
        key = (value, repr(row.get("ground_truth")))
        if key not in known:
            known[key] = truth.judge(value, row.get("ground_truth")) if truth.verified else None
        scores.append(known[key])
    return Way(extractor, marked, values, tuple(scores))


def _candidates(
    texts: Sequence[str], prompts: Sequence[str], truth: Truth
) -> Iterator[tuple[Extractor | None, bool]]:
    """Extractors that fit the truth and what stands in completions and prompts; whether each reads a mark."""
    spelled: dict[str, str] = {}  # the case of a tag does not matter
    for name in tags_in(texts) or tags_in(prompts):
        spelled.setdefault(name.lower(), name)
    names = [name for small, name in spelled.items() if small not in THINKING]
    tags: list[Extractor] = [extract.tag(name) for name in names[:TAGS]]
    number, box, phrase = extract.number(), extract.boxed(), extract.answer_phrase()
    counts = Counter(key for text in texts if "{" in text for key in KEY.findall(text))
    keys = [extract.json_value(key) for key, _ in counts.most_common(KEYS) if "." not in key]
    if truth.kind in ("json", "labels"):
        yield from ((item, True) for item in (extract.json_value(), extract.json_value(repair=True), *tags))
        return
    if truth.kind == "number":
        for outer in (*tags, box):
            yield from ((item, True) for item in (outer, extract.within(outer, number)))
        yield from ((item, True) for item in (extract.gsm8k(), extract.within(phrase, number), *keys))
        yield number, False
        return
    yield from ((item, True) for outer in tags for item in (outer, extract.within(outer, box)))
    yield box, True
    if truth.kind == "choice":
        yield from ((item, True) for item in (extract.choice(truth.options), *keys))
        return
    yield from ((item, True) for item in (extract.after("####"), phrase))
    if truth.kind in ("code", "opaque", "none"):
        yield from ((item, True) for item in (extract.code_block(), extract.json_value()))
        return
    yield from ((item, True) for item in keys)
    if sorted(map(len, texts))[len(texts) // 2] <= SHORT:
        yield None, False


def taken(found: Sequence[Way], rows: Sequence[Row], prompts: Sequence[str], truth: Truth) -> Way | None:
    """The way that a first reward should read answers by; ``None`` where there is nothing to go by.

    The strictest of the common ones whose answers are nearly as often right as the best's; where many
    completions have none there, the next way that finds right ones in these stands behind it. Where there is
    a truth, answers are always read: of rare ways by that which is most often right, and where none finds
    anything, by the loosest that fits the truth.
    """
    common = [way for way in found if way.found >= (COMMON if truth.verified else USED)]
    best = max((way.sure for way in common), default=0.0)
    sure = [way for way in common if way.sure >= NEAR * best - SLIGHT and (way.marked or truth.verified)]
    first = next(iter(sure), None)
    if first is None and truth.verified:
        return max(found, key=lambda way: way.right) if found else _loosest(rows, prompts, truth)
    if first is None or not first.marked or not truth.verified:
        return first
    second = next((way for way in found if _is_second(way, first)), None)
    if second is None or first.extractor is None or second.extractor is None:
        return first
    return _measured(extract.first_of(first.extractor, second.extractor), True, rows, truth)


def _loosest(rows: Sequence[Row], prompts: Sequence[str], truth: Truth) -> Way:
    *_, (extractor, marked) = _candidates([row["completion"] for row in rows], prompts, truth)
    return _measured(extractor, marked, rows, truth)


def other_readings(chosen: Way | None, rows: Sequence[Row], truth: Truth) -> list[Way]:
    """Ways that are worth a comparison with the chosen one, though no reward should read by them.

    Where the last number is taken for the answer, marked or not, that is the first one.
    """
    if chosen is None or chosen.extractor != extract.number():
        return []
    return [_measured(extract.number(which="first"), False, rows, truth)]


def _is_second(way: Way, first: Way) -> bool:
    """Whether it finds answers, right half as often, in many completions where the first way finds none."""
    if not way.marked and first.found >= USED:
        return False
    places = [at for at, value in enumerate(first.values) if value is None and way.values[at] is not None]
    scores = [score for at in places if (score := way.scores[at]) is not None]
    enough = len(places) >= BESIDE * len(first.values)
    return enough and bool(scores) and sum(scores) / len(scores) >= first.sure / 2
