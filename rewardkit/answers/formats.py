"""Formats: how completions state their answers, and others in their place."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

REASONING = "Reading the question again and taking it step by step leads to this."
"""Stands for reasoning: it holds no number, no lone letter and no possible answer."""

TAG = re.compile(r"<([A-Za-z_][\w.-]{0,30})>")
CLOSING_TAG = re.compile(r"</([A-Za-z_][\w.-]{0,30})>")
ANSWER_KEY = re.compile(r'[{,]\s*"([\w -]{1,40})"\s*:')
THINKING = ("think", "thinking", "reasoning", "thought", "scratchpad", "analysis")
NOT_SAID = re.compile(
    r"<(tool_response|tool_result|information|observation)>(?s:.*?)</\1>"
    r"|<tool_response>(?s:.*)\Z"
    r"|<tool_call>(?s:.*?)</tool_call>(?=\s*(?:<\|im_end\|>\s*)?<(?:tool_|\|im_start))"
    r"|<\|im_start\|>(?:user|tool|system)\b(?s:.*?)(?:<\|im_end\|>|\Z)"
    r"|<\|im_start\|>assistant|<\|im_end\|>"
)
"""Replies of tools, the calls before them, and turns of others within a transcript. A
call that nothing replies to is what the model says, such as a submission."""
MOST_TAGS = 4  # names of tags that are tried as marks: our choice
MOST_MARKED_KEYS = 2  # keys of objects that are tried as marks: our choice


@dataclass(frozen=True)
class Format:
    """How a completion states its answer: `lead`, `opening`, answer, `closing`, `tail`.

    `lead` holds the reasoning; `opening` and `closing` mark the answer: a tag, a box, a
    phrase. With `quoted` the answer is written as a JSON value.

    >>> Format("tag", "", "<answer>", "</answer>").write("42")
    '<answer>42</answer>'
    """

    name: str
    lead: str = ""
    opening: str = ""
    closing: str = ""
    tail: str = ""
    quoted: bool = False

    def marked(self, answer: str) -> str:
        """Return the answer between opening and closing."""
        if self.quoted:
            answer = json.dumps(answer, ensure_ascii=False)
        return f"{self.opening}{answer}{self.closing}"

    def write(self, answer: str, *, reasoning: str | None = None) -> str:
        """Write a whole completion with this answer; `reasoning` as in `around`."""
        return self.around(self.marked(answer), reasoning=reasoning)

    def around(self, marked: str, *, reasoning: str | None = None) -> str:
        """Write a whole completion with this text in place of the marked answer.

        `reasoning` replaces the neutral reasoning, or else stands before the lead.
        """
        lead = self.lead
        if reasoning is not None and REASONING in lead:
            lead = lead.replace(REASONING, reasoning)
        elif reasoning is not None:
            lead = f"{reasoning}\n{lead}"
        return f"{lead}{marked}{self.tail}"

    def read_answer(self, completion: str) -> str | None:
        """Return what stands in the last mark of this kind, None without one."""
        opening, closing = self.opening.strip(), self.closing.strip()
        if opening not in completion:
            return None
        start = completion.rfind(opening) + len(opening)
        end = len(completion)
        if closing:
            end = completion.find(closing, start)
        if end < 0:
            return None
        text = completion[start:end].strip()
        if opening and not closing:
            return text.partition("\n")[0].strip()
        return text

    @property
    def neutral(self) -> bool:
        """Whether nothing that could be paid stands before the answer."""
        return not self.lead.strip() or REASONING in self.lead

    def neutralized(self) -> Format:
        """Return the format with neutral reasoning.

        It stands in tags, of which the prompt may have opened the first, before the
        last line, or before the last sentence.
        """
        names = "|".join(THINKING)
        start = rf"<(?:{names})>|\A(?!.*<(?:{names})>)"
        within = rf"(?s)({start})(\s*)\S.*?(\s*</(?:{names})>)"
        lead = re.sub(within, rf"\1\2{REASONING}\3", self.lead)
        if lead == self.lead:
            joint = "\n" if "\n" in lead else ". "
            _, joint_there, end = lead.rpartition(joint)
            if joint_there:
                lead = f"{REASONING}{joint.lstrip('.')}{end}"
        return replace(self, lead=lead)

    def without_doubles(self, answer: str) -> Format:
        """Return the format without the mark or unit that the answer brings along.

        >>> form = Format("line", "**", "Turnout: ", " %**")
        >>> form.without_doubles("45.3%").write("45.3%")
        '**Turnout: 45.3%**'
        """
        opening, closing = self.opening.strip(), self.closing.strip()
        if opening and answer.startswith(opening) and answer.endswith(closing):
            return replace(self, opening="", closing="")
        before, behind = self.opening, self.closing + self.tail
        sign = re.match(r"[$€£](?=[ -+−]?\d)", answer)
        if sign and before.rstrip().endswith(sign[0]) and sign[0] not in behind[:1]:
            before = before.rstrip()[:-1]
        unit = re.search(r"(?<=\d)\s?([%°‰€£]|[^\W\d_]{1,12})$", answer)
        if unit:
            behind = re.sub(rf"^[ \t]*{re.escape(unit[1])}(?!\w)", "", behind)
        if len(behind) < len(self.closing + self.tail):
            size = max(0, len(behind) - len(self.tail))
            return replace(
                self, opening=before, closing=behind[:size], tail=behind[size:]
            )
        return replace(self, opening=before)

    @property
    def tag(self) -> str | None:
        """Name of the tag around the answer, None without a tag or with a box in it."""
        names = TAG.findall(self.opening)
        if not names or self.opening.endswith("{"):
            return None
        return str(names[-1])


BOX = Format("box", opening=r"\boxed{", closing="}")
USUAL_FORMATS = (
    Format("bare"),
    BOX,
    Format("####", opening="#### "),
    Format("the answer is", opening="The answer is ", closing="."),
    Format("answer:", opening="Answer: "),
    Format("<answer>", opening="<answer>", closing="</answer>"),
    Format("<answer> on lines", opening="<answer>\n", closing="\n</answer>"),
    Format(
        "box in mathematics", opening=r"The final answer is $\boxed{", closing="}$."
    ),
    Format("box in <answer>", opening=r"<answer>\boxed{", closing="}</answer>"),
    Format("final answer:", opening="Final Answer: "),
    Format("bold", opening="**", closing="**"),
)
CHOICE_FORMATS = (
    Format("the answer is ( )", opening="The answer is (", closing=")."),
    Format("( )", opening="(", closing=")"),
    Format("<answer> ( )", opening="<answer>(", closing=")</answer>"),
)
USUAL_LEADS = (
    "",
    f"{REASONING}\n",
    f"<think>{REASONING}</think>\n",
    f"<think>\n{REASONING}\n</think>\n",
    f"<reasoning>\n{REASONING}\n</reasoning>\n",
)


def find_tags(texts: Iterable[str]) -> list[str]:
    """Return the names of tags that these texts open and close, most frequent first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(TAG.findall(text)) & set(CLOSING_TAG.findall(text)))
    return sorted(counts, key=lambda name: (-counts[name], name))


def find_answer_tags(completions: Sequence[str], prompts: Sequence[str]) -> list[str]:
    """Return the names of tags that may hold answers, most frequent first.

    Those of the completions, or else of the prompts; reasoning tags are left out.
    """
    names = find_tags(completions) or find_tags(prompts)
    return [name for name in names if name.lower() not in THINKING]


def find_answer_keys(completions: Iterable[str]) -> list[str]:
    """Return the keys of objects in these completions, the most frequent two."""
    counts: Counter[str] = Counter()
    for text in completions:
        if "{" in text:
            counts.update(ANSWER_KEY.findall(text))
    return [key for key, _ in counts.most_common(MOST_MARKED_KEYS)]


def propose_formats(
    completions: Sequence[str], prompts: Sequence[str], kind: str
) -> Iterator[Format]:
    """Yield formats worth trying, those that the rollouts and prompts show first.

    Args:
        completions: Texts whose formats come first.
        prompts: Prompts, which may ask for tags.
        kind: Kind of the answer, one of `kinds.KINDS`.
    """
    names = find_tags(completions) or find_tags(prompts)
    thinking = [name for name in names if name in THINKING][:2]
    leads = [f"<{name}>{REASONING}</{name}>\n" for name in thinking]
    leads += [f"<{name}>\n{REASONING}\n</{name}>\n" for name in thinking]
    marks = _propose_marks(completions, prompts, kind)
    proposed: set[tuple[str, str]] = set()
    for lead in dict.fromkeys([*leads, *USUAL_LEADS]):
        for mark in marks:
            key = lead, mark.opening + mark.closing
            if key not in proposed:
                proposed.add(key)
                yield replace(mark, lead=lead)


def _propose_marks(
    completions: Sequence[str], prompts: Sequence[str], kind: str
) -> list[Format]:
    """Return formats without a lead, those that the rollouts show first."""
    tags = find_answer_tags(completions, prompts)[:MOST_TAGS]
    tagged = [Format(f"<{tag}>", "", f"<{tag}>", f"</{tag}>") for tag in tags]
    tagged += [
        Format(f"<{tag}> on lines", "", f"<{tag}>\n", f"\n</{tag}>") for tag in tags
    ]
    usual = list(USUAL_FORMATS)
    if kind == "choice":
        usual[3:3] = CHOICE_FORMATS
    if kind in ("json", "code"):
        language = "json" if kind == "json" else "python"
        usual[1:1] = [
            Format("fence", opening=f"```{language}\n", closing="\n```"),
            Format("bare fence", opening="```\n", closing="\n```"),
        ]
    if kind != "json":
        for key in find_answer_keys(completions) or ["answer"]:
            opening = f'{{"{key}": '
            usual.append(Format(f"JSON {key!r}", "", opening, "}", quoted=True))
    marks_shown = [mark for mark in usual if _is_shown(mark, completions)]
    return list(dict.fromkeys([*tagged, *marks_shown, *usual]))


def _is_shown(mark: Format, completions: Sequence[str]) -> bool:
    opening = mark.opening.strip()
    return bool(opening) and any(opening in text for text in completions)


def format_around(name: str, completion: str, start: int, end: int) -> Format:
    r"""Return the format of a completion whose answer stands from `start` to `end`.

    What marks the answer is a tag, a box, a fence, bold type, backticks, #### or its
    line's beginning.

    >>> format_around("tag", "So <answer> 4 </answer>!", 12, 13).opening
    '<answer> '
    >>> format_around("####", "I had #### 5. No, #### 4", 23, 24).opening
    '#### '
    """
    opening = ""
    for expression in OPENINGS:
        match = re.search(
            expression, completion[max(0, start - LONGEST_OPENING) : start]
        )
        if match:
            opening = match[0]
            break
    closing = _find_closing(completion[end:], opening)
    lead, tail = completion[: start - len(opening)], completion[end + len(closing) :]
    return Format(name, lead, opening, closing, tail)


LONGEST_OPENING = 1000  # characters before an answer in which its mark is looked for
OPENINGS = (
    r"<[A-Za-z_][\w.-]*(?:\s[^<>]*)?>\s*(\\boxed\{)?\Z",
    r"\\boxed\{\Z",
    r"```[\w-]*\n\Z",
    r"\*\*\Z",
    r"`\Z",
    r"####[ \t]*\Z",
    r"[^\n]*\Z",
)
"""Expressions for what marks the answer that follows; the last is the line so far."""


def _find_closing(text: str, opening: str) -> str:
    """Return what closes the mark, from the beginning of the text behind an answer."""
    tag = re.search(r"<([A-Za-z_][\w.-]*)", opening)
    if tag:
        closing_tag = re.search(rf"(?i)</{re.escape(tag[1])}>", text)
        if closing_tag:
            return text[: closing_tag.end()]
    for opened, expression in CLOSINGS.items():
        closing = re.match(expression, text)
        if closing and opening.endswith(opened):
            return closing[0]
    return ""


CLOSINGS = {"\\boxed{": r"\}", "**": r"\*\*", "`": "`", "\n": r"\n?```"}
"""End of an opening -> expression for what closes it."""


def skeleton(completion: str, answer: str, *, last: bool = False) -> Format | None:
    r"""Return the format of a completion that states the answer, None where none does.

    The answer has to stand there by itself and once; with `last` the last of several
    places is taken.

    >>> skeleton("Six by seven.\nIt is 42!", "42").write("41")
    'Six by seven.\nIt is 41!'
    >>> skeleton("Coins: 5, 2, 1", "5, 2") is None
    True
    """
    alone = rf"(?<![\w.,]){re.escape(answer)}(?!\w|[.,]\d)"
    if ", " in answer:  # a part of a longer list is another one
        alone = rf"(?<!, ){alone}(?!,\s?\w)"
    places = [match.span() for match in re.finditer(alone, completion)]
    if not answer or not places or (len(places) > 1 and not last):
        return None
    return format_around("a rollout's", completion, *places[-1])


def blank_tools(transcript: str) -> str:
    """Return a transcript in which spaces stand for all but what the model says.

    >>> blank_tools("<tool_response>Answer: 4</tool_response>I give up.").strip()
    'I give up.'
    """
    if "<" not in transcript:
        return transcript
    return NOT_SAID.sub(lambda match: " " * len(match[0]), transcript)
