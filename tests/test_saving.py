"""save_reward(): a file that gives the same reward again, or a refusal and no file."""

import json
import linecache
import re
import runpy
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from tables import read_blocks

import rewardkit as rk

PREDICTION = {
    "prediction": rk.extract.first_of(
        rk.extract.tag("answer"), rk.extract.number(which="last")
    )
}


def reward(*components, **options):
    return rk.Reward("saved", options.pop("fields", PREDICTION), components, **options)


def correct(**options):
    return rk.Component("correct", rk.verify.numbers_equal, **options)


def definition(reward):
    """The record without where the sources lie and what hangs on that."""

    def without_places(pairs):
        return {
            key: value for key, value in pairs if key not in ("sources", "fingerprints")
        }

    return json.loads(
        json.dumps(reward.record(), default=str), object_pairs_hook=without_places
    )


def written(folder, source, name="mine.py"):
    (folder / name).write_text(source)
    return rk.load_reward(str(folder / name))


def length(**options):
    return rk.Component(
        "length", rk.measure.length(full_until=3, zero_from=9), **options
    )


within = rk.extract.within(
    rk.extract.tag("answer", unclosed=True),
    rk.extract.first_of(rk.extract.boxed(), rk.extract.number()),
)
NESTED = {
    "prediction": within,
    "sources": rk.extract.every(rk.extract.citation("See")),
    "spoken": partial(rk.extract.assistant_text, turns="all", tool_calls=True),
}
BOUND = correct(gate=rk.gate("step", at_least=1, at_most=9.5))
GATES = {"gate": rk.gate("ground_truth", equals='it\'s "4"')}
QUOTED = correct(weight=-0.25, range=(-1.0, 2.0), why='"""it\'s\\\nöne', primary=True)
NUMPY = correct(weight=np.float64(0.75), range=(-np.inf, np.inf))
SAVED = {
    "a pattern that is bound": lambda: bound_to(re.compile("a+")),
    "gallery with functions": lambda: rk.load_reward("gallery:arithmetic.flawed"),
    "route": lambda: rk.load_reward("gallery:mixed"),
    "numbers of numpy": lambda: reward(NUMPY),
    "gates": lambda: reward(
        BOUND, length(gate=rk.gate("correct", at_least=1.0)), **GATES
    ),
    "transform": lambda: reward(
        correct(), transform=rk.weigh.standardise(clip=2.5, within="batch")
    ),
    "aggregation": lambda: reward(
        correct(), aggregation="weighted_mean", on_missing="skip"
    ),
    "penalty, range and why": lambda: reward(QUOTED, length(range=None, weight=0)),
    "extractors in each other": lambda: reward(correct(), fields=NESTED),
    **{
        f"the name {name!r}": lambda name=name: rk.Reward(name, PREDICTION, [correct()])
        for name in (
            'say """hi"""',
            "ends with a \\",
            "ends with a 'quote'",
            "two\nlines",
        )
    },
}


@pytest.mark.parametrize("kind", SAVED)
def test_a_saved_reward_is_the_same_reward_when_it_is_loaded(kind, tmp_path):
    original = SAVED[kind]()
    path = rk.save_reward(original, tmp_path / "deep" / "saved.py")
    modules = set(sys.modules)
    rk.save_reward(original, path)
    assert set(sys.modules) == modules, "trying the file leaves no module behind"
    head = r"# Reward .*, saved by rewardkit\.\n\n(from functools import partial\n)?(import re\n)?import rewardkit as rk\n"
    assert re.match(head, path.read_text())
    again = rk.load_reward(f"{path}:reward")
    assert type(again) is type(original)
    assert definition(again) == definition(original)
    assert list(path.parent.iterdir()) == [path]


COPIED = '''
from __future__ import annotations
import rewardkit as rk

def graded(completion, *, ground_truth, level=2):
    """Half for something, all for the truth."""
    rk.note("level", level)
    return 1.0 if completion == ground_truth else sum(letter == "x" for letter in completion) / 4

def is_long(completion):
    return len(completion) > 1

def twice(rewards, groups):
    return 2 * rewards

reward = rk.Reward("copied", {"size": is_long}, [
    rk.Component("graded", graded, gate=rk.gate(is_long)), rk.Component("again", graded, weight=0.5),
], transform=twice)
'''


def test_functions_of_a_file_are_copied_once_and_do_the_same_without_it(tmp_path):
    original = written(tmp_path, COPIED)
    path = rk.save_reward(original, tmp_path / "saved.py")
    (tmp_path / "mine.py").unlink()
    again = rk.load_reward(str(path))
    assert path.read_text().count("def graded") == 1
    assert again.transform.__name__ == "twice"
    for completion in ("x", "xx", "4 apples"):
        row = {"completion": completion, "ground_truth": "4 apples"}
        assert repr(again(**row)) == repr(original(**row))


FILE = "import rewardkit as rk\nimport math\n{}\nreward = rk.Reward('r', components=[rk.Component('f', f)])\n"

WITH_WHAT_IT_USES = read_blocks("""
== class
class Base:
    worth = 1.0
class F(Base):
    def __call__(self, completion):
        return self.worth
f = F()

== tokenizer
class T:
    def encode(self, text):
        return text.split()
f = rk.measure.length(full_until=3, zero_from=6, unit='tokens', tokenizer=T())

== object with state
class F:
    def __init__(self, k):
        self.k = k
    def __call__(self, completion):
        return self.k
f = F(1.0)

== closure
def made(k):
    def f(completion):
        return k
    return f
f = made(1.0)

== a name bound again later
def helper():
    return 1.0
def f(completion):
    return helper()
first = f
def f(completion):
    return 0.0
first, f = f, first
""")


@pytest.mark.parametrize("kind", WITH_WHAT_IT_USES)
def test_a_function_is_copied_with_its_whole_file(kind, tmp_path):
    original = written(tmp_path, FILE.format("# theirs\n" + WITH_WHAT_IT_USES[kind]))
    path = rk.save_reward(original, tmp_path / "out" / "saved.py")
    (tmp_path / "mine.py").unlink()
    again = rk.load_reward(str(path))
    assert again(completion="x").reward == original(completion="x").reward == 1.0
    assert "# theirs" in path.read_text()


@pytest.mark.parametrize(
    ("more", "count"),
    [("", 1), ("\nparts = reward.components\n", 2), ("\nreward = reward\n", 2)],
)
def test_the_reward_of_a_copied_file_goes_unless_the_file_reads_it(
    more, count, tmp_path
):
    body = "HALF = 0.5\ndef f(completion):\n    return HALF\n# as it was"
    source = FILE.format(body) + more
    original = written(tmp_path, source).reweigh({"f": 0.25})
    exported = rk.export(original, to="trl", path=tmp_path / "exported.py")
    for path in (rk.save_reward(original, tmp_path / "saved.py"), exported.path):
        text = path.read_text()
        assert (text.count("rk.Reward("), text.count("HALF")) == (count, 2), text
        assert ("# as it was" in text) == (count == 2)
    assert rk.load_reward(str(tmp_path / "saved.py"))(completion="x").reward == 0.125


@pytest.mark.parametrize(("name", "count"), [("reward", 1), ("graded", 2)])
def test_each_name_that_a_copied_file_exports_is_in_the_saved_one(
    name, count, tmp_path
):
    source = FILE.format(
        f"__all__ = ['f']\n__all__ += [{name!r}]\ndef f(completion):\n    return 1.0"
    )
    original = written(tmp_path, source.replace("reward =", f"{name} ="))
    path = rk.save_reward(original.reweigh({"f": 0.25}), tmp_path / "saved.py")
    assert path.read_text().count("rk.Reward(") == count
    names = runpy.run_path(str(path))
    assert {*names["__all__"]} <= {*names}


def test_what_is_imported_from_beside_the_file_can_be_saved_beside_it_only(tmp_path):
    (tmp_path / "helper_beside.py").write_text("def half():\n    return 0.5\n")
    source = FILE.format(
        "from helper_beside import half\ndef f(completion):\n    return half()"
    )
    original = written(tmp_path, source)
    with pytest.raises(
        rk.RewardError,
        match="imports 'helper_beside' from beside itself; write the new file",
    ):
        rk.save_reward(original, tmp_path / "out" / "saved.py")
    path = rk.save_reward(original, tmp_path / "saved.py")
    assert rk.load_reward(str(path))(completion="x").reward == 0.5


AWKWARD = {  # a file, of which a second one has every name, too
    "names of the new file": "reward = WORTH\ndef f(completion):\n    return reward",
    "a value that is made when it is first asked for": "FOUND = None\ndef f(completion):\n    global FOUND\n"
    "    if FOUND is None:\n        FOUND = WORTH\n    return FOUND",
    "quotes of all kinds": 'a = """it\'s \'\'\' \\\\ \u2028"""\n'
    "def f(completion):\n    return WORTH * (a.count(\"'\") == 4 and '\u2028' in a)",
    "future imports": "from __future__ import (\n    annotations,\n)\n"
    "def f(completion: Missing):\n    return WORTH",
}


def test_two_files_in_one_do_what_they_did_and_are_pickled_into_another_process(
    tmp_path,
):
    names = [f"saved_{at}" for at in range(len(AWKWARD))]
    expected = {"c0": 0.25, "c1": 0.75}
    for name, source in zip(names, AWKWARD.values(), strict=True):
        components = []
        for place, worth in enumerate((0.25, 0.75)):
            path = tmp_path / f"part{place}.py"
            path.write_text(source.replace("WORTH", str(worth)), encoding="utf-8")
            (function,) = rk.load_reward(f"{path}:f").components
            components.append(rk.Component(f"c{place}", function.function))
        both = reward(*components, fields={})
        path = rk.save_reward(both, tmp_path / f"out/{name}.py")
        again = rk.save_reward(rk.load_reward(str(path)), tmp_path / "again.py")
        for file in (path, path, again):
            loaded = rk.load_reward(str(file))
            assert loaded(completion="x").scores == expected, source
    code = f"import pickle, {', '.join(names)}\nfor one in ({', '.join(names)}):\n"
    code += "    print(pickle.loads(pickle.dumps(one.reward))(completion='x').scores)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "out",
        timeout=60,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [str(expected)] * len(names), done.stderr


def test_a_function_of_a_notebook_cell_is_copied_if_it_uses_nothing_else(tmp_path):
    cell = "def f(completion):\n    return 1.0\n\ndef g(completion):\n    return f(completion)\n"
    linecache.cache["<cell 1>"] = (
        len(cell),
        None,
        cell.splitlines(keepends=True),
        "<cell 1>",
    )
    names = {"__name__": "__main__"}
    exec(compile(cell, "<cell 1>", "exec"), names)
    alone, calling = (
        reward(rk.Component(name, names[name]), fields={}) for name in "fg"
    )
    path = rk.save_reward(alone, tmp_path / "saved.py")
    assert rk.load_reward(str(path))(completion="x").reward == 1.0
    with pytest.raises(rk.RewardError, match=r"needs \['f'\]; put it into a file with"):
        rk.save_reward(calling, path)


STATEFUL = """
class T:
    def __init__(self):
        self.seen = object()
    def encode(self, text):
        return text.split()
f = rk.measure.length(full_until=3, zero_from=6, unit='tokens', tokenizer=T())"""
NO_NAME = r"'c' uses .*, which has no name to write; give"


def of_a_file(folder):
    return written(folder, FILE.format(STATEFUL))


def of_loaded_scores(folder):
    scores = rk.score(reward(correct()), [{"completion": "4", "ground_truth": "4"}])
    return rk.load_scores(scores.save(folder / "scores")).reward


def bound_to(value):
    return reward(rk.Component("c", partial(rk.verify.numbers_equal, absolute=value)))


REFUSED = {
    "no reward": (None, "None is no Reward; make one with"),
    "a lambda": (reward(rk.Component("c", lambda completion: 1.0)), "lambda"),
    "a transform": (
        reward(correct(), transform=lambda rewards, groups: rewards),
        "transform",
    ),
    "an object": (bound_to(object()), NO_NAME),
    "an object of a file": (of_a_file, "uses <"),
    "loaded scores": (of_loaded_scores, NO_NAME.replace("c", "prediction", 1)),
    "another ending": (reward(correct()), r"does not end in \.py"),
    "another reward": (reward(correct()), "differs"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_has_no_text_is_refused_in_one_sentence_and_the_old_file_stays(
    kind, tmp_path, monkeypatch
):
    given, said = REFUSED[kind]
    given = (
        given(tmp_path)
        if callable(given) and not isinstance(given, rk.Reward)
        else given
    )
    if kind == "another reward":
        other = "rk.Reward('saved', components=[rk.Component('c', rk.verify.matches)])"
        monkeypatch.setattr(
            "rewardkit.rewards.save.DefinitionWriter.reward", lambda *_: other
        )
    path = tmp_path / ("out/saved.txt" if kind == "another ending" else "out/saved.py")
    path.parent.mkdir()
    path.write_text("old")
    with pytest.raises(rk.RewardError, match=said) as raised:
        rk.save_reward(given, path)
    assert "\n" not in str(raised.value) and "_trial" not in str(raised.value)
    assert path.read_text() == "old" and list(path.parent.iterdir()) == [path]


def test_a_script_that_would_write_a_copy_of_itself_again_is_told_what_to_do(tmp_path):
    lines = [
        "import rewardkit as rk", "def f(completion):", "    return 1.0",
        "reward = rk.Reward('r', components=[rk.Component('f', f)])", "rk.save_reward(reward, 'saved.py')",
    ]  # fmt: skip
    for begin, said in (
        ("", "write it under if __name__ == '__main__'"),
        ("if __name__ == '__main__':", ""),
    ):
        (tmp_path / "script.py").write_text(
            "\n".join([*lines[:-1], f"{begin} {lines[-1]}".strip()])
        )
        command = [sys.executable, "script.py"]
        done = subprocess.run(
            command, cwd=tmp_path, timeout=60, capture_output=True, text=True
        )
        assert said in done.stderr and (tmp_path / "saved.py").exists() == (not said), (
            done.stderr
        )
