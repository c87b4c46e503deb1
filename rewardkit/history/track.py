"""track(): put a kept run into an experiment tracker: MLflow, trackio or W&B.

None of them is needed to keep runs; each is imported when it is named.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from rewardkit.errors import InputError, did_you_mean, error_text, preview
from rewardkit.history.run import Run
from rewardkit.history.runs_folder import LABEL
from rewardkit.history.versions import write_files
from rewardkit.plain import Plain, PlainRecord, Record

RUN_TAG = "rewardkit.run"
"""The tag by which MLflow finds a run that it has already."""


FURTHER = re.compile(r"\.\s|\n| with exception | \(Caused by ")
"""What ends the first sentence of an error; behind it other libraries speak."""


@dataclass(frozen=True)
class Tracked(PlainRecord):
    """What a tracker is told of a kept run.

    Attributes:
        tracker: Its name, such as "mlflow".
        project: The project, or experiment, in it.
        name: The version, such as "v3".
        key: The name of the run's folder, the same however often it is exported.
        note: What was tried.
        tags: Its tags.
        params: What it is: reward, version, parent, data, rows, weights.
        metrics: Its figures; those that nobody measured are left out.
        source: The files of the definition, by name.
    """

    IN_RECORD = ("tracker", "project", "name", "note", "tags", "params", "metrics")

    tracker: str
    project: str
    name: str
    key: str
    note: str
    tags: tuple[str, ...]
    params: Plain
    metrics: Mapping[str, float]
    source: Mapping[str, bytes] = field(repr=False)


def track(run: Run, to: str, *, project: str = "") -> Tracked:
    """Put a kept run into an experiment tracker, as one run there.

    It goes where the tracker's own settings say (``MLFLOW_TRACKING_URI``,
    ``WANDB_MODE``, ``TRACKIO_DIR`` ...). The source of the definition is an artifact. A
    run that is exported again is the same run there.

    Args:
        run: The run, as `rk.runs` has it.
        to: "mlflow", "trackio" or "wandb".
        project: The project, or experiment, in it; by default the name of the reward.

    Returns:
        What the tracker was told.

    Raises:
        InputError: Another tracker, one that is not installed, or one that did not take
            the run.
    """
    if not isinstance(run, Run):
        raise InputError(f"track takes a kept run of rk.runs, not {preview(run)}")
    if to not in TRACKERS:
        raise InputError(
            f"{to!r} is no tracker that runs are exported to; give one of "
            f"{', '.join(TRACKERS)}{did_you_mean(to, TRACKERS)}"
        )
    try:
        library = importlib.import_module(to)
    except ImportError as error:
        raise InputError(
            f"{to} cannot be imported ({error}); install it with 'pip install {to}', "
            "or name another tracker"
        ) from None
    tracked = _describe(run, to, project)
    with TemporaryDirectory() as folder:
        write_files(Path(folder), tracked.source)
        try:
            TRACKERS[to](library, tracked, folder)
        except Exception as error:  # of the tracker: no network, no login, no room
            raise InputError(
                f"{to} did not take {run.version.name}; it says: "
                f"{FURTHER.split(error_text(error))[0]}"
            ) from error
    return tracked


def _describe(run: Run, tracker: str, project: str) -> Tracked:
    version, about = run.version, run.about
    definition = version.about["record"]
    params = {
        "reward": version.about["reward"],
        "version": version.name,
        "parent": version.parent,
        "definition": version.fingerprint,
        "data": about["source"],
        "data_hash": about["data"],
        "rows": about["rows"],
        **dict(_flat("weight", _weights(definition))),
    }
    figures = run.figures
    if LABEL in figures:
        params[LABEL] = figures.pop(LABEL)
    if "cases" in figures:
        figures["cases_passed"], figures["cases"] = figures["cases"]
    metrics = {}
    for name, value in figures.items():
        for key, number in _flat(name, value):
            if isinstance(number, int | float) and math.isfinite(number):
                metrics[key] = float(number)
    return Tracked(
        tracker,
        project or str(version.about["reward"]),
        version.name,
        run.folder.name,
        run.note,
        run.tags,
        params,
        metrics,
        version.source,
    )


def _weights(definition: Plain) -> Record:
    """Return the weights of a definition, of a route in dicts by value."""
    if "route" not in definition:
        return dict(definition["weights"])
    route = definition["route"]
    weights = {}
    for branch in route["rewards"]:
        weights[str(branch["value"])] = _weights(branch["reward"])
    if route["default"]:
        weights["default"] = _weights(route["default"])
    return weights


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a value under its name; those of a dict as name/key.

    In names are the characters that every tracker takes.
    """
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(f"{name}/{key}", item)
    else:
        yield re.sub(r"[^\w./ -]", "_", name), value


# --- trackers: the library, what it is told, the folder with the source


def _to_mlflow(mlflow: ModuleType, tracked: Tracked, folder: str) -> None:
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name(tracked.project)
    if experiment is None:
        experiment_id = client.create_experiment(tracked.project)
    else:
        experiment_id = experiment.experiment_id
    same = f"tags.`{RUN_TAG}` = '{tracked.key}'"
    matches = client.search_runs([experiment_id], filter_string=same, max_results=1)
    if matches:
        (run,) = matches
    else:
        run = client.create_run(experiment_id, run_name=tracked.name)
    run_id = run.info.run_id
    tags = {RUN_TAG: tracked.key, **dict.fromkeys(tracked.tags, "true")}
    if tracked.note:
        tags["mlflow.note.content"] = tracked.note
    for name, value in tags.items():
        client.set_tag(run_id, name, value)
    for name, value in tracked.params.items():
        client.log_param(run_id, name, value)
    for name, number in tracked.metrics.items():
        client.log_metric(run_id, name, number)
    if tracked.source:
        client.log_artifacts(run_id, folder, "source")
    client.set_terminated(run_id)


def _to_trackio(trackio: ModuleType, tracked: Tracked, folder: str) -> None:
    config = {**tracked.params, "note": tracked.note, "tags": list(tracked.tags)}
    trackio.init(
        tracked.project,
        name=f"{tracked.name}-{tracked.key[:6]}",  # by which it finds a run again
        config=config,
        resume="allow",
        embed=False,
        auto_log_gpu=False,
        auto_log_cpu=False,
    )
    try:
        trackio.log(dict(tracked.metrics))
        if tracked.source:
            trackio.log_artifact(_artifact(trackio, tracked, folder))
    finally:
        trackio.finish()


def _to_wandb(wandb: ModuleType, tracked: Tracked, folder: str) -> None:
    with wandb.init(
        project=tracked.project,
        name=tracked.name,
        id=tracked.key,
        resume="allow",
        notes=tracked.note,
        tags=list(tracked.tags),
        config=dict(tracked.params),
    ) as run:
        run.log(dict(tracked.metrics))
        if tracked.source:
            run.log_artifact(_artifact(wandb, tracked, folder))


def _artifact(library: ModuleType, tracked: Tracked, folder: str) -> Any:
    """Return the source as an artifact of trackio or W&B, which are alike."""
    # v4 can be no alias: both count the versions of an artifact so
    name = re.sub(r"[^\w.-]", "_", f"{tracked.params['reward']}-source", flags=re.ASCII)
    artifact = library.Artifact(name, "reward", metadata={"version": tracked.name})
    artifact.add_dir(folder)
    return artifact


TRACKERS: Mapping[str, Callable[[ModuleType, Tracked, str], None]] = {
    "mlflow": _to_mlflow,
    "trackio": _to_trackio,
    "wandb": _to_wandb,
}
