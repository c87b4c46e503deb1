"""Print the texts of commands: escaped, coloured on a terminal, with typed options."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from rewardkit.findings import counted
from rewardkit.html import markup
from rewardkit.html.excerpts import LINE, one_line, visible
from rewardkit.html.has_page import HasPage
from rewardkit.rollouts.paths import write_content

STYLES = {
    r"(?m)^\s*● high\b|^\s*high(?=:)|\b(?:is )?not ready\b|^rewardkit:": "bold red",
    r"(?m)^\s*▲ warn\b|^\s*warn(?=:)|(?<=: )usable\b|\bis usable\b": "bold yellow",
    r"(?m)^\s*○ info\b|^\s*info(?=:)": "cyan",
    r"(?m)(?<=: )fine\b|\bis fine\b|^\u2713 .* cases passed": "bold green",
    r"(?m)^\u2717 .* cases passed": "bold red",
    r"(?m)^\s*(?:fix|next|Next|Change|Note|Limit):": "bold",
}
"""Pattern -> style on a terminal: severities, verdicts and advice."""


def say(text: str, *, err: bool = False, stream: Any = None) -> None:
    """Print a text by `printable`; on a terminal with colours, in the terminal's width.

    Respects NO_COLOR and FORCE_COLOR. `stream` is the target, by default stdout.
    """
    if stream is None:
        stream = sys.stderr if err else sys.stdout
    text = printable(text, getattr(stream, "encoding", None) or "utf-8")
    console = Console(file=stream, soft_wrap=True)
    if stream.isatty():
        text = "\n".join(_fold(line, console.width) for line in text.split("\n"))
    if console.color_system is None or console.no_color:
        click.echo(text, file=stream)
        return
    styled = Text(text)  # does not parse markup
    for pattern, style in STYLES.items():
        styled.highlight_regex(pattern, style)
    console.print(styled)


def printable(text: str, encoding: str = "utf-8") -> str:
    r"""Return a text that is safe on every terminal, with visible control characters.

    Line breaks and tabs are kept.

    >>> printable("\x1b]0;title\a \x9b31m \u202e [red]")
    '␛]0;title␇ ⟨U+009B⟩31m ⟨U+202E⟩ [red]'
    """
    return visible(text).encode(encoding, "backslashreplace").decode(encoding)


def _fold(line: str, width: int) -> str:
    """Break a line between words at the width of the terminal."""
    if len(line) <= width:
        return line
    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    return textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False)


class Legible:
    """A stand-in for stderr that makes prints of users' code `printable`."""

    def write(self, text: str) -> int:
        """Write the text."""
        return sys.stderr.write(printable(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


def recognised(origin: str, *, verbose: bool = False) -> list[str]:
    r"""Describe how functions were recognised; only the first without `verbose`.

    >>> recognised("right, brief read as TRL.\nright read as TRL\nbrief read as TRL")
    ['right, brief read as TRL. What each takes: text(verbose=True)']
    """
    lines = origin.splitlines()
    if len(lines) > 1 and not verbose:
        lines = [f"{one_line(lines[0])} What each takes: text(verbose=True)"]
    return [
        textwrap.fill(line, LINE.get(), subsequent_indent="  ", break_on_hyphens=False)
        for line in lines
    ]


# --- Python arguments as options

OPTION_KEYWORDS = {"log_weights": "weights", "reward": "run"}
"""Name of an option -> its keyword in sentences, if different."""

SHELL_PHRASES = {
    "columns={canonical: its name}": "--name CANONICAL=ITS_NAME",
    "result.write_cases(path)": "--write-cases FILE",
    "rk.compare(a, b)": "rewardkit compare A B",
    "rk.probe(reward, rollouts)": "rewardkit probe REWARD ROLLOUTS",
    "rk.score(reward, rollouts)": "rewardkit score REWARD ROLLOUTS",
    "rk.suggest(comparison.b)": "rewardkit diagnose B",
    "rk.suggest(rk.diagnose(scores))": "rewardkit diagnose SCORES",
}
"""Phrase in Python -> phrase in a shell."""

KEYWORD_ARGUMENT = re.compile(
    r"^ *+\| .*"  # a line of a completion
    rf"|(?P<phrase>{'|'.join(map(re.escape, SHELL_PHRASES))})"
    r"|(?<![\w.])(?:rk\.)?(?:load_rollouts\(\.\.\., |(?:\w++\.)?text\()"
    r"(?P<inner>\w+)=[^()]*\)"
    r"|(?<![\w.])[\w.]++\((?:[^()]|\([^()]*\))*+\)"  # any other call is Python to write
    r"|(?<![\w.-])(?P<keyword>\w+)="
    r"(?P<value>\{'(?P<key>\w+)': \.\.\.\}|\{\.\.\.\}|\.\.\.|True"
    r"|(?P<number>\d+))?(?P<space> ?)",
    re.MULTILINE,
)


def as_typed(text: str, command: click.Command | None, *, in_full: bool = False) -> str:
    """Replace keyword arguments in a text by options of the command.

    In a result, only placeholders such as ``label=...`` are replaced. In an error,
    which refers to typed options, ``label='x'`` is replaced, too (`in_full`). Keywords
    that are no options of the command are kept.
    """
    options: dict[str, click.Option] = {}
    for parameter in command.params if command else ():
        if isinstance(parameter, click.Option):
            name = str(parameter.name)
            options.setdefault(OPTION_KEYWORDS.get(name, name), parameter)
    if "json" in options:
        options.setdefault("verbose", options["json"])  # JSON is complete, too

    def spell(match: re.Match[str]) -> str:
        if match["phrase"]:
            return SHELL_PHRASES[match["phrase"]]
        option = options.get(match["inner"] or match["keyword"] or "")
        key = match["key"]
        if option is None and key in options:  # the column has its own option
            option = options[key]
            key = None
        has_value = bool(match["inner"] or match["value"])
        if option is None or not (has_value or in_full):
            return match[0]
        flag = option.opts[-1]
        if not has_value:
            return f"{flag} "
        value = f"{key}=..." if key else match["number"] or option.metavar
        if value:
            flag += f" {value}"
        return flag + (match["space"] or "")

    return KEYWORD_ARGUMENT.sub(spell, text)


def added_text(count: int, path: str) -> str:
    """Describe the cases added to a case file."""
    return f"{counted(count, 'case')} added to {path}"


def write_text(path: Path, record: HasPage) -> None:
    """Write a record into a file, as HTML if that is its suffix, else as Markdown."""
    page = record.page()
    text = f"{page.markdown}\n"
    if path.suffix == ".html":
        text = markup.page(str(page.title), page.html)
    write_content(path, text)
