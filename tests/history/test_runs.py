"""Scorings that are kept: whole or not at all, by version, with the source that was scored."""

import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from commands import record, refused, run

import rewardkit as rk
from rewardkit.history.run import source_diff
from rewardkit.history.runs import load_version
from rewardkit.html.excerpts import LINE

FILE = '''"""A reward of two components."""
import rewardkit as rk
from beside import LONG

def right(completion, ground_truth):
    return float(ground_truth in completion)

def short(completion):
    return float(len(completion) < LONG)

reward = rk.Reward(
    "answers",
    components=[rk.Component("right", right), rk.Component("short", short, weight=0.2)],
)
'''


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder of one's own, with a reward in two files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.py").write_bytes(FILE.encode())
    (tmp_path / "beside.py").write_bytes(b"LONG = 12\r\n")
    return tmp_path


def rollouts(count=12):
    rows = []
    for row in range(count):
        text = f"{row % 3} is it" + "!" * row
        rows.append({"prompt_id": row // 4, "completion": text, "ground_truth": "1"})
    return rk.load_rollouts(pd.DataFrame(rows))


def write_log(table):
    table.to_json("log.jsonl", orient="records", lines=True)


def scored(name="my.py", count=12):
    return rk.score(rk.load_reward(name), rollouts(count))


def edit(before, after):
    text = Path("my.py").read_bytes()
    assert before.encode() in text
    Path("my.py").write_bytes(text.replace(before.encode(), after.encode()))


# --- what a run holds


def test_a_run_gives_back_the_table_the_figures_and_the_source_byte_for_byte(here):
    scores = scored()
    kept = scores.keep(note="first", tags=["start"])
    assert (kept.version.name, kept.note, kept.tags) == ("v1", "first", ("start",))
    for name in ("v1", "start", kept.folder):
        loaded = rk.load_scores(name)
        pd.testing.assert_frame_equal(loaded.table, scores.table)
        assert loaded.rollouts.group_key == scores.rollouts.group_key
    assert kept.figures["mean"] == pytest.approx(scores.rewards.mean())
    assert kept.figures["signal"] == 1.0
    before = {name: (here / name).read_bytes() for name in ("my.py", "beside.py")}
    edit("weight=0.2", "weight=0.9")
    assert (
        kept.version.source == before and kept.version.about["entry"] == "my.py:reward"
    )
    files = kept.version.restore("old")
    assert {path.name: path.read_bytes() for path in files} == before
    assert rk.load_reward("old/my.py").weights == {"right": 1.0, "short": 0.2}


def test_what_was_run_is_kept_where_the_file_was_edited_while_it_scored(here):
    reward = rk.load_reward("my.py")
    edit("< LONG", "> LONG")
    kept = rk.score(reward, rollouts()).keep()
    assert kept.version.source["my.py"] == FILE.encode()


def test_the_same_scoring_is_one_run_and_a_definition_one_version():
    first = scored().keep(note="one")
    again = scored().keep(note="two", tags=["t"])
    assert again.folder == first.folder
    scored().keep(note="one")  # which is there already
    assert (rk.runs()["v1"].note, rk.runs()["v1"].tags) == ("one; two", ("t",))
    scored(count=8).keep()  # other rollouts
    scored().reweigh({"short": 0.5}).keep()
    assert [run.version.name for run in rk.runs()] == ["v2", "v1", "v1"]
    assert rk.runs()["v2"].version.parent == "v1"
    assert len(os.listdir("runs/data")) == 2
    edit("weight=0.2", "weight=0.5")
    assert scored().keep().version.name == "v3"  # another file


def test_each_scoring_of_a_version_has_a_name_by_which_it_is_tagged_compared_and_deleted():
    scored().keep()
    scored().reweigh({"short": 0.5}).keep()
    first, newest = scored(count=8).keep(), scored(count=4).keep()
    names = ["v1.3", "v1.2", "v2", "v1.1"]
    assert (first.name, newest.name) == ("v1.2", "v1.3")
    assert [run.name for run in rk.runs()] == names
    for name in names:
        assert re.search(rf"(?m)^ +{re.escape(name)} ", run("runs").stdout), name
    assert run("runs tag v1.1 --tag old").exit_code == 0
    assert len(rk.load_scores("old")) == len(rk.load_scores("v1.1")) == 12
    assert len(rk.load_scores("v1")) == 4 and rk.runs()["v1"].folder == newest.folder
    assert record("compare v1.1 v2")["matching"]["matched"] == 12
    refused("runs tag v2 --tag v1.7", "is no tag, as versions are called so")
    refused("runs delete v1", "Delete v1 of answers (3 runs: v1.3, v1.2, v1.1)?")
    assert run("runs delete v1.3 --yes").stdout == "v1.3 is deleted (1 run)\n"
    assert rk.runs().names == ["v1", "v1.2", "v2", "v1.1", "old"]
    assert len(os.listdir("runs/data")) == 2
    shutil.copytree("runs/versions/v1", "runs/versions/v1.2")  # no name of a version
    rk.runs().delete("v1")
    assert rk.runs().names == ["v2"]


@pytest.mark.parametrize("is_older", [False, True])
def test_a_name_of_a_scoring_that_was_deleted_is_given_to_no_other_one(is_older):
    """An older rewardkit wrote no numbers; there the names told the order of dates."""
    for count in (12, 8, 4):
        scored(count=count).keep()
    if is_older:
        shutil.rmtree("runs/versions/v1/scorings")
        for path in Path("runs/scored").glob("*/about.json"):
            about = json.loads(path.read_bytes())
            del about["number"]
            path.write_text(json.dumps(about))
    before = rk.runs()
    assert [item.name for item in before] == ["v1.3", "v1.2", "v1.1"]
    assert run("runs delete v1.1 --yes").exit_code == 0
    refused("runs delete v1.1 --yes", "there is no run 'v1.1'")
    before["v1.2"].tag("middle")
    assert run("runs delete v1.3 --yes").exit_code == 0
    assert [item.name for item in rk.runs()] == ["v1.2"]
    assert len(rk.load_scores("v1.2")) == len(rk.load_scores("v1")) == 8
    assert scored(count=4).keep().name == "v1.4"
    assert [item.name for item in rk.runs()] == ["v1.4", "v1.2"]


def test_a_version_is_looked_for_in_the_folder_that_is_named_alone():
    scored().keep(tags=["best"])
    assert load_version("best").version.name == "v1"
    with pytest.raises(rk.RolloutsError, match="best"):
        load_version("best", "elsewhere")


def test_a_version_whose_scoring_is_gone_is_restored_and_deleted():
    scored().keep()
    shutil.rmtree("runs/scored")
    assert "Without a scoring: v1" in run("runs").stdout
    refused("runs show v1", "has no scoring: `rewardkit runs restore v1 -o FILE")
    assert run("runs restore v1 -o old").exit_code == 0
    assert Path("old/my.py").read_bytes() == FILE.encode()
    assert run("runs delete v1 --yes").stdout == "v1 is deleted (0 runs)\n"
    assert rk.runs().unscored == ()


def test_a_clock_that_goes_back_leaves_the_order_of_runs(monkeypatch):
    dates = iter(["2026-03-01T12:00:00.000+00:00", "2026-02-01T12:00:00.000+00:00"] * 9)
    monkeypatch.setattr("rewardkit.history.runs_folder.now", lambda: next(dates))
    for weight in (0.2, 0.3, 0.4):
        scored().reweigh({"short": weight}).keep()
    assert [run.version.name for run in rk.runs()] == ["v3", "v2", "v1"]
    assert rk.runs()["v3"].version.parent == "v2"
    assert rk.runs()["v2"].about["date"] == "2026-03-01T12:00:00.001+00:00"


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda reward: reward.reweigh({"short": 0.7}), ""),
        (lambda reward: replace(reward, name="other"), "before a change"),
        (
            lambda reward: rk.Reward(
                "l", components=[rk.Component("l", lambda completion: 1.0)]
            ),
            "has no name to write",
        ),
    ],
)
def test_a_reward_that_no_file_says_is_written_where_it_can_be(change, why):
    reward = change(rk.load_reward("my.py"))
    version = rk.score(reward, rollouts()).keep().version
    assert why in version.about["why"] and bool(why) != bool(version.about["entry"])
    if reward.name == "l":
        with pytest.raises(rk.RewardError, match=r"v1 has no source: .*no name"):
            version.restore("back.py")
        return
    version.restore("back")
    assert Path("back/my.py").read_bytes() == FILE.encode()
    if not why:
        back = rk.load_reward(f"back/{version.about['entry']}")
        assert back.record()["components"] == reward.record()["components"]


def test_texts_are_hashes_where_they_are_to_be():
    kept = scored().keep(redact=True)
    assert not kept.scores.table["completion"].str.contains("is it").any()
    for path in Path("runs").rglob("*.*"):
        assert path.suffix == ".py" or b"is it" not in path.read_bytes()


def test_files_of_one_name_beside_two_rewards_are_told_apart(here):
    scored().keep().version.restore("old")
    (here / "beside.py").write_bytes(b"LONG = 1")
    assert scored().rewards.max() < scored("old/my.py").rewards.max() == 1.2
    assert scored().rewards.max() == 1.0


@pytest.mark.parametrize(
    "name, entry",
    [("pack.main:reward", "pack.main:reward"), ("top.py", "top.py:reward")],
)
def test_modules_of_a_package_and_of_folders_below_are_kept(
    here, monkeypatch, name, entry
):
    monkeypatch.syspath_prepend(here)
    for module in [name for name in sys.modules if name.split(".")[0] == "pack"]:
        monkeypatch.delitem(sys.modules, module)
    (here / "pack").mkdir()
    (here / "pack" / "__init__.py").write_text("")
    (here / "pack" / "parts.py").write_text("LONG = 12")
    (here / "pack" / "main.py").write_text(FILE.replace("beside", ".parts"))
    (here / "top.py").write_text(FILE.replace("beside", "pack.parts"))
    version = rk.score(rk.load_reward(name), rollouts()).keep().version
    assert version.source["pack/parts.py"] == b"LONG = 12"
    assert version.about["entry"] == entry
    reweighed = rk.score(
        rk.load_reward(name).reweigh({"short": 2.0}), rollouts()
    ).keep()
    text = reweighed.version.source["reward.py"].decode()
    compile(text, "reward.py", "exec")
    assert ("with_name" in text) == (name == "top.py")
    files = {path.as_posix() for path in version.restore("back")}
    assert {"back/pack/__init__.py", "back/pack/parts.py"} <= files


# --- the folder


def test_a_folder_of_runs_can_be_moved_and_says_when_its_rollouts_are_gone(here):
    scored().keep()
    shutil.move("runs", "elsewhere")
    kept = rk.runs("elsewhere")["v1"]
    assert len(kept.scores) == 12
    shutil.rmtree("elsewhere/data")
    with pytest.raises(rk.RolloutsError, match=r"rollouts of the run .* are gone"):
        kept.scores  # noqa: B018
    assert rk.runs("elsewhere")["v1"].figures["mean"] is not None


@pytest.mark.parametrize(
    "place, content, message",
    [
        ("versions/v1", '{"format": 2}', "is of format 2, and this version"),
        ("versions/v1", "{", "cannot be read as what rewardkit keeps"),
        ("scored/*", '{"format": 99}', "is of format 99"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence_and_the_others_are_there(
    here, caplog, place, content, message
):
    scored().keep()
    (path,) = here.glob(f"runs/{place}/about.json")
    scored().reweigh({"short": 0.5}).keep()
    path.write_text(content)
    assert rk.runs().names == ["v2"]
    assert message in caplog.text
    assert scored().reweigh({"short": 0.6}).keep().version.name == "v3"


def test_a_deleted_version_takes_its_rollouts_along_and_its_number_is_not_given_again():
    scored(count=8).keep()
    scored().reweigh({"short": 0.5}).keep()
    assert len(rk.runs().delete("v2")) == 1
    assert len(os.listdir("runs/data")) == 1 and rk.runs().names == ["v1"]
    assert scored().reweigh({"short": 0.6}).keep().version.name == "v3"
    with pytest.raises(
        rk.InputError, match=r"no run 'v2' in 'runs'; it has .'v3', 'v1'"
    ):
        rk.runs()["v2"]


@pytest.mark.parametrize("place", ["data/*.parquet", "scored/*/scores.parquet"])
@pytest.mark.parametrize("state", ["gone", "broken"])
def test_runs_whose_rollouts_or_results_are_gone_or_broken_are_marked(
    here, place, state
):
    scored().keep()
    scored(count=8).keep()  # on other rollouts, which stay
    kept = rk.runs()
    assert [item["data_state"] for item in kept.record()["runs"]] == ["there", "there"]
    assert "(" not in repr(kept)
    lost = kept[1]
    (path,) = (
        item
        for item in here.glob(f"runs/{place}")
        if lost.about["data"] in item.name or lost.folder.name in item.parts
    )
    content = path.read_bytes()
    path.unlink()
    if state == "broken":
        path.write_bytes(content[:-20])
    states = [item["data_state"] for item in record("runs")["runs"]]
    assert states == ["there", state]
    lines = [line for line in run("runs").stdout.splitlines() if "memory" in line]
    assert [f"({state})" in line for line in lines] == [False, True]


def test_what_is_gone_from_a_folder_of_runs_is_told(here, caplog):
    empty = "Nothing is kept in 'runs' yet: rewardkit score REWARD LOG --keep"
    assert empty in run("runs").stdout
    scored().keep()
    edit("weight=0.2", "weight=0.4")
    scored().keep()
    assert "Without a scoring" not in run("runs").stdout and not caplog.messages
    shutil.rmtree(rk.runs()["v1"].folder)
    assert "Without a scoring: v1 (" in run("runs").stdout
    told = record("runs")
    assert told["unscored"] == ["v1"]
    assert [item["version"] for item in told["runs"]] == ["v2"]
    shutil.rmtree(here / "runs" / "versions" / "v2")
    assert record("runs")["runs"] == []
    assert "as its version runs/versions/v2 is gone" in caplog.text


def test_a_source_that_was_changed_by_hand_is_told_and_not_restored(here):
    version = scored().keep().version
    assert version.changed_files == []
    assert "changed since" not in run("runs show v1").stdout
    with (version.folder / "source" / "my.py").open("a") as file:
        file.write("# by hand\n")
    assert "(changed since: my.py)" in run("runs show v1").stdout
    refused("runs restore v1 -o old", "the source of v1 is not as it was kept (my.py")
    assert not (here / "old").exists()


@pytest.mark.parametrize("width", [90, 100, 160])
def test_the_table_of_runs_stays_a_table_and_shows_effective_weights(width):
    scores = scored()
    for number in range(1, 4):
        figures = {
            "effective_weights": {"right": 1 - number / 10, "short": number / 10}
        }
        note = f"number {number}, tried as ties fell and an exploit was open before"
        kept = scores.reweigh({"short": number}).keep(note=note, figures=figures)
        kept.version.note_figures({"cases": [number, 20], "exploits": 4 - number})
    token = LINE.set(width - 8)
    try:
        lines = rk.runs().text().splitlines()
    finally:
        LINE.reset(token)
    assert max(map(len, lines)) <= width
    head = " ".join(lines[1:3])
    for name in ("version", "date", "exploits", "against", "note"):
        assert name in head
    assert "tags" not in head and "label" not in head  # nobody has one
    firsts = [line.split()[0] for line in lines if line.strip().startswith("v")]
    assert firsts[-3:] == ["v3", "v2", "v1"]
    assert "version v3" not in " ".join(lines)  # as a sentence would have it
    shares = "v3 right 70, short 30; v2 right 80, short 20; v1 right 90, short 10"
    assert f"Effective weights in %: {shares}" in " ".join(" ".join(lines).split())


def test_a_column_that_says_nothing_is_left_out_and_what_would_fill_it_is_said():
    scores = scored()
    for number in (1, 2):
        scores.reweigh({"short": number}).keep()
    text = " ".join(rk.runs().text().split())
    assert "against parent" not in text
    assert "Better or worse than the parent: not known; `rewardkit score --keep" in text
    for name, exploits in (("v1", 3), ("v2", 1)):
        rk.runs()[name].version.note_figures({"exploits": exploits})
    text = " ".join(rk.runs().text().split())
    assert "exploits better" in text and "than the parent" not in text


def test_the_same_source_under_another_name_is_the_same_version(here):
    scored().keep()
    shutil.copy("my.py", "copy.py")
    assert scored("copy.py").keep().version.name == "v1"
    assert len(rk.runs()) == 1
    card = rk.card(rk.load_reward("copy.py"))
    assert card.run.version.name == "v1"
    Path("copy.py").write_text(FILE.replace("completion) <", "completion) >"))
    assert scored("copy.py").keep().version.name == "v2"


@contextmanager
def as_somebody():
    """Let no file be written that this user may not write; as root one may anything."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_scored():
    here = Path(tempfile.mkdtemp())
    try:
        os.chmod(here, 0o755)
        folder = here / "runs"
        scores, others = scored(), scored(count=8)
        kept = scores.keep(folder=folder)
        for path in [*folder.rglob("*"), folder]:
            os.chmod(path, 0o555 if path.is_dir() else 0o444)
        with as_somebody():
            changes = (
                lambda: scores.keep(folder=folder, note="other"),
                lambda: others.keep(folder=folder),
                lambda: kept.tag("best"),
                lambda: rk.runs(folder).delete("v1"),
            )
            for change in changes:
                with pytest.raises(rk.RolloutsError, match=CANNOT_BE_WRITTEN):
                    change()
        assert len(rk.runs(folder)) == 1 and rk.runs(folder)[0].tags == ()
    finally:
        shutil.rmtree(here)


def test_a_command_says_first_that_what_is_scored_cannot_be_kept(here):
    write_log(rollouts().table)
    (here / "runs").write_text("a file")
    edit("return float(ground_truth", "open('called', 'w'); return float(ground_truth")
    refused(
        "score my.py log.jsonl --keep", "nothing can be kept in 'runs' (File exists"
    )
    assert not (here / "called").exists()


CANNOT_BE_WRITTEN = r"nothing can be kept in '.*' \(Permission denied\); give a folder"


@pytest.mark.parametrize("tag", ["v3", ""])
def test_a_tag_is_not_called_like_a_version(tag):
    with pytest.raises(rk.InputError, match="is no tag"):
        scored().keep(tags=[tag])
    assert len(rk.runs()) == 0


KEEPS = """
scores = rk.score(reward, [{"completion": "1", "ground_truth": "1"}])
scores.keep(note="by hand")
"""


def test_a_reward_file_that_keeps_a_scoring_is_refused_before_anything_is_scored(here):
    calls = "open('called', 'w'); return float(ground_truth in"
    text = FILE.replace("return float(ground_truth in", calls)
    for keeps in (KEEPS, f"for _ in [1]:{KEEPS.replace(chr(10), chr(10) + '  ')}"):
        (here / "my.py").write_text(text + keeps)
        with pytest.raises(rk.RewardError, match=r"my\.py keeps a scoring in line 1\d"):
            rk.load_reward("my.py")
    assert not (here / "called").exists() and not (here / "runs").exists()
    lines = KEEPS.replace("\n", "\n    ")
    for keeps in (f"if __name__ == '__main__':{lines}", f"def again():{lines}"):
        (here / "my.py").write_text(f"{text}\n{keeps}\n")
        assert rk.load_reward("my.py").name == "answers"
    (here / "my.py").write_text(text + "\nkept = 'rewardkit .keep( in a text'\n")
    assert rk.load_reward("my.py").name == "answers"


# --- several processes


def keep_versions(first, count):
    scores = scored()
    for number in range(first, first + count):
        scores.reweigh({"short": 1 + number / 100}).keep(note=str(number))


def test_processes_that_keep_at_once_lose_nothing_and_share_no_number():
    context = multiprocessing.get_context("fork")
    processes = []
    for first in (0, 3, 6):  # 3 and 4, 6 and 7 are kept twice
        processes.append(context.Process(target=keep_versions, args=(first, 5)))
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    kept = rk.runs()
    assert sorted({int(run.note) for run in kept}) == list(range(11))
    weights = {run.version.name: run.scores.reward.weights["short"] for run in kept}
    assert len({*weights.values()}) == 11


def test_a_process_that_is_killed_while_it_keeps_leaves_nothing_unreadable():
    draw = random.Random(0)
    context = multiprocessing.get_context("fork")
    for turn in range(8):
        process = context.Process(target=keep_versions, args=(100 * turn, 100))
        process.start()
        enough = len(rk.runs()) + draw.randint(1, 4)
        while len(list(Path("runs").glob("scored/[!.]*"))) < enough:
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.02))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        for kept in rk.runs():
            assert len(kept.scores) == 12 and kept.version.source
    assert len(rk.runs()) >= 8


# --- the command


def test_an_afternoon_of_edits_at_the_command_line(here):
    write_log(rollouts().table)
    first = record("score my.py log.jsonl --keep --note first")
    assert first["run"]["version"] == "v1"
    edit("weight=0.2", "weight=0.4")
    text = run("score my.py log.jsonl --keep --note 'more for short' --tag best").stdout
    assert "kept as v2 in runs" in text
    table = run("runs").stdout
    assert table.index("v2") < table.index("v1") and "more for short" in table
    assert [item["version"] for item in record("runs")["runs"]] == ["v2", "v1"]
    assert [item["note"] for item in record("runs --tag best")["runs"]] == [
        "more for short"
    ]
    shown = run("runs show best").stdout
    assert "weight=0.2" in shown and "weight=0.4" in shown and "parent: v1" in shown
    changes = record("compare v1 v2")["definition"]["changes"]
    assert changes[0]["what"] == "weight" and changes[0]["after"] == 0.4
    assert "answers" in run("diagnose v2").stdout
    assert "Card of" in run("card best").stdout
    assert "written to card.md" in run("card my.py -o card.md").stdout
    assert "more for short" in (here / "card.md").read_text()
    assert record("card my.py -o card.html")["version"] == "v2"
    assert "</html>" in (here / "card.html").read_text()
    known = (
        "there is no run 'v7' in 'runs', nor a file of that name; it has ['v2', 'best'"
    )
    refused("card v7", known)
    refused("card my.py -o card.txt", "its name ends with .md or .html")
    refused("runs restore v1 -o old.py", "v1 has 2 files (beside.py, my.py)")
    assert "The reward is old/my.py:reward" in run("runs restore v1 -o old").stdout
    refused("runs restore v1 -o old", "exists already")
    refused("runs restore v1", "give -o FILE")
    refused("runs show v7", "no run 'v7'")
    refused("runs show", "missing argument VERSION, such as v2")
    refused("runs delete v1", "Nobody can be asked here; give --yes")
    run("runs tag v1 --tag old --note 'the first one'")
    assert record("runs show old")["run"]["note"] == "the first one"
    assert record("runs delete v1 --yes") == {"deleted": "v1", "runs": 1}
    refused("diagnose v1", "there is no run 'v1' in 'runs', nor a file")


def test_scores_in_a_folder_are_not_written_over_by_another_scoring(here):
    write_log(rollouts().table)
    assert run("score my.py log.jsonl -o out --timeout 0").exit_code == 0
    assert run("score my.py log.jsonl -o out --timeout 0").exit_code == 0  # the same
    before = (here / "out" / "run.json").read_bytes()
    edit("weight=0.2", "weight=0.4")
    refused("score my.py log.jsonl -o out --timeout 0", "'out' holds another scoring")
    assert (here / "out" / "run.json").read_bytes() == before
    assert run("score my.py log.jsonl -o out --force --timeout 0").exit_code == 0
    weights = json.loads((here / "out" / "run.json").read_text())["reward"]["weights"]
    assert weights["short"] == 0.4
    refused("score my.py log.jsonl --note x", "--note is for --keep")


def test_checks_and_probes_are_noted_with_the_version(here):
    write_log(rollouts().table)
    case = {"name": "a", "completion": "1", "ground_truth": "1", "reward": 1.2}
    (here / "cases.jsonl").write_text(json.dumps(case))
    text = run("check my.py cases.jsonl --keep --timeout 0").stdout
    assert (
        "noted with v1 in runs, which lists it once it is scored: rewardkit sc" in text
    )
    record("score my.py log.jsonl --keep --timeout 0")
    again = run("check my.py cases.jsonl --keep --timeout 0").stdout
    assert "noted with v1 in runs (rewardkit runs)" in again
    found = len(
        json.loads(run("probe my.py log.jsonl --keep --json").stdout)["findings"]
    )
    assert found
    (kept,) = record("runs")["runs"]
    assert (
        kept["figures"]["cases"] == [1, 1] and 0 < kept["figures"]["exploits"] <= found
    )
    assert "1 of 1" in run("runs").stdout


def test_a_label_says_which_version_orders_better():
    table = rollouts().table.assign(good=[True, False, False] * 4)
    write_log(table)
    record("score my.py log.jsonl --keep --label good --timeout 0")
    edit("ground_truth in", "'0' in")
    better = record("score my.py log.jsonl --keep --label good --timeout 0")["run"]
    aucs = [item["figures"]["label_auc"] for item in record("runs")["runs"]]
    assert better["figures"]["label_auc"] == aucs[0] > aucs[1]
    assert "label auc 0.25 -> 1" in run("runs").stdout


STOPS = """
import os, signal
from pathlib import Path

def once(completion):
    with open("calls", "a") as file:
        file.write(completion + "\\n")
    if completion == "1 is it!!!!!!!" and not os.path.exists("go on"):
        signal.raise_signal(signal.SIGINT)
    return len(completion) / 100

"""


@pytest.mark.parametrize("to", ["--keep", "-o out"])
def test_an_interrupted_scoring_is_gone_on_with(here, to, caplog):
    """`score -o` refused its own unfinished folder, as one of other rollouts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    write_log(rollouts().table)
    source = FILE.replace(
        "import rewardkit as rk\n", f"import rewardkit as rk{STOPS}", 1
    )
    source = source.replace("reward = ", 'once = rk.Component("once", once)\nreward = ')
    source = source.replace("components=[", "components=[once, ")
    Path("my.py").write_text(source)
    line = f"score my.py log.jsonl {to} --timeout 0"
    try:
        note = "--note stopped --tag t" if to == "--keep" else ""
        stopped = run(f"{line} {note} --json")
    finally:
        signal.signal(signal.SIGINT, before)
    first = json.loads(stopped.stdout)
    assert stopped.exit_code == 130
    assert stopped.stderr.endswith("; the same command goes on\n")
    assert 0 < first["rows"] < first["rows_given"] == 12
    (here / "calls").unlink()
    (here / "go on").touch()
    name = "v1" if to == "--keep" else "out"
    warning = f"{name} is unfinished: {first['rows']} of 12 rollouts; "
    warning += "run the same `score` again"
    for command in (f"diagnose {name}", f"compare {name} {name}"):
        caplog.clear()
        assert warning in record(command)["cautions"]
        assert warning in caplog.messages
    caplog.clear()
    if to == "--keep":
        (kept,) = record("runs")["runs"]
        assert kept["unfinished"] and "(unfinished)" in run("runs").stdout
    again = record(f"{line} {'--note done' if note else ''}")
    calls = (here / "calls").read_text().splitlines()
    assert again["scored_before"] == first["rows"]
    assert len(calls) == 12 - first["rows"]  # the others only
    whole = scored()
    pd.testing.assert_frame_equal(
        rk.load_scores(name).table, whole.table, check_like=True
    )
    assert "scored_before" not in record(line)  # it is finished
    assert "cautions" not in record(f"diagnose {name}")
    assert warning not in caplog.messages
    if to == "--keep":
        (kept,) = record("runs")["runs"]
        assert not kept["unfinished"]
        assert kept["name"] == "v1"  # and no second scoring
        assert (kept["note"], kept["tags"]) == ("stopped; done", ["t"])
        assert len(os.listdir("runs/data")) == 1
    refused_by = rk.load_reward("my.py").reweigh({"short": 0.9})
    with pytest.raises(rk.RewardError, match=r"no interrupted scoring of this reward"):
        rk.score(refused_by, rollouts(), unfinished=whole)


def test_sources_of_one_file_are_compared_whatever_they_are_called():
    lines = source_diff({"a.py": b"x = 1\ny = 2\n"}, {"b.py": b"x = 1\ny = 3\n"})
    assert lines[-2:] == ["-y = 2", "+y = 3"]
    assert source_diff({"a.py": b"x"}, {"b.py": b"x"}) == []
