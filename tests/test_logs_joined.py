"""Joins: what a log lacks comes from the data set of the run, by the prompt in any of its forms."""

import copy

import pandas as pd
import pytest
import trainer_logs as made

import rewardkit as rk

LOG = [{"prompt": "a", "completion": "c"}]
QUESTIONS = [{"question": "5+5?", "answer": "10"}, {"question": "2+2?", "answer": "4"}]


def values(rollouts, name):
    return rollouts.columns()[name]


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.parquet"
    pd.DataFrame(made.training_rows()).to_parquet(path)
    return path


def test_a_verl_dump_gets_truth_source_and_extra_info_from_the_training_set(train):
    rollouts = rk.load_rollouts(made.verl_rows(), join=train)
    assert values(rollouts, "ground_truth") == ["4", "4", "10", "10"]
    assert values(rollouts, "data_source") == ["toy"] * 4
    assert values(rollouts, "extra_info")[2] == {"split": "train", "index": 1}
    assert rollouts.group_key == ("prompt", "step", "data_source")
    assert rollouts.warnings == ()
    assert f"joined {str(train)!r} by prompt: 4 of 4 rows matched" in repr(rollouts)
    assert "brought" in rollouts.notes[-1] and "ground_truth" in rollouts.notes[-1]


def test_the_truth_comes_from_a_plain_set_of_questions_and_from_a_saved_data_set(tmp_path):
    rows = [{key: value for key, value in row.items() if key != "gold"} for row in made.trl_rows(chat=True)]
    folder = made.write_saved_dataset(tmp_path / "set", made.training_rows())
    for log, data in ((rows, QUESTIONS), (made.verl_rows(), folder)):
        assert values(rk.load_rollouts(log, join=data), "ground_truth") == ["4", "4", "10", "10"]


def test_rows_that_match_nothing_are_counted_and_stay_without_a_truth(train, caplog):
    rollouts = rk.load_rollouts(made.verl_rows(questions=("2+2?", "9+9?")), join=train)
    assert values(rollouts, "ground_truth") == ["4", "4", None, None]
    (sentence,) = rollouts.warnings
    assert "2 of 4 rows match no row" in sentence and "they lack ground_truth" in sentence
    assert any("match no row" in message for message in caplog.messages)
    assert "9+9" not in sentence  # a report without completions shows it


def test_a_column_that_both_have_is_kept_from_the_log_and_differences_are_counted():
    rows = [{"prompt": "a", "completion": "c", "ground_truth": "log", "level": 1},
            {"prompt": "b", "completion": "c", "ground_truth": None, "level": 2}]  # fmt: skip
    data = [{"prompt": "a", "ground_truth": "set a", "level": 1}]
    data += [{"prompt": "b", "ground_truth": "set b", "level": 2}]
    rollouts = rk.load_rollouts(rows, join=data)
    assert values(rollouts, "ground_truth") == ["log", "set b"]
    warnings = " ".join(rollouts.warnings)
    assert "ground_truth is in the log and in" in warnings and "differs in 1 rows" in warnings
    assert "filled 1 missing values of ground_truth" in rollouts.notes[0]


def test_what_only_a_run_has_is_not_brought_from_a_data_set():
    data = [{"prompt": "a", "messages": [{"role": "assistant", "content": "gold"}], "answer": "4",
             "reward": 1.0, "completion": "gold", "step": 3, "model": "m", "score/x": 1}]  # fmt: skip
    rollouts = rk.load_rollouts(LOG, join=data)
    assert list(rollouts.table) == ["rollout_id", "prompt", "completion", "ground_truth"]
    for column in ("messages", "completion", "step", "policy", "reward", "score/x"):
        assert column in rollouts.notes[0].partition("left out ")[2]


def test_a_join_on_another_column_takes_equal_values():
    rows = [{"prompt_id": at, "completion": "c"} for at in (2, 1)]
    data = [{"prompt_id": at, "prompt": f"p{at}", "answer": str(at)} for at in (1, 2)]
    rollouts = rk.load_rollouts(rows, join=data, on="prompt_id")
    assert (values(rollouts, "prompt"), values(rollouts, "ground_truth")) == (["p2", "p1"], ["2", "1"])


def asked(*texts, system=None):
    above = [{"role": "system", "content": system}] if system else []
    return above + [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]


def test_rows_behind_turns_that_the_data_set_has_not_are_counted_in_a_warning():
    prompts = [asked("1+1?", "2", "5+5?"), asked("2+2?", system="Be brief."), asked("2+2?")]
    log = [{"prompt": prompt, "completion": "c"} for prompt in prompts]
    rollouts = rk.load_rollouts(log, join=QUESTIONS)
    assert values(rollouts, "ground_truth") == ["10", "4", "4"]
    (said,) = rollouts.cautions
    assert said.startswith("1 of 3 rows have turns before the question") and said in rollouts.warnings
    assert rk.load_rollouts(log[1:], join=QUESTIONS).cautions == ()  # a system prompt is no turn


def test_a_question_that_the_data_set_has_under_several_system_prompts_gets_no_truth():
    data = [{"prompt": asked("Go.", system=name), "answer": name, "level": 1} for name in ("A", "B")]
    log = [{"prompt": asked("Go.", system=name), "completion": "c"} for name in ("B", None)]
    rollouts = rk.load_rollouts(log, join=data)
    assert (values(rollouts, "ground_truth"), values(rollouts, "level")) == (["B", None], [1, 1])
    (said,) = rollouts.cautions
    assert "1 of 2 rows match several rows" in said and "differ in ground_truth: left missing" in said


def test_fill_sets_what_the_log_lacks_and_comes_before_the_join_and_nothing_given_is_changed():
    rows = made.verl_rows()
    data = made.training_rows()
    before = copy.deepcopy((rows, data))
    rollouts = rk.load_rollouts(rows, join=data, fill={"data_source": "gsm8k", "tag": 7})
    assert (rows, data) == before
    assert (values(rollouts, "data_source"), values(rollouts, "tag")) == (["gsm8k"] * 4, [7] * 4)
    assert rollouts.notes[1:3] == ("set data_source to 'gsm8k' in 4 of 4 rows", "set tag to 7 in 4 of 4 rows")
    assert "left out data_source" in rollouts.notes[3] and rollouts.warnings == ()
    partly = rk.load_rollouts([{**LOG[0], "data_source": "own"}, *LOG], fill={"data_source": "x"})
    assert values(partly, "data_source") == ["own", "x"]
    assert partly.notes == ("set data_source to 'x' in 1 of 2 rows",)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"join": [{"prompt": "2+2?", "answer": "4"}]}, ["Who wrote Faust?", "2+2?"]),
        ({"join": QUESTIONS, "on": "promt"}, ["'promt'", "did you mean 'prompt'?"]),
        ({"join": QUESTIONS, "on": "completion"}, ["'completion'", "has ['prompt', 'ground_truth']"]),
        ({"join": [1]}, ["'the joined table' has no rows to join (1 cannot be read)"]),
    ],
)
def test_what_cannot_be_joined_is_an_error_with_what_there_is(options, said):
    with pytest.raises(rk.RolloutsError) as raised:
        rk.load_rollouts([{"prompt": "Who wrote Faust?", "completion": "Goethe"}], **options)
    assert [words for words in said if words not in str(raised.value)] == []
