"""Scores on disk: what comes back is what was saved, and a failed write leaves what was there."""

import json
import math
import re

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scored import made

import rewardkit as rk
from rewardkit.history.parts import is_scored


def length(completion):
    return min(len(completion), 4) / 4 if completion else None


def make(**options):
    open_gate = rk.gate("length", at_least=0.25)
    parts = [
        rk.Component("length", length, why="longer is better"),
        rk.Component(
            "short", lambda completion: len(completion) < 3, weight=0.5, gate=open_gate
        ),
    ]
    return made(*parts, fields={"first": rk.extract.pattern("^(.)")}, **options)


ROWS = [
    {"prompt": prompt, "completion": text}
    for prompt in "pq"
    for text in ("a", "bb", "cccc", "")
]


def round_trip(rows, folder, reward=None):
    scores = rk.score(reward or make(), rows)
    return scores, rk.load_scores(scores.save(folder))


def same(scores, loaded):
    pd.testing.assert_frame_equal(loaded.table, scores.table)
    assert loaded.rollouts.columns() == scores.rollouts.columns()
    assert loaded.groups.tolist() == scores.groups.tolist()
    assert loaded.rollouts.group_key == scores.rollouts.group_key
    assert loaded.record == scores.record


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *(
            ("own", values)
            for values in (
                [1, "text"], [1, None], [True, None], [2**70, 1], [None, None], [[], {}], ["nan", "012"],
                [{"a": {"b": [1, None]}}, {"a": None}], [math.inf, "x"], [["\udfff\0"], "x"], [1.0, 2.0],
            )
        ),
        ("completion", ["\ud800x", "\0", "🤖é", "\r\n", "nan", "", '{"a": 1}']),
        ("reward_model", [{"ground_truth": "4"}, None]),
        ("reward_count", [1, 2]),
    ],
    ids=repr,
)  # fmt: skip
def test_every_kind_of_column_comes_back_exactly(name, values, tmp_path):
    same(
        *round_trip(
            [{"prompt": "p", "completion": "x", name: value} for value in values],
            tmp_path,
        )
    )


def test_bytes_come_back_as_they_print_and_dates_as_they_are(tmp_path):
    frame = pd.DataFrame(
        {
            "completion": ["a"],
            "image": [b"\xff\x00"],
            "when": pd.to_datetime(["2024-01-01"]),
        }
    )
    _, loaded = round_trip(frame, tmp_path)
    assert loaded.table[["image", "when"]].values.tolist() == [
        [repr(b"\xff\x00"), frame["when"][0]]
    ]


def test_gates_notes_and_transforms_come_back_and_loaded_scores_are_reweighed_and_diagnosed_alike(
    tmp_path,
):
    def noted(completion):
        rk.note("seen", [completion])
        return True

    how = {
        "gate": rk.gate("completion", equals="a"),
        "transform": rk.weigh.standardise(clip=1.5),
    }
    parts = [rk.Component("c", noted, weight=2), rk.Component("d", length)]
    scores = rk.score(made(*parts, **how, on_missing="zero"), ROWS, notes=True)
    loaded = rk.load_scores(scores.save(tmp_path))
    same(scores, loaded)
    same(scores.reweigh({"c": 0.5, "d": 3.0}), loaded.reweigh({"c": 0.5, "d": 3.0}))
    assert rk.diagnose(loaded).record() == rk.diagnose(scores).record()
    assert loaded.reward.record() == scores.reward.record()


def test_the_record_stands_in_run_json_and_in_the_parquet_metadata(tmp_path):
    part = rk.Component("c", lambda completion: len(completion), range=(0.0, math.inf))
    scores, loaded = round_trip(ROWS, tmp_path, made(part))
    same(scores, loaded)
    assert loaded.reward.components[0].range == (0.0, math.inf)
    text = (tmp_path / "run.json").read_text(encoding="utf-8")
    assert (
        json.loads(text, parse_constant=pytest.fail) == scores.record
    )  # no NaN or Infinity
    (tmp_path / "run.json").unlink()
    assert rk.load_scores(tmp_path / "scores.parquet").record == scores.record


@pytest.mark.parametrize("file", ["scores.parquet", "run.json"])
def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(
    file, tmp_path, monkeypatch
):
    folder = rk.score(make(), ROWS).save(tmp_path / "out")
    old = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fail(path, *_, **__):
        if file == "run.json":
            with path.open("wb") as half:
                half.write(b"half a file")
        raise OSError(28, "No space left on device")

    write = "pathlib.Path.write_bytes"
    if file == "scores.parquet":
        write = "pyarrow.parquet.ParquetWriter.write_table"
    monkeypatch.setattr(write, fail)
    other = rk.score(make().reweigh({"length": 9.0}), ROWS)
    with pytest.raises(
        OSError, match=rf"No space left on device: '.*{re.escape(file)}'"
    ):
        other.save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == old
    with pytest.raises(OSError, match="No space left on device"):
        other.save(tmp_path / "new" / "deep")
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made_is_said_in_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    for folder, why in (("/proc/x", ""), (3, ""), (tmp_path / "file", "File exists")):
        said = f"no scores can be written to '{folder}': .*{why}; give an"
        with pytest.raises(rk.RolloutsError, match=said):
            rk.score(make(), ROWS).save(folder)


def test_the_reward_of_loaded_scores_cannot_be_run_and_says_so(tmp_path):
    reward = round_trip(ROWS, tmp_path, make(gate=rk.gate("completion", equals="a")))[
        1
    ].reward
    for use in (
        lambda: rk.score(reward, ROWS),
        lambda: reward(completion="a"),
        lambda: rk.explain(reward, ROWS[0]),
        lambda: rk.check(reward, [{"completion": "a", "reward": 1}]),
    ):
        with pytest.raises(rk.RewardError, match=r"run record.*cannot be run"):
            use()


@pytest.mark.parametrize(
    "metadata",
    [None, b"{cut", b"{}", b"[]", b'{"record": {}, "json_columns": []}',
     b'{"record": {"reward": {}, "rollouts": {}}, "json_columns": []}'],
)  # fmt: skip
def test_a_table_without_a_whole_record_is_no_scored_table(metadata, tmp_path):
    table = pa.table({"reward": [1.0]}).replace_schema_metadata(
        metadata and {b"rewardkit": metadata}
    )
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(
        rk.RolloutsError,
        match=r"is not a scored table of this version.*make one with 'rew",
    ):
        rk.load_scores(tmp_path / "x.parquet")
    assert is_scored(tmp_path / "x.parquet") is (metadata is not None)


def test_what_is_no_table_is_an_error_with_a_way_out(tmp_path):
    text = tmp_path / "x.parquet"
    text.write_text("not Parquet")
    nothing = "there is no file.*give the folder or the Parquet file"
    for path, said in (
        (text, "is not a scored"),
        (tmp_path / "missing", nothing),
        (tmp_path, nothing),
    ):
        with pytest.raises(rk.RolloutsError, match=said):
            rk.load_scores(path)
    assert not is_scored(text) and not is_scored(tmp_path)
    assert is_scored(rk.score(make(), ROWS).save(tmp_path / "out"))
