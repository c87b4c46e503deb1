"""load_reward() on trainers' functions: what they are taken for, why, and what comes of others."""

import json
import re

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.targets import read
from rewardkit.targets.target import run_async
from rewardkit.targets.trial import try_reading

FOUND = """
import asyncio, collections, dataclasses, random

def trl_with_a_column(completions, answer, **kwargs):  # TRL [1, 0, 0, 1]
    return [float(truth in text) for text, truth in zip(completions, answer)]

def trl_given_all(prompts, completions, **kwargs):  # TRL [2, 2, None, 1]
    assert len(prompts) == len(kwargs["level"]) and kwargs["solution"] == kwargs["ground_truth"]
    return [None if not text else level for text, level in zip(completions, kwargs["level"])]

def trl_over_conversations(completions, **kwargs):  # TRL [1, 1, 0, 0]
    return [float("<" in turns[0]["content"]) for turns in completions]

async def trl_asynchronous(completions, **kwargs):  # TRL [9, 9, 0, 0.5]
    await asyncio.sleep(0)
    return [len(text) / 2 for text in completions]

class with_as_fn:  # TRL [18, 18, 0, 1]
    def __call__(self, prompts, completions, **kwargs): return [float(len(text)) for text in completions]
    def as_fn(self): return self.__call__

class Computes:
    def __call__(self, completions, **kwargs): return [self.compute(one, **kwargs) for one in completions]
    def compute(self, completions, **kwargs): return float(len(completions))
an_object_with_a_compute_of_its_own = Computes()  # TRL [18, 18, 0, 1]

def verl(data_source, solution_str, ground_truth, extra_info=None):  # verl [2, -1, -1, 2]
    return 2.0 if ground_truth in solution_str else -1.0

def verl_with_a_dict(solution_str, ground_truth, **kwargs):  # verl [1, -1, -1, 1]
    right = ground_truth in solution_str
    return {"score": 2.0 * right - 1, "acc": right, "said": solution_str}

async def verl_asynchronous(data_source, solution_str, ground_truth, extra_info=None):  # verl [18, 18, 0, 1]
    return {"score": float(len(solution_str))}
def verl_in_batches(data_sources, solution_strs, ground_truths, extra_infos):  # verl [1, 0, 0, 0]
    return [float("4" in text) for text in solution_strs]

def trl_with_keywords_only(**kwargs):  # TRL [1, 0, 0, 0]
    return [float("4" in text) for text in kwargs["completions"]]
def verl_with_keywords_only(**kw):  # verl [1, 0, 0, 1]
    return {"score": float(kw["ground_truth"] in kw["solution_str"])}
def twice(function): return lambda *args, **kwargs: 2 * function(*args, **kwargs)
verl_behind_a_decorator_that_names_no_parameters = twice(verl)  # verl [4, -2, -2, 4]

def plain(completion, ground_truth): return ground_truth in completion  # columns [1, 0, 0, 1]
def plain_under_other_names(output, solution): return solution in output  # columns [1, 0, 0, 1]
def plain_with_a_dict(output, level):  # columns [2, 2, 1, 1]
    return {"score": level * 1.0, "long": len(output) > 3}
def plain_of_lists(prompts, responses, solutions):  # columns [5, 4, 0, 1]
    assert len(prompts) == len(responses)
    return [len(text) // 4 + (truth in text) for text, truth in zip(responses, solutions)]
def plain_with_details(output, solution):  # columns [1, 0, 0, 1]
    return float(solution in output), {"said": output, "long": len(output)}
def plain_with_a_total(output, solution):  # columns [1, 0, 0, 1]
    return {"long": 1.0 * len(output), "reward": float(solution in output)}
def plain_with_a_detail_at_times(output, solution):  # columns [1, 0, 0, 1]
    return float(solution in output), {"long": len(output)} if solution in output else {}
Output = collections.namedtuple("Output", "score details")
def plain_with_a_named_tuple(output, solution):  # columns [1, 0, 0, 1]
    return Output(float(solution in output), {"said": output})
@dataclasses.dataclass
class RewardOutput: name: str; total_reward: list; successes: list; rewards: dict
def plain_of_lists_in_an_object(responses, solutions):  # columns [2, 0, 0, 2]
    right = [float(truth in text) for text, truth in zip(responses, solutions)]
    return RewardOutput("right", [2 * one for one in right], right, {"long": [9.0] * len(right)})
def plain_of_lists_under_another_name(pred_strings, solutions):  # columns [1, 0, 0, 1]
    assert isinstance(pred_strings, list)
    return [float(truth in text) for text, truth in zip(pred_strings, solutions)]
def plain_of_a_row(sample):  # columns [1.5, 0, 0, 1.5]
    right = sample["solution"] in sample.output and sample.get("level") > 0
    return 1.5 * right, {"said": sample["completion"]}
class plain_class:  # columns [1, 0, 0, 1]
    def __call__(self, output, solution): return solution in output
class plain_worker:  # columns [3, 1, 0, 2]
    def __init__(self, config=None): self.config = config
    def brevity(self, response): return float("<" in response)
    def score(self, response, reference): return 2.0 * (reference in response) + self.brevity(response)
    def compute_rewards(self, responses, references):
        return {"token_level_rewards": None, "scores": [*map(self.score, responses, references)]}
class plain_with_one_method_of_a_completion:  # columns [1, 0, 0, 1]
    def score_format(self, completion): return 0.5
    def score_completion(self, completion, solution): return float(solution in completion)
class plain_of_a_sample_and_a_text:  # columns [2, 0, 0, 1]
    def reward(self, sample, model_output): return sample["level"] * (sample["solution"] in model_output)
def plain_of_lists_by_name(response_str_list, ground_truth_list):  # columns [1, 0, 0, 1]
    return [{"score": float(truth in text)} for text, truth in zip(response_str_list, ground_truth_list)]
def trl_of_truths(completions, ground_truths):  # TRL [1, 0, 0, 1]
    return [float(truth in text) for text, truth in zip(completions, ground_truths)]
def plain_with_parts(output, solution): return 1.5 * (solution in output), 1, 0.5  # columns [1.5, 0, 0, 1.5]
def verl_with_parts(solution_str, ground_truth): return len(solution_str) - 2, 0.5  # verl [16, 16, -2, -1]
class RewardFunction: pass
class trl_class_of_keywords(RewardFunction):  # TRL [1, 0, 0, 0]
    def __call__(self, **kwargs): return [float("4" in text) for text in kwargs["completions"]]
def default_that_a_column_fills(completion, answer="", level=9): return (answer in completion) + level / 10

def default_of_none_that_a_column_fills(completion, level=None, tidy=None): return level + (tidy is None)

def a_log_has_more(completions, step=0.5, model="judge", target=9, source="web", level=9, answer=None, **kw):
    assert (step, model, target, source, answer) == (0.5, "judge", 9, "web", kw["ground_truth"])
    return [float(one) for one in level]
def verl_shares(data_sources, solution_strs, ground_truths, extra_infos):
    return [{"score": len(text) / len(max(solution_strs))} for text in solution_strs]

def token_ids(completion_ids, **kwargs): return [float(len(ids)) for ids in completion_ids]
def step(completions, trainer_state, **kwargs): return [trainer_state.global_step / 5 for _ in completions]

def empty_is_none(completions, level, **kwargs):  # as messages a completion is never empty
    return [at if c else None for c, at in zip(completions, level)]

def is_text(completions, **kwargs): return [float(isinstance(one, str)) for one in completions]
def half(completions, **kwargs): return [0.5 for _ in completions]

def own_key_judged(solution_str, ground_truth, **kw):
    return dict.fromkeys(["score", "judged"], float(ground_truth in solution_str))

def fails_on_one(data_source, solution_str, ground_truth, extra_info=None): return 1.0 / len(solution_str)

def right(completions, answer, **kwargs):
    return [float(a in c) if c else None for c, a in zip(completions, answer)]

async def tagged(completions, **kwargs): return [float("<" in one[-1]["content"]) / 2 for one in completions]
several = [right, tagged]

def means_both(completions, **kwargs): return [float(len(str(one))) for one in completions]
def dead(completions, **kwargs): return [1.0 if "<answer>" in one else 0.0 for one in completions]

def chance(**kwargs):
    one = random.random() + len(str(kwargs.get("solution_str", kwargs.get("completions"))))
    return one if "solution_str" in kwargs else [one]

def made(k): return lambda completions, **kwargs: [k] * len(completions)
two_lambdas = [made(1.0), made(2.0)]

def keys_of_a_plain_one(completion): return {"right": 1.0, "tidy": 0.2}
def unjudged_on_the_sample(solution_str, ground_truth, **kwargs): return {"score": None, "acc": 1.0}

def names_of_columns(solution_str, ground_truth, **kw): return {"score": 1.0, "ground_truth": 0.5, "acc": 2.0}

def completion(completion, ground_truth): return ground_truth in completion

class Tidy:
    def __call__(self, completions, ground_truth, **k): return [float(c.startswith("<")) for c in completions]

def tidy(completions, answer, **kwargs): return [float(text.startswith("<")) for text in completions]
def short(solution_str, ground_truth): return float(len(solution_str) < 5)
with_truths_that_nothing_reads = [right, tidy, short, Tidy()]
"""
# behind a function stands what it is read as, and the rewards of the four rows
PAYS = re.compile(
    r"^(?:async def |def |class )?(\w+)\b.*  # (TRL|verl|columns) (\[.*\])$",
    re.MULTILINE,
)
READ = {name: (title, eval(rewards)) for name, title, rewards in PAYS.findall(FOUND)}


@pytest.mark.parametrize("name", ["to_be_evaluated", "action", "y_pred"])
def test_a_first_parameter_of_a_name_of_its_own_takes_the_completion(
    name, load, rewards
):
    reward = load(f"def own({name}, solution): return solution in {name}", "own")
    assert f"{name} from completion, solution from ground_truth" in reward.origin
    assert rewards(reward) == [1, 0, 0, 1]
    source = f"def extra({name}, extras): return float(extras['solution'] in {name})"
    assert rewards(load(source, "extra")) == [1, 0, 0, 1]
    with pytest.raises(rk.RewardError, match="asks for 'difficulty'"):
        load("def other(difficulty, solution): return 1.0", "other")


@pytest.mark.parametrize("truths", ["ground_truths", "labels"])
@pytest.mark.parametrize("key", ["sum", "target"])
def test_lists_of_truths_are_what_an_environment_of_nemo_rl_has_where_no_column_is(
    truths, key, load, rewards
):
    source = f"""
        def f(pred_responses, {truths}):
            return [float(str(one["{key}"]) in text) for text, one in zip(pred_responses, {truths})]
    """
    infos = {"extra_env_info": {key: 4}}
    rows = [{"content": ["2+2?", text], "rewards": 0, **infos} for text in "45"]
    rollouts = rk.load_rollouts(rows)
    reward = load(source, rollouts=rollouts)
    assert f"{truths} from extra_env_info" in reward.origin
    assert rewards(reward, rollouts) == [1, 0]
    rollouts = rk.load_rollouts([{**row, "ground_truth": {key: 5}} for row in rows])
    assert rewards(load(source, rollouts=rollouts), rollouts) == [0, 1]
    rollouts = rk.load_rollouts([{"completion": "4"}])
    with pytest.raises(
        rk.RewardError, match=r"'ground_truth'.* columns={'ground_truth'"
    ):
        load(source, rollouts=rollouts)


def test_json_in_a_column_is_parsed_where_only_that_works(tmp_path, rows):
    (tmp_path / "mine.py").write_text("""
def parsed(completion, details): return float(details["answer"] in completion)
def text(completion, details): return float(details[0] == "{")
""")
    told = [
        {**row, "details": json.dumps({"answer": row["ground_truth"]})} for row in rows
    ]
    told = rk.load_rollouts(told)
    for name, is_parsed in (("parsed", True), ("text", False)):
        reward = rk.load_reward(f"{tmp_path}/mine.py:{name}", rollouts=told)
        assert ("details from details, parsed from JSON" in reward.origin) is is_parsed
        assert rk.score(reward, told).rewards.tolist() == (
            [1, 0, 0, 1] if is_parsed else [1] * 4
        )


def test_the_log_says_which_of_several_readings_was_meant(tmp_path, rows):
    (tmp_path / "mine.py").write_text("""
def mine(**kwargs):
    if "solution_str" in kwargs:
        return {"score": 2.0 * ("4" in kwargs["solution_str"])}
    return [1.0 * ("4" in text) for text in kwargs["completions"]]
""")
    constant = rk.load_rollouts([{**row, "reward": 2.0} for row in rows])
    with pytest.raises(rk.RewardError, match="can be read in more ways than one"):
        rk.load_reward(f"{tmp_path}/mine.py:mine", rollouts=constant)
    for paid, title in ((2.0, "verl"), (1.0, "TRL")):
        logged = [{**row, "reward": paid * ("4" in row["completion"])} for row in rows]
        reward = rk.load_reward(
            f"{tmp_path}/mine.py:mine", rollouts=rk.load_rollouts(logged)
        )
        assert f"mine read as {title}" in reward.origin


@pytest.mark.parametrize("name", READ)
def test_a_function_is_recognised_and_gives_what_its_trainer_would_get(
    name, load, rewards, rows
):
    title, expected = READ[name]
    for given in (
        {},
        {"rollouts": None},
    ):  # tried on the rollouts, and on the made-up sample
        reward = load(FOUND, name, **given)
        assert (
            f"{name} read as {'a plain function of ' * (title == 'columns')}{title}: "
            in reward.origin
        )
        assert rewards(reward) == expected
    for row, value in zip(rows, expected, strict=True):
        assert reward(**row).reward == (
            value if value is not None else pytest.approx(np.nan, nan_ok=True)
        )


def test_all_kinds_are_called_in_other_processes_too(load, rewards, limited):
    kinds = [
        "trl_with_a_column",
        "trl_asynchronous",
        "with_as_fn",
        "verl",
        "verl_in_batches",
        "plain",
    ]
    reward = load(f"{FOUND}\nall_of_them = [{', '.join(kinds)}]", "all_of_them")
    expected = [
        sum(values) for values in zip(*(READ[kind][1] for kind in kinds), strict=True)
    ]
    assert rewards(reward, timeout=30) == expected


LACKING = [
    "data_source from no column (None)",
    "extra_info from no column (only num_turns, rollout_rewa",
]
FAILED = "on 1 of 4 rows of the rollouts it failed: ZeroDivisionError"
A_LOG = {"step": 3, "policy": "m", "data_source": "d"}
# name, columns beside those of the four rows, the rewards, what the origin says or ("!") does not say
GIVEN = [
    (
        "several",
        {},
        [1.5, 0.5, 0, 1],
        ["right read as TRL", "tagged read as TRL"],
    ),  # None counts nothing
    (
        "default_that_a_column_fills",
        {},
        [1.9, 0.9, 0.9, 1.9],
        ["answer from ground_truth", "!level"],
    ),
    (
        "default_of_none_that_a_column_fills",
        {},
        [3, 3, 2, 2],
        ["level from level", "!tidy"],
    ),
    ("a_log_has_more", A_LOG, [2, 2, 1, 1], ["answer from ground_truth", "!model"]),
    (
        "verl_shares",
        {"data_source": "x"},
        [1, 1, 0, 1],
        [],
    ),  # lists of the completions of a prompt
    (
        "token_ids",
        {"completion_ids": [1, 2]},
        [2] * 4,
        ["read as TRL: it takes completion_ids"],
    ),
    ("plain_with_parts", {}, [1.5, 0, 0, 1.5], ["pays the first of 3 numbers"]),
    ("verl", {}, [2, -1, -1, 2], LACKING),  # what is not there is not said to be taken
    ("step", {}, [0] * 4, []),  # a number where the log has none
    ("step", {"step": 50}, [10] * 4, []),
    ("empty_is_none", {}, [2, 2, None, 1], ["as texts"]),
    ("is_text", {}, [1] * 4, ["(other values as trl:messages: choose"]),
    ("half", {}, [0.5] * 4, ["!other values"]),
    ("own_key_judged", {}, [1, 0, 0, 1], ["!judged is 0"]),
    ("fails_on_one", {}, [1 / 18, 1 / 18, None, 1], [FAILED]),
]


@pytest.mark.parametrize(("name", "more", "expected", "said"), GIVEN)
def test_arguments_are_the_trainers_and_the_origin_says_so(
    name, more, expected, said, load, rewards, rows
):
    rollouts = rk.load_rollouts([{**row, **more} for row in rows])
    reward = load(FOUND, name, rollouts=rollouts)
    assert rewards(reward, rollouts) == expected
    for words in said:
        assert (words.removeprefix("!") in reward.origin) is not words.startswith(
            "!"
        ), reward.origin


WEIGHTS = {
    "keys_of_a_plain_one": {"right": 1, "tidy": 1},
    "verl_with_a_dict": {"score": 1, "acc": 0},  # `said` is no number
    "unjudged_on_the_sample": {"score": 1, "acc": 0},
    "names_of_columns": {"score": 1, "ground_truth_2": 0, "acc": 0},
    "completion": {"completion_2": 1},
    "two_lambdas": {"lambda_": 1, "lambda__2": 1},
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_what_is_a_component_under_which_name(name, load, rollouts):
    reward = load(FOUND, name)
    assert reward.weights == WEIGHTS[name] and all(
        item.range is None for item in reward.components
    )
    if name == "verl_with_a_dict":
        scores = rk.score(reward, rollouts)
        assert scores.score("acc").tolist() == [1, 0, 0, 1]
        assert scores.table[f"field/{name}"][1]["said"] == "<answer>5</answer>"


def test_a_column_can_be_had_under_the_name_that_it_has_in_the_log(load, rewards, rows):
    named = [
        {"response": row["completion"], "gold": row["ground_truth"]} for row in rows
    ]
    rollouts = rk.load_rollouts(named)
    pays = "return [float(truth in text) for text, truth in zip(completions, gold)]"
    for source in (
        f"def f(completions, **kwargs): gold = kwargs['gold']; {pays}",
        f"def f(completions, gold, label=None, **kwargs): assert label == gold; {pays}",
    ):
        assert rewards(load(source, rollouts=rollouts), rollouts) == [1, 0, 0, 1]


@pytest.mark.parametrize("name", ["llm_says", "tried"])
def test_a_column_can_be_had_under_a_name_that_a_person_gave_it(name, load, rewards):
    lists = (
        f"def f({name}s, golds): return [float(g in t) for t, g in zip({name}s, golds)]"
    )
    source = f"def f(prompt, {name}, gold): return float(gold in {name})"
    names = {"prompt": "2+2?", "gold": "4"}
    own = [{**names, name: text} for text in "45"]
    of_lists = [{"golds": "4", f"{name}s": text} for text in "45"]
    usual = [{**names, "completion": text} for text in "45"]
    for code, rows, columns in (
        (source, own, {"completion": name}),
        (lists, of_lists, {"completion": f"{name}s"}),
        (source, usual, {name: "completion"}),
    ):
        rollouts = rk.load_rollouts(rows, columns=columns)
        assert rewards(load(code, rollouts=rollouts), rollouts) == [1, 0]


def test_the_sample_is_taken_from_all_over_the_rollouts_and_need_not_hold_each_kind_of_value(
    load, rewards
):
    rows = [
        {"completion": "a" if at < 90 else "b", "ground_truth": "t"}
        for at in range(100)
    ]
    given = "return {'score': 1} | {b: 1 for b in solution_str.strip('a')}"
    assert load(f"def f(solution_str, ground_truth): {given}", rollouts=rows).names == (
        "score",
        "b",
    )
    rows[57]["completion"] = (
        "late"  # a number on the sample and a dict later: both as the trainer takes them
    )
    given = "return {'score': 1.0} if solution_str == 'late' else 0.0"
    reward = load(f"def f(solution_str, ground_truth): {given}", rollouts=rows)
    assert rewards(reward, rk.load_rollouts(rows))[56:59] == [0.0, 1.0, 0.0]


def test_verl_hands_over_an_extra_info_where_the_data_set_has_none(load, rewards, rows):
    """`RLHFDataset` makes an empty one, to which the naive manager adds two keys."""
    source = """
        def f(data_source, solution_str, ground_truth, extra_info):
            extra_info["seen"] = True
            added = {"num_turns", "rollout_reward_scores", "seen"}
            assert set(extra_info) == added | set(extra_info.get("own", ()))
            assert extra_info.get("num_turns", 2) == 2  # as of managers that add nothing
            return float(extra_info["num_turns"] is extra_info.get("num_turns") is None)
        def lists(data_sources, solution_strs, ground_truths, extra_infos):
            return [f(None, None, None, one) for one in extra_infos]
    """
    for name in ("f", "lists"):
        for more in ({}, {"extra_info": None}, {"extra_info": {"own": ["own"]}}):
            rollouts = rk.load_rollouts([{**row, **more} for row in rows])
            assert rewards(load(source, name, rollouts=rollouts), rollouts) == [1] * 4


def test_a_score_of_the_log_fills_a_parameter_of_what_returns_a_dict(load, rewards):
    rows = [{"completion": "a", "reward": at, "style_reward": at} for at in (0, 0.5)]
    rollouts = rk.load_rollouts(rows)
    source = "def f(completion, style_reward): return {'score': style_reward}"
    reward = load(source, rollouts=rollouts)
    assert "style_reward from logged/style_reward" in reward.origin
    assert rewards(reward, rollouts) == [0, 0.5]


GUESSED = """
def f(trace, task): return 1.0 * trace["success"] - 0 * task["n"]
class Maths:
    def compute_reward(self, task, **kwargs): return float(task.solution in task.response)
class Broken:
    def compute_reward(self, rollout, **kwargs): return rollout.nobody_has_it
"""
ROWS_OF_TEXTS = [{"response": at, "solution": "1"} for at in ("1", "2")]
GUESSED_ROWS = [
    {**row, "trace": {"success": row["response"] == "1"}, "task": {"n": 1}}
    for row in ROWS_OF_TEXTS
]


def test_where_a_form_that_names_suggest_fails_on_all_rows_another_one_is_taken(
    load, rewards
):
    traced = rk.load_rollouts(GUESSED_ROWS)
    plain = rk.load_rollouts(ROWS_OF_TEXTS)
    for name, rollouts in (("f", traced), ("Maths", plain)):
        reward = load(GUESSED, name, rollouts=rollouts)
        assert "read as a plain function" in reward.origin
        assert rewards(reward, rollouts) == [1, 0]
    origin = load(GUESSED, "Broken", rollouts=plain).origin
    assert "is a guess from names: choose another with --as" in origin
    chosen = load(GUESSED, "Broken", rollouts=plain, as_="benchmax")
    assert "a guess" not in chosen.origin


def test_a_key_that_no_row_has_is_told_where_the_scores_of_the_log_need_it(
    load, monkeypatch
):
    """Of a run whose tools are scored outside of the data set and the dump."""
    allowances = []

    def tried(target, reading, rows, limit, allowance):
        allowances.append(allowance)
        return try_reading(target, reading, rows, limit, allowance)

    monkeypatch.setattr(read, "try_reading", tried)
    source = """
        def f(data_source, solution_str, ground_truth, extra_info=None):
            info = extra_info or {}
            info["seen"] = info.get("told", False)
            return max(info.get("tools", [0]))
    """
    row = {"completion": "a", "ground_truth": "a", "data_source": "web"}
    rows = [{**row, "extra_info": {"at": at}, "score": at / 4} for at in range(4)]
    with pytest.raises(
        rk.RewardError, match=r"reads extra_info\['tools'\], which no row"
    ):
        load(source, rollouts=rows)
    assert len(allowances) > 1 and {*map(id, allowances)} == {id(allowances[0])}
    one_has_it = [{**rows[0], "extra_info": {"tools": [0]}}, *rows[1:]]
    as_in_the_log = [{**row, "score": 0} for row in rows]
    for others in (one_has_it, as_in_the_log):
        assert load(source, rollouts=others).names


def test_a_function_that_asks_a_model_is_not_called_for_keys_that_no_row_has(load):
    source = """
        class Judge:
            asks_model = True

            def __call__(self, text):
                return 0.0

        judge = Judge()

        def f(data_source, solution_str, ground_truth, extra_info=None):
            return extra_info.get("tools", 0) + judge(solution_str)
    """
    row = {"completion": "a", "ground_truth": "a", "data_source": "web"}
    rows = [{**row, "extra_info": {"at": at}, "score": at / 4} for at in range(4)]
    assert load(source, rollouts=rows).names
    with pytest.raises(rk.RewardError, match=r"reads extra_info\['tools'\]"):
        load(source.replace("True", "False"), rollouts=rows)


NUMBER = "def f(data_source, solution_str, ground_truth, extra_info=None): return"
LISTS = "def f(data_sources, solution_strs, ground_truths, extra_infos): return"
TRL = "def f(completions, **kwargs): return"
SHORT = f"{TRL} [1.0] * len(completions) if len(completions[0]) > 1 else"
KEY = f"{NUMBER} float(extra_info['level']) if len(solution_str) > 1 else 0.0"
NONE = "returned None of type NoneType; verl puts scores"  # `torch.tensor(scores, dtype=torch.float32)`
# source, the rewards, what is said of the rows without one
ERRORS = [
    (f"{TRL} [1.0]", [None] * 4, "returned 1 values for 2"),
    (
        f"{TRL} [1.0 / len(text) for text in completions]",
        [1 / 18, 1 / 18, None, 1],
        "ZeroDivisionError: float division by",
    ),
    (f"{SHORT} 'high'", [1, 1, None, None], "returned 'high', not a list of scores"),
    (f"{SHORT} None", [1, 1, None, None], "not a list of scores"),
    (
        f"{SHORT} [float('inf')] * len(completions)",
        [1, 1, None, None],
        "a score must be finite",
    ),
    (f"{NUMBER} 1.0 if solution_str else None", [1, 1, None, 1], NONE),
    (
        f"{NUMBER} {{'score': 1.0 if solution_str else None, 'acc': 1.0}}",
        [1, 1, None, 1],
        NONE,
    ),
    (f"{LISTS} [1.0 if one else None for one in solution_strs]", [1, 1, None, 1], NONE),
    (KEY, [None, None, 0, 0], "the rollouts have no column 'extra_info'"),
]


@pytest.mark.parametrize(("source", "expected", "said"), ERRORS)
def test_what_would_mislead_the_training_is_an_error_of_its_rows(
    source, expected, said, reads
):
    reads(source, expected, errors=said)


def test_a_key_that_comes_and_goes_is_told_and_an_error_where_it_is_not_there(
    load, rollouts
):
    reward = load(
        f"{NUMBER} {{'score': 1.0, 'length': 1.0}} if solution_str else {{'score': 1.0}}"
    )
    assert "lack the key 'length' (the first has ['score'])" in reward.origin
    (told,) = rk.score(reward, rollouts).table["error/length"].dropna()
    assert "returned the keys ['score'], without 'length', which other rows" in told


PLAIN = "def f(completion, ground_truth): return ground_truth in completion"
SOURCE = "asks for 'data_source'"
LACKS = "reads extra_info['level'], and the rollouts have no column 'extra_info' (mine.py:1); they have"
# source, what it says, options
REFUSED = {
    "a number": ("f = 3", "f is not a reward: it is 3"),
    "a list with a number": (f"{PLAIN}\nf = [f, 3]", "is not a reward: it is 3"),
    "text": (
        "def f(completion): return 'good'",
        "returned 'good' of type str for a completion",
    ),
    "a dict of texts": (
        f"{NUMBER} {{'score': 'good'}}",
        "of type dict for a completion",
    ),
    "a dict without what is paid": (
        f"{NUMBER} {{'right': 1.0}}",
        "without 'score', which verl pays",
    ),
    "a key of an extra_info that the log lacks": (
        f"{NUMBER} float(extra_info['level'])",
        LACKS,
    ),
    "a file that raises": ("x = 1\nraise OSError('no disk')", "mine.py:2: OSError"),
    "two arguments for one column": (
        "def f(solution, answer): return 1.0",
        "is not a reward",
    ),
    "a tuple of other things": (
        "def f(completion): return 4.0, 'bin', [1.0]",
        "of type list or tuple for a completion; a plain function of columns expects f("
        "completion, ground_truth) -> float, or a dict of them; return the number in it",
    ),
    "a live object": (
        "def f(environments, **kwargs): return [1.0]",
        "no log holds such live objects: name the other functions of the reward",
    ),
    "another name of a column": (
        "def f(completions, dataset, **kwargs): return [1.0]",
        "asks for 'dataset', which is the column 'data_source'; the rollouts have",
    ),
    "a class that is made with something": (
        "class f:\n    def __init__(self, task): ...\n    def tidy(self, completions): ...",
        "made with task (write a file with reward = f(...).tidy)",
    ),
    "a class whose methods are rewards": (
        "class f:\n    def tidy(self, completions): ...",
        "(name one, as f.tidy)",
    ),
    "what nobody gives": (
        "def f(completion, gpu): return 1.0",
        "asks for 'gpu'; the rollouts have ['comp",
    ),
    "ids that the log lacks": (
        "def f(completion_ids, **k): return [1.0]",
        "asks for 'completion_ids'",
    ),
    "a default that is a value": (
        "def f(solution_str, data_source='x'): return data_source",
        SOURCE,
    ),
    "what fails for every trainer": (
        "def f(*a, **k): raise ValueError('no')",
        "on a sample: ValueError: no",
    ),
    "values of chance": (
        f"{FOUND}\nf = chance",
        "can be read in more ways than one: trl:texts, f(prompts",
    ),
    "an unknown target": (
        PLAIN,
        "there is no target 'tlr'; known are ",
        {"as_": "tlr"},
    ),
    "another trainer's": (
        PLAIN,
        "cannot be read as TRL: its parameters are ['completion', ",
        {"as_": "trl"},
    ),
    "no time": (PLAIN, "timeout=0 is not a time", {"timeout": 0}),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_can_be_no_reward_is_one_clear_sentence(kind, load):
    source, said, *options = REFUSED[kind]
    with pytest.raises(rk.RewardError) as raised:
        load(source, **next(iter(options), {}))
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_what_the_log_lacks_is_asked_for_when_it_is_scored(
    load, rewards, rollouts, rows
):
    reward = load(f"{NUMBER} float(data_source == 'gsm8k')", rollouts=None)
    with pytest.raises(rk.RewardError, match="asks for 'data_source'; this table has"):
        rk.score(reward, rollouts)
    assert rewards(reward, [{**row, "data_source": "gsm8k"} for row in rows]) == [1] * 4


def test_what_means_something_on_texts_and_on_messages_has_to_be_chosen(load, rewards):
    with pytest.raises(
        rk.RewardError, match="choose with --as trl:texts or --as trl:messages"
    ):
        load(FOUND, "means_both")
    assert rewards(load(FOUND, "means_both", as_="trl:texts")) == [18, 18, 0, 1]
    assert min(rewards(load(FOUND, "means_both", as_="trl:messages"))) > 30
    with pytest.raises(
        rk.RewardError,
        match=r"cannot be read as 'text'; trl has \['texts', 'messages'\]",
    ):
        load(FOUND, "means_both", as_="trl:text")


@pytest.mark.parametrize("as_", [None, "trl"])
def test_a_batch_function_may_take_columns_alone_and_the_rest_as_keywords(
    as_, load, rows, rewards
):
    source = """
        def f(quality, answer, **kwargs):
            return [0.5 if mark == "good" else 0.0 for mark, _ in zip(quality, answer)]
    """
    marks = ["good", "bad"] * 2
    graded = [{**row, "quality": mark} for row, mark in zip(rows, marks, strict=True)]
    reward = load(source, rollouts=graded, as_=as_)
    assert "read as TRL: it takes columns and **kwargs" in reward.origin
    assert rewards(reward, graded) == [0.5, 0.0, 0.5, 0.0]
    with pytest.raises(rk.RewardError, match="cannot be read as TRL"):
        load(source.replace("quality", "no_column"), rollouts=graded, as_="trl")


@pytest.mark.parametrize(("turns", "form"), [(1, "texts"), (2, "lists of messages")])
def test_a_column_of_messages_that_says_the_texts_again_makes_no_conversation(
    turns, form, load, rows
):
    beside = []
    for row in rows:
        said = {"role": "assistant", "content": row["completion"]}
        asked = {"role": "user", "content": row["prompt"]}
        beside.append({**row, "messages": [asked, said] * turns})
    assert f"as {form}" in load(FOUND, "means_both", rollouts=beside).origin


def test_where_the_rollouts_are_conversations_the_trainer_hands_over_messages(
    load, rewards, rows
):
    chats = rk.load_rollouts(
        [row | {"prompt": [{"role": "user", "content": row["prompt"]}]} for row in rows]
    )
    reward = load(FOUND, "means_both", rollouts=chats)
    assert "as lists of messages" in reward.origin and min(rewards(reward, chats)) > 30
    reward = load(
        FOUND, "dead", rollouts=chats
    )  # it reads texts, which it will not get
    assert (
        rewards(reward, chats) == [0, 0, 0, 0]
        and "(other values as trl:texts" in reward.origin
    )
    assert rewards(load(FOUND, "dead", rollouts=chats, as_="trl:texts"), chats) == [
        1,
        1,
        0,
        0,
    ]


def test_a_decorated_function_that_makes_a_reward_still_makes_it(load):
    made = (
        "rk.Reward('made', components=[rk.Component('length', rk.measure.regex('a'))])"
    )
    logged = (
        "def logged(function): return lambda *args, **kwargs: function(*args, **kwargs)"
    )
    source = f"import rewardkit as rk\n{logged}\n@logged\ndef f(): return {made}"
    assert load(source, rollouts=None).name == "made"


ASSUMED = "the others give the same kind of value is assumed"
HANGS = "on 2 of 2 rows of the rollouts it failed: took longer than 0.3 s"
# what a call does, the seconds it may take, on how many of the 16 rows it is called, what is said of it
TRIED = {
    "it hangs": ("time.sleep(60)", 0.3, 2, HANGS),
    "one late call may be chance": ("time.sleep(60 if at == 1 else 0)", 1, 16, ""),
    "it ends in time, and slowly": ("time.sleep(0.7)", 1, 4, ASSUMED),
}


@pytest.mark.parametrize("kind", TRIED)
def test_recognising_calls_on_as_many_rows_as_there_is_time_for(
    kind, tmp_path, load, limited
):
    """The caller gives a time to one call; two such calls are all that is allowed, beside the first one."""
    does, timeout, calls, said = TRIED[kind]
    count = tmp_path / "count"
    source = f"""
        import os, time
        def f(completion, ground_truth):
            with open({str(count)!r}, "a") as file:
                file.write("x")
            at = os.stat({str(count)!r}).st_size
            {does}
            return 1.0
    """
    rows = [{"completion": f"{at}", "ground_truth": "1"} for at in range(40)]
    origin = load(source, rollouts=rows, timeout=timeout).origin
    assert len(count.read_text()) == calls
    assert said in origin and ("the other rows were not tried" in origin) is (
        calls < 16
    )


def test_where_no_call_comes_back_nothing_is_said_of_its_arguments(load, limited):
    source = """
        import asyncio
        async def f(completions, answer, **kwargs):
            await asyncio.sleep(60)
    """
    rows = []
    for at in range(40):
        row = {"prompt": f"What is {at // 8}?", "ground_truth": "1"}
        rows.append({**row, "completion": f"{at}", "reward": float(at % 2)})
    origin = load(source, rollouts=rows, timeout=0.3).origin
    assert "as the log's scores say" not in origin
    assert "completions from completion" in origin


def test_async_functions_can_be_loaded_where_a_loop_is_running(load, rewards):
    async def inside():
        return rewards(load(FOUND, "trl_asynchronous"))

    assert run_async(inside()) == READ["trl_asynchronous"][1]


def test_the_source_of_the_user_is_in_the_fingerprint(load):
    found = [
        FOUND.replace("return 2.0 if", f"return {text} if")
        for text in ("2.0", "3.0", "3.0")
    ]
    records = [load(source, "verl").record() for source in found]
    prints = [record["fingerprints"]["scoring"] for record in records]
    assert prints[0] != prints[1] == prints[2] and records[0]["sources"].keys() == {
        "mine.py"
    }


def test_a_ground_truth_that_is_taken_and_never_read_does_not_make_a_function_the_task(
    load,
):
    reward = load(FOUND, "with_truths_that_nothing_reads")
    assert reward.names == ("right", "tidy", "short", "Tidy") and reward.task == (
        "right",
    )


SERVER = """
class Server:
    config: dict
    async def verify(self, body):
        calls = [item for item in body.response.output if item.type == "function_call"]
        return {**body, "reward": float([call.name for call in calls] == [body.tool])}
"""


def logged_calls(tmp_path, names):
    """The server above, and a log of prompts that are answered with calls of these names."""
    file = tmp_path / "app.py"
    file.write_text(SERVER)
    rows = []
    for place, name in enumerate(names):
        call = {"type": "function", "function": {"name": name, "arguments": "{}"}}
        turn = {"role": "assistant", "content": "", "tool_calls": [call]}
        asked = {"role": "user", "content": f"{place // 4}+1?"}
        rows.append({"messages": [asked, turn], "tool": "add", "rollout_id": place})
    log = rk.load_rollouts(rows)
    return rk.load_reward(f"{file}:Server", rollouts=log), log


def test_a_server_of_nemo_gym_verifies_the_calls_of_a_log(tmp_path):
    reward, log = logged_calls(tmp_path, ("add", "sub"))
    assert "read as NeMo Gym: it is a class with verify(body)" in reward.origin
    scores = rk.score(reward, log)
    assert scores.rewards.tolist() == [1, 0] and "rollout_id" not in reward.names


def test_no_text_is_tried_in_place_of_calls(tmp_path):
    reward, log = logged_calls(tmp_path, ("add", "sub", "sub", "add") * 8)
    result = rk.probe(reward, log, search=0)
    assert not result.alarms
    assert "reads 'messages'" in str(result.inconclusive)


GUARDED = """
try:
    import no_such_library as lib
except ImportError:
    lib = None
def right(completion, ground_truth):
    return float(completion == ground_truth)
def load_environment():
    return lib.Rubric(right)
def unlucky():
    return None.Rubric
"""


@pytest.mark.parametrize(
    ("name", "is_missing"), [("load_environment", True), ("unlucky", False)]
)
def test_a_library_that_a_file_goes_without_is_named(tmp_path, name, is_missing):
    file = tmp_path / "mine.py"
    file.write_text(GUARDED)
    with pytest.raises(rk.RewardError) as caught:
        rk.load_reward(f"{file}:{name}")
    assert ("no_such_library is not installed" in str(caught.value)) == is_missing
    assert rk.load_reward(f"{file}:right").names == ("right",)


@pytest.mark.parametrize(("least", "is_refused"), [(1, True), (3, False)])
def test_a_function_that_most_rows_lack_a_column_for_is_refused(
    tmp_path, least, is_refused
):
    file = tmp_path / "mine.py"
    file.write_text(
        "def compute_score(solution_str, ground_truth, extra_info=None):\n"
        f"    return extra_info['db'] if len(solution_str) > {least} else 0.0\n"
    )
    rows = [{"completion": "x" * size, "ground_truth": "1"} for size in (1, 2, 3, 4)]
    log = rk.load_rollouts(rows)
    if is_refused:
        with pytest.raises(rk.RewardError, match="on 3 of 4 rows that were tried: it"):
            rk.load_reward(str(file), rollouts=log)
    else:
        assert rk.load_reward(str(file), rollouts=log).names
