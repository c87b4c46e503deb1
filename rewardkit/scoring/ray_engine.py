"""Ray: call one function on the nodes of a cluster.

A call is a plain task that another process repeats if its own is lost. Tasks score
parts of a large log (`part_engines.py`) or call users' code (`ray_calls.py`).
`README.md` says why they are not tasks of Ray Data.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import sysconfig
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.errors import InputError, RewardError, preview
from rewardkit.plain import Record
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.ray_models import (
    is_running,
    set_model_process,
    start_model_process,
)
from rewardkit.scoring.scores import versions
from rewardkit.workers.pool import (
    CannotSend,
    Lost,
    pack_function,
    pickled,
    unpack_answer,
)
from rewardkit.workers.worker import answer_call, load_function

CONNECT_SECONDS = 30.0
"""Seconds for a cluster to answer. Our choice: Ray itself waits for minutes."""

NODE_SECONDS = 180.0
"""Seconds for a node to start a process. Our choice: far above usual, as Ray's
processes have low priority on a busy node."""

MOST_LOSSES = 4
"""Most retries of a lost task. Our choice."""

TASKS_PER_CPU = 2
"""Submitted tasks per CPU: one that runs, and one that waits for it to end."""

CONNECT = """
import ray, sys
ray.init(sys.argv[1], log_to_driver=False)
print(ray.get_runtime_context().gcs_address)
"""


@dataclass(frozen=True)
class Ray:
    """A Ray cluster for the parts of a log (`score`) or for calls (`probe`, `mutants`).

    Each node needs this process's versions of rewardkit and of the libraries that
    affect scores, but not the reward's own code. The log and the folder of its scores
    are on a disk that all nodes share under the same path.

    Args:
        address: Address of the cluster's head, such as "10.0.0.1:6379". None: the
            cluster that this process is connected to, else the one of ``RAY_ADDRESS``,
            else one that runs on this machine ("auto"), else a temporary one ("local").
    """

    address: str | None = None

    @contextmanager
    def connected(
        self,
        function: Callable[..., Any],
        reward: Reward,
        *,
        places: Mapping[str, str] | None = None,
        has_judges: bool = False,
    ) -> Iterator[Cluster]:
        """Connect, and check that each node can call a function that runs a reward.

        Args:
            function: The function to call. Its keyword `is_limited` tells whether a
                process ended in the same call before.
            reward: The reward.
            places: Paths that each node must see -> their names in errors.
            has_judges: Whether judges are called there, too.

        Raises:
            ModuleNotFoundError: Ray is not installed.
            InputError: The cluster does not exist, or a node lacks something.
            RewardError: The reward cannot be called there.
        """
        if find_spec("ray") is None:
            raise ModuleNotFoundError(
                "a Ray cluster needs ray, of the extra 'ray': pip install "
                "'reward-workbench[ray]'",
                name="ray",
            )
        import ray  # slow to import

        try:
            content, files = pack_for_nodes(function)
        except CannotSend as error:
            raise RewardError(
                f"reward {reward.name!r} cannot be scored on Ray: {error}; make what "
                "its functions hold open (a client, a lock, a file) inside the call"
            ) from error
        is_connected = ray.is_initialized()
        if is_connected:
            self._check_connection(ray)
        else:
            self._connect(ray)
        models = None
        try:
            if has_judges:
                models = start_model_process(ray, reward.functions)
            # Ray does not resolve a reference in a list; a process reads it once
            reference = [ray.put((content, files, os.getcwd(), models))]
            key = hashlib.sha256(content + repr(models).encode()).hexdigest()
            _check_nodes(ray, reward, places or {}, (reference, key))
            task = ray.remote(_call).options(num_cpus=1, max_retries=0)
            yield Cluster(ray, (reference, key), models, task)
        finally:
            if models is not None:
                ray.kill(models)
            if not is_connected:
                ray.shutdown()

    def _check_connection(self, ray: ModuleType) -> None:
        """Raise an InputError if this process is connected to another cluster."""
        connected = ray.get_runtime_context().gcs_address
        if self.address not in (None, "auto", connected):
            raise InputError(
                f"this process is connected to Ray at {connected}, not at "
                f"{self.address!r}; call ray.shutdown() first"
            )

    def _connect(self, ray: ModuleType) -> None:
        """Connect this process, and restore the signal handler that Ray replaces."""
        address = self.address or os.environ.get("RAY_ADDRESS")
        if address != "local":
            try:
                address = _find_cluster(address or "auto")
            except InputError:
                if address is not None:
                    raise
                address = "local"
                # a cluster that starts here would report usage statistics
                os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        before = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(address, log_to_driver=False, logging_level="CRITICAL")
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise InputError(
                f"Ray cannot connect to {address!r}: {_first_line(error)}"
            ) from error
        with suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGTERM, before)


def check_engine(engine: Any) -> None:
    """Raise a RewardError if an engine is not a `Ray`."""
    if not isinstance(engine, Ray):
        raise RewardError(
            f"engine={preview(engine)} is no engine; give rk.Ray(), or None"
        )


def _find_cluster(address: str) -> str:
    """Return the address of a cluster; InputError: it cannot be connected to.

    A separate process tries it, as Ray waits for minutes and then ends its process.
    "auto" is resolved to an address, as nodes do not find every object of a driver that
    connected to "auto".
    """
    words = [sys.executable, "-c", CONNECT, address]
    try:
        process = subprocess.run(
            words, timeout=CONNECT_SECONDS, check=True, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"no Ray cluster answers at {address!r} within {CONNECT_SECONDS:g} s; give "
            "the address of its head, such as 10.0.0.1:6379"
        ) from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or ["it says nothing"]
        raise InputError(f"Ray cannot connect to {address!r}: {lines[-1]}") from None
    return process.stdout.split()[-1] if address == "auto" else address


def _first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


# --- what nodes need

PackedFunction = tuple[bytes, list[tuple[str, str, bytes]]]
"""A pickled function, with the modules that were run from files."""


def pack_for_nodes(function: Callable[..., Any]) -> PackedFunction:
    """Pack a function for the nodes; CannotSend: it cannot be pickled."""
    try:
        return pack_function(function, _is_installed)
    except CannotSend:  # such as a module with a lock, which nodes may have
        return pack_function(function)


def _is_installed(module: ModuleType) -> bool:
    """Return whether a module is part of Python, rewardkit, or a pip package."""
    name = module.__name__.partition(".")[0]
    path = Path(str(module.__file__))
    places = [sysconfig.get_paths()[place] for place in ("stdlib", "purelib")]
    return name == "rewardkit" or any(path.is_relative_to(place) for place in places)


JobReference = tuple[list[Any], str]
"""A list of the reference to a packed job, and its hash.

The job is a `PackedFunction`, the working folder, and the process that asks models.
"""

_CALLS: dict[str, Callable[..., Any]] = {}
"""The function that this process of a node calls, by its hash."""


def load_call(job: JobReference) -> Callable[..., Any]:
    """Load the function of a job in a process of a node."""
    (reference,), key = job
    if key not in _CALLS:
        import ray

        content, files, folder, models = ray.get(reference)
        with suppress(OSError):  # a reward may read files of the working folder
            os.chdir(folder)
        _CALLS.clear()
        _CALLS[key] = load_function(content, files)
        set_model_process(ray, models)
    return _CALLS[key]


def _check_nodes(
    ray: ModuleType, reward: Reward, places: Mapping[str, str], job: JobReference
) -> None:
    """Check that each node with a CPU can make the calls; skip nodes that die.

    Raises:
        InputError: A node lacks versions, the log or the folder, or starts no process.
        RewardError: The reward cannot be loaded on a node.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    inspect = ray.remote(_node_inspector())
    tasks = {}
    for node in ray.nodes():
        if not node["Alive"] or not node["Resources"].get("CPU"):
            continue
        strategy = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": strategy}
        task = inspect.options(**options).remote(places, job)
        tasks[task] = f"the node {node['NodeManagerAddress']} of the Ray cluster"
    _, late = ray.wait(list(tasks), num_returns=len(tasks), timeout=NODE_SECONDS)
    is_ready = False
    for task, name in tasks.items():
        if task in late:
            raise InputError(f"{name} starts no process in {NODE_SECONDS:g} s")
        with suppress(*_lost(ray)):
            _check_report(name, reward, ray.get(task))
            is_ready = True
    if not is_ready:
        raise InputError("the Ray cluster has no node with a CPU; add one")


def _lost(ray: ModuleType) -> tuple[type[Exception], ...]:
    """Return the exceptions of a task whose node or process is lost."""
    errors = ray.exceptions
    return (
        errors.NodeDiedError,
        errors.ObjectLostError,
        errors.OutOfMemoryError,
        errors.TaskUnschedulableError,
        errors.WorkerCrashedError,
    )


def _check_report(name: str, reward: Reward, report: Record) -> None:
    """Raise an error if a report of `_node_inspector` shows that a node is unfit."""
    _check_versions(name, report["versions"])
    for place in report["missing"]:
        raise InputError(
            f"{name} does not see {place!r}; put the log and the output folder on a "
            "disk that all nodes share"
        )
    if report["refusal"]:
        raise RewardError(
            f"reward {reward.name!r} cannot be loaded on {name}: "
            f"{report['refusal']}; install there what it imports, or call "
            "ray.init(runtime_env={'working_dir': '.'}) first"
        )


def _node_inspector() -> Callable[..., Record]:
    """Return a function that reports the state of a node that may lack rewardkit."""

    def inspect(places: Mapping[str, str], job: Any) -> Record:
        import os

        missing = [places[path] for path in places if not os.path.exists(path)]
        report: Record = {"versions": {}, "refusal": "", "missing": missing}
        try:
            from rewardkit.scoring.ray_engine import load_call
            from rewardkit.scoring.scores import versions
        except ImportError:
            return report
        report["versions"] = versions()
        try:
            load_call(job)
        except Exception as error:
            report["refusal"] = f"{type(error).__name__}: {error}"
        return report

    return inspect


def _check_versions(node: str, node_versions: dict[str, str]) -> None:
    """Raise an InputError if the versions of a node differ from this process's."""
    if not node_versions:
        raise InputError(
            f"{node} has no rewardkit, or one that knows no Ray; install "
            f"reward-workbench=={versions()['reward-workbench']} on all nodes"
        )
    for name, here in versions().items():
        if node_versions.get(name) != here:
            raise InputError(
                f"{node} has {name} {node_versions.get(name)}, and this process "
                f"{here}; install the same version on all nodes"
            )


# --- calls


@dataclass(frozen=True)
class Cluster:
    """A cluster whose nodes can call one function.

    `models` is the process that asks models, if any. `task` is the remote function.
    """

    ray: ModuleType
    job: JobReference
    models: Any
    task: Any

    @property
    def processors(self) -> int:
        """Return the current number of CPUs of all nodes."""
        return int(self.ray.cluster_resources().get("CPU", 0))

    def map(
        self, waiting: deque[tuple[int, Any]], *shared: Any
    ) -> Generator[tuple[int, Any]]:
        """Make calls; yield the place and value of each in the order they end.

        A lost call is repeated by another process, which learns whether a process ended
        in the call.

        Args:
            waiting: Place and arguments of each call. Calls are taken from the front,
                and the caller may add further ones there.
            *shared: References to arguments that precede those of every call.

        Raises:
            InputError: The cluster has no CPUs or too little memory left.
        """
        ray, lost = self.ray, _lost(self.ray)
        running: dict[Any, tuple[int, Any]] = {}
        losses: Counter[int] = Counter()
        crashed: set[int] = set()
        try:
            while waiting or running:
                processors = self.processors
                while waiting and len(running) < max(1, TASKS_PER_CPU * processors):
                    place, arguments = waiting.popleft()
                    task = self.task.remote(
                        self.job, pickled(arguments), place in crashed, *shared
                    )
                    running[task] = place, arguments
                finished, _ = ray.wait(list(running), timeout=NODE_SECONDS)
                if not finished and not processors:
                    raise InputError(
                        "the Ray cluster has lost its last node with a CPU; call again "
                        "once there is another (parts that are written stay)"
                    )
                for task in finished:
                    place, arguments = running.pop(task)
                    try:
                        value = unpack_answer(*ray.get(task))
                    except lost as error:
                        losses[place] += 1
                        self._check_loss(place, losses[place], error)
                        if isinstance(error, ray.exceptions.WorkerCrashedError):
                            crashed.add(place)
                        waiting.appendleft((place, arguments))
                        continue
                    if isinstance(value, Lost):
                        raise value.error
                    yield place, value
        finally:
            # a task that is still running must not write into a folder later
            for task in running:
                ray.cancel(task)
            ray.wait(list(running), num_returns=len(running), timeout=CONNECT_SECONDS)

    def _check_loss(self, place: int, losses: int, error: Exception) -> None:
        """Raise an InputError if repeating a lost call is useless."""
        if self.models is not None and not is_running(self.ray, self.models):
            raise InputError(
                "the process that asks models has ended; the same call goes on, and "
                "counts budgets anew"
            ) from error
        if losses > MOST_LOSSES:
            raise InputError(
                f"task {place} was lost {losses} times, at last as: "
                f"{_first_line(error)}; call again with nodes of more memory, or "
                "smaller parts of a log"
            ) from error


def _call(
    job: JobReference, arguments: bytes, is_limited: bool, *shared: Any
) -> tuple[str, bytes]:
    """Make a call in a process of a node; return the packed answer."""
    call = partial(load_call(job), *shared, is_limited=is_limited)
    return answer_call(call, arguments)
