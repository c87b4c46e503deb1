"""load_reward(): the three forms, and one clear sentence for whatever a name can get wrong."""

import os
import pickle
import sys

import pytest

import rewardkit as rk

SOURCE = '''
import rewardkit as rk
from beside_the_file import LEVEL


def paid(completion, ground_truth):
    """Pay for the right text.

    More of it.
    """
    return 5.0 * LEVEL * (completion == ground_truth)


async def awaited(completion):
    return 2.0


reward = rk.Reward("mine", components=[rk.Component("c", lambda completion: True)])
held = rk.Route("data_source", {"x": reward})
number = 3


def made():
    return reward


def made_with_default(name="x"):
    return reward


def makes_nothing():
    return 7


def raises():
    raise KeyError("inside")


def leaves():
    raise SystemExit(3)


class Thing:
    pass
'''


@pytest.fixture
def file(tmp_path):
    (tmp_path / "beside_the_file.py").write_text("LEVEL = 1\n")
    path = tmp_path / "my_reward.py"
    path.write_text(SOURCE)
    yield path
    sys.modules.pop("beside_the_file", None)


def test_a_reward_is_taken_as_it_is_and_reward_is_the_default_name(file):
    assert rk.load_reward(f"{file}:reward").name == rk.load_reward(str(file)).name == "mine"
    assert rk.load_reward(f"{file}:held").routing is not None


@pytest.mark.parametrize("name", ["made", "made_with_default"])
def test_a_function_without_arguments_gives_the_reward(file, name):
    assert rk.load_reward(f"{file}:{name}").name == "mine"


def test_a_plain_function_becomes_the_one_unbounded_component(file):
    reward = rk.load_reward(f"{file}:paid")
    (component,) = reward.components
    assert (reward.name, component.name, component.range, component.weight) == ("paid", "paid", None, 1.0)
    assert component.why == "Pay for the right text."
    assert reward(completion="4", ground_truth="4").reward == 5.0
    assert rk.load_reward(f"{file}:awaited")(completion="x").reward == 2.0


def test_modules_and_the_gallery_have_names_too():
    assert rk.load_reward("gallery:arithmetic").name == "arithmetic-v1"
    assert rk.load_reward("gallery:arithmetic.flawed").name == "arithmetic-flawed"
    assert rk.load_reward("rewardkit.gallery.arithmetic:flawed").name == "arithmetic-flawed"
    assert rk.load_reward("rewardkit.gallery.arithmetic").name == "arithmetic-v1"
    assert rk.load_reward("gallery:mixed").routing is not None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rewrad", "did you mean 'reward'?"),
        ("number", "is 3, not a reward"),
        ("Thing", "not a reward"),
        ("makes_nothing", "returned 7, not a Reward"),
        ("raises", "KeyError: 'inside'"),
        ("leaves", "SystemExit: 3"),
        ("a b", "does not name a reward"),
    ],
)
def test_a_name_that_gives_no_reward_is_an_error_in_one_sentence(file, name, said):
    with pytest.raises(rk.RewardError) as raised:
        rk.load_reward(f"{file}:{name}")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_name_is_answered_with_what_there_is(file):
    with pytest.raises(rk.RewardError) as raised:
        rk.load_reward(f"{file}:zzz")
    assert all(
        name in str(raised.value) for name in ("my_reward.py has no 'zzz'", "'paid'", "'reward'", "'made'")
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere.py", "there is no reward file 'nowhere.py'"),
        ("nowhere.py:f", "there is no reward file 'nowhere.py'"),
        ("no_such_module_of_anyone:f", "there is no module 'no_such_module_of_anyone'"),
        ("json.no_such_part:f", "there is no module 'json.no_such_part'"),
        ("gallery:arithmetik", "did you mean 'arithmetic'?"),
        ("gallery:arithmetic.flawd", "did you mean 'flawed'?"),
        ("gallery:", "neither"),
        ("", "neither a Python file"),
        ("a/b:reward", "neither a Python file"),
        ("math:pi", "is 3.14"),
    ],
)
def test_a_place_that_is_not_there_is_an_error(name, said):
    with pytest.raises(rk.RewardError) as raised:
        rk.load_reward(name)
    assert said in str(raised.value)


UNPRINTABLE = "class E(Exception):\n    def __str__(self):\n        raise RuntimeError\n\nraise E()\n"


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        ("import os\ndef f(:\n    pass\n", 2, "SyntaxError"),
        ("x = 1\n\ny = 1 / 0\n", 3, "ZeroDivisionError: division by zero"),
        (
            "import nobody_has_this_module\n",
            1,
            "ModuleNotFoundError: No module named 'nobody_has_this_module'",
        ),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
        ("import rewardkit as rk\nreward = rk.Reward('r')\n", 2, "reward 'r' has no components"),
        ("def f():\n    return f()\n\nf()\n", 2, "RecursionError"),
        ("raise ValueError('two\\nlines')\n", 1, "ValueError: two lines"),
        ("import rewardkit as rk\nrk.gate('c')\n", 2, "gate('c') has no condition"),
        (UNPRINTABLE, 5, "E"),
    ],
    ids=[
        "syntax",
        "exception",
        "import",
        "exit",
        "no components",
        "recursion",
        "two lines",
        "ValueError",
        "unprintable",
    ],
)
def test_an_error_while_the_file_runs_names_file_and_line(source, line, said, tmp_path):
    path = tmp_path / "broken.py"
    path.write_text(source)
    with pytest.raises(rk.RewardError) as raised:
        rk.load_reward(f"{path}:f")
    assert str(raised.value).startswith(f"{path}:{line}: ")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_error_while_a_factory_runs_names_file_and_line(file):
    line = SOURCE.splitlines().index('    raise KeyError("inside")') + 1
    with pytest.raises(rk.RewardError, match=rf"my_reward\.py:{line}: KeyError: 'inside'"):
        rk.load_reward(f"{file}:raises")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("1 / 0\n", "ZeroDivisionError"),
        ("def f(:\n", "SyntaxError"),
        ("import sys\nsys.exit(2)\n", "SystemExit: 2"),
        ("import nobody_has_this_module\n", "nobody_has_this_module"),
    ],
)
def test_an_error_while_a_module_is_imported_names_it_and_the_line(source, said, tmp_path, monkeypatch):
    name = f"broken_module_{said[:6]}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(rk.RewardError) as raised:
        rk.load_reward(f"{name}:f")
    assert f"{name}.py:" in str(raised.value) and said in str(raised.value)


def test_the_file_is_run_anew_at_each_call(tmp_path):
    path = tmp_path / "changing.py"
    scores = []
    for value in (0.25, 0.75):
        path.write_text(f"def f(completion):\n    return {value}\n")
        scores.append(rk.load_reward(f"{path}:f")(completion="x").reward)
    assert scores == [0.25, 0.75]


def test_its_folder_is_importable_only_while_the_file_runs(file):
    before = list(sys.path)
    rk.load_reward(str(file))
    assert sys.path == before
    file.write_text("1 / 0")
    with pytest.raises(rk.RewardError):
        rk.load_reward(str(file))
    assert sys.path == before


def test_functions_of_a_loaded_file_can_be_pickled(file):
    function = rk.load_reward(f"{file}:paid").components[0].function
    assert pickle.loads(pickle.dumps(function)) is function


def test_two_files_of_one_name_do_not_meet(tmp_path):
    rewards = []
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.py").write_text(f"def f(completion):\n    return {int(folder == 'a')}\n")
        rewards.append(rk.load_reward(f"{tmp_path / folder / 'same.py'}:f"))
    assert [reward(completion="x").reward for reward in rewards] == [1.0, 0.0]


def test_a_file_runs_under_pythons_own_rules_and_not_under_rewardkits_future_statements(tmp_path):
    path = tmp_path / "typed.py"
    path.write_text("def f(completion: str):\n    return f.__annotations__['completion'] is str\n")
    assert rk.load_reward(f"{path}:f")(completion="x").reward == 1.0


def test_a_module_beside_the_file_is_run_anew_and_is_part_of_the_fingerprint(tmp_path):
    (tmp_path / "beside_it.py").write_text("SCORE = 1.0\n")
    (tmp_path / "mine.py").write_text("import beside_it\ndef f(completion):\n    return beside_it.SCORE\n")
    before = rk.load_reward(f"{tmp_path}/mine.py:f")
    (tmp_path / "beside_it.py").write_text("SCORE = 0.25\n")
    after = rk.load_reward(f"{tmp_path}/mine.py:f")
    assert (before(completion="x").reward, after(completion="x").reward) == (1.0, 0.25)
    assert before.record()["fingerprints"]["scoring"] != after.record()["fingerprints"]["scoring"]
    again = rk.load_reward(f"{tmp_path}/mine.py:f")
    assert after.record()["fingerprints"] == again.record()["fingerprints"]


def test_a_module_beside_the_file_is_new_after_a_run_that_failed_and_within_one_second(file):
    helper = file.parent / "beside_the_file.py"
    good, seen = file.read_text(), []
    for level, text in ((1, good + "1 / 0\n"), (2, good), (3, good)):
        helper.write_text(f"LEVEL = {level}\n")
        os.utime(helper, (1e9, 1e9))
        file.write_text(text)
        try:
            seen.append(rk.load_reward(f"{file}:paid")(completion="4", ground_truth="4").reward)
        except rk.RewardError:
            seen.append(None)
    assert seen == [None, 10.0, 15.0]


def test_an_interrupted_run_leaves_no_half_module(file):
    file.write_text("raise KeyboardInterrupt\n")
    before = set(sys.modules)
    with pytest.raises(KeyboardInterrupt):
        rk.load_reward(str(file))
    assert set(sys.modules) == before and str(file.parent) not in sys.path
