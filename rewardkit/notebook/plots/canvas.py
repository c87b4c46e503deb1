"""What all plots share: axes, colours, names as plain text, and words where nothing can be drawn."""

from __future__ import annotations

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.text import Text

from rewardkit.errors import InputError

__all__ = [
    "BLUE",
    "GREY",
    "NAME_WIDTH",
    "ORANGE",
    "RED",
    "axes_for",
    "grid_for",
    "plain",
    "said",
    "settled",
    "titled",
    "too_far",
    "width_of",
    "without_a_screen",
    "wrapped",
]

BLUE, GREY, ORANGE, RED = "#0072b2", "#8c8c8c", "#e69f00", "#d55e00"
NAME_WIDTH = 32  # characters of a component's name in a line
TITLE_WIDTH = 70
WIDEST = 1e200  # beyond it an axis has no ticks in floating point


def without_a_screen() -> None:
    """Draw into files only, from now on: no window is asked for."""
    plt.switch_backend("agg")


def axes_for(ax: Axes | None, *, width: float = 7.0, height: float = 3.2) -> Axes:
    """The axes that were given, or those of a new figure of this size, without a frame above and right."""
    if ax is None:
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def grid_for(axes: Any, count: int, *, columns: int, size: tuple[float, float]) -> list[Axes]:
    """So many of the axes that were given, or those of a new figure in rows; `size` is of one.

    InputError: too few were given.
    """
    if axes is not None:
        given = list(np.ravel(axes))
        if len(given) < count:
            raise InputError(f"axes={axes!r} are {len(given)} axes for {count} plots; give more, or none")
        return given[:count]
    columns = min(columns, count)
    rows = -(-count // columns)
    shape = (size[0] * columns, size[1] * rows)
    _, grid = plt.subplots(rows, columns, figsize=shape, layout="constrained", squeeze=False)
    for ax in list(grid.flat)[count:]:
        ax.set_visible(False)
    return list(grid.flat)[:count]


def plain(text: object) -> str:
    """A text as the font can show it: what it has no glyph for, and what would be no line, as escapes."""
    font = font_manager.get_font(font_manager.findfont(font_manager.FontProperties()))
    return "".join(
        character
        if character.isprintable() and font.get_char_index(ord(character))
        else character.encode("unicode_escape").decode()
        for character in str(text)
    )


def wrapped(text: object, width: int = NAME_WIDTH) -> str:
    """A text that holds a name, in lines that fit, broken behind underscores where it can be."""
    return "\n".join(textwrap.wrap(plain(text).replace("_", "_ "), width)).replace("_ ", "_")


def titled(ax: Axes, text: str, width: int = TITLE_WIDTH) -> None:
    """Set the title, flush left, in lines of at most so many characters."""
    ax.set_title(wrapped(text, width), loc="left", fontsize=11, parse_math=False)


def width_of(ax: Axes) -> float:
    """Width of the figure in inches."""
    return float(ax.figure.bbox.width / ax.figure.dpi)


def too_far(low: float, high: float) -> bool:
    """Whether an axis cannot reach from the one to the other."""
    return not high / WIDEST - low / WIDEST < 1


def said(ax: Axes, text: str) -> Axes:
    """The axes with words in place of a picture."""
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    ax.text(0.5, 0.5, wrapped(text, 48), ha="center", va="center", transform=ax.transAxes, color="#444444")
    return settled(ax)


def settled(ax: Axes) -> Axes:
    """The axes with every text shown as it is: dollars in a name do not begin a formula."""
    for text in ax.findobj(Text):
        text.set_parse_math(False)
    return ax
