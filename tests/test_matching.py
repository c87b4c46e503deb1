"""Matches of prompts: the same turns in every form that trainers log, and no other question."""

import time

import pytest

from rewardkit.rollouts.join import DataSet, match

Q1, A1, Q2 = "What is 5 + 5?", "It is 10", "And twice that?"


def chat(*texts, system=None):
    """User and assistant in turn."""
    above = [{"role": "system", "content": system}] if system else []
    return above + [
        {"role": ("user", "assistant")[at % 2], "content": text}
        for at, text in enumerate(texts)
    ]


def written(form, end, **names):
    """A template that writes each message as `form`, and then `end`."""

    def template(messages):
        named = [
            (names.get(item["role"], item["role"]), item["content"])
            for item in messages
        ]
        return "".join(form.format(role=role, text=text) for role, text in named) + end

    return template


def mistral(messages):
    if messages[0]["role"] == "system":  # in the user's first turn
        above, first, *rest = messages
        messages = [
            {**first, "content": f"{above['content']}\n\n{first['content']}"},
            *rest,
        ]
    forms = {"user": "[INST] {content} [/INST]", "assistant": " {content}</s>"}
    return "<s>" + "".join(forms[item["role"]].format(**item) for item in messages)


CHATML = "<|im_start|>{role}\n{text}<|im_end|>\n"
HEAD = "<|start_header_id|>{role}<|end_header_id|>\n\n"
FORMS = {
    "messages": lambda messages: messages,
    "ChatML": written(CHATML, "<|im_start|>assistant\n"),
    "a thought opened": written(CHATML, "<|im_start|>assistant\n<think>\n"),
    "a tag of its own opened": written(
        CHATML, "<|im_start|>assistant\n<start_working>"
    ),
    "ChatML without its special tokens": written("{role}\n{text}\n", "assistant\n"),
    "Llama 3": written(HEAD + "{text}<|eot_id|>", HEAD.format(role="assistant")),
    "Gemma": written(
        "<start_of_turn>{role}\n{text}<end_of_turn>\n",
        "<start_of_turn>model\n",
        assistant="model",
    ),
    "gpt-oss": written("<|start|>{role}<|message|>{text}<|end|>", "<|start|>assistant"),
    "Alpaca": written(
        "### {role}:\n{text}\n\n",
        "### Response:\n",
        user="Instruction",
        assistant="Response",
    ),
    "Mistral": mistral,
}


def matched(log, *data):
    """Rows of one prompt, and whether its question alone was found."""
    data_set = DataSet("data", {"prompt": data}, 0)
    ((rows, by_question),) = match([log], data_set, "prompt")
    return list(rows), by_question


SAME_TURNS = [
    ([Q1], [["other"], [Q1]], [1], "alone"),
    ([Q1, A1, Q2], [[Q1, A1, Q2]], [0], "same turns"),
    ([Q1, A1, Q2], [["What is 6 + 6?", A1, Q2]], [], "another first message"),
    (["Tell me: " + Q1], [[Q1]], [], "its end only"),
    (
        [Q1, A1, Q2],
        [["Hi", A1, Q2], [Q1, A1, Q2], [Q2], [Q1, A1, Q2]],
        [1, 3],
        "all turns first",
    ),
]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_prompt_is_the_row_with_the_same_turns_in_every_form(form):
    for log, data, rows, why in SAME_TURNS:
        prompts = [chat(*one) for one in data]
        texts = (
            [one[0] for one in data] if all(len(one) == 1 for one in data) else prompts
        )
        for there in (prompts, texts):
            assert matched(form(chat(*log)), *there) == (rows, False), why
            if (
                form is not mistral
            ):  # where a system prompt of the log's own would be a part of the question
                assert matched(form(chat(*log, system="Be kind.")), *there) == (
                    rows,
                    False,
                ), why
    assert matched(form(chat(Q1, A1, Q2)), Q2) == ([0], True), (
        "examples in front of the question"
    )


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_of_rows_that_differ_in_the_system_prompt_the_one_of_the_log_is_taken_else_all(
    form,
):
    for log, data, rows in (
        ("A", ["B", "A", None], [1]),
        ("A", ["A. And so on.", "A"], [1]),
        (None, ["A"], [0]),
        (None, ["A", "B"], [0, 1]),
    ):
        prompts = [chat("Sum it up.", system=system) for system in data]
        assert matched(form(chat("Sum it up.", system=log)), *prompts) == (
            rows,
            False,
        ), (log, data)


@pytest.mark.parametrize(
    ("log", "rows"),
    [
        ("  What is\n2+2? ", [0]),
        ("Cafe\u0301?", [4]),  # the same letters in another form of Unicode
        (
            [{"role": "user", "content": [{"type": "text", "text": "What is 2+2?"}]}],
            [0],
        ),
        ([*chat("What is 2+2?"), {"role": "assistant", "content": "<think>"}], [0]),
        ("system\n\nToday.\n\nuser\n\nWhat is 2+2?assistant\n\n", [0]),
        ("What is 2+20?", []),
        ("Rewrite this chat.\nuser\nWhat is 2+2?", []),
        ("Translate to Thai: What is 2+2?", []),
        ("", []),
    ],
)
def test_what_is_the_question_and_what_only_holds_it(log, rows):
    data = "What is 2+2?", "hello", "", None, "Caf\u00e9?", "Translate to Thai: hello"
    assert matched(log, *data)[0] == rows


def test_other_keys_are_compared_as_values():
    data = DataSet("data", {"id": ["a b", 1, {"x": 1}, 1, None]}, 0)
    found = match([1, "a  b", {"x": 1}, None, "1"], data, "id")
    assert [list(rows) for rows, _ in found] == [[1, 3], [0], [2], [], []]


@pytest.mark.parametrize(
    "hostile", ["user\n" * 20_000, "<think>" * 20_000, "#* \n" * 30_000, "<|" * 50_000]
)
def test_a_prompt_made_to_take_long_is_read_in_one_pass(hostile):
    started = time.process_time()
    assert matched(hostile, "a", chat("b")) == ([], False)
    assert (
        time.process_time() - started < 20
    )  # 0.1 s here; minutes where a pattern goes back and forth
