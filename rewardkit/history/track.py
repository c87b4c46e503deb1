"""track(): export a kept run to an experiment tracker: MLflow, trackio or W&B.

A tracker is imported only when a run is exported to it.
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
"""The MLflow tag that identifies an exported run."""

SENTENCE_END = re.compile(r"\.\s|\n| with exception | \(Caused by ")
"""The end of an error's first sentence; messages of other libraries follow."""


@dataclass(frozen=True)
class Tracked(PlainRecord):
    """A kept run as it is exported to a tracker.

    Attributes:
        tracker: The name of the tracker, such as "mlflow".
        project: The tracker's project or experiment.
        name: The version, such as "v3".
        key: The name of the run's folder, which identifies repeated exports.
        note: The note of the run.
        tags: The tags of the run.
        params: Reward, version, parent, data, rows, weights.
        metrics: The figures that were measured.
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
    """Export a kept run to an experiment tracker.

    The tracker's settings choose the destination (``MLFLOW_TRACKING_URI``,
    ``WANDB_MODE``, ``TRACKIO_DIR`` ...). The source of the definition becomes an
    artifact. A repeated export updates the same run of the tracker.

    Args:
        run: A run of `rk.runs`.
        to: "mlflow", "trackio" or "wandb".
        project: The tracker's project or experiment; by default the reward's name.

    Returns:
        The exported run.

    Raises:
        InputError: The tracker is unknown or not installed, or refused the run.
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
        except Exception as error:  # such as no network, no login, no disk space
            raise InputError(
                f"{to} did not take {run.version.name}; it says: "
                f"{SENTENCE_END.split(error_text(error))[0]}"
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
        **dict(_flatten("weight", _weights(definition))),
    }
    figures = run.figures
    if LABEL in figures:
        params[LABEL] = figures.pop(LABEL)
    if "cases" in figures:
        figures["cases_passed"], figures["cases"] = figures["cases"]
    metrics = {}
    for name, value in figures.items():
        for key, number in _flatten(name, value):
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
    """Return the weights of a definition, for a route in one dict per value."""
    if "route" not in definition:
        return dict(definition["weights"])
    route = definition["route"]
    weights = {}
    for branch in route["rewards"]:
        weights[str(branch["value"])] = _weights(branch["reward"])
    if route["default"]:
        weights["default"] = _weights(route["default"])
    return weights


def _flatten(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the (name, value) of a value, and of each item of a dict as name/key.

    Characters that some tracker refuses are replaced in names.
    """
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flatten(f"{name}/{key}", item)
    else:
        yield re.sub(r"[^\w./ -]", "_", name), value


# --- trackers: each takes its library, the run, and a folder with the source


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
    """Return the source as an artifact; trackio and W&B share this interface."""
    # "v4" cannot be an alias, as both name an artifact's versions like that
    name = re.sub(r"[^\w.-]", "_", f"{tracked.params['reward']}-source", flags=re.ASCII)
    artifact = library.Artifact(name, "reward", metadata={"version": tracked.name})
    artifact.add_dir(folder)
    return artifact


TRACKERS: Mapping[str, Callable[[ModuleType, Tracked, str], None]] = {
    "mlflow": _to_mlflow,
    "trackio": _to_trackio,
    "wandb": _to_wandb,
}
