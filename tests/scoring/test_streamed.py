"""Large logs, scored part by part into a folder: the same scores, bounded memory, and no work lost."""

from __future__ import annotations

import errno
import json
import logging
import os
import random
import re
import shutil
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc as ipc
import pytest
from commands import run

import rewardkit as rk
from rewardkit.findings import percent
from rewardkit.rollouts import files, json_rows
from rewardkit.rollouts.lines import _values_on
from rewardkit.rollouts.whole_groups import cut_parts, load_part, open_large
from rewardkit.scoring.parted import PartedScores
from rewardkit.scoring.streamed import open_log

MEMORY = 16 * 12_000
"""Bytes that hold 6 kB of a log: parts of some forty rows."""

GROUPS = 60


def length(completion):
    return min(len(completion), 20) / 20


def stated(completion):
    if completion.endswith("3"):
        raise ValueError("no threes")
    return None if completion.endswith("7") else completion[-1] == "4"


def rank(completion):
    order = sorted(completion)
    return [order.index(text) / len(order) for text in completion]


def rewards():
    """What a reward may have that looks at more than one row, by name."""
    parts = [
        rk.Component("length", length),
        rk.Component("stated", stated, gate=rk.gate("length", at_least=0.3)),
        rk.Component("rank", rank, group=True, weight=0.3),
    ]
    plain = rk.Reward(
        "plain", components=parts, fields={"last": rk.extract.pattern("(.)$")}
    )
    skips = rk.Reward(
        "skips", components=parts, on_missing="skip", transform=rk.weigh.standardise()
    )
    steps = rk.Reward(
        "steps",
        components=[
            rk.Component(
                "length", length, weight=rk.schedule({0: 1.0, 8: 0.2}, between="linear")
            )
        ],
    )
    return {
        "plain": plain,
        "skips": skips,
        "route": rk.Route("data_source", {"even": plain}, skips),
        "steps": steps,
    }


def log_rows(sizes=(4,), groups=GROUPS, **columns):
    """Rows of groups of these sizes in turn, siblings together, one step for six groups."""
    draw = random.Random(5)
    rows = []
    for group in range(groups):
        for _ in range(sizes[group % len(sizes)]):
            text = " ".join(
                draw.choices(["so", "we", "add", "both"], k=draw.randint(1, 30))
            )
            row = {
                "prompt": f"Question {group}?",
                "completion": f"{text} {draw.randint(0, 9)}",
                "step": group // 6,
            }
            row |= {"data_source": "even" if group % 2 else "odd", **columns}
            rows.append(row)
    return rows


def write(path, rows):
    path.parent.mkdir(exist_ok=True, parents=True)
    if path.suffix == ".parquet":
        pd.DataFrame(rows).to_parquet(path)
    elif path.suffix == ".arrow":  # as datasets writes it, or with a footer
        table = pa.Table.from_pylist(rows)
        open_as = ipc.new_file if path.name == "log.arrow" else ipc.new_stream
        with open_as(path, table.schema) as file:
            file.write_table(table, max_chunksize=50)
    else:
        path.write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )
    return path


def in_parts(source, folder, reward="plain", **options):
    """Score a log part by part; the reward is one of `rewards`, or itself."""
    if isinstance(reward, str):
        reward = rewards()[reward]
    return rk.score(reward, source, to=folder, **{"memory": MEMORY} | options)


def at_once(source, reward="plain"):
    return rk.score(rewards()[reward], source)


@pytest.fixture
def path(tmp_path):
    """A log of sixty groups."""
    return write(tmp_path / "log.jsonl", log_rows())


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def same(streamed, whole, *, ordered=True):
    """Hold streamed scores to those of the log at once, bit for bit."""
    assert isinstance(streamed, PartedScores) and len(streamed.paths) > 2
    here, there = streamed.table, whole.table
    if not ordered:
        here, there = (
            table.sort_values("rollout_id", ignore_index=True)
            for table in (here, there)
        )
    pd.testing.assert_frame_equal(here, there, check_exact=True, check_like=True)
    assert streamed.counts == whole.counts
    assert streamed.rollouts.group_key == whole.rollouts.group_key
    about, whole_about = streamed.record["rollouts"], whole.record["rollouts"]
    for name in (
        "rows",
        "groups",
        "group_sizes",
        "mapping",
        "logged",
        "warnings",
        "rejected",
        "kind",
    ):
        assert about[name] == whole_about[name], name


@pytest.mark.parametrize(
    ("name", "workers"), [*((name, None) for name in rewards()), ("route", 2)]
)
def test_a_log_in_parts_is_scored_to_the_same_bits_as_at_once(
    name, workers, tmp_path, path, out
):
    reward = rewards()[name]
    streamed = in_parts(path, out, reward, workers=workers)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["log.jsonl", "out"]
    same(streamed, rk.score(reward, path))


@pytest.mark.parametrize("end", [".jsonl", ".parquet", ".arrow"])
@pytest.mark.parametrize("sizes", [(4,), (1, 7, 40, 2)])
def test_every_format_and_folders_of_files_are_cut_where_groups_end(
    end, sizes, tmp_path
):
    rows = log_rows(sizes)
    one = write(tmp_path / f"log{end}", rows)
    for number, start in enumerate(range(0, len(rows), 30)):  # within groups, too
        write(tmp_path / "folder" / f"{number}{end}", rows[start : start + 30])
    for source in (one, tmp_path / "folder"):
        reward = rewards()["plain"]
        streamed = in_parts(source, tmp_path / f"to-{source.name}", reward)
        same(streamed, rk.score(reward, source))


def test_a_broken_line_in_the_middle_and_a_last_line_cut_off_are_kept_out_with_their_places(
    path, out
):
    lines = path.read_text().splitlines(keepends=True)
    lines[100] = "{broken\n"
    path.write_text("".join(lines)[:-20])
    streamed = in_parts(path, out)
    same(streamed, at_once(path))
    assert [place["line"] for place in streamed.record["rollouts"]["rejected"]] == [
        101,
        240,
    ]


def test_scattered_groups_are_put_into_order_on_the_disk_and_nothing_is_left_there(
    tmp_path, caplog
):
    rows = log_rows()
    random.Random(1).shuffle(rows)
    for end in (".jsonl", ".parquet", ".arrow"):
        path = write(tmp_path / f"log{end}", rows)
        caplog.clear()
        streamed = in_parts(path, tmp_path / f"to{end}", "skips")
        assert "do not stand together" in caplog.text and "0.00 GB" in caplog.text
        same(streamed, rk.score(rewards()["skips"], path), ordered=False)
    assert sorted(item.name for item in tmp_path.iterdir()) == [
        "log.arrow",
        "log.jsonl",
        "log.parquet",
        "to.arrow",
        "to.jsonl",
        "to.parquet",
    ]


@pytest.mark.parametrize("name", ["log.csv", "array.json", "lines.json"])
def test_csv_and_json_are_put_into_order_on_the_disk_some_rows_at_a_time(
    name, tmp_path, caplog, monkeypatch
):
    monkeypatch.setattr(files, "BLOCK_ROWS", 7)
    monkeypatch.setattr(json_rows, "JSON_BLOCK", 400)
    rows = log_rows(turns=3, level="7", is_hard="True")
    rows[0] |= {"level": "x", "is_hard": "", "completion": "two\nlines, é ]"}
    path = tmp_path / name
    if name == "log.csv":
        pd.DataFrame(rows).to_csv(path, index=False)
    elif name == "array.json":
        path.write_text(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        write(path, rows)
    streamed = in_parts(path, tmp_path / "out", "skips")
    assert "put into order on the disk first" in caplog.text
    same(streamed, rk.score(rewards()["skips"], path), ordered=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"completion": "a"}, {"completion": "b" "c"}' + " " * 99, "row 2"),
        ('[{"completion": "a"}, {"completion": "b', "row 2 of the array"),
        ('[{"completion": "a"},', "row 2 of the array"),
    ],
)
def test_a_broken_json_array_is_refused_with_the_number_of_its_row(
    text, said, tmp_path, out
):
    (tmp_path / "log.json").write_text(text)
    with pytest.raises(rk.RolloutsError, match=rf"log\.json.*{said}"):
        in_parts(tmp_path / "log.json", out, memory=16)
    assert not out.exists()


def test_a_file_that_is_read_whole_and_that_memory_does_not_hold_is_told_with_both_sizes(
    tmp_path, caplog
):
    columns = list(log_rows()[0])
    table = {"columns": columns, "data": [list(row.values()) for row in log_rows()]}
    text = json.dumps(table, indent=1)
    (tmp_path / "log.json").write_text(text)
    size = 16 * len(text) / 1e9
    told = f"log.json is read whole, as it is not cut: about {size:.3g} GB of memory, where 0.000192 GB are"
    for workers, memory, is_told in ((None, MEMORY, True), (4, 2_000_000, False)):
        caplog.clear()
        scores = rk.score(
            rewards()["plain"],
            tmp_path / "log.json",
            to=tmp_path / f"{workers}",
            memory=memory,
            workers=workers,
        )
        assert len(scores) == len(log_rows())
        assert (told in caplog.text) == is_told, workers


def test_a_part_of_which_nothing_is_joined_is_scored_as_the_whole_log(path, out):
    data = [{"prompt": f"Question {group}?", "level": group} for group in range(9)]
    log = open_log(path, MEMORY, join=data)
    streamed = rk.score(rewards()["plain"], log, to=out)
    same(streamed, rk.score(rewards()["plain"], rk.load_rollouts(path, join=data)))


@pytest.mark.parametrize("is_scattered", [False, True])
def test_a_group_that_memory_does_not_hold_is_refused_with_its_id_and_size(
    is_scattered, tmp_path, out
):
    rows = log_rows((4,) * 30 + (400,))
    if is_scattered:
        random.Random(1).shuffle(rows)
    path = write(tmp_path / "log.jsonl", rows)
    with pytest.raises(rk.RolloutsError, match="give more memory") as raised:
        in_parts(path, out)
    said = re.search(
        r"group of prompt 'Question 30\?'.* has (\d+) rows or more, 0\.0(\d) MB",
        str(raised.value),
    )
    count, hundredths = map(int, said.groups())
    size = sum(len(json.dumps(row)) for row in rows if "30?" in row["prompt"])
    assert 100 <= count <= 400 and 1 <= hundredths <= size / 1e4 * (1 + is_scattered)
    assert not list(tmp_path.glob(".*")) and not out.exists()


def test_a_few_groups_that_take_turns_all_along_the_log_are_scattered_and_not_too_large(
    tmp_path, out, caplog
):
    rows = log_rows((96,), groups=10)
    rows = [{**row, "step": 0} for place in range(96) for row in rows[place::96]]
    path = write(tmp_path / "log.jsonl", rows)
    same(in_parts(path, out), at_once(path), ordered=False)
    assert "do not stand together" in caplog.text


def test_what_needs_all_rows_at_once_is_refused_in_parts_and_scored_at_once(path, out):
    everywhere = rk.Component(
        "all", lambda completion: [0.5] * len(completion), batch=True
    )
    part = rk.Component("length", length)
    refused = {
        "component 'all'": rk.Reward("r", components=[everywhere]),
        "the transform": rk.Reward(
            "r", components=[part], transform=rk.weigh.standardise(within="batch")
        ),
    }
    for said, reward in refused.items():
        with pytest.raises(
            rk.RewardError, match=f"{said} .*in parts; give it more memory"
        ):
            in_parts(path, out, reward)
        assert not out.exists()
        assert len(rk.score(reward, path, to=out)) == 4 * GROUPS
        shutil.rmtree(out)


def test_a_small_log_is_one_file_as_it_is_saved(tmp_path, out):
    path = write(tmp_path / "log.jsonl", log_rows(groups=3))
    scores = rk.score(rewards()["plain"], path, to=out)
    assert sorted(item.name for item in out.iterdir()) == [
        "run.json",
        "scores.parquet",
    ]
    other = at_once(path).save(tmp_path / "other")
    for name in ("run.json", "scores.parquet"):
        assert (out / name).read_bytes() == (other / name).read_bytes()
    assert type(scores) is rk.Scores


def test_a_folder_of_another_scoring_is_refused_and_its_parts_are_never_taken(
    tmp_path, out
):
    path, other = (
        write(tmp_path / f"{name}.jsonl", log_rows(note=name)) for name in "ab"
    )
    first = in_parts(path, out)
    before = {item.name: item.stat().st_mtime_ns for item in out.iterdir()}
    again = in_parts(path, out)
    after = {item.name: item.stat().st_mtime_ns for item in out.iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"run.json"}
    assert again.record == first.record
    for reward, source in (
        (rewards()["plain"].reweigh({"length": 2.0}), path),
        (rewards()["plain"], other),
    ):
        with pytest.raises(
            rk.RolloutsError, match=r"holds another scoring, of 'plain' on .*--force"
        ):
            in_parts(source, out, reward)
        forced = in_parts(source, out, reward, force=True)
        same(forced, rk.score(reward, source))
        assert not {item.name for item in out.glob("scores-*")} & before.keys()
        in_parts(path, out, force=True)
    whole = rk.score(rewards()["steps"], path, to=out, force=True)
    assert len(rk.load_scores(out)) == len(whole) == 4 * GROUPS


def test_files_of_different_things_rows_that_change_and_ids_that_come_again_are_refused(
    tmp_path, out
):
    half = log_rows()[:120]
    write(tmp_path / "mixed" / "1.jsonl", half)
    write(
        tmp_path / "mixed" / "2.jsonl",
        [{"prompt": row["prompt"], "response": "x", "answer": "4"} for row in half],
    )
    rows = [{**row, "rollout_id": at % 200} for at, row in enumerate(log_rows())]
    twice = write(tmp_path / "twice.jsonl", rows)
    late = write(tmp_path / "late.jsonl", [*half, *log_rows(answer="4")[120:]])
    for source, said in (
        (tmp_path / "mixed", "hold different things"),
        (late, "'answer'.*ground_truth.*first rows"),
        (twice, "40 rows of .* repeat the rollout_id of a row far before them"),
    ):
        with pytest.raises(rk.RolloutsError, match=said):
            in_parts(source, out)


def test_a_folder_with_nothing_to_score_is_refused(tmp_path, out):
    (tmp_path / "none").mkdir()
    write(tmp_path / "broken.jsonl", ["no row"] * 2000)
    cut = write(tmp_path / "cut.parquet", log_rows())
    (tmp_path / "no.arrow").write_bytes(b"ARROW1, and nothing else of it")
    cut.write_bytes(cut.read_bytes()[:-100])
    for source, said in (
        ("none", "no file of rollouts"),
        ("broken.jsonl", "no usable row"),
        ("missing.jsonl", "no file"),
        ("cut.parquet", "is not a .parquet file that can be read"),
        ("no.arrow", "is not a .arrow file that can be read"),
    ):
        with pytest.raises(rk.RolloutsError, match=said):
            in_parts(tmp_path / source, out)
        assert not out.exists()


def test_columns_of_parts_are_read_when_they_are_asked_for_and_scores_are_looked_at_alike(
    path, out
):
    streamed, whole = (
        in_parts(path, out),
        at_once(path),
    )
    np.testing.assert_array_equal(streamed.rewards, whole.rewards)
    np.testing.assert_array_equal(streamed.status("stated"), whole.status("stated"))
    assert str(streamed) == str(whole) and "table" not in vars(streamed)
    assert (
        rk.diagnose(streamed).record()
        == rk.diagnose(rk.load_scores(out)).record()
        == rk.diagnose(whole).record()
    )


@pytest.mark.parametrize(("rows", "least", "most"), [(100, 40, 160), (12, 4, 32)])
def test_a_folder_of_parts_too_large_for_memory_is_sampled_by_whole_prompts_and_its_figures_are_exact(
    rows, least, most, monkeypatch, caplog, path, out
):
    """The smaller sample is in the rows that come first in the files."""
    in_parts(path, out)
    whole = rk.load_scores(out)
    monkeypatch.setattr("rewardkit.history.parts.LARGEST_TABLE", rows)
    caplog.clear()
    sample = rk.load_scores(out)
    assert least <= len(sample) <= most and set(sample.rollouts.group_sizes) == {4}
    pd.testing.assert_frame_equal(sample.table, rk.load_scores(out).table)
    chosen = whole.table[whole.rollouts.prompt_shares < rows / 240]
    pd.testing.assert_frame_equal(sample.table, chosen.reset_index(drop=True))
    groups = whole.table.groupby("prompt")["reward"]
    several = groups.count() > 1
    signal = (groups.max() > groups.min())[several].mean()
    said = f"a sample of {len(sample)} of 240 rows, whole groups drawn by the hash of their prompt; of all 240 rows the "
    said += f"mean reward is {whole.table['reward'].mean():.3g}, and {percent(signal)} of {several.sum()} groups have a signal"
    assert said in caplog.text and any(said in note for note in sample.rollouts.notes)
    size = f"{len(sample)} of 240 rollouts (a sample)"
    assert size in str(rk.diagnose(sample)) and str(sample.rollouts).startswith(size)


def test_restarts_of_a_run_are_one_warning_however_many_parts_have_them(
    tmp_path, out, caplog
):
    rows = log_rows()
    for group in range(GROUPS):
        for row in rows[4 * group : 4 * group + 4]:
            row["step"] = group // 2 % 4
    path = write(tmp_path / "log.jsonl", rows)
    in_parts(path, out)
    (warning,) = [text for text in caplog.messages if "go backwards" in text]
    assert re.search(r"backwards \d+ times, first from 3 to 0 at rollout 33\.", warning)
    assert len(list(out.glob("scores-*"))) > 2


def test_a_scoring_that_was_not_finished_says_so_and_a_part_that_is_broken_is_left_out_and_mended(
    caplog, path, out
):
    in_parts(path, out)
    before = files_of(out)
    assert not rk.load_scores(out).rollouts.cautions
    record = json.loads(before["run.json"]) | {
        "unfinished": {}
    }  # as an interrupt leaves it
    (out / "run.json").write_text(json.dumps(record))
    (caution,) = rk.load_scores(out).rollouts.cautions
    assert caution.startswith(f"{out} is unfinished: 240 rollouts so far; run the same")
    part = sorted(out.glob("scores-*"))[1]
    part.write_bytes(before[part.name][:500])
    (out / "run.json").unlink()
    loaded = rk.load_scores(out)
    notes = " ".join(loaded.rollouts.notes)
    assert f"cannot be read and is left out: {part.name}" in notes
    (caution,) = loaded.rollouts.cautions
    rows = f"{len(loaded)} rollouts so far; run the same `score` again"
    assert caution == f"{out} is unfinished: {rows}"
    assert caution in caplog.text
    in_parts(path, out)
    assert files_of(out) == before


def test_of_a_finished_scoring_its_own_parts_are_read_and_one_that_is_gone_is_warned_of(
    caplog, path, out
):
    streamed = in_parts(path, out)
    first, second, *_ = streamed.paths
    other = out / f"scores-000001-{'0' * 16}.parquet"
    other.write_bytes(first.read_bytes())  # of another run, beside it
    assert len(rk.load_scores(out)) == 240 and not rk.load_scores(out).rollouts.cautions
    second.unlink()
    (caution,) = rk.load_scores(out).rollouts.cautions
    assert caution == f"1 file of scores cannot be read and is left out: {second.name}"
    assert f"{out}: {caution}; run the same `score` again" in caplog.text


def test_a_second_interrupt_and_a_want_of_memory_say_that_the_same_command_goes_on(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    prepared(tmp_path, log_rows())
    rk.score(rewards()["plain"], "log.jsonl", to="out", memory=MEMORY)
    Path("out/run.json").unlink()

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(rk, "score", interrupted)
    count = len(list(Path("out").iterdir()))
    for folder, error in (
        ("out", f"interrupted; {count} parts of the scores stand in out; the same"),
        ("new", "rewardkit: interrupted\n"),
    ):
        said = run(f"score mine.py log.jsonl -o {folder} --timeout 0")
        assert said.exit_code == 130 and error in said.stderr

    def out_of_memory(*_, **__):
        raise MemoryError

    monkeypatch.setattr(rk, "score", out_of_memory)
    said = run("score mine.py log.jsonl -o out --timeout 0")
    assert said.exit_code == 2
    assert said.stderr.startswith("rewardkit: no memory is left; free some, then run")


MINE = """
    import rewardkit as rk

    def length(completion):
        return min(len(completion), 20) / 20

    def slow(completion):
        total = sum(map(ord, completion * 60))
        return total % 7 / 7

    reward = rk.Reward("mine", components=[rk.Component("length", length), rk.Component("slow", slow)])
"""


def prepared(folder, rows):
    (folder / "mine.py").write_text(textwrap.dedent(MINE))
    write(folder / "log.jsonl", rows)


def files_of(folder):
    return {item.name: item.read_bytes() for item in folder.iterdir()}


@pytest.mark.integration
def test_a_log_in_parts_takes_no_more_memory_for_its_rows_than_it_may(tmp_path):
    prepared(tmp_path, log_rows(groups=300, thoughts="and so on " * 3_000))  # 36 MB
    write(tmp_path / "small.jsonl", log_rows(groups=3))
    code = "from rewardkit.scoring.part_job import peak_memory; from rewardkit.__main__ import main\ntry: main()\nfinally: print(peak_memory())"
    paths = {**os.environ, "PYTHONPATH": str(Path(rk.__file__).parent.parent)}
    peaks = []
    for words in ("small.jsonl", "log.jsonl --memory 64MB", "log.jsonl --memory 1GB"):
        line = f"score mine.py {words} --timeout 0 -o {len(peaks)}"
        done = subprocess.run(
            [sys.executable, "-c", code, *line.split()],
            cwd=tmp_path,
            env=paths,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        is_above = "more than --memory 0.064GB: that is for rows" in done.stdout
        assert is_above == ("64MB" in words), done.stdout
        peaks.append(int(done.stdout.split()[-1]) / 1e6)
    libraries, bounded, whole = peaks  # MB
    assert bounded - libraries <= 64 < whole - libraries, peaks


@pytest.mark.parametrize("has_uid", [False, True])
def test_parts_of_a_trainer_s_log_are_read_as_its_first_rows_decide(
    has_uid, tmp_path, out
):
    rows = []
    for number, row in enumerate(log_rows()):
        made = {
            "input": row["prompt"],
            "output": row["completion"],
            "gts": "4",
            "score": length(row["completion"]),
            "step": row["step"],
        }
        rows.append(
            made
            | {"acc": 1.0 if number < 200 else None}
            | ({"uid": f"p{number // 4}_0_{number % 4}"} if has_uid else {})
        )
    path = write(tmp_path / "log.jsonl", rows)
    same(
        in_parts(path, out),
        at_once(path),
    )
    rows[230]["acc"] = "unknown"
    write(path, rows)
    streamed = in_parts(path, tmp_path / "late")
    assert (
        "1 values of logged/acc are no numbers: taken as missing"
        in streamed.record["rollouts"]["warnings"]
    )
    assert streamed.record["rollouts"]["kind"] == "verl rollout dump"


def steps_of_a_trainer(form):
    """Tables of forty steps, each trained on twice and logged twice: rows by step, or a row a step for ms-swift."""
    draw = random.Random(3)
    tables = []
    for step in range(40):
        rows = []
        for place in range(16):
            text = (
                " ".join(draw.choices(["so", "we", "add"], k=draw.randint(1, 20)))
                + f" {draw.randint(0, 9)}"
            )
            rows.append(
                {
                    "prompt": f"Question {step}-{place // 4}?",
                    "completion": text,
                    "right": float(place % 4),
                }
            )
        for logged in (2 * step, 2 * step + 1):
            columns = [
                {"step": logged, **row, "advantage": row["right"] - 1.5} for row in rows
            ]
            if form == "swift":
                lists = {
                    name: [row[name] for row in columns]
                    for name in ("step", "prompt", "completion", "right")
                }
                columns = [
                    {
                        **lists,
                        "step": [str(logged)] * 16,
                        "advantages": [row["advantage"] for row in columns],
                    }
                ]
            if form == "nemo":  # the shortest are those of the first step alone
                between = ["a call", "its answer"] if step else []
                columns = [
                    {
                        "content": [[row["prompt"], *between, row["completion"]]],
                        "rewards": [row["right"]],
                    }
                    for row in rows
                ]
            tables.append(columns)
    return tables


@pytest.mark.parametrize("form", ["trl", "swift"])
@pytest.mark.parametrize("end", ["folder", ".jsonl", ".parquet"])
def test_steps_that_are_logged_again_are_left_out_where_a_part_ends_between_them_too(
    form, end, tmp_path, out
):
    tables = steps_of_a_trainer(form)
    if end == "folder":
        for number, rows in enumerate(tables):
            write(tmp_path / "log" / f"{number:03}.jsonl", rows)
    path = (
        tmp_path / "log"
        if end == "folder"
        else write(tmp_path / f"log{end}", [row for rows in tables for row in rows])
    )
    reward = rewards()["steps"]
    streamed = in_parts(path, out, reward, memory=16 * 20_000)
    whole = rk.score(reward, path)
    assert len(streamed.paths) > 1 and len(streamed) == len(whole) == 640
    pd.testing.assert_frame_equal(
        streamed.table, whole.table, check_exact=True, check_like=True
    )
    assert streamed.record["rollouts"]["kind"] == whole.rollouts.kind != "rollouts"


def test_the_turns_of_a_prompt_are_those_of_the_first_rows_of_a_log_in_every_part(
    tmp_path, out
):
    path = write(
        tmp_path / "train_data_step1.jsonl",
        [row for rows in steps_of_a_trainer("nemo") for row in rows[:16:4]],
    )
    whole = rk.load_rollouts(path)
    streamed = in_parts(path, out, "steps")
    assert (
        len(streamed.paths) > 2
        and whole.kind == streamed.record["rollouts"]["kind"] == "NeMo-RL rollouts"
    )
    there = whole.table.sort_values("rollout_id", ignore_index=True)
    here = streamed.rollouts.table.sort_values("rollout_id", ignore_index=True)
    pd.testing.assert_frame_equal(here, there, check_like=True)


def test_a_log_that_has_changed_is_scored_anew_where_it_has(tmp_path, out):
    rows = log_rows()
    path = write(tmp_path / "log.jsonl", rows)
    before = in_parts(path, out).paths
    rows[130]["completion"] = rows[130]["completion"][:-1] + "x"  # of the same length
    write(path, rows)
    streamed = in_parts(path, out)
    same(streamed, at_once(path))
    kept = [part for part in before if part in streamed.paths]
    assert len(kept) == len(before) - 1 == len(streamed.paths) - 1


def test_what_killed_processes_left_is_removed_and_no_other_hidden_file(path, out):
    names = {
        ".scores-000001-0123456789abcdef.parquet.a1": True,
        ".scores.parquet.a1": True,
        ".run.json.a1": True,
        ".seen-a1": True,
        ".scores-groups/000001.rows": True,
        ".lock": True,
        ".scores-3f2a9c01-000012.parquet.a1": False,  # of a recorder
        ".git/config": False,
    }
    for name in names:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(b"PAR1")
    in_parts(path, out)
    for name, is_removed in names.items():
        assert (out / name).exists() != is_removed, name


def test_a_disk_without_locks_is_scored_into(path, out, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr("fcntl.flock", flock)
    same(in_parts(path, out), at_once(path))


def test_any_number_of_workers_goes_on_with_the_same_parts_and_those_of_another_memory_are_told(
    path, out, caplog
):
    def written():
        return {item.name: item.stat().st_mtime_ns for item in out.glob("scores-*")}

    in_parts(path, out, workers=2)
    before = written()
    assert len(before) > 4 and not caplog.messages
    in_parts(path, out)
    in_parts(path, out, workers=5)
    assert written() == before
    (said,) = caplog.messages
    assert "hold the parts of 2 workers, so that 2 score and not 5; all need" in said
    older = {name: (out / name).read_bytes() for name in before}
    caplog.clear()
    same(in_parts(path, out, memory=MEMORY // 2), at_once(path))
    (said,) = caplog.messages
    assert f"{len(before)} parts of another memory, other options or" in said
    assert not written().keys() & before.keys()
    (out / "run.json").unlink()  # as if it were unfinished
    for name, content in older.items():
        (out / name).write_bytes(content)
        os.utime(out / name, (0, 0))
    assert rk.load_scores(out).table["rollout_id"].tolist() == list(range(1, 241))
    assert "240 rollouts so far" in caplog.text


@pytest.mark.parametrize(
    ("lines", "objects", "why"),
    [
        (['{"a": 1}', '{"a": "x\\n"}'], 2, "a line an object"),
        (['{"a": 1}', "{broken"], None, "a line that is broken"),
        (['{"a": [{"b": 1}', '{"c": 1}]}'], None, "half an object, and the other half"),
        (['{"a": 1}, {"b": 2}, {"c": 3}'], None, "three objects on a line"),
        (['{"a": 1}', ""], None, "a line that is blank"),
    ],
)
def test_lines_are_parsed_together_only_where_each_is_one_value(lines, objects, why):
    values = _values_on([line.encode() for line in lines])
    assert values == (
        None if objects is None else [json.loads(line) for line in lines]
    ), why


def test_a_call_that_ends_its_worker_costs_its_own_row_and_what_cannot_be_sent_is_said(
    tmp_path, out
):
    rows = log_rows()
    rows[130]["completion"] = "exit"
    path = write(tmp_path / "log.jsonl", rows)

    def deadly(completion):
        return os._exit(7) if completion == "exit" else 0.5

    reward = rk.Reward("deadly", components=[rk.Component("deadly", deadly)])
    streamed = in_parts(path, out, reward, workers=2)
    same(streamed, rk.score(reward, path, workers=2))
    errors = [why for why in streamed.table["error/deadly"] if why]
    assert errors == ["ended its process (exit status 7)"]
    lock = threading.Lock()

    def locked(completion):
        with lock:
            return 1.0

    for options in ({"workers": 2}, {"timeout": 9.0}, {"timeout": 9.0, "workers": 2}):
        with pytest.raises(
            rk.RewardError, match=r"cannot be .* (worker|another) process.*what .* open"
        ):
            rk.score(
                rk.Reward("locked", components=[rk.Component("locked", locked)]),
                path,
                to=tmp_path / "no",
                memory=MEMORY,
                **options,
            )


def test_the_hashes_of_groups_do_not_depend_on_the_part_that_they_are_in(
    tmp_path, caplog
):
    caplog.set_level(logging.ERROR)
    path = write(
        tmp_path / "log.jsonl",
        [
            {**row, "step": row["step"] + (0.5 if row["step"] > 5 else 0)}
            for row in log_rows()
        ],
    )
    log = open_large(path, part_bytes=6_000, most_bytes=6_000)
    hashes = np.concatenate(
        [load_part(log.reading, part).rollouts.group_hashes for part in cut_parts(log)]
    )
    assert (
        sorted(hashes) == sorted(rk.load_rollouts(path).group_hashes)
        and len({*hashes}) == GROUPS
    )
