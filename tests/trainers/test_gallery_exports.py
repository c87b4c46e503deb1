"""Every reward of the gallery, exported to each trainer that is installed here, through its own code."""

import os

import pytest
from table import arithmetic, proved

import rewardkit as rk
from rewardkit.rollouts.paths import bundled
from rewardkit.targets import find_target
from rewardkit.targets.export import export, prove
from rewardkit.targets.exported import identifier

TARGETS = os.environ.get("REWARDKIT_TARGETS", "").split()
JUDGED = ("judged_aspects", "judged_clarity", "pairwise")
"""These ask models: their recorded answers are of their cases as they are, not of a trainer's rows."""
CASES = sorted(
    path.stem
    for path in bundled("data/gallery").glob("*.jsonl")
    if path.stem not in JUDGED
)
BUNDLED = ("arithmetic", "mixed")
REFUSED = ("mixed", "routed", "curriculum", "tool_use")
"""What EasyR1, which hands over no column, cannot be given."""


def rollouts_of(name):
    """Every fourth group of bundled rollouts; for the other rewards the completions of their cases."""
    if name in BUNDLED:
        rollouts = rk.load_rollouts(f"gallery:{name}")
        return rollouts.select(rollouts.groups % 4 == 1)
    cases = enumerate(rk.load_cases(f"gallery:{name}"))
    return rk.load_rollouts(
        [{"prompt_id": f"{name}-{at // 4}", **case.columns} for at, case in cases]
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [*BUNDLED, *CASES])
def test_a_gallery_reward_through_the_trainers_own_code_is_the_same(
    name, target, tmp_path
):
    rollouts = rollouts_of(name)
    if target == "easyr1" and name in REFUSED:
        with pytest.raises(
            rk.RewardError, match="cannot be written for EasyR1: it needs"
        ):
            export(
                rk.load_reward(f"gallery:{name}"),
                to=target,
                path=tmp_path / "refused.py",
            )
        return
    path = tmp_path / f"{name}_{identifier(target)}.py"
    made = export(
        rk.load_reward(f"gallery:{name}"), to=target, path=path, verify=rollouts
    )
    assert made.proof.equal, made
    assert made.proof.rows == len(rollouts) and made.proof.compared >= len(rollouts)
    proved(target, "written", "equal")
    proved(target, "called", by=made.proof.caller)


@pytest.mark.parametrize("target", TARGETS)
def test_an_export_that_is_loaded_back_gives_the_same_scores(target, tmp_path):
    rollouts, reward = arithmetic(), rk.load_reward("gallery:arithmetic")
    made = export(reward, to=target, path=tmp_path / "back.py")
    name = made.functions[0]
    again = rk.load_reward(f"{made.path}:{name}", rollouts=rollouts)
    ours, theirs = rk.score(reward, rollouts).rewards, rk.score(again, rollouts).rewards
    assert abs(ours - theirs).max() < (1e-6 if target == "openrlhf" else 1e-9), (
        again.origin
    )  # float32 there
    assert find_target(target).title in again.origin or target in (
        "siirl",
        "tunix",
    )  # read as verl's, as TRL's
    proved(target, "recognised", "read")


@pytest.mark.parametrize("target", TARGETS)
def test_a_difference_is_found_and_told(target, tmp_path):
    rollouts, reward = arithmetic(16), rk.load_reward("gallery:arithmetic")
    made = export(reward, to=target, path=tmp_path / "other.py")
    text = made.path.read_text()
    assert text.count("weight=1.0") == 1
    made.path.write_text(text.replace("weight=1.0", "weight=1.5"))
    proof = prove(made, rollouts).proof
    right = int((rk.score(reward, rollouts).score("correct") == 1).sum())
    assert right > 0 and not proof.equal and proof.differ >= right
    assert abs(proof.max_abs_difference - 0.5) < 1e-6
