"""The definition of a reward: fields, components, gates and weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.errors import RewardError, did_you_mean, preview
from rewardkit.html.has_page import HasPage
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.weights import check_weights
from rewardkit.rewards.component import Call, Component, check_name, read_gate
from rewardkit.rewards.fingerprint import (
    ReadFrom,
    describe,
    fingerprint,
    sources,
    sources_seen,
)
from rewardkit.rollouts.columns import ALIASES, TASK_NAME

if TYPE_CHECKING:
    from rewardkit.html.pages import Page
    from rewardkit.scoring.evaluate import RewardResult

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]
Columns = Mapping[str, Sequence[Any]]

ROLLOUT = "rollout"
"""The column that is the whole row as a dict, unless the table has one so called."""
RECORD_VERSION = 2
"""Version of a definition in a run record: primitives have their public names."""
TRUTHS = (*ALIASES["ground_truth"], "label", "tests", "test_cases")
"""Columns of the ground truth; a function that reads one compares with it."""
NO_DATA = re.compile(
    r"^(prompt|completion|messages|rollout|data_source|step|policy|trainer_state)"
    r"|_ids?$|(^|_)(length|tokens?|logp\w*)(_|$)"
)
"""Names of columns that do not say what a completion has to do."""

MAY_SAY_RIGHT = re.compile("prompt|messages|rollout|data_source")
"""Columns of `NO_DATA` from which code may still derive the ground truth."""


@dataclass(frozen=True, eq=False)
class Reward(HasPage):
    """A definition: named fields, scored components, and how their scores add up.

    `fields` maps a name to an extractor or a function of earlier columns. A component
    may ask for the scores of `components` before it. `aggregation` and `on_missing` are
    as in `primitives.weights.aggregate`. A closed `gate` on the whole reward makes it
    0.0; components declared after the columns that the gate asks for are not run.
    `transform` comes last, over the rewards of a group. RewardError: no component, a
    duplicate name, a gate or argument that asks for a later or missing component,
    unknown options.

    >>> from rewardkit.primitives.verify import matches
    >>> correct = Component("correct", matches, columns={"prediction": "completion"})
    >>> reward = Reward("one", components=[correct])
    >>> reward(completion="Oslo.", ground_truth="oslo").reward
    1.0
    """

    name: str
    fields: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    components: Sequence[Component] = ()
    _: KW_ONLY
    aggregation: str = "weighted_sum"
    on_missing: str = "nan"
    gate: Gate | None = None
    transform: Callable[[Floats, Rows], Floats] | None = None
    origin: str = field(default="", repr=False)
    """How `load_reward` read a trainer's function; "" for a Reward."""
    recorded: Mapping[str, Any] | None = field(default=None, repr=False)
    """Source hashes of the run record it was read from; it then cannot be run."""
    read_from: ReadFrom | None = field(default=None, repr=False)
    """The files that `load_reward` read it from."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise RewardError(
                f"a reward needs a name, such as 'arithmetic-v1'; got {self.name!r}"
            )
        for problem in self._problems():
            raise RewardError(f"reward {self.name!r}{problem}")
        object.__setattr__(self, "fields", dict(self.fields))
        object.__setattr__(self, "components", tuple(self.components))
        sources_seen(self.functions)

    def _problems(self) -> Iterator[str]:
        """Yield each contradiction in the definition, as text to follow its name."""
        yield from self._type_problems()
        yield from self._name_problems()
        yield from self._order_problems()
        try:
            check_weights(
                np.array(list(self.weights.values())),
                aggregation=self.aggregation,
                on_missing=self.on_missing,
            )
        except ValueError as error:
            yield f": {error}"
        if self.transform is not None and not callable(self.transform):
            yield (
                f": transform={self.transform!r} is not a function of (rewards, groups)"
            )

    def _type_problems(self) -> Iterator[str]:
        if not isinstance(self.fields, Mapping):
            yield f": fields={self.fields!r} is not a dict of name: function"
        if not isinstance(self.components, Sequence):
            yield f": components={self.components!r} is not a list of components"
        if not self.components:
            yield " has no components; add rk.Component(name, function)"
        for item in self.components:
            if not isinstance(item, Component):
                yield (
                    f": {item!r} is not a component; wrap it in "
                    "rk.Component(name, function)"
                )

    def _name_problems(self) -> Iterator[str]:
        for name in self.fields:
            check_name(name, "field")
            if name in self.names:
                yield (
                    f": {name!r} is the name of a field and of a component; rename one"
                )
        for at, name in enumerate(self.names):
            if name in self.names[:at]:
                yield f": two components are called {name!r}; rename one"

    def _order_problems(self) -> Iterator[str]:
        order = [*self.fields, *self.names]
        for name, call in self.calls:
            later = order[order.index(name) :] if name else []
            for column in call.asks_for:
                if column in later:
                    yield (
                        f": {call.owner} asks for {column!r}, which is not declared "
                        "before it; move it up or ask for another"
                    )

    # --- parts of the definition

    @cached_property
    def field_calls(self) -> dict[str, Call]:
        """How each field is computed."""
        return {
            name: Call.of(function, f"field {name!r}")
            for name, function in self.fields.items()
        }

    @cached_property
    def gate_call(self) -> Call | None:
        """How the gate on the whole reward is called, or None."""
        return read_gate(self.gate, f"reward {self.name!r}")

    @cached_property
    def calls(self) -> list[tuple[str, Call]]:
        """Name and call of each field, component and gate; "" for the reward's gate."""
        steps = list(self.field_calls.items())
        for item in self.components:
            steps += [(item.name, call) for call in item.calls]
        if self.gate_call is not None:
            steps.append(("", self.gate_call))
        return steps

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components."""
        return tuple(item.name for item in self.components)

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each component; NaN where the branches of a route differ."""
        weights: dict[str, float] = {}
        for item in self.all_components:
            if weights.setdefault(item.name, float(item.weight)) != item.weight:
                weights[item.name] = np.nan
        return weights

    @property
    def task(self) -> tuple[str, ...]:
        """Names of the components that measure the task itself.

        The first rule that names any component decides:

        1. Components declared primary.
        2. Components of positive weight that read the ground truth.
        3. Components of positive weight that read a field made of the ground truth,
           unless all do: a field may be the whole reward.
        4. The heaviest components. Several are narrowed down to those that read data
           of the prompt, are no penalty, and have a name such as "accuracy", each time
           if there are any.
        """
        if self._named_task:
            return self._named_task
        heaviest = self._heaviest()
        items = [item for item in heaviest if not item.is_penalty] or heaviest
        names = tuple(item.name for item in items)
        return tuple(filter(TASK_NAME.fullmatch, names)) or names

    @property
    def task_is_known(self) -> bool:
        """Whether the task is declared, reads the truth, or is the one heaviest."""
        return bool(self._named_task) or len(self._heaviest()) == 1

    @property
    def is_blind(self) -> bool:
        """Whether no function can compare a completion with the ground truth.

        True if all columns that functions ask for by name are about completions. A
        function without named columns may read anything, so it makes this False.
        """
        for branch in self.branches:
            for _, call in branch.calls:
                if not call.asks_for:
                    return False
                for name in {*call.reads} - {*branch.fields, *branch.names}:
                    if not NO_DATA.search(name) or MAY_SAY_RIGHT.fullmatch(name):
                        return False
        return True

    @property
    def primary(self) -> str:
        """Name of the heaviest component of the task.

        Ties are broken by: no penalty, a name such as "accuracy", alphabetical order.
        The order of a trainer's functions says nothing.
        """
        task = self.task
        ranks = []
        for item in self.components:
            if item.name in task:
                is_other = TASK_NAME.fullmatch(item.name) is None
                rank = (-item.largest_weight, item.is_penalty, is_other, item.name)
                ranks.append(rank)
        return min(ranks)[-1]

    def _heaviest(self) -> list[Component]:
        """List the heaviest components; in a tie, only those that read data."""
        top = max(item.largest_weight for item in self.components)
        heaviest = [item for item in self.components if item.largest_weight == top]
        data_readers = []
        for item in heaviest:
            columns = {*item.call.reads} - {*self.fields, *self.names}
            if any(NO_DATA.search(name) is None for name in columns):
                data_readers.append(item)
        return data_readers or heaviest

    @property
    def _named_task(self) -> tuple[str, ...]:
        """Components declared primary, else paid ones that read the ground truth."""
        declared = [item.name for item in self.components if item.primary]
        if declared:
            return tuple(declared)
        truths = set(TRUTHS) - self.fields.keys()
        task = self._paid_readers_of(truths)
        if task:
            return task
        for name, call in self.field_calls.items():
            if not truths.isdisjoint(call.reads):
                truths.add(name)
        task = self._paid_readers_of(truths)
        paid_count = sum(item.largest_weight > 0 for item in self.components)
        return task if len(task) < paid_count else ()

    def _paid_readers_of(self, columns: set[str]) -> tuple[str, ...]:
        names = []
        for item in self.components:
            if item.largest_weight > 0 and not columns.isdisjoint(item.call.reads):
                names.append(item.name)
        return tuple(names)

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Names of the rollout columns that it asks for, in the order of its calls."""
        needs = dict.fromkeys(filter(None, [self.routed_by]))
        for branch in self.branches:
            for _, call in branch.calls:
                for name in call.asks_for:
                    if name not in branch.fields and name not in branch.names:
                        needs[name] = None
        return tuple(needs)

    @property
    def functions(self) -> list[Any]:
        """The functions and gates that decide its scores."""
        functions: list[Any] = []
        for branch in self.branches:
            functions += branch.fields.values()
            functions += [item.function for item in branch.components]
            gates = [item.gate for item in branch.components]
            functions += filter(None, [*gates, branch.gate])
        return functions

    @property
    def is_async(self) -> bool:
        """Whether a field or component has to be awaited."""
        for branch in self.branches:
            if any(call.is_async for _, call in branch.calls):
                return True
        return False

    @property
    def can_run(self) -> bool:
        """Whether it has functions to call; one read from a run record has none."""
        return all(branch.recorded is None for branch in self.branches)

    # --- branches: several in a route (see `rewards.route`), else the reward itself

    @property
    def routed_by(self) -> str:
        """The column whose value decides which reward a row gets; "" for no route."""
        return ""

    @property
    def branches(self) -> list[Reward]:
        """The rewards of a route, else the reward itself."""
        return [self]

    @property
    def all_components(self) -> list[Component]:
        """The components of all branches; a name may occur in several of them."""
        components: list[Component] = []
        for branch in self.branches:
            components += branch.components
        return components

    def parts(self, columns: Columns, rows: int) -> list[Part]:
        """Split `rows` rows by the reward that each gets.

        Only the routing column of `columns` is read. A row without a reward is in no
        part.
        """
        return [Part("", self, np.arange(rows))]

    def for_row(self, row: Mapping[str, Any]) -> Reward | None:
        """Return the reward that judges this row, None if a route has none for it."""
        parts = self.parts({name: [value] for name, value in row.items()}, 1)
        return parts[0].reward if parts else None

    def map(self, change: Callable[[Reward], Reward]) -> Reward:
        """Return a copy of the reward with `change` applied to each branch."""
        return change(self)

    # --- checks, changes and calls

    def check_columns(
        self, available: Sequence[str], sources: Mapping[str, str] | None = None
    ) -> None:
        """Raise a RewardError if a column that it asks for is missing or ambiguous.

        A column is ambiguous if it has the name of a field or component. `sources` maps
        columns to their names in the log, as `Rollouts.mapping` does.
        """
        for branch in self.branches:
            if self.routed_by:
                branch._check_column("the route", self.routed_by, available, sources)
            for _, call in branch.calls:
                for name in call.asks_for:
                    branch._check_column(call.owner, name, available, sources)

    def _check_column(
        self,
        owner: str,
        name: str,
        available: Sequence[str],
        sources: Mapping[str, str] | None,
    ) -> None:
        kinds = dict.fromkeys(self.fields, "field")
        kinds |= dict.fromkeys(self.names, "component")
        if name in kinds and name in available:
            raise RewardError(
                f"reward {self.name!r}: {name!r} is a {kinds[name]} and also a column "
                f"of the rollouts; rename the {kinds[name]}"
            )
        if name in (*available, *kinds, ROLLOUT):
            return
        for column, source in (sources or {}).items():
            if source == name and column in available:
                raise RewardError(
                    f"{owner} asks for {name!r}, and the log's {name!r} was read as "
                    f"{column!r}: ask for {column}"
                )
        note = f", and the reward defines {sorted(kinds)}" if kinds else ""
        hint = did_you_mean(name, sorted({*available, *kinds}))
        raise RewardError(
            f"{owner} asks for {name!r}; this table has {sorted(available)}{note}"
            f"{hint or '; add it, or map a column to it with columns=...'}"
        )

    def reweigh(self, weights: Mapping[str, float]) -> Reward:
        """Return a copy of the reward with these weights, in every branch of a route.

        RewardError: a weight for a component that it does not have.
        """
        for name in weights:
            self._check_component(name, "to weigh")

        def set_weight(item: Component) -> Component:
            if item.name not in weights:
                return item
            return replace(item, weight=weights[item.name], schedule=None)

        return self._map_components(set_weight)

    def at(self, step: float) -> Reward:
        """Return a copy of the reward with its weights at a step of the training."""
        return self._map_components(lambda item: item.at(step))

    @property
    def is_scheduled(self) -> bool:
        """Whether a weight depends on the step of the training."""
        return any(item.schedule is not None for item in self.all_components)

    def _map_components(self, change: Callable[[Component], Component]) -> Reward:
        """Return a copy of the reward with `change` applied to each component."""

        def change_all(branch: Reward) -> Reward:
            components = [change(item) for item in branch.components]
            return replace(branch, components=components)

        return self.map(change_all)

    def with_task(self, name: str) -> Reward:
        """Return a copy of the reward with this component as the task.

        In a route that holds for every branch. RewardError: no such component.
        """
        self._check_component(name, "that could be the task")
        return self._map_components(
            lambda item: replace(item, primary=item.name == name)
        )

    def _check_component(self, name: str, purpose: str) -> None:
        """Raise a RewardError if it has no component of this name."""
        if name not in self.names:
            raise RewardError(
                f"there is no component {name!r} {purpose}; reward {self.name!r} has "
                f"{list(self.names)}{did_you_mean(name, self.names)}"
            )

    def with_truth(self, column: str) -> Reward:
        """Return a copy of the reward whose task is the components reading this column.

        A branch that already names its task is left unchanged.
        """

        def name_task(branch: Reward) -> Reward:
            names = branch._paid_readers_of({column})
            if branch._named_task or not names:
                return branch
            return branch._map_components(
                lambda item: replace(item, primary=item.name in names)
            )

        return self.map(name_task)

    def __call__(self, /, **columns: Any) -> RewardResult:
        """Score one completion, given by its columns, before any transform.

        Group components abstain. RewardError: a column is missing.
        """
        # the one import from a room below: a definition that can be called
        from rewardkit.scoring.evaluate import result_of

        return result_of(self, columns)

    def page(self) -> Page:
        """Return the page of fields, components and options, by branch of a route."""
        from rewardkit.html import cards  # many rewards are never shown

        branches = [branch.page() for branch in self.branches if branch is not self]
        return cards.reward_page(self.record(), branches)

    # --- the record

    def record(self) -> dict[str, Any]:
        """Return the definition as plain data, for a run record.

        It contains the fingerprints *scoring* and *reward*.
        """
        gate = describe(self.gate) if self.gate else None
        transform = None if self.transform is None else describe(self.transform)
        hashes = self.recorded or {
            "sources": sources(self.functions),
            "transform_sources": sources(filter(None, [self.transform])),
        }
        scored = [item.scoring_record() for item in self.components]
        components = []
        for item, record in zip(self.components, scored, strict=True):
            components.append(record | item.paying_record())
        scoring = {
            "fields": {name: describe(self.fields[name]) for name in self.fields},
            "components": scored,
            "gate": gate,
            "sources": hashes["sources"],
        }
        paying = {
            "weights": self.weights,
            "aggregation": self.aggregation,
            "on_missing": self.on_missing,
            "transform": transform,
            "transform_sources": hashes["transform_sources"],
        }
        if self.is_scheduled:
            paying["schedules"] = {
                item.name: repr(item.schedule)
                for item in self.components
                if item.schedule is not None
            }
        return {
            "version": RECORD_VERSION,
            "name": self.name,
            "origin": self.origin,
            **scoring,
            **paying,
            "components": components,
            "fingerprints": {
                "scoring": fingerprint(scoring),
                "reward": fingerprint({**scoring, **paying}),
            },
        }


@dataclass(frozen=True)
class Part:
    """A reward without a route, and the rows that it judges.

    `label` is the value of the routing column, "default" for the rows of the default
    reward, "" without a route.
    """

    label: str
    reward: Reward
    rows: Rows


def check_reward(reward: Any, verb: str) -> None:
    """Raise a RewardError unless `reward` is a Reward; `verb` is the caller's name."""
    if not isinstance(reward, Reward):
        raise RewardError(
            f"{verb} takes a Reward, not {preview(reward)}; load or make one first"
        )
