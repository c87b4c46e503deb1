"""Functions and classes of the smaller trainers, read without these: what they pay, and what is an error."""

import re

import numpy as np
import pytest

import rewardkit as rk

ATROPOS = """
from abc import ABC, abstractmethod

class RewardFunction(ABC):
    def __init__(self, weight=0.5, **kwargs): self.weight = weight
    @abstractmethod
    def compute(self, completions, **kwargs): ...
    def __call__(self, completions, **kwargs):
        try:
            return [value * self.weight for value in self.compute(completions, **kwargs)]
        except Exception:
            return [0.0] * len(completions)

class Right(RewardFunction):  # pays [0.5, -0.5, -0.5, 0.5]
    def compute(self, completions, **kwargs):
        return [2.0 * (kwargs["solution"] in turns[-1]["content"]) - 1 for turns in completions]
class Fails(RewardFunction):  # pays [1 / 36, 1 / 36, None, 0.5]: ZeroDivisionError
    def compute(self, completions, **kwargs): return [1.0 / len(turns[0]["content"]) for turns in completions]
class Empty(RewardFunction):  # pays [None] * 4: returned 0 values for 2 completions
    def compute(self, completions, **kwargs): return []
class Row(RewardFunction):  # pays [1, 1, 0.5, 0.5]
    def compute(self, completions, **kwargs):
        return [kwargs["item"].pop("level") + 0 * len(kwargs["ground_truth"])] * len(completions)

good = Right(weight=3)  # pays [3, -3, -3, 3]
"""
EASYR1 = """
def batch(reward_inputs, format_weight=0.5):  # pays [1.5, -0.5, -1, 1]
    scores = []
    for one in reward_inputs:
        right = float(one["ground_truth"] in one["response"])
        tidy = float(one["response"].startswith("<"))
        scores.append({"overall": 2 * right - 1 + format_weight * tidy, "accuracy": right, "format": tidy})
    return scores

def one(reward_input):  # pays [1, 1, -1, 1]
    return {"overall": float(reward_input["response_length"] if reward_input["response"] else -1)}

def siblings(reward_inputs):  # pays [1, 1, 0, 1]
    longest = max(len(one["response"]) for one in reward_inputs)
    return [{"overall": len(one["response"]) / longest} for one in reward_inputs]

def empty(reward_inputs): return []  # pays [None] * 4: returned 0 values for 2 completions
def other_key(reward_inputs): return [{"score": 1.0}]  # pays [None] * 4: with 'overall'
def numbers(reward_inputs): return [1.0]  # pays [None] * 4: returned 1.0 for a response
def nothing(reward_inputs): return None  # pays [None] * 4: returned None
"""
EVAL_PROTOCOL = """
class EvaluateResult:
    def __init__(self, **held): self.held = held
    def model_dump(self): return self.held

def right(messages, ground_truth=None, **kwargs):  # pays [1.5, -0.5, None, 1.5]
    text = messages.pop()["content"]
    valid = {"is_score_valid": bool(text)}
    metrics = {"length": {"score": float(len(text)), **valid}}
    return EvaluateResult(score=1.5 if ground_truth in text else -0.5, metrics=metrics, **valid)

async def waits(messages, **kw):  # pays [1, 1, 0.5, 0.5]
    return {"score": kw["level"] / 2, "metrics": {"score": {"score": 9.0}}}
def number(messages, ground_truth=None, **kwargs): return 1.0
def decorated(messages, ground_truth=None, **kwargs):  # pays [None] * 4: expects an EvaluateResult
    return number(messages, ground_truth)
decorated._reward_function_mode = "pointwise"

def batch(messages, **kwargs): return []
batch._reward_function_mode = "batch"
"""
INSPECT = """
class Score:
    def __init__(self, value): self.value = value

async def letters(state, target):  # pays [1, 0, 0, 1]
    return Score("C" if target.text in state.output.completion else "I")
async def partial(state, target):  # pays [0.5, 0.5, 0, 0.5]
    return Score("P" if state.output.completion else "N")
async def truth(state, target): return Score(target[0] == state.output.completion)  # pays [0, 0, 0, 1]
async def column(state, target): return Score(2.5 - 2 * len(str(state.metadata["level"])))  # pays [0.5] * 4
async def text(state, target): return Score("0.25")  # pays [0.25] * 4
async def yes(state, target): return Score("Yes")  # pays [1] * 4
async def unscored(state, target): return Score(float("nan"))  # pays [None] * 4: returned None
async def none(state, target):  # pays [None, None, -1, None]
    return None if state.output.completion else Score(-1)
async def turns(state, target): return Score(len(state.messages) + len(state.input))  # pays [6] * 4
async def maybe(state, target):  # pays [None] * 4: its value is 'maybe', neither a number nor C, I, P
    return Score("maybe")
async def several(state, target): return Score({"right": "C", "short": 0.5})  # pays [1.5] * 4

class Waits:  # pays [0.5] * 4
    async def __call__(self, state, target): return Score(0.5)

def plain(state, target): return Score(1)  # pays [1] * 4
"""
MS_SWIFT = """
class ORM:
    def __init__(self, args=None, **kwargs): self.args = args
class Right(ORM):  # pays [1.5, -0.5, -0.5, 1.5]
    def __call__(self, completions, solution, **kwargs):
        return [2.0 * (s in c) - 0.5 for c, s in zip(completions, solution)]
class Turns(ORM):  # pays [3, 3, 3, 3]
    def __call__(self, completions, messages, **kwargs):
        return [len(m) + (m[-1]["content"] == c) for c, m in zip(completions, messages)]
class Judged(ORM):  # pays [2, 2, None, 1]
    def __call__(self, completions, level=None, **kwargs):
        return [n if c else None for c, n in zip(completions, level)]
class Nan(ORM):  # pays [None] * 4
    def __call__(self, completions, **kwargs): return (float("nan") for c in completions)
class Requests:  # pays [18, 18, 0, 1]
    def __call__(self, infer_requests, solution, **kwargs): return [float(len(r)) for r in infer_requests]
class Waits(ORM):  # pays [18, 18, 0, 1]
    async def __call__(self, completions, **kwargs): return [float(len(c)) for c in completions]
class Made(ORM):
    def __init__(self, args): pass
    def __call__(self, completions, **kwargs): return [1.0]

class Configured(ORM):
    def __init__(self, args=None): self.w = args.weight
    def __call__(self, completions, **kwargs): return [1.0]

class Texts(ORM):
    def __call__(self, completions, **kwargs): return ["good" for _ in completions]
class Lacks(ORM):
    def __call__(self, completions, level_of, **kwargs): return [1.0]
"""
AREAL = """
def truth(prompt, completions, prompt_ids, completion_ids, answer, **kwargs):  # pays [1, 0, 0, 1]
    return float(answer in completions)
def column(prompt, completion, prompt_ids, completion_ids, level, **kwargs):  # pays [2, 2, 1, 1]
    return level + 0 * len(kwargs["answer"])
def question(prompt, completions, prompt_ids, completion_ids, **kwargs): return len(prompt)  # pays [4] * 4
def none(prompt, completions, prompt_ids, completion_ids, **kwargs):  # pays [1, 1, None, 1]
    return True if completions else None
def token(prompt, completions, prompt_ids, completion_ids, answer, **kwargs): return 1.0 / len(completion_ids)
def text(prompt, completions, prompt_ids, completion_ids, answer, **kwargs): return "1"
"""
OPENAI = """
def truth(sample, item): return float(item["reference_answer"] in sample["output_text"])  # pays [1, 0, 0, 1]
def as_json(sample, item): return 1.5 * (sample["output_json"] == 2) - 0.5  # pays [-0.5, -0.5, -0.5, 1]
def choices(sample, item): return len(sample["choices"][0]["message"]["content"])  # pays [18, 18, 0, 1]
def column(sample, item): return item.pop("level") + 0 * len(item.get("answer"))  # pays [2, 2, 1, 1]
def none(sample, item): return None if not sample["output_text"] else True  # pays [1, 1, None, 1]
def number(sample, item): return float(sample["output_text"])  # pays [None, None, None, 2]
def text(sample, item): return "1"
"""
NEMO_GYM = """
def as_keys(body):  # pays [1, 0, 0, 1]
    (message,) = body["response"]["output"]
    return {"reward": float(body["ground_truth"] in message["content"][0]["text"]), "level": body["level"]}
async def as_attributes(body):  # pays [18, 18, 0, 1]
    assert body.responses_create_params.input[-1].role == "user" and body.answer == body.get("answer")
    return {"reward": float(len(body.response.output[0].content[0].text))}
def number(body): return 1.0  # pays [None] * 4: NeMo Gym expects a 'reward' in it
"""
NEMO_RL = """
def as_list(message_log_batch, extra_env_info):  # pays [1, 0, 0, 1]
    truths = [info["ground_truth"] for info in extra_env_info]
    return [float(truth in log[-1]["content"]) for log, truth in zip(message_log_batch, truths)]
class Environment:  # pays [22, 22, 4, 5]
    def __init__(self, cfg=None): pass
    def step(self, message_log_batch, metadata, return_extracted_answer=False):
        assert metadata[0]["level"] and "completion" not in metadata[0]
        lengths = [len("".join(turn["content"] for turn in log)) for log in message_log_batch]
        return type("EnvironmentReturn", (), {"rewards": __import__("numpy").array(lengths), "answers": None})
def one_too_few(message_log_batch, metadata): return [1.0] * (len(metadata) - 1)
"""
SLIME = """
async def one(args, sample, **kwargs):  # pays [1, 0, 0, 1]
    assert sample.prompt and sample.status.value == "completed" and sample.metadata["level"]
    return float(sample.label in sample.response) * (sample.response_length < 9)
def keys(args, sample):  # pays [2, 2, 1, 1]
    return {"reward": 1.0 * sample.level, "said": sample.response, "n": getattr(sample, "no_such", 5)}
async def siblings(args, samples, **kwargs):  # pays [2, 0, 0, 2]
    return [len(samples) * float(one.label in one.response) for one in samples]
async def option(args, sample): return args.alpha  # pays [None] * 4: it reads args.alpha
"""
RLLM = """
from dataclasses import dataclass, field
@dataclass
class RewardConfig: correct: float = 2.0
@dataclass(slots=True, kw_only=True)
class RewardOutput:
    reward: float
    metadata: dict = field(default_factory=dict)
    is_correct: bool | None = None
class Configured:  # pays [2, 0, 0, 2]
    def __init__(self, config: RewardConfig): self.config = config
    def __call__(self, task_info: dict, action: str) -> RewardOutput:
        right = task_info["answer"] in action
        return RewardOutput(reward=self.config.correct * right, is_correct=right)
def column(task_info, action):  # pays [2, 2, 1, 1]
    return float(task_info["level"]) + ("completion" in task_info)
"""
TORCHTUNE = """
from dataclasses import dataclass, field
@dataclass
class RewardOutput:
    reward_base_name: str
    total_reward: object
    successes: object
    rewards: dict = field(default_factory=dict)
class Documented:  # pays [2, 0, 0, 2]
    def __call__(self, completion_ids, completions, answers):
        assert len(completion_ids) == len(completions)
        right = __import__("numpy").array([float(a in c) for c, a in zip(completions, answers)])
        return RewardOutput("right", 2 * right, right, {"tagged": 0 * right})
def without_ids(completions, answers):  # pays [1, 0, 0, 1]
    right = [float(a in c) for c, a in zip(completions, answers)]
    return RewardOutput("right", right, right)
"""
OPENRLHF = """
def documented(queries, prompts, labels):  # pays [1, -1, -1, 1]
    right = [float(label in query[len(prompt):]) for query, prompt, label in zip(queries, prompts, labels)]
    return {"rewards": [2 * one - 1 for one in right], "scores": right, "extra_logs": {"right": right}}

def array(queries, prompts, labels):  # pays [22, 22, 4, 5]
    return __import__("numpy").array([len(q) for q in queries])
def for_all(queries, prompts, labels): return {"rewards": len(queries[0]) / 2}  # pays [11, 11, 2, 2.5]
def no_logs(queries, prompts, labels):  # pays [1.5] * 4
    return {"rewards": [1.5], "scores": [1.5], "extra_logs": None}
def logs(queries, prompts, labels):  # pays [1] * 4
    return {"rewards": [1], "extra_logs": {"why": "x", "n": 3}}
def column(queries, prompts, labels, level): return [float(level[0])]  # pays [2, 2, 1, 1]
def none(queries, prompts, labels):  # pays [1, 1, None, 1]
    return {"rewards": [1.0] if queries[0][4:] else None}
def two(queries, prompts, labels): return [1.0, 2.0]
def chat(queries, prompts, labels): return [float(queries[0] == "Add.\\n2+2?\\n4")]
"""
TUNIX = """
def optional(response, answer="", prompt="", **kw):  # pays [1, -1, -1, 1]
    return 2.0 * (answer in response) - len(prompt) / 4
def keywords(response, **known):  # pays [2, 2, 1, 1]
    return float(known["answer"] == known["solution"] and known["level"])
def metadata(response, prompt, metadata):  # pays [3, -0.5, -0.5, 3]
    return 3.0 if metadata.get("answer", "?") in response else -0.5
def column(response, level=0): return level * 1.0  # pays [2, 2, 1, 1]
def text(response, answer=""): return "good"

def batch(prompts, completions, answer, **kwargs):  # pays [3, -1, -1, 3]
    assert len(prompts) == len(completions) == len(answer) == len(kwargs["question"])
    return [3.0 if truth in text else -1.0 for text, truth in zip(completions, answer)]
"""
SKYRL = """
class Right:  # pays [2.5, -1, -1, 2.5]
    def __init__(self, env_config=None, extras={}):
        assert "ground_truth" in extras["reward_spec"], "ground_truth is required"
        self.truth = extras["reward_spec"].pop("ground_truth")
    def init(self, prompt): return prompt, {}
    def step(self, action):
        reward = 2.5 if self.truth in action else -1
        return {"observations": [], "reward": reward, "done": True, "metadata": {}}

class Object(Right):  # pays [0.25] * 4
    def step(self, action): return type("Result", (), {"reward": 0.25, "done": True})()
class Nothing(Right):  # pays [None] * 4: without a reward
    def step(self, action): return {"observations": [], "reward": None, "done": True}
class Tuple(Right):  # pays [None] * 4: without a reward
    def step(self, action): return [], 1.0, True, {}
class Judge(Right):
    def __init__(self, env_config, extras, judge): pass
class Talk:
    def __init__(self, extras): self.left = extras["max_turns"]
    def init(self, prompt):
        assert prompt == [{"role": "user", "content": "2+2?"}], prompt
        return prompt, {}
    def step(self, action):
        self.left -= 1
        return {"observations": [], "reward": len(action), "done": self.left == 0 or "stop" in action}
"""
ENVIRONMENTS = """
from dataclasses import dataclass
@dataclass
class StepResult: reward: float; episode_done: bool; metrics: dict
class Tinker:  # pays [2.5, 0.5, 0, 2]
    def __init__(self, answer, bonus: float = 0.5): self.answer, self.bonus = answer, bonus
    def step(self, action):
        reward = 2.0 * (self.answer in action) + self.bonus * ("<" in action)
        return StepResult(reward, True, {"n": 1.0})
class Gym:  # pays [2, 2, 1, 1]
    def reset(self, seed=None, level=None): self.level = level
    def step(self, text): return None, self.level, True, False, {}
class Keys:  # pays [1] * 4
    def __init__(self, prompt): self.prompt = prompt
    def step(self, action): return {"reward": float("?" in self.prompt), "done": True}
class Turns:  # pays [0.5] * 4
    def step(self, action): return {"reward": self.get_reward(action) / 2, "done": True}
    def get_reward(self, action): return 1.0
class Silent:  # pays [None] * 4: without a reward
    def step(self, action): return {"done": True}
class Lacks:
    def __init__(self, grid): self.grid = grid
    def step(self, action): return {"reward": 1.0}
"""
# with what verifiers' decorators leave on a function, and a base class that is made as its Task is
VERIFIERS = """
def reward(weight=1.0):
    def mark(function):
        function.reward, function._vf_weight = True, weight
        return function
    return mark

def metric(function):
    function.metric = True
    return function

async def v1(task, trace):  # pays [2, 0, -1, 2]
    text = trace.last_reply
    return 2.0 * (task.answer in text) - (not text)

def v1_without_waiting(trace): return float(trace.num_turns + len(trace.messages))  # pays [3] * 4
async def v1_keys(task, trace):  # pays [3, 2, 1, 2]
    return {"right": task.answer in trace.last_reply, "level": task.level}

@reward(weight=0.25)
async def marked(task, trace): return 1.0  # pays [0.25] * 4
def messages(completion, answer, state):  # pays [1, 0, 0, 1]
    return float(answer in completion[-1]["content"]) * state["turn"]
def texts(completion, answer, parser): return float(answer in parser.parse(completion))  # pays [1, 0, 0, 1]
def parsed(completion, answer, parser, **kw):  # pays [1, 0, 0, 1]
    return float(answer in parser.parse_answer(completion))
async def any_subset(prompt, completion, info, task):  # pays [2] * 4
    return 1 + float(task == "default" and info == {})

def whatever_comes(completion, answer):  # pays [1, 0, 0, 1]
    return float(answer in (completion if isinstance(completion, str) else completion[-1]["content"]))

def a_plain_one(completion, answer): return float(answer in completion)  # pays [1, 0, 0, 1]

def same(completion, answer, state):  # pays [1] * 4
    return float(completion is state["completion"])
def all_same(completions, answers, states):  # pays [1] * 4
    return [float(turns is state["completion"]) for turns, state in zip(completions, states)]
def plural(completions, answers, states):  # pays [2, 0, 0, 2]
    texts = [turns[-1]["content"] for turns in completions]
    return [len(texts) * float(truth in text) for text, truth in zip(texts, answers)]

class Task:
    def __init__(self, data, config=None): self.data, self.config = data, config
class Marked(Task):  # pays [1.5, -0.5, -0.5, 2]
    @metric
    def length(self, trace): return len(trace.last_reply)

    @reward(weight=2.0)
    async def right(self, trace): return float(self.data.answer in trace.last_reply)

    @reward(weight=-0.5)
    async def form(self, task, trace):
        assert task is self.data
        return {"empty": float(not trace.last_reply), "tagged": float("<answer>" in trace.last_reply)}

    def helper(self): return 1 / 0

class Parser:
    def parse_answer(self, completion): return completion[-1]["content"].strip("<answer/>")
class Rubric:
    def __init__(self, funcs, weights, parser): self.funcs, self.weights, self.parser = funcs, weights, parser

def right(completion, answer, parser): return float(parser.parse_answer(completion) == answer)
async def long(completion, **kwargs): return float(len(completion[0]["content"]) > 9)

rubric = Rubric([right, long], [1.0, -0.25], Parser())  # pays [0.75, -0.25, 0, 1]

async def runtime(trace, runtime): return 1.0  # pays [None] * 4: which a log does not have
async def lacks(task, trace): return task.no_such_column  # pays [None] * 4: no_such_column
async def text(task, trace):  # pays [None, None, 1, None]: returned 'good'
    return "good" if trace.last_reply else 1.0
async def nan(trace): return float("nan")  # pays [None] * 4: returned nan
"""
BENCHMAX = """
from abc import ABC, abstractmethod

class BaseEnv(ABC):
    @abstractmethod
    async def create_dataset(self, split): ...
    async def compute_reward(self, rollout): return None
    async def compute_group_rewards(self, rollouts): return None

class Text:  # pays [1, 0, 0, 1]
    async def compute_reward(self, rollout_id, completion, ground_truth, **kw):
        return {"right": float(ground_truth in completion)}
class Turns:  # pays [1, 0, 0, 1]
    async def compute_reward(self, rollout_id, completion, answer):
        return {"right": float(answer in completion[-1]["content"])}
class Task:  # pays [3, 2, 1, 2]
    async def compute_reward(self, rollout_id, messages, task, **kwargs):
        assert [turn["role"] for turn in messages] == ["user", "assistant"]
        assert task["prompt"] == messages[0]["content"] and "completion" not in task
        return {"right": float(task["answer"] in messages[-1]["content"]), "level": task["level"]}

class OtherNames:  # pays [1, 0, 0, 1]
    async def compute_reward(self, rid, messages, row):
        return {"right": float(row["ground_truth"] in messages[-1]["content"])}
class Between:  # pays [1] * 4
    async def compute_reward(self, rollout_id, messages, example_args, termination_reason):
        return {termination_reason: 1.0}
class Rollout(BaseEnv):  # pays [1, 0, None, 1]
    async def create_dataset(self, split): ...
    async def compute_reward(self, rollout):
        assert rollout.termination_reason == "finished" and rollout.split == "train"
        text = rollout.messages[-1]["content"]
        return {"right": float(rollout.example_args["ground_truth"] in text)} if text else None

class NoCoroutine:  # pays [1, 1, 0.5, 0.5]
    def compute_reward(self, rollout_id, messages, task): return {"x": task["level"] / 2}
class Texts(Text):
    async def compute_group_reward(self, rollout_ids, completions, ground_truths, **kwargs):
        return [{"short": float(len(text) == min(map(len, completions)))} for text in completions]
class Tasks:
    async def compute_reward(self, rollout_id, messages, task):
        return {"right": float(task["answer"] in messages[-1]["content"])}
    async def compute_group_reward(self, rollout_ids, messages_list, tasks, **kwargs):
        lengths = [len(turns[-1]["content"]) for turns in messages_list]
        assert len(rollout_ids) == len(tasks) and tasks[0]["level"]
        return [{"short": float(length == min(lengths))} for length in lengths]

class Rollouts:
    async def compute_reward(self, rollout):
        return {"right": float(rollout.example_args["answer"] in rollout.messages[-1]["content"])}
    async def compute_group_rewards(self, rollouts):
        lengths = {one.rollout_id: len(one.messages[-1]["content"]) for one in rollouts}
        short = {name: float(n == min(lengths.values())) for name, n in lengths.items()}
        return {name: {"short": short[name]} for name in reversed(short)}

class Paid:
    def __init__(self, pay): self.pay = pay
    async def compute_reward(self, rollout_id, messages, task):
        return {"right": self.pay * (task["answer"] in messages[-1]["content"])}

paid = Paid(0.5)  # pays [0.5, 0, 0, 0.5]

class ToTheGroup:  # pays [2] * 4
    async def compute_reward(self, rollout_id, messages, task): return {}
    async def compute_group_reward(self, rollout_ids, messages_list, tasks):
        return [{"n": len(rollout_ids)} for _ in tasks]
class OneTooFew:  # pays [None] * 4: returned 1 values for 2
    async def compute_group_reward(self, rollout_ids, messages_list, tasks):
        return self.given(rollout_ids) if len(tasks) < 4 else [{"a": 1.0}] * 4
    def given(self, ids): return [{"a": 1.0}]
class AnIdIsMissing(OneTooFew):  # pays [None] * 4: gave no rewards for
    def given(self, ids): return {ids[0]: {}}
class AnErrorOfAGroup(OneTooFew):  # pays [None] * 4: division by zero
    def given(self, ids): return [{"a": 1 / 0}]

class NotFinite:  # pays [1, 1, None, None]
    async def compute_reward(self, rollout_id, messages, task): return self.given(task["level"])
    def given(self, level): return {"a": float("nan") if level == 1 else 1}
class KeysThatComeAndGo(NotFinite):  # pays [None] * 4
    def given(self, level): return {"a" if level == 1 else "b": 1.0}
class NotJudged(NotFinite):  # pays [0.5, 0.5, None, None]
    def given(self, level): return None if level == 1 else {"a": 0.5}
class NothingAtAll(NotFinite):
    def given(self, level): return {}
"""
TITLES = {  # what the origin says of all functions, and of some
    NEMO_GYM: "read as NeMo Gym: it takes body",
    NEMO_RL: "read as NeMo-RL: it takes message_log_batch",
    SLIME: "read as slime: it takes args and sample",
    RLLM: "read as rllm: it takes task_info and action",
    TORCHTUNE: "read as torchtune: it takes ",
    AREAL: "read as AReaL: it takes prompt_ids and completion_ids behind two texts",
    ATROPOS: "read as Atropos: its compute takes completions; weight ",
    EASYR1: "read as EasyR1",
    EVAL_PROTOCOL: "read as eval-protocol",
    INSPECT: "read as Inspect: it takes state and target",
    MS_SWIFT: "read as ms-swift: its objects take completions, as texts",
    OPENAI: "read as OpenAI's graders: it takes sample and item",
    OPENRLHF: "read as OpenRLHF: it takes queries; queries from prompt and completion",
    TUNIX: "read as Tunix: it takes one response; response from completion",
    SKYRL: "read as SkyRL-gym",
    ENVIRONMENTS: "read as an environment: it is a class with step(",
    VERIFIERS: "read as verifiers",
    BENCHMAX: "read as benchmax: its compute_",
}
SAID = {
    (ATROPOS, "Right"): "its compute takes completions; weight 0.5",
    (ATROPOS, "good"): "its compute takes completions; weight 3",
    (EASYR1, "batch"): "response_length from the words of completion",
    (EASYR1, "one"): "read as EasyR1: it takes reward_input",
    (EVAL_PROTOCOL, "right"): "it takes messages and keywords",
    (EVAL_PROTOCOL, "decorated"): "it is a @reward_function",
    (OPENRLHF, "documented"): "prompts from prompt, labels from ground_truth",
    (TUNIX, "optional"): "answer from ground_truth, prompt from prompt",
    (TUNIX, "metadata"): "metadata from all columns",
    (TUNIX, "column"): "level from level",
    (TUNIX, "batch"): "read as TRL: it takes completions, as texts",
    (SKYRL, "Right"): "it is a class with step(action), made with extras; action from",
    (SKYRL, "Object"): 'extras["reward_spec"]["ground_truth"] from ground_truth',
    (
        VERIFIERS,
        "v1",
    ): "it takes a trace, as in v1; task from the row, trace from prompt and completion",
    (VERIFIERS, "messages"): "as the functions of rubrics before v1; as messages",
    (VERIFIERS, "texts"): "as the functions of rubrics before v1; as texts",
    (VERIFIERS, "whatever_comes"): "whatever_comes read as",
    (VERIFIERS, "a_plain_one"): "read as a plain function of columns",
    (VERIFIERS, "Marked"): "length read as verifiers: a metric, which is not paid",
    (BENCHMAX, "Turns"): "reward takes a completion, as in 0.1 to dev22",
    (BENCHMAX, "Task"): "messages from prompt and completion, task from the row",
    (BENCHMAX, "OtherNames"): "reward takes messages, as in 0.1.2.dev36",
    (BENCHMAX, "Between"): "example_args from the row, termination_reason from the row",
    (BENCHMAX, "Rollout"): "reward takes a rollout, as in 0.2; ",
    (
        BENCHMAX,
        "NoCoroutine",
    ): "weight 1 here, as the weights are in the training configuration",
    (BENCHMAX, "ToTheGroup"): "compute_reward is left out: it gave nothing",
}
# behind a function stands what it pays for the four rows, and what is said of the rows without a reward
PAID = re.compile(
    r"^(?:async def |def |class )?(\w+)\b.*# pays (\[.*\](?: \* 4)?)(?:: (.*))?$",
    re.MULTILINE,
)
CASES = [
    pytest.param(source, *case, id=case[0])
    for source in TITLES
    for case in PAID.findall(source)
]


@pytest.mark.parametrize(("source", "name", "pays", "errors"), CASES)
def test_a_function_pays_what_it_does_there(source, name, pays, errors, reads):
    reads(
        source,
        eval(pays),
        SAID.get((source, name), TITLES[source]),
        name=name,
        errors=errors,
    )


REFUSED = [
    (
        ATROPOS,
        "RewardFunction",
        r"RewardFunction\(\) failed at .*: TypeError: Can't instantiate",
    ),
    (EVAL_PROTOCOL, "number", "returned 1.0; eval-protocol expects an EvaluateResult"),
    (EVAL_PROTOCOL, "batch", r"batch is not a reward|asks for 'messages'"),
    (
        MS_SWIFT,
        "Made",
        r"Made\(\) failed at .*mine\.py: TypeError: .*'args'; give an object of it",
    ),
    (
        MS_SWIFT,
        "Configured",
        r"Configured\(\) failed at .*mine\.py:\d+: AttributeError: .*'weight'",
    ),
    (
        MS_SWIFT,
        "Texts",
        r"returned 'good' of type str for a completion; ms-swift expects class R\(ORM\)",
    ),
    (MS_SWIFT, "Lacks", "Lacks asks for 'level_of'; the rollouts have"),
    (AREAL, "text", r"text returned '1' of type str .*AReaL expects f\(prompt, compl"),
    (AREAL, "token", "token asks for 'completion_ids'; the rollouts have"),
    (OPENAI, "text", r"text returned '1' of type str .*grade\(sample, item\) -> float"),
    (
        OPENRLHF,
        "two",
        r"returned \[1.0, 2.0\] of type list or tuple for a completion; OpenRLHF.*return the sum",
    ),
    (TUNIX, "text", "returned 'good' of type str for a completion; Tunix expects"),
    (BENCHMAX, "Paid", r"Paid\(\) failed at .*: TypeError.*give an object of it"),
    (BENCHMAX, "NothingAtAll", r"returned \{\} of type dict|gave nothing"),
    (ENVIRONMENTS, "Lacks", "Lacks asks for 'grid'; the rollouts have"),
    (SKYRL, "Judge", "Judge is made with 'judge', too, and SkyRL-gym hands over env"),
]


@pytest.mark.parametrize(
    ("source", "name", "said"), REFUSED, ids=[name for _, name, _ in REFUSED]
)
def test_what_cannot_be_read_is_told_in_a_sentence(source, name, said, load):
    with pytest.raises(rk.RewardError, match=said):
        load(source, name)


def test_what_is_paid_has_its_weight_and_what_stands_beside_it_is_recorded(
    load, rollouts
):
    weights = {
        (ATROPOS, "good"): {"good": 3.0},
        (EASYR1, "batch"): {"overall": 1.0, "accuracy": 0.0, "format": 0.0},
        (EVAL_PROTOCOL, "right"): {"length": 0.0, "score": 1.0},
        (INSPECT, "several"): {"right": 1.0, "short": 1.0},
        (OPENRLHF, "documented"): {"rewards": 1.0, "scores": 0.0, "right": 0.0},
        (OPENRLHF, "logs"): {"rewards": 1.0, "n": 0.0},
        (SLIME, "keys"): {"reward": 1.0, "n": 0.0},
        (RLLM, "Configured"): {"reward": 1.0, "is_correct": 0.0},
        (TORCHTUNE, "Documented"): {"total_reward": 1, "successes": 0, "tagged": 0},
        (VERIFIERS, "v1_keys"): {"right": 1, "level": 1},
        (VERIFIERS, "marked"): {"marked": 0.25},
        (VERIFIERS, "rubric"): {"right": 1, "long": -0.25},
        (VERIFIERS, "Marked"): {"right": 2, "empty": -0.5, "tagged": -0.5, "length": 0},
        (BENCHMAX, "Task"): {"right": 1.0, "level": 1.0},
    }
    assert {case: load(*case).weights for case in weights} == weights
    assert rk.score(load(EASYR1, "batch"), rollouts).score("accuracy").tolist() == [
        1,
        0,
        0,
        1,
    ]
    assert rk.score(load(EVAL_PROTOCOL, "right"), rollouts).score("length").tolist()[
        :2
    ] == [18, 18]
    assert set(
        rk.score(load(INSPECT, "unscored"), rollouts).table["status/unscored"]
    ) == {"abstained"}


def test_easyr1s_file_may_say_how_it_is_called_and_a_length_in_tokens_is_taken(
    load, rewards, rollouts
):
    sequential = 'REWARD_TYPE = "sequential"\ndef f(x): return {"overall": float(x["response_length"])}'
    assert rewards(load(sequential)) == [1, 1, 0, 1]
    longer = rk.load_rollouts([{**row, "response_length": 40} for row in rollouts])
    reward = load(EASYR1, "one", rollouts=longer)
    assert "response_length from response_length" in reward.origin
    assert rewards(reward, longer) == [40, 40, -1, 40]


@pytest.mark.parametrize(
    ("first", "expected"), [("abc", 5), ("stop", 4)]
)  # the sum, until it is done
def test_an_environment_steps_through_the_turns_of_a_transcript(
    load, rewards, first, expected
):
    texts = [
        ("user", "2+2?"),
        ("assistant", first),
        ("user", "and?"),
        ("assistant", "de"),
    ]
    messages = [{"role": role, "content": text} for role, text in texts]
    rollouts = rk.load_rollouts(
        [{"prompt": "2+2?", "completion": "de", "messages": messages}]
    )
    assert rewards(load(SKYRL, "Talk", rollouts=rollouts), rollouts) == [expected]


def test_openrlhf_gets_prompts_of_messages_joined_as_text_and_tunix_may_be_chosen(
    load, rewards
):
    chat = [{"role": "system", "content": "Add."}, {"role": "user", "content": "2+2?"}]
    rows = rk.load_rollouts([{"prompt": chat, "completion": "4", "ground_truth": "4"}])
    assert rewards(load(OPENRLHF, "chat", rollouts=rows), rows) == [1.0]
    assert (
        "batch read as Tunix: it takes completions, as texts"
        in load(TUNIX, "batch", as_="tunix").origin
    )


def test_a_transcript_with_tools_is_handed_over(load, rewards):
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "add", "arguments": "{}"},
    }
    asked, answer = (
        {"role": "user", "content": "2+2?"},
        {"role": "assistant", "content": "4"},
    )
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    messages = [
        asked,
        called,
        {"role": "tool", "content": "4", "tool_call_id": "1"},
        answer,
    ]
    rows = rk.load_rollouts(
        [{"prompt": [asked], "completion": "4", "messages": messages}]
    )
    source = (
        "async def f(trace): return trace.num_turns + 10.0 * len(trace.tool_messages)"
    )
    assert rewards(load(source, rollouts=rows), rows) == [12.0]
    before = "def f(completion, state): return float(len(completion))"
    assert rewards(load(before, rollouts=rows), rows) == [3.0]


@pytest.mark.parametrize("name", ["Texts", "Tasks", "Rollouts"])
def test_the_hook_of_a_group_gets_the_siblings_and_its_rewards_are_added(
    name, load, rollouts
):
    reward = load(BENCHMAX, name)
    assert reward.weights == {"right": 1.0, "short": 1.0}
    scores = rk.score(reward, rollouts)
    assert scores.score("right").tolist() == [1, 0, 0, 1]
    assert scores.score("short").tolist() == [1, 1, 1, 0]
    alone = reward(completion="4", ground_truth="4", prompt="2+2?")
    assert (
        alone.status["short"] == "error"
        and "siblings of its group" in alone.errors["short"]
    )


def test_the_hook_of_a_group_is_called_once_for_each(load, rollouts, tmp_path):
    calls = tmp_path / "calls"
    hook = "async def compute_group_reward(self, rollout_ids, messages_list, tasks)"
    given = f"os.system('printf x >>{calls}') or [{{'a': 1.0}}] * len(tasks)"
    reward = load(f"import os\nclass f:\n    {hook}: return {given}")
    calls.unlink()
    assert (
        rk.score(reward, rollouts).rewards.tolist() == [1.0] * 4
        and calls.read_text() == "xx"
    )


@pytest.mark.parametrize(
    "source",
    [
        """async def f(trace, task): return float(trace.last_reply == task.ground_truth)""",
        """def f(messages, ground_truth=None, **kwargs):
            return {"score": float(messages[-1]["content"] == ground_truth)}""",
    ],
    ids=["async", "in turn"],
)
def test_a_conversation_that_cannot_be_read_leaves_the_rows_behind_it_right(
    source, load
):
    table = []
    for text in "012345":
        turns = [
            {"role": "user", "content": "p"},
            {"role": "assistant", "content": text},
        ]
        table.append({"completion": text, "ground_truth": text, "messages": turns})
    table[2]["messages"] = [1, 2]
    scores = rk.score(load(source), rk.load_rollouts(table))
    assert np.isnan(scores.rewards[2]) and "TypeError" in str(scores.table.iloc[2])
    assert np.delete(scores.rewards, 2).tolist() == [1.0] * 5


@pytest.mark.parametrize(
    ("source", "name"),
    [(BENCHMAX, "Tasks"), (VERIFIERS, "Marked")],
    ids=["Tasks", "Marked"],
)
def test_a_loaded_object_can_be_saved_and_sent_to_another_process(
    source, name, load, rewards, tmp_path, limited
):
    reward = load(source, name)
    path = rk.save_reward(reward, tmp_path / "saved.py")
    assert (
        rewards(rk.load_reward(str(path)))
        == rewards(reward)
        == rewards(reward, timeout=20)
    )
