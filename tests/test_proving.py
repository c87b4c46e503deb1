"""prove(): what is compared, what counts as a difference, and the trainer's function as it was found.

The trainers' own callers run in tests/trainers; here callers of a few lines stand for them.
"""

import textwrap
from dataclasses import replace

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.targets import easyr1, named, trl
from rewardkit.targets.calling import loaded
from rewardkit.targets.export import export, prove
from rewardkit.targets.prove import prove as prove_with
from rewardkit.targets.target import Called

ROWS = [
    {"prompt_id": 1, "prompt": "2+2?", "completion": "4", "ground_truth": "4"},
    {"prompt_id": 1, "prompt": "2+2?", "completion": "5, I think", "ground_truth": "4"},
    {"prompt_id": 2, "prompt": "1+1?", "completion": "2", "ground_truth": "2"},
]
ROLLOUTS = rk.load_rollouts(ROWS)


def length(completion):
    return len(completion) / 3


def half(completion):
    return 0.5


def nothing(completion):
    return None


def reward_of(function=length):
    return rk.Reward("mine", components=[rk.Component("one", function, weight=2.0, range=None)])


def off_by(share, *, more=()):
    """A trainer whose rewards are ours, the last one off by this share of it."""

    def call(path, written, rows):
        rewards = [2 * len(row["completion"]) / 3 for row in rows]
        rewards[-1] *= 1 + share
        return Called("a trainer", rewards, dict(more))

    return call


def proof_of(call, tmp_path, reward=None):
    made = export(reward or reward_of(), to="verl", path=tmp_path / "mine.py")
    return prove_with(replace(named("verl"), call=call), made.path, *made.plan, ROLLOUTS)


@pytest.mark.parametrize(
    ("share", "differ"),
    [
        pytest.param(0, 0, id="the same"),
        pytest.param(1e-10, 0, id="the last digits of a sum"),
        pytest.param(1e-8, 1, id="more than rounding"),
        pytest.param(float("nan"), 1, id="none where we have one"),
    ],
)
def test_values_are_equal_to_nine_digits(share, differ, tmp_path):
    proof = proof_of(off_by(share), tmp_path)
    assert (proof.compared, proof.differ, proof.equal) == (3, differ, not differ)
    assert len(proof.examples) == differ


def test_a_component_that_only_the_trainer_shows_is_a_difference(tmp_path):
    ours, others = {"one": [len(row["completion"]) / 3 for row in ROWS]}, {"two": [0.0, 0.0, 0.0]}
    assert proof_of(off_by(0, more=ours), tmp_path).equal
    proof = proof_of(off_by(0, more=ours | others), tmp_path)
    assert (proof.compared, proof.differ) == (9, 3) and not proof.equal
    assert "shows 'two', which rewardkit does not have" in proof.examples[0]


def test_where_no_rollout_has_a_reward_nothing_is_proved(tmp_path):
    def call(path, written, rows):
        return Called("a trainer", [0.0] * len(rows))  # what the file gives for those not judged

    proof = proof_of(call, tmp_path, reward_of(nothing))
    assert (proof.differ, proof.judged) == (0, 0) and not proof.equal
    assert "NOTHING PROVED" in proof.lines()[0]


def test_a_file_that_was_changed_after_it_was_written_differs(tmp_path):
    made = export(reward_of(half), to="easyr1", path=tmp_path / "mine.py", verify=ROLLOUTS)
    assert made.proof.equal and made.proof.judged == 3
    made.path.write_text(made.path.read_text().replace("weight=2.0", "weight=2.5"))
    again = prove(made, ROWS).proof
    assert (again.differ, again.max_abs_difference) == (3, 0.25) and not again.equal


# The function of the trainer itself


def batch_caller(path, written, rows):
    """As TRL calls a function on a data set of texts: the whole batch, by keyword."""
    names = [name for name in rows[0] if name not in ("prompt", "completion")]
    batch = {name: [row[name] for row in rows] for name in names}
    batch |= {f"{name}s": [row[name] for row in rows] for name in ("prompt", "completion")}
    found = {}
    for name in written.functions:
        given = getattr(loaded(path), name)(**batch)
        found[name] = [np.nan if value is None else value for value in given]
    return Called("a trainer", found[name]) if written.whole else Called("a trainer", [], found)


def trl_function(tmp_path, source, **options):
    (tmp_path / "found.py").write_text(textwrap.dedent(source))
    return rk.load_reward(f"{tmp_path / 'found.py'}:f", rollouts=ROLLOUTS, **options)


def proved_as_trl(reward, tmp_path):
    made = export(reward, to="trl", path=tmp_path / "back.py")
    return prove_with(replace(trl.TARGET, call=batch_caller), made.path, *made.plan, ROLLOUTS)


LENGTHS = """
    def f(completions, **kwargs):
        return [None if len(text) > 9 else float(len(text)) for text in completions]
"""


def test_a_function_of_the_trainer_is_called_as_it_was_found_too(tmp_path):
    proof = proved_as_trl(trl_function(tmp_path, LENGTHS), tmp_path)
    assert proof.equal and proof.original.equal and proof.original.compared == 3
    assert "on the function as it was found: 3 values" in proof.lines()[1]


def test_each_function_of_a_list_is_called_as_it_was_found(tmp_path):
    source = """
        def right(completions, ground_truth, **kwargs):
            return [float(truth in text) for text, truth in zip(completions, ground_truth)]
        def share(completions, **kwargs):
            return [len(text) / sum(map(len, completions)) for text in completions]
        f = [right, share]
    """
    proof = proved_as_trl(trl_function(tmp_path, source), tmp_path)
    assert proof.differ == 0 and proof.original.compared == 6
    assert proof.original.differ == 3 and all("share of" in line for line in proof.original.examples)


def test_a_reading_that_the_trainer_would_not_follow_differs_from_the_function_as_found(tmp_path):
    proof = proved_as_trl(trl_function(tmp_path, LENGTHS, as_="trl:messages"), tmp_path)
    assert not proof.original.equal and not proof.equal  # on messages of one turn each len(text) is 1


def test_a_function_that_looks_at_the_whole_batch_differs_from_its_reading_by_groups(tmp_path):
    source = """
        def f(completions, **kwargs):
            return [len(text) / sum(map(len, completions)) for text in completions]
    """
    proof = proved_as_trl(trl_function(tmp_path, source), tmp_path)
    assert proof.original.differ == 3 and not proof.equal


def test_what_is_no_function_of_a_module_is_not_called_as_found_and_that_is_said(tmp_path):
    source = """
        from functools import partial
        def g(completions, scale, **kwargs):
            return [scale * len(text) for text in completions]
        f = partial(g, scale=2.0)
    """
    proof = proved_as_trl(trl_function(tmp_path, source), tmp_path)
    assert proof.equal and proof.original is None
    assert "was not compared: functools.partial" in proof.lines()[-1] and proof.record()["not_original"]


@pytest.mark.parametrize(
    "reward",
    [
        pytest.param(lambda found: reward_of(), id="of components"),
        pytest.param(lambda found: found.reweigh({"f": 0.5}), id="weighed anew"),
        pytest.param(lambda found: replace(found, transform=rk.weigh.rank()), id="with a transform"),
    ],
)
def test_a_reward_that_is_more_than_the_function_is_proved_by_its_file_alone(reward, tmp_path):
    made = export(reward(trl_function(tmp_path, LENGTHS)), to="trl", path=tmp_path / "b.py")
    proof = prove_with(replace(trl.TARGET, call=batch_caller), made.path, *made.plan, ROLLOUTS)
    assert proof.original is None and not proof.not_original


def test_columns_have_the_names_that_the_function_asks_for(tmp_path):
    source = """
        def f(completions, answer, **kwargs):
            return [float(truth in text) for text, truth in zip(completions, answer)]
    """
    proof = proved_as_trl(trl_function(tmp_path, source), tmp_path)  # the log calls it ground_truth
    assert proof.equal and proof.original.compared == 3


def test_an_object_at_the_top_of_a_module_is_called_as_found(tmp_path):
    source = """
        class Length:
            def __call__(self, completions, **kwargs):
                return [float(len(text)) for text in completions]
        f = Length()
    """
    assert proved_as_trl(trl_function(tmp_path, source), tmp_path).original.equal


def test_a_function_on_which_the_trainer_fails_is_not_proved(tmp_path):
    source = """
        def f(completions, prompts=None, **kwargs):
            if len(completions) == 3:  # the whole batch, which no group is
                raise ValueError("boom")
            return [float(len(text)) for text in completions]
    """
    proof = proved_as_trl(trl_function(tmp_path, source), tmp_path)
    assert proof.differ == 0 and not proof.equal and "ValueError: boom" in proof.record()["original_failed"]
    assert "it FAILS on the function as it was found: called by TRL, ValueError: boom" in proof.lines()[-1]


def test_a_function_of_another_trainer_is_not_called_as_found(tmp_path):
    source = """
        def f(solution_str, ground_truth, **kwargs):
            return float(len(solution_str))
    """

    def as_texts(path, written, rows):
        given = getattr(loaded(path), written.functions[0])(
            prompts=[row["prompt"] for row in rows], completions=[row["completion"] for row in rows],
            ground_truth=[row["ground_truth"] for row in rows],
        )  # fmt: skip
        return Called("a trainer", given)

    made = export(trl_function(tmp_path, source), to="trl", path=tmp_path / "b.py")
    proof = prove_with(replace(trl.TARGET, call=as_texts), made.path, *made.plan, ROLLOUTS)
    assert proof.equal and (proof.original, proof.not_original, proof.original_failed) == (None, "", "")


def test_a_gated_score_is_the_0_that_a_trainer_shows(tmp_path):
    reward = rk.Reward(
        "gated",
        components=[
            rk.Component("short", lambda_free_short),
            rk.Component("one", half, gate=rk.gate("short", at_least=1.0)),
        ],
    )
    proof = export(reward, to="easyr1", path=tmp_path / "mine.py", verify=ROLLOUTS).proof
    assert proof.compared == 9 and proof.equal


def lambda_free_short(completion):
    return len(completion) < 3


def test_what_the_trainer_needs_to_be_imported_is_named(tmp_path):
    def call(path, written, rows):
        raise ModuleNotFoundError("No module named 'torchvision'")

    with pytest.raises(
        rk.RewardError, match=r"own code, which cannot be imported here \(No module named 'torchv"
    ):
        proof_of(call, tmp_path)


def test_a_record_of_a_proof_holds_that_of_the_original(tmp_path):
    proof = proved_as_trl(trl_function(tmp_path, LENGTHS), tmp_path)
    assert proof.record()["original"]["judged"] == 2 and proof.record()["compared"] == 3


def test_a_trainer_without_a_caller_cannot_prove(tmp_path):
    made = export(reward_of(), to="easyr1", path=tmp_path / "mine.py")
    with pytest.raises(rk.RewardError, match="EasyR1 has no caller"):
        prove_with(replace(easyr1.TARGET, call=None), made.path, *made.plan, ROLLOUTS)
