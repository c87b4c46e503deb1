"""verifiers before v1: rubrics, and f(completion, answer, state, ...) of what a function asks for by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from rewardkit.primitives.messages import content_text
from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import Adapter, Row, alike, asked_of, named, plain
from rewardkit.targets.target import Reading
from rewardkit.targets.turns import split

__all__ = ["Grouped", "Legacy", "Parser", "Weighed", "functions_of", "readings"]

SINGLE = {"prompt": "prompt", "completion": "completion", "answer": "ground_truth"}
SINGLE |= {"state": "the row", "info": "info", "task": "data_source", "parser": "verifiers' plain Parser"}
MANY = {f"{name}s": name for name in SINGLE if name != "parser"}
"""What a function of a whole group asks for -> of each completion."""
PLURAL = {name: SINGLE[one] for name, one in MANY.items()} | {"parser": SINGLE["parser"]}
NEEDED = ("prompt", "completion", "ground_truth")


@dataclass(frozen=True)
class Weighed:
    """A function of a rubric, with the rubric's weight and parser."""

    function: Any
    weight: float
    parser: Any

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))


def functions_of(value: Any) -> list[Weighed]:
    """The functions of a rubric with its weights; none where it is no rubric."""
    listed = getattr(value, "funcs", None) or getattr(value, "reward_funcs", None)
    weights = getattr(value, "weights", None) or getattr(value, "reward_weights", None)
    if not isinstance(listed, list) or not isinstance(weights, list) or len(listed) != len(weights):
        return []
    parser = getattr(value, "parser", None)
    return [Weighed(one, float(weight), parser) for one, weight in zip(listed, weights, strict=True)]


class Parser:
    """Stands for verifiers' plain Parser, which a function without one of its own gets: the text as it is."""

    def parse(self, text: str) -> str:
        """The text."""
        return text

    def parse_answer(self, completion: Any) -> str | None:
        """The text of a completion: of its last message."""
        return completion if isinstance(completion, str) else content_text(completion[-1].get("content"))


@dataclass(frozen=True, repr=False)
class Legacy(Adapter):
    """A function of a rubric: completions are messages where `conversational`, as was the default."""

    conversational: bool = field(default=True, kw_only=True)
    parser: Any = field(default=None, kw_only=True)

    def arguments(self, rollout: Any) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """What it asks for by name; all there is for ``**kwargs``."""
        return (), asked_of(self.function, self.own(rollout))

    def own(self, rollout: Row) -> dict[str, Any]:
        """All that it may ask for of a completion."""
        known = deepcopy(alike(rollout))
        infos = [known[name] for name in ("info", "extra_info") if isinstance(known.get(name), dict)]
        turns = split(rollout)
        own = {
            "prompt": turns[0] if self.conversational else rollout.get("prompt"),
            "completion": turns[1] if self.conversational else rollout.get("completion"),
            "answer": "" if rollout.get("ground_truth") is None else known["ground_truth"],
            "task": known.get("task") or rollout.get("data_source") or "default",
            "info": infos[0] if infos else {},
        }
        timing = {"generation_ms": 0.0, "scoring_ms": 0.0}
        state = {**known, **own, "turn": 1, "trajectory": [], "timing": timing}
        return {**own, "state": state, "parser": Parser() if self.parser is None else self.parser}


@dataclass(frozen=True, repr=False)
class Grouped(Legacy):
    """A function of a rubric that is called with lists: of a whole group."""

    siblings = True

    def arguments(self, rollout: Any) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Lists of what it asks for by name."""
        rows = [self.own(row) for row in rollout]
        lists = {many: [row[one] for row in rows] for many, one in MANY.items()}
        return (), asked_of(self.function, {**lists, "parser": rows[0]["parser"]})

    def result(self, answer: Any, rollout: Any) -> Any:
        """A list."""
        return plain(list(answer))


def readings(function: Any, form: str, parser: Any = None, *, in_rubric: bool = False) -> list[Reading]:
    """With messages and with texts, where its names are those of a rubric's functions."""
    asked, needed = set(parameters(function)), set(named(function))
    kind = Grouped if asked & set(MANY) else Legacy
    names = PLURAL if kind is Grouped else SINGLE
    own = {"answers", "states", "infos"} if kind is Grouped else {"state", "parser"}
    if not asked & set(names) or not needed <= set(names):
        return []
    if not (in_rubric or asked & (own | {"info"}) or ("completion" in asked and _speaks(function))):
        return []
    mapping = {name: names[name] for name in parameters(function) if name in names}
    sure = bool(asked & own) and bool(asked & {"prompt", "completion", "prompts", "completions"})
    columns = [mapping[name] for name in mapping if name in needed]
    chat = kind(function, needs=tuple(name for name in NEEDED if name in columns), parser=parser)
    ways = {"messages": chat, "texts": replace(chat, conversational=False)}
    reason = f"it takes {', '.join(mapping)}, as the functions of rubrics before v1; as "
    return [
        Reading("verifiers", form, reason + way, adapter, mapping, sure=sure, way=way)
        for way, adapter in ways.items()
    ]


def _speaks(function: Any) -> bool:
    """Whether its code has the keys of messages in it, so that a completion is a list of them."""
    waiting = [getattr(function, "__code__", None)]
    while waiting:
        for one in getattr(waiting.pop(), "co_consts", ()):
            if one in ("content", "role"):
                return True
            waiting.append(one)
    return False
