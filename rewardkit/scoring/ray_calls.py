"""Call users' functions on the nodes of a Ray cluster, for `probe` and `mutants`.

Each process of a node has a worker process of its own, which can be killed.
"""

from __future__ import annotations

import math
import pickle
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from rewardkit.rewards.reward import Reward
from rewardkit.scoring.deadlines import WorkersMaker
from rewardkit.scoring.ray_engine import (
    TASKS_PER_CPU,
    Cluster,
    PackedFunction,
    Ray,
    check_engine,
    pack_for_nodes,
)
from rewardkit.workers.pool import CHUNK, CannotSend, Lost, Workers, pickled
from rewardkit.workers.worker import load_function

TASK_SECONDS = 1.0
"""Seconds after which a task ends, so that budgets hold. Our choice."""


@contextmanager
def workers_on(engine: Ray | None, reward: Reward) -> Iterator[WorkersMaker]:
    """Yield a maker of workers for a time limit: on a cluster, or local without one.

    For errors see `Ray.connected`.
    """
    if engine is None:
        yield Workers
        return
    check_engine(engine)
    with engine.connected(NodeCaller(reward), reward) as cluster:
        yield partial(NodeWorkers, cluster)


class NodeWorkers(Workers):
    """Workers on the nodes of a cluster."""

    def __init__(self, cluster: Cluster, *, seconds: float, count: int) -> None:
        super().__init__(seconds=seconds, count=max(1, cluster.processors))
        self._cluster = cluster
        self._references: dict[int, tuple[Callable[..., Any], Any]] = {}
        self.close()

    def close(self) -> None:
        """Make the nodes replace their processes before the next call."""
        self._generation = secrets.token_hex(8)

    def map(
        self,
        function: Callable[..., Any],
        calls: Sequence[Sequence[Any]],
        *,
        chunk: int = CHUNK,
        extra: float = 0,
    ) -> Iterator[tuple[int, Any]]:
        """Yield the place of each call and its value, or `Lost`, see `Workers.map`.

        The order is that of the calls, whichever node is first. A task ends after a
        lost call; a new task makes the remaining calls.
        """
        key = id(function)
        if key not in self._references:
            packed_function = self._cluster.ray.put(pack_for_nodes(function))
            self._references[key] = function, packed_function
        _, reference = self._references[key]
        packed: dict[int, bytes] = {}
        values: dict[int, Any] = {}  # of calls after one that is not finished
        for place, arguments in enumerate(calls):
            try:
                packed[place] = pickled(tuple(arguments), "an argument")
            except CannotSend as error:
                values[place] = Lost(error)

        def as_task(places: Sequence[int]) -> tuple[int, Any]:
            arguments = [packed[place] for place in places]
            return places[0], (self._generation, key, self.seconds, extra, arguments)

        order = list(packed)
        share = math.ceil(len(order) / (TASKS_PER_CPU * self.count))
        size = max(1, min(chunk, share))
        pieces: dict[int, list[int]] = {}
        for start in range(0, len(order), size):
            pieces[order[start]] = order[start : start + size]
        waiting = deque(map(as_task, pieces.values()))
        next_place = 0
        for first, answers in self._cluster.map(waiting, reference):
            piece = pieces[first]
            values.update(zip(piece, answers, strict=False))
            remaining = piece[len(answers) :]
            if remaining:
                pieces[remaining[0]] = remaining
                waiting.appendleft(as_task(remaining))
            while next_place in values:
                yield next_place, values.pop(next_place)
                next_place += 1
        yield from values.items()


class NodeCaller:
    """A caller of users' functions on a node, with a worker that can be killed.

    It holds the reward, so that a node that cannot load it fails before any call.
    """

    def __init__(self, reward: Reward) -> None:
        self._reward = reward
        self._generation = ""
        self._workers: Workers | None = None
        self._functions: dict[int, Any] = {}

    def __call__(
        self,
        packed: PackedFunction,
        generation: str,
        key: int,
        seconds: float,
        extra: float,
        calls: Sequence[bytes],
        *,
        is_limited: bool = False,
    ) -> list[Any]:
        """Return the values of the first calls, up to a lost one or `TASK_SECONDS`.

        `is_limited` changes nothing, as all calls can be killed.
        """
        if self._workers is None or generation != self._generation:
            if self._workers is not None:
                self._workers.close()
            self._workers = Workers(seconds=seconds)
            self._generation, self._functions = generation, {}
        self._workers.seconds = seconds
        function = self._functions.setdefault(key, _Packed(packed))
        ends = time.monotonic() + TASK_SECONDS
        answers: list[Any] = []
        for arguments in calls:
            call = [pickle.loads(arguments)]
            for _, answer in self._workers.map(function, call, extra=extra):
                answers.append(answer)
            if isinstance(answers[-1], Lost) or time.monotonic() > ends:
                break
        return answers


class _Packed:
    """A packed function that unpickles as the function itself."""

    def __init__(self, packed: PackedFunction) -> None:
        self._packed = packed

    def __reduce__(self) -> tuple[Any, ...]:
        return load_function, self._packed
