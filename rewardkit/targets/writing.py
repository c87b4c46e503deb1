"""Find the losses of a reward on a trainer, and write the trainer's part of a file."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardkit.errors import RewardError
from rewardkit.rewards.reward import Reward
from rewardkit.targets.exported import identifier
from rewardkit.targets.target import JUDGED, Export, Target, TrainerCode

if TYPE_CHECKING:
    from jinja2 import Environment


# --- losses


def find_losses(export: Export, target: Target) -> list[str]:
    """Return a sentence for each difference between the trainer and rewardkit.

    RewardError: the reward needs the siblings of a group, or a column, that the trainer
    does not pass.
    """
    _check_abilities(export.reward, target)
    losses: dict[str, None] = {}
    for reward in export.reward.branches:
        losses |= dict.fromkeys(_reward_losses(reward, export, target))
    return [*losses, *target.abilities.also]


def _check_abilities(reward: Reward, target: Target) -> None:
    title, columns = target.title, target.abilities.columns
    if columns is not None:
        lacking = [name for name in reward.needs if name not in (*columns, "rollout")]
        if lacking:
            raise RewardError(
                f"reward {reward.name!r} cannot be written for {title}: it needs "
                f"{', '.join(map(repr, lacking))}, and {title} hands over "
                f"{', '.join(columns)} only; leave out what asks for it, or export to "
                "another trainer"
            )
    groups = [repr(item.name) for item in reward.all_components if item.group]
    if groups and target.abilities.siblings == "none":
        verb = "needs" if len(groups) == 1 else "need"
        raise RewardError(
            f"reward {reward.name!r} cannot be written for {title}: "
            f"{', '.join(groups)} {verb} the siblings of a group, and {title} scores "
            "one completion at a time; leave it out, or export to a trainer that hands "
            "over groups (trl, tunix, benchmax)"
        )


def _reward_losses(reward: Reward, export: Export, target: Target) -> Iterator[str]:
    """Yield the losses of a reward that is not a Route."""
    can, title = target.abilities, target.title
    if export.separate:
        yield from _separate_losses(reward, target)
    elif len(reward.components) > 1 or any(
        weight != 1 for weight in reward.weights.values()
    ):
        yield "weights are baked in: to change one, export again"
    if can.missing == "number":
        row = "completion: one that"
        if export.separate:
            row = "component and completion: what"
        judged = f" and {JUDGED} = 0" if can.judged else ""
        yield (
            f"{title} needs a number for every {row} is not judged gets "
            f"{export.missing:g}{judged}"
        )
    if can.siblings == "none" and reward.transform is not None:
        yield (
            f"the transform is left out: {title} scores one completion at a time (it "
            "scales itself)"
        )
    if can.siblings == "batch" and needs_siblings(reward):
        yield (
            "siblings are the completions of one prompt in the batch of one process: "
            "keep a group in one"
        )
    async_names = _async_names(reward)
    if async_names and can.waits != "each":
        fate = f"block: {title} scores one completion at a time"
        if can.waits == "together":
            fate = "are awaited together, a batch at a time"
        yield f"async components ({', '.join(async_names)}) {fate}"
    if not can.steps and "step" in reward.needs:
        yield (
            f"{title} does not say which step it is: the data set must have a column "
            "'step'"
        )
    if not can.turns and "messages" in reward.needs:
        yield (
            f"{title} hands over the text only: the data set must have the transcript "
            "as 'messages'"
        )
    if can.bounds is not None:
        yield from _bound_losses(reward, title, can.bounds, separate=export.separate)


def _separate_losses(reward: Reward, target: Target) -> Iterator[str]:
    """Yield the losses of one function per component."""
    title = target.title
    if target.abilities.missing == "None":
        yield (
            f"a completion that only some functions judge: {title} counts the others "
            "as 0 (combined keeps None)"
        )
    if reward.aggregation != "weighted_sum":
        yield f"aggregation {reward.aggregation!r}: {title} adds the functions up"
    if reward.gate is not None:
        yield "the gate on the whole reward closes each function by itself"
    if reward.transform is not None:
        yield (
            f"the transform: it is of the whole reward, and {title} adds up the "
            "functions"
        )


def _bound_losses(
    reward: Reward, title: str, bounds: tuple[float, float], *, separate: bool
) -> Iterator[str]:
    """Yield a sentence if components, or their sum, may leave the trainer's range."""
    low, high = bounds
    demand = f"{title} asks for rewards in [{low:g}, {high:g}]"
    wide = []
    least = most = 0.0
    for item in reward.components:
        start, end = item.range or (0, 0)
        if item.range is None or start < low or end > high:
            wide.append(item.name)
        least += min(item.weight * start, item.weight * end)
        most += max(item.weight * start, item.weight * end)
    penalties = [name for name, weight in reward.weights.items() if weight < 0]
    if separate:
        if wide:
            yield f"{demand}: {', '.join(wide)} may leave it"
        if penalties:
            yield (
                f"penalties ({', '.join(penalties)}) are high where a completion is "
                "bad: give them their negative weight, and turn none around"
            )
    elif wide or reward.aggregation != "weighted_sum":
        yield f"{demand}: the sum may leave it"
    elif least < low or most > high:
        yield f"{demand}: the sum goes from {least:g} to {most:g}"


def _async_names(reward: Reward) -> list[str]:
    """Return the names of the async fields and components."""
    calls = dict(reward.field_calls)
    for item in reward.components:
        calls[item.name] = item.call
    return [name for name, call in calls.items() if call.is_async]


def needs_siblings(reward: Reward) -> bool:
    """Return whether a component or the transform needs a whole group."""
    if any(item.group for item in reward.all_components):
        return True
    return any(branch.transform is not None for branch in reward.branches)


# --- templates


@functools.cache
def templates(package: str = "rewardkit.targets") -> Environment:
    """Return the templates of a package for Python files."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # the output is Python, of our own names and numbers
    )


IMPORTS = {"asyncio.": "import asyncio", "partial(": "from functools import partial"}
"""Code in a template -> the import line that it needs."""


def render(template: str, **values: Any) -> str:
    """Render a template of this package to text."""
    return templates().get_template(f"{template}.py.jinja").render(values)


def write_code(target: Target, export: Export, path: Path) -> TrainerCode:
    """Write the trainer's part of the file at `path`; the reward is ``_reward``.

    A template sets `usage`, the configuration lines to paste; `functions`, unless the
    trainer loads a function of the reward's name; and `private`, if the trainer takes
    each public function for a reward. Its variables include the `arguments` of the
    target's callable, the `start` of a function and the `call` of ours, which both
    await if the reward has async components.
    """
    reward = export.reward
    name, is_async = identifier(reward.name), reward.is_async
    start_of_call = "await asyncio.to_thread({}, " if is_async else "{}("
    arguments = "_reward"
    for option in ("columns", "missing", "record", "timeout"):
        value = getattr(export, option)
        if value:
            arguments += f", {option}={value!r}"
    values: dict[str, Any] = {
        "trainer": sys.modules[target.readings.__module__],
        "name": name,
        "class_name": "".join(part[:1].upper() + part[1:] for part in name.split("_")),
        "names": reward.names,
        "weights": reward.weights,
        "needs": reward.needs,
        "siblings": needs_siblings(reward),
        "separate": export.separate,
        "awaited": is_async,
        "start": "async def" if is_async else "def",
        "call": start_of_call.format,
        "arguments": arguments,
        "path": path,
        "module": path.stem,
    }
    template = templates().get_template(f"{target.name}.py.jinja")
    module: Any = template.make_module(values)
    code = str(module).strip()
    return TrainerCode(
        code,
        tuple(line for sign, line in IMPORTS.items() if sign in code),
        str(module.usage).strip(),
        tuple(getattr(module, "functions", (name,))),
        combined=not export.separate,
        private=getattr(module, "private", False),
    )
