"""Ray: the parts of a large log, scored on the nodes of a cluster.

A part is a plain task. Its file has the same name and bytes wherever it is written, so
that a part which a lost node had open is given to another node, and a scoring that was
interrupted here goes on there. `README.md` says why these are not tasks of Ray Data.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import signal
import subprocess
import sys
import sysconfig
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.errors import InputError, RewardError
from rewardkit.plain import Record
from rewardkit.rollouts.large_file import LargeFile
from rewardkit.scoring.part_engines import NumberedPart, PartCall, PartEngine
from rewardkit.scoring.part_job import PartJob, WrittenPart
from rewardkit.scoring.ray_models import (
    ask_through,
    is_running,
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
"""Seconds for a node to start a process. Our choice: far above usual, as a process of
Ray gives way to all others of a busy node."""

MOST_LOSSES = 4
"""Times that a part is given to another process. Our choice."""

TASKS_PER_CPU = 2
"""Tasks under way: one that runs, and one that is there when it ends."""

CONNECT = """
import ray, sys
ray.init(sys.argv[1], log_to_driver=False)
print(ray.get_runtime_context().gcs_address)
"""


@dataclass(frozen=True)
class Ray:
    """A Ray cluster that scores the parts of a log, see `score`.

    The log and the folder for its scores stand on a disk that all nodes see under the
    same path, and each node has the versions of this process of rewardkit and of what
    decides scores. A reward's own code need not be there.

    Args:
        address: that of the cluster's head, such as "10.0.0.1:6379". None: the cluster
            that this process is connected to, else the one of ``RAY_ADDRESS``, else the
            one that runs on this machine, else one that ends with the scoring. "auto"
            and "local" are the last two.
    """

    address: str | None = None

    @contextmanager
    def connected(self, job: PartJob, file: LargeFile) -> Iterator[PartEngine]:
        """Connect, and see that each node can score parts of a log with this file.

        Raises:
            ModuleNotFoundError: Ray is not installed.
            InputError: there is no such cluster; a node does not do.
            RewardError: the reward cannot be scored there.
        """
        if find_spec("ray") is None:
            raise ModuleNotFoundError(
                "scoring on a cluster needs ray, of the extra 'ray': pip install "
                "'reward-workbench[ray]'",
                name="ray",
            )
        import ray  # slow to import

        content, files = _pack(job)
        is_connected = ray.is_initialized()
        if is_connected:
            self._check_connection(ray)
        else:
            self._connect(ray)
        models = None
        try:
            models = start_model_process(ray, job.reward.functions)
            # in a list it stays a reference, which a process reads once
            reference = [ray.put((content, files, os.getcwd(), models))]
            key = hashlib.sha256(content + repr(models).encode()).hexdigest()
            _check_nodes(ray, job, file, (reference, key))
            yield partial(_write_parts, ray, job, (reference, key), models)
        finally:
            if models is not None:
                ray.kill(models)
            if not is_connected:
                ray.shutdown()

    def _check_connection(self, ray: ModuleType) -> None:
        """Raise an InputError where this process is connected to another cluster."""
        connected = ray.get_runtime_context().gcs_address
        if self.address not in (None, "auto", connected):
            raise InputError(
                f"this process is connected to Ray at {connected}, not at "
                f"{self.address!r}; call ray.shutdown() first"
            )

    def _connect(self, ray: ModuleType) -> None:
        """Connect this process; Ray's own handlers of signals are put back."""
        address = self.address or os.environ.get("RAY_ADDRESS")
        if address != "local":
            try:
                address = _find_cluster(address or "auto")
            except InputError:
                if address is not None:
                    raise
                address = "local"
                # Ray would tell its makers of a cluster that starts here
                os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        before = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(address, log_to_driver=False, logging_level="CRITICAL")
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise InputError(
                f"Ray cannot connect to {address!r}: {_first_line(error)}"
            ) from error
        with suppress(ValueError):  # another thread than the main one
            signal.signal(signal.SIGTERM, before)


def _find_cluster(address: str) -> str:
    """Return the address of a cluster; InputError: no process can connect to it.

    Another process tries, as Ray waits for minutes, and ends one that has no answer.
    "auto" is made an address, as nodes do not find all that a driver on "auto" holds.
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
    """Return the first line of an error, or its kind."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


# --- what nodes need

PackedFunction = tuple[bytes, list[tuple[str, str, bytes]]]
"""A function, and the modules that were run from files."""


def _pack(job: PartJob) -> PackedFunction:
    """Pack what scores parts for the nodes; RewardError: it cannot be sent."""
    name = job.reward.name
    call = PartCall(replace(job, folder=job.folder.absolute()))
    try:
        try:
            return pack_function(call, _is_installed)
        except CannotSend:  # a module that holds a lock, and that nodes may have
            return pack_function(call)
    except CannotSend as error:
        raise RewardError(
            f"reward {name!r} cannot be scored on Ray: {error}; make what its "
            "functions hold open (a client, a lock, a file) inside the call"
        ) from error


def _is_installed(module: ModuleType) -> bool:
    """Return whether a module is of Python, of rewardkit, or of what pip installs."""
    name = module.__name__.partition(".")[0]
    path = Path(str(module.__file__))
    places = [sysconfig.get_paths()[place] for place in ("stdlib", "purelib")]
    return name == "rewardkit" or any(path.is_relative_to(place) for place in places)


JobReference = tuple[list[Any], str]
"""A list of the reference to a packed job, and its hash.

The job is a `PackedFunction`, the working folder, and the process that asks models.
"""

_CALLS: dict[str, Callable[..., WrittenPart]] = {}
"""What this process of a node scores parts by, by its hash."""


def load_call(job: JobReference) -> Callable[..., WrittenPart]:
    """Return what scores parts, in a process of a node."""
    (reference,), key = job
    if key not in _CALLS:
        import ray

        content, files, folder, models = ray.get(reference)
        with suppress(OSError):  # a reward may read files beside it, where they are
            os.chdir(folder)
        _CALLS.clear()
        _CALLS[key] = load_function(content, files)
        ask_through(ray, models)
    return _CALLS[key]


def _check_nodes(
    ray: ModuleType, job: PartJob, file: LargeFile, packed: JobReference
) -> None:
    """Raise an InputError where a node lacks something, a RewardError for the reward.

    Nodes without a processor get no parts, and one that is lost meanwhile neither.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    path = file.piece.path.absolute()
    folder = job.folder.absolute()
    mark = folder / f".seen-{secrets.token_hex(6)}"
    look = ray.remote(_make_look())
    tasks = {}
    mark.touch()
    try:
        for node in ray.nodes():
            if not node["Alive"] or not node["Resources"].get("CPU"):
                continue
            strategy = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": strategy}
            task = look.options(**options).remote(str(mark), str(path), packed)
            tasks[task] = f"the node {node['NodeManagerAddress']} of the Ray cluster"
        _, late = ray.wait(list(tasks), num_returns=len(tasks), timeout=NODE_SECONDS)
        is_ready = False
        for task, name in tasks.items():
            if task in late:
                raise InputError(f"{name} starts no process in {NODE_SECONDS:g} s")
            with suppress(*_lost(ray)):
                _check_sight(name, job, path, ray.get(task))
                is_ready = True
    finally:
        mark.unlink(missing_ok=True)
    if not is_ready:
        raise InputError("the Ray cluster has no node with a CPU; add one")


def _lost(ray: ModuleType) -> tuple[type[Exception], ...]:
    """Return the errors of a task whose node or process is gone."""
    errors = ray.exceptions
    return (
        errors.NodeDiedError,
        errors.ObjectLostError,
        errors.OutOfMemoryError,
        errors.TaskUnschedulableError,
        errors.WorkerCrashedError,
    )


def _check_sight(name: str, job: PartJob, path: Path, sight: Record) -> None:
    """Raise where a node of this name does not see what it needs; see `_make_look`."""
    _check_versions(name, sight["versions"])
    for place, is_there in ((job.folder, sight["mark"]), (path, sight["file"])):
        if not is_there:
            raise InputError(
                f"{name} does not see {str(place)!r}; put the log and the output "
                "folder on a disk that all nodes share"
            )
    if sight["refusal"]:
        raise RewardError(
            f"reward {job.reward.name!r} cannot be loaded on {name}: "
            f"{sight['refusal']}; install there what it imports, or call "
            "ray.init(runtime_env={'working_dir': '.'}) first"
        )


def _make_look() -> Callable[..., Record]:
    """Return what looks about on a node, where there may be no rewardkit."""

    def look(mark: str, file: str, job: Any) -> Record:
        from pathlib import Path

        sight: Record = {"versions": {}, "refusal": ""}
        sight |= {"mark": Path(mark).exists(), "file": Path(file).exists()}
        try:
            from rewardkit.scoring.ray_engine import load_call
            from rewardkit.scoring.scores import versions
        except ImportError:
            return sight
        sight["versions"] = versions()
        try:
            load_call(job)
        except Exception as error:
            sight["refusal"] = f"{type(error).__name__}: {error}"
        return sight

    return look


def _check_versions(node: str, node_versions: dict[str, str]) -> None:
    """Raise an InputError where a node has other versions than this process."""
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


# --- parts


def _write_parts(
    ray: ModuleType,
    job: PartJob,
    packed: JobReference,
    models: Any,
    parts: Sequence[NumberedPart],
) -> Iterator[WrittenPart]:
    """Score and write parts on the nodes, and yield each once it is written.

    A part that was lost is scored again, by another process; where a process ended,
    call by call, so that the row that ended it is an error.
    """
    score_part = ray.remote(_score_part)
    lost = _lost(ray)
    waiting = deque((number, part, 0, False) for number, part in parts)
    running: dict[Any, tuple[int, Any, int, bool]] = {}
    try:
        while waiting or running:
            processors = int(ray.cluster_resources().get("CPU", 0))
            while waiting and len(running) < max(1, TASKS_PER_CPU * processors):
                number, part, losses, is_limited = waiting.popleft()
                arguments = pickled((number, _absolute(part)))
                task = score_part.options(num_cpus=1, max_retries=0).remote(
                    packed, arguments, is_limited
                )
                running[task] = number, part, losses, is_limited
            finished, _ = ray.wait(list(running), timeout=NODE_SECONDS)
            if not finished and not processors:
                raise InputError(
                    "the Ray cluster has lost its last node with a CPU; the same call "
                    "goes on, once there is another"
                )
            for task in finished:
                number, part, losses, is_limited = running.pop(task)
                try:
                    written = unpack_answer(*ray.get(task))
                except lost as error:
                    if models is not None and not is_running(ray, models):
                        raise InputError(
                            "the process that asks models has ended; the same call "
                            "goes on, and counts budgets anew"
                        ) from error
                    if losses == MOST_LOSSES:
                        raise InputError(
                            f"part {number} was lost {losses + 1} times, at last as: "
                            f"{_first_line(error)}; the same call goes on, with "
                            "nodes of more memory or a smaller memory="
                        ) from error
                    is_limited |= isinstance(error, ray.exceptions.WorkerCrashedError)
                    waiting.appendleft((number, part, losses + 1, is_limited))
                    continue
                if isinstance(written, Lost):
                    raise written.error
                yield written
    finally:
        # none of them may write into the folder later on
        for task in running:
            ray.cancel(task)
        ray.wait(list(running), num_returns=len(running), timeout=CONNECT_SECONDS)


def _absolute(part: Any) -> Any:
    """Return a part with whole paths, as a node works in another folder."""
    return tuple(piece._replace(path=piece.path.absolute()) for piece in part)


def _score_part(
    job: JobReference, arguments: bytes, is_limited: bool
) -> tuple[str, bytes]:
    """Score and write a part, in a process of a node."""
    return answer_call(partial(load_call(job), is_limited=is_limited), arguments)
