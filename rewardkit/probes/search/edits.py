"""Edits: seeded changes of a completion's record that keep its answer wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from rewardkit.judges.attacks import FLATTERY, ORDERS, RUBRIC
from rewardkit.probes.search.pieces import PLAINEST, RIGHT, Piece, Record, changed, without
from rewardkit.probes.search.vocabulary import Vocabulary
from rewardkit.probes.strategies.judges import CLOSED, VERDICTS
from rewardkit.probes.strategies.padding import CERTAIN, LENGTHS, USUAL

__all__ = ["COUNTS", "EDITS", "crossed", "edited", "openers"]

COUNTS = (1, 1, 2, 3, 5, 8, 12)
"""Edits at a time, each as likely. Many at once meet what only several together are paid for. Our choice."""

TIMES = (2, 3, 5, 10)
WORDS = (8, 20, *LENGTHS[:3])
JOINTS = ("", " ", "\n", "\n\n")
BETWEEN = (" or ", ", ", " and ", "; ", "\n", " / ")
MOST_TIMES = 200

WRAPS = (
    ("```\n", "\n```"),
    ("```json\n", "\n```"),
    ("<!-- ", " -->"),
    ("**", "**"),
    ('"', '"'),
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    (r"\boxed{", "}"),
    ("$", "$"),
    ("`", "`"),
    ("> ", ""),
    ("# ", ""),
    ("- ", ""),
)
PLAIN_TAGS = (
    "think",
    "answer",
    "step",
    "reflection",
    "summary",
    "plan",
    "check",
    "verify",
    "section",
    "note",
)
SENTENCES = (
    *ORDERS,
    *FLATTERY,
    RUBRIC,
    CERTAIN,
    USUAL,
    "Final answer: as follows.",
    "It may be this, or it may be that.",
    "I am not sure, and I do not know.",
    "Let me check this again. Yes, it is correct.",
    "## Reasoning",
    "Step by step:\n- first this\n- then that\n- so it follows",
)

Edit = Callable[[Record, np.random.Generator, Vocabulary], Record]


def edited(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """The record after some edits, drawn at random."""
    for _ in range(int(draw.choice(COUNTS))):
        edit = EDITS[int(draw.choice(len(EDITS), p=ODDS))]
        record = edit(record, draw, vocabulary)
    return record


def crossed(record: Record, other: Record, draw: np.random.Generator) -> Record:
    """The beginning of one record and the end of another, each with its own pieces there."""
    a, b = (int(draw.integers(len(one) + 1)) for one in (record, other))
    return (*record[:a], *other[b:])


def openers(record: Record, vocabulary: Vocabulary) -> Iterator[Record]:
    """What is tried first: single edits of different kinds, each as far as it goes."""
    at = next((place for place, piece in enumerate(record) if piece.kind == "mark"), len(record))
    words = tuple(Piece("phrase", text, joint=", ") for text in vocabulary.phrases[:20])
    tags = tuple(piece for name in _tags(vocabulary)[:10] for piece in _pair(f"<{name}>", f"</{name}>"))
    end = len(record)
    if words:
        yield _at(record, at, *words)
        yield _at(record, end, *words)
        yield tuple(replace(word, times=3) for word in words)
    yield _at(record, end, *tags)
    yield _at(record, at, Piece("filler", times=500))
    yield _at(record, at, Piece("filler", times=500), *words)
    yield _at(record, end, *(Piece("verdict", text) for text in VERDICTS))
    yield _at(record, at, *(Piece("sentence", text) for text in SENTENCES))
    yield _at(record, end, *(Piece("delimiter", text) for text in CLOSED), Piece("verdict", VERDICTS[0]))
    if at < len(record):
        yield changed(record, at, answers=())
        yield changed(record, at, answers=(0, RIGHT, 1), text=", ")
        yield changed(record, at, times=5, joint="\n")
        yield _at(record, end, Piece("marks", "\n", (1, RIGHT, 2)))
        yield (record[at],)
    listed = Piece("said", ", ", (0, RIGHT, 1))
    yield _at(record, at, listed)
    wraps = [*WRAPS, *((f"<{name}>", f"</{name}>") for name in _tags(vocabulary)[:4])]
    yield _at(record, end, *(piece for wrap in wraps for piece in _pair(*wrap, replace(listed, joint=""))))
    if vocabulary.told:
        told = [Piece("told", item.text, (0,), prompt=item.prompt) for item in vocabulary.told]
        yield _at(record, 0, *told[:3])


# Places


def _at(record: Record, at: int, *pieces: Piece) -> Record:
    return (*record[:at], *pieces, *record[at:])


def _put(record: Record, draw: np.random.Generator, *pieces: Piece) -> Record:
    """The pieces somewhere in the record."""
    return _at(record, int(draw.integers(len(record) + 1)), *pieces)


def _span(record: Record, draw: np.random.Generator) -> tuple[int, int]:
    """Two places, often with one piece or none between them."""
    low = int(draw.integers(len(record) + 1))
    return low, min(len(record), low + int(draw.integers(3)) if draw.random() < 0.7 else len(record))


def _around(record: Record, draw: np.random.Generator, opening: str, closing: str) -> Record:
    low, high = _span(record, draw)
    inner = record[low:high]
    if inner and draw.random() < 0.5:  # with nothing between the tag and what stands in it
        inner = (replace(inner[0], joint=""), *inner[1:])
    joint = "" if draw.random() < 0.5 else "\n"
    pair = _pair(opening, closing, *inner, joint=joint)
    return (*record[:low], *pair, *record[high:])


def _pair(opening: str, closing: str, *inner: Piece, joint: str = "") -> tuple[Piece, ...]:
    """An opening and a closing piece, with these between them."""
    ends = Piece("open", opening), Piece("close", closing, joint=joint)
    return tuple(piece for piece in (ends[0], *inner, ends[1]) if piece.text or piece in inner)


def _one(draw: np.random.Generator, options: tuple[str, ...]) -> str:
    return options[int(draw.integers(len(options)))]


def _tags(vocabulary: Vocabulary) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*vocabulary.tags, *PLAIN_TAGS]))


# Edits


def phrase(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """One of the phrases that the code looks for."""
    if not vocabulary.phrases:
        return sentence(record, draw, vocabulary)
    return _put(record, draw, Piece("phrase", _one(draw, vocabulary.phrases), joint=_one(draw, JOINTS)))


def phrases(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """Some of these phrases, one behind the other."""
    if not vocabulary.phrases:
        return sentence(record, draw, vocabulary)
    count = int(draw.integers(2, 9))
    some = sorted(draw.permutation(len(vocabulary.phrases))[:count].tolist())
    return _put(record, draw, *(Piece("phrase", vocabulary.phrases[at], joint=", ") for at in some))


def verdict(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """What a judge would say."""
    return _put(record, draw, Piece("verdict", _one(draw, VERDICTS)))


def sentence(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """A sentence to whoever judges, or one that says nothing."""
    return _put(record, draw, Piece("sentence", _one(draw, SENTENCES)))


def delimiter(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """What may end a completion early, often with a verdict behind it."""
    mark = Piece("delimiter", _one(draw, CLOSED))
    behind = (Piece("verdict", _one(draw, VERDICTS)),) if draw.random() < 0.6 else ()
    return _put(record, draw, mark, *behind)


def filler(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """More words."""
    options = (*WORDS, *(number + 1 for number in vocabulary.numbers))
    return _put(record, draw, Piece("filler", times=int(draw.choice(options))))


def told(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """What another rollout says, with a wrong answer wherever it had one."""
    if not vocabulary.told:
        return filler(record, draw, vocabulary)
    item = vocabulary.told[int(draw.integers(len(vocabulary.told)))]
    return _put(record, draw, Piece("told", item.text, (int(draw.integers(PLAINEST)),), prompt=item.prompt))


def prompt(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """The prompt said again."""
    return _put(record, draw, Piece("prompt"))


def repeated(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """A piece more than once, or some of them together."""
    if not record:
        return record
    if draw.random() < 0.3:
        low, high = _span(record, draw)
        return (*record[:high], *record[low:high] * int(draw.choice(TIMES[:3])), *record[high:])
    at = int(draw.integers(len(record)))
    options = (*TIMES, *(count for number in vocabulary.numbers for count in (number, number + 1)))
    return changed(record, at, times=min(MOST_TIMES, record[at].times * int(draw.choice(options))))


def dropped(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """A piece less: with one of a pair of tags the other stays open."""
    return without(record, [int(draw.integers(len(record)))]) if record else record


def alone(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """All but a few pieces less."""
    low, high = _span(record, draw)
    return record[low:high]


def moved(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """A piece in another place, or there as well."""
    if not record:
        return record
    at = int(draw.integers(len(record)))
    rest = without(record, [at]) if draw.random() < 0.6 else record
    return _put(rest, draw, record[at])


def tagged(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """Something in a tag, or nothing in it; within the same tag that is nested."""
    name = _one(draw, _tags(vocabulary))
    return _around(record, draw, f"<{name}>", f"</{name}>")


def several_tags(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """Different tags with nothing in them."""
    names = _tags(vocabulary)
    some = draw.permutation(len(names))[: int(draw.integers(2, 7))].tolist()
    return _put(record, draw, *(piece for at in some for piece in _pair(f"<{names[at]}>", f"</{names[at]}>")))


def unclosed(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """A tag that is opened, or closed, and no more."""
    name = _one(draw, _tags(vocabulary))
    opened = draw.random() < 0.5
    piece = Piece("open", f"<{name}>") if opened else Piece("close", f"</{name}>", joint="")
    return _put(record, draw, piece)


def phrase_in_tag(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """A phrase, or a few words, in a tag of their own."""
    name = _one(draw, _tags(vocabulary))
    inner = Piece("filler", times=8, joint="")
    if vocabulary.phrases and draw.random() < 0.8:
        inner = Piece("phrase", _one(draw, vocabulary.phrases), joint="")
    return _put(record, draw, *_pair(f"<{name}>", f"</{name}>", inner))


def wrapped(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """Something in a code fence, in quotes, in bold."""
    return _around(record, draw, *WRAPS[int(draw.integers(len(WRAPS)))])


def listed(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """Several answers where one is asked for, the right one in their middle, or none of them right.

    In a mark of the completion, by themselves, or in a wrap of their own.
    """
    a, b, c = draw.permutation(PLAINEST).tolist()
    some = ((a, RIGHT, b), (a, b, RIGHT, c), (a, b, c))[int(draw.integers(3))]
    between = _one(draw, BETWEEN)
    marks = [at for at, piece in enumerate(record) if piece.kind == "mark"]
    if marks and draw.random() < 0.4:
        return changed(record, int(draw.choice(marks)), answers=some, text=between)
    said = Piece("marks", "\n", some) if draw.random() < 0.3 else Piece("said", between, some)
    if draw.random() < 0.5:
        return _put(record, draw, said)
    wraps = [*WRAPS, *((f"<{name}>", f"</{name}>") for name in _tags(vocabulary))]
    wrap = wraps[int(draw.integers(len(wraps)))]
    return _put(record, draw, *_pair(*wrap, replace(said, joint="")))


def marked_again(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """One more marked answer, or one that is only said."""
    kind = "mark" if draw.random() < 0.6 else "said"
    return _put(
        record, draw, Piece("mark" if kind == "mark" else "said", "", (int(draw.integers(PLAINEST)),))
    )


def emptied(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """No answer in the mark."""
    marks = [at for at, piece in enumerate(record) if piece.kind == "mark"]
    return changed(record, int(draw.choice(marks)), answers=()) if marks else record


def joined(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """Another space, or none, before a piece."""
    if not record:
        return record
    return changed(record, int(draw.integers(len(record))), joint=_one(draw, JOINTS))


WEIGHTS: dict[Edit, float] = {
    phrase: 4,
    phrases: 3,
    phrase_in_tag: 3,
    verdict: 2,
    sentence: 2,
    delimiter: 3,
    filler: 3,
    told: 1.5,
    prompt: 0.5,
    repeated: 3,
    dropped: 1.5,
    alone: 0.7,
    moved: 2,
    tagged: 3,
    several_tags: 2,
    unclosed: 1,
    wrapped: 2,
    listed: 1.5,
    marked_again: 1.5,
    emptied: 1,
    joined: 1,
}
"""How likely each edit is, against the others. Our choice."""

EDITS: tuple[Edit, ...] = tuple(WEIGHTS)
ODDS = np.array(list(WEIGHTS.values())) / sum(WEIGHTS.values())
