"""Matches of prompts: the turns around the last message of the user, and what shows where a turn begins."""

import time
from dataclasses import asdict
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.rollouts import matching, searching
from rewardkit.rollouts.matching import match_prompts

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


def merging(form, at=0):
    """A template without a system's turn: it writes the text into the user's first turn, or last: -1."""

    def render(messages):
        if messages[0]["role"] != "system":
            return form(messages)
        above, *rest = [dict(item) for item in messages]
        turn = [item for item in rest if item["role"] == "user"][at]
        turn["content"] = f"{above['content']}\n\n{turn['content']}"
        return form(rest)

    return render


def llama_2(messages):
    texts = [f"<<SYS>>\n{one['content']}\n<</SYS>>" if one["role"] == "system" else one["content"]
             for one in messages]  # fmt: skip
    return merging(mistral)([{**one, "content": text} for one, text in zip(messages, texts, strict=True)])


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
    "Command R": written(
        "<|START_OF_TURN_TOKEN|><|{role}_TOKEN|>{text}<|END_OF_TURN_TOKEN|>",
        "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
        system="SYSTEM", user="USER", assistant="CHATBOT",
    ),
    "EXAONE": written("[|{role}|]{text}[|endofturn|]\n", "[|assistant|]"),
}  # fmt: skip
MERGING = {
    "Gemma, the system in the first turn": merging(TEMPLATES["Gemma"]),
    "Gemma, so, without its special tokens": merging(TEMPLATES["Gemma without its special tokens"]),
    "Mistral 0.2": merging(mistral),
    "Mistral 0.3, the system in the last turn": merging(mistral, -1),
    "Llama 2": llama_2,
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


NEXT, CALCULATOR = "Now add 1.", "You are a calculator. Answer the question:"
ENDING_ALIKE = [chat("Compute 7*6.", "42", NEXT, system=CALCULATOR),
                chat("Compute 2*3.", "6", NEXT, system=CALCULATOR)]  # fmt: skip
ALONE = chat(NEXT, system=CALCULATOR)
merging_form = pytest.mark.parametrize(
    "form", [pytest.param(template, id=name) for name, template in MERGING.items()]
)
any_form = pytest.mark.parametrize(
    "form", [pytest.param(template, id=name) for name, template in {**TEMPLATES, **MERGING}.items()]
)


@any_form
@pytest.mark.parametrize("more", [pytest.param([], id="two rows"), pytest.param([ALONE], id="and one alone")])
def test_each_of_the_rows_that_end_alike_is_found_behind_a_system_prompt(form, more):
    data = [*ENDING_ALIKE, *more]
    for at, one in enumerate(data):
        assert matched(form(one), *data) == ([at], set())
        assert matched(form(one), *data[::-1]) == ([len(data) - 1 - at], set())
    assert match_prompts([form(one) for one in data], data).rows == [[at] for at in range(len(data))]


@any_form
@pytest.mark.parametrize(
    ("first", "answer", "alone", "why"),
    [
        ("Compute 9*9.", "81", [2], "no row has these turns: they may be examples"),
        ("Compute 7*6.", "43", [2], "another answer came before"),
        ("Please. Compute 7*6.", "42", [], "the first message was longer: which it is cannot be known"),
    ],
)
def test_a_row_alone_is_no_match_where_the_turns_of_another_stand_in_the_text(
    form, first, answer, alone, why
):
    text = form(chat(first, answer, NEXT, system=CALCULATOR))
    assert matched(text, *ENDING_ALIKE) == ([], {"contradicted"}), why
    assert matched(text, *ENDING_ALIKE, ALONE) == (alone, {"last_only" if alone else "contradicted"}), why


@pytest.mark.parametrize("form", [lambda messages: messages, TEMPLATES["ChatML"]], ids=["messages", "ChatML"])
def test_a_row_alone_is_no_match_where_the_same_turns_have_another_system_prompt(form):
    data = [chat(Q1, A1, Q2, system="Add."), chat(Q1, A1, Q2, system="Multiply."), chat(Q2)]
    assert matched(form(chat(Q1, A1, Q2, system="Divide.")), *data) == ([], {"contradicted"})
    assert matched(form(chat(Q1, A1, Q2, system="Add.")), *data) == ([0], set())
    assert matched(form(chat("Hi", A1, Q2, system="Divide.")), *data) == ([2], {"last_only"})


@merging_form
def test_a_system_prompt_in_the_turn_of_the_user_is_the_rows_own(form):
    for turns in ([Q1], [Q1, A1, Q2]):
        data = [chat(*turns, system=system) for system in ("Be brief.", "Be kind. Be brief.", None)]
        for at, one in enumerate(data):
            assert matched(form(one), *data) == ([at], set())
        assert matched(form(chat(*turns, system="Be kind.")), *data)[0] == []  # a part of a question, perhaps
    assert matched(form(chat(Q1, system="Be brief.")), chat(Q1), "hello")[0] == []


def test_rows_that_differ_in_thoughts_that_were_left_out_all_match():
    data = [chat(Q1, f"<think>{thought}</think> {A1}", Q2) for thought in ("So", "Well")]
    template = TEMPLATES["ChatML"]
    assert matched(template(chat(Q1, A1, Q2)), *data) == ([0, 1], set())
    assert matched(template(chat(Q1, A1, Q2)), *data, chat(Q1, A1, Q2)) == ([2], set())
    assert matched(template(data[1]), *data) == ([1], set())


def test_among_many_rows_those_with_fewer_turns_are_found_too():
    data = [chat("Hi", "No", Q1, A1, Q2), chat("Hello", "No", Q1, A1, Q2), chat(Q1, A1, Q2)]
    with mock.patch.object(searching, "FEW", 0):
        assert [matched(TEMPLATES["ChatML"](one), *data)[0] for one in data] == [[0], [1], [2]]


def test_of_results_of_tools_inside_one_another_the_longest_counts():
    data = [[{"role": "tool", "content": text}, *chat(Q2)] for text in ("1", "1 0", "0")]
    text = TEMPLATES["ChatML"]([{"role": "tool", "content": "1 0"}, *chat(Q2)])
    assert matched(text, *data) == ([1], set())
    assert matched(text, *data[::-1]) == ([1], set())


def test_of_turns_that_both_stand_in_a_text_those_behind_their_own_system_prompt_count():
    data = [[*chat(system=above), {"role": "tool", "content": text}, *chat(Q2)]
            for above, text in (("It is 1", "0"), ("It is 2", "1"))]  # fmt: skip
    for rows in (data, data[::-1]):
        assert matched(TEMPLATES["ChatML"](data[0]), *rows) == ([rows.index(data[0])], set())


def test_a_system_prompt_before_a_turn_of_the_assistant_is_found_too():
    opened = [{"role": "assistant", "content": "Ask me."}, *chat(Q1)]
    data = [[*chat(system=above), *opened] for above in ("assist", "Be brief.", "in")]
    for at, one in enumerate(data):
        assert matched(TEMPLATES["ChatML"](one), *data) == ([at], set())


def test_a_turn_within_a_word_does_not_stand_in_a_text():
    data = [chat("Go."), [*chat("a"), *chat(""), *chat("Go.")]]  # "Human" has an a
    assert matched(TEMPLATES["Human and Assistant"](chat("Go.")), *data) == ([0], set())


texts = st.sampled_from(["a", "a b", "b a", "a b a", "<think>b</think> a", "c", "", "user a"])
conversations = st.builds(
    lambda above, turns, last: [
        *({"role": "system", "content": text} for text in above),
        *({"role": role, "content": text} for role, text in turns),
        {"role": "user", "content": last},
    ],
    st.lists(texts, max_size=1),
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), texts), max_size=4),
    st.sampled_from(["Go.", "Sure?"]),
)


@given(st.lists(conversations, max_size=12), st.sampled_from(sorted({**TEMPLATES, **MERGING})))
def test_among_many_rows_the_same_ones_are_found_as_by_trying_each(data, name):
    form = {**TEMPLATES, **MERGING}[name]
    log = [form(one) for one in data]
    found = []
    for few in (0, 1000):
        with mock.patch.object(searching, "FEW", few), mock.patch.object(matching, "FEW", few):
            found.append(asdict(match_prompts(log, data)))
    assert found[0] == found[1]


SHARED = "It was a dark and stormy night; the rain fell in torrents. " * 20
DATED = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"


def documents(written):
    return [
        chat(written.format(at), "I have read it.", "Summarise it.", system="Be brief.") for at in range(3000)
    ]


@pytest.mark.parametrize(
    ("form", "data"),
    [
        pytest.param(TEMPLATES["ChatML"], documents("Here is document {}. " + SHARED[:300]), id="documents"),
        pytest.param(
            MERGING["Gemma, the system in the first turn"],
            documents("Here is document {}. " + SHARED[:300]),
            id="documents behind a system prompt in their turn",
        ),
        pytest.param(
            TEMPLATES["Llama 3"], documents(SHARED + "{} " + SHARED), id="documents that differ in the middle"
        ),
        pytest.param(
            lambda messages: TEMPLATES["Llama 3"](
                [{"role": "system", "content": DATED + messages[0]["content"]}, *messages[1:]]
            ),
            [chat("Go.", system=f"{at} is your number. " + SHARED[:300]) for at in range(15_000)],
            id="system prompts behind a date",
        ),
    ],
)
def test_rows_that_differ_in_one_place_only_take_seconds_and_not_minutes(form, data):
    log = [form(one) for one in data]
    started = time.process_time()
    found = match_prompts(log, data)
    assert time.process_time() - started < 20  # 0.5 to 2 s here; one by one 20 s to minutes
    assert found.rows == [[at] for at in range(len(data))]


def test_ten_thousand_conversations_that_end_alike_take_seconds_and_not_minutes():
    data = [chat(f"Question {at}?", f"The answer is {at}, I think, more or less.", "Sure?")
            for at in range(10_000)]  # fmt: skip
    started = time.process_time()
    for form in (TEMPLATES["ChatML"], lambda messages: [*chat(system="Be kind."), *messages]):
        assert match_prompts([form(one) for one in data], data).rows == [[at] for at in range(len(data))]
    assert time.process_time() - started < 20  # 0.5 s here
