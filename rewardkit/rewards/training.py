"""Training: the settings of a trainer that turn rewards into advantages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self, get_args

from rewardkit.errors import InputError, did_you_mean
from rewardkit.plain import PlainRecord

MISSPELT_SETTING = 0.9
"""Least similarity of a misspelt setting; "betas" is below it. Our choice."""
LEAST_COUNTS = {
    "num_generations": 2,
    "prompts_per_batch": 1,
    "max_completion_length": 1,
}
"""Integer setting -> its minimum."""
NUMERIC_SETTINGS = (*LEAST_COUNTS, "beta")
Scaling = Literal["group", "batch", "none"]
SCALINGS: tuple[str, ...] = get_args(Scaling)
Aggregation = Literal["sum_then_normalize", "normalize_then_sum"]
Estimator = Literal["rloo", "reinforce_pp"]
ALLOWED: dict[str, tuple[str | None, ...]] = {
    "scale_rewards": SCALINGS,
    "multi_objective_aggregation": get_args(Aggregation),
    "estimator": (None, *get_args(Estimator)),
}
TRL_LOSSES = "grpo dr_grpo dapo bnpo cispo sapo luspo vespo".split()
"""Values of GRPOConfig's `loss_type` (TRL 1.16)."""
MISSPELT_LOSS = 0.8
"""Least similarity of a misspelt loss; "gspo", no "grpo", is below it. Our choice."""
TRAINER_EPSILON = {"trl": 1e-4, "verl": 1e-6}
"""Trainer -> the epsilon that it adds to a standard deviation before dividing."""

VERL_SUMS: dict[str, Estimator | None] = {
    "grpo": None,
    "grpo_vectorized": None,
    "gdpo": None,
    "rloo": "rloo",
    "rloo_vectorized": "rloo",
    "reinforce_plus_plus_baseline": "reinforce_pp",
}
"""verl's ``algorithm.adv_estimator`` -> ours; None if `scale_rewards` decides."""

VERL_SETTINGS = {
    "num_generations": "actor_rollout_ref.rollout.n",
    "prompts_per_batch": "data.train_batch_size",
    "loss_type": "actor_rollout_ref.actor.loss_agg_mode",
    "max_completion_length": "data.max_response_length",
}
"""Setting -> its path in verl's configuration."""

GENERATION_BATCH = "generation_batch_size"
"""GRPOConfig's batch size, in completions over all processes."""

VERL_REWARD = ("score", "reward", "seq_reward", "seq_final_reward")
"""Values of verl's ``filter_groups.metric`` that mean the reward itself."""


@dataclass(frozen=True, kw_only=True)
class Training(PlainRecord):
    """The settings with which a trainer turns rewards into advantages.

    Names are those of TRL's GRPOConfig. `scale_rewards`: the standard deviation that
    divides the difference to the group's mean, of the "group", of the "batch", or
    "none". `multi_objective_aggregation`: "normalize_then_sum" is GDPO. `estimator`:
    "rloo" or "reinforce_pp" replaces both.

    `num_generations` is the size of a group. If it or `prompts_per_batch` is ``None``,
    the rollouts decide; a batch is then one step, or all rows. `filter_metric` names a
    component or "reward": groups in which it does not vary are dropped and sampled
    again (DAPO); ``None`` drops none. `reward_weights` has a weight per reward
    function, in order; ``None``: the reward's own weights.

    `beta` is the weight of the KL penalty. `loss_type` is how tokens are weighted; no
    figure here depends on it. `max_completion_length` is the cut-off in tokens;
    ``None``: the longest completion in the log. InputError: any other value.

    >>> Training(scale_rewards="none").name
    'dr_grpo'
    """

    trainer: str = "trl"
    num_generations: int | None = None
    prompts_per_batch: int | None = None
    scale_rewards: Scaling = "group"
    multi_objective_aggregation: Aggregation = "sum_then_normalize"
    estimator: Estimator | None = None
    filter_metric: str | None = None
    reward_weights: tuple[float, ...] | None = None
    loss_type: str | None = None
    beta: float = 0.0
    max_completion_length: int | None = None

    def __post_init__(self) -> None:
        self._check_names()
        object.__setattr__(self, "trainer", self.trainer.lower())
        self._check_choices()
        self._check_numbers()
        is_gdpo = self.multi_objective_aggregation == "normalize_then_sum"
        if self.estimator is not None and is_gdpo:
            raise InputError(
                f"estimator={self.estimator!r} takes the sum; it has no "
                "normalize_then_sum"
            )

    def _check_names(self) -> None:
        for name in ("trainer", "filter_metric", "loss_type"):
            value = getattr(self, name)
            is_unset = value is None and name != "trainer"
            if not (is_unset or isinstance(value, str)):
                raise InputError(f"{name}={value!r} is not a name")

    def _check_choices(self) -> None:
        for name, allowed in ALLOWED.items():
            value = getattr(self, name)
            if value not in allowed:
                choices = [choice for choice in allowed if choice is not None]
                raise InputError(
                    f"{name}={value!r} is not one of "
                    f"{choices}{did_you_mean(str(value), choices)}"
                )
        loss = (self.loss_type or "").lower()
        near = did_you_mean(loss, TRL_LOSSES, likeness=MISSPELT_LOSS)
        if self.trainer == "trl" and loss not in TRL_LOSSES and near:  # others are new
            raise InputError(
                f"loss_type={self.loss_type!r} is not one of {TRL_LOSSES}{near}"
            )

    def _check_numbers(self) -> None:
        for name, least in LEAST_COUNTS.items():
            count = getattr(self, name)
            if count is not None and not (type(count) is int and count >= least):
                raise InputError(
                    f"{name}={count!r} is not a whole number of at least {least}"
                )
        if self.reward_weights is not None:
            object.__setattr__(self, "reward_weights", self._read_weights())
        if not (type(self.beta) in (int, float) and 0 <= self.beta < math.inf):
            raise InputError(f"beta={self.beta!r} is not a number of at least 0")

    def _read_weights(self) -> tuple[float, ...]:
        """Return the weights as numbers. InputError: they are none."""
        weights: Any = self.reward_weights
        if isinstance(weights, str):  # of a command line
            weights = weights.strip("[] ").split(",")
        if isinstance(weights, list | tuple) and weights:
            numbers = [_parse_number(weight) for weight in weights]
            if all(type(number) in (int, float) for number in numbers):
                return tuple(map(float, numbers))
        raise InputError(
            f"reward_weights={weights!r} is not a list of numbers, one a reward "
            "function, such as [1.0, 0.2]"
        )

    def weights_of(self, reward: str, names: Sequence[str]) -> dict[str, float]:
        """Return `reward_weights` by the names of a reward's components.

        {} without weights, or with one: a common factor changes nothing.

        Raises:
            InputError: the number of weights is not the number of components.
        """
        weights = self.reward_weights
        if weights is None or len(weights) == 1:
            return {}
        if len(names) != len(weights):
            raise InputError(
                f"the settings have {len(weights)} reward_weights, and the reward "
                f"{reward!r} has the components {list(names)}; give one weight each"
            )
        return dict(zip(names, weights, strict=True))

    @property
    def name(self) -> str:
        """The name of the advantages, such as grpo, dr_grpo, gdpo or rloo."""
        if self.multi_objective_aggregation == "normalize_then_sum":
            return "gdpo"
        if self.estimator is not None:
            return self.estimator
        return {"group": "grpo", "batch": "batch", "none": "dr_grpo"}[
            self.scale_rewards
        ]

    @property
    def eps(self) -> float:
        """The trainer's epsilon, see `TRAINER_EPSILON`; TRL's if it is not there."""
        return TRAINER_EPSILON.get(self.trainer, TRAINER_EPSILON["trl"])

    @property
    def scales_groups(self) -> bool:
        """Whether each group is divided by its own standard deviation."""
        return self.name in ("grpo", "gdpo")

    def __str__(self) -> str:
        parts = [f"{self.trainer}: {self.name}"]
        if self.num_generations:
            parts.append(f"groups of {self.num_generations}")
        if self.prompts_per_batch:
            parts.append(f"{self.prompts_per_batch} prompts a batch")
        if self.reward_weights and len(self.reward_weights) > 1:
            listed = ", ".join(f"{weight:g}" for weight in self.reward_weights)
            parts.append(f"functions weighed {listed}")
        if self.filter_metric:
            parts.append(f"groups without spread in {self.filter_metric!r} dropped")
        if self.beta:
            parts.append(f"KL penalty {self.beta:g}")
        if self.max_completion_length:
            parts.append(f"at most {self.max_completion_length:,} tokens")
        return ", ".join(parts)

    @classmethod
    def of(cls, source: Any = None) -> Self:
        """Read settings from a Training, a dict, a GRPOConfig, or the path of a YAML.

        A file or dict is either verl's (with ``algorithm``) or TRL's (with names of
        GRPOConfig; other names in a file are ignored). ``None``: TRL's defaults.
        InputError: it cannot be read, has a misspelt name, or an estimator without
        groups.
        """
        if source is None or source in ("", {}):
            return cls()
        if isinstance(source, cls):
            return source
        if hasattr(source, "scale_rewards") and hasattr(source, "num_generations"):
            return cls._from_trl(vars(source))
        is_file = isinstance(source, str | Path)
        settings = _read_settings(Path(source)) if is_file else source
        if not isinstance(settings, Mapping):
            raise InputError(
                f"training={source!r} is no settings; give rk.Training(...), a dict, "
                "a GRPOConfig or the path of a YAML file"
            )
        if isinstance(settings.get("algorithm"), Mapping):
            return cls._from_verl(settings)
        place = repr(str(source)) if is_file else "training"
        names = {field.name for field in fields(cls)}
        for name in map(str, settings):
            if name in names or name == GENERATION_BATCH:
                continue
            is_misspelt = did_you_mean(name, names, likeness=MISSPELT_SETTING)
            if is_misspelt or not is_file:  # a file of TRL's has further settings
                raise InputError(
                    f"{place} has no setting {name!r}; known are {sorted(names)}"
                    f"{did_you_mean(name, names)}"
                )
        if not names & set(settings):
            raise InputError(
                f"{place} has no settings of a GRPO training: neither verl's "
                "'algorithm' nor names of TRL's GRPOConfig such as num_generations or "
                "scale_rewards"
            )
        return cls._from_trl(settings)

    @classmethod
    def _from_trl(cls, settings: Mapping[str, Any]) -> Self:
        """Read a GRPOConfig; prompts a batch = generation batch / group size."""
        options: dict[str, Any] = {}
        for field in fields(cls):
            value = settings.get(field.name)
            if field.name in NUMERIC_SETTINGS:
                value = _parse_number(value)
            if value is not None:
                options[field.name] = value
        scaling = options.get("scale_rewards")
        if isinstance(scaling, bool):  # as TRL once had it
            options["scale_rewards"] = "group" if scaling else "none"
        training = cls(**options)
        completions = _parse_number(settings.get(GENERATION_BATCH))
        size = training.num_generations
        if training.prompts_per_batch is None and size and type(completions) is int:
            return replace(training, prompts_per_batch=max(1, completions // size))
        return training

    @classmethod
    def _from_verl(cls, settings: Mapping[str, Any]) -> Self:
        """Read verl's configuration."""
        value_at = partial(_value_at, settings)
        estimator = str(value_at("algorithm.adv_estimator") or "gae")
        if estimator not in VERL_SUMS:
            raise InputError(
                f"algorithm.adv_estimator={estimator!r} has no advantages of groups "
                f"that are known here; known are {list(VERL_SUMS)}"
            )
        options = {name: value_at(path) for name, path in VERL_SETTINGS.items()}
        if options["num_generations"] == 1:  # verl's default: the rollouts say it
            options["num_generations"] = None
        if value_at("algorithm.norm_adv_by_std_in_grpo") is False:
            options["scale_rewards"] = "none"
        if estimator == "gdpo":
            options["multi_objective_aggregation"] = "normalize_then_sum"
        if value_at("algorithm.filter_groups.enable"):
            metric = value_at("algorithm.filter_groups.metric")
            options["filter_metric"] = "reward" if metric in VERL_REWARD else metric
        if value_at("actor_rollout_ref.actor.use_kl_loss"):
            options["beta"] = value_at("actor_rollout_ref.actor.kl_loss_coef")
        elif value_at("algorithm.use_kl_in_reward"):
            options["beta"] = value_at("algorithm.kl_ctrl.kl_coef")
        for name in NUMERIC_SETTINGS:
            options[name] = _parse_number(options.get(name))
        options["beta"] = options["beta"] or 0.0
        return cls(trainer="verl", estimator=VERL_SUMS[estimator], **options)


def _parse_number(value: Any) -> Any:
    """Parse a number that YAML reads as text, such as 1e-3; return others as is."""
    if isinstance(value, str):
        for parse in (int, float):
            try:
                return parse(value)
            except ValueError:
                pass
    return value


def _value_at(settings: Any, path: str) -> Any:
    """Return the value at ``a.b.c``, or None."""
    for name in path.split("."):
        settings = settings.get(name) if isinstance(settings, Mapping) else None
    return settings


def _read_settings(path: Path) -> Mapping[str, Any]:
    """Read a YAML or JSON file."""
    try:
        import yaml
    except ImportError:
        raise InputError(
            "a YAML file is read with PyYAML; install reward-workbench[notebook]"
        ) from None
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))  # JSON is YAML
    except OSError as error:
        raise InputError(
            f"the settings {str(path)!r} cannot be read: {error.strerror}"
        ) from None
    except (UnicodeDecodeError, ValueError, yaml.YAMLError) as error:
        raise InputError(
            f"the settings {str(path)!r} are no YAML: {' '.join(str(error).split())}"
        ) from None
    if not isinstance(settings, Mapping):
        raise InputError(
            f"the settings {str(path)!r} hold {type(settings).__name__}, not names and "
            "values"
        )
    return settings
