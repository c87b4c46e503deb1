"""Parts of a log, probes and mutants on two nodes of a Ray cluster: the same as here, whatever happens to a node.

`make test-trainers TRAINERS=ray` runs them where Ray is installed.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from server import said as says
from test_streamed import MEMORY, files_of, in_parts, log_rows, rewards, write

import rewardkit as rk
from rewardkit.cli import main
from rewardkit.scoring import ray_engine
from rewardkit.scoring.calls import Calls
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.ray_calls import workers_on

ray = pytest.importorskip(
    "ray", reason="needs Ray: make test-trainers TRAINERS=ray runs it"
)

SMALL = {"num_cpus": 1, "object_store_memory": 80_000_000}


SUMS = [
    {
        "prompt": f"{n} + {n}?",
        "completion": f"It is {n + m}.",
        "ground_truth": f"{2 * n}",
    }
    for n in range(11, 23)
    for m in (n, 7)
]
CASES = [
    {"completion": "It is 24.", "ground_truth": "24", "reward": 2.0},
    {"completion": "It is 25.", "ground_truth": "24", "reward": 1.0},
]


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two nodes on this machine, with a processor each."""
    from ray.cluster_utils import Cluster

    # Ray's processes give way to all others by default, such as those of other tests
    os.environ["RAY_worker_niceness"] = "0"
    cluster = Cluster(True, head_node_args={**SMALL, "include_dashboard": False})
    cluster.add_node(**SMALL)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def connection(cluster):
    """This process connected to the cluster, as a notebook is from cell to cell."""
    if not ray.is_initialized():
        ray.init(cluster.address, log_to_driver=False, logging_level="CRITICAL")
    return rk.Ray()


def made(*functions):
    parts = [rk.Component(function.__name__, function) for function in functions]
    return rk.Reward("made", components=parts)


def both(reward, path):
    """The bytes of the files that this process writes, and that the nodes write."""
    here, there = path.parent / "here", path.parent / "there"
    in_parts(path, here, reward)
    in_parts(path, there, reward, engine=rk.Ray())
    return files_of(here), files_of(there)


# --- before there is a cluster


def half(completion):
    return 0.5


def test_a_wrong_address_is_refused_in_seconds(tmp_path, monkeypatch):
    monkeypatch.setattr(ray_engine, "CONNECT_SECONDS", 3.0)
    monkeypatch.chdir(tmp_path)
    write(Path("log.jsonl"), log_rows())
    Path("mine.py").write_text("def reward(completion):\n    return 0.5\n")
    words = "score mine.py log.jsonl -o out --memory 96KB --engine ray --address"
    began = time.monotonic()
    result = CliRunner().invoke(main, [*words.split(), "127.0.0.1:1"])
    said = "rewardkit: no Ray cluster answers at '127.0.0.1:1' within 3 s; give the"
    assert result.exit_code == 2 and result.stderr.startswith(said)
    assert result.stderr.count("\n") == 1 and not Path("out").exists()
    assert time.monotonic() - began < 60  # Ray itself waits for minutes


def test_probes_and_mutants_on_no_cluster_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(ray_engine, "CONNECT_SECONDS", 3.0)
    monkeypatch.chdir(tmp_path)
    write(Path("log.jsonl"), SUMS)
    write(Path("cases.jsonl"), CASES)
    Path("mine.py").write_text("def reward(completion):\n    return 0.5\n")
    unanswered = "rewardkit: no Ray cluster answers at '127.0.0.1:1' within 3 s; give"
    for command, said in (
        ("probe mine.py log.jsonl", unanswered),
        ("check mine.py cases.jsonl --mutants", unanswered),
        ("check mine.py cases.jsonl", "--engine is for --mutants, which is not"),
    ):
        words = f"{command} --engine ray --address 127.0.0.1:1"
        result = CliRunner().invoke(main, words.split())
        assert result.exit_code == 2 and said in result.stderr, command
    lock = threading.Lock()

    def locked(completion):
        with lock:
            return 0.5

    for reward, engine, said in (
        (made(locked), rk.Ray(), "reward 'made' cannot be scored on Ray: .*lock.* ins"),
        (made(half), "ray", r"engine='ray' is no engine; give rk.Ray\(\)"),
    ):
        with pytest.raises(rk.RewardError, match=said):
            rk.probe(reward, SUMS, engine=engine)
        with pytest.raises(rk.RewardError, match=said):
            rk.mutants(reward, CASES, engine=engine)
    with pytest.raises(rk.RewardError, match=r"engine= makes calls where .* give time"):
        rk.probe(made(half), SUMS, engine=rk.Ray(), timeout=None)
    monkeypatch.setattr(ray_engine, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"'reward-workbench\[ray\]'"):
        rk.probe(made(half), SUMS, engine=rk.Ray())
    with pytest.raises(ModuleNotFoundError, match=r"'reward-workbench\[ray\]'"):
        rk.mutants(made(half), CASES, engine=rk.Ray())
    assert not ray.is_initialized()


def test_what_cannot_be_scored_on_ray_is_refused_before_ray_starts(
    tmp_path, monkeypatch
):
    path = write(tmp_path / "log.jsonl", log_rows())
    lock = threading.Lock()

    def locked(completion):
        with lock:
            return 0.5

    cases = [
        (made(locked), {}, "reward 'made' cannot be scored on Ray: .*lock.* inside"),
        (made(half), {"workers": 2}, "engine= has its own processes.*leave out work"),
        (made(half), {"to": None}, "engine= scores the parts of a log into a folder"),
        (made(half), {"engine": "ray"}, r"engine='ray' is no engine; give rk.Ray\(\)"),
    ]
    options = {"to": tmp_path / "out", "memory": MEMORY, "engine": rk.Ray()}
    for reward, others, said in cases:
        with pytest.raises(rk.RewardError, match=said):
            rk.score(reward, path, **{**options, **others})
    (tmp_path / "none").mkdir()
    with pytest.raises(rk.RolloutsError, match="no file of rollouts"):
        rk.score(made(half), tmp_path / "none", **options)
    monkeypatch.setattr(ray_engine, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"'reward-workbench\[ray\]'"):
        rk.score(made(half), path, **options)
    assert not ray.is_initialized() and not (tmp_path / "out").exists()


def test_a_node_without_rewardkit_is_told_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "rewardkit.scoring.ray_engine", None)
    seen = ray_engine._node_inspector()({"log.jsonl": "log.jsonl"}, None)
    with pytest.raises(rk.InputError, match=r"^node 7 has no rewardkit, or one that"):
        ray_engine._check_versions("node 7", seen["versions"])


# --- on the cluster


@pytest.mark.parametrize("name", [*rewards(), "scattered groups"])
def test_nodes_write_the_bytes_that_this_process_writes(name, connection, tmp_path):
    rows = log_rows()
    if name not in rewards():
        random.Random(1).shuffle(rows)
    reward = rewards().get(name, rewards()["skips"])
    here, there = both(reward, write(tmp_path / "log.jsonl", rows))
    assert len(here) > 3 and here == there


def sums(folder):
    """A reward with holes, and a loop that a change makes endless; it notes where it is called."""

    def right(completion, ground_truth):
        (folder / os.environ.get("RAY_JOB_ID", "here")).touch()
        time.sleep(
            0.002
        )  # so that few calls go together, and a task has several answers
        at, hits = 0, 0
        while at != len(completion):
            hits += completion[at : at + len(ground_truth)] == ground_truth
            at += 1
        return float(hits > 0)

    def brief(completion):
        return len(completion) < 40

    return made(right, brief)


@pytest.mark.parametrize("work", ["probe", "mutants"])
def test_nodes_find_what_this_process_finds(work, connection, tmp_path):
    reward = sums(tmp_path)
    records = []
    for engine in (None, connection):
        if work == "probe":
            result = rk.probe(reward, SUMS, search=50, budget=1e6, engine=engine)
            assert "containment" in {item.code for item in result.findings}
        else:
            options = {"timeout": 2.0, "budget": 1e6, "engine": engine}
            result = rk.mutants(reward, CASES, SUMS, **options)
            assert any("longer than 2 s" in item.reason for item in result.judged)
        is_on_node = any(path.name != "here" for path in tmp_path.iterdir())
        assert is_on_node == (engine is not None)
        records.append(result.record())
    assert records[0] == records[1]


def a_yes(*_):
    """The answer of a judge to any question."""
    return says(json.dumps({"reason": "so", "level": "yes"}))


def asking(server, **limits):
    """A reward that asks this server, one call at a time."""
    judge = rk.judge(
        "Is {completion} kind?",
        model="tiny",
        base_url=server.url,
        limits=rk.judges.Limits(concurrency=1, retries=0, **limits),
        cache=False,
    )
    return rk.Reward("judged", components=[rk.Component("judged", judge)])


def test_judges_of_all_nodes_ask_within_one_limit_and_budget(
    serve, connection, tmp_path
):
    server = serve(a_yes)
    path = write(tmp_path / "log.jsonl", log_rows(groups=20))
    prices = {"prices": (1e6, 1e6), "budget": 100.0}  # a call costs 8
    for limits in ({}, prices):
        folder = tmp_path / str(len(limits))
        folder.mkdir()
        reward = asking(server, **limits)
        log = shutil.copy(path, folder / "log.jsonl")
        here, there = both(reward, log)
        if not limits:
            assert len(here) > 2 and here == there
    scores = rk.load_scores(folder / "there")
    assert scores.counts["judged"]["scored"] == 13 and server.most_at_once == 1
    errors = scores.table["error/judged"].dropna().unique().tolist()
    assert errors == ["the budget of 100 is used up"]


def test_the_end_of_the_process_that_asks_models_ends_the_scoring_and_no_row_is_an_error(
    serve, connection, tmp_path, monkeypatch
):
    started = []
    start = ray_engine.start_model_process

    def start_and_keep(*arguments):
        started.append(start(*arguments))
        return started[-1]

    def answer(*_):
        if len(server.asked) == 30 and len(started) == 1:
            ray.kill(started[0])
        return a_yes()

    server = serve(answer)
    monkeypatch.setattr(ray_engine, "start_model_process", start_and_keep)
    path = write(tmp_path / "log.jsonl", log_rows(groups=20))
    options = {"to": tmp_path / "out", "memory": MEMORY, "engine": connection}
    with pytest.raises(rk.InputError, match="the process that asks models has ended"):
        rk.score(asking(server), path, **options)
    scores = rk.score(asking(server), path, **options)
    assert scores.counts["judged"] == {
        "scored": 80,
        "gated": 0,
        "abstained": 0,
        "error": 0,
    }
    assert len(server.asked) < 2 * 80


def hangs(completion):
    if completion == "hang":
        time.sleep(10**6)
    return 0.5


def ends(completion):
    if completion == "end":
        os.kill(os.getpid(), signal.SIGKILL)
    return 0.5


@pytest.mark.parametrize(
    ("function", "completion", "timeout", "said"),
    [
        (hangs, "hang", 4.0, "took longer than 4 s"),
        (ends, "end", None, "ended its process (signal SIGKILL)"),
    ],
)
def test_a_call_that_does_not_come_back_costs_its_own_row(
    function, completion, timeout, said, connection, tmp_path
):
    rows = log_rows()
    rows[130]["completion"] = completion
    path = write(tmp_path / "log.jsonl", rows)
    scores = in_parts(
        path, tmp_path / "out", made(function), timeout=timeout, engine=connection
    )
    errors = scores.table[f"error/{function.__name__}"]
    assert {row: error for row, error in errors.items() if error} == {130: said}
    values = scores.table[f"score/{function.__name__}"]
    assert (values.drop(130) == 0.5).all() and len(values) == len(rows)


def test_after_late_calls_nodes_leave_out_the_calls_that_one_worker_leaves_out(
    connection,
):
    texts = ["", "hang", "hang", "hang", *"abcde"]
    answers = []
    for engine in (None, connection):
        with (
            workers_on(engine, made(hangs)) as workers,
            TimeLimit(2.0, patience=2, processes=1, workers=workers) as limit,
        ):
            answers.append(limit.run(Calls(hangs, [texts], {}, len(texts))))
    assert answers[0] == answers[1] and answers[0].count(0.5) == 1


def test_the_code_of_a_reward_need_not_be_on_the_nodes(
    connection, tmp_path, monkeypatch
):
    code = tmp_path / "code"
    code.mkdir()
    (code / "mine_alone.py").write_text("def reward(completion): return 0.25\n")
    (code / "beside_alone.py").write_text("def value(completion): return 0.75\n")
    loaded = rk.load_reward(f"{code / 'mine_alone.py'}:reward")
    monkeypatch.syspath_prepend(code)
    from beside_alone import value

    for path in code.glob("*.py"):
        path.unlink()
    for number, reward in enumerate((loaded, made(value))):
        folder = tmp_path / str(number)
        here, there = both(reward, write(folder / "log.jsonl", log_rows()))
        assert here == there, reward


def test_what_this_process_began_is_gone_on_with_on_the_nodes(connection, tmp_path):
    path = write(tmp_path / "log.jsonl", log_rows())
    out = tmp_path / "out"
    in_parts(path, out)
    whole = files_of(out)
    (out / "run.json").unlink()
    for part in sorted(out.glob("scores-*"))[2:]:
        part.unlink()
    kept = {part: part.stat().st_mtime_ns for part in out.iterdir()}
    ray.shutdown()  # so that it finds the cluster by itself
    in_parts(path, out, engine=rk.Ray())
    assert not ray.is_initialized()
    assert files_of(out) == whole
    assert kept == {part: part.stat().st_mtime_ns for part in kept}
    with pytest.raises(rk.RolloutsError, match="holds another scoring, of 'plain' on"):
        in_parts(path, out, made(half), engine=connection)


def test_a_node_that_is_killed_costs_its_open_part_and_nothing_is_lost_or_twice(
    cluster, connection, tmp_path
):
    node = cluster.add_node(**SMALL)
    calls = tmp_path / "calls"
    calls.mkdir()
    own_calls = calls / str(node.all_processes["raylet"][0].process.pid)

    def waits_for(size):
        """Wait until that node has made so many calls, whatever else this machine does."""
        deadline = time.monotonic() + 240
        while not (own_calls.exists() and own_calls.stat().st_size >= size):
            assert time.monotonic() < deadline, "the node that is killed gets no part"
            time.sleep(0.01)

    def slow(completion):
        """Note who calls: the process whose parent is a node's; that node begins, and never ends its part."""
        mine = calls / str(os.getppid())
        with open(mine, "a") as file:
            file.write("x")
        waits_for(1)
        if mine == own_calls and mine.stat().st_size >= 10:
            time.sleep(600)  # its process outlives the node by up to a second
        time.sleep(0.02)
        return len(completion) / 1000

    path = write(tmp_path / "log.jsonl", log_rows())

    def kill():
        waits_for(10)
        cluster.remove_node(node, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    out = tmp_path / "out"
    scores = in_parts(path, out, made(slow), engine=connection)
    killer.join()
    assert own_calls.stat().st_size >= 10  # it was killed in the middle of a part
    count = sum(file.stat().st_size for file in calls.iterdir())
    rows_of_part = max(len(rk.load_scores(part)) for part in scores.paths)
    # the part that ran there and the one that waited there; no other is scored again
    assert 240 < count <= 240 + ray_engine.TASKS_PER_CPU * rows_of_part
    undisturbed = tmp_path / "undisturbed"
    in_parts(path, undisturbed, made(slow))
    files = files_of(out)
    halves = {name for name in files if name.startswith(".")}
    assert len(halves) <= 1  # what the killed process had begun, for the next run
    assert {name: files[name] for name in files.keys() - halves} == files_of(
        undisturbed
    )


def test_a_node_with_another_rewardkit_is_refused_before_work_starts(
    cluster, connection, tmp_path
):
    path = write(tmp_path / "log.jsonl", log_rows())
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "reward_workbench-0.0.7.dist-info").touch()
    places = [str(tmp_path / "code"), os.environ.get("PYTHONPATH", "")]
    node = cluster.add_node(**SMALL, env_vars={"PYTHONPATH": os.pathsep.join(places)})
    said = "has reward-workbench 0.0.7, and this"
    try:
        with pytest.raises(rk.InputError, match=said):
            in_parts(path, tmp_path / "out", made(half), engine=connection)
    finally:
        cluster.remove_node(node, allow_graceful=False)
    assert not (tmp_path / "out").exists()
