"""Kept runs in experiment trackers: what is written there is read back, each by the tracker's own code or file."""

from pathlib import Path

import pandas as pd
import pytest
from commands import record, refused

import rewardkit as rk

FILE = """import rewardkit as rk

def right(completion, ground_truth):
    return float(ground_truth in completion)

def short(completion):
    return float(len(completion) < 12)

reward = rk.Reward(
    "answers",
    components=[rk.Component("right", right), rk.Component("is_short", short, weight=0.2)],
)
"""
METRICS = {"mean": 0.4, "signal": 1.0, "cases": 20.0, "cases_passed": 18.0} | {
    "effective_weights/right": 0.9,
    "effective_weights/is_short": 0.1,
}
PARAMS = {"reward": "answers", "version": "v1", "rows": 12, "weight/is_short": 0.2}
NOTE = "tried 0.2 for short, as ties fell"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my.py").write_text(FILE)
    rows = []
    for row in range(12):
        text = f"{row % 3} is it" + "!" * row
        rows.append({"prompt_id": row // 4, "completion": text, "ground_truth": "1"})
    scores = rk.score(rk.load_reward("my.py"), rk.load_rollouts(pd.DataFrame(rows)))
    shares = {"right": 0.9, "is_short": 0.1}
    figures = {"effective_weights": shares, "label_auc": None, "label": "good"}
    run = scores.keep(note=NOTE, tags=["best"], figures=figures)
    run.version.note_figures({"cases": [18, 20]})
    return run


def exported_twice(to):
    """Export a run twice: it is one run there. Return what it is said to hold."""
    first = record(f"runs export v1 --to {to} --project sums")
    assert record(f"runs export v1 --to {to} --project sums") == first
    metrics = dict(first["metrics"])
    assert metrics.pop("mean") == pytest.approx(0.4, abs=0.1)
    assert metrics.items() >= {**METRICS, "mean": 0}.items() - {("mean", 0)}
    assert first["params"].items() >= {**PARAMS, "label": "good"}.items()
    return first


def test_mlflow_has_a_run_with_params_metrics_note_tags_and_the_source(
    kept, monkeypatch
):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{Path('mlruns').resolve()}")
    told = exported_twice("mlflow")
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("sums")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.run_name == "v1" and run.info.status == "FINISHED"
    assert run.data.metrics == told["metrics"]
    assert run.data.params == {
        name: str(told["params"][name]) for name in told["params"]
    }
    assert run.data.tags["mlflow.note.content"] == NOTE
    assert run.data.tags["best"] == "true"
    path = client.download_artifacts(run.info.run_id, "source/my.py")
    assert Path(path).read_bytes() == FILE.encode()
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "false")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{Path('other').resolve()}")
    refused("runs export v1 --to mlflow", "mlflow did not take v1; it says: ")


def test_trackio_has_a_run_with_params_metrics_note_tags_and_the_source(
    kept, monkeypatch, tmp_path
):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))  # read when it is imported
    trackio = pytest.importorskip("trackio")
    from trackio import sqlite_storage

    told = exported_twice("trackio")
    (run,) = trackio.Api().runs("sums")
    assert run.name.startswith("v1-")
    assert run.config.items() >= told["params"].items()
    assert (run.config["note"], run.config["tags"]) == (NOTE, ["best"])
    logged = sqlite_storage.SQLiteStorage.get_logs("sums", run.name)
    assert logged and all(row.items() >= told["metrics"].items() for row in logged)
    trackio.init("sums", name="reader", embed=False)
    artifact = trackio.use_artifact("answers-source")
    assert (Path(artifact.download()) / "my.py").read_bytes() == FILE.encode()
    trackio.finish()


def test_wandb_has_a_run_with_params_metrics_note_tags_and_the_source(
    kept, monkeypatch
):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    exported_twice("wandb")
    files = list(Path("wandb").glob("offline-run-*/*.wandb"))
    assert {file.stem for file in files} == {f"run-{kept.folder.name}"}
    content = files[0].read_bytes()  # what `wandb sync` would send
    for text in ("sums", "v1", NOTE, "best", "answers-source", "my.py"):
        assert text.encode() in content
    for name in (*METRICS, "weight/is_short"):
        assert name.encode() in content
