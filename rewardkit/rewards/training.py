"""Training: the settings of a trainer that decide which advantages a reward becomes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Self

from rewardkit.errors import InputError, did_you_mean
from rewardkit.plain import PlainRecord

MISSPELT = 0.9
"""The difflib ratio from which a name counts as a misspelt setting. Our choice."""
NUMBERS = {"num_generations": 2, "prompts_per_batch": 1}
"""Settings that are whole numbers, and the least that they can be."""
SCALINGS = ("group", "batch", "none")
ALLOWED: dict[str, tuple[str | None, ...]] = {
    "scale_rewards": SCALINGS,
    "multi_objective_aggregation": ("sum_then_normalize", "normalize_then_sum"),
    "estimator": (None, "rloo", "reinforce_pp"),
}
EPSILON = {"trl": 1e-4, "verl": 1e-6}

VERL_SUMS = {
    "grpo": None,
    "grpo_vectorized": None,
    "gdpo": None,
    "rloo": "rloo",
    "rloo_vectorized": "rloo",
    "reinforce_plus_plus_baseline": "reinforce_pp",
}
"""verl's ``algorithm.adv_estimator`` -> ours; None where the scaling decides it."""

BATCH = "generation_batch_size"
"""What a GRPOConfig says of the batch: completions of all processes together."""

VERL_REWARD = ("score", "reward", "seq_reward", "seq_final_reward")
"""What verl's ``filter_groups.metric`` calls the reward itself."""


@dataclass(frozen=True, kw_only=True)
class Training(PlainRecord):
    """What a trainer makes of rewards; the names are those of TRL's GRPOConfig.

    `scale_rewards`: what a difference to the group's mean is divided by, the standard
    deviation of the "group", of the "batch", or "none". `multi_objective_aggregation`
    "normalize_then_sum" is GDPO. `estimator` "rloo" or "reinforce_pp" stands in place
    of these. `num_generations` (the size of a group) and `prompts_per_batch` are
    ``None`` where the rollouts say it: a batch is then one step, or all. Groups whose
    `filter_metric` does not vary, a component or "reward", are dropped and sampled anew
    (DAPO); ``None``: none are. `beta` is the weight of the KL penalty, `loss_type` how
    tokens are weighed, which no figure here depends on. InputError: a value that is
    none of these.

    >>> Training(scale_rewards="none").name
    'dr_grpo'
    """

    trainer: str = "trl"
    num_generations: int | None = None
    prompts_per_batch: int | None = None
    scale_rewards: Literal["group", "batch", "none"] = "group"
    multi_objective_aggregation: Literal["sum_then_normalize", "normalize_then_sum"] = (
        "sum_then_normalize"
    )
    estimator: Literal["rloo", "reinforce_pp"] | None = None
    filter_metric: str | None = None
    loss_type: str | None = None
    beta: float = 0.0

    def __post_init__(self) -> None:
        for name, kind in (
            ("trainer", str),
            ("filter_metric", str | None),
            ("loss_type", str | None),
        ):
            if not isinstance(getattr(self, name), kind):
                raise InputError(f"{name}={getattr(self, name)!r} is not a name")
        object.__setattr__(self, "trainer", self.trainer.lower())
        for name, allowed in ALLOWED.items():
            if (value := getattr(self, name)) not in allowed:
                known = [item for item in allowed if item is not None]
                raise InputError(
                    f"{name}={value!r} is not one of "
                    f"{known}{did_you_mean(str(value), known)}"
                )
        for name, least in NUMBERS.items():
            value = getattr(self, name)
            if value is not None and not (type(value) is int and value >= least):
                raise InputError(
                    f"{name}={value!r} is not a whole number of at least {least}"
                )
        if not (type(self.beta) in (int, float) and 0 <= self.beta < math.inf):
            raise InputError(f"beta={self.beta!r} is not a number of at least 0")
        if (
            self.estimator is not None
            and self.multi_objective_aggregation == "normalize_then_sum"
        ):
            raise InputError(
                f"estimator={self.estimator!r} takes the sum; it has no "
                "normalize_then_sum"
            )

    @property
    def name(self) -> str:
        """The name of the advantages, such as grpo, dr_grpo, gdpo or rloo."""
        if self.multi_objective_aggregation == "normalize_then_sum":
            return "gdpo"
        return (
            self.estimator
            or {"group": "grpo", "batch": "batch", "none": "dr_grpo"}[
                self.scale_rewards
            ]
        )

    @property
    def eps(self) -> float:
        """The number added to a standard deviation before it divides, as in TRL."""
        return EPSILON.get(self.trainer, EPSILON["trl"])

    @property
    def scales_groups(self) -> bool:
        """Whether each group is divided by its own standard deviation."""
        return self.name in ("grpo", "gdpo")

    def __str__(self) -> str:
        told = [f"{self.trainer}: {self.name}"]
        told += [f"groups of {self.num_generations}"] if self.num_generations else []
        told += (
            [f"{self.prompts_per_batch} prompts a batch"]
            if self.prompts_per_batch
            else []
        )
        told += (
            [f"groups without spread in {self.filter_metric!r} dropped"]
            if self.filter_metric
            else []
        )
        told += [f"KL penalty {self.beta:g}"] if self.beta else []
        return ", ".join(told)

    @classmethod
    def of(cls, source: Any = None) -> Self:
        """Read settings from a Training, a dict, a GRPOConfig, or the path of a YAML.

        A file or dict may be verl's (with ``algorithm``) or TRL's (with the names of a
        GRPOConfig; in a file what else stands there is left alone). ``None``: TRL's
        defaults. InputError: it cannot be read, has a misspelt name, or names an
        estimator without groups.
        """
        if source is None or source in ("", {}):
            return cls()
        if isinstance(source, cls):
            return source
        if hasattr(source, "scale_rewards") and hasattr(source, "num_generations"):
            return cls._trl(vars(source))
        found, in_file = source, isinstance(source, str | Path)
        if isinstance(source, str | Path):
            found = _loaded(Path(source))
        if not isinstance(found, Mapping):
            raise InputError(
                f"training={source!r} is no settings; give rk.Training(...), a dict, "
                "a GRPOConfig or the "
                "path of a YAML file"
            )
        if isinstance(found.get("algorithm"), Mapping):
            return cls._verl(found)
        where, own = (
            repr(str(source)) if in_file else "training",
            {item.name for item in fields(cls)},
        )
        for name in [str(name) for name in found if name not in {*own, BATCH}]:
            misspelt = bool(get_close_matches(name, own, cutoff=MISSPELT))
            if misspelt or not in_file:  # a file of TRL's has more to say
                raise InputError(
                    f"{where} has no setting {name!r}{did_you_mean(name, own)}; known "
                    f"are {sorted(own)}"
                )
        if not own & set(found):
            raise InputError(
                f"{where} has no settings of a GRPO training: neither verl's "
                "'algorithm' nor names of "
                "TRL's GRPOConfig such as num_generations or scale_rewards"
            )
        return cls._trl(found)

    @classmethod
    def _trl(cls, found: Mapping[str, Any]) -> Self:
        """Read a GRPOConfig; its batch is the generation batch over a group's size."""
        names = [item.name for item in fields(cls) if found.get(item.name) is not None]
        given = {
            name: _number(found[name]) if name in (*NUMBERS, "beta") else found[name]
            for name in names
        }
        if isinstance(given.get("scale_rewards"), bool):  # as TRL once had it
            given["scale_rewards"] = "group" if given["scale_rewards"] else "none"
        made, generated = cls(**given), _number(found.get(BATCH))
        if (
            made.prompts_per_batch is None
            and made.num_generations
            and type(generated) is int
        ):
            return replace(
                made, prompts_per_batch=max(1, generated // made.num_generations)
            )
        return made

    @classmethod
    def _verl(cls, found: Mapping[str, Any]) -> Self:
        """Of verl's configuration, whose estimator is ``algorithm.adv_estimator``."""
        estimator = str(_at(found, "algorithm.adv_estimator") or "gae")
        if estimator not in VERL_SUMS:
            raise InputError(
                f"algorithm.adv_estimator={estimator!r} has no advantages of groups "
                "that are known here; "
                f"known are {list(VERL_SUMS)}"
            )
        filtered = _at(found, "algorithm.filter_groups.enable")
        metric = _at(found, "algorithm.filter_groups.metric") if filtered else None
        count, penalty = _at(found, "actor_rollout_ref.rollout.n"), ""
        if _at(found, "actor_rollout_ref.actor.use_kl_loss"):
            penalty = "actor_rollout_ref.actor.kl_loss_coef"
        elif _at(found, "algorithm.use_kl_in_reward"):
            penalty = "algorithm.kl_ctrl.kl_coef"
        return cls(
            trainer="verl",
            num_generations=None
            if count == 1
            else _number(count),  # verl's default: the rollouts say it
            prompts_per_batch=_number(_at(found, "data.train_batch_size")),
            scale_rewards="none"
            if _at(found, "algorithm.norm_adv_by_std_in_grpo") is False
            else "group",
            multi_objective_aggregation="normalize_then_sum"
            if estimator == "gdpo"
            else "sum_then_normalize",
            estimator=VERL_SUMS[estimator],  # type: ignore[arg-type]
            filter_metric="reward" if metric in VERL_REWARD else metric,
            loss_type=_at(found, "actor_rollout_ref.actor.loss_agg_mode"),
            beta=_number(_at(found, penalty)) or 0.0,
        )


def _number(value: Any) -> Any:
    """Return the number in a text that YAML left one, such as 1e-3; else the value."""
    for kind in (int, float) if isinstance(value, str) else ():
        try:
            return kind(value)
        except ValueError:
            pass
    return value


def _at(found: Any, place: str) -> Any:
    """Return the value at ``a.b.c``, or None."""
    for name in place.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _loaded(path: Path) -> Mapping[str, Any]:
    """Read a YAML or JSON file."""
    try:
        import yaml
    except ImportError:
        raise InputError(
            "a YAML file is read with PyYAML; install reward-workbench[notebook]"
        ) from None
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))  # JSON is YAML
    except OSError as error:
        raise InputError(
            f"the settings {str(path)!r} cannot be read: {error.strerror}"
        ) from None
    except (UnicodeDecodeError, ValueError, yaml.YAMLError) as error:
        raise InputError(
            f"the settings {str(path)!r} are no YAML: {' '.join(str(error).split())}"
        ) from None
    if not isinstance(found, Mapping):
        raise InputError(
            f"the settings {str(path)!r} hold {type(found).__name__}, not names and "
            "values"
        )
    return found
