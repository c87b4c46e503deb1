"""Formats: how a completion states its answer, as the rollouts show it and as is usual."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

REASONING = "Reading the question again and taking it step by step leads to this."
"""What stands for reasoning: no number, no letter by itself and nothing that an answer could be."""

TAG = re.compile(r"<([A-Za-z_][\w.:-]{0,30})>")
CLOSING = re.compile(r"</([A-Za-z_][\w.:-]{0,30})>")
KEY = re.compile(r'[{,]\s*"([\w -]{1,40})"\s*:')
THINKING = ("think", "thinking", "reasoning", "thought", "scratchpad", "analysis")
MOST_TAGS = 4


@dataclass(frozen=True)
class Format:
    """Where the answer stands in a completion: `lead`, then `opening`, answer, `closing`, then `tail`.

    `lead` holds the reasoning, `opening` and `closing` are what marks the answer: a tag, a box, a phrase.
    With `quoted` the answer is written as a JSON value.

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
        """The answer with what marks it."""
        shown = json.dumps(answer, ensure_ascii=False) if self.quoted else answer
        return f"{self.opening}{shown}{self.closing}"

    def write(self, answer: str, *, reasoning: str | None = None) -> str:
        """A whole completion with this answer; other `reasoning` in the place of the usual one, or before."""
        return self.around(self.marked(answer), reasoning=reasoning)

    def read(self, completion: str) -> str | None:
        """What a completion has in the last mark of this kind; ``None`` where it has none."""
        opening, closing = self.opening.strip(), self.closing.strip()
        start = (
            completion.rfind(opening) + len(opening) if opening in completion else -1
        )
        if start < 0 or (closing and closing not in completion[start:]):
            return None
        end = completion.index(closing, start) if closing else len(completion)
        text = completion[start:end].strip()
        return text if closing or not opening else text.partition("\n")[0].strip()

    def around(self, marked: str, *, reasoning: str | None = None) -> str:
        """A whole completion with this text where the marked answer stands."""
        lead = self.lead
        if reasoning is not None:
            lead = (
                lead.replace(REASONING, reasoning)
                if REASONING in lead
                else f"{reasoning}\n{lead}"
            )
        return f"{lead}{marked}{self.tail}"

    @property
    def neutral(self) -> bool:
        """Whether nothing is said before the answer that could be paid."""
        return not self.lead.strip() or REASONING in self.lead

    def neutralized(self) -> Format:
        """The same with other words for its reasoning: in their tags, or before the line of the answer."""
        within = rf"(?s)<({'|'.join(THINKING)})>(\s*)\S.*?(\s*)</\1>"
        lead = re.sub(within, rf"<\1>\g<2>{REASONING}\g<3></\1>", self.lead)
        if lead == self.lead and "\n" in lead:
            lead = f"{REASONING}\n{lead.rpartition(chr(10))[2]}"
        return replace(self, lead=lead)

    @property
    def tag(self) -> str | None:
        """Name of the tag that the answer stands in; ``None`` where it stands in none, or in a box there."""
        found = [] if self.opening.endswith("{") else TAG.findall(self.opening)
        return found[-1] if found else None


def tags_in(texts: Iterable[str]) -> list[str]:
    """Names of the tags that are opened and closed in these texts, the most frequent first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(TAG.findall(text)) & set(CLOSING.findall(text)))
    return [
        name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]


def formats(
    completions: Sequence[str], prompts: Sequence[str], kind: str
) -> Iterator[Format]:
    """Formats worth trying, those that the rollouts and prompts show first."""
    seen = tags_in(completions) or tags_in(prompts)
    thinking = [name for name in seen if name in THINKING][:2]
    answering = [name for name in seen if name not in THINKING][:MOST_TAGS]
    shells = list(_marks(kind, answering, completions))
    leads = [f"<{name}>{REASONING}</{name}>\n" for name in thinking]
    leads += [f"<{name}>\n{REASONING}\n</{name}>\n" for name in thinking]
    if not thinking:
        leads += ["", f"{REASONING}\n"]
    others = [
        "",
        f"{REASONING}\n",
        f"<think>{REASONING}</think>\n",
        f"<think>\n{REASONING}\n</think>\n",
    ]
    others += [f"<reasoning>\n{REASONING}\n</reasoning>\n"]
    done: set[tuple[str, str]] = set()
    for lead in dict.fromkeys([*leads, *others]):
        for shell in shells:
            if (lead, shell.opening + shell.closing) not in done:
                done.add((lead, shell.opening + shell.closing))
                yield replace(shell, lead=lead)


def _marks(
    kind: str, answering: Sequence[str], completions: Sequence[str]
) -> Iterator[Format]:
    """Ways to mark an answer, those that the rollouts show first."""
    known = [
        *(
            Format(f"<{name}>", opening=f"<{name}>", closing=f"</{name}>")
            for name in answering
        ),
        *(
            Format(f"<{name}> on lines", opening=f"<{name}>\n", closing=f"\n</{name}>")
            for name in answering
        ),
    ]
    usual = [
        Format("bare"),
        Format("box", opening=r"\boxed{", closing="}"),
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
    ]
    if kind == "choice":
        usual[3:3] = [
            Format("the answer is ( )", opening="The answer is (", closing=")."),
            Format("( )", opening="(", closing=")"),
            Format("<answer> ( )", opening="<answer>(", closing=")</answer>"),
        ]
    if kind in ("json", "code"):
        language = "json" if kind == "json" else "python"
        usual[1:1] = [
            Format("fence", opening=f"```{language}\n", closing="\n```"),
            Format("bare fence", opening="```\n", closing="\n```"),
        ]
    keys = Counter(
        key for text in completions if "{" in text for key in KEY.findall(text)
    )
    if kind != "json":
        for key in [name for name, _ in keys.most_common(2)] or ["answer"]:
            usual.append(
                Format(
                    f"JSON {key!r}", opening=f'{{"{key}": ', closing="}", quoted=True
                )
            )
    shown = [
        item
        for item in usual
        if item.opening.strip()
        and any(item.opening.strip() in text for text in completions)
    ]
    yield from dict.fromkeys([*known, *shown, *usual])


def skeleton(completion: str, answer: str, *, last: bool = False) -> Format | None:
    r"""The format of a completion that states the answer: what stands around the last place where it does.

    ``None`` where the answer does not stand in it by itself, or stands in it elsewhere too, which it may if
    the `last` place is asked for.

    >>> skeleton("Six by seven.\nIt is 42!", "42").write("41")
    'Six by seven.\nIt is 41!'
    """
    found = list(
        re.finditer(rf"(?<![\w.,]){re.escape(answer)}(?!\w|[.,]\d)", completion)
    )
    if not answer or not found or (len(found) > 1 and not last):
        return None
    start, end = found[-1].span()
    opening = _mark_before(completion[:start])
    closing = _mark_after(completion[end:], opening)
    lead, tail = completion[: start - len(opening)], completion[end + len(closing) :]
    return Format("a rollout's", lead, opening, closing, tail)


def _mark_before(text: str) -> str:
    """What marks the answer that follows: the tag, the box, or the rest of the line."""
    marks = (r"<[A-Za-z_][\w.:-]*>\s*(\\boxed\{)?\Z", r"\\boxed\{\Z", r"[^\n]*\Z")
    return next(found.group(0) for mark in marks if (found := re.search(mark, text)))


def _mark_after(text: str, opening: str) -> str:
    """What closes the mark."""
    names = TAG.findall(opening)
    if names and (place := text.find(f"</{names[-1]}>")) >= 0:
        return text[: place + len(names[-1]) + 3]
    return text[:1] if opening.endswith("{") and text.startswith("}") else ""
