"""The contract: each way to break it is found, and what looks like it is not."""

import random
import threading
from itertools import count

import numpy as np
import pytest
from planted_probes import DATA, beside, inside, made, probed, strict

import rewardkit as rk

pytestmark = pytest.mark.integration

ROLLOUTS = [
    {
        **row,
        "references": ["a", "b"],
        "level": 1 + at // 2 % 3,
        "response_length": 1 + at % 4,
        "completion_ids": [7] * (1 + at % 4),
        "step": 1 + at // 8,
        "extra_info": {"level": 1 + at // 2 % 3},
    }
    for at, row in enumerate(DATA["numbers"])
]
CALLS = count()
FIFTHS = count()


def of_batch(change):
    """A function of the scores of a batch and of its texts."""

    def scored(completion, ground_truth):
        scores = np.array(
            [
                float(strict(*pair))
                for pair in zip(completion, ground_truth, strict=True)
            ]
        )
        return change(scores, completion).tolist()

    return scored


def unless_none(otherwise):
    """A score that is another thing for the wrong rollouts of the log."""
    return lambda completion, ground_truth: (
        otherwise
        if inside(completion) == "none"
        else float(strict(completion, ground_truth))
    )


def parsing(completion, ground_truth):
    return float(inside(completion)) == float(ground_truth)


def warms_up(completion, ground_truth):
    return strict(completion, ground_truth) * (1 - 1 / (2 + next(CALLS)))


def fails_on_each_fifth(completion, ground_truth):
    if next(FIFTHS) % 5 == 4:
        raise RuntimeError("no connection")
    return strict(completion, ground_truth)


def noisy(completion, ground_truth):
    return 0.9 * strict(completion, ground_truth) + 0.1 * random.random()


def pops(completion, ground_truth, references):
    references.pop()
    return strict(completion, ground_truth)


def holding():
    lock = threading.Lock()

    def score(completion, ground_truth):
        with lock:
            return strict(completion, ground_truth)

    return score


by_place = of_batch(lambda scores, texts: scores * (1 - np.arange(len(scores)) / 1000))
centred = of_batch(lambda scores, texts: scores - scores.mean() / 2)
novel = of_batch(lambda scores, texts: scores / [texts.count(text) for text in texts])
shared = of_batch(lambda scores, texts: scores / max(1.0, scores.sum()))
too_few = of_batch(lambda scores, texts: scores[1:])
beyond = of_batch(lambda scores, texts: 2 * scores)
unread = made(lambda completion, ground_truth: len(ground_truth) / 10)


def slides(completion, ground_truth):
    """A score too many behind a completion without an answer; NeMo-RL's issue 3635."""
    scores = []
    for text, truth in zip(completion, ground_truth, strict=True):
        scores.append(float(strict(text, truth)))
        if "<answer>" not in text:
            scores.append(0.0)
    return scores[: len(completion)]


BROKEN = {
    "beyond its range": (made(beyond, batch=True), "out_of_range"),
    "NaN": (made(unless_none(float("nan"))), "not_finite"),
    "a text": (made(unless_none("wrong")), "wrong_type"),
    "raises": (made(parsing), "raises"),
    "too few scores": (made(too_few, batch=True), "wrong_length"),
    "order": (made(by_place, batch=True), "depends_on_order"),
    "order of siblings": (made(by_place, group=True), "depends_on_order"),
    "the batch's mean": (made(centred, batch=True, range=None), "depends_on_siblings"),
    "duplicates": (made(novel, batch=True), "depends_on_siblings"),
    "one without an answer": (made(slides, batch=True), "depends_on_siblings"),
    "a counter": (made(warms_up), "hidden_state"),
    "raises now and then": (made(fails_on_each_fifth), "hidden_state, raises"),
    "chance": (made(noisy), "differs_between_calls"),
    "changes what it is given": (made(pops), "changes_arguments"),
    "reads the truth only": (unread, "ignores_completion"),
    "holds a lock": (made(holding()), "not_picklable"),
}


@pytest.mark.parametrize(("reward", "code"), BROKEN.values(), ids=BROKEN)
def test_each_break_of_the_contract_is_one_finding(reward, code):
    in_processes = code.startswith(("hidden_state", "differs_between_calls"))
    rollouts = rk.load_rollouts(ROLLOUTS)
    # only another process tells what is random from what is kept between calls
    timeout = 5 if in_processes else None
    result = probed(reward, rollouts, only="contract", timeout=timeout)
    severity = "warn" if code == "not_picklable" else "high"
    found = [(item.code, item.severity) for item in result.findings]
    assert found == [(name, severity) for name in code.split(", ")]
    assert "earns nan" not in str(result) and "by up to 0.\n" not in str(result)
    assert rollouts.columns()["references"] == [["a", "b"]] * len(rollouts)


KEPT = {}
SEEN = {}
LONG_LOG = [
    {"prompt": f"How many are {at}?", "ground_truth": str(at), "completion": text}
    for at in range(100, 160)
    for text in ("<answer>7</answer>", f"<answer>{at}</answer>", "I count them.")
]
"""Of each prompt a completion is cut off, so that few of them stand together."""


def keeps_last(completion, ground_truth):
    """Takes the last answer to the prompt where a completion has none."""
    if "<answer>" in completion:
        KEPT[ground_truth] = inside(completion)
    return float(KEPT.get(ground_truth) == ground_truth)


def remembers(completion, ground_truth):
    """Keeps scores, each for the same completion and truth alone, and counts calls."""
    next(CALLS)
    key = completion, ground_truth
    if key not in SEEN:
        SEEN[key] = float(strict(completion, ground_truth))
    return SEEN[key]


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (keeps_last, "before: 60 of 180 logged rows earn something else"),
        (remembers, ""),
    ],
)
def test_rows_of_a_log_are_scored_in_reverse_order(score, words):
    found = probed(made(score), LONG_LOG, only="contract", timeout=5).findings
    assert [item.code for item in found] == (["hidden_state"] if words else [])
    assert all(words in item.sentence for item in found)


async def awaited(completion, ground_truth):
    return strict(completion, ground_truth)


def of_the_wrong(completion, ground_truth):
    return strict(completion, ground_truth) - len(ground_truth) / 10


WRONG = [
    {**row, "completion": f"<answer>{place}.5</answer>"}
    for place, row in enumerate(ROLLOUTS)
]
SOUND = {
    "a row at a time": (made(strict), ROLLOUTS),
    "in lists": (made(of_batch(lambda scores, texts: scores), batch=True), ROLLOUTS),
    "looks at siblings": (made(shared, group=True), ROLLOUTS),
    "novelty": (beside(rk.siblings.novelty()), ROLLOUTS),
    "rank": (beside(rk.siblings.rank(of="task")), ROLLOUTS),
    "abstains": (made(unless_none(None)), ROLLOUTS),
    "awaited": (made(awaited), ROLLOUTS),
    "the same for all": (made(lambda completion, ground_truth: 0.5), ROLLOUTS),
    "differs between prompts, all are wrong": (made(of_the_wrong, range=None), WRONG),
}


@pytest.mark.parametrize(("reward", "rollouts"), SOUND.values(), ids=SOUND)
def test_what_keeps_the_contract_has_no_finding(reward, rollouts):
    assert not probed(reward, rollouts, only="contract").findings


FILE = """
NAN = float("nan")

def right(text, truth):
    return float(f">{truth.strip()}<" in text)

def scored(completions, ground_truth):
    return [right(c if isinstance(c, str) else c[0]["content"], t) for c, t in zip(completions, ground_truth)]

def message(completions, ground_truth, **kwargs):
    for c in completions:
        c[0]["content"] = c[0]["content"].strip()
    return scored(completions, ground_truth)

def end_marks(completions, ground_truth, **kwargs):
    completions[:] = [c.removesuffix("<|im_end|>") for c in completions]
    return scored(completions, ground_truth)

def on_a_copy(completions, ground_truth, **kwargs):
    return scored([c.strip() for c in completions], ground_truth)

class Rubric:
    def __init__(self, funcs, weights):
        self.funcs, self.weights = funcs, weights

def by_tag(completion, answer, **kwargs):
    return right(completion if isinstance(completion, str) else completion[-1]["content"], answer)

takes_objects = Rubric([by_tag], [1.0])

def reads_level(prompts, completions, ground_truth, **kwargs):
    return [one * level for one, level in zip(scored(completions, ground_truth), kwargs["level"])]

def reads_ids(prompts, completions, ground_truth, **kwargs):
    return [one / len(ids) for one, ids in zip(scored(completions, ground_truth), kwargs["completion_ids"])]

class SwiftReadsIds:
    def __call__(self, completions, ground_truth, **kwargs):
        return [one / len(ids) for one, ids in zip(scored(completions, ground_truth), kwargs["completion_ids"])]

def asks_for_level(prompts, completions, ground_truth, level, **kwargs):
    return [one * at for one, at in zip(scored(completions, ground_truth), level)]

def nan(completions, ground_truth, **kwargs):
    return [right(c, t) if "<answer>" in c else NAN for c, t in zip(completions, ground_truth)]

def none(completions, ground_truth, **kwargs):
    return [right(c, t) if "<answer>" in c else None for c, t in zip(completions, ground_truth)]

def keys(data_source, solution_str, ground_truth, extra_info=None):
    score = right(solution_str, ground_truth)
    return {"score": score, "acc": score} if score else {"score": score, "read": 0.0}

def other_keys(data_source, solution_str, ground_truth, extra_info=None):
    score = right(solution_str, ground_truth)
    return {"score": score} if score else {"points": score}

def number_or_keys(data_source, solution_str, ground_truth, extra_info=None):
    score = right(solution_str, ground_truth)
    return {"score": score, "read": 1.0} if score else 0.0

def detail_at_times(completion, ground_truth):
    score = right(completion, ground_truth)
    return score, {"read": 1.0} if score else {}

def same_keys(data_source, solution_str, ground_truth, extra_info=None):
    score = right(solution_str, ground_truth)
    return {"score": score, "acc": score}

def text_of(one):
    return one if isinstance(one, str) else one[-1]["content"]

def counts_messages(completions, ground_truth, **kwargs):
    return [right(text_of(c), t) - (len(c) > 5000) for c, t in zip(completions, ground_truth)]

def counts_characters(completions, ground_truth, **kwargs):
    return [right(text_of(c), t) - (len(text_of(c)) > 5000) for c, t in zip(completions, ground_truth)]

def of_form(completions, level, **kwargs):
    return [float("none" not in c) for c in completions]

def of_level(completions, level, **kwargs):
    return [float("none" not in c) / at for c, at in zip(completions, level)]

def shorter(completions, ground_truth, **kwargs):
    lengths = [len(c) for c in completions]
    shares = [(max(lengths) - at) / (max(lengths) - min(lengths) or 1) for at in lengths]
    return [one + share for one, share in zip(scored(completions, ground_truth), shares)]

def once(completions, ground_truth, **kwargs):
    texts = [text_of(c) for c in completions]
    return [one / texts.count(t) for one, t in zip(scored(completions, ground_truth), texts)]

def by_prompt(prompts, texts):
    groups = {}
    for prompt, text in zip(prompts, texts):
        groups.setdefault(str(prompt), []).append(text)
    return groups

def beside_longest(completions, prompts, ground_truth, **kwargs):
    groups = by_prompt(prompts, map(text_of, completions))
    longest = [max(map(len, groups[str(prompt)])) for prompt in prompts]
    shares = [0.1 * (len(text_of(c)) < most) for c, most in zip(completions, longest)]
    return [one - share for one, share in zip(scored(completions, ground_truth), shares)]

def once_a_prompt(completions, prompts, ground_truth, **kwargs):
    groups = by_prompt(prompts, map(text_of, completions))
    counts = [groups[str(prompt)].count(text_of(c)) for prompt, c in zip(prompts, completions)]
    return [one / count for one, count in zip(scored(completions, ground_truth), counts)]

def slides(completions, ground_truth, **kwargs):
    scores = []
    for one, score in zip(completions, scored(completions, ground_truth)):
        scores += [score] if "<answer>" in text_of(one) else [score, 0.0]
    return scores[: len(completions)]

class Env:
    HIGH = 2.0
    async def compute_reward(self, rollout_id, completion, ground_truth, **kwargs):
        return {"correct": self.HIGH * (f">{ground_truth}<" in completion)}

class Bounded(Env):
    HIGH = 1.0

def by_length(reward_inputs):
    return [{"overall": right(one["response"], one["ground_truth"]) / one["response_length"]} for one in reward_inputs]

def grade(sample, item):
    return right(sample["output_text"], item["ground_truth"]) / item["level"]

def of_metadata(response, ground_truth, metadata):
    return right(response, ground_truth) / metadata["level"]

def of_state(completion, answer, state):
    return right(completion if isinstance(completion, str) else completion[-1]["content"], answer) / state["level"]

def of_task(task, trace):
    return right(trace.last_reply, task.ground_truth) / task.level

async def of_inspect(state, target):
    return {"value": right(state.output.completion, target.text) / state.metadata["level"]}

def of_lists(data_sources, solution_strs, ground_truths, extra_infos=None):
    return [right(c, t) / info["level"] for c, t, info in zip(solution_strs, ground_truths, extra_infos)]

class SkyRL:
    def __init__(self, env_config, extras):
        self.truth, self.level = extras["ground_truth"], extras["level"]
    def step(self, action):
        return {"observations": [], "reward": right(action, self.truth) / self.level, "done": True}

def later_more(completions, ground_truth, trainer_state, **kwargs):
    return [one * trainer_state.global_step for one in scored(completions, ground_truth)]

class RewardFunction:
    pass

class OfItem(RewardFunction):
    def compute(self, completions, item, **kwargs):
        return [right(c[-1]["content"], item["ground_truth"]) / item["level"] for c in completions]

class OfPrompt(RewardFunction):
    def compute(self, completions, ground_truth):
        return [right(c[-1]["content"], ground_truth) for c in completions]

class ByPlace(RewardFunction):
    def compute(self, completions, ground_truth):
        return [right(c[-1]["content"], ground_truth) / (1 + at) for at, c in enumerate(completions)]

class ByKeyword(RewardFunction):
    def compute(self, completions, ground_truth, **kwargs):
        return [right(c[-1]["content"], ground_truth) / kwargs["level"] for c in completions]
"""
CHANGED = "changed its argument "
OF_TRAINERS = [
    ("message", "changes_arguments", f"{CHANGED}'completions'"),
    ("end_marks", "changes_arguments", f"{CHANGED}'completions'"),
    ("on_a_copy", None, ""),
    ("takes_objects", None, ""),  # verifiers' parser, which is equal to no copy
    ("reads_level", "undeclared_column", "by name: level;"),
    ("asks_for_level", None, ""),
    ("reads_ids", None, ""),  # which GRPOTrainer hands over itself
    ("SwiftReadsIds", "undeclared_column", "by name: completion_ids;"),
    ("nan", "nan_for_none", "TRL takes it for None"),
    ("none", None, ""),  # GRPOTrainer leaves it out
    ("keys", "keys_differ", "without 'read', which other rows have"),
    ("other_keys", "keys_differ", "['points'], without 'score', which other rows have"),
    ("number_or_keys", "keys_differ", "returned 0.0, without 'read', which other rows"),
    ("same_keys", None, ""),
    ("detail_at_times", None, ""),  # beside the number of a plain function
    ("shorter", "depends_on_siblings", "which other completions stand in its batch"),
    ("once", "depends_on_siblings", "twice"),
    # of the same prompt, which a trainer hands over as a whole
    ("once_a_prompt", "depends_on_siblings", "twice"),
    ("beside_longest", "depends_on_siblings", "which other completions"),
    ("slides", "depends_on_siblings", "without an answer stands before it"),
    ("counts_messages", "differs_as_text", "4 of 16 completions earned something else"),
    ("counts_characters", None, ""),
    ("of_form", "data_unread", "asks for level, and nothing of it decides: with that"),
    ("of_level", None, ""),
    ("Env", "outside_trainer_range", "benchmax wants [0, 1]"),
    ("Bounded", None, ""),
    # what a trainer hands over in one argument is asked for
    ("by_length", None, ""),
    ("grade", None, ""),
    ("of_metadata", None, ""),
    ("of_state", None, ""),
    ("of_task", None, ""),
    ("of_inspect", None, ""),
    ("of_lists", None, ""),
    ("SkyRL", None, ""),
    ("OfItem", None, ""),
    ("later_more", None, ""),
    ("ByKeyword", "undeclared_column", "by name: level;"),
    # a call is for the completions of one prompt
    ("OfPrompt", None, ""),
    ("ByPlace", "depends_on_order", ""),
]


@pytest.mark.parametrize(("name", "code", "told"), OF_TRAINERS)
def test_what_trainers_take_for_granted_is_tried_though_no_logged_text_shows_it(
    tmp_path, no_workers, name, code, told
):
    (tmp_path / "mine.py").write_text(FILE)
    rollouts = rk.load_rollouts(ROLLOUTS)
    form = "trl:messages" if name.startswith("counts") else None
    loaded = rk.load_reward(
        f"{tmp_path / 'mine.py'}:{name}", rollouts=rollouts, as_=form
    )
    # whoever is handed a row may read the truth in it
    assert loaded.is_blind is (name == "of_form")
    found = probed(loaded, rollouts, only="contract").findings
    assert [item.code for item in found] == ([code] if code else [])
    assert all(told in item.sentence for item in found)
    if code == "depends_on_siblings":  # to be compared with them may be meant
        is_fault = name in ("once", "slides")
        assert found[0].severity == ("high" if is_fault else "info")
    if name == "end_marks":
        (shown,) = found[0].examples
        assert shown.completion.endswith("<|im_end|>") and shown.reward in (0.0, 1.0)


def test_rows_in_other_forms_that_a_call_does_not_come_back_from_hang_nothing():
    def shouts(completion, ground_truth):
        while completion.isupper():
            pass
        return strict(completion, ground_truth)

    assert not probed(shouts, only="contract", timeout=0.3)["changes_arguments"]
