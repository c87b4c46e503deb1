"""SkyRL-gym's environments, read and written without SkyRL."""

import copy

import pytest

import rewardkit as rk
from rewardkit.targets.calling import loaded
from rewardkit.targets.export import export

ENV = """
class f:
    def __init__(self, env_config=None, extras={}):
        assert "ground_truth" in extras["reward_spec"], "ground_truth is required"
        self.truth = extras["reward_spec"].pop("ground_truth")
    def init(self, prompt):
        return prompt, {}
    def step(self, action):
        reward = 2.5 if self.truth in action else -1
        return {"observations": [], "reward": reward, "done": True, "metadata": {}}

class Talk:
    def __init__(self, extras):
        self.left = extras["max_turns"]
    def init(self, prompt):
        assert prompt == [{"role": "user", "content": "2+2?"}], prompt
        return prompt, {}
    def step(self, action):
        self.left -= 1
        return {"observations": [], "reward": len(action), "done": self.left == 0 or "stop" in action}

class Object(f):
    def step(self, action): return type("Result", (), {"reward": 0.25, "done": True})

class Nothing(f):
    def step(self, action): return {"observations": [], "reward": None, "done": True}

class Tuple(f):
    def step(self, action): return [], 1.0, True, {}

class Judge(f):
    def __init__(self, env_config, extras, judge): pass
"""


def test_an_environment_is_made_for_each_completion(reads):
    said = "read as SkyRL-gym: it is a class with step(action), made with extras"
    asked = 'extras["reward_spec"]["ground_truth"] from ground_truth'
    reads(ENV, [2.5, -1, -1, 2.5], said, asked)


@pytest.mark.parametrize(("first", "expected"), [("abc", 5), ("stop", 4)])  # the sum, until it is done
def test_an_environment_steps_through_the_turns_of_a_transcript(load, rewards, first, expected):
    texts = [("user", "2+2?"), ("assistant", first), ("user", "and?"), ("assistant", "de")]
    messages = [{"role": role, "content": text} for role, text in texts]
    rollouts = rk.load_rollouts([{"prompt": "2+2?", "completion": "de", "messages": messages}])
    assert rewards(load(ENV, "Talk", rollouts=rollouts), rollouts) == [expected]


@pytest.mark.parametrize(
    ("name", "expected", "errors"),
    [
        ("Object", [0.25] * 4, None),
        ("Nothing", [None] * 4, "without a reward"),
        ("Tuple", [None] * 4, "without a reward"),  # another library's step
    ],
)
def test_odd_steps(reads, name, expected, errors):
    reads(ENV, expected, name=name, errors=errors)


def test_a_class_that_is_made_with_more_cannot_be_read(load):
    with pytest.raises(rk.RewardError, match="Judge is made with 'judge', too, and SkyRL-gym hands over env"):
        load(ENV, "Judge")


def fits(completion, ground_truth, prompt, level):
    return (completion == ground_truth) * level - len(prompt) if completion else None


FITS = rk.Reward("fits", components=[rk.Component("fits", fits, range=None)])


@pytest.mark.parametrize("place", ["reward_spec", "reward_model"])
def test_the_file_has_an_environment_that_is_done_after_a_step(tmp_path, place):
    made = export(FITS, to="skyrl-gym", path=tmp_path / "fits.py", missing=-9.0)
    assert 'entry_point="fits:FitsEnv"' in made.usage and "judged = 0" in " ".join(made.losses)
    kind = loaded(made.path).FitsEnv
    extras = {place: {"ground_truth": "4"}, "level": 6}
    before = copy.deepcopy(extras)
    for action, reward, judged in (("4", 2.0, 1.0), ("5", -4.0, 1.0), ("", -9.0, 0.0)):
        env = kind(env_config=None, extras=extras)
        env.init([{"role": "user", "content": "2+2?"}])
        step = env.step(action)
        assert (step["reward"], step["done"], step["observations"]) == (reward, True, [])
        assert step["metadata"] == {"score": reward, "judged": judged, "fits": reward}
    assert extras == before
