"""mutants(): which changes of a reward the cases notice, which survive, and the cases that are missing."""

import asyncio
import itertools
import json
import math
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import rewardkit as rk
from rewardkit.errors import CasesError, InputError, RewardError, RolloutsError
from rewardkit.probes.mutants.missing_cases import fewest
from rewardkit.probes.mutants.mutants import _drawn, mutants
from rewardkit.probes.mutants.mutating import mutants_of
from rewardkit.probes.mutants.remembering import Remembered
from rewardkit.scoring.calls import Calls

extract, measure, verify = rk.extract, rk.measure, rk.verify

REWARD = rk.Reward(
    "small",
    {"prediction": extract.first_of(extract.tag("answer"), extract.number())},
    [
        rk.Component("correct", verify.numbers_equal, weight=1.0),
        rk.Component("form", measure.tags("think", "answer"), weight=0.2),
        rk.Component(
            "brief",
            measure.length(full_until=6, zero_from=16),
            weight=0.1,
            gate=rk.gate("correct", at_least=1.0),
        ),
        rk.Component("loops", measure.repetition(ngram=2), weight=-0.2),
    ],
)
WEAK = [
    {
        "name": "right",
        "completion": "<think>2 + 2</think> <answer>4</answer>",
        "ground_truth": "4",
        "reward": 1.3,
    }
]


def rows(*pairs):
    return [{"completion": text, "ground_truth": truth} for text, truth in pairs]


def sentences(judged):
    return [item.mutant.sentence for item in judged]


def notices(mutant, case, reward=REWARD):
    """Whether a case holds for the reward and misses for a mutant, as a person would check it."""
    cases = rk.load_cases([case])
    assert not rk.check(reward, cases).misses
    return bool(rk.check(mutant.reward, cases, ignore=reward.names).misses)


TAG, NUMBER = "rk.extract.tag('answer')", "rk.extract.number()"
FORMED = "<think>2 + 2</think> <answer>{}</answer>"
PLANTED = [
    pytest.param(text, sentence, id=why)
    for text, sentence, why in (
        (
            "<answer>4</answer> <answer>5</answer>",
            f"Field 'prediction' takes the first match, not the last, in {TAG}.",
            "the first match",
        ),
        (
            "2, then 4",
            f"Field 'prediction' takes the first match, not the last, in {NUMBER}.",
            "the first match of the second alternative",
        ),
        ("it is 4", f"Field 'prediction' leaves out {NUMBER}.", "an alternative"),
        (
            "<answer>5</answer> <answer>4",
            f"Field 'prediction' has unclosed=True, in {TAG}.",
            "an unclosed tag",
        ),
        (FORMED.format(5), "Component 'brief' has no gate.", "an open gate"),
        ("<answer>5</answer>", "Component 'correct' has a tolerance, absolute=1.", "a tolerance"),
        ("<answer>4.0</answer>", "Component 'correct' compares texts, not numbers.", "a comparison"),
        ("4 4 4 4 4 4 4", "Component 'loops' is not paid.", "a weight of 0"),
        ("4 4 4 4 4 4 4", "Component 'loops' is paid with the other sign.", "a sign"),
        ("4 4 4 4 4 4 4", "Component 'loops' has ngram=3, not 2.", "a count"),
        ("<answer>4</answer>", "Components 'correct' and 'form' have each other's weights.", "two weights"),
        ("<answer>4</answer>", "Component 'form' is always 1, its highest.", "a constant"),
        ("<answer>4</answer>", "Component 'form' leaves out 'think'.", "a name of a form"),
        ("well it is surely the number 4", "Component 'brief' has full_until=7, not 6.", "a limit"),
        ("<answer>4</answer>", "The reward adds up by weighted_mean, not weighted_sum.", "the mean"),
    )
]


@pytest.mark.parametrize(("completion", "planted"), PLANTED)
def test_a_planted_survivor_is_listed_with_a_case_that_notices_it(completion, planted):
    rollouts = rows((completion, "4"), ("<think>2 + 2</think> <answer>4</answer>", "4"))
    result = mutants(REWARD, WEAK if "mean" not in planted else [{**WEAK[0], "reward": [1.0, 1.4]}], rollouts)
    survivor = next(item for item in result.survived if item.mutant.sentence == planted)
    assert survivor.differs >= 1
    assert survivor.differences[0].completion in (completion, WEAK[0]["completion"])
    assert survivor.differences[0].reward == pytest.approx(
        REWARD(completion=survivor.differences[0].completion, ground_truth="4").reward
    )
    assert survivor.case in result.proposed_cases
    assert notices(survivor.mutant, survivor.case)


def test_the_proposed_cases_together_notice_every_survivor_and_hold_for_the_reward(tmp_path):
    rollouts = rows(*((parameters.values[0], "4") for parameters in PLANTED))
    result = mutants(REWARD, WEAK, rollouts)
    assert 0 < result.score < 0.8
    assert len(result.proposed_cases) < len(rollouts)
    (tmp_path / "cases.jsonl").write_text(json.dumps(WEAK[0]) + "\n")
    assert result.write_cases(tmp_path / "cases.jsonl") == len(result.proposed_cases)
    assert result.write_cases(tmp_path / "cases.jsonl") == 0
    again = mutants(REWARD, tmp_path / "cases.jsonl", rollouts)
    assert (again.score, again.survived, again.proposed_cases) == (1.0, (), ())
    assert sentences(again.noticed) == [
        sentence for sentence in sentences(result.judged) if sentence not in sentences(again.not_told_apart)
    ]


def test_a_strong_case_file_has_no_survivors():
    result = mutants(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic", "gallery:arithmetic")
    assert result.score == 1.0 and not result.survived and not result.proposed_cases
    assert repr(result) == "mutants of 'arithmetic-v1': 57 of 57 noticed by 88 cases, score 1.00"


@pytest.mark.parametrize("name", ["arithmetic", "curriculum", "keywords", "mixed", "stages", "tool_use"])
def test_noticed_is_what_check_says(name):
    reward = rk.load_reward(f"gallery:{name}")
    cases = rk.load_cases(f"gallery:{name}")[::3]
    result = mutants(reward, cases)
    assert 0.1 < result.score < 1.0
    for item in result.judged:
        misses = rk.check(item.mutant.reward, cases, ignore=reward.names).misses
        assert set(item.noticed_by) == {miss.case for miss in misses}, item.mutant.sentence
        assert item.outcome == ("noticed" if misses else "survived")


def test_what_the_cases_miss_already_does_not_count():
    red = [{**WEAK[0], "reward": 0.0}]
    assert mutants(REWARD, red).noticed == ()


def test_mutants_that_no_row_tells_apart_are_not_counted():
    result = mutants(REWARD, WEAK, rows(("<think>2 + 2</think> <answer>5</answer>", "4")))
    counted = len(result.noticed) + len(result.survived)
    assert result.score == len(result.noticed) / counted
    assert len(result.not_told_apart) == len(result.judged) - counted > 20
    assert "Component 'loops' is not paid." in sentences(result.not_told_apart)
    assert all(item.case is None and not item.differs for item in result.not_told_apart)


def test_without_rollouts_all_that_is_not_noticed_survives_and_nothing_is_proposed():
    result = mutants(REWARD, WEAK)
    assert result.not_told_apart == () and result.proposed_cases == ()
    assert "give rollouts" in repr(result) and "no case tells it apart, and only rollouts say" in repr(result)


def test_a_case_with_a_wide_range_tells_a_survivor_apart_without_rollouts():
    wide = [{**WEAK[0], "reward": [1.0, 1.5]}]
    result = mutants(REWARD, wide)
    survivor = next(item for item in result.survived if item.mutant.says == "is always 0, its lowest")
    assert survivor.differences[0].case == "right" and survivor.differences[0].rollout_id is None
    assert survivor.case["reward"] == 1.3 and notices(survivor.mutant, survivor.case)
    assert "    differs on case 'right': 1.3, mutant " in repr(result)


def test_nothing_counted_is_no_score():
    reward = rk.Reward(
        "r", components=[rk.Component("long", lambda completion: len(completion) > 3, weight=0.0)]
    )
    result = mutants(reward, [{"completion": "x", "reward": "unscored"}], [{"completion": "x"}])
    assert math.isnan(result.score) and result.record()["score"] is None


def test_what_a_case_expects_of_a_component_that_is_gone_is_no_miss():
    cases = [{**WEAK[0], "reward": [0, 2], "scores": {"correct": 1, "form": 1, "brief": 1, "loops": 0}}]
    survivors = sentences(mutants(REWARD, cases).survived)
    assert "Component 'correct' is left out, and with it 'brief'." in survivors


def test_rewards_that_differ_little_get_a_case_with_its_own_tolerance():
    reward = rk.Reward(
        "r", components=[rk.Component("long", measure.length(full_until=1000, zero_from=9000))]
    )
    result = mutants(reward, [{"completion": "a", "reward": 1.0}], [{"completion": "a " * 1001}])
    survivor = next(item for item in result.survived if "zero_from=6300" in item.mutant.says)
    assert 0 < survivor.case["tolerance"] < 1e-4
    assert notices(survivor.mutant, survivor.case, reward)


def test_a_row_with_a_clear_difference_is_proposed_before_a_shorter_one():
    reward = rk.Reward(
        "r", components=[rk.Component("long", measure.length(full_until=1000, zero_from=9000))]
    )
    rollouts = [{"completion": "a " * size} for size in (1001, 5000)]
    result = mutants(reward, [{"completion": "a", "reward": 1.0}], rollouts)
    survivor = next(item for item in result.survived if "zero_from=6300" in item.mutant.says)
    assert len(survivor.case["completion"]) == 10_000


def test_the_largest_differences_come_first_and_of_equal_ones_the_shortest():
    texts = ["<answer>5</answer>", FORMED.format(44), FORMED.format(5), FORMED.format("5 "), "4"]
    result = mutants(REWARD, WEAK, rows(*((text, "4") for text in texts)))
    survivor = next(item for item in result.survived if "has no gate" in item.mutant.says)
    assert survivor.differs == 4
    assert [item.rollout_id for item in survivor.differences] == [1, 3, 2]
    result = mutants(REWARD, WEAK, rows(*((text, "5") for text in ("4 4 4 4", "4 4 4 4 4 4", "4 4"))))
    survivor = next(
        item for item in result.survived if item.mutant.sentence == "Component 'loops' is not paid."
    )
    assert [item.rollout_id for item in survivor.differences] == [2, 1]


def test_a_score_that_never_varied_has_no_lowest_and_highest():
    reward = rk.Reward("r", components=[rk.Component("open", lambda completion: 7.0, range=None)])
    result = mutants(reward, [{"completion": "a", "reward": 7.0}])
    assert not any(item.mutant.kind in ("constant", "inverted") for item in result.judged)


def test_what_is_not_judged_is_told_from_what_is():
    result = mutants(REWARD, WEAK, rows(("<answer>4</answer>", None)))
    survivor = next(item for item in result.survived if item.mutant.kind == "missing")
    assert survivor.case["reward"] == "unscored" and survivor.case["ground_truth"] is None
    assert math.isnan(survivor.differences[0].reward)
    assert survivor.record()["differences"][0]["reward"] is None
    assert notices(survivor.mutant, survivor.case)


def test_rows_that_end_as_errors_are_not_proposed():
    reward = rk.Reward("r", components=[rk.Component("number", float_of)])
    rollouts = [{"completion": text} for text in ("none", "0.5", "0.25")]
    result = mutants(reward, [{"completion": "1", "reward": 1.0}], rollouts)
    assert result.survived and result.proposed_cases
    assert all(case["completion"] != "none" for case in result.proposed_cases)


def float_of(completion):
    return float(completion)


def test_transcripts_are_proposed_as_messages():
    reward = rk.load_reward("gallery:tool_use")
    cases = rk.load_cases("gallery:tool_use")
    rollouts = [
        {**case.columns, "completion": case.columns["completion"]}
        for case in cases
        if case.name in ("right with six calls", "wrong with one call")
    ]
    result = mutants(reward, cases[:1], rollouts)
    assert result.proposed_cases
    assert all("messages" in case and "completion" not in case for case in result.proposed_cases)
    assert all(notices(item.mutant, item.case, reward) for item in result.survived if item.case)


def test_columns_that_the_reward_does_not_ask_for_are_left_out_also_those_a_case_has_no_place_for():
    rollouts = [{**row, "name": "x", "rewards": 3, "step": 1} for row in rows(("<answer>5</answer>", "4"))]
    result = mutants(REWARD, WEAK, rollouts)
    assert all(
        set(case) <= {"name", "completion", "ground_truth", "reward", "scores", "tolerance", "why"}
        for case in result.proposed_cases
    )
    named = rk.Reward("r", components=[rk.Component("named", lambda completion, rewards: rewards > 2)])
    cases = [{"completion": "", "rewards": 3, "reward": 1.0}]
    with pytest.raises(CasesError, match="did you mean 'reward'"):
        mutants(named, cases)


def whole(rollout):
    return rollout["completion"] == rollout["truth"]


def counted(rollout):
    return len(rollout["completion"]) > rollout["limit"]


def test_of_a_reward_that_is_given_whole_rows_only_the_columns_that_count_are_proposed():
    cases = [{"completion": "a", "ground_truth": "a", "truth": "a", "limit": 3, "reward": 1.0}]
    rollouts = [{"completion": "aaaaaa", "ground_truth": "b", "truth": "b", "limit": 3, "policy": "p"}]
    one = rk.Reward("r", components=[rk.Component("same", whole), rk.Component("long", counted)])
    result = mutants(one, cases, rollouts)
    assert {"truth", "limit"} <= set(result.proposed_cases[0])
    named = rk.Reward("r", components=[rk.Component("brief", lambda rollout: len(rollout["completion"]) < 3)])
    result = mutants(named, cases, rollouts)
    assert set(result.proposed_cases[0]) <= {"name", "completion", "ground_truth", "reward", "scores", "why"}


class Counting:
    """Counts its calls: an object, whose code is not changed."""

    def __init__(self):
        self.calls = 0

    def __call__(self, completion):
        self.calls += 1
        return len(completion) / 10


@pytest.mark.parametrize("batch", [False, True])
def test_a_function_is_called_once_for_each_completion_however_many_mutants_there_are(batch):
    counting = Counting()
    function = (lambda completion: [counting(text) for text in completion]) if batch else counting
    item = rk.Component("costly", function, weight=0.5, batch=batch, gate=rk.gate("form", at_least=1.0))
    reward = rk.Reward("r", components=[REWARD.components[1], item])
    form = "<think></think><answer>{}</answer>"
    texts = ["", "<think></think>", *(form.format(at) for at in "123")]
    result = mutants(
        reward, [{"completion": texts[0], "reward": 0.0}], [{"completion": text} for text in texts[1:]]
    )
    assert len(result.judged) > 15
    if not batch:
        assert counting.calls == len(texts)


async def patient(completion):
    await asyncio.sleep(0)
    return len(completion) / 10


def test_coroutines_are_awaited_and_turned_round():
    reward = rk.Reward("r", components=[rk.Component("judge", patient)])
    result = mutants(reward, [{"completion": "abcde", "reward": 0.5}], [{"completion": "ab"}])
    assert "Component 'judge' is turned round." in sentences(result.survived)
    survivor = next(item for item in result.survived if item.mutant.kind == "inverted")
    assert survivor.differences[0].mutant_reward == pytest.approx(0.8)


def test_a_whole_group_is_left_out_and_said():
    group = rk.Component("best", lambda completion: [float(len(text) > 2) for text in completion], group=True)
    reward = replace(REWARD, components=[*REWARD.components, group], on_missing="zero")
    result = mutants(reward, WEAK)
    assert any("component 'best'" in sentence for sentence in result.left_out)
    assert "left out: how component 'best' scores" in repr(result)
    assert 0 < result.score < 1


@pytest.fixture
def load(tmp_path):
    """A reward from a user's file."""
    number = itertools.count()

    def loaded(text, name="score"):
        path = tmp_path / f"mine_{next(number)}.py"
        path.write_text(text)
        return rk.load_reward(f"{path}:{name}")

    return loaded


OWN = """
import re

LIMIT = 20

def answer(text):
    found = re.findall(r"<a>(.*?)</a>", text)
    return found[0] if found else None

def score(completion, ground_truth):
    if len(completion) > LIMIT:
        return 0.5
    return 1.0 if answer(completion) == ground_truth else 0.0
"""


def test_a_users_own_function_is_changed_and_a_survivor_says_where(load):
    reward = load(OWN)
    cases = [
        {"completion": "<a>4</a>", "ground_truth": "4", "reward": 1.0},
        {"completion": "4", "ground_truth": "4", "reward": 0.0},
    ]
    weak = mutants(reward, cases, rows(("<a>4</a><a>5</a>", "4"), ("<a>4</a>".ljust(23), "4")))
    survivors = {item.mutant.after: item for item in weak.survived}
    assert set(survivors) == {"found[-1]", "LIMIT = 14", "LIMIT = 26", "return 0.35"}
    assert survivors["found[-1]"].mutant.sentence == (
        "Component 'score' runs other code, found[-1] for found[0] in answer()."
    )
    assert all(notices(item.mutant, item.case, reward) for item in weak.survived)
    strong = mutants(reward, [*cases, *weak.proposed_cases])
    left = {item.mutant.after for item in strong.survived if item.mutant.kind == "code"}
    assert left == {"len(completion) >= LIMIT"}


LOOP = """
def score(completion):
    left = len(completion)
    while left != 0:
        left -= 1
    return 1.0
"""


def test_code_that_does_not_end_any_more_is_noticed_within_its_time(load):
    result = mutants(load(LOOP), [{"completion": "abc", "reward": [0, 2]}], timeout=1.0)
    hanging = {item.mutant.after: item for item in result.noticed if item.reason}
    assert set(hanging) == {"left -= 2"}
    assert hanging["left -= 2"].reason == "a call took longer than 1 s"


def test_code_that_hangs_on_a_rollout_only_survives_with_the_reason(load):
    cases, rollouts = [{"completion": "ab", "reward": 1.0}], [{"completion": "abc"}]
    result = mutants(load(LOOP), cases, rollouts, timeout=1.0)
    survivor = next(item for item in result.survived if item.mutant.after == "left -= 2")
    assert survivor.reason == "a call took longer than 1 s, on a rollout" and survivor.case is None
    assert survivor.reason in repr(result)


def test_errors_alone_give_a_mutant_away_where_no_case_expects_a_reward(load):
    raising = load("def score(completion):\n    return 1.0 if [1][len(completion) * 0] else 0.0\n")
    reward = rk.Reward("r", components=[*raising.components, rk.Component("other", Counting())])
    result = mutants(reward, [{"completion": "abc", "scores": {"other": 0.3}}])
    found = next(item for item in result.judged if item.mutant.after == "len(completion) * 1")
    assert (found.outcome, found.reason) == ("noticed", "component 'score' raises wherever it scored before")


def test_code_that_cannot_be_sent_to_another_process_is_left_out_in_one_sentence():
    lock = threading.Lock()

    def locked(completion):
        with lock:
            return 1.0 if len(completion) > 3 else 0.0

    result = mutants(
        rk.Reward("r", components=[rk.Component("a", locked)]), [{"completion": "x", "reward": 0.0}]
    )
    assert len(result.left_out) == 1 and "changes of code" in result.left_out[0]
    assert not any(item.mutant.kind == "code" for item in result.judged)
    assert result.noticed


def test_the_original_runs_under_the_timeout_as_in_check():
    with pytest.raises(RewardError, match="cannot be called in another process"):
        lock = threading.Lock()
        reward = rk.Reward("r", components=[rk.Component("a", lambda completion: lock.locked())])
        mutants(reward, [{"completion": "x", "reward": 0.0}], timeout=1.0)


def test_the_same_seed_draws_the_same_rollouts_in_their_order():
    rollouts = rk.load_rollouts("data/arithmetic/rollouts.jsonl")
    runs = [mutants(REWARD, WEAK, rollouts, most=200, seed=seed) for seed in (1, 1, 2)]
    assert runs[0].rollouts == 200
    assert runs[0].record() == runs[1].record()
    assert runs[0].record() != runs[2].record()


def test_each_rollout_is_drawn_once():
    rollouts = rk.load_rollouts([{"completion": str(at), "ground_truth": "4"} for at in range(20)])
    drawn = _drawn(REWARD, rollouts, 19, 0).table["rollout_id"].tolist()
    assert drawn == sorted(set(drawn)) and len(drawn) == 19
    assert _drawn(REWARD, rollouts, 20, 0) is rollouts


def test_calls_are_remembered_by_what_they_were_given_not_by_where_it_lay():
    def number(row, factor):
        return row["n"] * factor

    memory = Remembered(None, [number])
    for at in range(50):  # each row dies, and the next one lies where it was
        assert memory.run(Calls(number, [[{"n": at}]], {"factor": [1]}, 1, float)) == [at]
    assert memory.run(Calls(str, [[1, 1.0, True, "1", [1], [1.0]]], {}, 6, str)) == [
        *("1", "1.0", "True", "1"),
        *("[1]", "[1.0]"),
    ]


def test_rollouts_and_cases_stay_as_they_were():
    table = pd.DataFrame(rows(("<answer>5</answer>", "4"), ("<answer>4</answer>", "4")))
    cases, before = [dict(case) for case in WEAK], table.copy()
    mutants(REWARD, cases, table)
    pd.testing.assert_frame_equal(table, before)
    assert cases == WEAK


def test_the_result_is_plain_data_a_table_and_a_short_text():
    result = mutants(REWARD, WEAK, rows(("<answer>5</answer>", "4")))
    record = json.loads(json.dumps(result.record(), allow_nan=False))
    assert record["score"] == pytest.approx(result.score)
    assert len(record["noticed"]) + len(record["survived"]) + len(record["not_told_apart"]) == len(
        result.table
    )
    assert list(result.table.columns) == [
        "outcome",
        *("kind", "part", "component", "sentence", "before", "after"),
        *("noticed_by", "differs", "case"),
    ]
    assert (result.table["outcome"] == "survived").sum() == len(result.survived)
    assert set(result.table.loc[result.table["outcome"] == "noticed", "noticed_by"]) == {1}
    text = repr(result)
    assert text.startswith(f"mutants of 'small': {len(result.noticed)} of ")
    assert "\n    gate('correct', at_least=1.0) -> gate=None\n" in text
    assert "\n    differs on 1 of 1 rollouts, most on rollout 1: 0, mutant 1.1\n" in text
    assert text.endswith(
        "1 proposed case notices the survivors that differ: read it, as it expects what the reward gives "
        "now, then add it: result.write_cases(path)"
    )


def test_of_many_survivors_the_first_are_written_out_and_the_others_counted():
    text = repr(mutants(REWARD, [{**WEAK[0], "reward": [-9, 9]}]))
    assert text.count("survived: ") == 12 and " more survivors" in text


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        pytest.param((len, WEAK), RewardError, "takes a Reward", id="no reward"),
        pytest.param((REWARD, []), CasesError, "there are no cases", id="no cases"),
        pytest.param((REWARD, None, WEAK), CasesError, "cases=None are no cases; give", id="cases None"),
        pytest.param((REWARD, 5), CasesError, "cases=5 are no cases; give", id="a number as cases"),
        pytest.param((REWARD, WEAK[0]), CasesError, "are no cases; give", id="one case, no list"),
        pytest.param(
            (REWARD, [{"completion": "x", "reward": 1}]),
            RewardError,
            "case 'line 1': .*ground_truth",
            id="a column is missing",
        ),
        pytest.param(
            (REWARD, [{**WEAK[0], "scores": {"brif": 1}}]),
            CasesError,
            "did you mean 'brief'",
            id="no such component",
        ),
        pytest.param(
            (REWARD, WEAK, [{"completion": "x"}]), RewardError, "ground_truth", id="rollouts lack a column"
        ),
        pytest.param((REWARD, WEAK, "nowhere.jsonl"), RolloutsError, "no file", id="no such rollouts"),
    ],
)
def test_bad_input_is_one_sentence(arguments, error, said):
    with pytest.raises(error, match=said):
        mutants(*arguments)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"timeout": "soon"}, RewardError),
        ({"timeout": 0}, RewardError),
        ({"most": 0}, InputError),
        ({"most": 1.5}, InputError),
        ({"budget": 0}, InputError),
        ({"budget": math.nan}, InputError),
        ({"budget": "long"}, InputError),
        ({"budget": True}, InputError),
    ],
)
def test_bad_options_are_one_sentence(options, error):
    with pytest.raises(error, match=next(iter(options))):
        mutants(REWARD, WEAK, **options)


def test_expectations_of_other_versions_are_ignored_where_that_is_asked_for():
    cases = [
        {**WEAK[0], "scores": {"older": 1.0}},
        {**WEAK[0], "name": "b", "scores": {"older": 1.0}, "reward": 1.3},
    ]
    assert mutants(REWARD, cases, ignore=["older"]).cases == 2
    only = [*cases, {"name": "c", "completion": "4", "ground_truth": "4", "scores": {"older": 1.0}}]
    assert mutants(REWARD, only, ignore=["older"]).cases == 2


@pytest.mark.parametrize(
    ("notices", "length", "rows"),
    [
        pytest.param([[1, 0], [0, 1]], [1, 1], [0, 1], id="each needs its own"),
        pytest.param([[1, 0, 1], [0, 1, 1]], [1, 1, 9], [2], id="one for both, though longer"),
        pytest.param([[1, 1]], [9, 1], [1], id="of two the shorter"),
        pytest.param([[1, 1]], [1, 1], [0], id="of equal ones the first"),
        pytest.param([[0, 0], [1, 0]], [1, 1], [0], id="what no row notices is left"),
        pytest.param(
            [[1, 1, 0], [1, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1]], [1] * 3, [1, 2],
            id="the first choice is needless in the end",
        ),
        pytest.param([[0, 0]], [1, 1], [], id="nothing to notice"),
    ],
)  # fmt: skip
def test_as_few_rows_as_notice_everything(notices, length, rows):
    assert fewest(np.array(notices, dtype=bool), length) == rows


def test_every_mutant_of_a_route_is_tried_on_its_own_rows():
    route = rk.load_reward("gallery:mixed")
    cases = [case for case in rk.load_cases("gallery:mixed") if case.columns["data_source"] == "people-json"]
    result = mutants(route, cases, "gallery:mixed")
    parts = {item.mutant.part for item in result.survived}
    assert "largest-choice" in parts and "people-json" not in parts
    assert all(case["data_source"] == "largest-choice" for case in result.proposed_cases)
    assert all(notices(item.mutant, item.case, route) for item in result.survived)
    assert len(result.judged) == len(mutants_of(route)[0])
