"""Spelling: what sentences name as Python has it, as it is written on the command line."""

from __future__ import annotations

import re

import click

KEYWORDS = {"log_weights": "weights", "reward": "run"}
"""Name of an option -> what sentences call it, where that differs."""

PHRASES = {
    "columns={canonical: its name}": "--name CANONICAL=ITS_NAME",
    "result.write_cases(path)": "--write-cases FILE",
    "rk.compare(a, b)": "rewardkit compare A B",
    "rk.score(reward, rollouts)": "rewardkit score REWARD ROLLOUTS",
    "rk.suggest(comparison.b)": "rewardkit diagnose B",
    "rk.suggest(rk.diagnose(scores, label=...))": "rewardkit diagnose SCORES --label COLUMN",
}
"""What Python has other words for -> how a shell says it."""

SAID = re.compile(
    r"^ *+\| .*"  # a line of a completion
    rf"|(?P<phrase>{'|'.join(map(re.escape, PHRASES))})"
    r"|(?<![\w.])(?:rk\.)?(?:load_rollouts\(\.\.\., |(?:\w++\.)?text\()(?P<inner>\w+)=[^()]*\)"
    r"|(?<![\w.])[\w.]++\((?:[^()]|\([^()]*\))*+\)"  # any other call is Python to write
    r"|(?<![\w.-])(?P<keyword>\w+)=(?P<value>\{'(?P<key>\w+)': \.\.\.\}|\{\.\.\.\}|\.\.\.|True"
    r"|(?P<number>\d+))?(?P<space> ?)",
    re.MULTILINE,
)


def as_typed(
    text: str, command: click.Command | None, *, all_of_it: bool = False
) -> str:
    """Return a text in which keyword arguments are options of the command.

    In what a command found those that stand for themselves, such as ``label=...``; in
    an error, which speaks of what was given, `all_of_it`, ``label='x'`` too. Options
    that the command does not have stay.
    """
    named = (
        [item for item in command.params if isinstance(item, click.Option)]
        if command
        else []
    )
    options = {
        KEYWORDS.get(str(item.name), str(item.name)): item for item in reversed(named)
    }
    if "json" in options:
        options.setdefault("verbose", options["json"])  # which has all of it, too

    def typed(found: re.Match[str]) -> str:
        if found["phrase"]:
            return PHRASES[found["phrase"]]
        option, key = (
            options.get(found["inner"] or found["keyword"] or ""),
            found["key"],
        )
        if option is None and key in options:  # an option of its own for a column
            option, key = options[key], None
        if option is None or not (found["inner"] or found["value"] or all_of_it):
            return found[0]
        value = f"{key}=..." if key else found["number"] or option.metavar
        told = option.opts[-1] + (
            f" {value}" if value and (found["inner"] or found["value"]) else ""
        )
        return told + (
            found["space"] or " " * (not found["inner"] and not found["value"])
        )

    return SAID.sub(typed, text)
