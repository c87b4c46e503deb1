"""What a log shows of a task: its truths, where its answers stand, and the reward that is written for it."""

import json

import pytest
from tables import read_table

import rewardkit as rk
from rewardkit.answers import find_truth
from rewardkit.rewards.source import code_of
from rewardkit.starting.task import schema_of
from rewardkit.starting.verdict import find_verdict

pytestmark = pytest.mark.integration


def groups(make, prompts=24, size=4):
    """Rows of a number of prompts, each made from its prompt's number and its place in the group."""
    return [
        {"prompt": f"question {at}", **make(at, place)}
        for at in range(prompts)
        for place in range(size)
    ]


def stated(form="<answer>{}</answer>", every=None, **change):
    """Three of four completions state a number in this form, the last of them a wrong one, or none.

    Every so many rows, from the last of the first group, a column is what a function of the row gives.
    """

    def make(at, place):
        said = (
            form.format(at + 30 if place < 2 else at + 2000)
            if place < 3
            else "I do not know"
        )
        return {"completion": f"Step {place}.\n{said}", "ground_truth": str(at + 30)}

    rows = groups(make)
    for row in rows[3::every] if every else ():
        row |= {name: given.format(**row) for name, given in change.items()}
    return rows


def told(made):
    """The reward that was written, without what breaks its lines and comments."""
    return " ".join(made.reward.read_text().replace("#", " ").split())


READ = r"""
<answer>{}</answer> :: rk.extract.tag("answer") :: a tag of any name
<result>{}</result> of 7 :: rk.extract.tag("result") :: not the last number, which is 7
<answer>${} in all</answer> :: within( :: the number in the tag, as the tag holds words, too
so \boxed{{{}}} :: rk.extract.boxed() :: a box
#### {} :: rk.extract.gsm8k() :: GSM8K's mark
The answer is {} apples. :: within(rk.extract.answer_phrase() :: the number in a sentence
{{"sum": {}}} :: rk.extract.json_value("sum") :: a key of an object
Sum: {}⏎Reason: it takes 7 :: within(rk.extract.after("Sum:") :: the number on the line of a label
it makes {} :: rk.extract.number() :: no mark: the last number
"""


@pytest.mark.parametrize(("form", "code", "why"), read_table(READ))
def test_numbers_are_read_as_the_completions_state_them(written, form, code, why):
    made = written(stated(form))
    reward = rk.load_reward(str(made.reward))
    assert (
        code in made.reward.read_text().split("fields={")[1].split("components")[0]
    ), why
    right = reward(completion=f"Well.\n{form.format(31)}", ground_truth="31")
    assert (right.scores["correct"], right.status["correct"]) == (1.0, "scored")
    assert (
        reward(completion=f"Well.\n{form.format(55)}", ground_truth="31").scores[
            "correct"
        ]
        == 0.0
    )


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
    ([*map(str, range(19)), "Oslo"], "number"),  # few of another kind are not judged
    ([*map(str, range(5)), "Oslo"], "text"),
]


@pytest.mark.parametrize(("truths", "kind"), TRUTHS)
def test_the_kind_of_the_truths_decides_how_answers_are_compared(truths, kind):
    rows = [{"completion": "no", "ground_truth": truth} for truth in truths]
    assert find_truth(rows, [""] * len(rows)).kind == kind


def test_objects_are_compared_only_where_completions_state_some_and_a_choice_is_of_the_prompts_letters():
    truth = {"name": "Uma", "age": 59}
    assert (
        find_truth(
            [{"completion": '{"name": "Ada"}', "ground_truth": truth}], [""]
        ).kind
        == "json"
    )
    assert (
        find_truth(
            [{"completion": "<answer>59</answer>", "ground_truth": truth}], [""]
        ).kind
        == "opaque"
    )
    rows = [{"completion": "B", "ground_truth": "B"}] * 3
    assert (
        find_truth(rows, ["(A) 1\n(B) 2\n(C) 3\n(D) 4\n(E) 5\n(F) 6"]).options
        == "ABCDEF"
    )
    assert find_truth(rows, ["Which?"]).options == "ABCD"


def two_marks(at, place):
    said = rf"\boxed{{{at + 30}}}" if place < 2 else f"Final answer: {at + 30}"
    return {"completion": said, "ground_truth": str(at + 30)}


def lists(at, place):
    truth = [at, at + 1, at + 2]
    return {
        "completion": str(truth[::-1] if place == 3 else truth),
        "ground_truth": truth,
    }


THOUGHT = "<THINK>{ground_truth}</THINK><ANSWER>{ground_truth}</ANSWER>"
TAGGED, UPPER = (
    stated("<think>Well.</think> <answer>{}</answer>"),
    stated(every=8, completion=THOUGHT),
)
ACCIDENT = [
    row | {"ground_truth": "1000000"}
    for row in stated(every=96, completion="1000000 perhaps")
]
FEW = [
    row | {"completion": f"<b>Well</b> {row['completion']}"} for row in TAGGED[::4]
] + TAGGED
MISSED, RARE = (stated(every=at, completion="That is {ground_truth}") for at in (8, 96))
FORM, TAG = (
    'rk.measure.tags("think", "answer")',
    '"prediction": rk.extract.tag("answer")',
)
FIRST_OF = "first_of(boxed(), within(answer_phrase(), number())) 100 % 100 % taken"
LOST = "Decide: in 12 % of them a right answer is read by rk.extract.number(), not by this."
ORDER = "Decide: does order matter? rk.verify.sets_equal takes any (100 % right), rk.verify.lists_equal only"
SHARES = 'tag("answer") 75 % 50 % taken', "50 % of the completions are right."
FIGURES = (
    "96 completions of 24 prompts.",
    *SHARES,
    "75 % of the completions keep this form (<answer>).",
)


def logged(rows, is_right, name="passed"):
    """Rows with what a log says is right: a function of the row."""
    return [{**row, name: is_right(row)} for row in rows]


def is_stated(row):
    return f">{row['ground_truth']}<" in row["completion"]


def solved(at, place):
    said = f"They take {at} and add {place // 2}, one after another."
    truth = f"They take {at} and then add zero to it.\nA: {at}"
    return {"completion": f"{said}\nA: {at + place // 2}", "ground_truth": truth}


def deciphered(at, place):
    words = f"every morning number {at} the old town of the north is quiet and cold"
    said = words if place < 2 else words.replace("quiet", "quite")
    return {"completion": f"<answer>{said}</answer>", "ground_truth": words}


def with_reason(at, place):
    town = f"Town {chr(65 + at)}"
    said = town if place < 2 else "Rome"
    answer = f"Town: {said}\nReason: it is there" if place else said
    return {"completion": answer, "ground_truth": town}


HALF = "50 % right, this reading 50 %, and they agree on each."


def taken_back(at, place):
    last = at + 30 if place < 2 else 7
    said = f"<answer>{at + 30}</answer>, no: {last}"
    return {"completion": said, "ground_truth": str(at + 30)}


def is_last(row):
    return row["completion"].endswith(row["ground_truth"])


# rows, what the file says, and ("!") what it does not say
SAID = {
    "where two marks are common both are read": (
        groups(two_marks),
        '"marked": rk.extract.boxed()',
        FIRST_OF,
    ),
    "a mark that is rare is no second way": (RARE, TAG, "!first_of"),
    "one right answer by accident changes nothing": (
        ACCIDENT,
        TAG,
        "too few to learn from",
    ),
    "tags that the completions have are the form": (TAGGED, FORM),
    "a tag in other letters is the same, and thoughts are no answers": (
        UPPER,
        TAG,
        "!ANSWER",
        "!THINK",
    ),
    "the line of a label that stands before its reason": (
        groups(with_reason),
        'after("Town:") 75 % 25 % taken',
        "Decide: in 25 % of them a right answer is read by the completion, not by this.",
    ),
    "a tag that few have is no part of the form": (FEW, FORM),
    "right answers that the taken way misses are a question": (MISSED, LOST),
    "whether the order of lists matters is a question": (
        groups(lists),
        ORDER,
        "that of the truth (75 %)",
    ),
    "the log's own verdict is told beside the reading's": (
        logged(stated(), is_stated),
        f"The log's 'passed' calls {HALF}",
        "!which of the two",
    ),
    "and what differs is a question": (
        logged(stated(), lambda row: is_stated(row) or "not" in row["completion"]),
        "calls 75 % right, this reading 50 %, and they differ on 24 completions.",
        "Decide: which of the two is wrong where they differ?",
    ),
    "the way is taken that agrees with the log": (
        logged(groups(taken_back), is_last),
        "number() 100 % 50 % taken",
    ),
    "a long text that the log takes as a whole is compared as a whole": (
        logged(groups(deciphered), is_stated, "score"),
        "rk.verify.matches",
        f"The log's 'score' calls {HALF}",
    ),
    "and one that ends with its answer by that": (
        logged(
            groups(solved),
            lambda row: row["completion"][-2:] == row["ground_truth"][-2:],
        ),
        "rk.verify.numbers_equal",
        f"The log's 'passed' calls {HALF}",
    ),
    "the figures are those of the log": (stated(), *FIGURES),
}


@pytest.mark.parametrize("kind", SAID)
def test_the_file_says_what_the_log_shows(written, kind):
    rows, *said = SAID[kind]
    made = written(rows)
    text = told(made)
    assert [
        one for one in said if (one.removeprefix("!") in text) is one.startswith("!")
    ] == [], text
    assert all(len(line) <= 110 for line in made.reward.read_text().splitlines())


def test_a_worked_solution_is_compared_by_what_stands_at_its_end(written):
    rows = [
        {**row, "ground_truth": f"6 and 7\n#### {row['ground_truth']}"}
        for row in stated("#### {}")
    ]
    reward = rk.load_reward(str(written(rows).reward))
    assert (
        reward(completion="#### 42", ground_truth="40 + 2 = 42\n#### 42").scores[
            "correct"
        ]
        == 1.0
    )
    assert (
        reward(completion="#### 42", ground_truth="42").status["correct"] == "abstained"
    )


def test_a_tag_that_the_prompt_has_opened_is_no_fault(written):
    rows = [
        {**row, "completion": f"Well.</think>\n{row['completion']}"} for row in stated()
    ]
    made = written(rows)
    assert (
        'rk.measure.tags("think", "answer", prefilled=True)' in made.reward.read_text()
    )
    reward = rk.load_reward(str(made.reward))
    assert (
        reward(completion=rows[0]["completion"], ground_truth="1").scores["format"]
        == 1.0
    )


def test_objects_are_paid_value_by_value_and_by_the_schema_of_the_truths(written):
    def make(at, place):
        truth = {"name": f"N{at}", "age": at, "tags": ["a"]}
        said = {**truth, "age": at + 1} if place % 2 else truth
        return {"completion": f"Here: {json.dumps(said)}", "ground_truth": truth}

    reward = rk.load_reward(str(written(groups(make)).reward))
    truth = {"name": "Ada", "age": 4, "tags": []}
    result = reward(
        completion='{"name": "Ada", "age": 3, "tags": []}', ground_truth=truth
    )
    assert result.scores == pytest.approx(
        {"values": 2 / 3, "correct": 0.0, "format": 1.0}
    )
    assert (
        reward(completion='{"name": "Ada", "age": "3"}', ground_truth={}).scores[
            "format"
        ]
        == 0.0
    )


def test_a_schema_holds_what_all_objects_share():
    schema = schema_of([{"a": 1, "b": "x", "c": None}, {"a": 2.5, "b": 3, "d": True}])
    properties = {"a": {"type": "number"}, "b": {}}
    assert schema == {
        "type": "object",
        "properties": properties,
        "required": ["a", "b"],
    }
    assert (
        schema_of([{"a": 1}, [1]])
        is schema_of([{f"k{at}": 1 for at in range(40)}])
        is None
    )


UNJUDGED = [
    ({}, "the log has no ground_truth"),
    (
        {"ground_truth": {"target": 98, "numbers": [1, 2]}},
        "the truths are objects that say how to judge",
    ),
    ({"ground_truth": "assert f(1) == 2"}, "the truths are code or tests"),
]


@pytest.mark.parametrize(("truth", "said"), UNJUDGED)
def test_where_no_truth_can_be_compared_the_reward_pays_form_and_length_only(
    written, truth, said
):
    made = written(
        groups(
            lambda at, place: {"completion": f"<answer>{at} {place}</answer>", **truth}
        )
    )
    assert f"Nothing here pays for being right: {said}" in told(made)
    assert set(rk.load_reward(str(made.reward)).names) == {"format", "length"}
    assert "rk.verify" not in told(made)


ROSES = groups(lambda at, place: {"completion": f"roses {at} " * (place + 1)})
ONE_ROW = [{"prompt": "2+2?", "completion": "<answer>4</answer>", "ground_truth": "4"}]
LOOPING = stated(every=96, completion="{completion}" + " and so on and so on" * 9)
COMPONENTS = {
    "no mark and no truth": (ROSES, ["length", "repetition"]),
    "less than twenty right ones set no length": (ONE_ROW, ["correct", "format"]),
    "loops are paid against": (LOOPING, ["correct", "format", "concise", "repetition"]),
    "and without loops they are not": (stated(), ["correct", "format", "concise"]),
}


@pytest.mark.parametrize("kind", COMPONENTS)
def test_components_are_those_that_the_log_has_something_for(written, kind):
    rows, names = COMPONENTS[kind]
    assert list(rk.load_reward(str(written(rows).reward)).names) == names


def test_sources_get_a_reward_each_only_where_they_are_read_or_judged_differently(
    written,
):
    boxes = [{**row, "data_source": "math/a"} for row in stated("\\boxed{{{}}}")]
    tags = [{**row, "data_source": "reward"} for row in stated()]
    reward = rk.load_reward(str(written([*boxes, *tags], folder="two").reward))
    parts = {name: part.names for name, part in reward.rewards.items()}
    assert parts == dict.fromkeys(
        ["math/a", "reward"], ("correct", "format", "concise")
    )
    assert (
        reward(
            data_source="math/a", completion="<answer>4</answer>", ground_truth="4"
        ).reward
        == 0.0
    )
    assert (
        reward(
            data_source="reward", completion="<answer>4</answer>", ground_truth="4"
        ).reward
        > 1.0
    )
    alike = [{**row, "data_source": "ab"[at % 2]} for at, row in enumerate(stated())]
    assert rk.load_reward(str(written(alike, folder="one").reward)).routed_by == ""


@pytest.mark.parametrize(
    "text", ["answer", "it's", 'say "x"', "'\"", "\\", "\n\u202e", "\ud83d", "{x}", ""]
)
def test_a_text_is_written_as_code_that_gives_it_back(text):
    assert eval(code_of(text)) == text
    assert code_of(text).isprintable()


# lists: a column of labels, commas, bullets

LABELS = ("red", "green", "blue", "urgent")


def tickets(say, truth=list, column="labels"):
    """Of each prompt: its labels, in another order, one too few, and wrong ones."""

    def make(at, place):
        wanted = [LABELS[at % 4], LABELS[(at + 1 + at % 2) % 4]]
        others = [label for label in LABELS if label not in wanted]
        listed = [wanted, wanted[::-1], wanted[:1], others][place]
        return {"completion": say(listed), column: truth(wanted)}

    return groups(make)


def commas(labels):
    return ", ".join(labels)


def bullets(labels):
    return "The labels are:\n" + "\n".join(f"- {label}" for label in labels)


LISTED = [
    (tickets(commas), "the completion itself", 'prediction": "completion'),
    (tickets(lambda items: f"Labels: {commas(items)}"), "a head", 'after("Labels:")'),
    (tickets(bullets), "bullets", "every(rk.extract.pattern("),
    (tickets(bullets, commas), "truths with commas", "every(rk.extract.pattern("),
    (tickets(commas, commas, "ground_truth"), "texts", 'prediction": "completion'),
    (
        tickets(
            lambda items: f"<answer>{commas(items)}</answer>", list, "ground_truth"
        ),
        "a tag",
        'tag("answer")',
    ),
    (
        tickets(
            lambda items: f"<answer>{commas(items)}</answer>",
            json.dumps,
            "ground_truth",
        ),
        "a tag, of truths that are JSON written as a text",
        'tag("answer")',
    ),
    (tickets(json.dumps), "JSON", "json_value()"),
]


@pytest.mark.parametrize(
    ("rows", "why", "code"), LISTED, ids=[why for _, why, _ in LISTED]
)
def test_lists_are_found_and_compared_as_sets_and_f1_is_offered(
    written, rows, why, code
):
    made = written(rows)
    text = made.reward.read_text()
    assert code in text and "rk.verify.sets_equal" in text
    said = told(made)
    assert (
        "rk.verify.sets_f1 pays for what it has in common with the truth (mean 0.67)"
        in said
    )
    assert "How often an item stands is lost" in said
    scores = rk.score(rk.load_reward(str(made.reward)), rows_of(made))
    assert scores.score("correct").tolist()[:4] == [1.0, 1.0, 0.0, 0.0]
    assert rk.check(rk.load_reward(str(made.reward)), made.cases).passed > 0


def rows_of(made):
    """The log as the notebook of the task reads it."""
    columns = None
    if 'the column "labels" is taken for the truth' in made.text:
        columns = {"ground_truth": "labels"}
        assert "--column=ground_truth=labels" in made.next[-1]
    return rk.load_rollouts("../log.jsonl", columns=columns)


NO_LABELS = [
    ("which rows are right", lambda at, place: place < 2),
    ("numbers", lambda at, place: [1, 2]),
    ("that differ between siblings", lambda at, place: ["red", "blue"][place % 2]),
]


@pytest.mark.parametrize(("why", "label"), NO_LABELS, ids=[why for why, _ in NO_LABELS])
def test_labels_that_are_no_truths_are_not_taken_for_them(written, why, label):
    made = written(
        groups(
            lambda at, place: {
                "completion": f"{place} it is",
                "labels": label(at, place),
            }
        )
    )
    assert "is taken for the truth" not in made.text


def test_places_with_a_comma_are_no_lists(written):
    places = [f"City{at}, Land{at % 12}" for at in range(24)]
    rows = groups(
        lambda at, place: {
            "completion": places[at + place - 3],
            "ground_truth": places[at],
        }
    )
    assert find_truth(rows, [""] * len(rows)).kind == "text"


def test_truths_with_a_comma_in_an_item_are_asked_about(written):
    def make(at, place):
        items = ["red", "dark, blue"] if at % 2 else ["red", "green"]
        return {"completion": commas(items[: 2 - place % 2]), "ground_truth": items}

    assert "50 % of the truths have an item with a comma" in told(written(groups(make)))


def test_json_without_its_closing_brace_is_asked_about(written):
    def make(at, place):
        text = json.dumps({"name": f"n{at}", "age": at + place // 2})
        return {
            "completion": text[:-1] if place % 2 else text,
            "ground_truth": json.dumps({"name": f"n{at}", "age": at}),
        }

    said = told(written(groups(make)))
    assert "in 50 % of the completions the JSON is broken" in said
    assert "without its closing brace" in said and "Is it to be paid?" in said


TAKEN = ["correct", "prediction", "truth"]


@pytest.mark.parametrize("name", TAKEN)
def test_a_column_named_like_a_part_of_the_reward_is_no_error(written, name):
    worked = [
        {**row, "ground_truth": f"so\n#### {row['ground_truth']}"} for row in stated()
    ]
    made = written(logged(worked, lambda row: len(row["completion"]) % 2, name))
    reward = rk.load_reward(str(made.reward))
    assert name not in (*reward.names, *reward.fields)
    assert f"{name}_2" in (*reward.names, *reward.fields)
    right = reward(completion="<answer>31</answer>", ground_truth="so\n#### 31")
    assert right.scores[reward.primary] == 1.0


VERDICTS = [
    ({"reward": [1.0, 0.0], "correct": [0, 1]}, ("correct", [0.0, 1.0])),
    ({"reward": [-1.0, 2.0]}, ("reward", [0.0, 1.0])),
    ({"score": [0.0, 0.5, 1.0]}, ("score", [0.0, 0.0, 1.0])),
    ({"reward": [0.0, 0.0]}, ("reward", [0.0, 0.0])),
    ({"reward": [0.1, 0.7, -2.0]}, None),  # how much of it is right nobody says
    ({"judge_seed": [1, 0], "length": [0, 1]}, None),
    ({"correct_option": [1, 0], "label": [0, 1]}, ("label", [0.0, 1.0])),
    ({"incorrect": [1, 0], "solved": [0, 1]}, ("solved", [0.0, 1.0])),
]


@pytest.mark.parametrize(("columns", "expected"), VERDICTS)
def test_what_the_log_calls_right_is_a_column_of_two_values_or_a_share(
    columns, expected
):
    size = len(next(iter(columns.values())))
    rows = [
        {"prompt": "p", "completion": f"{at}"}
        | {name: values[at] for name, values in columns.items()}
        for at in range(size)
    ]
    verdict = find_verdict(rk.load_rollouts(rows))
    found = verdict and (verdict.name, verdict.is_right.tolist())
    assert found == expected
