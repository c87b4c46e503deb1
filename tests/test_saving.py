"""save_reward(): a file that gives the same reward again, or a refusal and no file."""

import importlib.util
import inspect
import linecache
import re
import subprocess
import sys
from decimal import Decimal
from functools import partial

import numpy as np
import pytest

import rewardkit as rk

PREDICTION = {"prediction": rk.extract.first_of(rk.extract.tag("answer"), rk.extract.number(which="last"))}


def reward(*components, **options):
    return rk.Reward("saved", options.pop("fields", PREDICTION), components, **options)


def correct(**options):
    return rk.Component("correct", rk.verify.numbers_equal, **options)


def definition(record):
    """A record without where the sources lie and what hangs on that."""
    if isinstance(record, dict):
        left_out = ("sources", "fingerprints")
        return {key: definition(value) for key, value in record.items() if key not in left_out}
    return [definition(item) for item in record] if isinstance(record, list) else record


def written(folder, source, name="mine.py"):
    (folder / name).write_text(source)
    return rk.load_reward(str(folder / name))


SAVED = {
    "gallery": lambda: rk.load_reward("gallery:arithmetic"),
    "gallery with functions": lambda: rk.load_reward("gallery:arithmetic.flawed"),
    "route": lambda: rk.load_reward("gallery:mixed"),
    "route with default": lambda: rk.Route(
        "data_source", {"x": reward(correct())}, reward(correct(weight=2.0))
    ),
    "partial": lambda: reward(
        rk.Component(
            "c", partial(rk.verify.numbers_equal, absolute=0.25), columns={"prediction": "completion"}
        )
    ),
    "gates": lambda: reward(
        correct(gate=rk.gate("step", at_least=1, at_most=9.5)),
        rk.Component(
            "length", rk.measure.length(full_until=3, zero_from=9), gate=rk.gate("correct", at_least=1.0)
        ),
        gate=rk.gate("ground_truth", equals='it\'s "4"'),
    ),
    "transform": lambda: reward(correct(), transform=rk.weigh.standardise(clip=2.5, within="batch")),
    "aggregation": lambda: reward(correct(), aggregation="weighted_mean", on_missing="skip"),
    "paid for a share on purpose": lambda: reward(correct(expects_partial=True)),
    "penalty, range and why": lambda: reward(
        correct(weight=-0.25, range=(-1.0, 2.0), why='"""it\'s\\\nöne', primary=True),
        rk.Component("free", rk.verify.numbers_equal, range=None, weight=0),
    ),
    "chat": lambda: reward(correct(), fields={"prediction": rk.extract.assistant_text}),
    "extractors in each other": lambda: reward(
        correct(),
        fields={
            "prediction": rk.extract.within(
                rk.extract.tag("answer", unclosed=True),
                rk.extract.first_of(rk.extract.boxed(), rk.extract.number()),
            ),
            "sources": rk.extract.every(rk.extract.citation("See")),
            "spoken": partial(rk.extract.assistant_text, turns="all", tool_calls=True),
        },
    ),
    "no fields": lambda: reward(rk.Component("c", rk.measure.keywords("a", "b", mode="any")), fields={}),
}


@pytest.mark.parametrize("kind", SAVED)
def test_a_saved_reward_is_the_same_reward_when_it_is_loaded(kind, tmp_path):
    original = SAVED[kind]()
    path = rk.save_reward(original, tmp_path / "deep" / "saved.py")
    again = rk.load_reward(f"{path}:reward")
    assert type(again) is type(original)
    assert definition(again.record()) == definition(original.record())
    assert list(path.parent.iterdir()) == [path]


def test_a_saved_reward_scores_the_same(tmp_path):
    for name in ("arithmetic", "mixed"):
        original = rk.load_reward(f"gallery:{name}")
        rollouts = rk.load_rollouts(f"gallery:{name}").select(range(64))
        again = rk.load_reward(str(rk.save_reward(original, tmp_path / "saved.py")))
        assert rk.score(again, rollouts).table.equals(rk.score(original, rollouts).table)


COPIED = '''
import rewardkit as rk

def graded(completion, *, ground_truth, level=2):
    """Half for something, all for the truth."""
    rk.note("level", level)
    return 1.0 if completion == ground_truth else sum(letter == "x" for letter in completion) / 4

def is_long(completion):
    return len(completion) > 1

reward = rk.Reward("copied", {"size": is_long}, [
    rk.Component("graded", graded, gate=rk.gate(is_long)), rk.Component("again", graded, weight=0.5),
])
'''


def test_functions_of_a_file_are_copied_once_and_do_the_same_without_it(tmp_path):
    original = written(tmp_path, COPIED)
    path = rk.save_reward(original, tmp_path / "saved.py")
    (tmp_path / "mine.py").unlink()
    again = rk.load_reward(str(path))
    assert path.read_text().count("def graded") == 1
    for completion in ("x", "xx", "4 apples"):
        row = {"completion": completion, "ground_truth": "4 apples"}
        assert repr(again(**row)) == repr(original(**row))


def test_a_function_of_an_importable_module_is_imported(tmp_path):
    path = rk.save_reward(rk.load_reward("gallery:arithmetic.flawed"), tmp_path / "saved.py")
    text = path.read_text()
    assert "import rewardkit.gallery.arithmetic as arithmetic" in text and "arithmetic.float_equal" in text


FILE = "import rewardkit as rk\nimport math\n{}\nreward = rk.Reward('r', components=[rk.Component('f', f)])\n"

WITH_WHAT_IT_USES = {
    "module": "def f(completion):\n    return math.cos(0)",
    "inner function": "def f(completion):\n    def inner():\n        return math.cos(0)\n    return inner()",
    "generator": "def f(completion):\n    return max(math.cos(0) for _ in completion)",
    "default": "def f(completion, k=math.cos(0)):\n    return k",
    "decorator": "import functools\ndef deco(g):\n"
    "    return functools.wraps(g)(lambda completion: g(completion))\n"
    "@deco\n@deco\ndef f(completion):\n    return 1.0",
    "constants": "LOW, HIGH = 0.25, 4\ndef g():\n    return LOW * HIGH\ndef f(completion):\n    return g()",
    "pattern": "import re\nDIGIT = re.compile(r'x')\ndef f(completion):\n"
    "    return bool(DIGIT.match(completion))",
    "bound twice": "try:\n    import nothing_here as found\nexcept ImportError:\n    found = None\n"
    "def f(completion):\n    return found is None",
    "class": "class Base:\n    worth = 1.0\nclass F(Base):\n    def __call__(self, completion):\n"
    "        return self.worth\nf = F()",
    "tokenizer": "class T:\n    def encode(self, text):\n        return text.split()\n"
    "f = rk.measure.length(full_until=3, zero_from=6, unit='tokens', tokenizer=T())",
    "lambda": "f = lambda completion: math.cos(0)",
    "object with state": "class F:\n    def __init__(self, k):\n        self.k = k\n"
    "    def __call__(self, completion):\n        return self.k\nf = F(1.0)",
    "closure": "def made(k):\n    def f(completion):\n        return k\n    return f\nf = made(1.0)",
    "typed": "from typing import Any\ndef f(completion: Any) -> float:\n    return 1.0",
    "recursive": "def even(n):\n    return n == 0 or odd(n - 1)\n"
    "def odd(n):\n    return n > 0 and even(n - 1)\n"
    "def f(completion):\n    return even(4)",
    "a decorator that registers": "REG = {}\ndef register(g):\n    REG[g.__name__] = g\n    return g\n"
    "@register\ndef part(c):\n    return 1.0\n"
    "def f(completion):\n    return sum(g(completion) for g in REG.values())",
    "a value changed later": "W = 4.0\ndef set_w():\n    global W\n    W = 1.0\nset_w()\n"
    "def f(completion):\n    return W",
    "a name bound again later": "def helper():\n    return 1.0\ndef f(completion):\n    return helper()\n"
    "first = f\ndef f(completion):\n    return 0.0\nfirst, f = f, first",
}


@pytest.mark.parametrize("kind", WITH_WHAT_IT_USES)
def test_a_function_is_copied_with_its_whole_file(kind, tmp_path):
    original = written(tmp_path, FILE.format("# theirs\n" + WITH_WHAT_IT_USES[kind]))
    path = rk.save_reward(original, tmp_path / "out" / "saved.py")
    (tmp_path / "mine.py").unlink()
    again = rk.load_reward(str(path))
    assert again(completion="x").reward == original(completion="x").reward == 1.0
    assert "# theirs" in path.read_text()


def test_a_saved_file_runs_in_plain_python_and_its_reward_can_be_pickled(tmp_path):
    original = written(
        tmp_path, "from __future__ import annotations\n" + FILE.format(WITH_WHAT_IT_USES["typed"])
    )
    rk.save_reward(original, tmp_path / "out" / "saved.py")
    code = "import pickle, saved; print(pickle.loads(pickle.dumps(saved.reward)).name)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "out", timeout=60, capture_output=True, text=True
    )
    assert done.stdout.strip() == "r", done.stderr


def test_future_imports_of_the_file_come_first(tmp_path):
    source = "from __future__ import annotations\n" + FILE.format(
        "def f(completion: Missing):\n    return 1.0"
    )
    path = rk.save_reward(written(tmp_path, source), tmp_path / "out" / "saved.py")
    assert rk.load_reward(str(path))(completion="x").reward == 1.0


def test_what_is_imported_from_beside_the_file_can_be_saved_beside_it_only(tmp_path):
    (tmp_path / "helper_beside.py").write_text("def half():\n    return 0.5\n")
    source = FILE.format("from helper_beside import half\ndef f(completion):\n    return half()")
    original = written(tmp_path, source)
    with pytest.raises(
        rk.RewardError, match="imports 'helper_beside' from beside itself; write the new file"
    ):
        rk.save_reward(original, tmp_path / "out" / "saved.py")
    path = rk.save_reward(original, tmp_path / "saved.py")
    assert rk.load_reward(str(path))(completion="x").reward == 0.5


def test_names_that_two_files_and_the_new_one_have_are_kept_apart(tmp_path):
    functions = []
    for number, value in enumerate((1.0, 0.25)):
        path = tmp_path / f"part{number}.py"
        path.write_text(
            f"import math\ndef reward():\n    return {value}\n\ndef f(completion):\n    return reward()\n"
        )
        functions.append(rk.load_reward(f"{path}:f").components[0].function)
    original = rk.Reward("r", components=[rk.Component(f"c{i}", f) for i, f in enumerate(functions)])
    path = rk.save_reward(original, tmp_path / "out" / "saved.py")
    assert rk.load_reward(str(path))(completion="x").scores == {"c0": 1.0, "c1": 0.25}


AWKWARD = {  # a file, of which a second one has every name, too
    "a name that classes mangle": "def _clean():\n    return WORTH\nclass C:\n    def get(self):\n"
    "        return _clean()\ndef f(completion):\n    return C().get()",
    "a value that is made when it is first asked for": "FOUND = None\ndef f(completion):\n    global FOUND\n"
    "    if FOUND is None:\n        FOUND = WORTH\n    return FOUND",
    "braces of an f-string": "boxed = WORTH\ndef f(completion):\n"
    "    return boxed * (f'{{boxed}}{boxed:.2f}'[:7] == '{boxed}')",
    "an attribute of a class": "SCALE = 8\nclass O:\n    SCALE = WORTH\n    half = SCALE / 2\n"
    "def f(completion):\n    return 2 * O.half",
    "a name in a string": "worth = WORTH\ndef f(completion):\n    return globals()['worth']",
    "quotes of all kinds": 'a = """it\'s \'\'\' \\\\ \u2028"""\n'
    "def f(completion):\n    return WORTH * (a.count(\"'\") == 4 and '\u2028' in a)",
    "a line in a text that reads like an import": "a = '''\nfrom __future__ import nothing\n'''\n"
    "def f(completion):\n    return WORTH * ('nothing' in a)",
    "future imports in brackets": "from __future__ import (\n    annotations,\n)\n"
    "def f(completion: Missing):\n    return WORTH",
    "star imports": "from math import *\ndef f(completion):\n    return WORTH * cos(0)",
}


@pytest.mark.parametrize("kind", AWKWARD)
def test_two_files_in_one_do_what_they_did(kind, tmp_path):
    components = []
    for place, worth in enumerate((0.25, 0.75)):
        text = AWKWARD[kind].replace("WORTH", str(worth))
        (tmp_path / f"part{place}.py").write_text(text, encoding="utf-8")
        (function,) = rk.load_reward(f"{tmp_path}/part{place}.py:f").components
        components.append(rk.Component(f"c{place}", function.function))
    path = rk.save_reward(rk.Reward("two", components=components), tmp_path / "out" / "saved.py")
    for _ in range(2):
        assert rk.load_reward(str(path))(completion="x").scores == {"c0": 0.25, "c1": 0.75}
    again = rk.save_reward(rk.load_reward(str(path)), tmp_path / "out" / "again.py")
    assert rk.load_reward(str(again))(completion="x").scores == {"c0": 0.25, "c1": 0.75}
    code = "import pickle, saved; print(pickle.loads(pickle.dumps(saved.reward))(completion='x').scores)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "out", timeout=60, capture_output=True, text=True
    )
    assert done.stdout.strip() == "{'c0': 0.25, 'c1': 0.75}", done.stderr


def test_two_files_of_one_name_in_one_have_lines_of_their_own(tmp_path):
    components = []
    for folder, worth in (("a", 0.25), ("b", 0.75)):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "same.py"
        path.write_text(f"reward = 0\ndef f(completion):\n    return {worth}\n")
        components.append(rk.Component(folder, rk.load_reward(f"{path}:f").components[0].function))
    path = rk.save_reward(rk.Reward("two", components=components), tmp_path / "saved.py")
    lines = [inspect.getsource(item.function).split()[-1] for item in rk.load_reward(str(path)).components]
    assert lines == ["0.25", "0.75"]


def test_a_file_in_another_encoding_is_copied(tmp_path):
    text = "# -*- coding: latin-1 -*-\ndef f(completion):\n    return float(completion == 'gr\u00fcn')\n"
    (tmp_path / "mine.py").write_bytes(text.encode("latin-1"))
    reward = rk.load_reward(f"{tmp_path}/mine.py:f")
    path = rk.save_reward(reward, tmp_path / "saved.py")
    assert rk.load_reward(str(path))(completion="gr\u00fcn").reward == 1.0


def test_a_function_of_a_notebook_cell_is_copied_if_it_uses_nothing_else(tmp_path):
    cell = "def f(completion):\n    return 1.0\n\ndef g(completion):\n    return f(completion)\n"
    linecache.cache["<cell 1>"] = (len(cell), None, cell.splitlines(keepends=True), "<cell 1>")
    names = {"__name__": "__main__"}
    exec(compile(cell, "<cell 1>", "exec"), names)
    path = rk.save_reward(rk.Reward("r", components=[rk.Component("f", names["f"])]), tmp_path / "saved.py")
    assert rk.load_reward(str(path))(completion="x").reward == 1.0
    with pytest.raises(rk.RewardError, match=r"needs \['f'\]; put it into a file with them"):
        rk.save_reward(rk.Reward("r", components=[rk.Component("g", names["g"])]), tmp_path / "saved.py")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "class T:\n    def __init__(self):\n        self.seen = object()\n    def encode(self, text):\n"
            "        return text.split()\n"
            "f = rk.measure.length(full_until=3, zero_from=6, unit='tokens', tokenizer=T())",
            "uses <",
        ),
        ("g = [lambda completion: 1.0]\n\ndef made():\n    return g[0]\n\nf = None", "no name to write"),
    ],
    ids=["tokenizer with state", "lambda in a list"],
)
def test_a_function_that_cannot_be_written_is_refused_and_no_file_is_left(source, said, tmp_path):
    file = FILE.format(source).replace("'f', f)", "'f', f or made())")
    original = written(tmp_path, file)
    folder = tmp_path / "out"
    with pytest.raises(rk.RewardError) as raised:
        rk.save_reward(original, folder / "saved.py")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value) and "_trial" not in str(raised.value)
    assert not folder.exists() or list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["it's", 'say """hi"""', "back\\slash", "ends with a \\", 'ends with a "', "two\nlines"]
)
def test_any_name_of_a_reward_can_be_saved(name, tmp_path):
    path = rk.save_reward(rk.Reward(name, PREDICTION, [correct()]), tmp_path / "saved.py")
    assert rk.load_reward(str(path)).name == name


def test_a_range_without_an_upper_end_can_be_saved(tmp_path):
    original = reward(rk.Component("c", rk.verify.numbers_equal, range=(0.0, float("inf"))))
    path = rk.save_reward(original, tmp_path / "saved.py")
    assert rk.load_reward(str(path)).components[0].range == (0.0, float("inf"))


def test_a_refusal_leaves_the_old_file_as_it_was(tmp_path):
    path = tmp_path / "saved.py"
    path.write_text("old")
    with pytest.raises(rk.RewardError):
        rk.save_reward(reward(rk.Component("c", lambda completion: 1.0)), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_transform_of_ones_own_without_a_name_is_refused(tmp_path):
    with pytest.raises(rk.RewardError, match="transform"):
        rk.save_reward(reward(correct(), transform=lambda rewards, groups: rewards), tmp_path / "saved.py")


def test_a_file_that_would_say_something_else_is_not_written(tmp_path, monkeypatch):
    other = "rk.Reward('saved', components=[rk.Component('c', rk.verify.matches)])"
    monkeypatch.setattr("rewardkit.rewards.save.Writer.reward", lambda *_: other)
    with pytest.raises(rk.RewardError, match="differs"):
        rk.save_reward(reward(correct()), tmp_path / "saved.py")
    assert list(tmp_path.iterdir()) == []


def test_only_rewards_and_only_python_files_are_written(tmp_path):
    with pytest.raises(rk.RewardError, match=r"does not end in \.py"):
        rk.save_reward(reward(correct()), tmp_path / "saved.txt")
    with pytest.raises(rk.RewardError, match="None is no Reward; make one with"):
        rk.save_reward(None, tmp_path / "saved.py")
    assert list(tmp_path.iterdir()) == []


def test_the_reward_of_loaded_scores_cannot_be_saved(tmp_path):
    scores = rk.score(reward(correct()), [{"completion": "4", "ground_truth": "4"}])
    loaded = rk.load_scores(scores.save(tmp_path / "scores"))
    with pytest.raises(rk.RewardError):
        rk.save_reward(loaded.reward, tmp_path / "saved.py")


def test_numbers_of_numpy_and_values_without_a_literal_are_written(tmp_path):
    bound = partial(rk.verify.numbers_equal, absolute=np.float64(0.5), relative=np.float32(0.25))
    original = reward(rk.Component("c", bound, weight=np.float64(0.75), range=(-np.inf, np.inf)))
    path = rk.save_reward(original, tmp_path / "saved.py")
    assert "absolute=0.5, relative=0.25" in path.read_text() and "weight=0.75" in path.read_text()
    assert definition(rk.load_reward(str(path)).record())["weights"] == {"c": 0.75}


@pytest.mark.parametrize("value", [re.compile("x"), np.zeros(2), Decimal(1)], ids=repr)
def test_a_value_that_has_no_expression_is_refused_by_its_own_name(value, tmp_path):
    bound = partial(rk.verify.numbers_equal, absolute=value)
    with pytest.raises(rk.RewardError, match=r"'c' uses .*, which has no name to write; give"):
        rk.save_reward(reward(rk.Component("c", bound)), tmp_path / "saved.py")


def test_a_transform_of_a_users_file_is_copied(tmp_path):
    source = "import rewardkit as rk\ndef twice(rewards, groups):\n    return 2 * rewards\n"
    source += "reward = rk.Reward('r', components=[rk.Component('c', rk.verify.matches)], transform=twice)\n"
    path = rk.save_reward(written(tmp_path, source), tmp_path / "out" / "saved.py")
    assert rk.load_reward(str(path)).transform.__name__ == "twice"


def test_a_script_that_would_write_a_copy_of_itself_again_is_told_what_to_do(tmp_path):
    lines = [
        "import rewardkit as rk", "def f(completion):", "    return 1.0",
        "reward = rk.Reward('r', components=[rk.Component('f', f)])", "rk.save_reward(reward, 'saved.py')",
    ]  # fmt: skip
    for begin, said in (("", "write it under if __name__ == '__main__'"), ("if __name__ == '__main__':", "")):
        (tmp_path / "script.py").write_text("\n".join([*lines[:-1], f"{begin} {lines[-1]}".strip()]))
        command = [sys.executable, "script.py"]
        done = subprocess.run(command, cwd=tmp_path, timeout=60, capture_output=True, text=True)
        assert said in done.stderr and (tmp_path / "saved.py").exists() == (not said), done.stderr


def test_trying_the_file_leaves_no_module_behind(tmp_path):
    before = set(sys.modules)
    rk.save_reward(reward(correct()), tmp_path / "saved.py")
    assert set(sys.modules) - before == set()


def test_the_written_file_is_readable_python_with_one_import(tmp_path):
    path = rk.save_reward(SAVED["gates"](), tmp_path / "saved.py")
    spec = importlib.util.spec_from_file_location("saved_by_hand", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.reward.names == ("correct", "length")
    assert path.read_text().startswith("# Reward 'saved', saved by rewardkit.\n\nimport rewardkit as rk\n")
