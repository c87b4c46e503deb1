"""verifiers' rewards before v1: rubrics, and f(completion, answer, state, ...) of what it asks for by name.

Source: `Rubric` of verifiers 0.1, whose classes verifiers 0.4 still has. They are read;
what is written for verifiers are v1's functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from rewardkit.primitives.messages import content_text
from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import Adapter, Arguments, Row, alike, fill, named, plain
from rewardkit.targets.target import Part, Reading, Target
from rewardkit.targets.turns import split

FORM = "f(completion, answer, state, ...) -> float, or a Rubric of such functions"
SINGLE = {"prompt": "prompt", "completion": "completion", "answer": "ground_truth"}
SINGLE |= {
    "state": "the row",
    "info": "info",
    "task": "data_source",
    "parser": "verifiers' plain Parser",
}
MANY = {"parser": SINGLE["parser"]} | {
    f"{name}s": SINGLE[name] for name in SINGLE if name != "parser"
}
"""What a function of a whole group asks for."""
NEEDED = ("prompt", "completion", "ground_truth")


def parts(value: Any) -> list[Part]:
    """The functions of a rubric with its weights; none where it is no rubric."""
    listed = getattr(value, "funcs", None) or getattr(value, "reward_funcs", None)
    weights = getattr(value, "weights", None) or getattr(value, "reward_weights", None)
    if (
        not isinstance(listed, list)
        or not isinstance(weights, list)
        or len(listed) != len(weights)
    ):
        return []
    names = [str(getattr(one, "__name__", type(one).__name__)) for one in listed]
    return [
        Part(value, *one)
        for one in zip(names, map(float, weights), listed, strict=True)
    ]


class Parser:
    """Stands for verifiers' plain Parser, which a function without one of its own gets: the text as it is."""

    def parse(self, text: str) -> str:
        """The text."""
        return text

    def parse_answer(self, completion: Any) -> str | None:
        """The text of a completion: of its last message."""
        return (
            completion
            if isinstance(completion, str)
            else content_text(completion[-1].get("content"))
        )


@dataclass(frozen=True, repr=False)
class Function(Adapter):
    """A function of a rubric: completions are messages where `conversational`, as was the default."""

    conversational: bool = field(default=True, kw_only=True)
    parser: Any = field(default=None, kw_only=True)

    def arguments(self, rollout: Any) -> Arguments:
        """What it asks for by name; all there is for ``**kwargs``."""
        return (), fill(self.function, {}, self.own(rollout))

    def own(self, rollout: Row) -> dict[str, Any]:
        """All that it may ask for of a completion."""
        known = deepcopy(alike(rollout))
        turns = (
            split(rollout)
            if self.conversational
            else (rollout.get("prompt"), rollout.get("completion"))
        )
        infos = [
            known[name]
            for name in ("info", "extra_info")
            if isinstance(known.get(name), dict)
        ]
        own = {
            **dict(zip(("prompt", "completion"), turns, strict=True)),
            "answer": ""
            if rollout.get("ground_truth") is None
            else known["ground_truth"],
            "task": known.get("task") or rollout.get("data_source") or "default",
            "info": [*infos, {}][0],
        }
        timing = {"generation_ms": 0.0, "scoring_ms": 0.0}
        state = {**known, **own, "turn": 1, "trajectory": [], "timing": timing}
        return {
            **own,
            "state": state,
            "parser": Parser() if self.parser is None else self.parser,
        }


class Grouped(Function):
    """A function of a rubric that is called with lists: of a whole group."""

    together = "group"

    def arguments(self, rollout: Any) -> Arguments:
        """Lists of what it asks for by name."""
        rows = [self.own(row) for row in rollout]
        lists = {f"{name}s": [row[name] for row in rows] for name in SINGLE}
        return (), fill(self.function, {}, {**lists, "parser": rows[0]["parser"]})

    def result(self, answer: Any, rollout: Any) -> Any:
        """A list."""
        return plain(list(answer))


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """With messages and with texts, where its names are those of a rubric's functions."""
    part = value if isinstance(value, Part) else Part(None, "", 1.0, value)
    asked, needed = parameters(part.function), set(named(part.function))
    kind = Grouped if asked.keys() & MANY.keys() - {"parser"} else Function
    names = MANY if kind is Grouped else SINGLE
    own = asked.keys() & {"state", "parser", "answers", "states", "infos"}
    speaks = "completion" in asked and _speaks(getattr(part.function, "__code__", None))
    mapping = {name: names[name] for name in asked if name in names}
    told = part.owner is not None or own or "info" in asked or speaks
    if (
        isinstance(value, type)
        or not (mapping and told)
        or not needed <= mapping.keys()
    ):
        return []
    sure = part.owner is not None or bool(
        own and any(name.startswith(("prompt", "completion")) for name in mapping)
    )
    needs = tuple(name for name in NEEDED if name in [mapping[one] for one in needed])
    texts = kind(
        part.function,
        needs=needs,
        conversational=False,
        parser=getattr(part.owner, "parser", None),
    )
    ways = {"messages": replace(texts, conversational=True), "texts": texts}
    reason = (
        f"it takes {', '.join(mapping)}, as the functions of rubrics before v1; as "
    )
    return [
        Reading(reason + way, adapter, mapping, weight=part.weight, sure=sure, way=way)
        for way, adapter in ways.items()
    ]


def _speaks(code: Any) -> bool:
    """Whether the code has the keys of messages in it, so that a completion is a list of them."""
    return any(
        one in ("content", "role") or _speaks(one)
        for one in getattr(code, "co_consts", ())
    )


TARGET = Target(
    "verifiers-rubric", "verifiers before v1", "0.1", FORM, readings, parts=parts
)
