"""The trainer's part of an exported file, rendered from the target's template."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardkit.targets.exported import identifier
from rewardkit.targets.losses import needs_siblings
from rewardkit.targets.target import Export, Target, Written

if TYPE_CHECKING:
    from jinja2 import Environment


@functools.cache
def templates(package: str = "rewardkit.targets") -> Environment:
    """The templates of a package, of which files of Python are made."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # what is made is Python, of names and numbers that are ours
    )


IMPORTS = {"asyncio.": "import asyncio", "partial(": "from functools import partial"}
"""What stands in the code of a template -> the line that it needs."""


def rendered(template: str, **told: Any) -> str:
    """The text of a template."""
    return templates().get_template(f"{template}.py.jinja").render(told)


def written(target: Target, export: Export, path: Path) -> Written:
    """What stands in the file at `path` behind the reward, which is called ``_reward`` there.

    A template sets `usage`, the configuration lines to paste, `functions`, if the
    trainer is not pointed at one that is called as the reward, and `private`, where it
    takes each public function for a reward. It is told what `held` is (the reward and
    its options, for one of the target's callables), how a function of the file begins
    (`start`) and how it calls ours (`call`), as both wait where the reward has async
    components.
    """
    reward = export.reward
    name, awaited = identifier(reward.name), reward.is_async
    told: dict[str, Any] = {
        "trainer": sys.modules[target.readings.__module__],
        "name": name,
        "class_name": "".join(part[:1].upper() + part[1:] for part in name.split("_"))
        or "Reward",
        "names": reward.names,
        "weights": reward.weights,
        "needs": reward.needs,
        "siblings": needs_siblings(reward),
        "separate": export.separate,
        "awaited": awaited,
        "start": "async def" if awaited else "def",
        "call": lambda function: (
            f"await asyncio.to_thread({function}, " if awaited else f"{function}("
        ),
        "held": "_reward"
        + (f", columns={dict(export.columns)!r}" if export.columns else "")
        + (f", missing={export.missing!r}" if export.missing else ""),
        "path": path,
        "module": path.stem,
    }
    made: Any = templates().get_template(f"{target.name}.py.jinja").make_module(told)
    code = str(made).strip()
    return Written(
        code,
        tuple(line for start, line in IMPORTS.items() if start in code),
        str(made.usage).strip(),
        tuple(getattr(made, "functions", (name,))),
        whole=not export.separate,
        private=getattr(made, "private", False),
    )
