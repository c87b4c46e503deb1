"""What of a reward is lost on a trainer, in sentences; and what cannot be expressed there at all."""

from __future__ import annotations

from rewardkit.errors import RewardError
from rewardkit.rewards.component import Component
from rewardkit.rewards.reward import Reward
from rewardkit.targets.reading import JUDGED
from rewardkit.targets.target import Abilities, Export, Target

__all__ = ["async_parts", "losses"]


def losses(export: Export, target: Target) -> list[str]:
    """A sentence for each thing that the trainer will not do as rewardkit does.

    RewardError: the reward needs the siblings of a group, or a column, which the trainer does not hand over.
    """
    _check_columns(export, target)
    rewards = export.reward.inner
    found: dict[str, None] = {}
    for reward in rewards:
        for sentence in _losses(reward, export, target):
            found.setdefault(sentence)
    return [*found, *target.abilities.also]


def _check_columns(export: Export, target: Target) -> None:
    """RewardError where the trainer hands over certain columns only, and others are asked for."""
    given = target.abilities.columns
    lacking = [name for name in export.reward.needs if name not in (*(given or ()), "rollout")]
    if given is None or not lacking:
        return
    raise RewardError(
        f"reward {export.reward.name!r} cannot be written for {target.title}: it needs "
        f"{', '.join(map(repr, lacking))}, and {target.title} hands over "
        f"{', '.join(given)} only; leave out what asks for it, or export to another trainer"
    )


def _losses(reward: Reward, export: Export, target: Target) -> list[str]:
    can, title = target.abilities, target.title
    said = []
    if len(reward.components) > 1 or any(weight != 1 for weight in reward.weights.values()):
        if not (export.separate and can.weights == "kept"):
            said.append("weights are baked in: to change one, export again")
    if export.separate:
        said += _separate(reward, can, title)
    if can.missing == "number":
        what = "component and completion: what" if export.separate else "completion: one that"
        said.append(
            f"{title} needs a number for every {what} is not judged gets {export.missing:g}"
            f"{f' and {JUDGED} = 0' if target.name in WITH_JUDGED else ''}"
        )
    said += _siblings(reward, can, title)
    waiting = async_parts(reward)
    if waiting and can.waits != "each":
        how = (
            "are awaited together, a batch at a time"
            if can.waits == "together"
            else f"block: {title} scores one completion at a time"
        )
        said.append(f"async components ({', '.join(waiting)}) {how}")
    if not can.steps and "step" in reward.needs:
        said.append(f"{title} does not say which step it is: the data set must have a column 'step'")
    if not can.turns and "messages" in reward.needs:
        said.append(f"{title} hands over the text only: the data set must have the transcript as 'messages'")
    return [*said, *(_bounds(reward, export.separate, can.bounds, title) if can.bounds else ())]


WITH_JUDGED = ("verl", "siirl", "easyr1", "skyrl-gym", "openrlhf")


def _separate(reward: Reward, can: Abilities, title: str) -> list[str]:
    """What separate functions cannot keep of how components add up."""
    said = []
    if can.missing == "None":
        said.append(
            f"a completion that only some functions judge: {title} counts the others as 0 (combined keeps "
            "None)"
        )
    if reward.aggregation != "weighted_sum":
        said.append(f"aggregation {reward.aggregation!r}: {title} adds the functions up")
    if reward.gate is not None:
        said.append("the gate on the whole reward closes each function by itself")
    if reward.transform is not None:
        said.append(f"the transform: it is of the whole reward, and {title} adds up the functions")
    return said


def _bounds(reward: Reward, separate: bool, bounds: tuple[float, float], title: str) -> list[str]:
    """What leaves the range that a trainer asks for: components, or the sum."""
    low, high = bounds
    asked = f"{title} asks for rewards in [{low:g}, {high:g}]"
    wide = [
        item.name
        for item in reward.components
        if item.range is None or item.range[0] < low or item.range[1] > high
    ]
    if separate:
        penalties = [name for name, weight in reward.weights.items() if weight < 0]
        said = [f"{asked}: {', '.join(wide)} may leave it"] if wide else []
        if penalties:
            said.append(
                f"penalties ({', '.join(penalties)}) are high where a completion is bad: give them their "
                "negative weight, and turn none around"
            )
        return said
    if wide or reward.aggregation != "weighted_sum":
        return [f"{asked}: the sum may leave it"]
    ends = [[weight * end for end in item.range or ()] for item, weight in _weighed(reward)]
    least, most = sum(map(min, ends)), sum(map(max, ends))
    return [f"{asked}: the sum goes from {least:g} to {most:g}"] if least < low or most > high else []


def _weighed(reward: Reward) -> list[tuple[Component, float]]:
    return [(item, float(item.weight)) for item in reward.components]


def _siblings(reward: Reward, can: Abilities, title: str) -> list[str]:
    groups = [item.name for item in reward.components if item.group]
    if can.siblings == "none":
        if groups:
            names, needs = ", ".join(map(repr, groups)), "needs" if len(groups) == 1 else "need"
            raise RewardError(
                f"reward {reward.name!r} cannot be written for {title}: {names} {needs} the siblings of a "
                f"group, and {title} scores one completion at a time; leave it out, or export to a trainer "
                "that hands over groups (trl, tunix, benchmax)"
            )
        if reward.transform is not None:
            return [f"the transform is left out: {title} scores one completion at a time (it scales itself)"]
    if can.siblings == "batch" and (groups or reward.transform is not None):
        said = "siblings are the completions of one prompt in the batch of one process: keep a group in one"
        return [said]
    return []


def async_parts(reward: Reward) -> list[str]:
    """The names of the fields and components that have to be awaited."""
    calls = {**reward.field_calls, **{item.name: item.call for item in reward.components}}
    return [name for name, call in calls.items() if call.is_async]
