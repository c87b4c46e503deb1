"""Commands on scored rollouts: they print what Python gives, and end in the status that is due."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from commands import record, refused, run, write_rows

import rewardkit as rk
from rewardkit.cli import main
from rewardkit.cli.analyse import read_gates
from rewardkit.cli.output import as_typed
from rewardkit.plain import to_json
from rewardkit.rollouts.paths import bundled

pytestmark = [
    pytest.mark.integration,
    pytest.mark.usefixtures("one_process", "short_rehearsals"),
]

GALLERY = "gallery:arithmetic"
OWN = """
import rewardkit as rk

def spread(completion):
    return (sum(map(ord, completion)) % 101) / 100

def one(completion):
    return 1.0

def is_even(completion):
    print("printed by the user's code")
    return len(completion) % 2 == 0

task = rk.Component("task", spread)
fine = rk.Reward("fine", components=[task])
warned = rk.Reward("warned", components=[task, rk.Component("idle", one, weight=0.1)])
dead = rk.Reward("dead", components=[rk.Component("task", one)])
even = rk.Reward("even", components=[rk.Component("task", is_even)])
"""
CASES = [
    {"name": "lost", "completion": "abc", "reward": [0.9, 1]},
    {"name": "kept", "completion": "ab", "reward": [0.4, 1]},
    {"name": "gained", "completion": "a", "scores": {"task": 0}},
]


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """Scores of the gallery's rewards and of small ones, the file of these, cases, and a trainer's log."""
    folder = tmp_path_factory.mktemp("scored")
    rollouts = rk.load_rollouts(GALLERY)
    table = rollouts.select(rollouts.groups % 8 == 1).table.copy()
    table["good"] = (table["completion"].str.len() % 2).astype(int)
    rollouts = rk.load_rollouts(table)
    (folder / "own.py").write_text(OWN)
    write_rows(folder / "cases.jsonl", CASES)
    own = {
        name: f"{folder}/own.py:{name}" for name in ("fine", "warned", "dead", "even")
    }
    for name, reward in {"good": GALLERY, "flawed": f"{GALLERY}.flawed", **own}.items():
        columns = (
            ["ground_truth"] if name in own else []
        )  # which say that own pay wrong
        log = rk.load_rollouts(table.drop(columns=columns))
        rk.score(rk.load_reward(reward), log).save(folder / name)
    rk.score(rk.load_reward(own["fine"]), rollouts.select(range(6))).save(
        folder / "part"
    )
    names = {"prompt": "input", "completion": "output", "ground_truth": "gts"}
    log = (
        table[[*names]]
        .rename(columns=names)
        .assign(score=table["good"].astype(float), step=1)
    )
    log.to_json(folder / "log.jsonl", orient="records", lines=True)
    return folder


@pytest.fixture(autouse=True)
def inside(scored, monkeypatch):
    monkeypatch.chdir(scored)


SAME = {
    "compare flawed good --seed 3": lambda a: rk.compare(
        a, rk.load_scores("good"), names=["flawed", "good"], seed=3
    ),
    "diagnose flawed --label good --by task --by policy": lambda a: rk.diagnose(
        a, label="good", by=["task", "policy"]
    ),
    "forecast flawed --label good --seed 3": lambda a: rk.forecast(
        a, label="good", seed=3
    ),
    "whatif flawed --weight detail=0": lambda a: rk.whatif(
        rk.diagnose(a), weights={"detail": 0.0}
    ),
    "suspect flawed --pattern because --by task --patched good": lambda a: rk.suspect(
        a, pattern="because", by=["task"], patched=rk.load_scores("good")
    ),
}


@pytest.mark.parametrize("line", SAME)
def test_a_command_prints_what_python_gives_as_text_and_as_json(line):
    command, found = line.split()[0], SAME[line](rk.load_scores("flawed"))
    assert to_json(found.record()).items() <= record(line).items()
    if command != "diagnose":
        assert run(line).stdout == f"{as_typed(str(found), main.commands[command])}\n"


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("diagnose dead", 0),
        ("diagnose dead --fail-on warn", 1),
        ("diagnose warned --fail-on warn", 1),
        ("diagnose warned/scores.parquet --fail-on high", 0),
        ("diagnose fine --fail-on warn", 0),
        ("compare fine dead", 0),
        ("compare fine warned --fail-on warn", 1),
        ("compare fine warned --fail-on high", 0),
        ("compare dead fine --fail-on warn", 0),
        ("compare warned warned --fail-on warn", 0),  # nothing is new
    ],
)
def test_findings_fail_only_where_they_are_to_and_in_a_comparison_only_what_is_new_in_b(
    line, status
):
    assert run(line).exit_code == status


@pytest.mark.parametrize("option", ["", "--verbose"])
def test_diagnose_in_words_says_what_a_person_at_a_terminal_can_do(option):
    diagnosis = rk.diagnose(rk.load_scores("flawed"))
    advice = rk.suggest(diagnosis)
    text = run(f"diagnose flawed {option}").stdout
    for found in (diagnosis, advice):
        assert found.text(verbose=bool(option)).splitlines()[0] in text
    assert not re.search(
        r"verbose=True|rk\.(suggest|diagnose)|scores\.\w|weights=", text
    )
    assert "All: --verbose" in " ".join(text.split()) or option
    tried = [
        line for line in text.splitlines() if line.startswith("      rewardkit whatif ")
    ]
    assert tried
    for line in tried if option else ():  # in full there are all of them
        assert run(line.strip().removeprefix("rewardkit ")).exit_code == 0
    got = record("diagnose flawed")
    assert (got["suggestions"], got["notes"]) == (
        to_json(advice.record()),
        list(advice.notes),
    )


def test_a_case_that_was_lost_is_high_where_the_rewards_are_named_and_rows_of_one_side_are_counted():
    line = "compare fine even --timeout 0 --cases cases.jsonl --reward own.py:fine --reward own.py:even"
    got = record(f"{line} --fail-on high", 1)[
        "cases"
    ]  # what the user's code prints is not on stdout
    assert (got["lost"], got["gained"]) == (["lost"], ["gained"])
    got = record("compare fine part --training scale_rewards=none")
    assert (
        got["matching"]["matched"] == 6 and got["training"]["scale_rewards"] == "none"
    )


def test_a_gate_that_opens_says_how_many_rows_must_be_scored_which_the_reward_itself_does():
    line, closed = (
        "whatif good --gate concise=none",
        rk.load_scores("good").counts["concise"]["gated"],
    )
    said = run(line).stdout
    assert f"{closed} rows must be scored for 'concise' first" in said
    assert "give --reward REWARD" in said and record(line)["to_score"] == {
        "concise": closed
    }
    assert record(f"{line} --reward {GALLERY}")["to_score"] == {}


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        ("--training scale_rewards=none", "group", "none"),
        ("--training scale_rewards=none --weight detail=0", "none", "none"),
        ("--weight detail=0", "group", "group"),
    ],
)
def test_the_settings_before_are_others_only_where_they_are_what_changes(
    options, before, after
):
    got = record(f"whatif flawed {options}")
    assert [
        got[side]["training"]["scale_rewards"] for side in ("before", "diagnosis")
    ] == [before, after]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a=none"], {"a": None}),
        (["a=b==1"], {"a": rk.gate("b", equals=1.0)}),
        (["a=task==two steps"], {"a": rk.gate("task", equals="two steps")}),
        ([" a = b >= 1 "], {"a": rk.gate("b", at_least=1.0)}),
        (
            ["a=b>=0.2", "a=b<=0.5", "c=NONE"],
            {"a": rk.gate("b", at_least=0.2, at_most=0.5), "c": None},
        ),
    ],
)
def test_a_gate_is_read_as_it_is_written(values, expected):
    assert read_gates(None, None, tuple(values)) == expected


@pytest.mark.parametrize(
    ("name", "magic"),
    [("f.png", b"\x89PNG"), ("new/f.svg", b"<?xml"), ("f.PDF", b"%PDF")],
)
def test_forecast_draws_its_curves_into_a_file(tmp_path, name, magic):
    result = run(f"forecast good --plot {tmp_path / name}")
    assert result.exit_code == 0 and result.stdout.endswith(
        f"picture: {tmp_path / name}\n"
    )
    assert (tmp_path / name).read_bytes().startswith(magic)


@pytest.mark.parametrize(
    "line",
    [
        "forecast log.jsonl",
        "whatif log.jsonl --weight score=2",
        "suspect log.jsonl --pattern a",
    ],
)
def test_the_log_of_a_trainer_is_read_with_its_own_scores(line):
    got = record(line)
    assert got["rollouts"]["kind"] == "verl rollout dump"
    assert "score/score" in got.get("curves", {"figure": "score/score"})["figure"]


def test_a_patched_reward_runs_with_what_it_prints_on_stderr_and_none_found_is_no_failure():
    patch = record("suspect even --like 9 --patched own.py:even --label good")[
        "patched"
    ]
    assert (
        patch["earned"] == patch["earn"]
        and patch["right_by"] == "that are right by 'good'"
    )
    none = run("suspect good --pattern 'no such text'")
    assert (
        none.exit_code == 0
        and "completions match the pattern 'no such text'" in none.stdout
    )


def test_a_number_is_a_text_where_the_column_holds_texts():
    got = record("whatif good --gate 'concise=ground_truth==9'")["diagnosis"]
    gate = rk.gate("ground_truth", equals="9")
    found = rk.whatif(rk.load_scores("good"), gates={"concise": gate})
    assert got == to_json(found.diagnosis.record())


CASED = "compare fine even --cases cases.jsonl --reward own.py:{} --reward own.py:even"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("diagnose nowhere", "there is no file 'nowhere'"),
        ("diagnose x --training a.yaml --training b.yaml", "'b.yaml' is a second file"),
        ("diagnose x --fail-on info", "'info' is not one of"),
        ("diagnose x --seed x", "'x' is not a valid integer."),
        ("diagnose good --by good", "--by 'good' differs among the siblings of"),
        ("diagnose good --label god", "did you mean 'good'?"),
        ("diagnose good --label task", "the label 'task' holds "),
        ("forecast good --label task", "of which it is not known what is right"),
        ("compare good own.py", "'own.py' is not a scored table"),
        (
            "compare fine even --reward own.py",
            "--reward names what runs the cases; give --cases too",
        ),
        (
            CASED.format("warned"),
            "'own.py:warned' is not the reward that 'fine' was scored with (fingerprint",
        ),
        ("compare fine", "compare takes two versions or more, not 1"),
        (
            "compare fine even --cases cases.jsonl --reward own.py:fine",
            "--reward is there 1 times, for 2 versions",
        ),
        (
            "whatif good",
            "nothing is to be another; give --weight, --gate or --training",
        ),
        ("whatif good --weight detail", "'detail' is not name=number"),
        ("whatif good --weight concise=x", "concise='x' is not a number"),
        (
            "whatif good --weight concise=1 --weight concise=2",
            "'concise' is given twice, '1' and '2'",
        ),
        ("whatif good --weight concise=1 --seed -1", "-1 is not in the range x>=0"),
        (
            "whatif good --gate concise",
            "'concise' is not NAME=none or NAME=OTHER>=NUMBER",
        ),
        (
            "whatif good --gate 'concise=correct>=x'",
            "compares with 'x', which is no number",
        ),
        (
            "whatif good --gate concise=none --gate 'concise=a>=1'",
            "has one gate; 'none' and 'a' are two",
        ),
        ("whatif good --gate 'concise=a>=1' --gate 'concise=a<=0'", "can never open"),
        ("whatif good --gate concis=none", "did you mean 'concise'?"),
        (
            "whatif good --gate concise=task==1",
            "would never open: no row has task=1; there are",
        ),
        ("forecast good --plot f.txt", "'f.txt' is no picture; its name ends"),
        ("forecast good --column completion=text", "'good' is scored already"),
        ("suspect good", "give --like ID or --pattern REGEX; neither is there"),
        (
            "suspect good --like 3 --pattern a",
            "give --like ID or --pattern REGEX; not both",
        ),
        (
            "suspect good --like=-1",
            "--like '-1' is no rollout_id of these scores, which have ones such as",
        ),
        (
            "suspect good --pattern a --patched nowhere.py",
            "there is no reward file 'nowhere.py'",
        ),
    ],
)
def test_input_that_cannot_be_used_is_one_line_on_stderr_and_exit_2(line, said):
    refused(line, said)


# a run over its steps


def test_monitor_says_what_the_log_of_a_run_has_come_to_and_fails_on_it():
    text = run("monitor gallery:brevity").stdout
    assert "the run: stop" in text and "Since step 30 the task is lost" in text
    told = record("monitor gallery:brevity --fail-on high", status=1)
    assert (told["verdict"], told["since"]) == ("stop", 30)
    assert told["newly_paid"][0]["words"] == "are empty"
    refused(f"monitor {GALLERY} --log-weight generation=1", "has 0 steps")
    refused("monitor gallery:brevity --follow --every -1", "-1.0 is not in the range")


def test_diagnose_opens_with_what_the_run_has_come_to_and_counts_its_alarms():
    text = run("diagnose gallery:brevity").stdout
    gate, as_one = "--gate 'short=exact>=1'", "All steps as one batch"
    assert text.index("the run: stop") < text.index(gate) < text.index(as_one)
    told = record("diagnose gallery:brevity --fail-on high", status=1)
    assert told["monitor"]["verdict"] == "stop"
    assert "step" not in " ".join(finding["part"] for finding in told["findings"])
    assert "monitor" not in record(f"diagnose {GALLERY} --log-weight generation=1")


@pytest.mark.parametrize("line", ["forecast", "whatif --weight short=0.1"])
def test_a_rehearsal_says_first_what_the_run_itself_has_come_to(line):
    text = " ".join(run(f"{line} gallery:brevity").stdout.split())
    assert "The run itself: stop Since step 30 the task is lost" in text
    assert record(f"{line} gallery:brevity")["run"] == {"verdict": "stop", "since": 30}
    one_batch = run(f"forecast {GALLERY} --log-weight generation=1")
    assert one_batch.exit_code == 0 and "The run itself" not in one_batch.stdout


def test_a_log_whose_steps_are_texts_is_diagnosed_as_one_batch(tmp_path):
    rows = []
    for row in rk.load_rollouts("gallery:arithmetic")[:64]:
        rows.append({**row, "step": f"step_{row['rollout_id'] % 2}"})
    file = tmp_path / "log.jsonl"
    write_rows(file, rows)
    assert "monitor" not in record(f"diagnose {file} --log-weight generation=1")


def test_primary_names_the_component_that_is_the_task():
    told = record("monitor gallery:brevity --primary short")
    assert told["verdict"] == "stop"  # stated answers still say what is right
    assert "not from 'short'" in told["notes"][0]
    refused("monitor gallery:brevity --primary brief", "no component 'brief'")


def test_a_run_that_grows_is_followed_until_it_is_interrupted(tmp_path, monkeypatch):
    text = bundled("data/brevity/rollouts.jsonl").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    log = tmp_path / "log.jsonl"
    looks = iter([lines[:128], lines[:384], lines])

    def look(seconds):
        rows = next(looks, None)
        if rows is None:
            raise KeyboardInterrupt
        log.write_text("".join(rows), encoding="utf-8")

    monkeypatch.setattr("rewardkit.cli.watch.time", SimpleNamespace(sleep=look))
    look(0)
    done = run(f"monitor {log} --follow --every 0.1")
    assert done.exit_code == 0, done.output
    assert "waiting: a second step" in done.stderr
    steps = [line for line in done.stdout.splitlines() if line.startswith("step ")]
    assert steps == ["step 40: watch", "step 140: stop"]
    assert done.stdout.count("the run: stop") == 1
    looks = iter([])
    done = run(f"monitor {log} --follow --json --fail-on high")
    assert done.exit_code == 1 and json.loads(done.stdout)["verdict"] == "stop"


@pytest.mark.parametrize(
    ("options", "is_named"),
    [
        ("", True),
        (" --label ok", False),
        (" --log-weight ok=1 --log-weight reward=0", False),  # paid: no check of itself
    ],
)
def test_a_column_that_may_be_a_label_is_named_where_none_is_given(options, is_named):
    rows = [
        {"prompt": "a", "completion": "x", "reward": at % 2, "ok": at % 3 == 0}
        for at in range(24)
    ]
    write_rows(Path("marked.jsonl"), rows)
    printed = run(f"diagnose marked.jsonl{options}").stdout
    assert (
        "'ok' is true or false: if it says which completions are right, add --label ok"
        in printed
    ) is is_named


@pytest.mark.parametrize(
    ("options", "second", "is_logged"),
    [("", 0.5, False), (" --json", 0.5, True), ("", "bad", False)],
)
def test_a_note_on_a_log_stands_once(caplog, options, second, is_logged):
    rows = [
        {"prompt": "a", "completion": f"x{at}", "reward": at % 2, "score": second}
        for at in range(24)
    ]
    write_rows(Path("noted.jsonl"), rows)
    words = "two totals" if second == 0.5 else "'score' holds texts"
    printed = " ".join(run(f"diagnose noted.jsonl{options}").stdout.split())
    assert words in printed
    assert (words in caplog.text) is is_logged


def test_a_note_on_a_log_that_cannot_be_used_is_logged(caplog):
    rows = [{"prompt": "a", "completion": "x", "score": "bad"} for _ in range(4)]
    write_rows(Path("noted.jsonl"), rows)
    assert run("diagnose noted.jsonl").exit_code == 2
    assert "'score' holds texts" in caplog.text
