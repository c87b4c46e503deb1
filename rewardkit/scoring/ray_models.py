"""Ask models on a Ray cluster from one process for all nodes.

So the limits of a judge (concurrency, rate, budget, the deadline of a run) span all
nodes, which share one cache of answers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from rewardkit.scoring.calls import set_model_asker


class ModelProcess:
    """An actor that asks models, with the folder and environment of the driver."""

    def __init__(self, folder: str, environment: Mapping[str, str]) -> None:
        os.chdir(folder)
        for name, value in environment.items():
            if not name.startswith("RAY_"):
                os.environ[name] = value
        self._begun: set[Any] = set()

    async def answers(self, judge: Any, requests: Sequence[Any]) -> list[Any]:
        """Return the answers to the requests of a judge on a node, in order."""
        session = judge.session
        if session not in self._begun:
            self._begun.add(session)
            judge.prepare()
        answers: list[Any] = await judge.answers(requests)
        return answers

    def is_there(self) -> bool:
        """Return True; Ray raises an error if this process cannot be called."""
        return True


def start_model_process(ray: ModuleType, functions: Sequence[Any]) -> Any:
    """Start the process that asks models on this node; None if no function does."""
    if not any(hasattr(function, "limits") for function in functions):
        return None
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    node = ray.get_runtime_context().get_node_id()
    strategy = NodeAffinitySchedulingStrategy(node, soft=True)
    actor = ray.remote(ModelProcess).options(
        num_cpus=0, max_restarts=0, scheduling_strategy=strategy
    )
    return actor.remote(os.getcwd(), dict(os.environ))


def set_model_process(ray: ModuleType, models: Any) -> None:
    """Send requests of this process's judges through `models`, if any."""
    if models is None:
        set_model_asker(None)
        return

    async def answers(judge: Any, requests: Sequence[Any]) -> list[Any]:
        try:
            results: list[Any] = await models.answers.remote(judge, requests)
        except ray.exceptions.RayActorError:
            os._exit(1)  # else rows would be written with an error that is not theirs
        return results

    set_model_asker(answers)


def is_running(ray: ModuleType, models: Any) -> bool:
    """Return whether the process that asks models is still running."""
    try:
        return bool(ray.get(models.is_there.remote()))
    except ray.exceptions.RayActorError:
        return False
