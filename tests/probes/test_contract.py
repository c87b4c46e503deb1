"""The contract: each way to break it is found, and what looks like it is not."""

import random
import threading
from itertools import count

import pytest
from planted_probes import DATA, inside, strict

import rewardkit as rk
from rewardkit.probes.contract.watching import Watched

ROLLOUTS = DATA["numbers"]


def reward(function, **options):
    return rk.Reward("r", components=[rk.Component("c", function, **options)])


def beside(function, of_siblings):
    return rk.Reward(
        "r", components=[rk.Component("c", function), rk.Component("d", of_siblings, weight=0.5)]
    )


def judged(text, truth):
    return float(strict(text, truth))


def beyond(completion, ground_truth):
    return 2 * judged(completion, ground_truth)


def not_finite(completion, ground_truth):
    return judged(completion, ground_truth) if inside(completion) != "none" else float("nan")


def text(completion, ground_truth):
    return judged(completion, ground_truth) if inside(completion) != "none" else "wrong"


def raising(completion, ground_truth):
    return float(inside(completion)) == float(ground_truth)


def too_few(completion, ground_truth):
    pairs = zip(completion, ground_truth, strict=True)
    return [judged(*pair) for pair in pairs if inside(pair[0]) != "none"]


def by_place(completion, ground_truth):
    pairs = zip(completion, ground_truth, strict=True)
    return [judged(*pair) * (1 - place / 1000) for place, pair in enumerate(pairs)]


def centred(completion, ground_truth):
    scores = [judged(*pair) for pair in zip(completion, ground_truth, strict=True)]
    return [score - sum(scores) / len(scores) / 2 for score in scores]


def novel(completion, ground_truth):
    scores = [judged(*pair) for pair in zip(completion, ground_truth, strict=True)]
    return [score / completion.count(text) for score, text in zip(scores, completion, strict=True)]


CALLS = count()


def warms_up(completion, ground_truth):
    return judged(completion, ground_truth) * (1 - 1 / (2 + next(CALLS)))


def noisy(completion, ground_truth):
    return 0.9 * judged(completion, ground_truth) + 0.1 * random.random()


def pops(completion, ground_truth, references):
    references.pop()
    return judged(completion, ground_truth)


def easy_pays(completion, ground_truth):
    return len(ground_truth) / 10


def of_the_wrong(completion, ground_truth):
    return judged(completion, ground_truth) - len(ground_truth) / 10


def holding():
    lock = threading.Lock()

    def score(completion, ground_truth):
        with lock:
            return judged(completion, ground_truth)

    return score


BATCH = {"batch": True, "range": None}


@pytest.mark.parametrize(
    ("made", "code", "severity"),
    [
        pytest.param(reward(beyond), "out_of_range", "high", id="beyond its range"),
        pytest.param(reward(not_finite), "not_finite", "high", id="NaN"),
        pytest.param(reward(text), "wrong_type", "high", id="a text"),
        pytest.param(reward(raising), "raises", "high", id="raises"),
        pytest.param(reward(too_few, **BATCH), "wrong_length", "high", id="too few scores"),
        pytest.param(reward(by_place, **BATCH), "depends_on_order", "high", id="order"),
        pytest.param(reward(by_place, group=True, range=None), "depends_on_order", "high", id="of siblings"),
        pytest.param(reward(centred, **BATCH), "depends_on_siblings", "high", id="the batch's mean"),
        pytest.param(reward(novel, **BATCH), "depends_on_siblings", "high", id="duplicates"),
        pytest.param(reward(warms_up), "hidden_state", "high", id="a counter"),
        pytest.param(reward(noisy), "differs_between_calls", "high", id="chance"),
        pytest.param(reward(pops), "changes_arguments", "high", id="changes what it is given"),
        pytest.param(reward(easy_pays), "ignores_completion", "high", id="reads the truth only"),
        pytest.param(reward(holding()), "not_picklable", "warn", id="holds a lock"),
    ],
)
def test_each_break_of_the_contract_is_one_finding(made, code, severity):
    data = [{**row, "references": ["a", "b"]} for row in ROLLOUTS]
    in_processes = code in ("hidden_state", "differs_between_calls")  # which only another one tells apart
    result = rk.probe(made, data, only="contract", timeout=5 if in_processes else None)
    assert [(item.code, item.severity) for item in result.findings] == [(code, severity)]


def plain(completion, ground_truth):
    return judged(completion, ground_truth)


def listed(completion, ground_truth):
    return [judged(*pair) for pair in zip(completion, ground_truth, strict=True)]


def best_of_group(completion, ground_truth):
    scores = listed(completion, ground_truth)
    return [score / max(1.0, sum(scores)) for score in scores]


def unreadable(completion, ground_truth):
    return None if inside(completion) is None else judged(completion, ground_truth)


async def awaited(completion, ground_truth):
    return judged(completion, ground_truth)


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(reward(plain), id="a row at a time"),
        pytest.param(reward(listed, batch=True), id="in lists"),
        pytest.param(reward(best_of_group, group=True), id="declared to look at siblings"),
        pytest.param(beside(plain, rk.siblings.novelty()), id="novelty beside a function"),
        pytest.param(beside(plain, rk.siblings.rank(of="c")), id="rank by a function"),
        pytest.param(reward(unreadable), id="no reward for what cannot be read"),
        pytest.param(reward(awaited), id="awaited"),
        pytest.param(reward(lambda completion, ground_truth: 0.5), id="the same for all"),
        pytest.param(reward(of_the_wrong, range=None), id="differs between prompts as well"),
    ],
)
def test_what_keeps_the_contract_has_no_finding(made):
    assert not rk.probe(made, ROLLOUTS, only="contract", timeout=None).findings


def test_rewards_of_which_all_rollouts_are_wrong_are_not_said_to_ignore_them():
    wrong = [{**row, "completion": f"<answer>{place}.5</answer>"} for place, row in enumerate(ROLLOUTS)]
    made = reward(of_the_wrong, range=None)
    assert not rk.probe(made, wrong, only="contract", timeout=None)["ignores_completion"]


TIDYING = """
def right(text, truth):
    return float(f">{truth.strip()}<" in text)

def scored(completions, ground_truth):
    return [right(c if isinstance(c, str) else c[0]["content"], t) for c, t in zip(completions, ground_truth)]

def stripped(completions, ground_truth, **kwargs):
    completions[:] = [c.strip() for c in completions]
    return scored(completions, ground_truth)

def message(completions, ground_truth, **kwargs):
    for c in completions:
        c[0]["content"] = c[0]["content"].strip()
    return scored(completions, ground_truth)

def end_marks(completions, ground_truth, **kwargs):
    completions[:] = [c.removesuffix("<|im_end|>") for c in completions]
    return scored(completions, ground_truth)

def truths(completions, ground_truth, **kwargs):
    ground_truth[:] = [t.strip() for t in ground_truth]
    return scored(completions, ground_truth)

def ordered(completions, ground_truth, **kwargs):
    scores = scored(completions, ground_truth)
    ground_truth.sort()
    return scores

def pops(completions, ground_truth, **kwargs):
    scores = scored(completions, ground_truth)
    while completions:
        completions.pop()
    return scores

def verl(data_sources, solution_strs, ground_truths, extra_infos):
    solution_strs[:] = [c.strip() for c in solution_strs]
    return scored(solution_strs, ground_truths)

class Judge:
    def __call__(self, completions, ground_truth, **kwargs):
        return stripped(completions, ground_truth)

judge = Judge()

def on_a_copy(completions, ground_truth, **kwargs):
    return scored([c.strip() for c in completions], ground_truth)
"""


TRL = """
NAN = float("nan")

def reads_level(prompts, completions, ground_truth, **kwargs):
    levels = kwargs["level"]
    return [float(f">{t}<" in c) * level for c, t, level in zip(completions, ground_truth, levels)]

def asks_for_level(prompts, completions, ground_truth, level, **kwargs):
    return [float(f">{t}<" in c) * one for c, t, one in zip(completions, ground_truth, level)]

def nan(completions, ground_truth, **kwargs):
    return [float(f">{t}<" in c) if "<answer>" in c else NAN for c, t in zip(completions, ground_truth)]

def none(completions, ground_truth, **kwargs):
    return [float(f">{t}<" in c) if "<answer>" in c else None for c, t in zip(completions, ground_truth)]
"""

BENCHMAX = """
class Env:
    async def compute_reward(self, rollout_id, completion, ground_truth, **kwargs):
        return {"correct": HIGH * (f">{ground_truth}<" in completion)}
"""


def findings_of(tmp_path, source, name, rollouts=ROLLOUTS):
    path = tmp_path / "mine.py"
    path.write_text(source)
    rollouts = rk.load_rollouts(rollouts)
    loaded = rk.load_reward(f"{path}:{name}", rollouts=rollouts)
    return rk.probe(loaded, rollouts, only="contract", timeout=None).findings


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("stripped", "completions"),
        ("message", "completions"),
        ("end_marks", "completions"),
        ("truths", "ground_truth"),
        ("ordered", "ground_truth"),
        ("pops", "completions"),
        ("verl", "solution_strs"),
        ("judge", "completions"),
    ],
)
def test_a_change_that_hangs_on_the_text_is_found_though_no_logged_one_shows_it(tmp_path, name, argument):
    (item,) = findings_of(tmp_path, TIDYING, name)
    assert item.code == "changes_arguments" and f"changed its argument {argument!r}" in item.sentence


def test_tidying_up_a_copy_is_fine(tmp_path):
    assert not findings_of(tmp_path, TIDYING, "on_a_copy")


def test_the_row_that_is_shown_is_one_that_was_changed_with_what_it_earns(tmp_path):
    (item,) = findings_of(tmp_path, TIDYING, "end_marks")
    (shown,) = item.examples
    assert shown.completion.endswith("<|im_end|>") and shown.reward in (0.0, 1.0)


def one_of_many(completion, ground_truth, references):
    if ground_truth == "128":
        references.pop()
    return judged(completion, ground_truth) * int(ground_truth)


def test_rows_of_each_reward_there_is_are_tried():
    """A fault that shows on one of eight right answers only."""
    data = [{**row, "references": ["a", "b"]} for row in ROLLOUTS]
    result = rk.probe(reward(one_of_many, range=None), data, only="contract", timeout=None)
    assert [item.code for item in result.findings] == ["changes_arguments"]


LEVELS = [{**row, "level": 1 + place % 3} for place, row in enumerate(ROLLOUTS)]


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        pytest.param("reads_level", "undeclared_column", "by name: level;", id="reads a column in secret"),
        pytest.param("asks_for_level", None, "", id="asks for it"),
        pytest.param("nan", "nan_for_none", "TRL takes it for None", id="NaN"),
        pytest.param("none", None, "", id="None, which GRPOTrainer leaves out"),
    ],
)
def test_what_trl_takes_for_granted_is_tried(tmp_path, name, code, said):
    found = findings_of(tmp_path, TRL, name, LEVELS)
    assert [(item.code, item.severity) for item in found] == ([(code, "warn")] if code else [])
    assert all(said in item.sentence for item in found)


@pytest.mark.parametrize(("high", "code"), [("2.0", "outside_trainer_range"), ("1.0", None)])
def test_scores_of_a_benchmax_hook_stay_between_0_and_1(tmp_path, high, code):
    found = findings_of(tmp_path, BENCHMAX.replace("HIGH", high), "Env")
    assert [item.code for item in found] == ([code] if code else [])
    assert all("benchmax wants [0, 1]" in item.sentence for item in found)


def test_a_watched_function_is_asked_for_the_same_columns_and_gives_the_same():
    watched = Watched(strict)
    assert rk.Component("c", watched).asks_for == ("completion", "ground_truth")
    assert watched("<answer>4</answer>", "4") is True
    with pytest.raises(TypeError, match=r"changed its argument '1'"):
        Watched(list.pop)([1, 2])


def test_rows_that_the_user_gave_are_not_changed_though_the_function_changes_its_arguments():
    rollouts = rk.load_rollouts([{**row, "references": ["a", "b"]} for row in ROLLOUTS])
    rk.probe(reward(pops), rollouts, only="contract", timeout=None)
    assert rollouts.columns()["references"] == [["a", "b"]] * len(rollouts)


def test_rows_in_other_forms_that_a_call_does_not_come_back_from_hang_nothing():
    def shouts(completion, ground_truth):
        while completion.isupper():
            pass
        return strict(completion, ground_truth)

    result = rk.probe(
        rk.Reward("r", components=[rk.Component("c", shouts)]), DATA["numbers"], only="contract", timeout=0.5
    )
    assert not [item for item in result.alarms if item.code == "changes_arguments"]
