"""Vocabulary: what a reward's code looks for and its rollouts say, as material for a search."""

from __future__ import annotations

import dis
import functools
import re
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from rewardkit.primitives.primitive import Made
from rewardkit.probes.contract.pattern_tree import Choice, nodes, read_tree, sample
from rewardkit.probes.contract.patterns_used import codes_in, patterns_in
from rewardkit.probes.subjects.answers import answer_in
from rewardkit.probes.subjects.formats import tags_in
from rewardkit.probes.subjects.log import prompt_text
from rewardkit.probes.subjects.subject import Calibration, Subject
from rewardkit.rewards.fingerprint import HOLDERS, user_code
from rewardkit.rewards.reward import Reward
from rewardkit.targets.adapter import Adapter

__all__ = ["SLOT", "Told", "Vocabulary", "constants", "gathered"]

SLOT = "\ue000"
"""Stands in another rollout's text where its answers were: a character that no text has."""

MOST_PHRASES, MOST_TAGS, MOST_TOLD = 48, 12, 8
LONGEST_PHRASE, LONGEST_TOLD = 80, 2000
MOST_LOOKED_AT = 5_000
NUMBERS = range(2, 2001)
"""Thresholds in the code that a length or a count may be compared with. Our choice."""

EXPRESSION = re.compile(r"[-−]?\d(?:[\d,.]*\d)?(?:\s*[-+*/×÷^=]\s*[-−]?\d(?:[\d,.]*\d)?)*")
LETTER = re.compile(r"\(?(?<![^\W_])[A-J](?![^\W_])\)?")
TAG_NAME = re.compile(r"</?([A-Za-z_][\w.:-]{0,30})>")
NAME = re.compile(r"[A-Za-z_]\w{1,30}")


@dataclass(frozen=True)
class Told:
    """What a rollout says, a `SLOT` for each of its answers, and its prompt."""

    text: str
    prompt: str


@dataclass(frozen=True)
class Vocabulary:
    """What completions can be made of.

    `phrases` are texts that the reward's code holds or that its patterns match, `tags` names of tags,
    `numbers` thresholds, and `told` what rollouts say.
    """

    phrases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    told: tuple[Told, ...] = ()


def gathered(reward: Reward, calibration: Calibration, subjects: Sequence[Subject]) -> Vocabulary:
    """The vocabulary of a reward and its rollouts for some subjects."""
    texts: dict[str, None] = {}
    numbers: dict[int, None] = {}
    for value in constants(reward.functions):
        if isinstance(value, str):
            texts.setdefault(value)
        elif value in NUMBERS:
            numbers.setdefault(value)
    patterns = dict.fromkeys(p.pattern for function in reward.functions for p in patterns_in(function))
    known = [text for text in texts if text not in patterns]
    samples = [text for pattern in patterns for text in _samples(pattern)]
    phrases = dict.fromkeys(
        text for text in (*samples, *known) if 0 < len(text.strip()) and len(text) <= LONGEST_PHRASE
    )
    completions = [str(row.get("completion")) for row, _ in calibration.pool]
    shown = [subject.reference for subject in subjects[:1]]
    named = TAG_NAME.findall(" ".join((*shown, *phrases)))
    names = [text for text in known if NAME.fullmatch(text)]
    tags = dict.fromkeys([*named, *tags_in(completions), *names])
    return Vocabulary(
        tuple(phrases)[:MOST_PHRASES],
        tuple(tags)[:MOST_TAGS],
        tuple(sorted(numbers))[:MOST_TAGS],
        tuple(_told(calibration, subjects)),
    )


def _samples(pattern: str) -> Iterator[str]:
    """Texts that an expression matches: the shortest, the fullest, and one for each alternative."""
    tree = read_tree(pattern)
    if tree is None:
        return
    branches = [item for node in nodes(tree.root) if isinstance(node, Choice) for item in node.items]
    found = [sample(tree.root), sample(tree.root, full=True)]
    found += [sample(branch) for branch in branches[:MOST_PHRASES]]
    for text in dict.fromkeys(filter(None, found)):
        yield text
        if "0" in text:
            yield re.sub(r"0+", "10", text)  # what is looked for as a score


def _told(calibration: Calibration, subjects: Sequence[Subject]) -> list[Told]:
    """What rollouts say to prompts that are not probed, or to the others of those that are.

    Their answers, and all else that could be one, are left open.
    """
    kind = subjects[0].kind if subjects else "text"
    probed = {subject.prompt for subject in subjects}
    found: dict[str, Told] = {}
    for row, outcome in calibration.pool:
        text, prompt = str(row.get("completion")), prompt_text(row.get("prompt"))
        if not outcome.judged or not text.strip() or len(text) > LONGEST_TOLD:
            continue
        answer = answer_in(row.get("ground_truth"))
        if answer is not None:
            text = text.replace(answer, SLOT) if kind not in ("number", "choice") else text
        if kind in ("number", "mathematics"):
            text = EXPRESSION.sub(SLOT, text)
        elif kind == "choice":
            text = LETTER.sub(SLOT, text)
        if kind != "mathematics" or not re.search(r"[\\^=$/*+]", text):  # what is reckoned may be right
            found.setdefault(text, Told(text, prompt))
    ranked = sorted(found.values(), key=lambda told: (told.prompt in probed, -len(told.text), told.text))
    step = max(1, len(ranked) // MOST_TOLD)
    return ranked[::step][:MOST_TOLD]


# What the code holds


def constants(functions: Iterable[Any]) -> list[str | int]:
    """Texts and whole numbers that functions hold: in their code, closure, globals and options.

    Of rewardkit's own primitives only the options. Docstrings are not among them. Nothing is run.

    >>> def long(completion):
    ...     "Not this."
    ...     return len(completion) > 300 and "because" in completion
    >>> constants([long])
    [300, 'because']
    """
    search = _Search()
    for function in functions:
        search.look(function)
        for part in user_code(function):
            search.look(part)
    return list(search.found)


class _Search:
    def __init__(self) -> None:
        self.found: dict[str | int, None] = {}
        self.seen: dict[int, Any] = {}  # the objects too, so that no other gets the same id

    def look(self, value: Any, module: str = "") -> None:
        """Look at a value that stands in what a module defines."""
        if isinstance(value, str) or type(value) is int:
            self.found.setdefault(value)
            return
        if id(value) in self.seen or len(self.seen) >= MOST_LOOKED_AT:
            return
        self.seen[id(value)] = value
        home = str(getattr(value, "__module__", ""))
        if isinstance(value, types.FunctionType):
            if home == module or not (module or home.startswith(HOLDERS)):
                self.function(value)
        elif isinstance(value, functools.partial):
            self.all((value.func, *value.args, *value.keywords.values()), module)
        elif isinstance(value, types.MethodType):
            self.all((value.__func__, value.__self__), module)
        elif isinstance(value, dict):
            self.all((*value, *value.values()), module)
        elif isinstance(value, list | tuple | set | frozenset):
            self.all(sorted(value, key=repr) if isinstance(value, set | frozenset) else value, module)
        elif isinstance(value, Made) and not isinstance(value, Adapter):  # what an adapter holds is code
            self.all((getattr(value, item.name) for item in fields(value)), module)  # type: ignore[arg-type]
        elif isinstance(value, type):
            if home == module:
                self.all((item for name, item in vars(value).items() if not name.startswith("__")), module)
        elif home == (module or home) and home not in ("", "builtins") and not home.startswith(HOLDERS):
            self.all((type(value), getattr(value, "__dict__", {})), home)

    def all(self, values: Iterable[Any], module: str) -> None:
        for value in values:
            self.look(value, module)

    def function(self, function: types.FunctionType) -> None:
        """What a function's code loads, and the globals and cells that it names."""
        module, known = function.__module__, function.__globals__
        for code in codes_in(function.__code__):
            for item in dis.get_instructions(code):
                if "CONST" in item.opname and not isinstance(item.argval, types.CodeType):
                    self.look(item.argval, module)
            self.all((known[name] for name in code.co_names if name in known), module)
        for cell in function.__closure__ or ():
            try:
                self.look(cell.cell_contents, module)
            except ValueError:  # not filled yet
                continue
        self.all(function.__defaults__ or (), module)
        self.all((function.__kwdefaults__ or {}).values(), module)
