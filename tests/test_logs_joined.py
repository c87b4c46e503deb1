"""Joins: what a log lacks comes from the data set of the run, by the prompt in any of its forms."""

import copy
import importlib.util
import random
import time
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardkit as rk
from rewardkit.rollouts.join import match_values
from rewardkit.rollouts.matching import match_prompts, normal

_spec = importlib.util.spec_from_file_location("trainer_logs", Path(__file__).with_name("trainer_logs.py"))
made = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made)

QUESTION = "What is 2 plus 2? Put the number behind ####."
CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
OTHERS = ["What is 2 plus 2?", "What is 5 plus 5?", "plus", "Why?"]
CHATML = "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
LLAMA = (
    "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nToday Date: 26 Jul 2024\n\n<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
)


def values(rollouts, name):
    return rollouts.columns()[name]


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param(QUESTION, id="plain question"),
        pytest.param(f"  {QUESTION}\n", id="white space around"),
        pytest.param(QUESTION.replace(" ", "\n", 1), id="white space inside"),
        pytest.param(CHAT, id="the same messages"),
        pytest.param(CHAT[1:], id="messages without the system prompt"),
        pytest.param(
            [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}], id="content in parts"
        ),
        pytest.param(CHATML.format(QUESTION), id="ChatML"),
        pytest.param(made.rendered(QUESTION), id="ChatML without its special tokens, as verl dumps it"),
        pytest.param(CHATML.format(QUESTION) + "<think>\n", id="with a thought opened"),
        pytest.param(LLAMA.format(QUESTION), id="Llama 3"),
        pytest.param(
            f"system\n\nToday.\n\nuser\n\n{QUESTION}assistant\n\n", id="Llama 3 without special tokens"
        ),
        pytest.param(
            f"<bos><start_of_turn>user\n{QUESTION}<end_of_turn>\n<start_of_turn>model\n", id="Gemma"
        ),
        pytest.param(f"user\n{QUESTION}\nmodel\n", id="Gemma without special tokens"),
        pytest.param(f"<s>[INST] {QUESTION} [/INST]", id="Mistral"),
        pytest.param(f"<｜begin▁of▁sentence｜>Be kind.<｜User｜>{QUESTION}<｜Assistant｜>", id="DeepSeek"),
        pytest.param(f"<|system|>\nBe kind.<|end|>\n<|user|>\n{QUESTION}<|end|>\n<|assistant|>\n", id="Phi"),
        pytest.param(f"Human: {QUESTION}\n\nAssistant:", id="Human and Assistant"),
        pytest.param(
            [*CHAT, {"role": "assistant", "content": "5"}, {"role": "user", "content": QUESTION}],
            id="asked again",
        ),
        pytest.param(
            f"user\nWhat is 1 plus 1?\nassistant\n2\nuser\n{QUESTION}\nassistant\n", id="behind an example"
        ),
    ],
)
def test_a_prompt_is_found_in_every_form(prompt):
    for row in (QUESTION, CHAT):
        found = match_prompts([prompt], [*OTHERS[:2], row, *OTHERS[2:]])
        assert found.rows == [[2]], row
        assert not found.unclear


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ("What is 2 plus 20?", "a longer number"),
        ("What is 12 plus 2?", "what starts inside of a word"),
        ("What is 2 plus 2? And 3 more?", "the start of a longer question"),
        ("Tell me: What is 2 plus 2?", "the end of a longer question"),
        (made.rendered("Tell me. What is 2 plus 2?"), "the end of a longer turn"),
        (made.rendered("What is 2 plus 2? And 3 more?"), "the start of a longer turn"),
        ([{"role": "assistant", "content": "What is 2 plus 2?"}], "what no user said"),
        ([{"role": "user", "content": ""}], "an empty message"),
        ("", "an empty text"),
        ("What is 2 plus 2? assistant", "a question about a word that templates use"),
        ("user\nWhat is 2 plus 2? AI\nassistant", "a word behind it that is a role elsewhere"),
        (None, "no prompt"),
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value else None,
)
def test_what_is_another_question_is_not_matched(prompt, why):
    assert not any(match_prompts([prompt], ["What is 2 plus 2?", "plus"]).rows), why


def test_words_around_a_question_are_a_template_where_other_questions_stand_between_them():
    framed = "Solve this problem. {} Think first, then answer."
    data = ["What is 2 plus 2?", "What is 5 plus 5?"]
    assert match_prompts([framed.format(text) for text in data], data).rows == [[0], [1]]
    assert match_prompts([framed.format(data[0])] * 8, data).rows == [[]] * 8


def test_of_questions_inside_one_another_the_longest_counts():
    data = ["What is 2 plus 2?", "What is 2 plus 2? Show your work.", "Show your work."]
    assert match_prompts([made.rendered(text) for text in data], data).rows == [[0], [1], [2]]


def test_a_question_inside_of_a_longer_one_does_not_make_that_unclear():
    data = ["Note: 2 plus 2?", "Note: 5 plus 5?", "2 plus 2?", "5 plus 5?"]
    found = match_prompts([made.rendered(text) for text in data[:2]], data)
    assert (found.rows, found.unclear) == ([[0], [1]], frozenset())


def test_a_text_that_goes_on_within_a_word_is_another_one_also_where_several_do():
    assert not any(
        match_prompts(["user\nIs it 20\nassistant", "user\nIs it 30\nassistant"], ["Is it 2", "Is it 3"]).rows
    )


def test_two_prompts_without_a_user_are_not_alike_for_that():
    assert not any(
        match_prompts([[{"role": "assistant", "content": "a"}]], [[{"role": "system", "content": "b"}]]).rows
    )


def test_of_the_turns_of_a_rendered_conversation_the_last_is_the_prompt():
    prompt = "user\nWhat is 2 plus 2?\nassistant\n4\nuser\nWhat is 5 plus 5?\nassistant\n"
    assert match_prompts([prompt], ["What is 2 plus 2?", "What is 5 plus 5?"]).rows == [[1]]


def test_two_questions_that_both_stand_in_a_template_are_unclear():
    data = ["Is it 2?", "Is it 3?", "So 4?", "So 5?"]
    log = [f"{first} or {second} ?" for first in data[:2] for second in data[2:]]
    found = match_prompts(log, data)
    assert (found.rows, found.unclear) == ([[]] * 4, {0, 1, 2, 3})


def test_one_question_in_several_rows_matches_all_of_them():
    assert match_prompts(["a"], ["a", "b", [{"role": "user", "content": "a"}]]).rows in ([[0]], [[0, 2]])


def test_the_same_letters_in_two_unicode_forms_are_the_same():
    assert match_prompts(["Wie groß ist ein Cafe\u0301?"], ["Wie groß ist ein Caf\u00e9?"]).rows == [[0]]


@given(
    st.lists(st.text("ab12 ?<|>\n", max_size=12), max_size=8),
    st.lists(st.text("ab12 ?<|>\n", max_size=6), max_size=8),
)
def test_a_match_is_the_same_text_or_stands_in_it(log, data):
    found = match_prompts(log, data)
    assert len(found.rows) == len(log)
    for prompt, rows in zip(log, found.rows, strict=True):
        assert len({normal(data[row]) for row in rows}) <= 1
        assert all(normal(data[row]) in normal(prompt) for row in rows)


@given(st.permutations(range(4)))
def test_the_order_of_the_data_set_does_not_matter(order):
    data = ["What is 2 plus 2?", "What is 2 plus 2? Show your work.", "plus", "Why?"]
    log = [made.rendered(text) for text in data]
    found = match_prompts(log, [data[at] for at in order])
    assert [order[rows[0]] for rows in found.rows] == [0, 1, 2, 3]


def test_other_keys_are_compared_as_values():
    assert match_values([1, "a  b", {"x": 1}, None, "1"], ["a b", 1, {"x": 1}, 1, None]).rows == [
        [1, 3], [0], [2], (), ()
    ]  # fmt: skip


def test_ten_thousand_prompts_that_begin_alike_take_seconds_and_not_minutes():
    draw = random.Random(0)
    questions = [
        f"Solve the following problem step by step: number {at} "
        + " ".join(str(draw.random()) for _ in range(20))
        for at in range(10_000)
    ]
    started = time.process_time()
    found = match_prompts([made.rendered(text) for text in questions], questions)
    assert time.process_time() - started < 10  # 0.4 s here; each against each would be hours
    assert found.rows == [[at] for at in range(len(questions))]


# load_rollouts(..., join=)


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
    assert rollouts.joined.unmatched == 0 and rollouts.warnings == ()
    assert f"joined {str(train)!r} by prompt: 4 of 4 rows matched" in repr(rollouts)
    assert "ground_truth" in rollouts.joined.brought


def test_a_trl_log_gets_its_truth_from_a_plain_set_of_questions():
    rows = [{key: value for key, value in row.items() if key != "gold"} for row in made.trl_rows(chat=True)]
    data = [{"question": "5+5?", "answer": "10"}, {"question": "2+2?", "answer": "4"}]
    assert values(rk.load_rollouts(rows, join=data), "ground_truth") == ["4", "4", "10", "10"]


def test_rows_that_match_nothing_are_counted_and_stay_without_a_truth(train, caplog):
    rows = made.verl_rows(questions=("2+2?", "9+9?"))
    rollouts = rk.load_rollouts(rows, join=train)
    assert values(rollouts, "ground_truth") == ["4", "4", None, None]
    assert rollouts.joined.unmatched == 2
    (sentence,) = rollouts.warnings
    assert "2 of 4 rows match no row" in sentence and "they lack ground_truth" in sentence
    assert any("match no row" in message for message in caplog.messages)
    assert "9+9" not in sentence  # a report without completions shows it


def test_a_join_that_matches_nothing_shows_a_prompt_of_each_side(train):
    with pytest.raises(rk.RolloutsError) as raised:
        rk.load_rollouts([{"prompt": "Who wrote Faust?", "completion": "Goethe"}], join=train)
    assert "Who wrote Faust?" in str(raised.value) and "2+2?" in str(raised.value)


def test_a_column_that_both_have_is_kept_from_the_log_and_differences_are_counted():
    rows = [{"prompt": "a", "completion": "c", "ground_truth": "log", "level": 1},
            {"prompt": "b", "completion": "c", "ground_truth": None, "level": 2}]  # fmt: skip
    data = [
        {"prompt": name, "ground_truth": f"set {name}", "level": at} for at, name in enumerate("ab", start=1)
    ]
    rollouts = rk.load_rollouts(rows, join=data)
    assert values(rollouts, "ground_truth") == ["log", "set b"]
    assert rollouts.joined.kept == {"ground_truth": 1, "level": 0}
    assert rollouts.joined.filled == {"ground_truth": 1}
    assert any("ground_truth is in the log and in" in text and "differs in 1 rows" in text
               for text in rollouts.warnings)  # fmt: skip
    assert "filled 1 missing values of ground_truth" in rollouts.notes[0]
    assert "kept from the log level, the same in both" in rollouts.notes[0]


def test_rows_of_the_set_with_one_prompt_bring_what_they_agree_on():
    data = [{"prompt": "a", "ground_truth": "4", "index": at} for at in (1, 2)]
    rollouts = rk.load_rollouts([{"prompt": "a", "completion": "c"}], join=data)
    assert values(rollouts, "ground_truth") == ["4"]
    assert "index" not in rollouts.table or values(rollouts, "index") == [None]
    assert rollouts.joined.ambiguous == {"index": 1}
    assert any("match several rows" in text and "differ in index" in text for text in rollouts.warnings)


def test_what_only_a_run_has_is_not_brought_from_a_data_set():
    data = [{"prompt": "a", "messages": [{"role": "assistant", "content": "gold"}], "answer": "4",
             "reward": 1.0, "completion": "gold", "step": 3, "model": "m", "score/x": 1}]  # fmt: skip
    rollouts = rk.load_rollouts([{"prompt": "a", "completion": "c"}], join=data)
    assert list(rollouts.table) == ["rollout_id", "prompt", "completion", "ground_truth"]
    assert set(rollouts.joined.left_out) == {"messages", "completion", "step", "policy", "reward", "score/x"}


def test_a_join_on_another_column_takes_equal_values():
    rows = [{"prompt_id": at, "completion": "c"} for at in (2, 1)]
    data = [{"prompt_id": at, "prompt": f"p{at}", "answer": str(at)} for at in (1, 2)]
    rollouts = rk.load_rollouts(rows, join=data, on="prompt_id")
    assert (values(rollouts, "prompt"), values(rollouts, "ground_truth")) == (["p2", "p1"], ["2", "1"])


@pytest.mark.parametrize(
    ("on", "said"),
    [("promt", "the rollouts have ['rollout_id', 'prompt', 'completion']; did you mean 'prompt'?"),
     ("completion", "has ['prompt', 'ground_truth']")],
)  # fmt: skip
def test_a_key_that_one_side_lacks_is_an_error_with_what_there_is(on, said):
    with pytest.raises(rk.RolloutsError) as raised:
        rk.load_rollouts([{"prompt": "a", "completion": "c"}], join=[{"prompt": "a", "answer": "4"}], on=on)
    assert str(raised.value).startswith(f"the join is on {on!r}")


def test_the_truth_inside_reward_model_comes_before_an_answer_beside_it():
    data = [{"prompt": "a", "answer": "so 4", "reward_model": {"ground_truth": "4"}}]
    rollouts = rk.load_rollouts([{"prompt": "a", "completion": "c"}], join=data)
    assert values(rollouts, "ground_truth") == ["4"]


def test_a_folder_of_a_saved_data_set_can_be_joined(tmp_path):
    folder = made.write_saved_dataset(tmp_path / "set", made.training_rows())
    assert values(rk.load_rollouts(made.verl_rows(), join=folder), "ground_truth") == ["4", "4", "10", "10"]


def test_the_callers_tables_are_never_changed():
    rows, data = made.verl_rows(), made.training_rows()
    before = copy.deepcopy((rows, data))
    rk.load_rollouts(rows, join=data, fill={"run": 1})
    assert (rows, data) == before


# what a join says of prompts that are alike at their end only


def chatml(messages):
    turns = [f"<|im_start|>{item['role']}\n{item['content']}<|im_end|>\n" for item in messages]
    return "".join(turns) + "<|im_start|>assistant\n"


def chat(*texts, system=None):
    above = [{"role": "system", "content": system}] if system else []
    return above + [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]


def test_another_conversation_with_the_same_last_message_gets_no_truth():
    data = [{"prompt": chat("Is it 4?", "Yes.", "Sure?"), "ground_truth": "4"},
            {"prompt": chat("Is it 5?", "Yes.", "Sure?"), "ground_truth": "5"}]  # fmt: skip
    log = [{"prompt": chat(*texts, system="Be brief."), "completion": "c"}
           for texts in (("Is it 5?", "Yes.", "Sure?"), ("Is it 6?", "Yes.", "Sure?"))]  # fmt: skip
    rollouts = rk.load_rollouts(log, join=data)
    assert values(rollouts, "ground_truth") == ["5", None]
    assert (rollouts.joined.contradicted, rollouts.joined.last_only, rollouts.joined.ambiguous) == (1, 0, {})
    (said,) = rollouts.joined.warnings
    assert "1 of 2 rows match no row" in said and "1 of them because only the last user message" in said


@pytest.mark.parametrize("render", [lambda messages: messages, chatml], ids=["messages", "rendered"])
def test_rows_behind_turns_that_the_data_set_has_not_are_counted_in_a_warning(render):
    data = [{"question": "5+5?", "answer": "10"}, {"question": "2+2?", "answer": "4"}]
    prompts = [chat("1+1?", "2", "5+5?"), chat("2+2?", system="Be brief."), chat("2+2?")]
    log = [{"prompt": render(prompt), "completion": "c"} for prompt in prompts]
    rollouts = rk.load_rollouts(log, join=data)
    assert values(rollouts, "ground_truth") == ["10", "4", "4"]
    assert rollouts.joined.last_only == 1
    (said,) = rollouts.joined.warnings
    assert said.startswith("1 of 3 rows match by their last user message only: ")
    assert said in rollouts.warnings
    clean = rk.load_rollouts(log[1:], join=data)  # a system prompt is no turn
    assert (clean.joined.last_only, clean.joined.warnings) == (0, ())


def test_a_rendered_prompt_with_another_system_prompt_than_the_data_sets_is_said():
    data = [{"prompt": chat("2+2?", system="Add."), "answer": "4"}]
    log = [{"prompt": chatml(chat("2+2?", system=system)), "completion": "c"}
           for system in ("Add.", "Multiply.", "Today is Monday.\n\nAdd.", None)]  # fmt: skip
    rollouts = rk.load_rollouts(log, join=data)
    assert values(rollouts, "ground_truth") == ["4"] * 4
    assert rollouts.joined.other_system == 1
    (said,) = rollouts.joined.warnings
    assert said.startswith("1 of 4 rows match 'the joined table' but for the system prompt")


@pytest.mark.parametrize("rows", [2, 3])
def test_conversations_that_gemma_writes_with_the_system_prompt_in_their_first_turn_get_their_own_truth(rows):
    data = [{"prompt": chat(*texts, "Now add 1.", system="Be brief."), "ground_truth": truth} for texts, truth
            in [(("Compute 7*6.", "42"), "43"), (("Compute 2*3.", "6"), "7"), ((), "1")][:rows]]  # fmt: skip
    form = (
        "<start_of_turn>user\nBe brief.\n\n{}<end_of_turn>\n<start_of_turn>model\n{}<end_of_turn>\n"
        "<start_of_turn>user\nNow add 1.<end_of_turn>\n<start_of_turn>model\n"
    )
    turns = [("Compute 7*6.", "42"), ("Compute 2*3.", "6")]
    log = [{"prompt": form.format(*texts), "completion": "c"} for texts in turns]
    rollouts = rk.load_rollouts(log, join=data)
    assert values(rollouts, "ground_truth") == ["43", "7"]
    assert (rollouts.joined.unmatched, rollouts.joined.last_only, rollouts.joined.warnings) == (0, 0, ())


def test_an_error_says_that_only_the_ends_are_the_same():
    with pytest.raises(
        rk.RolloutsError, match=r"\(1 have a last user message of it, behind other messages\)"
    ):
        rk.load_rollouts(
            [{"prompt": chat("a", "b", "c"), "completion": "c"}], join=[{"prompt": chat("x", "y", "c")}]
        )
    with pytest.raises(rk.RolloutsError) as raised:
        rk.load_rollouts([{"prompt": chat("a"), "completion": "c"}], join=[{"prompt": chat("x")}])
    assert "last user message" not in str(raised.value)


# fill


def test_fill_sets_what_the_log_lacks_and_comes_before_the_join(train):
    rollouts = rk.load_rollouts(made.verl_rows(), join=train, fill={"data_source": "gsm8k", "run": 7})
    assert values(rollouts, "data_source") == ["gsm8k"] * 4
    assert values(rollouts, "run") == [7] * 4
    assert rollouts.notes[1:3] == ("set data_source to 'gsm8k'", "set run to 7")
    assert "left out data_source, which is set" in rollouts.notes[3]
    assert "data_source" not in rollouts.joined.brought and rollouts.warnings == ()


def test_fill_says_in_how_many_rows_it_set_something():
    rows = [{"completion": "a", "data_source": "own"}, {"completion": "b"}]
    rollouts = rk.load_rollouts(rows, fill={"data_source": "other"})
    assert values(rollouts, "data_source") == ["own", "other"]
    assert rollouts.notes == ("set data_source to 'other' in 1 of 2 rows, the others have a value",)


@pytest.mark.parametrize("name", ["completion", "rollout_id", "reward", "score/x", "logged/x", ""])
def test_fill_cannot_set_what_a_rollout_or_a_score_is(name):
    with pytest.raises(rk.RolloutsError, match="fill= cannot set"):
        rk.load_rollouts([{"completion": "c"}], fill={name: 1})


def test_fill_of_a_column_without_a_gap_is_an_error():
    with pytest.raises(rk.RolloutsError, match="every row has a value already"):
        rk.load_rollouts([{"completion": "c", "data_source": "a"}], fill={"data_source": "b"})
