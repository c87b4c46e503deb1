"""What of a reward is lost on a trainer, in sentences; and what cannot be expressed there at all."""

from __future__ import annotations

from rewardkit.errors import RewardError
from rewardkit.rewards.reward import Reward
from rewardkit.targets.target import JUDGED, Abilities, Export, Target


def losses(export: Export, target: Target) -> list[str]:
    """A sentence for each thing that the trainer will not do as rewardkit does.

    RewardError: the reward needs the siblings of a group, or a column, which the
    trainer does not hand over.
    """
    _check(export.reward, target)
    found = [
        sentence
        for reward in export.reward.branches
        for sentence, is_so in _sentences(reward, export, target).items()
        if is_so
    ]
    return [*dict.fromkeys(found), *target.abilities.also]


def _check(reward: Reward, target: Target) -> None:
    """RewardError where siblings or columns are asked for that the trainer does not hand over."""
    title, given = target.title, target.abilities.columns
    lacking = [name for name in reward.needs if name not in (*(given or ()), "rollout")]
    if given is not None and lacking:
        raise RewardError(
            f"reward {reward.name!r} cannot be written for {title}: it needs "
            f"{', '.join(map(repr, lacking))}, and {title} hands over "
            f"{', '.join(given)} only; leave out what asks for it, or export to another trainer"
        )
    groups = [item.name for item in reward.all_components if item.group]
    if groups and target.abilities.siblings == "none":
        names, needs = (
            ", ".join(map(repr, groups)),
            "needs" if len(groups) == 1 else "need",
        )
        raise RewardError(
            f"reward {reward.name!r} cannot be written for {title}: {names} {needs} the siblings of a "
            f"group, and {title} scores one completion at a time; leave it out, or export to a trainer "
            "that hands over groups (trl, tunix, benchmax)"
        )


def _sentences(reward: Reward, export: Export, target: Target) -> dict[str, object]:
    """What may be lost -> whether it is."""
    can, title, apart = target.abilities, target.title, export.separate
    weighed = len(reward.components) > 1 or any(
        weight != 1 for weight in reward.weights.values()
    )
    unjudged = "component and completion: what" if apart else "completion: one that"
    judged = f" and {JUDGED} = 0" if can.judged else ""
    waiting = async_parts(reward)
    blocked = f"block: {title} scores one completion at a time"
    how = (
        "are awaited together, a batch at a time"
        if can.waits == "together"
        else blocked
    )
    return {
        "weights are baked in: to change one, export again": weighed and not apart,
        f"a completion that only some functions judge: {title} counts the others as 0 "
        "(combined keeps None)": (apart and can.missing == "None"),
        f"aggregation {reward.aggregation!r}: {title} adds the functions up": (
            apart and reward.aggregation != "weighted_sum"
        ),
        "the gate on the whole reward closes each function by itself": apart
        and reward.gate is not None,
        f"the transform: it is of the whole reward, and {title} adds up the functions": (
            apart and reward.transform is not None
        ),
        f"{title} needs a number for every {unjudged} is not judged gets {export.missing:g}{judged}": (
            can.missing == "number"
        ),
        f"the transform is left out: {title} scores one completion at a time (it scales itself)": (
            can.siblings == "none" and reward.transform is not None
        ),
        "siblings are the completions of one prompt in the batch of one process: keep a group in one": (
            can.siblings == "batch" and needs_siblings(reward)
        ),
        f"async components ({', '.join(waiting)}) {how}": waiting
        and can.waits != "each",
        f"{title} does not say which step it is: the data set must have a column 'step'": (
            not can.steps and "step" in reward.needs
        ),
        f"{title} hands over the text only: the data set must have the transcript as 'messages'": (
            not can.turns and "messages" in reward.needs
        ),
        **_bounds(reward, can, title, apart=apart),
    }


def _bounds(
    reward: Reward, can: Abilities, title: str, *, apart: bool
) -> dict[str, object]:
    """What leaves the range that a trainer asks for: components, or the sum."""
    if can.bounds is None:
        return {}
    low, high = can.bounds
    asked = f"{title} asks for rewards in [{low:g}, {high:g}]"
    ranges = {item.name: item.range for item in reward.components}
    wide = [
        name
        for name, one in ranges.items()
        if one is None or one[0] < low or one[1] > high
    ]
    penalties = [name for name, weight in reward.weights.items() if weight < 0]
    open_ended = bool(wide) or reward.aggregation != "weighted_sum"
    ends = [
        [item.weight * end for end in item.range or (0, 0)]
        for item in reward.components
    ]
    least, most = sum(map(min, ends)), sum(map(max, ends))
    return {
        f"{asked}: {', '.join(wide)} may leave it": apart and wide,
        f"penalties ({', '.join(penalties)}) are high where a completion is bad: give them their negative "
        "weight, and turn none around": apart and penalties,
        f"{asked}: the sum may leave it": not apart and open_ended,
        f"{asked}: the sum goes from {least:g} to {most:g}": (
            not (apart or open_ended) and (least < low or most > high)
        ),
    }


def async_parts(reward: Reward) -> list[str]:
    """The names of the fields and components that have to be awaited."""
    calls = {
        **reward.field_calls,
        **{item.name: item.call for item in reward.components},
    }
    return [name for name, call in calls.items() if call.is_async]


def needs_siblings(reward: Reward) -> bool:
    """Whether a component or the transform is of a whole group."""
    return any(item.group for item in reward.all_components) or any(
        branch.transform is not None for branch in reward.branches
    )
