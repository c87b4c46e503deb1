"""SkyRL-gym's environments: class E(BaseTextEnv) with step(action) -> {"reward": float, "done": bool, ...}.

Source: `BaseTextEnv` and `make` of skyrl-gym 0.4, and SkyRL's generator, which makes an
environment for each completion, with the data set's row as `extras`, and gives its
`step` the turns as they are generated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from rewardkit.errors import RewardError
from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import Adapter, Row, named
from rewardkit.targets.calling import installed, loaded
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import Abilities, Called, Reading, Target, Written
from rewardkit.targets.turns import asked, from_messages, spoken

FORM = (
    'class E(BaseTextEnv): step(self, action) -> {"reward": float, "done": bool, ...}'
)
ASKED = 'extras["reward_spec"]["ground_truth"]'


def _extras(row: Row) -> dict[str, Any]:
    """What SkyRL hands over of a row: its columns, and the truth where environments look for it."""
    truth = {"method": "rule", "ground_truth": row.get("ground_truth")}
    return deepcopy(
        {
            "reward_spec": truth,
            "reward_model": truth,
            "max_turns": len(spoken(row)),
            **row,
        }
    )


class Env(Adapter):
    """A class of environments: one is made for each rollout and steps through its turns."""

    def __call__(self, rollout: Row, *_: Any) -> float:
        """The sum of the rewards of the steps. ValueError: a step gives none."""
        given = {"env_config": {}, "extras": _extras(rollout)}
        env = self.function(
            **{name: given[name] for name in parameters(self.function) if name in given}
        )
        if hasattr(env, "init"):
            env.init(asked(rollout))
        total = 0.0
        for action in spoken(rollout):
            found = env.step(action)
            found = (
                found
                if isinstance(found, Mapping)
                else vars(found)
                if hasattr(found, "__dict__")
                else {}
            )
            if found.get("reward") is None:
                raise ValueError(
                    f"step returned {found!r}, without a reward; SkyRL expects {FORM}"
                )
            total += float(found["reward"])
            if found.get("done"):
                break
        return total


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """That of a class whose `step` takes an action, made with `extras`."""
    step = parameters(getattr(value, "step", None))
    if (
        not isinstance(value, type)
        or "action" not in step
        or "extras" not in parameters(value)
    ):
        return []
    if lacking := [
        name for name in named(value) if name not in ("env_config", "extras")
    ]:
        raise RewardError(
            f"{value.__name__} is made with {lacking[0]!r}, too, and SkyRL-gym hands over env_config and "
            "extras; give it a default"
        )
    mapping = {"action": "completion", ASKED: "ground_truth"}
    reason = "it is a class with step(action), made with extras"
    return [Reading(reason, Env(value, needs=("completion",)), mapping, sure=True)]


class Step(RewardHolder):
    """The reward of one completion as what `step` returns."""

    def __call__(
        self, action: str, prompt: Sequence[Any], extras: Mapping[str, Any]
    ) -> dict[str, Any]:
        """``reward``, and as ``metadata`` the reward as ``score``, ``judged`` and the scores."""
        spec = extras.get("reward_spec") or extras.get("reward_model") or {}
        truth = {"ground_truth": spec["ground_truth"]} if "ground_truth" in spec else {}
        turns = from_messages(
            [*(prompt or []), {"role": "assistant", "content": action}]
        )
        own = {name: turns[name] for name in ("prompt", "completion")}
        found = self.dicts([{**truth, "messages": turns["messages"], **extras, **own}])[
            0
        ]
        return {
            "observations": [],
            "reward": found["score"],
            "done": True,
            "metadata": found,
        }


functions = Step


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What `make` makes of the file's class, and its `step` of each completion."""
    version = installed("skyrl-gym", "skyrl_gym")
    import skyrl_gym
    from skyrl_gym.envs.registration import deregister

    name = f"rewardkit/{path.stem}"
    skyrl_gym.register(id=name, entry_point=getattr(loaded(path), written.functions[0]))
    found = []
    try:
        for row in rows:
            env = skyrl_gym.make(name, env_config={}, extras=_extras(row))
            env.init(asked(row))
            found.append(env.step(row["completion"]))
    finally:
        deregister(name)
    rewards = [{**one["metadata"], "score": one["reward"]} for one in found]
    return Called.of_dicts(f"make and step of {version}", rewards)


TARGET = Target(
    "skyrl-gym",
    "SkyRL-gym",
    "0.4",
    FORM,
    readings,
    Abilities(judged=True),
    functions,
    call,
)
