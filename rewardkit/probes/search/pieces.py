"""Pieces: completions as a record of what they are made of, so that it is known that they are wrong."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rewardkit.probes.search.vocabulary import SLOT
from rewardkit.probes.subjects.formats import REASONING
from rewardkit.probes.subjects.subject import Subject
from rewardkit.probes.subjects.wrongness import certainly_wrong

__all__ = [
    "PLAINEST",
    "RIGHT",
    "Piece",
    "Record",
    "changed",
    "described",
    "elsewhere",
    "mentions",
    "plain",
    "shortlex",
    "without",
    "written",
]

RIGHT = -1
"""Stands for the right answer in a list, where it is neither the first nor the last."""

PLAINEST = 3
"""Wrong answers of a subject that completions are made of: few, so that what each earns can be measured."""

LISTED = ("number", "choice", "text", "mathematics")
"""Kinds of answers of which a list is none: code and JSON may hold one another."""

LONGEST = 20_000
"""Characters of a completion, at the most. Our choice: some five thousand tokens."""

FULLEST = 60
"""Pieces of a completion, at the most. Our choice."""

FILLER = (
    "Let us look at the question from another side before going on. There is more that could be said on this "
    "point, and some of it was said before. What was found above stays true when it is read again from the "
    "start. The order in which these remarks are made does not matter. All of this belongs together, as it "
    "did above, and it changes little. It helps to keep in mind what was asked, and to say plainly how the "
    "parts fit. Whoever reads on will see where the path leads, though the path is long."
)

SEPARATES = re.compile(r"\s|[,;/|]")
"""What parts two answers: without it they are one, which is neither."""

PARTS = "<>()[]{}`*\"'$|,;:."
"""Signs that may stand beside a list."""

MOVES = 6
"""Places by which the answers of a list are moved on, at the most. Our choice."""

Kind = Literal[
    "before", "reasoning", "after", "mark", "marks", "said", "tail",
    "phrase", "verdict", "sentence", "delimiter", "filler", "open", "close", "told", "prompt",
]  # fmt: skip


@dataclass(frozen=True)
class Piece:
    """A part of a completion, that says the same of every subject in that subject's words.

    `text` is what it says; of a list what stands between the answers. `answers` are the subject's wrong
    answers by number, `RIGHT` between them; none is an empty answer. It stands there so many `times`, of a
    "filler" so many words; `joint` is what stands before it.

    What is of the subject's format: what stands "before" and "after" the "reasoning", the "mark" with its
    answers, "marks" with one each, and the "tail". Without a mark: answers that are "said", texts, a tag or
    another wrap that is an "open" or "close", what another rollout "told", the "prompt".
    """

    kind: Kind
    text: str = ""
    answers: tuple[int, ...] = ()
    times: int = 1
    joint: str = "\n"
    prompt: str = ""
    """Of another rollout: to which prompt it was told, where it is no material."""

    @property
    def mentions(self) -> bool:
        """Whether the right answer is among its answers."""
        return RIGHT in self.answers

    @property
    def sound(self) -> bool:
        """Whether wrong answers are at both ends of a list, as many as right ones, and something between."""
        right = self.answers.count(RIGHT)
        if not right:
            return True
        ends = RIGHT not in (self.answers[0], self.answers[-1])
        apart = SEPARATES.search(self.text) and (self.times == 1 or SEPARATES.search(self.joint))
        return ends and right <= len(self.answers) - right and bool(apart)


Record = tuple[Piece, ...]


def plain(subject: Subject) -> Record:
    """The record of a subject's baseline."""
    parts = (
        Piece("before", joint=""),
        Piece("reasoning", REASONING, joint=""),
        Piece("after", joint=""),
        Piece("mark", answers=(0,), joint=""),
        Piece("tail", joint=""),
    )
    return tuple(part for part in parts if _piece(part, subject, mask=True))


def mentions(record: Record) -> bool:
    """Whether the right answer is mentioned anywhere."""
    return any(piece.mentions for piece in record)


def written(record: Record, subject: Subject) -> str | None:
    """The completion of a record for a subject; ``None`` where it is too long, or not certain to be wrong.

    It is certain where the right answer is mentioned in lists only, which stand by themselves, among others
    with wrong ones at both ends, and nothing else in it can be read as the right answer.
    """
    if not all(piece.sound for piece in record) or len(record) > FULLEST:
        return None
    if any(piece.prompt == subject.prompt for piece in record if piece.kind == "told"):
        return None
    if mentions(record) and subject.kind not in LISTED:
        return None
    if sum(_size(piece) for piece in record) > LONGEST:
        return None
    text = _joined(record, subject, mask=False)
    if len(text) > LONGEST or not all(_apart(text, *span) for span in _lists(record, subject)):
        return None
    masked = _joined(record, subject, mask=True) if mentions(record) else text
    return text if certainly_wrong(masked, subject) else None


def elsewhere(record: Record, subject: Subject) -> list[str]:
    """The completions with the right answer in other places of the lists that mention it, also at their ends.

    A reward that reads one answer of a list only, be it the first or the last, pays some of them.
    """
    lists = [piece.answers for piece in record if piece.mentions]
    texts = []
    for shift in range(1, min(max(map(len, lists), default=0), MOVES + 1)):
        moved = [
            replace(piece, answers=piece.answers[-shift:] + piece.answers[:-shift])
            if piece.mentions
            else piece
            for piece in record
        ]
        texts.append(_joined(moved, subject, mask=False))
    return texts


def _size(piece: Piece) -> int:
    """Characters of a piece, at the least."""
    return piece.times * max(1, len(piece.text) + len(piece.answers))


def _lists(record: Record, subject: Subject) -> Iterator[tuple[int, int]]:
    """Where the lists stand that mention the right answer."""
    end = 0
    for at, piece in enumerate(record):
        start = end + (len(piece.joint) if at else 0)
        end = start + len(_piece(piece, subject, mask=False))
        if piece.mentions:
            yield start, end


def _apart(text: str, start: int, end: int) -> bool:
    """Whether a list is parted from what stands around it: else its ends could not be read as answers."""
    before, behind = text[:start][-1:], text[end : end + 1]
    return all(not sign or sign.isspace() or sign in PARTS for sign in (before, behind))


def _joined(record: Sequence[Piece], subject: Subject, *, mask: bool) -> str:
    texts = [(piece.joint, _piece(piece, subject, mask=mask)) for piece in record]
    return "".join(joint + text if at else text for at, (joint, text) in enumerate(texts))


def _piece(piece: Piece, subject: Subject, *, mask: bool) -> str:
    """What a piece says of a subject; where `mask`, with wrong answers in the place of right ones."""
    if piece.kind == "filler":
        words = FILLER.split()
        return " ".join((words * (piece.times // len(words) + 1))[: piece.times])
    text = _once(piece, subject, mask=mask)
    return text if piece.times == 1 else (piece.joint or "").join([text] * piece.times)


def _once(piece: Piece, subject: Subject, *, mask: bool) -> str:
    form = subject.format
    answers = [_answer(number, subject, mask=mask) for number in piece.answers]
    match piece.kind:
        case "before":
            return form.lead.partition(REASONING)[0]
        case "reasoning":
            return piece.text if REASONING in form.lead else ""
        case "after":
            return form.lead.partition(REASONING)[2]
        case "tail":
            return form.tail
        case "mark":
            return form.marked(piece.text.join(answers))
        case "marks":
            return piece.text.join(map(form.marked, answers))
        case "said":
            return piece.text.join(answers)
        case "prompt":
            return subject.prompt
        case "told":
            first = piece.answers[0] if piece.answers else 0
            return piece.text.replace(SLOT, _answer(first, subject, mask=mask))
    return piece.text


def _answer(number: int, subject: Subject, *, mask: bool) -> str:
    if number == RIGHT and not mask:
        return subject.right
    wrong = subject.wrong[:PLAINEST]
    return wrong[max(number, 0) % len(wrong)]


# In words

NOUNS = {
    "form": ("a part of the form", "parts of the form"),
    "reasoning": ("a sentence of reasoning", "sentences of reasoning"),
    "keyword": ("a keyword", "keywords"),
    "verdict": ("a verdict", "verdicts"),
    "sentence": ("a sentence", "sentences"),
    "delimiter": ("a delimiter", "delimiters"),
    "tag": ("a tag", "tags"),
    "sign": ("a sign", "signs"),
    "told": ("the text of another rollout", "texts of other rollouts"),
    "prompt": ("the prompt", "prompts"),
    "wrong": ("a wrong answer", "wrong answers"),
    "empty": ("an empty answer", "empty answers"),
    "listed": ("a list of answers with the right one among them", "lists with the right answer among them"),
    "several": ("a list of wrong answers", "lists of wrong answers"),
    "filler": ("a word of filler", "words of filler"),
    "break": ("a line break", "line breaks"),
}
NUMBERS = (
    "no",
    "a",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
TAG = re.compile(r"</?[A-Za-z_][\w.:-]*>")
SHOWN, LONGEST_SHOWN = 4, 40


def described(record: Record) -> str:
    """What a completion is made of, in plain words.

    >>> described((Piece("phrase", "thus"), Piece("phrase", "so"), Piece("mark")))
    "two keywords ('thus', 'so') and an empty answer"
    """
    counts: Counter[str] = Counter()
    shown: dict[str, dict[str, None]] = defaultdict(dict)
    for piece in record:
        noun, texts = _noun(piece)
        if noun:
            counts[noun] += piece.times * max(1, len(texts))
            shown[noun] |= dict.fromkeys(texts)
    parts = [_counted(noun, count, list(shown[noun])) for noun, count in counts.items()]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:]))) or "nothing at all"


def _noun(piece: Piece) -> tuple[str, list[str]]:
    """What a piece is, and the texts to show of it."""
    text = piece.text.strip()
    if piece.kind in ("open", "close", "phrase", "delimiter"):
        if not text:
            return "break" if "\n" in piece.joint + piece.text else "", []
        if not TAG.sub("", text).strip():
            return "tag", TAG.findall(text)
        wordless = piece.kind in ("open", "close") or not re.search(r"\w", text)
        return "delimiter" if piece.kind == "delimiter" else "sign" if wordless else "keyword", [repr(text)]
    if piece.mentions:
        return "listed", []
    if piece.kind in ("mark", "marks", "said"):
        return "several" if len(piece.answers) > 1 else "wrong" if piece.answers else "empty", []
    if piece.kind in ("verdict", "sentence"):
        return piece.kind, [repr(text)]
    return {"before": "form", "after": "form", "tail": "form"}.get(piece.kind, piece.kind), []


def _counted(noun: str, count: int, texts: Sequence[str]) -> str:
    one, many = NOUNS[noun]
    number = NUMBERS[count] if count < len(NUMBERS) else f"{count}"
    short = [text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..." for text in texts[:SHOWN]]
    more = ", ..." if len(texts) > SHOWN else ""
    behind = f" ({', '.join(short)}{more})" if short else ""
    return f"{one if count == 1 else f'{number} {many}'}{behind}"


def shortlex(record: Record, subject: Subject) -> tuple[int, str]:
    """The order of records by the completion that they write: the shorter first, then by its signs."""
    text = _joined(record, subject, mask=False)
    return len(text), text


def changed(record: Record, at: int, **values: object) -> Record:
    """The record with these values in the piece at a place."""
    return (*record[:at], replace(record[at], **values), *record[at + 1 :])  # type: ignore[arg-type]


def without(record: Record, places: Sequence[int]) -> Record:
    """The record without the pieces at these places."""
    gone = set(places)
    return tuple(piece for at, piece in enumerate(record) if at not in gone)
