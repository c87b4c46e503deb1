"""What a log shows of a task: its truths, where its answers stand, and the reward that is written for it."""

import json
import re

import pytest

import rewardkit as rk
from rewardkit.starting.code import code_of
from rewardkit.starting.forms import schema_of
from rewardkit.starting.truths import truth_of


def groups(make, prompts=24, size=4):
    """Rows of a number of prompts, each made from its prompt's number and its place in the group."""
    return [{"prompt": f"question {at}", **make(at, place)} for at in range(prompts) for place in range(size)]


def stated(form, wrong="{} hundred and one"):
    """Three of four completions state a number in this form, the last of them a wrong one, or none."""

    def make(at, place):
        said = form.format(at + 30 if place < 2 else at + 2000) if place < 3 else "I do not know"
        return {"completion": f"Step {place}.\n{said}", "ground_truth": str(at + 30)}

    return groups(make)


READ = [
    ("<answer>{}</answer>", 'rk.extract.tag("answer")', "a tag of any name"),
    ("<result>{}</result> of 7", 'rk.extract.tag("result")', "not the last number, which is 7"),
    ("<answer>${} in all</answer>", "within(", "the number in the tag, as the tag holds words, too"),
    ("so \\boxed{{{}}}", "rk.extract.boxed()", "a box"),
    ("#### {}", "rk.extract.gsm8k()", "GSM8K's mark"),
    ("The answer is {} apples.", "within(rk.extract.answer_phrase()", "the number in a sentence"),
    ('{{"sum": {}}}', 'rk.extract.json_value("sum")', "a key of an object"),
    ("it makes {}", "rk.extract.number()", "no mark: the last number"),
]


@pytest.mark.parametrize(("form", "code", "why"), READ, ids=[why for *_, why in READ])
def test_numbers_are_read_as_the_completions_state_them(written, form, code, why):
    made = written(stated(form))
    reward = rk.load_reward(str(made.reward))
    assert code in made.reward.read_text().split("fields={")[1].split("components")[0], why
    right = reward(completion=f"Well.\n{form.format(31)}", ground_truth="31")
    assert (right.scores["correct"], right.status["correct"]) == (1.0, "scored")
    assert reward(completion=f"Well.\n{form.format(55)}", ground_truth="31").scores["correct"] == 0.0


TRUTHS = [
    (["4", "1,250.5", "-3"], "number"),
    ([7, 8.5], "number"),
    (["A", "B", "(C)"], "choice"),
    ([r"\frac{1}{2}", "x^2"], "mathematics"),
    (["3", r"\sqrt{2}"], "mathematics"),
    (["Oslo", "New York"], "text"),
    (["It was the largest city of the north in those days."] * 2, "prose"),
    (["assert f(1) == 2", "assert f(2) == 3"], "code"),
    ([["Oslo", "Christiania"]], "accepted"),
    ([{"target": 98, "numbers": [1, 2]}], "opaque"),
    ([{"answer": 98, "numbers": [1, 2]}, {"answer": 3}], "opaque"),
    ([{"answer": 12, "unit": "kg"}, {"answer": 3, "unit": None}], "number"),
    ([None, None], "none"),
    ([[], ""], "none"),
]


@pytest.mark.parametrize(("truths", "kind"), TRUTHS)
def test_the_kind_of_the_truths_decides_how_answers_are_compared(truths, kind):
    rows = [{"completion": "no", "ground_truth": truth} for truth in truths]
    assert truth_of(rows, [""] * len(rows)).kind == kind


def test_truths_of_several_kinds_are_texts_and_few_of_another_kind_are_not_judged():
    rows = [{"completion": "", "ground_truth": str(at)} for at in range(19)]
    few = truth_of([*rows, {"completion": "", "ground_truth": "Oslo"}], [""])
    assert (few.kind, few.share) == ("number", 0.95)
    assert truth_of([*rows[:5], {"completion": "", "ground_truth": "Oslo"}], [""]).kind == "text"


def test_objects_are_compared_only_where_completions_state_some():
    truth = {"name": "Uma", "age": 59}
    assert truth_of([{"completion": '{"name": "Ada"}', "ground_truth": truth}], [""]).kind == "json"
    assert truth_of([{"completion": "<answer>59</answer>", "ground_truth": truth}], [""]).kind == "opaque"


def test_the_letters_of_a_choice_are_those_of_prompts_and_truths():
    rows = [{"completion": "B", "ground_truth": "B"}] * 3
    assert truth_of(rows, ["(A) 1\n(B) 2\n(C) 3\n(D) 4\n(E) 5\n(F) 6"]).options == "ABCDEF"
    assert truth_of(rows, ["Which?"]).options == "ABCD"


def test_a_worked_solution_is_compared_by_what_stands_at_its_end(written):
    rows = stated("#### {}")
    made = written([{**row, "ground_truth": f"6 and 7\n#### {row['ground_truth']}"} for row in rows])
    reward = rk.load_reward(str(made.reward))
    assert reward(completion="#### 42", ground_truth="40 + 2 = 42\n#### 42").scores["correct"] == 1.0
    assert reward(completion="#### 42", ground_truth="42").status["correct"] == "abstained"


def test_where_two_marks_are_common_both_are_read(written):
    def make(at, place):
        said = rf"\boxed{{{at + 30}}}" if place < 2 else f"Final answer: {at + 30}"
        return {"completion": said, "ground_truth": str(at + 30)}

    text = written(groups(make)).reward.read_text()
    assert "rk.extract.first_of(" in text and '"marked": rk.extract.boxed()' in text
    assert "first_of(boxed(), within(answer_phrase(), number()))  100 %  100 %  taken" in text


def test_a_mark_that_is_rare_is_no_second_way(written):
    rows = stated("<answer>{}</answer>")
    rows[3]["completion"] = "The answer is 30."
    assert "first_of" not in written(rows).reward.read_text()


def test_one_right_answer_by_accident_does_not_take_the_place_of_the_form_that_is_used(written):
    rows = [{**row, "ground_truth": "1000000"} for row in stated("<answer>{}</answer>")]
    rows[3] |= {"completion": "1000000 perhaps"}
    text = written(rows).reward.read_text()
    assert '"prediction": rk.extract.tag("answer")' in text
    assert "too few to learn from" in " ".join(text.replace("#", " ").split())


def test_tags_that_prompt_or_completions_have_are_the_form(written):
    rows = [
        {**row, "completion": f"<think>Well.</think>\n{row['completion']}"}
        for row in stated("<answer>{}</answer>")
    ]
    assert 'rk.measure.tags("think", "answer")' in written(rows).reward.read_text()


def test_a_tag_in_other_letters_is_the_same_tag_and_thoughts_are_no_answers(written):
    rows = stated("<answer>{}</answer>")
    for row in rows[::8]:
        row["completion"] = f"<THINK>{row['ground_truth']}</THINK><ANSWER>{row['ground_truth']}</ANSWER>"
    text = written(rows).reward.read_text()
    assert 'tag("answer")' in text and not {"ANSWER", "THINK"} & set(re.findall(r"\w+", text))


def test_a_tag_that_few_completions_have_is_no_part_of_the_form(written):
    rows = stated("<answer>{}</answer>")
    for at, row in enumerate(rows):
        thought = "<b>Well.</b>" if at % 4 == 0 else "Well."
        row["completion"] = f"<think>{thought}</think> {row['completion']}"
    assert 'rk.measure.tags("think", "answer")' in written(rows).reward.read_text()


def test_right_answers_that_the_taken_way_does_not_read_are_a_question(written):
    rows = stated("<answer>{}</answer>")
    for row in rows[3::8]:
        row["completion"] = f"That is {row['ground_truth']}"
    text = " ".join(written(rows).reward.read_text().replace("\n        #", " ").split())
    assert "Decide: in 12 % of them a right answer is read by rk.extract.number(), not by this." in text


def test_whether_the_order_of_lists_matters_is_a_question(written):
    def make(at, place):
        truth = [at, at + 1, at + 2]
        return {"completion": str(truth[::-1] if place == 3 else truth), "ground_truth": truth}

    text = " ".join(written(groups(make)).reward.read_text().replace("\n        #", " ").split())
    assert (
        "Decide: does order matter? rk.verify.sets_equal takes any (100 % right), rk.verify.lists_equal only "
        "that of the truth (75 %)" in text
    )


def test_a_tag_that_the_prompt_has_opened_is_no_fault(written):
    rows = [
        {**row, "completion": f"Well.</think>\n{row['completion']}"} for row in stated("<answer>{}</answer>")
    ]
    made = written(rows)
    assert 'rk.measure.tags("think", "answer", prefilled=True)' in made.reward.read_text()
    reward = rk.load_reward(str(made.reward))
    assert reward(completion=rows[0]["completion"], ground_truth="1").scores["format"] == 1.0


def test_objects_are_paid_value_by_value_and_by_the_schema_of_the_truths(written):
    def make(at, place):
        truth = {"name": f"N{at}", "age": at, "tags": ["a"]}
        said = {**truth, "age": at + 1} if place % 2 else truth
        return {"completion": f"Here: {json.dumps(said)}", "ground_truth": truth}

    made = written(groups(make))
    reward = rk.load_reward(str(made.reward))
    result = reward(
        completion='{"name": "Ada", "age": 3, "tags": []}', ground_truth={"name": "Ada", "age": 4, "tags": []}
    )
    assert result.scores == pytest.approx({"values": 2 / 3, "correct": 0.0, "format": 1.0})
    assert (
        reward(completion='{"name": "Ada", "age": "3", "tags": []}', ground_truth={}).scores["format"] == 0.0
    )


def test_a_schema_holds_what_all_objects_share():
    schema = schema_of([{"a": 1, "b": "x", "c": None}, {"a": 2.5, "b": 3, "d": True}])
    assert schema == {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {}},
        "required": ["a", "b"],
    }
    assert schema_of([{"a": 1}, [1]]) is None
    assert schema_of([{f"k{at}": 1 for at in range(40)}]) is None


UNJUDGED = [
    ({}, "the log has no ground_truth"),
    ({"ground_truth": {"target": 98, "numbers": [1, 2]}}, "the truths are objects that say how to judge"),
    ({"ground_truth": "assert f(1) == 2"}, "the truths are code or tests"),
]


@pytest.mark.parametrize(("truth", "said"), UNJUDGED)
def test_where_no_truth_can_be_compared_the_reward_says_so_and_pays_form_and_length_only(
    written, truth, said
):
    made = written(groups(lambda at, place: {"completion": f"<answer>{at} {place}</answer>", **truth}))
    text = " ".join(made.reward.read_text().replace("\n#", " ").split())
    assert f"Nothing here pays for being right: {said}" in text
    assert set(rk.load_reward(str(made.reward)).names) == {"format", "length"}
    assert "rk.verify" not in text and "right  " not in text


def test_a_text_without_any_mark_or_truth_is_paid_by_its_length(written):
    made = written(groups(lambda at, place: {"completion": f"roses {at} " * (place + 1)}))
    assert rk.load_reward(str(made.reward)).names == ("length", "repetition")


def test_what_is_short_of_twenty_right_completions_sets_no_length(written):
    rows = [{"prompt": "2+2?", "completion": "<answer>4</answer>", "ground_truth": "4"}]
    assert rk.load_reward(str(written(rows).reward)).names == ("correct", "format")


@pytest.mark.parametrize("loops", [0, 1])
def test_loops_are_paid_against_where_there_are_some(written, loops):
    rows = stated("<answer>{}</answer>")
    rows[3]["completion"] += " and so on and so on" * 9 * loops
    assert ("repetition" in rk.load_reward(str(written(rows).reward)).names) == bool(loops)


def test_the_figures_in_the_comments_are_those_of_the_log(written):
    text = written(stated("<answer>{}</answer>")).reward.read_text()
    assert "# 96 completions of 24 prompts." in text
    assert re.search(r'tag\("answer"\) +75 % +50 %  taken', text)
    assert "50 % of the completions are right." in text
    assert "75 % of the completions keep this form (<answer>)." in text
    assert all(len(line) <= 110 for line in text.splitlines())


def test_sources_that_are_read_or_judged_differently_get_a_reward_each(written):
    boxes = [{**row, "data_source": "math/a"} for row in stated("\\boxed{{{}}}")]
    tags = [{**row, "data_source": "reward"} for row in stated("<answer>{}</answer>")]
    reward = rk.load_reward(str(written([*boxes, *tags]).reward))
    assert {name: part.names for name, part in reward.routing.rewards.items()} == {
        "math/a": ("correct", "format", "concise"),
        "reward": ("correct", "format", "concise"),
    }
    assert reward(data_source="math/a", completion="<answer>4</answer>", ground_truth="4").reward == 0.0
    assert reward(data_source="reward", completion="<answer>4</answer>", ground_truth="4").reward > 1.0


def test_sources_that_are_alike_share_one_reward(written):
    rows = [{**row, "data_source": "ab"[at % 2]} for at, row in enumerate(stated("<answer>{}</answer>"))]
    assert rk.load_reward(str(written(rows).reward)).routing is None


@pytest.mark.parametrize("text", ["answer", "it's", 'say "x"', "'\"", "\\", "\n\u202e", "\ud83d", "{x}", ""])
def test_a_text_is_written_as_code_that_gives_it_back(text):
    assert eval(code_of(text)) == text
    assert code_of(text).isprintable()
