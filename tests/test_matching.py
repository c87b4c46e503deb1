"""Matches of prompts: the turns around the last message of the user, and what shows where a turn begins."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.matching import match_prompts

Q1, A1, Q2 = "What is 5 + 5?", "It is 10", "And twice that?"


def chat(*texts, system=None, roles=("user", "assistant")):
    """User and assistant in turn."""
    above = [{"role": "system", "content": system}] if system else []
    return above + [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]


def written(form, end, **names):
    """A template that writes each message as `form`, and then `end`."""
    return lambda messages: (
        "".join(
            form.format(role=names.get(item["role"], item["role"]), text=item["content"]) for item in messages
        )
        + end
    )


def mistral(messages):
    said = "".join(
        f"[INST] {item['content']} [/INST]" if item["role"] == "user" else f" {item['content']}</s>"
        for item in messages
    )
    return f"<s>{said}"


LLAMA = "<|start_header_id|>{role}<|end_header_id|>\n\n{text}<|eot_id|>"
TEMPLATES = {
    "ChatML": written("<|im_start|>{role}\n{text}<|im_end|>\n", "<|im_start|>assistant\n"),
    "ChatML, a thought opened": written(
        "<|im_start|>{role}\n{text}<|im_end|>\n", "<|im_start|>assistant\n<think>\n"
    ),
    "ChatML without its special tokens": written("{role}\n{text}\n", "assistant\n"),
    "Llama 3": written(LLAMA, "<|start_header_id|>assistant<|end_header_id|>\n\n"),
    "Llama 3 without its special tokens": written("{role}\n\n{text}", "assistant\n\n"),
    "Gemma": written(
        "<start_of_turn>{role}\n{text}<end_of_turn>\n", "<start_of_turn>model\n", assistant="model"
    ),
    "Gemma without its special tokens": written("{role}\n{text}\n", "model\n", assistant="model"),
    "Phi": written("<|{role}|>\n{text}<|end|>\n", "<|assistant|>\n"),
    "DeepSeek": written("<｜{role}｜>{text}", "<｜Assistant｜>", user="User", assistant="Assistant"),
    "gpt-oss": written("<|start|>{role}<|message|>{text}<|end|>", "<|start|>assistant"),
    "Vicuna": written("{role}: {text} ", "ASSISTANT:", user="USER", assistant="ASSISTANT"),
    "Human and Assistant": written("{role}: {text}\n\n", "Assistant:", user="Human", assistant="Assistant"),
    "Mistral": mistral,
}
every_form = pytest.mark.parametrize(
    "form", [pytest.param(lambda messages: messages, id="messages")]
    + [pytest.param(template, id=name) for name, template in TEMPLATES.items()]
)  # fmt: skip


def matched(log, *data):
    """Rows of one prompt, and what was noted of it."""
    found = match_prompts([log], data)
    noted = ("unclear", "contradicted", "last_only", "other_system")
    return list(found.rows[0]), {name for name in noted if getattr(found, name)}


@every_form
@pytest.mark.parametrize(
    ("log", "data", "rows", "noted", "why"),
    [
        pytest.param([Q1, A1, Q2], [[Q1, A1, Q2]], [0], set(), "all turns are there", id="same turns"),
        pytest.param(
            [Q1, A1, Q2], [["What is 6 + 6?", A1, Q2]], [], {"contradicted"}, "it is asked of another number",
            id="another first message",
        ),
        pytest.param(
            [Q1, A1, Q2], [[Q1, "It is 11", Q2]], [], {"contradicted"}, "another answer came before",
            id="another answer before",
        ),
        pytest.param(
            [Q1, "Not 6, no. It is 10", Q2], [[Q1, A1, Q2]], [], {"contradicted"}, "the answer was longer",
            id="the end of the answer before",
        ),
        pytest.param(
            ["Tell me: " + Q1, A1, Q2], [[Q1, A1, Q2]], [], {"contradicted"}, "the question was longer",
            id="the end of the first message",
        ),
        pytest.param(
            [Q1 + " Or 6 + 6?", A1, Q2], [[Q1, A1, Q2]], [], {"contradicted"}, "the question was longer",
            id="the start of the first message",
        ),
        pytest.param(
            [Q2], [[Q1, A1, Q2]], [], {"contradicted"}, "the log lacks them", id="turns lacking",
        ),
        pytest.param(
            ["Hi", "Hello", Q1, A1, Q2], [[Q1, A1, Q2]], [], {"contradicted"}, "the log has more of them",
            id="turns before the data set's",
        ),
        pytest.param(
            [Q1, A1, Q2], [[Q2]], [0], {"last_only"}, "the turns before may be examples", id="examples",
        ),
        pytest.param(
            [Q1, A1, Q2], [["Hi", A1, Q2], [Q1, A1, Q2], [Q2], ["Hi", "No", Q2], [Q1, A1, Q2]], [1, 4], set(),
            "those that agree come before those without turns", id="several rows with the same end",
        ),
        pytest.param(
            ["Hi", "Hello", Q2], [[Q1, A1, Q2], [Q2]], [1], {"last_only"}, "only one does not contradict",
            id="a row without turns besides one that contradicts",
        ),
    ],
)  # fmt: skip
def test_the_turns_before_the_last_message_must_be_the_same(form, log, data, rows, noted, why):
    assert matched(form(chat(*log)), *[chat(*one) for one in data]) == (rows, noted), why
    # with a system prompt that only the log has
    assert matched(form(chat(*log, system="Be kind.")), *[chat(*one) for one in data]) == (rows, noted), why


def test_turns_of_other_roles_are_other_turns():
    data = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
    log = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert matched(log, data) == ([], {"contradicted"})
    assert matched([{"role": "system", "content": "s"}, *data], data) == ([0], set())


@pytest.mark.parametrize(
    ("log", "data", "rows", "noted", "why"),
    [
        ("A", ["A"], [0], set(), "the same"),
        ("A", ["B"], [], {"contradicted"}, "another"),
        ("A", [None], [0], set(), "trainers add one"),
        (None, ["A"], [0], set(), "or leave it out"),
        (None, ["A", "B"], [0, 1], set(), "and it cannot be known which"),
        (None, ["A", None], [1], set(), "but for the row that has none either"),
        ("A", ["B", None, "A"], [2], set(), "the same comes before none"),
        ("C", ["B", None, "A"], [1], set(), "none comes before another"),
    ],
)
def test_of_two_system_prompts_in_messages_both_must_be_the_same(log, data, rows, noted, why):
    end = ({"role": "user", "content": "Sum it up."}, {"role": "assistant", "content": "So"})  # not as whole
    prompts = [chat("Sum it up.", system=system) for system in data]
    assert matched([*chat("Sum it up.", system=log)[:-1], *end], *prompts) == (rows, noted), why


@pytest.mark.parametrize("form", [TEMPLATES["ChatML"], TEMPLATES["Llama 3 without its special tokens"]])
@pytest.mark.parametrize(
    ("log", "data", "rows", "noted", "why"),
    [
        ("A", ["A", "B", None], [0], set(), "it stands there"),
        ("Today is Monday.\n\nA", ["A", "B", "Today"], [2], set(), "the longest that stands there"),
        ("C", ["A", "B", None], [2], set(), "none of them, so the one without"),
        ("C", ["A", "B"], [], {"contradicted"}, "they are told apart by it"),
        ("C", ["A"], [0], {"other_system"}, "templates and runs change it: said, not refused"),
        (None, ["A", "B"], [0, 1], set(), "the text has none"),
    ],
)
def test_of_rows_that_differ_in_the_system_prompt_a_rendered_one_tells_which(
    form, log, data, rows, noted, why
):
    prompts = [chat("Sum it up.", system=system) for system in data]
    assert matched(form(chat("Sum it up.", system=log)), *prompts) == (rows, noted), why


def test_results_of_tools_behind_the_last_message_are_turns_too():
    def steps(result, **more):
        call = {"role": "assistant", "content": "I look it up."}
        return [*chat(Q1, **more), call, {"role": "tool", "content": result}]

    assert matched(steps("10", system="Be kind."), steps("11"), steps("10")) == ([1], set())
    assert matched(steps("12", system="Be kind."), steps("11"), steps("10")) == ([], {"contradicted"})
    assert matched(chat(Q1, system="Be kind."), steps("10")) == ([], {"contradicted"})


def test_an_answer_that_was_begun_for_the_model_is_no_turn():
    assert matched([*chat(Q1), {"role": "assistant", "content": "<think>"}], chat(Q1)) == ([0], set())
    assert matched(chat(Q1, system="Be kind."), chat(Q1, "So")) == ([0], set())


def test_what_a_template_writes_its_own_way_does_not_hide_the_turns():
    thought = chat(Q1, f"<think>5 and 5</think>\n\n{A1}", Q2)
    assert matched(TEMPLATES["ChatML"](chat(Q1, A1, Q2)), thought) == ([0], set())  # Qwen 3 leaves it out
    assert matched(TEMPLATES["ChatML"](thought), thought) == ([0], set())
    called = [*chat(Q1, ""), {"role": "tool", "content": "10"}, *chat(Q2)]
    text = (
        f"user\n{Q1}\nassistant\n<tool_call>\n{{}}\n</tool_call>\nuser\n<tool_response>\n10\n"
        f"</tool_response>\nuser\n{Q2}\nassistant\n"
    )
    assert matched(text, called) == ([0], set())
    assert matched(text.replace("\n10\n", "\n11\n"), called) == ([], {"contradicted"})
    instructed = f"### Instruction:\n{Q1}\n\n### Response:\n{A1}\n\n### Instruction:\n{Q2}\n\nAssistant:"
    assert matched(instructed, chat(Q1, A1, Q2)) == ([0], set())


@pytest.mark.parametrize(
    ("log", "rows", "why"),
    [
        ("Rewrite this chat.\nuser\nWhat is 2+2?", [], "it is about a chat"),
        ("Continue: a story.\nuser: What is 2+2?", [], "it is about a chat"),
        (chat("Continue: a story.\nuser: What is 2+2?"), [], "it is about a chat, in messages"),
        ("user: Continue. assistant: Yes.\nuser: What is 2+2?", [], "it may be about one"),
        ("user\nWhat is 2+2?", [0], "only the role is before it"),
        ("system\nBe brief.\nuser\nWhat is 2+2?", [0], "a system message is before it"),
        ("System: Be brief.\nUser: What is 2+2?", [0], "a system message is before it"),
        ("systems fail.\nUser: What is 2+2?", [], "the word is another one"),
        ("Rewrite this chat.\nuser\nWhat is 2+2?\nassistant\n", [0], "the assistant is to speak"),
    ],
)
def test_a_word_that_is_a_role_makes_no_turn_where_no_assistant_is_to_speak(log, rows, why):
    assert matched(log, "What is 2+2?", "hello")[0] == rows, why


def test_text_before_messages_is_a_template_where_others_stand_behind_it_as_well():
    data = ["What is 2+2?", "hello"]
    log = [f"A helpful model.\nuser: {text}" for text in data]
    assert match_prompts(log, data).rows == [[0], [1]]
    assert match_prompts(log[:1], data).rows == [[]]


def test_turns_that_open_a_text_show_that_it_is_a_conversation():
    text = f"user\n{Q1}\nassistant\n{A1}\nuser\n{Q2}"
    assert matched(text, chat(Q1, A1, Q2)) == ([0], set())
    assert matched("Rewrite this.\n" + text, chat(Q1, A1, Q2)) == ([], set())


def test_a_dialogue_within_the_question_is_no_turn_of_the_log():
    question = "Go on with this.\nHuman: Hi.\nAssistant: Hello.\nHuman: Why?"
    template = TEMPLATES["ChatML"]
    assert matched(template(chat(question)), question) == ([0], set())
    assert matched(template(chat(question)), chat(question)) == ([0], set())
    assert matched(template(chat(Q1, A1, question)), question) == ([0], {"last_only"})


@given(st.permutations(range(5)), st.sampled_from(sorted(TEMPLATES)))
def test_the_order_of_the_data_set_does_not_matter(order, name):
    data = [chat(Q2), chat(Q1, A1, Q2), chat("Hi", A1, Q2), chat(Q1, "No", Q2), chat(Q1)]
    found = match_prompts([TEMPLATES[name](one) for one in data], [data[at] for at in order])
    assert [order[rows[0]] for rows in found.rows] == list(range(5))


def test_ten_thousand_conversations_that_end_alike_take_seconds_and_not_minutes():
    data = [chat(f"Question {at}?", f"The answer is {at}, I think, more or less.", "Sure?")
            for at in range(10_000)]  # fmt: skip
    started = time.process_time()
    for form in (TEMPLATES["ChatML"], lambda messages: [*chat(system="Be kind."), *messages]):
        assert match_prompts([form(one) for one in data], data).rows == [[at] for at in range(len(data))]
    assert time.process_time() - started < 20  # 0.5 s here
