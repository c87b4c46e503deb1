"""What a completion states as its answer, and where that stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rewardkit.answers.formats import THINKING, blank_tools
from rewardkit.answers.kinds import kind_of, read_truth
from rewardkit.answers.locales import LONGEST_DATE, NUMBER, read_date
from rewardkit.answers.marks import CLEAR_MARKS, LOOSE_MARKS, find_likely_place
from rewardkit.primitives.extract import answer_phrase

LONGEST_STATED = 2_000
"""Characters of an answer that is compared with a truth. Our choice."""
STATED_END = 8_000
"""Characters at a completion's end in which its answer is looked for. Our choice."""
LONGEST_TRUTH_STATED = 100
"""Characters of a truth from which a marked answer may differ. Our choice."""
LEAST_VERBATIM = 12
"""Characters of a truth that no completion ends with by chance. Our choice."""

ANSWER_PHRASE = answer_phrase()
OBJECT_MARKS = ("object", "fenced object")
ON_PURPOSE = ("tag", "box", "####", *OBJECT_MARKS, "verbatim")
"""Marks that no completion has by chance."""
UNCLOSED = "unclosed"
"""The mark of an answer behind a tag that nothing closes."""
UNSURE_MARKS = ("brackets", "colon", "number", UNCLOSED)
"""Marks that others may have where no answer is stated."""
UNCLOSED_TAG = re.compile(r"<([A-Za-z_][\w.-]{0,30})>([^<>]+)\Z")
NO_ANSWERS = (
    *THINKING,
    *("tool_call", "tool_response", "tool_result", "information", "observation"),
)
"""Tags that hold no answer, closed or not."""


@dataclass(frozen=True)
class Statement:
    """An answer as a completion states it.

    `mark` names what shows where it stands: "tag" (of any name), "box", "####",
    "object" or "fenced object" where the truth is one, "colon" (a line such as
    "Result: 12"); of a text that is announced it is the word before it: "is" in "The
    answer is Oslo, because". Where there is none of these it is "number" for the last
    number, "whole" for all of the completion, "verbatim" for a truth that ends it,
    "fence" for a block of code, and "" where no answer is stated.
    `before` and `behind` count the characters of the completion on either side.
    """

    mark: str
    answer: str
    before: int
    behind: int

    @property
    def is_marked(self) -> bool:
        """Whether the answer is marked on purpose."""
        return self.mark in ON_PURPOSE


NOTHING_STATED = Statement("", "", 0, 0)


def read_statement(completion: str, truth: Any = None) -> Statement:
    r"""Read what a completion states as its answer.

    Where nothing marks an answer, the last number is one if the truth is a number. What
    tools reply is none of the completion's own.

    >>> read_statement("So it is\n#### 12", "12")
    Statement(mark='####', answer='12', before=14, behind=0)
    >>> read_statement("Die Antwort lautet 1.234,5.", 1234.5)
    Statement(mark='number', answer='1.234,5', before=19, behind=1)
    >>> read_statement("So. Answer: Oslo. Oslo lies in Norway.", "Oslo")
    Statement(mark='answer:', answer='Oslo', before=12, behind=22)
    >>> read_statement("The answer is **Oslo**, as we know.", "Oslo").mark
    'is'
    """
    completion = blank_tools(completion)
    end = completion[-STATED_END:]
    right = read_truth(truth) or ""
    kind = kind_of(right)
    mark, answer = _find_answer(end, truth, kind)
    place = completion.rfind(answer)
    if mark not in ON_PURPOSE and kind == "text":
        announced = _find_announced(end, right)
        if announced is not None:
            before = end[: announced.start()].rstrip(" *_`\"'“‘")
            mark = before.split()[-1].strip("*_").lower()
            answer = announced[1]
            place = len(completion) - len(end) + announced.start(1)
    if not answer or len(answer) > LONGEST_STATED:
        return NOTHING_STATED
    return Statement(mark, answer, place, len(completion) - place - len(answer))


def read_unclosed(completion: str) -> Statement:
    """Read what stands behind the last tag, where nothing closes it.

    Some rewards take it, others do not, so it is no answer to `read_statement`.

    >>> read_unclosed("<think>so</think><answer>)]")
    Statement(mark='unclosed', answer=')]', before=25, behind=0)
    >>> read_unclosed("<answer>)]</answer>").mark, read_unclosed("<think>)]").mark
    ('', '')
    """
    tag = UNCLOSED_TAG.search(blank_tools(completion)[-STATED_END:])
    if tag is None or tag[1].lower() in NO_ANSWERS:
        return NOTHING_STATED
    answer = tag[2].strip()
    before = completion.rfind(answer)
    return Statement(UNCLOSED, answer, before, len(completion) - before - len(answer))


def _find_answer(completion: str, truth: Any, kind: str) -> tuple[str, str]:
    """Find the name of the mark and the answer in it, of a truth of this kind."""
    text = truth.strip() if isinstance(truth, str) else ""
    if len(text) >= LEAST_VERBATIM and completion.rstrip().endswith(text):
        return "verbatim", text
    name, start, stop = find_likely_place(completion)
    name, answer = name.partition(" ")[0], completion[start:stop].strip()
    fence = CLEAR_MARKS["fence"](completion) if kind == "code" else None
    if name == "tag":
        if not fence:
            return name, CLEAR_MARKS["box"](answer) or answer
    elif "####" in completion:
        return "####", (CLEAR_MARKS["####"](completion) or "").strip()
    elif kind == "json":
        for start, stop in CLEAR_MARKS["object"].spans(completion):
            is_fenced = completion[:start].rstrip().endswith(("```", "```json"))
            return OBJECT_MARKS[is_fenced], completion[start:stop]
    if fence:
        return "fence", fence.strip()
    if name != "box" and kind == "number":
        numbers = NUMBER.findall(completion)
        return "number", numbers[-1] if numbers else ""
    return "whole" if name == "bare" else name, answer


def _find_announced(completion: str, truth: str) -> re.Match[str] | None:
    """Find a truth in the last sentence or line that announces an answer.

    The sentence ends behind it, or goes on with a reason. "The answer is Oslo or Rome"
    and "Oslo only if" state no answer. Of a date any date is found.
    """
    is_date = read_date(truth) is not None
    is_short = 0 < len(truth) <= LONGEST_TRUTH_STATED
    if not is_short or not (is_date or truth.lower() in completion.lower()):
        return None
    wanted = rf"[^\n;!]{{6,{LONGEST_DATE}}}?" if is_date else re.escape(truth)
    announced = ANSWER_PHRASE.spans(completion)
    announced = announced or LOOSE_MARKS["colon"].spans(completion)
    pattern = re.compile(
        rf"""[\s*_`"'“‘]*+ ({wanted}) [*_`"'”’]*+
            (?: [ ]*+\Z | [ ]*+\n | [.!;。][*_`"'”’]*+(?:\s|\Z)
              | ,?[ ](?:because|since|as|so|which|given)\b | [ ][–—-][ ] )""",
        re.VERBOSE | re.IGNORECASE,
    )
    match = pattern.match(completion, announced[0][0]) if announced else None
    return None if match and is_date and read_date(match[1]) is None else match
