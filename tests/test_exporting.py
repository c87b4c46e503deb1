"""export(): the file, what it says, what is refused; and the functions in memory."""

import json
import pickle
import subprocess
import sys
from dataclasses import replace

import cloudpickle
import numpy as np
import pytest

import rewardkit as rk
from rewardkit.targets import TARGETS, named, trl, verl
from rewardkit.targets.calling import loaded
from rewardkit.targets.export import export
from rewardkit.targets.exported import identifier

WRITTEN = [target.name for target in TARGETS if target.functions is not None]

ROWS = rk.load_rollouts("gallery:arithmetic").select(range(32))


def arithmetic():
    return rk.load_reward("gallery:arithmetic")


def as_trl(columns):
    names = {"prompt": "prompts", "completion": "completions", "ground_truth": "answer"}
    return {given: columns[name] for name, given in names.items()}


def abstains(completion):
    return None


def fails(completion):
    return 1 / len(completion)


def siblings(completion):
    return [1.0] * len(completion)


def priced(completion, prompt):
    return 1.0


@pytest.mark.parametrize("target", WRITTEN)
def test_a_file_says_what_it_is_how_it_is_used_and_what_is_lost(target, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)  # no bytecode is left beside it, either
    made = export(arithmetic(), to=target, path=tmp_path / "deep" / "mine.py")
    text = made.path.read_text()
    prints = arithmetic().record()["fingerprints"]
    assert prints["scoring"] in text and prints["reward"] in text and "written by rewardkit" in text
    flat = " ".join(text.replace("#", " ").split())
    for sentence in (*made.losses, *made.usage.splitlines()):
        assert " ".join(sentence.replace("#", " ").split()) in flat
    assert list(made.path.parent.iterdir()) == [made.path] and sys.dont_write_bytecode is False
    assert str(made.path) in repr(made)
    assert set(json.loads(json.dumps(made.record()))) == {"target", "path", "losses", "usage"}


def python(code, folder, sent=None, both=False):
    """What a new process in this folder writes to its standard output; and to the other one where asked."""
    done = subprocess.run(
        [sys.executable, "-c", code], input=sent, capture_output=True, timeout=60, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return (done.stdout, done.stderr) if both else done.stdout


def test_the_names_that_a_data_set_has_are_known_or_given():
    rows = {"prompts": ["2+2", "2+2"], "completions": ["<answer>4</answer>", "<answer>5</answer>"]}
    for column in ("answer", "solution", "ground_truth", "target"):
        given = trl.functions(arithmetic())[0](**rows, **{column: ["4", "4"]})
        assert given[0] > 1 > given[1]
    (named_so,) = trl.functions(arithmetic(), columns={"ground_truth": "label_17"})
    assert named_so(**rows, label_17=["5", "5"], answer=["4", "4"])[1] > 1
    with pytest.raises(rk.RewardError, match=r"asks for 'ground_truth'.*or export again with columns="):
        trl.functions(arithmetic())[0](**rows)


def test_siblings_are_the_completions_of_one_prompt():
    (function,) = trl.functions(one_of(share_of_group, group=True))
    assert function(prompts=["a", "b", "a"], completions=["x", "y", "z"]) == [0.5, 1.0, 0.5]
    chat = [[{"role": "user", "content": name}] for name in ("a", "b", "a")]
    turns = [[{"role": "assistant", "content": "x"}]] * 3
    assert function(prompts=chat, completions=turns) == [0.5, 1.0, 0.5]


def share_of_group(completion):
    return [1 / len(completion)] * len(completion)


def test_an_error_is_no_score_and_is_logged_and_what_abstains_is_not(caplog):
    assert (
        trl.functions(one_of(abstains))[0](prompts=["p"], completions=["x"]) == [None] and caplog.text == ""
    )
    reward = one_of(fails, "fails", range=None)
    assert trl.functions(reward)[0](prompts=["p"] * 2, completions=["ab", ""]) == [0.5, None]
    assert "component 'fails' failed: ZeroDivisionError: division by zero" in caplog.text
    assert verl.functions(reward)("s", "", "t") == {"score": 0.0, "judged": 0.0, "fails": 0.0}
    assert verl.functions(reward, missing=-2.0)("s", "", "t") == {"score": -2.0, "judged": 0.0, "fails": -2.0}


def test_verl_finds_columns_in_extra_info_and_gated_components_count_nothing():
    late = rk.Component("late", half, gate=rk.gate("grade", at_least=0.75), weight=2.0)
    parts = [rk.Component("grade", lambda completion, level: level / 4), late]
    reward = rk.Reward("v", components=parts)
    function = verl.functions(reward)
    assert function("s", "x", None, {"level": 2}) == {"score": 0.5, "judged": 1.0, "grade": 0.5, "late": 0.0}
    assert function("s", "x", None, {"level": 3})["score"] == 1.75
    batch = verl.functions(reward, batch=True)
    found = batch(["s"] * 2, ["x", "y"], [None] * 2, [{"level": 2}, {"level": 4}])
    assert [one["score"] for one in found] == [0.5, 2.0]


def test_functions_in_memory_of_a_users_file_can_be_had_in_another_process(tmp_path):
    (tmp_path / "theirs.py").write_text(
        "SHARE = 0.25\n\ndef half():\n    return 2 * SHARE\n\n"
        "def f(completion, ground_truth):\n    return half()\n"
    )
    reward = rk.load_reward(f"{tmp_path / 'theirs.py'}:f")
    made = [named(target).functions(reward) for target in WRITTEN]
    sent = pickle.dumps([dumps(one) for dumps in (pickle.dumps, cloudpickle.dumps) for one in made])
    (tmp_path / "theirs.py").unlink()
    code = """
import sys, pickle
for one in map(pickle.loads, pickle.load(sys.stdin.buffer)):
    one = one[0] if isinstance(one, list) else one
    print(one.reward(completion="x", ground_truth="y").reward)
"""
    assert python(code, tmp_path, sent).split() == [b"0.5"] * 2 * len(WRITTEN)


def test_functions_of_files_survive_pickling_into_another_process_and_need_the_light_core_only(tmp_path):
    """What the notebook, the tests and the trainers bring along is not imported by them."""
    for target in WRITTEN:
        export(arithmetic(), to=target, path=tmp_path / f"for_{identifier(target)}.py")
    targets = ("trl", "verl", "siirl", "tunix", "openrlhf")
    made = {
        target: export(arithmetic(), to=target, path=tmp_path / f"for_{target}.py").functions[0]
        for target in targets
    }
    listed = ", ".join(f"for_{target}.{name}" for target, name in made.items())
    heavy = ["IPython", "jupyterlab", "matplotlib", "papermill", "torch", "trl", "openai", "ipywidgets"]
    code = f"""
import sys, {", ".join(f"for_{identifier(target)}" for target in WRITTEN)}
sys.stderr.write(str([name for name in {heavy} if name in sys.modules]))
import cloudpickle, pickle
listed = [{listed}, for_tunix.get_reward_functions]
sys.stdout.buffer.write(pickle.dumps([pickle.dumps(listed), cloudpickle.dumps(listed)]))
"""
    sent, said = python(code, tmp_path, both=True)
    assert said == b"[]"
    read = (
        "import sys, pickle\nfor one in map(pickle.loads, pickle.load(sys.stdin.buffer)):\n"
        "    *given, listed = one\n    print(*(one.__name__ for one in [*given, *listed()]))"
    )
    assert python(read, tmp_path, sent).decode().split() == [*made.values(), made["tunix"]] * 2


def one_of(function, name="u", **options):
    return rk.Reward("r", components=[rk.Component(name, function, **options)])


REFUSED = {
    "no reward": (dict(to="trl", reward=None), "None is no Reward; make one with rk.Reward"),
    "unknown target": (dict(to="tlr"), "there is no target 'tlr'; known are .* did you mean 'trl'"),
    "a column": (dict(to="easyr1", reward=one_of(priced)), "for EasyR1: it needs 'prompt', and EasyR1"),
    "siblings": (dict(to="verl", reward=one_of(siblings, group=True)), "'u' needs the siblings of a group"),
    "lambda": (dict(to="verl", reward=one_of(lambda completion: 1.0)), "no name to write"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_exported_is_one_sentence_and_no_file(kind, tmp_path):
    options, said = REFUSED[kind]
    options = {"reward": arithmetic(), "path": "mine.py", **options}
    with pytest.raises(rk.RewardError, match=said):
        export(options.pop("reward"), **{**options, "path": tmp_path / options["path"]})
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_the_users_is_never_written_over(tmp_path):
    theirs = tmp_path / "mine.py"
    theirs.write_text("def compute_score(solution_str, ground_truth):\n    return 1.0  # my comment\n")
    before = theirs.read_text()
    with pytest.raises(rk.RewardError, match="is there and is no file that export wrote"):
        export(rk.load_reward(f"{theirs}:compute_score"), to="verl", path=theirs)
    assert theirs.read_text() == before
    rk.save_reward(arithmetic(), tmp_path / "saved.py")
    with pytest.raises(rk.RewardError, match="is no file that export wrote"):
        export(arithmetic(), to="verl", path=tmp_path / "saved.py")
    made = export(arithmetic(), to="verl", path=tmp_path / "ours.py")
    again = export(arithmetic(), to="trl", path=made.path).path.read_text()
    assert again.startswith("# Reward 'arithmetic-v1' for TRL")


def test_a_transform_is_left_out_where_completions_are_scored_alone_and_that_is_said(tmp_path):
    reward = replace(arithmetic(), transform=rk.weigh.standardise())
    made = export(reward, to="verl", path=tmp_path / "mine.py")
    assert any(sentence.startswith("the transform is left out: verl") for sentence in made.losses)
    one = loaded(made.path).compute_score(solution_str="<answer>4</answer>", ground_truth="4")
    assert one["score"] == arithmetic()(completion="<answer>4</answer>", ground_truth="4").reward
    kept = export(reward, to="trl", path=tmp_path / "kept.py")
    assert "standardise" in kept.path.read_text()


def test_a_loaded_function_goes_to_another_trainer_with_all_that_it_uses(tmp_path):
    (tmp_path / "theirs.py").write_text(
        "import re\nPATTERN = re.compile('<answer>(.*?)</answer>')\n\n"
        "def found(text):\n    return PATTERN.findall(text)\n\n"
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n"
        "    return {'score': 1.0 if found(solution_str)[-1:] == [ground_truth] else -0.5}\n"
    )
    reward = rk.load_reward(f"{tmp_path / 'theirs.py'}:compute_score", rollouts=ROWS)
    made = export(reward, to="trl", path=tmp_path / "mine" / "mine_trl.py")
    (tmp_path / "theirs.py").unlink()
    function = getattr(loaded(made.path), made.functions[0])
    columns = ROWS.columns()
    given = function(**as_trl(columns))
    expected = rk.score(reward, ROWS).rewards.tolist()
    assert given == expected and set(expected) == {1.0, -0.5}


def test_a_file_that_needs_another_beside_it_says_so(tmp_path):
    (tmp_path / "worth_beside.py").write_text("def half(completion):\n    return 0.5\n")
    (tmp_path / "mine.py").write_text(
        "from worth_beside import half\ndef f(completion):\n    return half('x')\n"
    )
    made = export(rk.load_reward(f"{tmp_path}/mine.py:f"), to="trl", path=tmp_path / "new.py")
    assert made.losses[-1] == "it needs worth_beside.py beside it, wherever it runs"
    assert made.losses[-1] in " ".join(made.path.read_text().replace("#", " ").split())
    assert "beside it" not in str(export(arithmetic(), to="trl", path=tmp_path / "new.py").losses)


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
    assert text.count("def compute_score(") == 2 and "_theirs = _run_text('theirs.py', r'''" in text
    function = loaded(made.path).compute_score
    assert function(data_source=None, solution_str="abcd", ground_truth="")["score"] == 2.0
    code = "import pickle, mine; print(pickle.loads(pickle.dumps(mine._reward)).name)"
    assert python(code, tmp_path).strip() == b"twice"


def test_separate_functions_give_scores_and_the_weights_go_to_the_trainer(tmp_path):
    made = export(arithmetic(), to="trl", path=tmp_path / "mine.py", separate=True)
    assert f"reward_weights={list(arithmetic().weights.values())!r}" in made.usage
    assert made.functions == arithmetic().names
    module, columns = loaded(made.path), ROWS.columns()
    scores = rk.score(arithmetic(), ROWS)
    for name in made.functions:
        given = getattr(module, name)(**as_trl(columns))
        expected = scores.score(name)
        gated = (scores.table[f"status/{name}"] == "gated").to_numpy()
        np.testing.assert_array_equal(np.array(given, dtype=float), np.where(gated, 0.0, expected))


def half(completion):
    return 0.5


def test_a_proof_without_the_trainer_says_what_to_install(tmp_path):
    with pytest.raises(rk.RewardError, match=r"runs verl's own code; missing here: verl, .*; install that"):
        export(arithmetic(), to="verl", path=tmp_path / "mine.py", verify=ROWS)
    assert (tmp_path / "mine.py").is_file()


async def waits(completion):
    return 1.0


# trainer, reward, separate -> what is said to be lost there, and what is not
LOST = {
    "without weights": ("tunix", arithmetic(), False, "adds functions up without weights"),
    "waiting, together": ("trl", one_of(waits), False, "async components (u) are awaited together"),
    "a sum above 1": ("benchmax", arithmetic(), False, "in [0, 1]: the sum goes from -0.2 to 1.3"),
    "a range": ("benchmax", one_of(siblings, range=(0, 5)), True, "in [0, 1]: u may leave it"),
    "all kept": ("trl", one_of(abstains), False, ""),
}


@pytest.mark.parametrize("kind", LOST)
def test_what_is_lost_on_a_trainer_is_said(kind, tmp_path):
    target, reward, separate, said = LOST[kind]
    made = export(reward, to=target, path=tmp_path / "out.py", separate=separate, missing=0.5)
    assert said in " ".join(made.losses)
    assert said or "[0, 1]" not in " ".join(made.losses)
