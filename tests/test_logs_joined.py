"""Joins: what a log lacks comes from the data set of the run, by the prompt in any of its forms."""

import copy

import pandas as pd
import pytest
import trainer_logs as made
from trainer_logs import values

import rewardkit as rk
from rewardkit.rollouts import join

LOG = [{"prompt": "a", "completion": "c"}]
QUESTIONS = [{"question": "5+5?", "answer": "10"}, {"question": "2+2?", "answer": "4"}]


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
    assert f"joined {str(train)!r} by prompt: 4 of 4 rows matched" in " ".join(
        repr(rollouts).split()
    )
    assert "brought" in rollouts.notes[-1] and "ground_truth" in rollouts.notes[-1]


def test_objects_of_a_prompt_that_stands_twice_keep_the_keys_in_which_they_agree():
    """verl's preprocessing numbers each row, and runs repeat rows."""
    log = [{"prompt": "a", "completion": "c"}, {"prompt": "b", "completion": "c"}]
    infos = [{"index": at, "level": 3} for at in range(3)]
    data = rows("a", "a", "b", extra_info=infos)
    rollouts = rk.load_rollouts(log, join=data)
    assert values(rollouts, "extra_info") == [{"level": 3}, infos[2]]
    assert "1 of 2 rows" in rollouts.warnings[0]
    assert "differ in extra_info['index']: left out" in rollouts.warnings[0]
    infos[0]["level"] = 1
    rollouts = rk.load_rollouts(log, join=data)
    assert values(rollouts, "extra_info") == [None, infos[2]]
    assert "differ in extra_info: left missing" in rollouts.warnings[0]


@pytest.mark.parametrize(
    "infos",
    [
        [{"level": 3, "hint": None}, {"level": 3}],
        [{"level": 3}, {"level": 3, "hint": None}],
    ],
    ids=["in the second", "in the first"],
)
def test_a_key_that_one_of_the_objects_lacks_is_none_in_which_they_agree(infos):
    log = [{"prompt": "a", "completion": "c"}]
    rollouts = rk.load_rollouts(log, join=rows("a", "a", extra_info=infos))
    assert [*values(rollouts, "extra_info")[0]] == ["level"]
    assert "differ in extra_info['hint']: left out" in rollouts.warnings[0]


def test_what_a_join_compares_is_read_once(monkeypatch):
    """The prompt of an error, and objects only of rows that lack one."""
    keys_of, texts = join._keys, []

    def keys(value, on):
        texts.append(value)
        return keys_of(value, on)

    monkeypatch.setattr(join, "_keys", keys)
    with pytest.raises(rk.RolloutsError, match="no row of the rollouts matches"):
        rk.load_rollouts(LOG, join=QUESTIONS)
    assert texts.count("a") == 2  # to match, and to show the most like it
    monkeypatch.setattr(join, "_shared_part", None)
    log = [{"prompt": "a", "completion": "c", "extra_info": {"level": 2}}]
    infos = [{"level": 3}, {"level": 4}]
    rollouts = rk.load_rollouts(log, join=rows("a", "a", extra_info=infos))
    assert values(rollouts, "extra_info") == [{"level": 2}]


def test_rows_that_match_nothing_are_counted_and_stay_without_a_truth(train, caplog):
    rollouts = rk.load_rollouts(made.verl_rows(questions=("2+2?", "9+9?")), join=train)
    assert values(rollouts, "ground_truth") == ["4", "4", None, None]
    (sentence,) = rollouts.warnings
    assert (
        "2 of 4 rows match no row" in sentence and "they lack ground_truth" in sentence
    )
    assert any("match no row" in message for message in caplog.messages)
    assert "9+9" not in sentence  # a report without completions shows it


def asked(*texts, system=None):
    above = [{"role": "system", "content": system}] if system else []
    return above + [
        {"role": ("user", "assistant")[at % 2], "content": text}
        for at, text in enumerate(texts)
    ]


def rows(*prompts, **columns):
    """Rows with these prompts, and columns of a value each."""
    return pd.DataFrame({"prompt": prompts, **columns}).to_dict("records")


CHAT = [
    {key: value for key, value in row.items() if key != "gold"}
    for row in made.trl_rows(chat=True)
]
BOTH = (
    rows("a", "b", ground_truth=["log", None], level=[1, 2]),
    rows("a", "b", answer=["A", "B"], level=[1, 1]),
)
TURNS = asked("1+1?", "2", "5+5?"), asked("2+2?", system="Be brief."), asked("2+2?")
SEVERAL = rows(
    asked("Go.", system="A"), asked("Go.", system="B"), answer=["A", "B"], level=[1, 1]
)
OF_A_RUN = {
    "messages": [asked("a", "gold")], "answer": ["4"], "reward": [1.0], "completion": ["gold"], "step": [3],
    "model": ["m"], "score/x": [1], "failed/y": ["no"], "verdict/x": ["{}"], "cost/x": [0.1],
}  # fmt: skip


@pytest.mark.parametrize(
    ("log", "data", "options", "truths", "told", "why"),
    [
        (CHAT, QUESTIONS, {}, ["4", "4", "10", "10"], "", "a plain set of questions"),
        (*BOTH, {}, ["log", "B"],
         "ground_truth is in the log and in|differs in 1 rows|filled 1 missing values of ground_truth",
         "what both have is the log's"),
        (rows(*TURNS), QUESTIONS, {}, ["10", "4", "4"], "1 of 3 rows have turns before the ques", "turns"),
        (rows(*TURNS[1:]), QUESTIONS, {}, ["4", "4"], "", "a system prompt is no turn"),
        (rows(asked("Go.", system="B"), asked("Go.")), SEVERAL, {}, ["B", None],
         "1 of 2 rows match several rows", "several system prompts, of which the log has none"),
        ([{"prompt_id": 2}, {"prompt_id": 1}],
         [{"prompt_id": at, "prompt": f"p{at}", "answer": str(at)} for at in (1, 2)],
         {"on": "prompt_id"}, ["2", "1"], "", "another column takes equal values"),
        (rows("a"), rows("a", **OF_A_RUN), {}, ["4"],
         "left out messages, reward, completion, step, policy, score/x, failed/y, verdict/x, cost/x", "only a run has them"),
    ],
)  # fmt: skip
def test_the_truth_of_a_row_comes_from_the_data_set_and_what_is_odd_is_told(
    log, data, options, truths, told, why
):
    rollouts = rk.load_rollouts(
        [{"completion": "c", **row} for row in log], join=data, **options
    )
    assert values(rollouts, "ground_truth") == truths, why
    said = " ".join([*rollouts.warnings, *rollouts.notes])
    assert [words for words in told.split("|") if words not in said] == [], why
    assert bool(rollouts.cautions) == any(
        word in told for word in ("differs", "turns", "several")
    ), why


def test_a_saved_data_set_is_joined_and_what_the_log_lacks_can_be_set_before_and_nothing_is_changed(
    tmp_path,
):
    log, data = (
        made.verl_rows(),
        made.write_saved_dataset(tmp_path / "set", made.training_rows()),
    )
    before = copy.deepcopy(log)
    rollouts = rk.load_rollouts(log, join=data, fill={"data_source": "gsm8k", "tag": 7})
    assert log == before and values(rollouts, "ground_truth") == ["4", "4", "10", "10"]
    assert (values(rollouts, "data_source"), values(rollouts, "tag")) == (
        ["gsm8k"] * 4,
        [7] * 4,
    )
    assert rollouts.notes[1:3] == (
        "set data_source to 'gsm8k' in 4 of 4 rows",
        "set tag to 7 in 4 of 4 rows",
    )
    assert "left out data_source" in rollouts.notes[3] and rollouts.warnings == ()
    partly = rk.load_rollouts(
        [{**LOG[0], "data_source": "own"}, *LOG], fill={"data_source": "x"}
    )
    assert values(partly, "data_source") == ["own", "x"]
    assert partly.notes == ("set data_source to 'x' in 1 of 2 rows",)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"join": [{"prompt": "2+2?", "answer": "4"}]}, ["Who wrote Faust?", "2+2?"]),
        (
            {
                "join": [
                    {"prompt": at} for at in ("2+2?", "Who wrote Faust? In a word.")
                ]
            },
            [
                "after 'Who wrote Faust?' the rollouts have '', the data set ' In a word.'"
            ],
        ),
        ({"join": QUESTIONS, "on": "promt"}, ["'promt'", "did you mean 'prompt'?"]),
        (
            {"join": QUESTIONS, "on": "completion"},
            ["'completion'", "has ['prompt', 'ground_truth']"],
        ),
        ({"join": [1]}, ["'the joined table' has no rows to join (1 cannot be read)"]),
    ],
)
def test_what_cannot_be_joined_is_an_error_with_what_there_is(options, said):
    with pytest.raises(rk.RolloutsError) as raised:
        rk.load_rollouts(
            [{"prompt": "Who wrote Faust?", "completion": "Goethe"}], **options
        )
    assert [words for words in said if words not in str(raised.value)] == []
