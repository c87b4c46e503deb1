"""Reward: fields -> components -> gates -> weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.errors import InputError, RewardError, did_you_mean
from rewardkit.html import cards
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.weights import aggregate, check_weights
from rewardkit.rewards.component import (
    Call,
    Component,
    check_name,
    describe,
    gate_asks_for,
    read_gate,
    sources,
)
from rewardkit.scoring.calls import CAUGHT, said
from rewardkit.scoring.evaluate import GATED, ROLLOUT, STATUSES, Columns, Evaluation, Floats, Rows, evaluate
from rewardkit.scoring.limits import TimeLimit

__all__ = ["RECORD_VERSION", "Part", "Reward", "RewardResult"]

RECORD_VERSION = 2
"""Of the definition in a run record: 2 names primitives as people write them (``rk.verify.matches``)."""


@dataclass(frozen=True)
class RewardResult:
    """What one completion got. `reward` is NaN where it is not judged, and before any transform.

    `scores`, `status` and `errors` are by component (a score is NaN unless its status is ``scored``), and so
    are the `weights` of those that are for it; `fields` are the extractions and `notes` what components left
    with `rk.note`.
    """

    reward: float
    scores: dict[str, float]
    status: dict[str, str]
    errors: dict[str, str]
    fields: dict[str, Any]
    notes: dict[str, Any]
    weights: dict[str, float] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        rows = [
            (name, self.status[name], score, self.weights.get(name), self.errors.get(name, ""))
            for name, score in self.scores.items()
        ]
        return cards.result(self.reward, rows, self.fields, self.notes)


@dataclass(frozen=True)
class Part:
    """One reward of a `Route` and the rows it is for; a plain `Reward` is its own only part."""

    label: str
    reward: Reward
    rows: Rows


@dataclass(frozen=True, eq=False)
class Reward:
    """A definition: named fields, scored components, how they add up.

    `fields` maps a name to an extractor or a function of earlier columns. `components` are in the order in
    which they run; each may ask for rollout columns, fields and earlier components by parameter name.
    `aggregation` and `on_missing` as in `primitives.weighting.aggregate`; a closed `gate` on the whole reward
    makes it 0.0 and keeps the components declared after what it asks for from running; `transform` comes
    last, over the rewards of a group. RewardError: no component, a name twice, a gate or argument on a later
    or missing component, unknown options.

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

    def __post_init__(self) -> None:
        if not isinstance(self.fields, Mapping):
            raise RewardError(f"reward {self.name!r}: fields={self.fields!r} is not a dict of name: function")
        if not isinstance(self.components, Sequence):
            raise RewardError(
                f"reward {self.name!r}: components={self.components!r} is not a list of components"
            )
        object.__setattr__(self, "fields", dict(self.fields))
        object.__setattr__(self, "components", tuple(self.components))
        if not isinstance(self.name, str) or not self.name.strip():
            raise RewardError(f"a reward needs a name, such as 'arithmetic-v1'; got {self.name!r}")
        if not self.components:
            raise RewardError(f"reward {self.name!r} has no components; add rk.Component(name, function)")
        if wrong := [item for item in self.components if not isinstance(item, Component)]:
            raise RewardError(
                f"reward {self.name!r}: {wrong[0]!r} is not a component; wrap it in rk.Component(name, "
                "function)"
            )
        self._check_names()
        self._check_order()
        try:
            check_weights(self._weights, aggregation=self.aggregation, on_missing=self.on_missing)
        except ValueError as error:
            raise RewardError(f"reward {self.name!r}: {error}") from None
        if self.transform is not None and not callable(self.transform):
            raise RewardError(
                f"reward {self.name!r}: transform={self.transform!r} is not a function of (rewards, groups)"
            )

    def _check_names(self) -> None:
        taken: dict[str, str] = {}
        for kind, names in (("field", self.fields), ("component", [item.name for item in self.components])):
            for name in names:
                check_name(name, kind)
                if taken.get(name) == kind:
                    raise RewardError(f"reward {self.name!r}: two {kind}s are called {name!r}; rename one")
                if name in taken:
                    raise RewardError(
                        f"reward {self.name!r}: {name!r} is the name of a {taken[name]} and of a {kind}; "
                        "rename one"
                    )
                taken[name] = kind

    def _check_order(self) -> None:
        """No field, component or gate asks for what is declared after it."""
        later = [*self.fields, *(item.name for item in self.components)]
        for name, call in self.field_calls.items():
            self._check_later(f"field {name!r} asks for", call.asks_for, later)
            later.remove(name)
        for item in self.components:
            self._check_later(f"component {item.name!r} asks for", item.asks_for, later)
            self._check_later(
                f"the gate of component {item.name!r} is on", gate_asks_for(item.gate, item.gate_call), later
            )
            later.remove(item.name)

    def _check_later(self, who: str, names: Sequence[str], later: Sequence[str]) -> None:
        for name in names:
            if name in later:
                raise RewardError(
                    f"reward {self.name!r}: {who} {name!r}, which is not declared before it; move it up or "
                    "ask for another"
                )

    @cached_property
    def field_calls(self) -> dict[str, Call]:
        """How each field is computed."""
        return {name: Call.read(function, f"field {name!r}") for name, function in self.fields.items()}

    @cached_property
    def gate_call(self) -> Call | None:
        """How the predicate of the gate on the whole reward is called."""
        return read_gate(self.gate, f"reward {self.name!r}")

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each component."""
        return {item.name: float(item.weight) for item in self.components}

    @property
    def _weights(self) -> Floats:
        return np.array([item.weight for item in self.components], dtype=float)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components."""
        return tuple(item.name for item in self.components)

    @property
    def primary(self) -> str:
        """Name of the component that is the task itself.

        The one declared primary, else the one of the largest weight.
        """
        return max(self.components, key=lambda item: (item.primary, item.weight)).name

    @property
    def split_by(self) -> tuple[str, ...]:
        """Columns that decide which reward a row gets: none here."""
        return ()

    @property
    def inner(self) -> list[Reward]:
        """The rewards it is made of: itself alone."""
        return [self]

    def parts(self, columns: Columns, rows: int) -> list[Part]:
        """The rewards and the rows each is for: here one part with all rows."""
        return [Part("", self, np.arange(rows))]

    def check_columns(self, available: Sequence[str]) -> None:
        """RewardError where a column is asked for that is not there.

        Or where one that is asked for has the name of a field or component.
        """
        own = [*self.fields, *self.names]
        asked = {name for _, names in self._asks() for name in names}
        for name in own:
            if name in available and name in asked:
                kind = "field" if name in self.fields else "component"
                raise RewardError(
                    f"reward {self.name!r}: {name!r} is a {kind} and also a column of the rollouts; rename "
                    f"the {kind}"
                )
        known = [*available, *own]
        for owner, names in self._asks():
            for name in names:
                if name not in known and name != ROLLOUT:
                    raise RewardError(
                        f"{owner} asks for {name!r}; this table has "
                        f"{sorted(known)}{did_you_mean(name, known) or '; add it, or map a column to it'}"
                    )

    def _asks(self) -> list[tuple[str, tuple[str, ...]]]:
        """Who asks for which columns: every field, component and gate."""
        asked = [(call.owner, call.asks_for) for call in self.field_calls.values()]
        for item in self.components:
            asked.append((f"component {item.name!r}", item.asks_for))
            asked.append((f"the gate of component {item.name!r}", gate_asks_for(item.gate, item.gate_call)))
        asked.append((f"the gate of reward {self.name!r}", gate_asks_for(self.gate, self.gate_call)))
        return asked

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the rollout columns that fields, components and gates ask for."""
        own = {*self.fields, *self.names}
        return tuple(dict.fromkeys(name for _, names in self._asks() for name in names if name not in own))

    @property
    def functions(self) -> list[Any]:
        """What decides its scores: the functions of fields and components, and the gates."""
        gates = [*(item.gate for item in self.components), self.gate]
        functions = [*self.fields.values(), *(item.function for item in self.components)]
        return [*functions, *(gate for gate in gates if gate is not None)]

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
        """Fields, scores and statuses for `rows` rows of `columns`; see `evaluation.evaluate`.

        RewardError: the reward was read from a run record, so that its functions are not at hand.
        """
        if self.recorded is not None:
            raise RewardError(
                f"reward {self.name!r} was read from a run record and cannot be run; load the reward itself"
            )
        return evaluate(
            self.field_calls,
            self.components,
            columns,
            rows=rows,
            gate=self.gate,
            gate_call=self.gate_call,
            groups=groups,
            ignore_gates=ignore_gates,
            notes=notes,
            limit=limit,
            progress=progress,
        )

    def combine(
        self,
        scores: Mapping[str, Floats],
        gated: Mapping[str, NDArray[np.bool_]],
        gate: Floats,
        columns: Columns,
    ) -> Floats:
        """Reward of each row before the transform, from scores (NaN where missing) and what was gated."""
        table = np.column_stack([scores[name] for name in self.names])  # (rows, components)
        closed = np.column_stack([gated[name] for name in self.names])
        reward = aggregate(
            table, closed, self._weights, aggregation=self.aggregation, on_missing=self.on_missing
        )
        reward[gate == 0] = 0.0
        if self.on_missing == "nan":
            reward[np.isnan(gate)] = np.nan
        return reward

    def transformed(self, rewards: Floats, groups: Rows, columns: Columns) -> Floats:
        """The rewards after the transform; NaN stays NaN."""
        if self.transform is None:
            return rewards
        try:
            out = np.asarray(self.transform(rewards.copy(), groups), dtype=float)
        except InputError:
            raise
        except CAUGHT as error:
            raise RewardError(f"reward {self.name!r}: its transform failed with {said(error)}") from error
        if out.shape != rewards.shape:
            raise RewardError(
                f"reward {self.name!r}: its transform returned shape {out.shape} for {len(rewards)} rewards"
            )
        return out

    def reweigh(self, weights: Mapping[str, float]) -> Reward:
        """The same reward with other weights. RewardError: a weight for a component that it does not have."""
        for name in weights:
            if name not in self.names:
                raise RewardError(
                    f"there is no component {name!r} to weigh; reward {self.name!r} has "
                    f"{list(self.names)}{did_you_mean(name, self.names)}"
                )
        changed = [replace(item, weight=weights.get(item.name, item.weight)) for item in self.components]
        return replace(self, components=changed)

    def __call__(self, **columns: Any) -> RewardResult:
        """Reward of one completion given by its columns.

        Group components abstain. RewardError: a column is missing.
        """
        self.check_columns(list(columns))
        lists = {name: [value] for name, value in columns.items()}
        found = self.evaluate(lists, rows=1, notes=True)
        gated = {name: status == GATED for name, status in found.statuses.items()}
        reward = self.combine(found.scores, gated, found.gate, lists)
        return RewardResult(
            reward=float(reward[0]),
            scores={name: float(score[0]) for name, score in found.scores.items()},
            status={name: STATUSES[status[0]] for name, status in found.statuses.items()},
            errors={name: reason for name, (reason,) in found.errors.items() if reason is not None},
            fields={name: values[0] for name, values in found.fields.items()},
            notes=found.notes[0] if found.notes else {},
            weights={n: w for part in self.parts(lists, 1) for n, w in part.reward.weights.items()},
        )

    def _repr_html_(self) -> str:
        options = {"aggregation": self.aggregation, "on missing": self.on_missing, "origin": self.origin}
        for what, item in (("gate of the whole reward", self.gate), ("transform", self.transform)):
            options[what] = describe(item) if item else ""
        fields = {name: describe(item) for name, item in self.fields.items()}
        components = [{**item.scoring_record(), **item.paying_record()} for item in self.components]
        return cards.reward(self.name, fields, components, options)

    def _scoring_record(self) -> dict[str, Any]:
        """What decides the scores, apart from weights: the content of the scoring fingerprint."""
        if self.recorded is not None:
            return {name: value for name, value in self.recorded.items() if name != "transform_sources"}
        return {
            "fields": {name: describe(function) for name, function in self.fields.items()},
            "components": [item.scoring_record() for item in self.components],
            "gate": describe(self.gate) if self.gate else None,
            "sources": sources(self.functions),
        }

    def _transform_sources(self) -> dict[str, str]:
        if self.recorded is not None:
            return dict(self.recorded["transform_sources"])
        return sources([self.transform] if self.transform else [])

    def record(self) -> dict[str, Any]:
        """The definition as plain data.

        What a run record keeps, with the fingerprints *scoring* and *reward*.
        """
        scoring = self._scoring_record()
        paying = {
            "weights": self.weights,
            "aggregation": self.aggregation,
            "on_missing": self.on_missing,
            "transform": describe(self.transform) if self.transform else None,
            "transform_sources": self._transform_sources(),
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


def fingerprint(content: Any) -> str:
    """Hash of plain data, the same on every machine."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]
