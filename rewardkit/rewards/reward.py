"""Reward: fields -> components -> gates -> weights; and Route, a reward for each value of a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.errors import CAUGHT, InputError, RewardError, describe_error, did_you_mean
from rewardkit.html.markup import render
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.weights import aggregate, check_weights
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import describe, fingerprint, sources, sources_seen
from rewardkit.rewards.plan import ROLLOUT, Columns, Floats, Part, Plan, Routing, Rows
from rewardkit.rewards.signature import Call, check_name, read_gate

if TYPE_CHECKING:
    from rewardkit.scoring.result import RewardResult

__all__ = ["RECORD_VERSION", "Reward", "Route"]

RECORD_VERSION = 2
"""Of the definition in a run record: 2 names primitives as people write them (``rk.verify.matches``)."""


@dataclass(frozen=True, eq=False)
class Reward:
    """A definition: named fields, scored components, how they add up.

    `fields` maps a name to an extractor or a function of earlier columns. `components` are in the order in
    which they may ask for one another. `aggregation` and `on_missing` are as in
    `primitives.weights.aggregate`; a closed `gate` on the whole reward makes it 0.0 and keeps the components
    declared after what it asks for from running; `transform` comes last, over the rewards of a group.
    RewardError: no component, a name twice, a gate or argument on a later or missing component, unknown
    options.

    >>> from rewardkit.primitives.verify import matches
    >>> correct = Component("correct", matches, columns={"prediction": "completion"})
    >>> reward = Reward("one", components=[correct])
    >>> reward(completion="Oslo.", ground_truth="oslo").reward
    1.0
    """

    name: str
    fields: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    components: Sequence[Component] = ()
    aggregation: str = field(default="weighted_sum", kw_only=True)
    on_missing: str = field(default="nan", kw_only=True)
    gate: Gate | None = field(default=None, kw_only=True)
    transform: Callable[[Floats, Rows], Floats] | None = field(default=None, kw_only=True)
    origin: str = field(default="", kw_only=True, repr=False)
    """How `load_reward` read it, where it was a trainer's function and not a Reward."""
    recorded: Mapping[str, Any] | None = field(default=None, kw_only=True, repr=False)
    """The scoring record of a reward that was read from a run record, whose functions are not at hand."""
    routing: Routing | None = field(default=None, kw_only=True)
    """Where each row is judged by the reward of its source (see `Route`); fields and components are then
    those of all of them, each name once."""

    def __post_init__(self) -> None:
        own = f"reward {self.name!r}"
        if not isinstance(self.fields, Mapping):
            raise RewardError(f"{own}: fields={self.fields!r} is not a dict of name: function")
        if not isinstance(self.components, Sequence):
            raise RewardError(f"{own}: components={self.components!r} is not a list of components")
        object.__setattr__(self, "fields", dict(self.fields))
        object.__setattr__(self, "components", tuple(self.components))
        if not isinstance(self.name, str) or not self.name.strip():
            raise RewardError(f"a reward needs a name, such as 'arithmetic-v1'; got {self.name!r}")
        if not self.components:
            raise RewardError(f"{own} has no components; add rk.Component(name, function)")
        if wrong := [item for item in self.components if not isinstance(item, Component)]:
            raise RewardError(
                f"{own}: {wrong[0]!r} is not a component; wrap it in rk.Component(name, function)"
            )
        self._check_names()
        if self.routing is not None:
            return
        self._check_order()
        try:
            check_weights(self._weights, aggregation=self.aggregation, on_missing=self.on_missing)
        except ValueError as error:
            raise RewardError(f"{own}: {error}") from None
        if self.transform is not None and not callable(self.transform):
            raise RewardError(f"{own}: transform={self.transform!r} is not a function of (rewards, groups)")
        sources_seen(self.functions)

    def _check_names(self) -> None:
        taken: dict[str, str] = {}
        for kind, names in (("field", self.fields), ("component", self.names)):
            for name in names:
                check_name(name, kind)
                if name in taken:
                    clash = f"{name!r} is the name of a {taken[name]} and of a {kind}"
                    clash = f"two {kind}s are called {name!r}" if taken[name] == kind else clash
                    raise RewardError(f"reward {self.name!r}: {clash}; rename one")
                taken[name] = kind

    def _check_order(self) -> None:
        """No field, component or gate asks for what is declared after it."""
        order = [*self.fields, *self.names]
        for name, call in self._calls:
            later = order[order.index(name) :] if name else []
            if wrong := [asked for asked in call.asks_for if asked in later]:
                raise RewardError(
                    f"reward {self.name!r}: {call.owner} asks for {wrong[0]!r}, which is not declared before "
                    "it; move it up or ask for another"
                )

    # --- what it is made of

    @cached_property
    def field_calls(self) -> dict[str, Call]:
        """How each field is computed."""
        return {name: Call.read(function, f"field {name!r}") for name, function in self.fields.items()}

    @cached_property
    def gate_call(self) -> Call | None:
        """How the gate on the whole reward is asked whether it is open; ``None`` where there is none."""
        return read_gate(self.gate, f"reward {self.name!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components."""
        return tuple(item.name for item in self.components)

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each component; NaN where the rewards of a route give it different ones."""
        found: dict[str, set[float]] = {}
        for inner in self.inner:
            for item in inner.components:
                found.setdefault(item.name, set()).add(float(item.weight))
        return {name: min(weights) if len(weights) == 1 else np.nan for name, weights in found.items()}

    @property
    def _weights(self) -> Floats:
        return np.array([item.weight for item in self.components], dtype=float)

    @property
    def primary(self) -> str:
        """Name of the component that is the task itself.

        The one declared primary, else the one of the largest weight; of equal ones the first that reads the
        ground truth, whatever their order otherwise.
        """
        return max(
            self.components, key=lambda item: (item.primary, item.weight, self._reads_truth(item))
        ).name

    def _reads_truth(self, item: Component) -> bool:
        names, seen = list(item.asks_for), set()
        while names:
            name = names.pop()
            if name == "ground_truth":
                return True
            if name in self.fields and name not in seen:
                seen.add(name)
                names += self.field_calls[name].asks_for
        return False

    @property
    def inner(self) -> list[Reward]:
        """The rewards it is made of: itself alone, or those of its route."""
        return self.routing.inner if self.routing else [self]

    @property
    def split_by(self) -> tuple[str, ...]:
        """Columns that decide which reward a row gets: none without a route."""
        return (self.routing.column,) if self.routing else ()

    @cached_property
    def _calls(self) -> list[tuple[str, Call]]:
        """Name and call of each field and component and of its gate; the gate on the reward, "", is last."""
        steps = list(self.field_calls.items())
        for item in self.components:
            steps += [(item.name, call) for call in (item.call, item.gate_call) if call is not None]
        return steps if self.gate_call is None else [*steps, ("", self.gate_call)]

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Names of the rollout columns that routing, fields, components and gates ask for."""
        names = list(self.split_by)
        for inner in self.inner:
            own = {*inner.fields, *inner.names}
            names += [name for _, call in inner._calls for name in call.asks_for if name not in own]
        return tuple(dict.fromkeys(names))

    @property
    def functions(self) -> list[Any]:
        """What decides its scores: the functions of fields and components, and the gates."""
        if self.routing:
            return [function for inner in self.inner for function in inner.functions]
        gates = [*(item.gate for item in self.components), self.gate]
        functions = [*self.fields.values(), *(item.function for item in self.components)]
        return [*functions, *(gate for gate in gates if gate is not None)]

    # --- what is done with it

    def bind(self, columns: Columns, rows: int | None = None) -> Plan:
        """The plan for these columns (lists of `rows` values): which reward judges which rows.

        RewardError: a column is asked for that is not there, or has the name of a field or component; the
        reward was read from a run record, so that its functions are not at hand.
        """
        if any(inner.recorded is not None for inner in self.inner):
            raise RewardError(
                f"reward {self.name!r} was read from a run record and cannot be run; load the reward itself"
            )
        self.check_columns(list(columns))
        count = len(next(iter(columns.values()), ())) if rows is None else rows
        return Plan(self, count, tuple(self.parts(columns, count)))

    def check_columns(self, available: Sequence[str]) -> None:
        """RewardError where a column is asked for that is not there.

        Or where one that is asked for has the name of a field or component.
        """
        for name in self.split_by:
            if name not in available:
                raise RewardError(
                    f"the route asks for {name!r}; this table has "
                    f"{sorted(available)}{did_you_mean(name, available)}"
                )
        for inner in self.inner:
            own = (*inner.fields, *inner.names)
            known = {*available, *own}
            for _, call in inner._calls:
                for name in call.asks_for:
                    if name in own and name in available:
                        kind = "field" if name in inner.fields else "component"
                        raise RewardError(
                            f"reward {inner.name!r}: {name!r} is a {kind} and also a column of the rollouts; "
                            f"rename the {kind}"
                        )
                    if name not in known and name != ROLLOUT:
                        raise RewardError(
                            f"{call.owner} asks for {name!r}; this table has {sorted(known)}"
                            f"{did_you_mean(name, known) or '; add it, or map a column to it'}"
                        )

    def parts(self, columns: Columns, rows: int) -> list[Part]:
        """The rewards and the rows each is for: without a route one part with all rows."""
        return self.routing.parts(columns) if self.routing else [Part("", self, np.arange(rows))]

    def add_up(
        self, scores: Mapping[str, Floats], gated: Mapping[str, NDArray[np.bool_]], gate: Floats
    ) -> Floats:
        """Reward of each row before the transform, without a route; see `Plan.combine`."""
        table = np.column_stack([scores[name] for name in self.names])  # (rows, components)
        closed = np.column_stack([gated[name] for name in self.names])
        reward = aggregate(
            table, closed, self._weights, aggregation=self.aggregation, on_missing=self.on_missing
        )
        reward[gate == 0] = 0.0
        if self.on_missing == "nan":
            reward[np.isnan(gate)] = np.nan
        return reward

    def transformed(self, rewards: Floats, groups: Rows) -> Floats:
        """The rewards after the transform, without a route; NaN stays NaN."""
        if self.transform is None:
            return rewards
        try:
            out = np.asarray(self.transform(rewards.copy(), groups), dtype=float)
        except InputError:
            raise
        except CAUGHT as error:
            raise RewardError(
                f"reward {self.name!r}: its transform failed with {describe_error(error)}"
            ) from error
        if out.shape != rewards.shape:
            raise RewardError(
                f"reward {self.name!r}: its transform returned shape {out.shape} for {len(rewards)} rewards"
            )
        return out

    def map(self, change: Callable[[Reward], Reward]) -> Reward:
        """The same with `change` made to each reward of its route, or to itself where it has none."""
        if not self.routing:
            return change(self)
        column, default = self.routing.column, self.routing.default
        rewards = {value: change(reward) for value, reward in self.routing.rewards.items()}
        return Route(column, rewards, change(default) if default is not None else None, name=self.name)

    def reweigh(self, weights: Mapping[str, float]) -> Reward:
        """The same reward with other weights, in every reward of a route that has the component.

        RewardError: a weight for a component that it does not have.
        """
        for name in weights:
            if name not in self.names:
                raise RewardError(
                    f"there is no component {name!r} to weigh; {'route' if self.routing else 'reward'} "
                    f"{self.name!r} has {list(self.names)}{did_you_mean(name, self.names)}"
                )
        return self.map(
            lambda inner: replace(
                inner,
                components=[
                    replace(item, weight=weights.get(item.name, item.weight)) for item in inner.components
                ],
            )
        )

    def __call__(self, **columns: Any) -> RewardResult:
        """Reward of one completion given by its columns, before any transform.

        Group components abstain. RewardError: a column is missing.
        """
        from rewardkit.scoring.result import result_of  # the one step up: a definition that can be called

        return result_of(self, columns)

    def _repr_html_(self) -> str:
        options = {"aggregation": self.aggregation, "on missing": self.on_missing, "origin": self.origin}
        for what, item in (("gate of the whole reward", self.gate), ("transform", self.transform)):
            options[what] = describe(item) if item else ""
        parts = {**self.routing.rewards, "(any other)": self.routing.default} if self.routing else {}
        return render(
            "reward",
            reward=self,
            fields=[(name, describe(function)) for name, function in self.fields.items()],
            components=[
                (
                    item.name,
                    describe(item.function),
                    f"{item.weight:g}",
                    describe(item.gate) if item.gate else "",
                    " to ".join(f"{end:g}" for end in item.range) if item.range else "unbounded",
                    item.why,
                )
                for item in self.components
            ],
            options=[(what, text) for what, text in options.items() if text],
            parts=[
                (
                    value,
                    inner.name,
                    ", ".join(f"{name} {w:g}" for name, w in inner.weights.items()),
                    inner.aggregation,
                )
                for value, inner in parts.items()
                if inner is not None
            ],
        )

    # --- its record

    def record(self) -> dict[str, Any]:
        """The definition as plain data.

        What a run record keeps, with the fingerprints *scoring* and *reward*.
        """
        if self.routing:
            return self._routing_record(self.routing)
        scoring = dict(
            self.recorded
            or {
                "fields": {name: describe(function) for name, function in self.fields.items()},
                "components": [item.scoring_record() for item in self.components],
                "gate": describe(self.gate) if self.gate else None,
                "sources": sources(self.functions),
                "transform_sources": sources([self.transform] if self.transform else []),
            }
        )
        paying = {
            "weights": self.weights,
            "aggregation": self.aggregation,
            "on_missing": self.on_missing,
            "transform": describe(self.transform) if self.transform else None,
            "transform_sources": scoring.pop("transform_sources"),
        }
        return {
            "version": RECORD_VERSION,
            "name": self.name,
            "origin": self.origin,
            **scoring,
            **paying,
            "components": [
                {**how, **item.paying_record()}
                for how, item in zip(scoring["components"], self.components, strict=True)
            ],
            "fingerprints": {"scoring": fingerprint(scoring), "reward": fingerprint({**scoring, **paying})},
        }

    def _routing_record(self, routing: Routing) -> dict[str, Any]:
        rewards = [{"value": value, "reward": reward.record()} for value, reward in routing.rewards.items()]
        default = routing.default.record() if routing.default is not None else None

        def prints(kind: str) -> str:
            parts = [[item["value"], item["reward"]["fingerprints"][kind]] for item in rewards]  # type: ignore[index]
            return fingerprint([routing.column, parts, default and default["fingerprints"][kind]])

        return {
            "name": self.name,
            "route": {"column": routing.column, "rewards": rewards, "default": default},
            "fingerprints": {kind: prints(kind) for kind in ("scoring", "reward")},
        }


def Route(
    column: str, rewards: Mapping[str, Reward], default: Reward | None = None, *, name: str | None = None
) -> Reward:
    """A reward for each value of a column: `Route("data_source", {"gsm8k": a, "people-json": b})`.

    Rows whose value has no reward go to `default`, or are not judged (``abstained``, reward NaN). Components
    of the same name share a score column; for the rows of another reward they are ``gated``. RewardError: no
    rewards, a route in a route.
    """
    inner = [*rewards.values(), *([default] if default is not None else [])]
    if not inner:
        raise RewardError(f"Route({column!r}, ...) has no rewards; give {{value: reward}}")
    if wrong := [item for item in inner if not isinstance(item, Reward) or item.routing]:
        raise RewardError(f"Route({column!r}, ...) takes rewards; got {wrong[0]!r}")
    if odd := [key for key in rewards if not isinstance(key, str | int | float | None)]:
        raise RewardError(f"Route({column!r}, ...) has the value {odd[0]!r}; give texts or numbers")
    return Reward(
        name or "+".join(dict.fromkeys(item.name for item in inner)),
        {key: value for item in inner for key, value in item.fields.items()},
        tuple({item.name: item for reward in inner for item in reward.components}.values()),
        routing=Routing(column, dict(rewards), default),
    )
