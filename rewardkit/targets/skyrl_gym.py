"""SkyRL-gym's environments: class E(BaseTextEnv), step(action) -> {"reward": ..., ...}.

Source: `BaseTextEnv` and `make` of skyrl-gym 0.4, and SkyRL's generator, which makes an
environment for each completion, with the row of the data set as `extras`, and calls its
`step` with each generated turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from rewardkit.errors import RewardError
from rewardkit.rewards.component import parameters
from rewardkit.rollouts.columns import JUDGED_PREFIX
from rewardkit.targets import environments
from rewardkit.targets.columns import Row, required_parameters
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import (
    JUDGED,
    Abilities,
    Target,
    TrainerCode,
    TrainerReading,
    TrainerValues,
    import_file,
    is_judged_key,
    require_installed,
)
from rewardkit.targets.turns import (
    answer_turns,
    from_messages,
    generated_texts,
    prompt_turns,
)

ENVIRONMENT_FORM = (
    'class E(BaseTextEnv): step(self, action) -> {"reward": float, "done": bool, ...}'
)


def _extras(row: Row) -> dict[str, Any]:
    """Return SkyRL's `extras`: the columns, and the truth in its usual places."""
    truth = {"method": "rule", "ground_truth": row.get("ground_truth")}
    extras = {
        "reward_spec": truth,
        "reward_model": truth,
        "max_turns": len(generated_texts(row)),
        **row,
    }
    return deepcopy(extras)


class Env(environments.SteppedEnvironment):
    """A class of environments that takes the row as `extras`."""

    form = f"SkyRL expects {ENVIRONMENT_FORM}"

    def make(self, rollout: Row) -> Any:
        """Make an environment for a rollout, and pass it the prompt."""
        options = {"env_config": {}, "extras": _extras(rollout)}
        names = options.keys() & parameters(self.function)
        env = self.function(**{name: options[name] for name in names})
        if hasattr(env, "init"):
            env.init(prompt_turns(rollout))
        return env

    def outcome(self, answer: Any) -> Mapping[str, Any]:
        """Return the result of a step as a dict, {} for a tuple as in gym."""
        return {} if isinstance(answer, tuple) else super().outcome(answer)


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a class with `step(action)` that takes `extras`."""
    if not isinstance(value, type) or "extras" not in parameters(value):
        return []
    if "action" not in parameters(getattr(value, "step", None)):
        return []
    for name in required_parameters(value):
        if name not in ("env_config", "extras"):
            raise RewardError(
                f"{value.__name__} is made with {name!r}, too, and SkyRL-gym hands "
                "over env_config and extras; give it a default"
            )
    mapping = {
        "action": "completion",
        'extras["reward_spec"]["ground_truth"]': "ground_truth",
    }
    reason = "it is a class with step(action), made with extras"
    return [
        TrainerReading(reason, Env(value, needs=("completion",)), mapping, sure=True)
    ]


class Step(RewardHolder):
    """The reward as a function that returns the result of `step`."""

    def __call__(
        self, action: str, prompt: Sequence[Any], extras: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the result, with ``score``, ``judged`` and scores in ``metadata``."""
        columns = from_messages([*(prompt or []), *answer_turns(action)])
        spec = extras.get("reward_spec") or extras.get("reward_model") or {}
        row = {"messages": columns["messages"], **extras}
        if "ground_truth" in spec:
            row.setdefault("ground_truth", spec["ground_truth"])
        row |= {name: columns[name] for name in ("prompt", "completion")}
        (scores,) = self.dicts([row])
        return {
            "observations": [],
            "reward": scores["score"],
            "done": True,
            "metadata": scores,
        }


functions = Step


def judged_scores(metadata: Mapping[str, Any]) -> dict[str, float]:
    """Return the judged numbers of an episode, for `get_metrics`.

    SkyRL-gym averages each key over the episodes that have it.
    """
    metrics = {}
    for name, value in metadata.items():
        key = JUDGED if name == "score" else f"{JUDGED_PREFIX}{name}"
        if is_judged_key(name) or metadata[key]:
            metrics[name] = value
    return metrics


def call(path: Path, code: TrainerCode, rows: Sequence[Row]) -> TrainerValues:
    """Call `make` on the file's class, and `step` of each environment."""
    version = require_installed("skyrl-gym", "skyrl_gym")
    import skyrl_gym
    from skyrl_gym.envs.registration import deregister

    name = f"rewardkit/{path.stem}"
    skyrl_gym.register(
        id=name, entry_point=getattr(import_file(path), code.functions[0])
    )
    rewards = []
    try:
        for row in rows:
            env = skyrl_gym.make(name, env_config={}, extras=_extras(row))
            env.init(prompt_turns(row))
            outcome = env.step(row["completion"])
            rewards.append({**outcome["metadata"], "score": outcome["reward"]})
    finally:
        deregister(name)
    return TrainerValues.of_dicts(f"make and step of {version}", rewards)


SKYRL_GYM = Target(
    name="skyrl-gym",
    title="SkyRL-gym",
    versions="0.4",
    form=ENVIRONMENT_FORM,
    readings=readings,
    abilities=Abilities(judged=True),
    functions=functions,
    call=call,
)
