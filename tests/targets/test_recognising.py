"""load_reward() on trainers' functions: what they are taken for, why, and what comes of others."""

import textwrap

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.targets.calling import awaited

ROWS = [
    {"prompt_id": 1, "prompt": "2+2?", "completion": "<answer>4</answer>", "ground_truth": "4", "level": 2},
    {"prompt_id": 1, "prompt": "2+2?", "completion": "<answer>5</answer>", "ground_truth": "4", "level": 2},
    {"prompt_id": 2, "prompt": "1+1?", "completion": "", "ground_truth": "2", "level": 1},
    {"prompt_id": 2, "prompt": "1+1?", "completion": "2", "ground_truth": "2", "level": 1},
]
ROLLOUTS = rk.load_rollouts(ROWS)


def load(folder, source, name="f", **options):
    (folder / "mine.py").write_text(textwrap.dedent(source))
    return rk.load_reward(f"{folder / 'mine.py'}:{name}", **options)


def rewards(reward, rollouts=ROLLOUTS, **options):
    return [None if np.isnan(value) else value for value in rk.score(reward, rollouts, **options).rewards]


# source, what it is read as, the rewards of the four rows
READ = {
    "TRL with a column": (
        """
        def f(completions, answer, **kwargs):
            return [float(truth in text) for text, truth in zip(completions, answer)]
        """,
        "TRL",
        [1, 0, 0, 1],
    ),
    "TRL that is given all": (
        """
        def f(prompts, completions, **kwargs):
            assert len(prompts) == len(kwargs["level"]) and kwargs["solution"] == kwargs["ground_truth"]
            return [None if not text else level for text, level in zip(completions, kwargs["level"])]
        """,
        "TRL",
        [2, 2, None, 1],
    ),
    "TRL over conversations": (
        """
        def f(completions, **kwargs):
            return [float("answer" in turns[0]["content"]) for turns in completions]
        """,
        "TRL",
        [1, 1, 0, 0],
    ),
    "TRL, asynchronous": (
        """
        import asyncio
        async def f(prompts, completions, **kwargs):
            await asyncio.sleep(0)
            return [len(text) / 2 for text in completions]
        """,
        "TRL",
        [9, 9, 0, 0.5],
    ),
    "a callable object with as_fn": (
        """
        class Config:
            name = "short"
        class Short:
            config = Config()
            __name__ = "short"
            def __call__(self, prompts, completions, **kwargs):
                return [1.5 if len(text) < 5 else -0.5 for text in completions]
            def as_fn(self):
                return lambda prompts, completions, **kwargs: self(prompts, completions, **kwargs)
        f = Short()
        """,
        "TRL",
        [-0.5, -0.5, 1.5, 1.5],
    ),
    "a class with as_fn": (
        """
        class f:
            def __call__(self, prompts, completions, **kwargs):
                return [float(len(text)) for text in completions]
            def as_fn(self):
                return self.__call__
        """,
        "TRL",
        [18, 18, 0, 1],
    ),
    "verl": (
        """
        def f(data_source, solution_str, ground_truth, extra_info=None):
            return 2.0 if ground_truth in solution_str else -1.0
        """,
        "verl",
        [2, -1, -1, 2],
    ),
    "verl with a dict": (
        """
        def f(solution_str, ground_truth, **kwargs):
            right = ground_truth in solution_str
            return {"score": 2.0 * right - 1, "acc": right, "said": solution_str}
        """,
        "verl",
        [1, -1, -1, 1],
    ),
    "verl, asynchronous": (
        """
        async def f(data_source, solution_str, ground_truth, extra_info=None):
            return {"score": float(len(solution_str))}
        """,
        "verl",
        [18, 18, 0, 1],
    ),
    "verl in batches": (
        """
        def f(data_sources, solution_strs, ground_truths, extra_infos):
            return [{"score": float(truth in text)} for text, truth in zip(solution_strs, ground_truths)]
        """,
        "verl",
        [1, 0, 0, 1],
    ),
    "TRL with keywords only": (
        """
        def f(**kwargs):
            return [float(truth in text) for text, truth in zip(kwargs["completions"], kwargs["answer"])]
        """,
        "TRL",
        [1, 0, 0, 1],
    ),
    "verl with keywords only": (
        """
        def f(**kwargs):
            return {"score": float(kwargs["ground_truth"] in kwargs["solution_str"])}
        """,
        "verl",
        [1, 0, 0, 1],
    ),
    "verl behind a decorator that does not name its parameters": (
        """
        def twice(function):
            return lambda *args, **kwargs: 2 * function(*args, **kwargs)
        @twice
        def f(data_source, solution_str, ground_truth, extra_info=None):
            return float(ground_truth in solution_str)
        """,
        "verl",
        [2, 0, 0, 2],
    ),
    "plain": (
        """
        def f(completion, ground_truth):
            return ground_truth in completion
        """,
        "a plain function of columns",
        [1, 0, 0, 1],
    ),
    "plain under other names": (
        """
        def f(output, solution):
            return solution in output
        """,
        "a plain function of columns",
        [1, 0, 0, 1],
    ),
    "plain with a dict": (
        """
        def f(output, level):
            return {"score": level * 1.0, "long": len(output) > 3}
        """,
        "a plain function of columns",
        [2, 2, 1, 1],
    ),
}


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("given", [True, False], ids=["on rollouts", "on the sample"])
def test_a_function_is_recognised_and_gives_what_its_trainer_would_get(kind, given, tmp_path):
    source, title, expected = READ[kind]
    reward = load(tmp_path, source, rollouts=ROLLOUTS if given else None)
    assert f"f read as {title}: " in reward.origin
    assert rewards(reward) == expected
    assert rewards(reward, timeout=5) == expected
    for row, value in zip(ROWS, expected, strict=True):
        assert reward(**row).reward == (value if value is not None else pytest.approx(np.nan, nan_ok=True))


def test_the_keys_of_a_dict_are_components_and_only_the_score_is_paid(tmp_path):
    reward = load(tmp_path, READ["verl with a dict"][0], rollouts=ROLLOUTS)
    assert reward.weights == {"score": 1.0, "acc": 0.0}  # `said` is no number
    assert all(item.range is None for item in reward.components)
    scores = rk.score(reward, ROLLOUTS)
    assert scores.score("acc").tolist() == [1, 0, 0, 1]
    assert scores.table["field/f"][1]["said"] == "<answer>5</answer>"


def test_a_list_of_functions_is_a_component_each(tmp_path):
    source = """
        def right(completions, answer, **kwargs):
            return [float(a in c) if c else None for c, a in zip(completions, answer)]
        async def tagged(completions, **kwargs):
            return [float("<" in turns[-1]["content"]) / 2 for turns in completions]
        f = [right, tagged]
    """
    reward = load(tmp_path, source, rollouts=ROLLOUTS)
    assert reward.weights == {"right": 1.0, "tagged": 1.0}
    assert rewards(reward) == [1.5, 0.5, 0, 1]  # None of one function counts nothing, as in a nansum
    assert reward.origin.count("read as TRL") == 2


def test_a_default_gives_way_to_a_column_that_logs_have_and_to_no_other(tmp_path):
    source = """
        def f(completion, answer="", level=9):
            return (answer in completion) + level / 10 if answer else None
    """
    reward = load(tmp_path, source, rollouts=ROLLOUTS)
    assert rewards(reward) == [1.9, 0.9, 0.9, 1.9]
    assert "answer from ground_truth" in reward.origin and "level" not in reward.origin
    rows = [{"completion": "4", "level": 1}]
    assert rewards(load(tmp_path, source, rollouts=rk.load_rollouts(rows)), rows) == [None]


def test_the_trainer_hands_over_columns_of_the_data_set_and_not_of_the_log(tmp_path):
    """What stands in the log only, or is called like a column by chance, is left at its default."""
    source = """
        def f(completions, step=0.5, model="judge", target=100, source="web", level=9, answer=None, **kwargs):
            assert (step, model, target, source, answer) == (0.5, "judge", 100, "web", kwargs["ground_truth"])
            return [float(one) for one in level]
    """
    rows = [{**row, "step": 3, "policy": "m", "data_source": "d"} for row in ROWS]
    reward = load(tmp_path, source, rollouts=rk.load_rollouts(rows))
    assert rewards(reward, rows) == [2, 2, 1, 1]
    assert "answer from ground_truth" in reward.origin and "model" not in reward.origin


def test_a_column_can_be_had_under_the_name_that_it_has_in_the_log(tmp_path):
    source = """
        def f(completions, **kwargs):
            return [float(truth in text) for text, truth in zip(completions, kwargs["gold"])]
    """
    rows = rk.load_rollouts([{"response": row["completion"], "gold": row["ground_truth"]} for row in ROWS])
    assert rows.mapping["ground_truth"] == "gold"
    assert rewards(load(tmp_path, source, rollouts=rows), rows) == [1, 0, 0, 1]
    named = """
        def f(completions, gold, label=None, **kwargs):
            assert label == gold
            return [float(truth in text) for text, truth in zip(completions, gold)]
    """
    assert rewards(load(tmp_path, named, rollouts=rows), rows) == [1, 0, 0, 1]


def test_a_list_of_the_wrong_length_is_an_error_of_the_whole_call(tmp_path):
    """The trainer ends there: calls for one row each would hide it."""
    for back in ("[1.0]", "[float(len(c)) for c in sorted(set(completions))][:1]"):
        scores = rk.score(load(tmp_path, f"def f(completions, **kwargs):\n    return {back}"), ROLLOUTS)
        assert scores.counts["f"]["error"] == 4
        assert "returned 1 values for 2 completions" in scores.table["error/f"][0]


def test_functions_of_lists_are_called_with_the_completions_of_a_prompt(tmp_path):
    source = """
        def f(data_sources, solution_strs, ground_truths, extra_infos):
            longest = max(map(len, solution_strs))
            return [{"score": len(text) / longest} for text in solution_strs]
    """
    rows = [{**row, "data_source": "x"} for row in ROWS]
    assert rewards(load(tmp_path, source), rows) == [1, 1, 0, 1]


def test_a_number_on_the_sample_and_a_dict_later_are_both_taken_as_the_trainer_takes_them(tmp_path):
    source = """
        def f(solution_str, ground_truth, **kwargs):
            return {"score": 1.0, "acc": 1.0} if solution_str == "late" else 0.0
    """
    rows = [{"completion": text, "ground_truth": "t"} for text in ["a", "b"] * 40]
    rows[57]["completion"] = "late"
    reward = load(tmp_path, source, rollouts=rk.load_rollouts(rows))
    assert rewards(reward, rows)[56:59] == [0.0, 1.0, 0.0]


def test_the_sample_is_taken_from_all_over_the_rollouts(tmp_path):
    source = """
        def f(solution_str, ground_truth, **kwargs):
            return {"score": 1.0, **({"late": 1.0} if solution_str == "b" else {})}
    """
    rows = [{"completion": "a" if at < 90 else "b", "ground_truth": "t"} for at in range(100)]
    assert load(tmp_path, source, rollouts=rk.load_rollouts(rows)).names == ("score", "late")


def test_a_dict_without_what_is_paid_is_an_error_where_the_trainer_has_a_key_for_it(tmp_path):
    back = "return {'correct': 1.0, 'format': 0.2}"
    with pytest.raises(rk.RewardError, match="without 'score', which verl pays"):
        load(tmp_path, f"def f(solution_str, ground_truth, **kwargs):\n    {back}")
    reward = load(tmp_path, f"def f(completion, ground_truth):\n    {back}")
    assert reward.weights == {"correct": 1.0, "format": 1.0}


def test_a_score_that_is_not_judged_on_the_sample_is_still_what_is_paid(tmp_path):
    source = "def f(solution_str, ground_truth, **kwargs):\n    return {'score': None, 'acc': 1.0}"
    assert load(tmp_path, source, rollouts=ROLLOUTS).weights == {"score": 1.0, "acc": 0.0}


def test_token_ids_are_asked_for_where_the_log_has_none(tmp_path):
    source = "def f(completion_ids, **kwargs):\n    return [float(len(ids)) for ids in completion_ids]"
    with pytest.raises(rk.RewardError, match="asks for 'completion_ids'"):
        load(tmp_path, source, rollouts=ROLLOUTS)
    rows = [{**row, "completion_ids": [1] * at} for at, row in enumerate(ROWS)]
    reward = load(tmp_path, source, rollouts=rk.load_rollouts(rows))
    assert "read as TRL: it takes completion_ids" in reward.origin and rewards(reward, rows) == [0, 1, 2, 3]


def test_a_column_that_is_not_there_is_not_said_to_be_taken(tmp_path):
    source = READ["verl"][0]
    said = load(tmp_path, source, rollouts=ROLLOUTS).origin
    assert "data_source from no column (None)" in said and "solution_str from completion" in said
    assert "extra_info from no column (only num_turns, rollout_reward_scores)" in said


def test_verl_hands_over_an_extra_info_where_the_data_set_has_none(tmp_path):
    """`RLHFDataset` makes an empty one, to which the naive manager adds two keys."""
    source = """
        def f(data_source, solution_str, ground_truth, extra_info):
            extra_info["seen"] = True
            added = {"num_turns", "rollout_reward_scores", "seen"}
            assert set(extra_info) == added | set(extra_info.get("own", ()))
            return float(extra_info["num_turns"] is None)
        def lists(data_sources, solution_strs, ground_truths, extra_infos):
            return [f(None, None, None, one) for one in extra_infos]
    """
    for name in ("f", "lists"):
        for more in ({}, {"extra_info": None}, {"extra_info": {"own": ["own"]}}):
            rows = [{**row, **more} for row in ROWS]
            assert rewards(load(tmp_path, source, name, rollouts=rk.load_rollouts(rows)), rows) == [1] * 4


def test_a_key_of_an_extra_info_that_the_log_lacks_is_asked_for(tmp_path):
    source = """
        def f(data_source, solution_str, ground_truth, extra_info):
            return float(extra_info["level"])
        def some(data_source, solution_str, ground_truth, extra_info):
            return float(extra_info["level"]) if len(solution_str) > 1 else 0.0
    """
    told = r"reads extra_info\['level'\], and the rollouts have no column 'extra_info'; they have \['compl"
    with pytest.raises(rk.RewardError, match=told):
        load(tmp_path, source, rollouts=ROLLOUTS)
    scores = rk.score(load(tmp_path, source, "some", rollouts=ROLLOUTS), ROLLOUTS)
    assert scores.counts["some"]["error"] == 2
    assert "the rollouts have no column 'extra_info'" in scores.table["error/some"][0]


NONE = """
    def number(data_source, solution_str, ground_truth, extra_info=None):
        return 1.0 if solution_str else None
    def table(data_source, solution_str, ground_truth, extra_info=None):
        return {"score": 1.0 if solution_str else None, "acc": 1.0}
    def lists(data_sources, solution_strs, ground_truths, extra_infos):
        return [1.0 if one else None for one in solution_strs]
"""


@pytest.mark.parametrize("name", ["number", "table", "lists"])
def test_none_ends_the_training_of_verl_and_is_an_error_there(name, tmp_path):
    """`torch.tensor(scores, dtype=torch.float32)` takes none."""
    scores = rk.score(load(tmp_path, NONE, name, rollouts=ROLLOUTS), ROLLOUTS)
    column = "score" if name == "table" else name
    assert scores.counts[column] == {"scored": 3, "gated": 0, "abstained": 0, "error": 1}
    assert "returned None of type NoneType; verl puts scores" in scores.table[f"error/{column}"][2]


def test_two_functions_of_one_name_in_a_list_get_names_of_their_own(tmp_path):
    source = "def made(k):\n    def g(completions, **kwargs):\n"
    source += "        return [k] * len(completions)\n    return g\n"
    reward = load(tmp_path, source + "f = [made(1.0), made(2.0)]\n")
    assert reward.names == ("g", "g_2") and rewards(reward) == [3, 3, 3, 3]


def test_what_the_trainer_reads_but_the_log_lacks_is_asked_for(tmp_path):
    source = """
        def f(data_source, solution_str, ground_truth, extra_info=None):
            return 1.0 if data_source == "gsm8k" else 0.0
    """
    with pytest.raises(rk.RewardError, match="asks for 'data_source'; this table has"):
        rk.score(load(tmp_path, source), ROLLOUTS)
    rows = [{**row, "data_source": "gsm8k"} for row in ROWS]
    assert rewards(load(tmp_path, source), rows) == [1, 1, 1, 1]


def test_where_a_batch_fails_only_the_rows_that_fail_alone_are_errors(tmp_path):
    source = """
        def f(completions, **kwargs):
            return [1.0 / len(text) for text in completions]
    """
    for timeout in (None, 5):
        scores = rk.score(load(tmp_path, source), ROLLOUTS, timeout=timeout)
        assert scores.counts["f"] == {"scored": 3, "gated": 0, "abstained": 0, "error": 1}
        assert scores.table["error/f"][2] == "ZeroDivisionError: float division by zero"
        assert scores.table["reward"][3] == 1.0


@pytest.mark.parametrize(
    ("back", "reason"),
    [
        ("[1.0] * (3 - len(completions))", "returned 2 values for 1 completions"),
        ("'high'", "returned 'high', not a list of scores"),
        ("{'a': 1.0}", "not a list of scores"),
        ("None", "not a list of scores"),
        ("[float('inf')] * len(completions)", "a score must be finite"),
    ],
    ids=["wrong length", "text", "dict", "nothing", "infinite"],
)
def test_a_batch_that_goes_wrong_is_an_error_of_its_rows(back, reason, tmp_path):
    source = "def f(completions, **kwargs):\n    if len(completions[0]) < 9:\n        return "
    source += f"{back}\n    return [1.0] * len(completions)"
    rows = [
        {"prompt": text, "completion": text} for text in ("a long completion", "a long other one", "short")
    ]
    scores = rk.score(load(tmp_path, source), rows)
    assert scores.counts["f"] == {"scored": 2, "gated": 0, "abstained": 0, "error": 1}
    assert reason in scores.table["error/f"][2]


# what it says, for what can be no reward
REFUSED = {
    "a number": ("f = 3", "is 3, not a reward"),
    "an empty list": ("f = []", "is an empty list"),
    "a list with a number": (READ["plain"][0] + "\n        f = [f, 3]", "is not a reward: it is 3"),
    "text back": ("def f(completion):\n    return 'good'", "returned 'good' of type str for a completion"),
    "text back to verl": (
        "def f(data_source, solution_str, ground_truth):\n    return 'good'",
        "verl expects compute_score(data_source, solution_str",
    ),
    "a dict of texts": (
        "def f(data_source, solution_str, ground_truth):\n    return {'score': 'good'}",
        "of type dict for a completion",
    ),
    "a class that needs arguments": (
        "class f:\n    def __init__(self, config):\n        pass\n"
        "    def __call__(self, completions, **kwargs):\n        return []",
        "give an object of it, made with what it needs",
    ),
    "a class that fails": (
        "class f:\n    def __init__(self):\n        raise OSError('no disk')\n"
        "    def __call__(self, completions, **kwargs):\n        return []",
        "mine.py:3: f() failed with OSError: no disk",
    ),
    "a file that raises": (
        "x = 1\nraise OSError('no disk')\ndef f(completion):\n    return 1",
        "mine.py:2: OSError",
    ),
    "a file that is not Python": ("def f(:", "mine.py:1: SyntaxError"),
    "two arguments for one column": ("def f(solution, answer):\n    return 1.0", "is not a reward"),
    "a default that is a value, for a missing column": (
        "def f(solution_str, ground_truth, data_source='mine'):\n    return float(data_source == 'mine')",
        "asks for 'data_source'",
    ),
    "any keywords, and fails for every trainer": (
        "def f(*args, **kwargs):\n    raise ValueError('not so')",
        "on a sample: ValueError: not so",
    ),
    "an unknown target": (READ["plain"][0], "there is no target 'tlr'; known are ", "tlr"),
    "another trainer's": (
        READ["plain"][0],
        "cannot be read as TRL: its parameters are ['completion', ",
        "trl",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_can_be_no_reward_is_one_clear_sentence(kind, tmp_path):
    source, said, *as_ = REFUSED[kind]
    with pytest.raises(rk.RewardError) as raised:
        load(tmp_path, source, rollouts=ROLLOUTS, as_=next(iter(as_), None))
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_a_function_that_asks_for_what_nobody_gives_names_it(tmp_path):
    source = "def f(completion, gpu_handle):\n    return 1.0"
    with pytest.raises(rk.RewardError, match=r"f asks for 'gpu_handle'; the rollouts have \['completion', "):
        load(tmp_path, source, rollouts=ROLLOUTS)
    with pytest.raises(rk.RewardError, match=r"asks for 'gpu_handle'; this table has"):
        rk.score(load(tmp_path, source), ROLLOUTS)


BOTH = """
    def f(completions, **kwargs):
        return [float(len(str(one))) for one in completions]
"""


def test_what_means_something_on_texts_and_on_messages_has_to_be_chosen(tmp_path):
    with pytest.raises(rk.RewardError, match="choose with --as trl:texts or --as trl:messages"):
        load(tmp_path, BOTH, rollouts=ROLLOUTS)
    assert rewards(load(tmp_path, BOTH, rollouts=ROLLOUTS, as_="trl:texts")) == [18, 18, 0, 1]
    assert min(rewards(load(tmp_path, BOTH, rollouts=ROLLOUTS, as_="trl:messages"))) > 30
    with pytest.raises(rk.RewardError, match=r"cannot be read as 'text'; trl has \['texts', 'messages'\]"):
        load(tmp_path, BOTH, rollouts=ROLLOUTS, as_="trl:text")


def test_where_the_rollouts_are_conversations_the_trainer_hands_over_messages(tmp_path):
    chats = [{**row, "prompt": [{"role": "user", "content": row["prompt"]}]} for row in ROWS]
    reward = load(tmp_path, BOTH, rollouts=rk.load_rollouts(chats))
    assert "as lists of messages" in reward.origin and min(rewards(reward, chats)) > 30
    dead = (
        "def f(completions, **kwargs):\n    return [1.0 if '<answer>' in one else 0.0 for one in completions]"
    )
    reward = load(tmp_path, dead, rollouts=rk.load_rollouts(chats))  # it reads texts, which it will not get
    assert rewards(reward, chats) == [0, 0, 0, 0] and "(other values as trl:texts" in reward.origin
    texts = load(tmp_path, dead, rollouts=rk.load_rollouts(chats), as_="trl:texts")
    assert rewards(texts, chats) == [1, 1, 0, 0]


def test_a_function_that_asks_for_the_step_gets_a_number_where_the_log_has_none(tmp_path):
    source = """
        def f(completions, trainer_state, **kwargs):
            return [len(one) * min(1.0, trainer_state.global_step / 100) for one in completions]
    """
    assert rewards(load(tmp_path, source, rollouts=ROLLOUTS)) == [0, 0, 0, 0]
    rows = [{**row, "step": 50} for row in ROWS]
    assert rewards(load(tmp_path, source, rollouts=rk.load_rollouts(rows)), rows) == [9, 9, 0, 0.5]


def test_an_object_with_a_compute_of_its_own_is_called_as_it_is(tmp_path):
    source = """
        class Base:
            def __call__(self, completions, **kwargs):
                return [self.compute(one, **kwargs) for one in completions]
        class F(Base):
            def compute(self, completions, **kwargs):
                return float(len(completions))
        f = F()
    """
    reward = load(tmp_path, source, rollouts=ROLLOUTS)
    assert "read as TRL" in reward.origin and rewards(reward) == [18, 18, 0, 1]


def test_a_way_in_which_the_completion_is_not_read_is_not_the_trainers(tmp_path):
    source = """
        def f(completions, level, **kwargs):
            return [at if one else None for one, at in zip(completions, level)]
    """
    reward = load(tmp_path, source, rollouts=ROLLOUTS)  # a list of messages is never empty: [2, 2, 2, 1]
    assert "as texts" in reward.origin and rewards(reward) == [2, 2, None, 1]


def test_that_another_way_would_give_other_values_is_said_where_no_row_tells(tmp_path):
    source = "def f(completions, **kwargs):\n    return [float(isinstance(one, str)) for one in completions]"
    assert "(other values as trl:messages: choose" in load(tmp_path, source, rollouts=ROLLOUTS).origin
    same = "def f(completions, **kwargs):\n    return [0.5 for one in completions]"
    assert "other values" not in load(tmp_path, same, rollouts=ROLLOUTS).origin


def test_a_decorated_function_that_makes_a_reward_still_makes_it(tmp_path):
    source = """
        import rewardkit as rk
        def logged(function):
            return lambda *args, **kwargs: function(*args, **kwargs)
        @logged
        def f():
            return rk.Reward("made", components=[rk.Component("length", rk.measure.regex("a"))])
    """
    assert load(tmp_path, source).name == "made"


def test_names_of_columns_are_not_taken_for_components(tmp_path):
    plain = "def completion(completion, ground_truth):\n    return ground_truth in completion"
    reward = load(tmp_path, plain, name="completion", rollouts=ROLLOUTS)
    assert reward.names == ("completion_2",) and rewards(reward) == [1, 0, 0, 1]
    source = """
        def f(solution_str, ground_truth, **kwargs):
            return {"score": 1.0, "ground_truth": 0.5, "f": 2.0}
    """
    reward = load(tmp_path, source, rollouts=ROLLOUTS)
    assert reward.names == ("score", "ground_truth_2", "f") and rewards(reward) == [1, 1, 1, 1]


def test_a_score_is_missing_where_our_own_file_says_that_there_is_none(tmp_path):
    made = rk.Reward("ours", components=[rk.Component("length", length_if_any, range=None)])
    path = rk.export(made, to="verl", path=tmp_path / "ours.py", missing=-1.0).path
    again = rk.load_reward(f"{path}:compute_score", rollouts=ROLLOUTS)
    assert rewards(again) == [18, 18, None, 1] and "no score where judged is 0" in again.origin


def length_if_any(completion):
    return len(completion) or None


def test_a_key_of_the_users_own_that_is_called_judged_is_a_component_like_others(tmp_path):
    source = """
        def f(solution_str, ground_truth, **kwargs):
            right = float(ground_truth in solution_str)
            return {"score": right, "judged": right}
    """
    reward = load(tmp_path, source, rollouts=ROLLOUTS)
    assert rewards(reward) == [1, 0, 0, 1] and "judged is 0" not in reward.origin


def test_keys_that_come_and_go_are_errors_of_their_rows_and_not_of_the_score(tmp_path):
    source = """
        def f(solution_str, ground_truth, **kwargs):
            found = {"score": 1.0}
            if solution_str:
                found["length"] = len(solution_str)
            return found
    """
    reward = load(tmp_path, source, rollouts=ROLLOUTS)
    scores = rk.score(reward, ROLLOUTS)
    assert scores.rewards.tolist() == [1, 1, 1, 1]
    assert scores.counts["length"]["error"] == 1
    assert "returned the keys ['score'], without 'length'" in scores.table["error/length"][2]
    assert "keys that are not always there: length" in reward.origin


def test_a_function_that_fails_on_the_sample_says_so_and_is_read_all_the_same(tmp_path):
    source = """
        def f(data_source, solution_str, ground_truth, extra_info=None):
            return extra_info["difficulty"] * 1.0
    """
    reward = load(tmp_path, source)
    assert "on 2 of 2 rows of a made-up sample it failed: KeyError: 'difficulty'" in reward.origin
    rows = [{**row, "extra_info": {"difficulty": 3}} for row in ROWS]
    assert rewards(reward, rows) == [3, 3, 3, 3]


def test_a_function_that_hangs_does_not_hang_the_loading(tmp_path, monkeypatch):
    monkeypatch.setattr("rewardkit.targets.recognising.SECONDS", 0.3)
    count = tmp_path / "count"
    source = f"""
        import time
        def f(completions, **kwargs):
            with open({str(count)!r}, "a") as file:
                file.write("x")
            time.sleep(60)
    """
    reward = load(tmp_path, source, rollouts=ROLLOUTS)
    assert "on 2 of 2 rows of the rollouts it failed: took longer than 0.3 s" in reward.origin
    assert "the other rows were not tried" in reward.origin and "is assumed" in reward.origin
    assert len(count.read_text()) == 2  # as texts: the others, and as messages, would hang as well


# what a call does, the time it may take -> on how many of the 16 rows it is called, why
FEW = {
    "one late call may be chance": ("time.sleep(60 if at == 1 else 0)", 1, 16),
    "it ends in time, and slowly": ("time.sleep(0.7)", 1, 3),
    "quick": ("pass", 5, 16),
}


@pytest.mark.parametrize("kind", FEW)
def test_recognising_calls_on_as_many_rows_as_there_is_time_for(kind, tmp_path):
    """The caller gives a time to one call; two such calls are all that is allowed, beside the first one."""
    does, timeout, expected = FEW[kind]
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
    origin = load(tmp_path, source, rollouts=rk.load_rollouts(rows), timeout=timeout).origin
    assert len(count.read_text()) == expected
    assert ("that the others give the same kind of value is assumed" in origin) is (expected < 16)


@pytest.mark.parametrize("timeout", [0, -1, "5"])
def test_a_time_that_is_none_is_one_sentence(timeout, tmp_path):
    with pytest.raises(rk.RewardError, match="is not a time"):
        load(tmp_path, READ["plain"][0], timeout=timeout)


def test_a_function_that_gives_other_values_each_time_is_called_in_the_first_way(tmp_path):
    source = """
        import random
        def f(completions, **kwargs):
            return [random.random() + len(str(one)) for one in completions]
    """
    origin = load(tmp_path, source, rollouts=ROLLOUTS).origin
    assert "as texts" in origin and "it gives other values each time" in origin


def test_which_trainer_a_function_of_any_keywords_is_for_cannot_be_told_by_values_of_chance(tmp_path):
    source = """
        import random
        def f(**kwargs):
            return random.random() + len(str(kwargs.get("solution_str", kwargs.get("completions"))))
        def lists(**kwargs):
            one = f(**kwargs)
            return one if "solution_str" in kwargs else [one]
    """
    with pytest.raises(rk.RewardError, match=r"it gives other values each time.*choose with --as"):
        load(tmp_path, source, name="lists", rollouts=ROLLOUTS)


def test_async_functions_can_be_loaded_where_a_loop_is_running(tmp_path):
    source, _, expected = READ["TRL, asynchronous"]

    async def inside():
        return rewards(load(tmp_path, source))

    assert awaited(inside()) == expected


def test_the_source_of_the_user_is_in_the_fingerprint(tmp_path):
    prints = []
    for bonus in (0, 1, 1):
        source = READ["verl"][0].replace("2.0", f"2.0 + {bonus}")
        prints.append(load(tmp_path, source).record()["fingerprints"]["scoring"])
    assert prints[0] != prints[1] == prints[2]
    assert load(tmp_path, READ["verl"][0]).record()["sources"].keys() == {"mine.py"}


TAKES_THE_TRUTH = """
    class Tidy:
        def __call__(self, completions, ground_truth, **kwargs):
            return [float(text.startswith("<")) for text in completions]
    def right(completions, answer, **kwargs):
        return [float(truth in text) for text, truth in zip(completions, answer)]
    def tidy(completions, answer, **kwargs):
        return [float(text.startswith("<")) for text in completions]
    def short(solution_str, ground_truth):
        return float(len(solution_str) < 5)
    f = [right, tidy, short, Tidy()]
"""


def test_a_ground_truth_that_is_taken_and_never_read_does_not_make_a_function_the_task(tmp_path):
    reward = load(tmp_path, TAKES_THE_TRUTH, rollouts=ROLLOUTS)
    assert reward.names == ("right", "tidy", "short", "Tidy") and reward.task == ("right",)
