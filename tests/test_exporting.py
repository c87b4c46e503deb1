"""export(): the file, what it says, what is refused; and the functions in memory."""

import json
import pickle
import subprocess
import sys
from importlib.metadata import version

import cloudpickle
import pytest
from commands import run

import rewardkit as rk
from rewardkit.targets import TARGETS, find_target, trl, verl
from rewardkit.targets.export import export
from rewardkit.targets.exported import identifier
from rewardkit.targets.target import import_file

pytestmark = pytest.mark.integration

WRITTEN = [target.name for target in TARGETS if target.functions is not None]


def arithmetic():
    return rk.load_reward("gallery:arithmetic")


def abstains(completion):
    return None


def fails(completion):
    return 1 / len(completion)


def half(completion):
    return 0.5


def priced(completion, prompt):
    return 1.0


def share_of_group(completion):
    return [1 / len(completion)] * len(completion)


async def waits(completion):
    return 1.0


def one_of(function, name="u", **options):
    return rk.Reward("r", components=[rk.Component(name, function, **options)])


def python(code, folder, sent=None):
    """What a new process in this folder writes to its standard output."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, input=sent, capture_output=True, timeout=60, cwd=folder
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


@pytest.mark.parametrize("target", WRITTEN)
def test_a_file_says_what_it_is_how_it_is_used_and_what_is_lost(
    target, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        sys, "dont_write_bytecode", False
    )  # no bytecode is left beside it, either
    made = export(arithmetic(), to=target, path=tmp_path / "deep" / "mine.py")
    text = made.path.read_text()
    prints = arithmetic().record()["fingerprints"]
    assert (
        prints["scoring"] in text
        and prints["reward"] in text
        and "written by rewardkit" in text
    )
    flat = " ".join(text.replace("#", " ").split())
    for sentence in (*made.losses, *made.usage.splitlines()):
        assert " ".join(sentence.replace("#", " ").split()) in flat
    assert (
        list(made.path.parent.iterdir()) == [made.path]
        and sys.dont_write_bytecode is False
    )
    assert str(made.path) in repr(made)
    assert set(json.loads(json.dumps(made.record()))) == {
        "target",
        "path",
        "losses",
        "usage",
        "install",
    }


def test_the_names_that_a_data_set_has_are_known_or_given():
    rows = {
        "prompts": ["2+2", "2+2"],
        "completions": ["<answer>4</answer>", "<answer>5</answer>"],
    }
    for column in ("answer", "solution", "ground_truth", "target"):
        given = trl.functions(arithmetic())[0](**rows, **{column: ["4", "4"]})
        assert given[0] > 1 > given[1]
    (named_so,) = trl.functions(arithmetic(), columns={"ground_truth": "label_17"})
    assert named_so(**rows, label_17=["5", "5"], answer=["4", "4"])[1] > 1
    with pytest.raises(
        rk.RewardError, match=r"asks for 'ground_truth'.*or export again with columns="
    ):
        trl.functions(arithmetic())[0](**rows)


def test_siblings_are_the_completions_of_one_prompt():
    (function,) = trl.functions(one_of(share_of_group, group=True))
    assert function(prompts=["a", "b", "a"], completions=["x", "y", "z"]) == [
        0.5,
        1.0,
        0.5,
    ]
    chat = [[{"role": "user", "content": name}] for name in ("a", "b", "a")]
    turns = [[{"role": "assistant", "content": "x"}]] * 3
    assert function(prompts=chat, completions=turns) == [0.5, 1.0, 0.5]


def test_an_error_is_no_score_and_is_logged_and_what_abstains_is_not(caplog):
    (silent,) = trl.functions(one_of(abstains))
    assert silent(prompts=["p"], completions=["x"]) == [None] and caplog.text == ""
    reward = one_of(fails, "fails", range=None)
    assert trl.functions(reward)[0](prompts=["p"] * 2, completions=["ab", ""]) == [
        0.5,
        None,
    ]
    assert (
        "component 'fails' failed: ZeroDivisionError: division by zero" in caplog.text
    )
    assert verl.functions(reward)("s", "", "t") == {
        "score": 0.0,
        "judged": 0.0,
        "fails": 0.0,
        "judged/fails": 0.0,
    }
    assert verl.functions(reward, missing=-2.0)("s", "", "t") == {
        "score": -2.0,
        "judged": 0.0,
        "fails": -2.0,
        "judged/fails": 0.0,
    }


def test_verl_finds_columns_in_extra_info_and_gated_components_count_nothing():
    late = rk.Component("late", half, gate=rk.gate("grade", at_least=0.75), weight=2.0)
    parts = [rk.Component("grade", lambda completion, level: level / 4), late]
    reward = rk.Reward("v", components=parts)
    function, batch = (
        verl.functions(reward, batch=together) for together in (False, True)
    )
    assert function("s", "x", None, {"level": 2}) == {
        "score": 0.5,
        "judged": 1.0,
        "grade": 0.5,
        "judged/grade": 1.0,
        "late": 0.0,
        "judged/late": 1.0,
    }
    found = batch(["s"] * 2, ["x", "y"], [None] * 2, [{"level": 3}, {"level": 4}])
    assert [one["score"] for one in found] == [1.75, 2.0]


def test_functions_in_memory_of_a_users_file_can_be_had_in_another_process(tmp_path):
    (tmp_path / "theirs.py").write_text(
        "SHARE = 0.25\n\ndef half():\n    return 2 * SHARE\n\n"
        "def f(completion, ground_truth):\n    return half()\n"
    )
    reward = rk.load_reward(f"{tmp_path / 'theirs.py'}:f")
    made = [find_target(target).functions(reward) for target in WRITTEN]
    sent = pickle.dumps(
        [dumps(one) for dumps in (pickle.dumps, cloudpickle.dumps) for one in made]
    )
    (tmp_path / "theirs.py").unlink()
    code = """
import sys, pickle
for one in map(pickle.loads, pickle.load(sys.stdin.buffer)):
    one = one[0] if isinstance(one, list) else one
    print(one.reward(completion="x", ground_truth="y").reward)
"""
    assert python(code, tmp_path, sent).split() == [b"0.5"] * 2 * len(WRITTEN)


def test_functions_of_files_survive_pickling_into_another_process_and_need_the_light_core_only(
    tmp_path,
):
    """What the notebook, the tests and the trainers bring along is not imported by them."""
    made = {
        target: export(
            arithmetic(), to=target, path=tmp_path / f"for_{identifier(target)}.py"
        ).functions[0]
        for target in WRITTEN
    }
    called = {
        name: made[name] for name in ("trl", "verl", "siirl", "tunix", "openrlhf")
    }
    listed = ", ".join(f"for_{target}.{name}" for target, name in called.items())
    heavy = [
        "IPython",
        "jupyterlab",
        "matplotlib",
        "papermill",
        "torch",
        "trl",
        "openai",
        "ipywidgets",
    ]
    code = f"""
import sys, {", ".join(f"for_{identifier(target)}" for target in WRITTEN)}
assert not [name for name in {heavy} if name in sys.modules]
import cloudpickle, pickle
listed = [{listed}, for_tunix.get_reward_functions]
sys.stdout.buffer.write(pickle.dumps([pickle.dumps(listed), cloudpickle.dumps(listed)]))
"""
    read = (
        "import sys, pickle\nfor one in map(pickle.loads, pickle.load(sys.stdin.buffer)):\n"
        "    *given, listed = one\n    print(*(one.__name__ for one in [*given, *listed()]))"
    )
    expected = [*called.values(), called["tunix"]] * 2
    assert python(read, tmp_path, python(code, tmp_path)).decode().split() == expected


REFUSED = {
    "no reward": ({"reward": None}, "None is no Reward; make one with rk.Reward"),
    "unknown target": (
        {"to": "tlr"},
        "there is no target 'tlr'; known are .* did you mean 'trl'",
    ),
    "a column": (
        {"to": "easyr1", "reward": one_of(priced)},
        "for EasyR1: it needs 'prompt', and EasyR1",
    ),
    "lambda": (
        {"to": "verl", "reward": one_of(lambda completion: 1.0)},
        "no name to write",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_exported_is_one_sentence_and_no_file(kind, tmp_path):
    given, said = REFUSED[kind]
    options = {"reward": arithmetic(), "to": "trl", **given}
    with pytest.raises(rk.RewardError, match=said):
        export(options["reward"], to=options["to"], path=tmp_path / "mine.py")
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_the_users_is_never_written_over(tmp_path):
    theirs, ours = tmp_path / "saved.py", tmp_path / "ours.py"
    before = rk.save_reward(arithmetic(), theirs).read_text()
    with pytest.raises(
        rk.RewardError, match="is there and is no file that export wrote"
    ):
        export(arithmetic(), to="verl", path=theirs)
    assert theirs.read_text() == before
    for target, title in (("verl", "verl"), ("trl", "TRL")):
        text = export(arithmetic(), to=target, path=ours).path.read_text()
        assert text.startswith(f"# Reward 'arithmetic-v1' for {title}")


def test_a_loaded_function_goes_to_another_trainer_with_all_that_it_uses(tmp_path):
    (tmp_path / "theirs.py").write_text(
        "import re\nPATTERN = re.compile('<answer>(.*?)</answer>')\n\n"
        "def found(text):\n    return PATTERN.findall(text)\n\n"
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n"
        "    return {'score': 1.0 if found(solution_str)[-1:] == [ground_truth] else -0.5}\n"
    )
    rollouts = rk.load_rollouts("gallery:arithmetic").select(range(32))
    reward = rk.load_reward(
        f"{tmp_path / 'theirs.py'}:compute_score", rollouts=rollouts
    )
    made = export(reward, to="trl", path=tmp_path / "mine" / "mine_trl.py")
    (tmp_path / "theirs.py").unlink()
    columns = rollouts.columns()
    names = {"prompt": "prompts", "completion": "completions", "ground_truth": "answer"}
    batch = {given: columns[name] for name, given in names.items()}
    given = getattr(import_file(made.path), made.functions[0])(**batch)
    assert given == rk.score(reward, rollouts).rewards.tolist() and set(given) == {
        1.0,
        -0.5,
    }


def test_a_file_that_needs_another_beside_it_says_so(tmp_path):
    (tmp_path / "worth_beside.py").write_text("def half(completion):\n    return 0.5\n")
    (tmp_path / "mine.py").write_text(
        "from worth_beside import half\ndef f(completion):\n    return half('x')\n"
    )
    made = export(
        rk.load_reward(f"{tmp_path}/mine.py:f"), to="trl", path=tmp_path / "new.py"
    )
    assert made.losses[-1] == "it needs worth_beside.py beside it, wherever it runs"


def test_a_function_called_as_the_trainers_makes_room_for_it(tmp_path):
    """verl's compute_score for verl again: what is pickled by its name must be found under it."""
    (tmp_path / "theirs.py").write_text(
        "_score = 0.25\n\ndef compute_score(data_source, solution_str, ground_truth, extra_info=None):\n"
        "    return len(solution_str) * _score\n\ndef twice(data_source, solution_str, ground_truth):\n"
        "    return 2 * compute_score(data_source, solution_str, ground_truth)\n"
    )
    reward = rk.load_reward(f"{tmp_path / 'theirs.py'}:twice")
    made = export(reward, to="verl", path=tmp_path / "mine.py")
    text = made.path.read_text()
    assert (
        text.count("def compute_score(") == 2
        and "_theirs = _run_text('theirs.py', r'''" in text
    )
    function = import_file(made.path).compute_score
    assert (
        function(data_source=None, solution_str="abcd", ground_truth="")["score"] == 2.0
    )
    code = "import pickle, mine; print(pickle.loads(pickle.dumps(mine._reward)).name)"
    assert python(code, tmp_path).strip() == b"twice"


def test_separate_functions_have_their_weights_in_the_trainers_settings(tmp_path):
    made = export(arithmetic(), to="trl", path=tmp_path / "mine.py", separate=True)
    assert f"reward_weights={list(arithmetic().weights.values())!r}" in made.usage
    assert made.functions == arithmetic().names


@pytest.mark.parametrize(
    ("target", "reward", "separate", "said"),
    [
        ("tunix", arithmetic(), False, "adds functions up without weights"),
        ("trl", one_of(waits), False, "async components (u) are awaited together"),
        ("benchmax", arithmetic(), False, "in [0, 1]: the sum goes from -0.2 to 1.3"),
        ("benchmax", one_of(half, range=(0, 5)), True, "in [0, 1]: u may leave it"),
    ],
)
def test_what_is_lost_on_a_trainer_is_said(target, reward, separate, said, tmp_path):
    made = export(reward, to=target, path=tmp_path / "out.py", separate=separate)
    kept = export(one_of(abstains), to="trl", path=tmp_path / "kept.py")
    assert said in " ".join(made.losses) and said not in " ".join(kept.losses)


@pytest.mark.parametrize(
    ("record", "written"),
    [
        ("runs/1", "record='runs/1'"),
        (rk.Recorder("runs/1", redact=True, max_bytes=1_000_000), "record=rk.Recorder('runs/1', redact=True, max_bytes=1000000)"),
    ],
)  # fmt: skip
def test_a_file_says_where_it_records_and_which_time_limit_it_keeps(
    record, written, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    made = export(arithmetic(), to="trl", path="mine.py", record=record, timeout=5.0)
    assert f"{written}, timeout=5.0" in made.path.read_text()
    function = getattr(import_file(made.path.resolve()), made.functions[0])
    function(["2+2?"], ["<answer>4</answer>"], ground_truth=["4"])
    (rk.Recorder("runs/1") if isinstance(record, str) else record).flush()
    assert rk.load_scores("runs/1").record["timeout"] == 5.0


def test_the_command_records_and_keeps_a_time_limit_and_refuses_what_cannot_be(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    line = "export gallery:arithmetic --to verl -o mine.py --record runs/1 --timeout"
    result = run(f"{line} 5")
    assert result.exit_code == 0, result.output
    assert "record='runs/1', timeout=5.0" in (tmp_path / "mine.py").read_text()
    assert run(f"{line} 0").exit_code == 2
    for options in ({"record": ""}, {"timeout": 0}):
        with pytest.raises(rk.RewardError, match="give"):
            export(arithmetic(), to="trl", path="other.py", **options)
    assert not (tmp_path / "other.py").exists()


USING = """
import math

import hypothesis
import numpy as np
import rewardkit as rk
import nowhere_to_be_found
from beside import half


def right(completion):
    return half(completion)


reward = rk.Reward("r", components=[rk.Component("right", right)])
"""


def test_an_export_says_how_to_install_what_it_imports(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    nowhere = type(sys)("nowhere_to_be_found")
    monkeypatch.setitem(sys.modules, "nowhere_to_be_found", nowhere)
    (tmp_path / "beside.py").write_text(
        "import pytest\n\n\ndef half(completion):\n    return 0.5\n"
    )
    (tmp_path / "mine.py").write_text(USING)
    reward = rk.load_reward(str(tmp_path / "mine.py"))
    made = export(reward, to="verl", path=tmp_path / "out.py")
    packages = made.install.partition("pip install .")[2]
    assert f"'hypothesis=={version('hypothesis')}'" in packages
    assert f"'pytest=={version('pytest')}'" in packages  # of the file beside it
    assert "'nowhere_to_be_found'" in packages
    assert not {"numpy", "math", "beside'"} & {*packages.replace("'", " ").split()}
    assert made.install in repr(made) and made.record()["install"] == made.install
    flat = " ".join(made.path.read_text().replace("#", " ").split())
    assert made.install in flat
    alone = export(arithmetic(), to="trl", path=tmp_path / "alone.py")
    assert alone.install.endswith("imported as rewardkit")
