"""`rewardkit whatif`, `forecast` and `diagnose --label`: JSON, exit statuses, input that cannot be used."""

import json

import pytest
from commands import record, refused, run

import rewardkit as rk
from rewardkit.cli.whatif import _gates

GALLERY = "gallery:arithmetic"


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """Folders of scores of the bundled rollouts, which have a column `good` beside."""
    folder = tmp_path_factory.mktemp("scored")
    rollouts = rk.load_rollouts(GALLERY)
    table = rollouts.select(rollouts.groups % 2 == 1).table.copy()
    table["good"] = (table["completion"].str.len() % 2).astype(int)
    table["text"] = "some"
    rollouts = rk.load_rollouts(table)
    rk.score(rk.load_reward(GALLERY), rollouts).save(folder / "fine")
    rk.score(rk.load_reward(f"{GALLERY}.flawed"), rollouts).save(folder / "flawed")
    return folder


@pytest.fixture(autouse=True)
def inside(scored, monkeypatch):
    monkeypatch.chdir(scored)


def test_whatif_is_the_record_of_python():
    got = record("whatif flawed --weight detail=0")
    found = rk.whatif(rk.load_scores("flawed"), weights={"detail": 0.0})
    for side in ("diagnosis", "before"):
        codes = [item.code for item in getattr(found, side).findings]
        assert [item["code"] for item in got[side]["findings"]] == codes
    assert got["to_score"] == {}


def test_a_gate_that_opens_says_how_many_rows_must_be_scored_which_the_reward_itself_does():
    told, closed = run("whatif fine --gate concise=none"), rk.load_scores("fine").counts["concise"]["gated"]
    assert f"{closed} rows must be scored for 'concise' first" in told.stdout
    assert "give --reward REWARD" in told.stdout and "run=True" not in told.stdout
    assert record("whatif fine --gate concise=none")["to_score"] == {"concise": closed}
    got = record(f"whatif fine --gate concise=none --reward {GALLERY}")
    assert got["to_score"] == {}
    assert "abstentions" not in {item["code"] for item in got["diagnosis"]["findings"]}


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        ("--training scale_rewards=none", "group", "none"),
        ("--training scale_rewards=none --weight detail=0", "none", "none"),
        ("--weight detail=0", "group", "group"),
    ],
)
def test_the_settings_before_are_others_only_where_they_are_what_changes(options, before, after):
    got = record(f"whatif flawed {options}")
    assert [got[side]["training"]["scale_rewards"] for side in ("before", "diagnosis")] == [before, after]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a=none"], {"a": None}),
        (["a=b==1"], {"a": rk.gate("b", equals=1.0)}),
        (["a=task==two steps"], {"a": rk.gate("task", equals="two steps")}),
        ([" a = b >= 1 "], {"a": rk.gate("b", at_least=1.0)}),
        (["a=b>=0.2", "a=b<=0.5", "c=NONE"], {"a": rk.gate("b", at_least=0.2, at_most=0.5), "c": None}),
    ],
)
def test_a_gate_is_read_as_it_is_written(values, expected):
    assert _gates(None, None, tuple(values)) == expected


def test_forecast_is_the_record_of_python():
    got = record("forecast fine --label good --follow completion_tokens")
    found = rk.forecast(rk.load_scores("fine"), label="good", columns=["completion_tokens"])
    assert got["best_of"]["points"] == found.best_of.points.tolist()
    assert set(got["best_of"]["curves"]) == set(found.best_of.curves)
    assert got["label"] == "good" and got["plot"] is None and len(got["limits"]) == 3


@pytest.mark.parametrize(
    ("name", "magic"), [("f.png", b"\x89PNG"), ("new/f.svg", b"<?xml"), ("f.PDF", b"%PDF")]
)
def test_forecast_draws_its_curves_into_a_file(tmp_path, name, magic):
    result = run(f"forecast fine --plot {tmp_path / name}")
    assert result.exit_code == 0 and result.stdout.endswith(f"picture: {tmp_path / name}\n")
    assert (tmp_path / name).read_bytes().startswith(magic)


def test_diagnose_takes_a_label_and_slices_and_gives_the_notes():
    got = record("diagnose flawed --label good --by task --by policy")
    diagnosis = rk.diagnose(rk.load_scores("flawed"), label="good", by=["task", "policy"])
    assert [item["sentence"] for item in got["findings"]] == [item.sentence for item in diagnosis.findings]
    assert "label_disagrees" in {item["code"] for item in got["findings"]}
    assert got["notes"] == list(rk.suggest(diagnosis).notes) and got["notes"]
    verdicts = {item.get("verdict") for item in got["suggestions"] if item["kind"] == "change"}
    assert verdicts <= {"improves", "harms", "unclear"}


def test_the_log_of_a_trainer_can_be_forecast_and_varied(tmp_path):
    dump = [
        {"input": f"q{n // 4}", "output": "x" * (1 + n % 3), "gts": "4", "score": float(n % 2), "step": 1}
        for n in range(80)
    ]
    (tmp_path / "1.jsonl").write_text("\n".join(map(json.dumps, dump)))
    expected = record(f"forecast {tmp_path}/1.jsonl")
    assert (expected["rollouts"]["rows"], expected["groups"]) == (80, 20)
    assert "score/score" in expected["best_of"]["curves"]
    got = record(f"whatif {tmp_path}/1.jsonl --weight score=2")
    assert got["rollouts"]["rows"] == got["diagnosis"]["rows"] == 80


def test_a_number_is_a_text_where_the_column_holds_texts():
    first, second = (
        record(f"whatif fine --gate 'concise={on}'")["diagnosis"]["findings"]
        for on in ("ground_truth==5", "task==two-steps")
    )
    found = rk.whatif(rk.load_scores("fine"), gates={"concise": rk.gate("ground_truth", equals="5")})
    assert [item["code"] for item in first] == [item.code for item in found.diagnosis.findings]
    assert first != second


REPORT = f"report --rollouts {GALLERY} --reward {GALLERY} -o pages"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("whatif fine", "nothing is to be another; give --weight, --gate or --training"),
        ("whatif fine --weight detail", "'detail' is not name=number"),
        ("whatif fine --weight concise=x", "concise='x' is not a number"),
        ("whatif fine --gate concise", "'concise' is not NAME=none or NAME=OTHER>=NUMBER"),
        ("whatif fine --gate 'concise=correct>=x'", "compares with 'x', which is no number"),
        ("whatif fine --gate 'concise=a>=1' --gate 'concise=b<=1'", "has one gate; 'a' and 'b' are two"),
        ("whatif fine --gate concise=none --gate 'concise=a>=1'", "has one gate; 'none' and 'a' are two"),
        ("whatif fine --gate 'concise=a>=1' --gate 'concise=a<=0'", "can never open"),
        ("whatif fine --gate concis=none", "did you mean 'concise'?"),
        (f"whatif fine --gate concise=none --reward {GALLERY}.flawed", "is not the reward that"),
        ("whatif fine --gate 'concise=nothing>=1'", "a gate is on 'nothing'"),
        ("whatif fine --weight concise=1 --label god", "did you mean 'good'?"),
        ("whatif fine --weight concise=1 --weight concise=2", "'concise' is given twice, '1' and '2'"),
        ("whatif fine --gate 'concise=text>=1'", "'text' with a number, and it holds 'some'"),
        ("whatif fine --gate concise=task==1", "would never open: no row has task=1; there are"),
        ("whatif fine --gate concise=correct==0.3", "no row has correct=0.3; there are 0.0, 1.0"),
        ("whatif fine --weight concise=1 --seed -1", "-1 is not in the range x>=0"),
        ("diagnose fine --by good", "--by 'good' differs among the siblings of"),
        ("forecast nowhere", "there is no file 'nowhere'"),
        ("forecast fine --follow text", "column 'text' holds 'some'"),
        ("forecast fine --plot f.txt", "'f.txt' is no picture; its name ends"),
        ("forecast fine --column completion=text", "is scored already"),
        ("diagnose fine --label god", "did you mean 'good'?"),
        ("diagnose fine --by tsk", "did you mean 'task'?"),
        (f"{REPORT} --label god", "the rollouts have no column 'god'"),
        (f"{REPORT} --by prompt --redact", "--by ['prompt'] names the slices by texts"),
        (f"{REPORT} --by tsk", "did you mean 'task'?"),
    ],
)
def test_input_that_cannot_be_used_is_one_line_on_stderr_and_exit_2(scored, line, said):
    refused(line, said)
    assert sorted(path.name for path in scored.iterdir()) == ["fine", "flawed"]
