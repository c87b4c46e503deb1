"""mutants(): which changes of a reward the cases catch, which survive, and the cases that are missing."""

import json
import math
import threading
from types import SimpleNamespace

import pytest
from planted_probes import made

import rewardkit as rk
from rewardkit.errors import CasesError, InputError, RewardError
from rewardkit.mutation.rows import Memory
from rewardkit.scoring.calls import Calls

pytestmark = pytest.mark.integration

extract, measure, verify = rk.extract, rk.measure, rk.verify

BRIEF = measure.length(full_until=6, zero_from=16)
REWARD = rk.Reward(
    "small",
    {"prediction": extract.first_of(extract.tag("answer"), extract.number())},
    [
        rk.Component("correct", verify.numbers_equal, weight=1.0),
        rk.Component("form", measure.tags("think", "answer"), weight=0.2),
        rk.Component("brief", BRIEF, weight=0.1, gate=rk.gate("correct", at_least=1.0)),
        rk.Component("loops", measure.repetition(ngram=2), weight=-0.2),
    ],
)
FORMED = "<think>2 + 2</think> <answer>{}</answer>"
CASE = {
    "name": "right",
    "completion": FORMED.format(4),
    "ground_truth": "4",
    "reward": 1.3,
}
LENGTH = made(measure.length(full_until=1000, zero_from=9000))


def rows(*texts, truth="4"):
    return [{"completion": text, "ground_truth": truth} for text in texts]


def mutants(*texts, cases=(CASE,), truth="4", **options):
    return rk.mutants(REWARD, list(cases), rows(*texts, truth=truth) or None, **options)


def sentences(judged):
    return [item.mutant.sentence for item in judged]


def survivor(result, words):
    return next(item for item in result.survived if words in item.mutant.sentence)


def catches(mutant, case, reward=REWARD):
    """Whether a case holds for the reward and fails for a mutant, as a person would check it."""
    cases = rk.load_cases([case])
    assert not rk.check(reward, cases).misses
    return bool(rk.check(mutant.reward, cases, ignore=reward.names).misses)


TAG, NUMBER = "rk.extract.tag('answer')", "rk.extract.number()"
PLANTED = {
    f"Field 'prediction' takes the first match, not the last, in {NUMBER}.": "2, then 4",
    f"Field 'prediction' leaves out {NUMBER}.": "it is 4",
    f"Field 'prediction' has unclosed=True, in {TAG}.": "<answer>5</answer> <answer>4",
    "Component 'brief' has no gate.": FORMED.format(5),
    "Component 'correct' has a tolerance, absolute=1.": "<answer>5</answer>",
    "Component 'correct' compares texts, not numbers.": "<answer>4.0</answer>",
    "Component 'loops' is not paid.": "4 4 4 4 4 4 4",
    "Component 'loops' has ngram=3, not 2.": "4 4 4 4 4 4 4",
    "The reward has the weights of 'correct' and 'form' swapped.": "<answer>4</answer>",
    "Component 'form' is always 1.": "<answer>4</answer>",
    "Component 'brief' has full_until=7, not 6.": "well it is surely the number 4",
}


@pytest.mark.parametrize(("planted", "completion"), PLANTED.items())
def test_a_planted_survivor_is_listed_with_a_case_that_catches_it(planted, completion):
    result = mutants(completion, CASE["completion"])
    found = survivor(result, planted)
    first = found.differences[0]
    assert found.differs >= 1
    for reward, earned in (
        (REWARD, first.reward),
        (found.mutant.reward, first.mutant_reward),
    ):
        assert earned == pytest.approx(
            reward(completion=first.completion, ground_truth="4").reward
        )
    assert found.case in result.proposed_cases and catches(found.mutant, found.case)


def test_the_proposed_cases_together_catch_every_survivor_and_hold_for_the_reward(
    tmp_path,
):
    rollouts, path = rows(*PLANTED.values()), tmp_path / "cases.jsonl"
    result = rk.mutants(REWARD, [CASE], rollouts)
    assert 0 < result.score < 0.8 and len(result.proposed_cases) < len(rollouts)
    path.write_text(json.dumps(CASE) + "\n")
    assert (result.write_cases(path), result.write_cases(path)) == (
        len(result.proposed_cases),
        0,
    )
    again = rk.mutants(REWARD, path, rollouts)
    assert (again.score, again.survived, again.proposed_cases) == (1.0, (), ())
    assert len(again.noticed) == len(result.noticed) + len(result.survived)


@pytest.mark.parametrize("name", ["curriculum", "tool_use"])
def test_noticed_is_what_check_says(name):
    reward, cases = (
        rk.load_reward(f"gallery:{name}"),
        rk.load_cases(f"gallery:{name}")[::3],
    )
    result = rk.mutants(reward, cases)
    assert 0.1 < result.score < 1.0
    for item in result.judged:
        misses = rk.check(item.mutant.reward, cases, ignore=reward.names).misses
        assert set(item.noticed_by) == {miss.case for miss in misses}, (
            item.mutant.sentence
        )
        assert item.outcome == ("noticed" if misses else "survived")


def test_what_the_cases_miss_already_does_not_count():
    result = mutants("<answer>5</answer>", cases=[{**CASE, "reward": 0.0}])
    assert result.noticed == () and result.survived and result.proposed_cases == ()
    assert repr(result).startswith(
        "Cases that fail already: 1 of 1. Mutation score 0.00: "
    )
    assert result.next_step.startswith("fix what the cases miss first")


def test_mutants_that_no_row_tells_apart_are_not_counted_but_without_rollouts_nobody_knows():
    result = mutants(FORMED.format(5))
    counted = len(result.noticed) + len(result.survived)
    assert result.score == len(result.noticed) / counted
    assert len(result.not_told_apart) == len(result.judged) - counted > 15
    assert "Component 'loops' is not paid." in sentences(result.not_told_apart)
    assert all(item.case is None and not item.differs for item in result.not_told_apart)
    alone = mutants()
    assert (alone.not_told_apart, alone.proposed_cases) == ((), ())
    assert len(alone.survived) == len(result.survived) + len(result.not_told_apart)
    assert "Next: give rollouts" in repr(alone)


def test_a_case_with_a_wide_range_tells_a_survivor_apart_without_rollouts():
    result = mutants(cases=[{**CASE, "reward": [1.0, 1.5]}])
    found = survivor(result, "'brief' is always 0")
    assert (found.differences[0].case, found.differences[0].rollout_id) == (
        "right",
        None,
    )
    assert found.case["reward"] == 1.3 and catches(found.mutant, found.case)
    assert "Differs on case 'right': 1.3 → 1.2." in " ".join(repr(result).split())


def test_rewards_that_differ_little_get_a_tolerance_of_their_own_and_a_clear_row_comes_first():
    cases = [{"completion": "a", "reward": 1.0}]
    rollouts = [{"completion": "a " * size} for size in (1001, 5000)]
    near = survivor(rk.mutants(LENGTH, cases, rollouts[:1]), "zero_from=6300")
    assert 0 < near.case["tolerance"] < 1e-4 and catches(near.mutant, near.case, LENGTH)
    clear = survivor(rk.mutants(LENGTH, cases, rollouts), "zero_from=6300")
    assert len(clear.case["completion"]) == 10_000 and clear.case["tolerance"] > 1e-3


def test_the_largest_differences_come_first_and_of_equal_ones_the_shortest():
    texts = [
        "<answer>5</answer>",
        FORMED.format(44),
        FORMED.format(5),
        FORMED.format("5 "),
        "4",
    ]
    found = survivor(mutants(*texts), "has no gate")
    assert found.differs == 4 and [item.rollout_id for item in found.differences] == [
        1,
        3,
        2,
    ]


def test_what_is_not_judged_is_told_from_what_is():
    found = survivor(mutants("<answer>4</answer>", truth=None), "has on_missing='zero'")
    assert found.case["reward"] == "unscored" and found.case["ground_truth"] is None
    assert (
        math.isnan(found.differences[0].reward)
        and found.record()["differences"][0]["reward"] is None
    )
    assert catches(found.mutant, found.case)


def test_rows_that_end_as_errors_are_not_proposed():
    reward = made(lambda completion: float(completion))
    result = rk.mutants(
        reward, [{"completion": "1", "reward": 1.0}], rows("none", "0.5", "0.25")
    )
    assert result.survived and {
        case["completion"] for case in result.proposed_cases
    } <= {"0.5", "0.25"}


def test_transcripts_are_proposed_as_messages():
    reward, cases = (
        rk.load_reward("gallery:tool_use"),
        rk.load_cases("gallery:tool_use"),
    )
    names = ("right with six calls", "wrong with one call")
    result = rk.mutants(
        reward, cases[:1], [case.columns for case in cases if case.name in names]
    )
    assert result.proposed_cases
    assert all(
        "messages" in case and "completion" not in case
        for case in result.proposed_cases
    )
    assert all(
        catches(item.mutant, item.case, reward) for item in result.survived if item.case
    )


WHOLE = made(lambda rollout: rollout["completion"] == rollout["truth"])


@pytest.mark.parametrize(
    ("reward", "more"), [(REWARD, ""), (WHOLE, "truth step rollout_id")]
)
def test_a_proposed_case_has_the_columns_that_the_reward_asks_for(reward, more):
    rollouts = [
        {**row, "truth": "5", "name": "x", "rewards": 3, "step": 1}
        for row in rows("5000")
    ]
    result = rk.mutants(reward, [{**CASE, "truth": "4", "reward": [-9, 9]}], rollouts)
    case = next(case for case in result.proposed_cases if case["completion"] == "5000")
    assert set(case) - {"name", "reward", "tolerance", "why"} == {
        "completion",
        "ground_truth",
        *more.split(),
    }


class Counting:
    """An object, whose code is not changed."""

    def __call__(self, completion):
        CALLED.append(completion)
        return len(completion) / 10


CALLED = []


def test_a_function_is_called_once_for_each_completion_however_many_mutants_there_are():
    texts = [
        "",
        "<think></think>",
        *(f"<think></think><answer>{at}</answer>" for at in "123"),
    ]
    item = rk.Component(
        "costly", Counting(), weight=0.5, gate=rk.gate("form", at_least=1.0)
    )
    after = rk.Component("after", BRIEF, gate=rk.gate("costly", at_least=0.5))
    reward = rk.Reward("r", components=[REWARD.components[1], item, after])
    result = rk.mutants(reward, [{"completion": "", "reward": 0.0}], rows(*texts[1:]))
    assert len(result.judged) > 15 and any(
        "Counting" in line for line in result.left_out
    )
    assert sorted(CALLED) == sorted(texts)


def test_code_that_cannot_be_sent_to_another_process_is_not_tried():
    lock = threading.Lock()

    def locked(completion):
        with lock:
            return 1.0 if len(completion) > 3 else 0.0

    cases = [{"completion": "x", "reward": 0.0}]
    result = rk.mutants(made(locked), cases)
    assert {item.mutant.kind for item in result.not_tried} == {
        "code"
    } and result.noticed
    assert "cannot be called in another process" in result.not_tried[0].reason
    with pytest.raises(RewardError, match="cannot be called in another process"):
        rk.mutants(made(locked), cases, timeout=1.0)  # as in check


def test_the_same_seed_draws_the_same_rollouts_and_nothing_of_the_callers_changes():
    rollouts = rk.load_rollouts("data/arithmetic/rollouts.jsonl")
    before = rollouts.table.copy()
    runs = [
        rk.mutants(REWARD, [CASE], rollouts, most=200, seed=seed) for seed in (1, 1, 2)
    ]
    assert runs[0].rollouts == 200
    assert runs[0].record() == runs[1].record() != runs[2].record()
    assert rollouts.table.equals(before)


COLUMNS_OF_A_RESULT = (
    "outcome kind part component sentence before after noticed_by differs case".split()
)


def test_the_result_is_plain_data_a_table_and_a_short_text():
    result = mutants("<answer>5</answer>")
    record = json.loads(json.dumps(result.record(), allow_nan=False))
    assert record["score"] == pytest.approx(result.score)
    names = "kind component part sentence before after outcome reason differs noticed_by differences case"
    assert [*record["survived"][0]] == names.split()
    assert [*record][5:9] == ["score", "stopped", "cause", "noticed"]
    assert set(result.table.columns) == {*COLUMNS_OF_A_RESULT}
    text, tried = repr(result), len(result.noticed) + len(result.survived)
    catch = f"your 1 case catches {len(result.noticed)} of {tried} mutants."
    assert (
        text.startswith(f"Mutation score {result.score:.2f}: {catch}\n")
        and result.verdict in text
    )
    words = " ".join(text.split())
    assert "Differs on 1 of 1 rollout, most on rollout 1: 0 → 1.1." in words
    assert "then add what is right: result.write_cases(path)" in words
    many = repr(mutants(cases=[{**CASE, "reward": [-9, 9]}]))
    assert many.count("▲ warn") == 5 and " more survivors: text(verbose" in many
    assert len(many.splitlines()) <= 25


# In time

ROLLOUTS = [{"completion": str(at), "ground_truth": "4"} for at in range(400)]
CASES = [
    {"name": "right", "completion": "4", "ground_truth": "4", "reward": 1.0},
    {"name": "wrong", "completion": "5", "ground_truth": "4", "reward": 0.0},
]
SLOW = """
DELAY = {delay}

def score(completion, ground_truth):
    time.sleep(DELAY)
    return 1.0 if completion.strip() == ground_truth else 0.0
"""
LOOP = """
def score(completion):
    left = len(completion)
    while left != 0:
        left -= 1
        time.sleep({delay})
    return 1.0
"""


@pytest.fixture
def load(tmp_path):
    """A reward from a user's file, which is not called to see what it is."""

    def loaded(text):
        path = tmp_path / f"mine_{abs(hash(text))}.py"
        end = "reward = rk.Reward('mine', components=[rk.Component('score', score)])"
        path.write_text(f"import time\nimport rewardkit as rk\n{text}\n{end}\n")
        return rk.load_reward(f"{path}:reward")

    return loaded


def test_changed_code_that_is_as_slow_as_the_original_is_not_caught_for_it(
    load, monkeypatch
):
    monkeypatch.setattr("rewardkit.mutation.rows.LEAST_SECONDS", 0.1)
    fast, slow = (
        rk.mutants(load(SLOW.format(delay=delay)), CASES, timeout=5.0)
        for delay in (0.0, 0.2)
    )
    assert [
        item.outcome for item in slow.judged if "DELAY" not in item.mutant.sentence
    ] == [item.outcome for item in fast.judged if "DELAY" not in item.mutant.sentence]
    assert all(item.noticed_by and not item.reason for item in slow.noticed)


@pytest.mark.parametrize(
    ("delay", "options", "reason"),
    [
        (0.0, {"timeout": 0.3}, "a call took longer than 0.3 s"),
        (0.1, {}, "a call took longer than "),
    ],
    ids=["the timeout of a call", "a multiple of the slowest call"],
)
def test_code_that_does_not_end_any_more_is_caught_within_its_time(
    load, monkeypatch, delay, options, reason
):
    monkeypatch.setattr("rewardkit.mutation.rows.LEAST_SECONDS", 0.01)
    reward = load(LOOP.format(delay=delay))
    result = rk.mutants(reward, [{"completion": "abc", "reward": [0, 2]}], **options)
    hanging = next(item for item in result.judged if item.mutant.after == "left -= 2")
    assert hanging.outcome == "noticed" and hanging.reason.startswith(reason)


def test_where_a_call_of_the_original_was_ended_another_reward_says_nothing(load):
    text = "def score(completion):\n    time.sleep(5 if len(completion) > 2 else 0)\n    return 1.0"
    ended = {"name": "ended", "completion": "abc", "reward": "unscored"}
    short = {"name": "short", "completion": "a", "reward": 1.0}
    result = rk.mutants(
        load(text), [ended, short], [{"completion": "abc"}], timeout=0.3
    )
    assert result.noticed and result.missed == 0  # as `check` has it
    assert all("ended" not in item.noticed_by for item in result.judged)
    quicker = next(
        item for item in result.judged if "> 3" in item.mutant.after
    )  # it judges the rollout
    assert (quicker.outcome, quicker.differs) == ("not told apart", 0)


def test_what_the_budget_does_not_reach_is_listed_and_does_not_count(load):
    result = rk.mutants(load(SLOW.format(delay=0.05)), CASES, ROLLOUTS, budget=1)
    assert 0 < result.rollouts < 30
    assert (
        f"{400 - result.rollouts} of 400 rollouts: there was no time" in result.left_out
    )
    assert result.score == len(result.noticed) / (
        len(result.noticed) + len(result.survived)
    )
    tight = rk.mutants(load(SLOW.format(delay=0.3)), CASES, budget=1)
    assert {item.reason for item in tight.not_tried} == {"the budget of 1 s was over"}
    assert f"Not tried: {len(tight.not_tried)} mutant" in repr(tight)


def test_a_budget_that_is_too_short_for_the_cases_is_said(load):
    result = rk.mutants(load(SLOW.format(delay=1.0)), CASES, timeout=5.0, budget=0.3)
    assert result.judged == () and math.isnan(result.score)
    told = "the budget of 0.3 s was over before the reward had judged 2 cases; give a larger budget, or a "
    assert result.stopped == f"{told}faster reward"
    assert result.stopped[1:] in " ".join(repr(result).split())


def test_calls_are_remembered_by_what_they_were_given():
    def number(row):
        return row.n

    memory = Memory(None, [number], budget=60)
    for at in range(50):  # each row dies, and the next one would lie where it was
        assert memory.run(Calls(number, [[SimpleNamespace(n=at)]], {}, 1, float)) == [
            at
        ]
    texts = ["1", "1.0", "True", "1", "[1]", "[1.0]", "(1,)"]
    assert (
        memory.run(Calls(str, [[1, 1.0, True, "1", [1], [1.0], (1,)]], {}, 7, str))
        == texts
    )


@pytest.mark.parametrize(
    ("code", "rollouts", "cause"),
    [
        ("1.0 / 0", None, "ZeroDivisionError"),
        ("None", ROLLOUTS, "returned None"),
        ("'much'", None, "'much'"),
    ],
)
def test_a_reward_that_judges_nothing_is_one_sentence_with_the_cause(
    load, code, rollouts, cause
):
    result = rk.mutants(
        load(f"def score(completion):\n    return {code}\n"), CASES, rollouts
    )
    assert (result.judged, result.proposed_cases, result.missed) == ((), (), 0)
    assert "as component 'score' gives no score; fix that first" in result.stopped
    assert (
        cause in str(result.cause)
        and cause in repr(result)
        and cause not in result.verdict
    )
    assert (
        result.record()["score"] is None
        and result.record()["stopped"] == result.stopped
    )


def test_an_order_notices_what_turns_it_around_and_an_undecided_case_nothing():
    order = {
        "name": "order",
        "ground_truth": "4",
        "above": {"completion": "<answer>4</answer>"},
        "below": {"completion": "<answer>5</answer>"},
    }
    undecided = {**order, "name": "pair", "why": "TODO: which?"}
    undecided["above"], undecided["below"] = order["below"], order["above"]
    result = rk.mutants(REWARD, [order, undecided])
    noticed = result.noticed
    assert noticed and {item.noticed_by for item in noticed} == {("order",)}
    assert (result.cases, result.missed) == (1, 0)
    turned = {**undecided, "why": "decided wrongly"}
    assert rk.mutants(REWARD, [order, turned]).missed == 1
    with pytest.raises(CasesError, match="no cases that are decided"):
        rk.mutants(REWARD, [undecided])


BAD = [
    ((len, [CASE]), {}, RewardError, "takes a Reward"),
    ((REWARD, []), {}, CasesError, "there are no cases that are decided"),
    (
        (REWARD, [{"completion": "x", "reward": 1}]),
        {},
        RewardError,
        "case 'line 1': .*ground_truth",
    ),
    ((REWARD, [CASE]), {"ignore": "brief"}, CasesError, "ignore='brief' is not a list"),
    ((REWARD, [CASE], [{"completion": "x"}]), {}, RewardError, "ground_truth"),
    ((REWARD, [CASE]), {"timeout": 0}, RewardError, "timeout="),
    ((REWARD, [CASE]), {"most": 1.5}, InputError, "most="),
    ((REWARD, [CASE]), {"budget": math.nan}, InputError, "budget="),
]


@pytest.mark.parametrize(("arguments", "options", "error", "said"), BAD)
def test_bad_input_is_one_sentence(arguments, options, error, said):
    with pytest.raises(error, match=said):
        rk.mutants(*arguments, **options)
