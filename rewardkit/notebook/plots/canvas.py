"""What all plots share: quiet axes, colours, curves, labels, names as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import ScalarFormatter
from numpy.typing import ArrayLike

from rewardkit.analysis.statistics.groups import Floats
from rewardkit.errors import InputError
from rewardkit.findings import percent

BLUE, GREY, ORANGE, RED = "#0072b2", "#8c8c8c", "#e69f00", "#d55e00"
MUTED, SOFT = "#444444", "#f0f0f0"
CURVES = ((BLUE, "-", "o"), (ORANGE, "--", "s"), (RED, "-.", "^"), (GREY, ":", "D"))
GRID: dict[str, Any] = {"color": GREY, "alpha": 0.25, "linewidth": 0.8}
SMALL = 8.5  # points of the words along the axes
LABEL = 8.0  # points of the words beside what is drawn
NAME_WIDTH = 32  # characters of a component's name in a line
TITLE_WIDTH = 70
WIDEST = 1e200  # beyond it an axis has no ticks in floating point


def without_a_screen() -> None:
    """Draw into files only, from now on: no window is asked for."""
    plt.switch_backend("agg")


def axes_for(
    ax: Axes | None, *, width: float = 6.2, height: float = 3.2, grid: bool = True
) -> Axes:
    """Return the given axes, or new ones of this size, without a frame."""
    if ax is None:
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelsize=SMALL, labelcolor=MUTED)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(axis="y", **GRID)
    return ax


def grid_for(
    axes: Any, count: int, *, columns: int, size: tuple[float, float]
) -> list[Axes]:
    """Return so many of the given axes, or new ones in rows; `size` is of one.

    Raises:
        InputError: too few axes are given.
    """
    if axes is not None:
        given = list(np.ravel(axes))
        if len(given) < count:
            raise InputError(
                f"axes={axes!r} are {len(given)} axes for {count} plots; give more, or "
                "none"
            )
        return given[:count]
    columns = min(columns, count)
    rows = -(-count // columns)
    shape = (size[0] * columns, size[1] * rows)
    _, grid = plt.subplots(
        rows, columns, figsize=shape, layout="constrained", squeeze=False
    )
    for ax in list(grid.flat)[count:]:
        ax.set_visible(False)
    return list(grid.flat)[:count]


def size_of(ax: Axes) -> Floats:
    """Return width and height in inches of the figure's cell that the axes are in."""
    spec, box = ax.get_subplotspec(), ax.figure.bbox
    rows, columns = spec.get_gridspec().get_geometry() if spec else (1, 1)
    return np.array([box.width / columns, box.height / rows]) / ax.figure.dpi


def finished(
    ax: Axes, title: str, *, x: str = "", y: str = "", key: bool = False
) -> Axes:
    """Finish axes: the result as title, small grey words, a `key` below the title.

    Every text is shown as it is: dollars in a name do not begin a formula.
    """
    width, _ = size_of(ax)
    points = 11.0 if width > 5 else 9.5
    names = (
        line for item in ax.get_yticklabels() for line in item.get_text().split("\n")
    )
    beside = 0.64 * SMALL * max(map(len, names), default=0)
    letters = max(
        20, min(TITLE_WIDTH, int((72 * width - 36 - beside) / (0.62 * points)))
    )
    even = (
        8 + len(title) // -(-len(title) // letters) if title else letters
    )  # no line of one word
    ax.set_title(
        wrapped(title[:1].upper() + title[1:], min(letters, even)),
        loc="left",
        fontsize=points,
        pad=24 if key else 8,
    )
    ax.set_xlabel(x, fontsize=SMALL, color=MUTED, loc="left")
    ax.set_ylabel(y, fontsize=SMALL, color=MUTED)
    if key:
        style: dict[str, Any] = {
            "handletextpad": 0.5,
            "columnspacing": 1.4,
            "borderaxespad": 0.3,
        }
        ax.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=9,
            fontsize=LABEL,
            frameon=False,
            **style,
        )
    for axis in (ax.xaxis, ax.yaxis):  # no factor beside an axis, where the key stands
        if isinstance(formatter := axis.get_major_formatter(), ScalarFormatter):
            formatter.set_scientific(False)
            formatter.set_useOffset(False)
    for text in ax.findobj(Text):
        text.set_parse_math(False)
    return ax


def put_words(ax: Axes, text: str, title: str = "") -> Axes:
    """Put words in place of a picture."""
    ax.set_xticks([])
    ax.set_yticks([])
    ax.text(
        0.5,
        0.5,
        wrapped(text, 48),
        ha="center",
        va="center",
        transform=ax.transAxes,
        color=MUTED,
    )
    return finished(ax, title)


def label(
    ax: Axes,
    text: str,
    x: float,
    y: float,
    shift: tuple[float, float] = (4, 0),
    **style: Any,
) -> None:
    """Words right of a place, or shifted from it by other points."""
    style = {"va": "center", "fontsize": LABEL, "annotation_clip": False, **style}
    ax.annotate(plain(text), (x, y), shift, textcoords="offset points", **style)


def curve(
    ax: Axes,
    x: ArrayLike,
    y: ArrayLike,
    told: str,
    *bands: tuple[ArrayLike, ArrayLike],
    nth: int = 0,
) -> tuple[Line2D, str]:
    """Draw a line with its bands in the `nth` style; it, and what it is called."""
    colour, dash, marker = CURVES[nth % len(CURVES)]
    for low, high in bands:
        ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    (line,) = ax.plot(x, y, color=colour, linestyle=dash, marker=marker, markersize=3.5)
    return line, told


def label_ends(ax: Axes, curves: Sequence[tuple[Line2D, str]]) -> None:
    """Name curves right of the axes at the heights of their ends, never overlapping."""
    low, high = ax.get_ylim()
    apart = (high - low) * 2.4 * LABEL / (72 * size_of(ax)[1])
    last = [(np.asarray(line.get_ydata(), dtype=float), told) for line, told in curves]
    height = -np.inf
    for end, told in sorted(
        (ys[np.isfinite(ys)][-1], told) for ys, told in last if np.isfinite(ys).any()
    ):
        height = max(end, height + apart)
        label(ax, told, 1, height, xycoords=ax.get_yaxis_transform())


def plain(text: object) -> str:
    """Return a text with escapes for what the font has no glyph for."""
    font = font_manager.get_font(font_manager.findfont(font_manager.FontProperties()))
    return "".join(
        character
        if character.isprintable() and font.get_char_index(ord(character))
        else character.encode("unicode_escape").decode()
        for character in str(text)
    )


def wrapped(text: object, width: int = NAME_WIDTH) -> str:
    """Return a text in lines that fit, broken behind underscores where possible."""
    return "\n".join(textwrap.wrap(plain(text).replace("_", "_ "), width)).replace(
        "_ ", "_"
    )


def of_part(part: str, title: str) -> str:
    """Return a title behind the part of the reward that it is about, if any."""
    return f"'{part}': {title}" if part else title


def share_text(share: float) -> str:
    """Return a share as a title says it: 100 % is all of it.

    >>> share_text(0.03), share_text(0.999), share_text(1.0)
    ('3 %', 'over 99 %', '100 %')
    """
    return (
        "over 99 %"
        if 0.995 <= share < 1 - 1e-9
        else percent(share).replace(".0 %", " %")
    )


def from_to(before: float, after: float) -> str:
    """Say how a figure moves, with enough digits to show a difference.

    >>> from_to(0.171, 0.54), from_to(2.001, 2.0)
    ('rises from 0.17 to 0.54', 'falls from 2.001 to 2')
    """
    for digits in (2, 3, 4):
        first, last = f"{before:.{digits}g}", f"{after:.{digits}g}"
        if first != last:
            return f"{'rises' if after > before else 'falls'} from {first} to {last}"
    return f"stays at {first}"


def too_far(low: float, high: float) -> bool:
    """Return whether an axis cannot reach from the one to the other."""
    return not high / WIDEST - low / WIDEST < 1
