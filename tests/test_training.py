"""Training: what settings of TRL and verl say about advantages, and what is refused."""

from dataclasses import dataclass

import numpy as np
import pytest
import yaml
from commands import record

import rewardkit as rk

VERL = {
    "algorithm": {
        "adv_estimator": "grpo",
        "norm_adv_by_std_in_grpo": False,
        "use_kl_in_reward": False,
    },
    "actor_rollout_ref": {
        "rollout": {"n": 16},
        "actor": {
            "use_kl_loss": True,
            "kl_loss_coef": 0.002,
            "loss_agg_mode": "token-mean",
        },
    },
    "data": {"train_batch_size": 256, "max_response_length": 1024},
}


def verl(**algorithm):
    return {**VERL, "algorithm": {**VERL["algorithm"], **algorithm}}


def dapo(enable=True, **filters):
    return verl(filter_groups={"enable": enable, **filters})


@dataclass
class Config:
    """As GRPOConfig has it, once TRL has filled in the rest."""

    num_generations: int = 8
    generation_batch_size: int = 64
    scale_rewards: object = True
    learning_rate: float = 1e-6
    beta: float = 0.04


OF_VERL = {"trainer": "verl", "num_generations": 16, "prompts_per_batch": 256, "beta": 0.002,
           "loss_type": "token-mean", "max_completion_length": 1024}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "name", "others"),
    [
        ({}, "grpo", {"trainer": "trl", "num_generations": None}),
        (
            {"scale_rewards": "none", "num_generations": 4},
            "dr_grpo",
            {"num_generations": 4},
        ),
        ({"estimator": "rloo"}, "rloo", {}),
        ({"loss_type": "dr_grpo"}, "grpo", {"loss_type": "dr_grpo"}),
        ({"trainer": "other", "loss_type": "x"}, "grpo", {"loss_type": "x"}),
        ({"loss_type": "DAPO"}, "grpo", {"loss_type": "DAPO"}),
        ({"loss_type": "gspo"}, "grpo", {"loss_type": "gspo"}),  # of a later TRL
        ({"multi_objective_aggregation": "normalize_then_sum"}, "gdpo", {}),
        (
            {"num_generations": 8, "generation_batch_size": 64},
            "grpo",
            {"prompts_per_batch": 8},
        ),
        ({"trainer": "VERL"}, "grpo", {"trainer": "verl", "eps": 1e-6}),
        (
            Config(),
            "grpo",
            {"num_generations": 8, "prompts_per_batch": 8, "beta": 0.04},
        ),
        (Config(scale_rewards=False), "dr_grpo", {}),
        (VERL, "dr_grpo", OF_VERL),
        (verl(norm_adv_by_std_in_grpo=True), "grpo", {"filter_metric": None}),
        (verl(adv_estimator="rloo"), "rloo", {}),
        (verl(adv_estimator="reinforce_plus_plus_baseline"), "reinforce_pp", {}),
        (dapo(metric="acc"), "dr_grpo", {"filter_metric": "acc"}),
        (dapo(metric="seq_reward"), "dr_grpo", {"filter_metric": "reward"}),
        (dapo(enable=False, metric="acc"), "dr_grpo", {"filter_metric": None}),
        (verl(filter_groups=True), "dr_grpo", {"filter_metric": None}),
    ],
)
def test_settings_say_which_advantages_there_are(given, name, others, tmp_path):
    read = rk.Training.of(given)
    assert read.name == name
    assert {key: getattr(read, key) for key in others} == others
    assert rk.Training.of(read) is read and rk.Training.of(read.record()) == read
    if isinstance(given, dict) and "algorithm" in given:
        (tmp_path / "run.yaml").write_text(yaml.safe_dump(given))
        assert rk.Training.of(tmp_path / "run.yaml") == read


def test_a_file_of_trl_may_say_more_than_is_asked(tmp_path):
    for name, text in (
        (
            "a.yaml",
            "model_name_or_path: x\nnum_generations: 8\nscale_rewards: batch\nbeta: 1e-3\n",
        ),
        (
            "a.json",
            '{"num_generations": 8, "scale_rewards": "batch", "bf16": true, "beta": 0.001}',
        ),
    ):
        (tmp_path / name).write_text(text)
        expected = rk.Training(num_generations=8, scale_rewards="batch", beta=0.001)
        assert (
            rk.Training.of(tmp_path / name) == expected
        )  # of numbers that YAML takes for texts, too


BOTH = {"estimator": "rloo", "multi_objective_aggregation": "normalize_then_sum"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"scale_rewards": "grup"},
            "scale_rewards='grup' is not one of .*did you mean 'group'",
        ),
        (
            {"loss_type": "drgrpo"},
            "loss_type='drgrpo' is not one of .*did you mean 'dr_grpo'",
        ),
        ({"loss_type": "Dr-GRPO"}, "loss_type='Dr-GRPO' is .*did you mean 'dr_grpo'"),
        ({"num_generations": 2.5}, "num_generations=2.5 is not a whole number"),
        (
            {"max_completion_length": 0},
            "max_completion_length=0 is not a whole number of at least 1",
        ),
        ({"beta": -1}, "beta=-1 is not a number of at least 0"),
        ({"trainer": 3}, "trainer=3 is not a name"),
        (BOTH, "takes the sum"),
        (verl(adv_estimator="gae"), "adv_estimator='gae' has no advantages of groups"),
        (7, "training=7 is no settings; give rk.Training"),
        ("nowhere.yaml", "'nowhere.yaml' cannot be read: No such file"),
        ("a: [", "are no YAML"),
        ("- 1", "hold list, not names"),
        ("lr: 1", "has no settings of a GRPO training"),
        (
            "scale_reward: none\nnum_generations: 8",
            r"no setting 'scale_reward'; known are .*\]; did you mean 'scale_rewards'\?$",
        ),
    ],
)
def test_what_is_no_setting_is_one_clear_sentence(given, said, tmp_path):
    if isinstance(given, str) and given != "nowhere.yaml":
        (tmp_path / "run.yaml").write_text(given)
        given = tmp_path / "run.yaml"
    with pytest.raises(rk.InputError, match=said):
        rk.Training.of(given)


# in a diagnosis


ROWS = [
    {
        "prompt_id": at // 4,
        "step": at // 8,
        "completion": "x" * (at % 5),
        "value": float(at % 7),
    }
    for at in range(24)
]


def scores(step=True):
    rows = [
        {key: value for key, value in row.items() if step or key != "step"}
        for row in ROWS
    ]
    reward = rk.Reward(
        "r", components=[rk.Component("value_of", lambda value: value, range=None)]
    )
    return rk.score(reward, rows)


def test_a_batch_is_a_step_or_so_many_prompts_or_all():
    def advantages(step=True, **settings):
        training = {"scale_rewards": "batch", **settings}
        return rk.diagnose(scores(step), training=training).views[0].advantages

    values = np.array([row["value"] for row in ROWS])
    first = values[:4] - values[:4].mean()
    np.testing.assert_allclose(
        advantages(), advantages(step=False, prompts_per_batch=2)
    )  # a step has two
    np.testing.assert_allclose(
        advantages()[:4], first / (values[:8].std(ddof=1) + 1e-4)
    )
    np.testing.assert_allclose(
        advantages(step=False)[:4], first / (values.std(ddof=1) + 1e-4)
    )


def test_the_command_takes_a_file_and_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores().save("run")
    (tmp_path / "verl.yaml").write_text(yaml.safe_dump(VERL))
    told = record("diagnose run --training verl.yaml --training num_generations=4")[
        "training"
    ]
    assert (told["trainer"], told["num_generations"], told["scale_rewards"]) == (
        "verl",
        4,
        "none",
    )
