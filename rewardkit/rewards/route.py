"""Route: a reward for each data source; and the reward that a run record tells of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.errors import RewardError, did_you_mean
from rewardkit.html import cards
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.weights import read_transform
from rewardkit.rewards.component import Component, Recorded
from rewardkit.rewards.reward import Part, Reward, fingerprint
from rewardkit.scoring.evaluate import ABSTAINED, GATED, Columns, Evaluation, Floats, Rows
from rewardkit.scoring.limits import TimeLimit

__all__ = ["Route", "reward_from_record"]

UNKNOWN: Any = object()  # a value of the column that no reward is for
SCORING_KEYS = ("name", "function", "asks_for", "gate", "columns", "range", "kind")


class Route(Reward):
    """A reward for each value of a column.

    `Route("data_source", {"gsm8k": a, "people-json": b}, default=None)`.

    Rows whose value has no reward go to `default`, or are not judged (``abstained``, reward NaN). Components
    of the same name share a score column; for the rows of another reward they are ``gated``. RewardError: no
    rewards, a nested Route.
    """

    column: str
    rewards: Mapping[str, Reward]
    default: Reward | None

    def __init__(
        self,
        column: str,
        rewards: Mapping[str, Reward],
        default: Reward | None = None,
        *,
        name: str | None = None,
    ) -> None:
        inner = [*rewards.values(), *([default] if default is not None else [])]
        if not inner:
            raise RewardError(f"Route({column!r}, ...) has no rewards; give {{value: reward}}")
        if wrong := [item for item in inner if not isinstance(item, Reward) or isinstance(item, Route)]:
            raise RewardError(f"Route({column!r}, ...) takes rewards; got {wrong[0]!r}")
        if odd := [key for key in rewards if not isinstance(key, str | int | float | None)]:
            raise RewardError(f"Route({column!r}, ...) has the value {odd[0]!r}; give texts or numbers")
        fields = {key: value for item in inner for key, value in item.fields.items()}
        components = {item.name: item for reward in inner for item in reward.components}
        for key, value in {
            "name": name or "+".join(dict.fromkeys(item.name for item in inner)),
            "column": column,
            "rewards": dict(rewards),
            "default": default,
            "fields": fields,
            "components": tuple(components.values()),
            "aggregation": inner[0].aggregation,
            "on_missing": inner[0].on_missing,
            "gate": None,
            "transform": None,
            "recorded": None,
        }.items():
            object.__setattr__(self, key, value)
        self._check_names()

    @property
    def split_by(self) -> tuple[str, ...]:
        return (self.column,)

    def parts(self, columns: Columns, rows: int) -> list[Part]:
        """One part a reward that has rows; rows that no reward is for are in none."""
        rows_of: dict[Any, list[int]] = {}
        for row, value in enumerate(columns[self.column]):
            known = isinstance(value, Hashable) and value in self.rewards
            rows_of.setdefault(value if known else UNKNOWN, []).append(row)
        inner = dict(self.rewards)
        if self.default is not None:
            inner[UNKNOWN] = self.default
        return [
            Part("default" if key is UNKNOWN else str(key), reward, np.array(rows_of[key]))
            for key, reward in inner.items()
            if key in rows_of
        ]

    @property
    def inner(self) -> list[Reward]:
        """Its rewards, the default one last."""
        return [*self.rewards.values(), *([self.default] if self.default is not None else [])]

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([self.column, *(name for reward in self.inner for name in reward.needs)]))

    @property
    def functions(self) -> list[Any]:
        return [function for reward in self.inner for function in reward.functions]

    def check_columns(self, available: Sequence[str]) -> None:
        if self.column not in available:
            raise RewardError(
                f"the route asks for {self.column!r}; this table has "
                f"{sorted(available)}{did_you_mean(self.column, available)}"
            )
        for reward in self.inner:
            reward.check_columns(available)

    def evaluate(
        self,
        columns: Columns,
        *,
        rows: int,
        groups: Rows | None = None,
        ignore_gates: bool = False,
        notes: bool = False,
        limit: TimeLimit | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Evaluation:
        total = Evaluation(
            {name: [None] * rows for name in self.fields},
            {name: np.full(rows, np.nan) for name in self.names},
            {name: np.full(rows, GATED, dtype=np.int8) for name in self.names},
            {name: [None] * rows for name in self.names},
            np.full(rows, np.nan),
            [{} for _ in range(rows)] if notes else None,
        )
        unmatched = np.ones(rows, dtype=bool)
        for part in self.parts(columns, rows):
            unmatched[part.rows] = False
            some = {name: [values[row] for row in part.rows] for name, values in columns.items()}
            found = part.reward.evaluate(
                some,
                rows=len(part.rows),
                groups=None if groups is None else groups[part.rows],
                ignore_gates=ignore_gates,
                notes=notes,
                limit=limit,
                progress=progress,
            )
            total.gate[part.rows] = found.gate
            for name, scores in found.scores.items():
                total.scores[name][part.rows] = scores
                total.statuses[name][part.rows] = found.statuses[name]
            for whole, piece in ((total.fields, found.fields), (total.errors, found.errors)):
                for name, values in piece.items():
                    for row, value in zip(part.rows, values, strict=True):
                        whole[name][row] = value
            if total.notes is not None and found.notes is not None:
                for row, heard in zip(part.rows, found.notes, strict=True):
                    total.notes[row] = heard
        for row in np.flatnonzero(unmatched).tolist():
            for name in self.names:
                total.statuses[name][row] = ABSTAINED
                total.errors[name][row] = f"no reward for {self.column}={columns[self.column][row]!r}"
        return total

    def combine(
        self,
        scores: Mapping[str, Floats],
        gated: Mapping[str, NDArray[np.bool_]],
        gate: Floats,
        columns: Columns,
    ) -> Floats:
        total = np.full(len(gate), np.nan)
        for part in self.parts(columns, len(gate)):
            at = part.rows
            total[at] = part.reward.combine(
                {name: values[at] for name, values in scores.items()},
                {name: values[at] for name, values in gated.items()},
                gate[at],
                {},
            )
        return total

    def transformed(self, rewards: Floats, groups: Rows, columns: Columns) -> Floats:
        out = rewards.copy()
        for part in self.parts(columns, len(rewards)):
            out[part.rows] = part.reward.transformed(rewards[part.rows], groups[part.rows], {})
        return out

    def reweigh(self, weights: Mapping[str, float]) -> Route:
        """The same route with other weights, in every reward that has the component."""
        for name in weights:
            if name not in self.names:
                raise RewardError(
                    f"there is no component {name!r} to weigh; route {self.name!r} has "
                    f"{list(self.names)}{did_you_mean(name, self.names)}"
                )

        def changed(reward: Reward) -> Reward:
            return reward.reweigh({key: value for key, value in weights.items() if key in reward.names})

        default = changed(self.default) if self.default is not None else None
        return Route(
            self.column,
            {key: changed(reward) for key, reward in self.rewards.items()},
            default,
            name=self.name,
        )

    def _repr_html_(self) -> str:
        rewards = [(str(value), reward) for value, reward in self.rewards.items()]
        rewards += [("(any other)", self.default)] if self.default is not None else []
        parts = [(value, inner.name, inner.weights, inner.aggregation) for value, inner in rewards]
        return cards.route(self.name, self.column, parts)

    def record(self) -> dict[str, Any]:
        inner: list[dict[str, Any]] = [
            {"value": value, "reward": reward.record()} for value, reward in self.rewards.items()
        ]
        default = self.default.record() if self.default is not None else None

        def prints(kind: str) -> str:
            parts = [[item["value"], item["reward"]["fingerprints"][kind]] for item in inner]
            return fingerprint([self.column, parts, default and default["fingerprints"][kind]])

        return {
            "name": self.name,
            "route": {"column": self.column, "rewards": inner, "default": default},
            "fingerprints": {kind: prints(kind) for kind in ("scoring", "reward")},
        }


def reward_from_record(record: Mapping[str, Any]) -> Reward:
    """The reward of a run record: it can be weighed and diagnosed anew, but not run (RewardError).

    RewardError also where the record is none.
    """
    try:
        if "route" in record:
            route = record["route"]
            inner = {item["value"]: reward_from_record(item["reward"]) for item in route["rewards"]}
            default = reward_from_record(route["default"]) if route["default"] else None
            return Route(route["column"], inner, default, name=record["name"])
        if "version" not in record:
            record = _from_version_1(record)
        return Reward(
            record["name"],
            {name: Recorded(text) for name, text in record["fields"].items()},
            [_component(item) for item in record["components"]],
            aggregation=record["aggregation"],
            on_missing=record["on_missing"],
            gate=Gate(Recorded(record["gate"])) if record["gate"] else None,
            transform=_transform(record["transform"]) if record["transform"] else None,
            recorded={
                "fields": record["fields"],
                "components": [{key: item[key] for key in SCORING_KEYS} for item in record["components"]],
                "gate": record["gate"],
                "sources": record["sources"],
                "transform_sources": record["transform_sources"],
            },
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RewardError(
            f"this run record does not hold a reward ({error!r}); score again with this version"
        ) from None


def _from_version_1(record: Mapping[str, Any]) -> dict[str, Any]:
    """A definition of the first version, with the names that functions of rewardkit have now."""
    text = re.sub(r"rewardkit\.primitives\.\w+\.(\w+)", r"rk.verify.\1", json.dumps(record))
    text = text.replace("rewardkit.recording.as_logged", "rewardkit.rewards.recorded.as_logged")
    return dict(json.loads(text))


def _component(item: Mapping[str, Any]) -> Component:
    return Component(
        item["name"],
        Recorded(item["function"], tuple(item["asks_for"])),
        weight=item["weight"],
        why=item["why"],
        range=(float(item["range"][0]), float(item["range"][1])) if item["range"] else None,
        primary=item["primary"],
        expects_partial=item.get("expects_partial", False),
        gate=Gate(Recorded(item["gate"])) if item["gate"] else None,
    )


def _transform(text: str) -> Callable[..., Any]:
    """The transform that prints so; for one of the user's own, what says that it is not at hand."""
    try:
        return read_transform(text)
    except ValueError:
        return Recorded(text)
