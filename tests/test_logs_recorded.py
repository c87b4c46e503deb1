"""Scores that stand in a log: as a reward of their own, against a reward that is given, and in reports."""

import re

import numpy as np
import pandas as pd
import pytest
import trainer_logs as made
from commands import record, refused, run, write_rows

import rewardkit as rk
from rewardkit.analysis.findings.logs import compare_with_log
from rewardkit.notebook.report import report
from rewardkit.rewards.recorded import is_recorded


def equal(prediction, ground_truth):
    return None if ground_truth is None else prediction == ground_truth


def mine(function=equal, **options):
    fields = {"prediction": rk.extract.tag("answer")}
    return rk.Reward("mine", fields, [rk.Component("acc", function)], **options)


def dump():
    return [row for step in range(1, 21) for row in made.verl_rows(step)]


def codes(diagnosis):
    return [finding.code for finding in diagnosis.findings]


# recorded()


def test_the_scores_of_a_trl_log_are_components_of_weight_one_and_a_missing_one_is_not_judged():
    rows = made.trl_rows()
    rollouts = rk.load_rollouts([*rows[:3], {**rows[3], "right": None, "brief": None}])
    reward = rk.recorded(rollouts)
    assert reward.weights == {"right": 1.0, "brief": 1.0, "n_chars": 0.0}
    assert all(item.range is None for item in reward.components)
    scores = rk.score(reward, rollouts)
    assert scores.table["status/brief"].tolist() == [
        "abstained",
        "scored",
        "abstained",
        "abstained",
    ]
    # as TRL adds them: nansum; what no function judged has no reward
    assert scores.rewards == pytest.approx([0.0, 0.7, 0.0, np.nan], nan_ok=True)


def test_of_a_verl_dump_the_score_is_paid_and_the_rest_recorded():
    rollouts = rk.load_rollouts(made.verl_rows())
    reward = rk.recorded(rollouts)
    assert reward.weights == {"score": 1.0, "acc": 0.0}
    assert rk.score(reward, rollouts).rewards.tolist() == [1.0, 0.0, 0.0, 1.0]
    endless = rk.load_rollouts(
        [{**row, "score": float("inf")} for row in made.verl_rows()]
    )
    assert rk.score(rk.recorded(endless), endless).counts["score"]["error"] == 4


def test_a_label_is_found_under_its_own_name_also_where_it_is_a_score_of_the_log():
    rows = dump()
    for at, row in enumerate(rows):
        row["acc"] = row["acc"] or at % 3 == 0
    rollouts = rk.load_rollouts(rows)
    scores = rk.score(rk.recorded(rollouts), rollouts)
    for label in ("acc", "logged/acc"):
        diagnosis = rk.diagnose(scores, label=label)
        assert diagnosis.views[0].context.label_name == "logged/acc"
        assert "no independent check" not in str(diagnosis)
        assert rk.whatif(diagnosis, label=label, training={"scale_rewards": "none"})
        forecast = rk.forecast(scores, label=label)
        assert forecast.record()["label"] == "logged/acc"
        right = rk.suspect(scores, pattern="4", label=label).right
        assert right is not None
    with pytest.raises(rk.InputError, match="no column 'accuracy'"):
        rk.diagnose(scores, label="accuracy")


def test_a_number_that_the_log_lacks_is_none_that_a_function_did_not_return():
    lacking = [
        {**row, "score": np.nan} if at % 5 == 0 else row
        for at, row in enumerate(dump())
    ]
    rollouts = rk.load_rollouts(lacking)
    (item,) = rk.diagnose(rk.score(rk.recorded(rollouts), rollouts))["abstentions"]
    assert "The log has no number in 'score' on " in item.sentence
    assert "returned" not in item.sentence and "no function ran" in item.advice


def test_a_label_that_is_the_same_in_every_row_is_of_no_use_and_that_is_said():
    rollouts = rk.load_rollouts([{**row, "ok": True} for row in dump()])
    scores = rk.score(rk.recorded(rollouts), rollouts)
    (item,) = rk.diagnose(scores, label="ok")["label_unusable"]
    assert "'logged/ok' is 1 wherever it has a value" in item.sentence


@pytest.mark.parametrize(
    ("second", "said"), [([1.0, 0.0], 0), ([1.0, 0.5], 1), ([1.0, None], 1)]
)
def test_a_log_with_two_totals_says_which_was_taken_where_they_differ(second, said):
    rows = []
    for reward, score in zip([1.0, 0.0], second, strict=True):
        rows.append({**PLAIN[0], "reward": reward, "score": score})
    rollouts = rk.load_rollouts(rows)
    assert rollouts.logged.weights == {"reward": 1.0, "score": 0.0}
    warnings = [text for text in rollouts.warnings if "two totals" in text]
    assert len(warnings) == said
    if said:
        assert "differ in 1 of 2 rows: took 'reward'" in warnings[0]


@pytest.mark.parametrize("score", ["0.0", "good"])
def test_a_column_of_scores_that_holds_texts_is_named(score):
    rollouts = rk.load_rollouts([{**PLAIN[0], "reward": score}])
    assert not rollouts.logged
    assert any(
        f"'reward' holds texts, such as '{score}'," in warning
        for warning in rollouts.warnings
    )


@pytest.mark.parametrize(
    ("labels", "mapped", "why"),
    [
        (["12", "4"], "label", "texts are the truth"),
        ([12, 4], "label", "whole numbers are the truth"),
        ([0.0, 2.0], None, "ratings are none"),
        ([1, 0], None, "verdicts are none"),
        (["correct", None], None, "nor are they in words"),
        ([["a", "b"], ["b"]], None, "sets of labels stay labels"),
    ],
)
def test_a_column_called_label_is_the_truth_unless_it_says_what_is_right(
    labels, mapped, why
):
    rows = [{**PLAIN[0], "label": label} for label in labels]
    mapping = rk.load_rollouts(rows).mapping
    assert mapping.get("ground_truth") == mapped, why
    with_truth = rk.load_rollouts([{**row, "answer": "4"} for row in rows])
    assert with_truth.mapping["ground_truth"] == "answer"


PLAIN = [{"prompt": "p", "completion": "c", "level": 3, "tag": "x"}]


@pytest.mark.parametrize(
    ("rows", "given", "weights"),
    [
        (PLAIN, {"level": 2.0}, {"logged_level": 2.0}),
        (made.trl_rows(), {"brief": -1.0, "advantage": 0.5},
         {"right": 1.0, "brief": -1.0, "n_chars": 0.0, "logged_advantage": 0.5}),
        ([{"prompt": row["prompt"], "completion": row["completion"], "ground_truth": "4", **row}
          for row in made.trl_rows()], None, {"right": 1.0, "brief": 1.0, "n_chars": 0.0}),  # in another order
        ([{**made.verl_rows()[0], "a b": 1.0, "a-b": 2.0, "1st": 3.0}], None,  # names that no component has
         {"score": 1.0, "acc": 0.0, "a_b": 0.0, "a_b_2": 0.0, "score_1st": 0.0}),
    ],
)  # fmt: skip
def test_weights_are_given_and_make_components_of_other_numbers(rows, given, weights):
    assert rk.recorded(rk.load_rollouts(rows), given).weights == weights


@pytest.mark.parametrize(
    "rows",
    [
        [{**row, "reward": 1.0 - row["score"]} for row in dump()],
        [{**PLAIN[0], "reward": 0.5, "total_reward": 1.0}] * 2,
    ],
    ids=["verl's beside its score", "total_reward"],
)
def test_a_second_total_is_told_in_any_form_of_log(rows):
    warnings = rk.load_rollouts(rows).warnings
    assert len([text for text in warnings if "two totals" in text]) == 1


UNNAMED = [
    {"prompt": f"p{at // 2}", "completion": f"{at}", "seed": at, "row_index": at, "judge": at % 2 > 0,
     "difficulty": at // 2, "constant": 1.0, "reward_a": at / 4, "is_correct": at > 1}
    for at in range(4)
]  # fmt: skip
NO_SCORES = rk.load_rollouts(PLAIN)


@pytest.mark.parametrize(
    ("rollouts", "weights", "said"),
    [
        (NO_SCORES, None, "holds no scores of a trainer; no column of numbers can be one; score it with a reward first: "
         "rewardkit score REWARD LOG -o DIR, then give DIR"),
        (rk.load_rollouts([{**PLAIN[0], "answer": "7"}]), None, "'rewardkit new NAME --log FILE' writes a REWARD"),
        (rk.load_rollouts(UNNAMED), None, "columns that can be scores are 'is_correct', 'reward_a', 'judge': name"),
        (rk.load_rollouts([{**PLAIN[0], "right": "1.0", "answer": "7"}]), None, "['right'] hold numbers as texts"),
        (NO_SCORES, {"levl": 1.0}, "did you mean 'level'?"),
        (NO_SCORES, {"tag": 1.0}, "the weights name 'tag'"),
        (NO_SCORES, ["n"], "weights=['n'] is not a dict"),
        ("a", None, "recorded takes Rollouts, not 'a'"),
        (None, None, "recorded takes Rollouts, not None"),
    ],
)  # fmt: skip
def test_what_recorded_cannot_take_is_one_sentence(rollouts, weights, said):
    with pytest.raises(rk.RewardError, match=re.escape(said)):
        rk.recorded(rollouts, weights)


def test_a_log_alone_is_diagnosed_suggested_on_and_saved(tmp_path):
    rollouts = rk.load_rollouts(dump())
    scores = rk.score(rk.recorded(rollouts), rollouts, timeout=5)
    diagnosis = rk.diagnose(scores)
    assert "log_mismatch" not in codes(diagnosis)
    rk.suggest(diagnosis)
    again = rk.load_scores(scores.save(tmp_path / "run"))
    assert (again.rollouts.kind, again.rollouts.logged) == (
        rollouts.kind,
        rollouts.logged,
    )
    assert (
        is_recorded(again.reward)
        and is_recorded(scores.reward)
        and not is_recorded(mine())
    )
    assert "log_mismatch" not in codes(rk.diagnose(again.reweigh({"score": 3.0})))
    assert repr(rk.explain(scores.reward, rollouts[0]).result.reward) == "1.0"


# log_mismatch


@pytest.mark.parametrize(
    ("reward", "rows"),
    [
        (
            mine(),
            [
                {**row, "score": None, "acc": None} if at % 2 else row
                for at, row in enumerate(dump())
            ],
        ),
        (mine(transform=rk.weigh.standardise()), dump()),
    ],
    ids=["rows that only the reward judges", "the raw reward is compared"],
)
def test_a_reward_that_gives_what_the_log_has_is_silent(reward, rows):
    scores = rk.score(reward, rk.load_rollouts(rows, join=made.training_rows()))
    assert {"log_mismatch", "log_not_compared"}.isdisjoint(codes(rk.diagnose(scores)))


@pytest.mark.parametrize(
    ("logged", "rows"),
    [
        ([0.3333, 0.6667, 0.1235], 0),
        ([0.333, 0.667, 0.123], 0),
        ([0.33, 0.67, 0.12], 3),  # of two decimals a step may be another score
        ([0.3333, 0.6666, 0.1235], 1),
        ([0.33334, 0.666667, 0.123456], 1),
    ],
)
def test_scores_that_a_log_rounds_are_the_same(logged, rows):
    ours = np.array([1 / 3, 2 / 3, 0.123456])
    assert compare_with_log(ours, np.array(logged))[0]["rows"] == rows


def test_a_reward_that_gives_something_else_is_the_first_finding_with_rows_and_numbers(
    tmp_path,
):
    faulty = mine(
        lambda prediction, ground_truth: (
            prediction == ground_truth and ground_truth == "4"
        )
    )
    scores = rk.score(faulty, rk.load_rollouts(dump(), join=made.training_rows()))
    total, component = rk.diagnose(scores).findings[:2]
    assert (total.code, total.component, total.severity) == (
        "log_mismatch",
        None,
        "high",
    )
    assert (component.code, component.component) == ("log_mismatch", "acc")
    wrong = set(
        scores.table.loc[
            scores.table["logged/score"] != scores.table["reward"], "rollout_id"
        ]
    )
    assert len(total.rollout_ids) == 5 and set(total.rollout_ids) <= wrong
    told = (
        "'logged/score'",
        "20 of 80 rows differ (25 %) by up to 1 ",
        "mean 0.25 here, 0.5 in the log",
    )
    assert [words for words in told if words not in total.sentence] == []
    assert (
        codes(rk.diagnose(rk.load_scores(scores.save(tmp_path / "run"))))[0]
        == "log_mismatch"
    )


@pytest.mark.parametrize(
    ("is_lacking", "sentence"),
    [
        (lambda at: at // 4 % 3 == 0, "Only rows that lack 'info' differ: 14 of 28."),
        (lambda at: at < 40, "Only rows that lack 'info' differ: 20 of 40."),
        (lambda at: at % 3 == 0, None),
    ],
    ids=["by prompts", "others lack it, too", "rows that have it differ"],
)
def test_a_column_that_all_rows_that_differ_lack_is_the_cause(is_lacking, sentence):
    """Of a join that left an object out where a prompt stands in several rows."""

    def right(completion, ground_truth, info):
        share = 1.0 if isinstance(info, dict) else 0.5
        return (completion == ground_truth) * share

    rows = []
    for at in range(80):
        row = {"prompt": f"{at // 4}?", "completion": f"{at % 2}", "ground_truth": "1"}
        score = 0.7 if sentence is None and at == 1 else float(at % 2)
        rows.append(
            {**row, "info": None if is_lacking(at) else {"a": 1}, "score": score}
        )
    component = rk.Component("right", right)
    scores = rk.score(rk.Reward("r", components=[component]), rk.load_rollouts(rows))
    (finding,) = rk.diagnose(scores)["log_mismatch"]
    if sentence is None:
        assert "lack 'info'" not in finding.sentence
    else:
        assert sentence in finding.sentence


def test_a_log_of_several_functions_without_a_total_is_compared_by_name():
    rollouts = rk.load_rollouts(
        [row for step in range(20) for row in made.trl_rows(step)]
    )

    def found(name, paid, code):
        component = rk.Component(name, lambda completion: paid * (completion == "10"))
        return rk.diagnose(rk.score(rk.Reward("r", components=[component]), rollouts))[
            code
        ]

    assert not found("right", 0.2, "log_mismatch")
    (finding,) = found("right", 0.3, "log_mismatch")
    assert finding.component == "right" and finding.evidence[
        "largest"
    ] == pytest.approx(0.1)
    (finding,) = found("mine", 1.0, "log_not_compared")
    assert (
        "'right', 'brief', 'n_chars'" in finding.sentence and finding.severity == "info"
    )


# the command line and reports


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a verl dump, its training set and numbers that no trainer wrote."""
    monkeypatch.chdir(tmp_path)
    made.write_jsonl(tmp_path / "dump/1.jsonl", dump())
    pd.DataFrame(made.training_rows()).to_parquet(tmp_path / "train.parquet")
    made.write_jsonl(
        tmp_path / "plain.jsonl",
        [{"prompt": "p", "completion": "x", "n": n} for n in range(4)],
    )
    return tmp_path


def test_score_joins_on_a_column_and_sets_one_and_what_is_scored_is_not_read_again(
    folder,
):
    said = run(
        "score logged dump --join train.parquet --on prompt --set run=7 -o run"
    ).stdout
    assert "verl rollout dump" in said and "80 of 80 rows matched" in said
    assert pd.read_parquet(folder / "run/scores.parquet")["run"].tolist() == [7] * 80
    for reading in ("--join train.parquet", "--log-weight score=1", "--set a=b"):
        refused(f"diagnose run {reading}", "is scored already")
    refused(
        "diagnose plain.jsonl",
        "'n': name those to take (--log-weight NAME=NUMBER), or",
    )
    refused(
        "report --rollouts dump --cases gallery:arithmetic",
        "cannot be checked against cases",
    )


def test_the_pages_of_a_report_read_the_log_as_the_report_does(folder, here):
    reading = {
        "join": "train.parquet",
        "fill": {"run": "a"},
        "log_weights": {"acc": 1.0, "score": 0.0},
    }
    pages = report(["logged"], "dump", "pages", reading=reading)
    assert pages.failed == [] and [item.name for item in pages.summaries] == ["logged"]
    build, analyze = (
        (folder / f"pages/logged/{stem}.html").read_text()
        for stem in ("01_build", "03_analyze")
    )
    assert analyze.count("80 of 80 rows matched") == 1
    for page in (build, analyze):
        assert re.search(
            r"log_weights.{1,20}\{.*acc.*: 1.0", re.sub("<[^>]*>", "", page)
        )


# numbers of a log that are no scores


def swift_rows(**columns):
    """A log of ms-swift, a row a completion: four prompts with two right of four completions."""
    rows = []
    for prompt, target in enumerate((34, 50, 12, 77)):
        for place in range(4):
            row = {
                "step": "1",
                "prompt": f"Reach {target} in exercise {prompt}.",
                "completion": f"It is {target if place % 2 else 5}.",
                **{name: of(target, place) for name, of in columns.items()},
                "Reached": float(place % 2),
                "advantages": 1.0 if place % 2 else -1.0,
            }
            rows.append(row)
    return rows


def reached(completions, target, **kwargs):
    return [
        float(f" {number:g}." in text)
        for text, number in zip(completions, target, strict=True)
    ]


def on_budget(completion, budget):
    return float(len(completion) < budget)


@pytest.mark.parametrize(
    ("columns", "scores"),
    [
        ({"target": lambda target, place: target}, ["Reached"]),
        ({"level": lambda target, place: target % 5}, ["Reached"]),
        ({"Tidy": lambda target, place: float(target > 40)}, ["Tidy", "Reached"]),
        ({"Brief": lambda target, place: target + place}, ["Brief", "Reached"]),
        ({"level_reward": lambda target, place: target}, ["level_reward", "Reached"]),
    ],
    ids=[
        "the truth of a prompt",
        "a level of a prompt",
        "two values may be scores",
        "it differs among siblings",
        "it is called a reward",
    ],
)
def test_numbers_that_a_prompt_has_once_are_data_and_no_scores(columns, scores):
    rollouts = rk.load_rollouts(swift_rows(**columns))
    assert [*rollouts.logged.components] == scores
    is_told = any(
        "for data of the prompts, no score" in note for note in rollouts.notes
    )
    assert is_told == (len(scores) == 1) == (rollouts.logged.total is not None)


def test_a_column_is_a_score_where_the_log_has_no_other():
    rows = swift_rows(target=lambda target, place: target)
    alone = [{name: row[name] for name in row if name != "Reached"} for row in rows]
    assert rk.load_rollouts(alone).logged.total == "logged/target"


def test_a_reward_gets_a_number_of_the_log_that_it_asks_for_by_name(no_workers):
    rollouts = rk.load_rollouts(swift_rows(target=lambda target, place: target))
    reward = rk.load_reward(f"{__file__}:reached", rollouts=rollouts)
    assert rk.score(reward, rollouts).rewards.tolist() == [0.0, 1.0] * 8
    rows = [{**row, "budget": 20 + at} for at, row in enumerate(dump())]
    rollouts = rk.load_rollouts(rows)
    assert "logged/budget" in rollouts.table
    reward = rk.load_reward(f"{__file__}:on_budget", rollouts=rollouts)
    assert "budget from logged/budget" in reward.origin
    assert set(rk.score(reward, rollouts).rewards) == {1.0}


def test_what_a_verl_dump_has_of_the_data_set_is_no_column_of_the_reward_function():
    rows = [{**row, "extra_info": {"index": at}} for at, row in enumerate(dump())]
    rollouts = rk.load_rollouts(rows)
    assert rollouts[3]["extra_info"] == {"index": 3}
    assert "logged/extra_info" not in rollouts.table


def test_the_weights_of_the_settings_hold_in_every_analysis(tmp_path):
    rollouts = rk.load_rollouts("gallery:brevity")
    scores = rk.score(rk.recorded(rollouts), rollouts)
    path = tmp_path / "grpo.yaml"
    path.write_text("reward_weights: [1.0, 2e-1]\nnum_generations: 8\n")
    for settings in (path, {"reward_weights": [1.0, 0.2]}):
        diagnosis = rk.diagnose(scores, training=settings)
        assert diagnosis.scores.reward.weights == {"exact": 1.0, "short": 0.2}
        assert "functions weighed 1, 0.2" in str(diagnosis)
        assert not diagnosis["total_of_parts"]  # nobody looked whether it is
        watched = rk.monitor(scores, training=settings)
        assert watched.weights["short"]["weight"] == 0.2
    with pytest.raises(
        rk.InputError, match="3 reward_weights, and the reward 'logged'"
    ):
        rk.diagnose(scores, training={"reward_weights": [1, 2, 3]})
    with pytest.raises(rk.InputError, match="is not a list of numbers"):
        rk.Training(reward_weights=("a", "b"))


FUNCTIONS = """
def right(completions, answer, **kwargs):
    return [float(text.startswith(truth)) for text, truth in zip(completions, answer)]

def short(completions, **kwargs):
    return [1 - len(text) / 40 for text in completions]
"""


def trained_on(weights):
    """A TRL log of 24 prompts, with the advantages of `FUNCTIONS` weighed so and divided by nothing."""
    draw = np.random.default_rng(0)
    rows = []
    for prompt in range(24):
        texts = [f"{draw.integers(2)}{'.' * draw.integers(20)}" for _ in range(8)]
        scores = [(float(text.startswith("1")), 1 - len(text) / 40) for text in texts]
        totals = np.array(scores) @ weights
        for text, (is_right, brief), total in zip(texts, scores, totals, strict=True):
            row = {"step": prompt // 4, "prompt": f"{prompt}?", "completion": text}
            row |= {"answer": "1", "right": is_right, "short": brief}
            rows.append({**row, "advantage": total - totals.mean()})
    return rows


def test_functions_without_weights_have_those_of_the_log_or_of_the_settings(tmp_path):
    rows, file, log = (
        trained_on([1.0, 0.2]),
        tmp_path / "paid.py",
        tmp_path / "log.jsonl",
    )
    write_rows(log, rows)
    file.write_text(FUNCTIONS)
    reward = rk.load_reward(f"{file}:right,short", rollouts=rk.load_rollouts(log))
    assert reward.weights == pytest.approx({"right": 1.0, "short": 0.2}, abs=1e-3)
    assert "weighed 1, 0.2, as the log's advantages fit" in reward.origin
    assert rk.load_reward(f"{file}:right,short").weights["short"] == 1.0
    file.write_text(
        f"{FUNCTIONS}\ndef main(): a(reward_funcs=[right, short], reward_weights=[1, 3])"
    )
    assert rk.load_reward(file, rollouts=rk.load_rollouts(log)).weights["short"] == 3
    weights = "--training reward_weights=[1.0,0.5]"
    record(f"score {file} {log} {weights} -o {tmp_path}/scored")
    scores = rk.load_scores(tmp_path / "scored")
    assert scores.reward.weights == {"right": 1.0, "short": 0.5}
    case = {"completion": "1....", "answer": "1", "reward": 1.4375}
    write_rows(tmp_path / "cases.jsonl", [case])
    assert record(f"check {file} {tmp_path}/cases.jsonl {weights}")["passed"] == 1
    refused(
        f"check {file} {tmp_path}/cases.jsonl --training reward_weights=[1,2,3]",
        "3 reward_weights",
    )


def test_a_lone_score_of_the_log_is_compared_with_its_component_not_with_the_total():
    rows = [
        {"prompt": f"p{place // 4}", "completion": f"{place % 3}", "accuracy": None}
        for place in range(80)
    ]
    for row in rows:
        row["accuracy"] = float(row["completion"] == "1")
    rollouts = rk.load_rollouts(
        pd.DataFrame(rows).rename(columns={"accuracy": "score"})
    )
    assert rollouts.logged.total == "logged/score"
    right = rk.Component("score", lambda completion: float(completion == "1"))
    even = rk.Component("even", lambda completion: int(completion) % 2, weight=0.5)
    scores = rk.score(rk.Reward("r", components=[right, even]), rollouts)
    assert "log_mismatch" not in codes(rk.diagnose(scores))
