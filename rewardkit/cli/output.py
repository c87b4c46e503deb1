"""What commands print: all of it through `say`, which shows no text raw, and colours it on a terminal."""

from __future__ import annotations

import sys
import textwrap
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from rewardkit.html.excerpts import LINE, one_line, visible

STYLES = {
    r"(?m)^\s*● high\b|^\s*high(?=:)|\b(?:is )?not ready\b|^rewardkit:": "bold red",
    r"(?m)^\s*▲ warn\b|^\s*warn(?=:)|(?<=: )usable\b|\bis usable\b": "bold yellow",
    r"(?m)^\s*○ info\b|^\s*info(?=:)": "cyan",
    r"(?m)(?<=: )fine\b|\bis fine\b|^(\d[\d,]*) of \1 cases passed": "bold green",
    r"(?m)^(?!(\d[\d,]*) of \1 )\d[\d,]* of \d[\d,]* cases passed": "bold red",
    r"(?m)^\s*(?:fix|next|Next|Change|Note|Limit):": "bold",
}
"""Pattern -> how what it matches looks on a terminal: severities, verdicts and what to do."""


def say(text: str, *, err: bool = False) -> None:
    """Print a text: in lines of its width and coloured on a terminal, else as it is, but for `printable`.

    NO_COLOR and FORCE_COLOR are heeded.
    """
    stream = sys.stderr if err else sys.stdout
    shown = printable(text, getattr(stream, "encoding", None) or "utf-8")
    console = Console(file=stream, soft_wrap=True)
    if stream.isatty():
        shown = "\n".join(_folded(line, console.width) for line in shown.split("\n"))
    if console.color_system is None or console.no_color:
        click.echo(shown, file=stream)
        return
    styled = Text(shown)  # which reads no markup
    for pattern, style in STYLES.items():
        styled.highlight_regex(pattern, style)
    console.print(styled)


def printable(text: str, encoding: str = "utf-8") -> str:
    r"""Return a text that every terminal can take: hidden characters are written out.

    Line breaks and tabs stay.

    >>> printable("\x1b]0;title\a \x9b31m \u202e [red]")
    '␛]0;title␇ ⟨U+009B⟩31m ⟨U+202E⟩ [red]'
    """
    return visible(text).encode(encoding, "backslashreplace").decode(encoding)


def _folded(line: str, width: int) -> str:
    """Break a line between words where it is longer than the terminal is wide."""
    if len(line) <= width:
        return line
    inner = " " * (len(line) - len(line.lstrip(" ")) + 2)
    return textwrap.fill(line, width, subsequent_indent=inner, break_on_hyphens=False)


class Legible:
    """Stands for stderr, and takes what users' code prints: as `printable` writes it."""

    def write(self, text: str) -> int:
        """Write the text."""
        return sys.stderr.write(printable(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


def recognised(origin: str, *, verbose: bool = False) -> list[str]:
    r"""Return what a function was recognised as; of several the first line alone.

    >>> recognised("right, brief read as TRL.\nright read as TRL: it takes completions\nbrief read as TRL")
    ['right, brief read as TRL. What each takes: text(verbose=True)']
    """
    lines = origin.splitlines()
    if len(lines) > 1 and not verbose:
        lines = [f"{one_line(lines[0])} What each takes: text(verbose=True)"]
    return [
        textwrap.fill(line, LINE.get(), subsequent_indent="  ", break_on_hyphens=False)
        for line in lines
    ]
