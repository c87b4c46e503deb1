"""load_reward(): the three forms, and one clear sentence for whatever a name can get wrong."""

import importlib
import os
import pickle
import subprocess
import sys
import zipfile
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

import pytest
from tables import read_blocks, read_table

import rewardkit as rk
from rewardkit.rewards.load import _modules_beside

SOURCE = '''
import rewardkit as rk
from beside_the_file import LEVEL

def paid(completion, ground_truth):
    """Pay for the right text.

    More of it.
    """
    return 5.0 * LEVEL * (completion == ground_truth)

async def awaited(completion: str):
    return 2.0 * (awaited.__annotations__["completion"] is str)

reward = rk.Reward("mine", components=[rk.Component("c", lambda completion: True)])
held = rk.Route("data_source", {"x": reward})

def made():
    return reward

def made_with_default(name="x"):
    return reward

class Thing:
    pass

class Judge:
    def paid(self, completion):
        return 3.0

several = [paid, awaited]

def makes_nothing():
    return 7

def raises():
    raise KeyError("inside")

'''
INSIDE = SOURCE.splitlines().index('    raise KeyError("inside")') + 1


@pytest.fixture
def file(tmp_path):
    (tmp_path / "beside_the_file.py").write_text("LEVEL = 1\n")
    path = tmp_path / "my_reward.py"
    path.write_text(SOURCE)
    yield path
    sys.modules.pop("beside_the_file", None)


def test_a_reward_is_taken_as_it_is_or_from_a_function_without_arguments(file):
    for name in ("", ":reward", ":made", ":made_with_default"):
        assert rk.load_reward(f"{file}{name}").name == "mine"
    assert rk.load_reward(f"{file}:held").routed_by == "data_source"


def test_a_plain_function_becomes_the_one_unbounded_component_and_can_be_pickled(file):
    reward = rk.load_reward(f"{file}:paid")
    (component,) = reward.components
    assert (reward.name, component.name, component.range, component.weight) == (
        "paid",
        "paid",
        None,
        1.0,
    )
    assert component.why == "Pay for the right text."
    assert reward(completion="4", ground_truth="4").reward == 5.0
    assert pickle.loads(pickle.dumps(component.function)) is component.function
    # under Python's own rules: an annotation is a class, whatever rewardkit's files import from __future__
    assert rk.load_reward(f"{file}:awaited")(completion="x").reward == 2.0
    assert rk.load_reward(f"{file}:Judge.paid")(completion="x").reward == 3.0
    component = rk.load_reward(f"{file}:paid").components[0]
    file.write_text("1 / 0")  # a run that fails leaves the one before it
    with pytest.raises(rk.RewardError):
        rk.load_reward(str(file))
    assert pickle.loads(pickle.dumps(component.function)) is component.function


PARTS = """
from functools import partial
def cut(text): return text[:3]
def right(completion, answer, **kwargs): return float(cut(completion) == answer)
def short(completion, limit=9, **kwargs): return float(len(completion) < limit)
def total(completion, answer): return 2 * right(completion, answer) + short(completion)
def other(completion): return 0.25
"""
RIGHT_ROWS = [("4", 1.0), ("5", 0.0), ("4, as I said", 0.0), ("five or six", 0.0)]
LOG = [
    {"prompt": "2+2?", "completion": text, "answer": "4", "right": right}
    | {"short": float(len(text) < 9), "reward": 2 * right + (len(text) < 9)}
    for text, right in RIGHT_ROWS * 4
]
CHOSEN = """
== a partial
compute_score = partial(right, answer='4')

== an object, and not its class
class P:
    def __call__(self, completion): return other(completion) + total(completion, '4')
p = P()

== a module called reward is none
import json as reward
def compute_score(completion): return 1.0

== what a function of another module makes
from maker import make
graded_reward = make(1.0)

== a pair of functions and their weights, which a function returns
def make_rewards(): return [right, short], [1.0, 0.2]

== pairs of a function and its weight, which a function returns
def make_rewards(): return [(right, 1.0), [short, 0.2]]

== a list in a pair with its weights
PAIR = [right, short], [1.0, 0.2]

== a list with the weights beside it
FUNCS, WEIGHTS = [right, short], [1.0, 0.2]

== a list of pairs of a function and its weight
REWARDS = [(right, 1.0), (short, 0.2)]

== a dict from functions to their weights
PAID = {right: 1.0, short: -0.5}

== a registry with weights by its keys
REWARDS = {'a': right, 'b': partial(short, limit=9)}
WEIGHTS = {'b': 3, 'a': 0.5}

== a registry of what the log has, as that calls them
registry = {'a': right, 'b': partial(short, limit=9)}
WEIGHTS = {'b': 3, 'a': 0.5}

== the functions of which the log has scores, as it adds them up

== the function that gives the scores of the log
del right, short
def again(completion, answer): return 2 * (completion == answer) + (len(completion) < 9)

== the function of a usual name that cannot be called
def compute_score(completion, gpu): return total(completion, gpu)
def again(completion, answer): return compute_score(completion, answer)

== what a function without arguments makes
def make_reward():
    def f(completion, answer): return 1.0
    return f

== the list that a script hands to a trainer, with its weights
def capped(most): return lambda completion: float(len(completion) < most)
def main():
    config = GRPOConfig(reward_weights=[1.0, 0.5, 0.1])
    GRPOTrainer(reward_funcs=[short, right, capped(9)], args=config)

== the variable that it hands over
if __name__ == '__main__':
    reward_funcs = [right, short]
    train(reward_funcs=reward_funcs)

== the reward of the file, and not the list beside it
import rewardkit as rk
reward_funcs = [right, short]
reward = rk.Reward('r', {}, [rk.Component('c', right, weight=2.0)])

== the list that the file has changed
reward_funcs = [right]
reward_funcs.append(short)
def main(): a(reward_funcs=reward_funcs)

== a list with the weights of its own call, and not those of another one
def stages():
    b(reward_weights=[3, 4])
    a(reward_funcs=[short, right], args=C(reward_weights=[0.2, 1]))

== the name that a trainer's guide has for one of two
def own(solution_str, ground_truth): return 1.0
def other_one(solution_str, ground_truth): return 0.5
compute_score = own

== the only function, though it is called like a test
del right, short, total, other, cut
def test_pass_rate(completion, ground_truth): return 1.0

== a list with reward in its name, and not the function with that
def paid_reward(completion): return 1.0
REWARDS_V2 = [short, paid_reward]

== a dict of parts
REWARDS = {'right': right, 'short': short}

== the only one with a trainer's own arguments
def make_score(k): return lambda text: k
def paid(solution_str, ground_truth): return 0.5

== not a total of other arguments than the trainer's
def fmt(completions, **kwargs): return [1.0 for _ in completions]
def reward_single(word): return fmt([word])

== what one has made
def make_reward():
    def f(completion): return total(completion, '4') + other('')
    return f
f = make_reward()
"""
"""What stands behind the functions; below are the weights of what is taken."""
TAKEN = {
    "a partial": {"compute_score": 1},
    "an object, and not its class": {"p": 1},
    "a module called reward is none": {"compute_score": 1},
    "what a function of another module makes": {"graded_reward": 1},
    "a pair of functions and their weights, which a function returns": {
        "right": 1,
        "short": 0.2,
    },
    "pairs of a function and its weight, which a function returns": {
        "right": 1,
        "short": 0.2,
    },
    "a list in a pair with its weights": {"right": 1, "short": 0.2},
    "a list with the weights beside it": {"right": 1, "short": 0.2},
    "a list of pairs of a function and its weight": {"right": 1, "short": 0.2},
    "a dict from functions to their weights": {"right": 1, "short": -0.5},
    "a registry with weights by its keys": {"a": 0.5, "b": 3},
    "what a function without arguments makes": {"make_reward": 1},
    "the list that a script hands to a trainer, with its weights": {
        "short": 1,
        "right": 0.5,
        "lambda_": 0.1,
    },
    "the variable that it hands over": {"right": 1, "short": 1},
    "the reward of the file, and not the list beside it": {"c": 2},
    "the list that the file has changed": {"right": 1, "short": 1},
    "a list with the weights of its own call, and not those of another one": {
        "short": 0.2,
        "right": 1,
    },
    "the name that a trainer's guide has for one of two": {"compute_score": 1},
    "the only function, though it is called like a test": {"test_pass_rate": 1},
    "a list with reward in its name, and not the function with that": {
        "short": 1,
        "paid_reward": 1,
    },
    "a dict of parts": {"right": 1, "short": 1},
    "the only one with a trainer's own arguments": {"paid": 1},
    "not a total of other arguments than the trainer's": {"fmt": 1},
    "what one has made": {"f": 1},
}
TAKEN_FOR_THE_LOG = {
    "a registry of what the log has, as that calls them": {"right": 0.5, "short": 3},
    "the functions of which the log has scores, as it adds them up": {
        "right": 2,
        "short": 1,
    },
    "the function that gives the scores of the log": {"again": 1},
    "the function of a usual name that cannot be called": {"again": 1},
}


NOT_CHOSEN = """
== which function is for which data
REWARDS = {'a': right, 'b': short}

== limits by the names of functions
FUNCS = [right, short]
LIMITS = {'right': 10, 'short': 2}

== from which a script takes some
REWARD_REGISTRY = {'right': right, 'short': short}

== which function is for which data, by name
def a_total(completion, answer): return 1.0
REWARDS = {'total': total, 'a_total': a_total}

== two lists of two trainings
def main(): a(reward_funcs=[right]), b(reward_funcs=[short])

== a list that only the run makes
def main(args): a(reward_funcs=[FUNCS[name] for name in args])

== a list that the run changes
def main(more):
    reward_funcs = [right]
    reward_funcs += more
    a(reward_funcs=reward_funcs)

== a list with what another module's call makes
import os
def main(): a(reward_funcs=[right, os.abort()])

== a list with a model
import os
class M:
    def load(): os.abort()
def main(): a(reward_funcs=[right, M.load()])

== a helper that a column is called like
del short, total
def places(completion): return 1.0
"""


@pytest.mark.parametrize("kind", read_blocks(NOT_CHOSEN))
def test_of_several_functions_none_is_taken_that_nothing_tells(kind, tmp_path):
    path = tmp_path / "many.py"
    path.write_text(f"{PARTS}\n{read_blocks(NOT_CHOSEN)[kind]}\n")
    log = [{"prompt": "?", "completion": text, "places": 1.0} for text in "ab"]
    with pytest.raises(rk.RewardError, match="name one, as"):
        rk.load_reward(str(path), rollouts=rk.load_rollouts(log))


def test_calls_that_make_a_reward_are_named_where_several_may_be_meant(tmp_path):
    path = tmp_path / "many.py"
    forms = "def form(completions, **kwargs): return [1.0] * len(completions)\n"
    forms += forms.replace("form", "tidy")
    makers = "def get_reward_fn(kind):\n    return lambda completion: 1.0\n"
    makers += "def make_em_reward():\n    return lambda completion: 1.0\n"
    for source, is_named in ((makers, True), ("", False)):
        path.write_text(f"{forms}{source}")
        with pytest.raises(rk.RewardError, match="name one, as") as raised:
            rk.load_reward(str(path))
        said = "get_reward_fn(...), make_em_reward() may make what is meant"
        assert (said in str(raised.value)) is is_named


def test_a_function_that_asks_for_no_truth_is_not_called_to_find_the_reward(tmp_path):
    path, sent = tmp_path / "many.py", tmp_path / "sent"
    send = f"def send(text):\n    open({str(sent)!r}, 'w').close()\n"
    path.write_text(f"{PARTS}\ndel right, short\n{send}")
    with pytest.raises(rk.RewardError, match="name one, as"):
        rk.load_reward(str(path), rollouts=rk.load_rollouts(LOG[:8]))
    assert not sent.exists()


@pytest.mark.parametrize("kind", read_blocks(CHOSEN))
def test_of_several_functions_those_are_taken_that_are_meant(
    kind, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    maker = "def make(k): return lambda completion, **kwargs: float(k)"
    (tmp_path / "maker.py").write_text(maker)
    path = tmp_path / "many.py"
    path.write_text(f"{PARTS}\n{read_blocks(CHOSEN)[kind]}\n")
    rollouts = rk.load_rollouts(LOG) if kind in TAKEN_FOR_THE_LOG else None
    reward = rk.load_reward(str(path), rollouts=rollouts)
    assert reward.weights == (TAKEN | TAKEN_FOR_THE_LOG)[kind]


@pytest.mark.parametrize(
    ("source", "where"),
    [
        ("\ndef main(): train(reward_funcs=[right, short])", "reward_funcs in line 10"),
        ("REWARDS = [right, short]", "from REWARDS"),
        (
            "def a(completions): ...\ndef compute_score(solution_str): ...",
            "also has a;",
        ),
    ],
)
def test_the_origin_says_where_the_choice_was_found(source, where, tmp_path):
    path = tmp_path / "many.py"
    path.write_text(f"{PARTS}\n{source}\n")
    assert where in rk.load_reward(str(path)).origin


def test_several_functions_may_be_named(tmp_path):
    path = tmp_path / "many.py"
    calls = (
        "def main():\n    a(reward_funcs=[short, right], args=C(reward_weights=[2, 3]))"
    )
    path.write_text(f"{PARTS}\n{calls}; a(reward_funcs=[right, other])")
    for names, weights in (
        ("right,short", {"right": 3, "short": 2}),
        ("right,other", {"right": 1, "other": 1}),
        ("short,other", {"short": 1, "other": 1}),
    ):
        assert rk.load_reward(f"{path}:{names}").weights == weights


ORM = """
class ORM:
    pass

class PaidF1(ORM):
    def __call__(self, completions, **kwargs):
        return [0.5] * len(completions)
"""
"""A class as ms-swift takes it, and what stands in for ms-swift."""


USED = """
def cut(text): return text[:3]
class Compares:
    def same(self, text): return cut(text)
def paid(completion): return [float(bool(Compares().same(part))) for part in [completion]][0]
"""


def test_a_file_without_a_name_is_the_function_that_no_other_one_uses(tmp_path):
    path = tmp_path / "many.py"
    path.write_text(USED)
    assert rk.load_reward(str(path)).names == ("paid",)
    path.write_text(f"{USED}\ndef other(completion): return 1.0\n")
    with pytest.raises(rk.RewardError, match=r"'paid', 'other'.*; name one, as"):
        rk.load_reward(str(path))


MEANT = r"""
parse f1 :: PaidF1
helper reward :: reward
helper compute_score :: compute_score
main test_reward other :: other
_helper bearing_reward :: bearing_reward
helper paid_reward :: paid_reward
parse_it b_reward c_reward :: many.py:b_reward, or several, as many.py:b_reward,c_reward; a log that has
compute_score reward_fn :: name one, as many.py:compute_score
"""


@pytest.mark.parametrize(("names", "taken"), read_table(MEANT))
def test_a_file_without_a_name_is_the_function_that_can_only_be_meant(
    names, taken, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    functions = [f"def {name}(completion):\n    return 0.5\n" for name in names.split()]
    if taken == "PaidF1":
        functions.append(ORM)
    Path("many.py").write_text("\n\n".join(functions))
    if "," not in taken:
        reward = rk.load_reward("many.py")
        assert reward.names == (taken,)
        assert reward.read_from.entry == f"many.py:{taken}"
    else:
        with pytest.raises(rk.RewardError, match=taken):
            rk.load_reward("many.py")


NO_REWARD = r"""
{file}:rewrad :: my_reward.py has no 'rewrad' ... did you mean 'reward'?
{file}:Thing :: not a reward
{file}:Judge :: the methods ['paid'] (name one, as Judge.paid)
{file}:Judge.piad :: has no 'Judge.piad'
{file}:makes_nothing :: makes_nothing() of ... returned 7, not a Reward
{file}:raises :: my_reward.py:INSIDE: KeyError: 'inside'
{file}:a b :: neither a Python file
nowhere.py :: there is no reward file 'nowhere.py'
no_such_module_of_anyone:f :: there is no module 'no_such_module_of_anyone'
gallery:arithmetik :: did you mean 'arithmetic'?
gallery:arithmetic.flawd :: did you mean 'flawed'?
"""


@pytest.mark.parametrize(("name", "said"), read_table(NO_REWARD))
def test_a_name_that_gives_no_reward_is_an_error_in_one_sentence(file, name, said):
    with pytest.raises(rk.RewardError) as raised:
        rk.load_reward(name.format(file=file))
    words = said.replace("INSIDE", str(INSIDE)).split(" ... ")
    assert [part for part in words if part not in str(raised.value)] == []
    assert "\n" not in str(raised.value)


UNPRINTABLE = "class E(Exception):\n    def __str__(self):\n        raise RuntimeError\n\nraise E()\n"


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        ("import os\ndef f(:\n    pass\n", 2, "SyntaxError"),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
        (
            "import rewardkit as rk\nreward = rk.Reward('r')\n",
            2,
            "reward 'r' has no components",
        ),
        ("raise ValueError('two\\nlines')\n", 1, "ValueError: two lines"),
        (UNPRINTABLE, 5, "E"),
    ],
)
def test_an_error_while_a_file_or_module_runs_names_file_and_line(
    source, line, said, tmp_path, monkeypatch
):
    path = tmp_path / f"broken_{abs(hash(source))}.py"
    path.write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    for name in (path, path.stem):
        with pytest.raises(rk.RewardError) as raised:
            rk.load_reward(f"{name}:f")
        assert str(raised.value).startswith(f"{path}:{line}: ")
        assert said in str(raised.value)
        assert "\n" not in str(raised.value)


def test_file_and_the_modules_beside_it_are_run_anew_after_a_run_that_failed_and_within_one_second(
    file, monkeypatch
):
    # also where a worker process may write bytecode
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    helper = file.parent / "beside_the_file.py"
    made = []
    for level, text in (
        (1, SOURCE + "1 / 0\n"),
        (2, SOURCE),
        (3, SOURCE),
        (3, SOURCE),
        (3, SOURCE + "#"),
    ):
        helper.write_text(f"LEVEL = {level}\n")
        os.utime(helper, (1e9, 1e9))
        file.write_text(text)
        try:
            made.append(rk.load_reward(f"{file}:paid"))
        except rk.RewardError:
            continue
    assert [reward(completion="4", ground_truth="4").reward for reward in made] == [
        10.0,
        15.0,
        15.0,
        15.0,
    ]
    # of what was loaded, though the file says something else by now
    prints = [reward.record()["fingerprints"]["scoring"] for reward in made]
    assert prints[0] != prints[1] == prints[2] != prints[3]


@pytest.mark.parametrize("text", ["1 / 0", "raise KeyboardInterrupt", SOURCE])
def test_its_folder_is_importable_only_while_the_file_runs_and_no_half_module_is_left(
    file, text
):
    path, modules = list(sys.path), set(sys.modules)
    file.write_text(text)
    with (
        nullcontext()
        if text == SOURCE
        else pytest.raises((rk.RewardError, KeyboardInterrupt))
    ):
        rk.load_reward(str(file))
    added = [sys.modules[name] for name in sys.modules.keys() - modules]
    of_file = [item for item in added if getattr(item, "__file__", "") == str(file)]
    assert sys.path == path and (text == SOURCE or not of_file)


def test_two_files_of_one_name_do_not_meet(tmp_path):
    rewards = []
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.py").write_text(
            f"def f(completion):\n    return {int(folder == 'a')}\n"
        )
        rewards.append(rk.load_reward(f"{tmp_path / folder / 'same.py'}:f"))
    assert [reward(completion="x").reward for reward in rewards] == [1.0, 0.0]
    for function in [reward.components[0].function for reward in rewards]:
        assert pickle.loads(pickle.dumps(function)) is function


def test_relative_imports_of_a_file_are_of_its_own_folders(tmp_path):
    source = (
        "from .beside import cut, Level\nfrom ..above import TWO\nlevel = Level(TWO)\n"
        "def f(completion, answer): return level.paid * (cut(completion) == answer)\n"
    )
    rollouts = rk.load_rollouts([{"completion": text, "answer": "4"} for text in "45"])
    paid = []
    for place, two in (("a", 2.0), ("b", 3.0)):
        folder = tmp_path / place / "rewards"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("import no_such_module_of_anyone\n")
        (folder.parent / "above.py").write_text(f"TWO = {two}\n")
        (folder / "beside.py").write_text(
            "def cut(text): return text[:1]\nclass Level:\n"
            "    def __init__(self, paid): self.paid = paid\n"
        )
        (folder / "reward.py").write_text(source)
        reward = rk.load_reward(str(folder / "reward.py"), rollouts=rollouts)
        paid += [
            rk.score(reward, rollouts, timeout=limit).rewards.tolist()
            for limit in (None, 30)
        ]
        with pytest.raises(rk.RewardError, match="relative imports"):
            rk.save_reward(reward, tmp_path / "saved.py")
    assert paid == [[2.0, 0.0]] * 2 + [[3.0, 0.0]] * 2


@pytest.mark.parametrize("limit", [None, 30])
def test_each_file_calls_its_own_neighbours_whatever_was_imported_of_their_names(
    tmp_path, monkeypatch, limit
):
    monkeypatch.syspath_prepend(tmp_path)  # as the working folder of a command
    rewards = {}
    for place, paid in ((".", 0.25), ("older", 0.5), ("oldest", 1.0)):
        folder = tmp_path / place
        folder.mkdir(exist_ok=True)
        (folder / "paid_amount.py").write_text(f"PAID = {paid}\n")
        (folder / "paid_beside.py").write_text(
            "import paid_amount\ndef beside(completion): return paid_amount.PAID\n"
        )
        (folder / "reward.py").write_text(
            "import rewardkit as rk\nfrom paid_beside import beside\n"
            "def own(completion): return beside(completion)\n"
            "parts = [rk.Component('beside', beside), rk.Component('own', own)]\n"
            "reward = rk.Reward('paid', components=parts)\n"
        )
    for name in ("paid_amount", "paid_beside"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = importlib.import_module("paid_beside")
    for place in ("older", "oldest", ".", "older"):
        rewards[place] = rk.load_reward(str(tmp_path / place / "reward.py"))
        assert importlib.import_module("paid_beside") is module
    assert pickle.loads(pickle.dumps(module.beside)) is module.beside
    assert {*rewards["older"].read_from.files} >= {"paid_amount.py", "paid_beside.py"}
    rows = [{"prompt": "?", "completion": "x", "place": place} for place in rewards]
    routed = rk.Route("place", rewards)
    scores = rk.score(routed, rk.load_rollouts(rows), timeout=limit)
    assert scores.rewards.tolist() == [1.0, 2.0, 0.5]
    (function,) = rk.targets.trl.functions(rewards["older"])
    assert pickle.loads(pickle.dumps(function))(["?"], ["x"]) == [1.0]
    saved = rk.save_reward(rewards["older"], tmp_path / "older" / "saved.py")
    assert rk.load_reward(f"{saved}:reward")(completion="x").reward == 1.0


def test_an_edited_module_and_the_error_of_a_package_are_seen(tmp_path, monkeypatch):
    path = tmp_path / "reward.py"
    path.write_text("from . import beside\ndef f(completion): return beside.PAID\n")
    for paid in (1.0, 2.0):
        (tmp_path / "beside.py").write_text(f"PAID = {paid}\n")
        assert rk.load_reward(str(path))(completion="x").reward == paid
    path = tmp_path / "a" / "reward.py"
    path.parent.mkdir()
    (path.parent / "__init__.py").write_text(
        "import no_such_module_of_anyone\nTWO = 2\n"
    )
    path.write_text("from . import TWO\ndef f(completion): return TWO\n")
    with pytest.raises(rk.RewardError, match=r"failed: .*'no_such_module_of_anyone'"):
        rk.load_reward(str(path))
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("zipped_reward.py", "def f(completion): return 1.0\n")
    monkeypatch.syspath_prepend(tmp_path / "z.zip")
    assert rk.load_reward("zipped_reward").names == ("f",)


def test_modules_beside_a_file_in_the_root_of_the_disk_are_found(monkeypatch):
    beside = ModuleType("beside_in_root")
    beside.__file__ = os.path.join(os.path.abspath(os.sep), "beside_in_root.py")
    monkeypatch.setitem(sys.modules, beside.__name__, beside)
    file = Path(beside.__file__)
    assert _modules_beside(file)[beside.__name__] == file


@pytest.mark.integration
def test_the_command_finds_modules_in_the_working_directory(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "beside.py").write_text("PAID = 2.5\n")
    (folder / "reward.py").write_text(
        "from .beside import PAID\ndef f(completion): return PAID\n"
    )
    (tmp_path / "log.jsonl").write_text('{"prompt": "?", "completion": "4"}\n')
    command = [
        sys.executable,
        "-P",
        "-m",
        "rewardkit",
        "score",
        "mine.reward",
        "log.jsonl",
    ]
    scored = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "mean reward 2.5" in scored.stdout


def test_a_list_of_another_modules_functions_is_taken_and_nothing_of_the_script_runs(
    tmp_path,
):
    (tmp_path / "paying_module.py").write_text(PARTS)
    path, ran = tmp_path / "launch.py", tmp_path / "ran"
    path.write_text(
        f"""
import paying_module
def helper_reward(completion): return 0.0
def launch():
    open({str(ran)!r}, "w").close()
    functions = [paying_module.right, paying_module.short]
    Trainer(reward_funcs=[paying_module.right, paying_module.short], args=Config(reward_weights=[1.0, 0.2]))
"""
    )
    reward = rk.load_reward(str(path), rollouts=rk.load_rollouts(LOG))
    assert reward.weights == {"right": 1.0, "short": 0.2} and not ran.exists()


def test_what_a_call_makes_is_no_reward_where_the_file_uses_it(tmp_path):
    path = tmp_path / "graded.py"
    path.write_text(
        """
import functools
memo = functools.lru_cache(maxsize=None)
@memo
def cut(text): return text[:1]
def grade(completion, answer): return float(cut(completion) == answer)
"""
    )
    assert rk.load_reward(str(path)).weights == {"grade": 1.0}


def test_an_optional_truth_is_needed_where_the_function_reads_it(tmp_path):
    path = tmp_path / "optional.py"
    path.write_text(
        """
def form(completions, answer=None, **kwargs): return [float("4" in text) for text in completions]
def correct(completions, answer=None, **kwargs):
    return [float(text == truth) for text, truth in zip(completions, answer or completions)]
reward_funcs = [form, correct]
"""
    )
    rollouts = rk.load_rollouts(LOG)
    both = rk.load_reward(f"{path}:reward_funcs", rollouts=rollouts, as_="trl:texts")
    assert both.task == ("correct",)
    form = rk.load_reward(f"{path}:form", rollouts=rollouts, as_="trl:texts")
    assert rk.check(form, [{"name": "a", "completion": "4", "reward": 1.0}]).passed == 1
