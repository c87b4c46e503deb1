"""Shared parts of plots: axes, colours, curves, labels, names as plain text."""

from __future__ import annotations

import math
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

from rewardkit.analysis.statistics import Floats
from rewardkit.errors import InputError
from rewardkit.findings import percent, short_number
from rewardkit.plain import Record

BLUE = "#0072b2"
GREY = "#8c8c8c"
ORANGE = "#e69f00"
RED = "#d55e00"
MUTED = "#444444"
SOFT = "#f0f0f0"
CURVES = ((BLUE, "-", "o"), (ORANGE, "--", "s"), (RED, "-.", "^"), (GREY, ":", "D"))
GRID: Record = {"color": GREY, "alpha": 0.25, "linewidth": 0.8}
SMALL = 8.5  # font size of the words along the axes, in points
LABEL_SIZE = 8.0  # font size of labels inside the plot, in points
NAME_WIDTH = 32  # characters per line of a component's name
TITLE_WIDTH = 70
WIDEST = 1e200  # a wider axis has no ticks in floating point


def without_a_screen() -> None:
    """Draw only into files from now on, without a window."""
    plt.switch_backend("agg")


def axes_for(
    ax: Axes | None, *, width: float = 6.2, height: float = 3.2, grid: bool = True
) -> Axes:
    """Return `ax`, or new axes of this size in inches, without a frame."""
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
    """Return `count` of the given axes, or new ones in rows.

    `size` is width and height of one plot in inches.

    Raises:
        InputError: too few axes.
    """
    if axes is not None:
        grid = list(np.ravel(axes))
        if len(grid) < count:
            raise InputError(
                f"axes={axes!r} are {len(grid)} axes for {count} plots; give more, or "
                "none"
            )
        return grid[:count]
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    shape = (size[0] * columns, size[1] * rows)
    options: Record = {"layout": "constrained", "squeeze": False}
    _, cells = plt.subplots(rows, columns, figsize=shape, **options)
    for ax in cells.flat[count:]:
        ax.set_visible(False)
    return list(cells.flat[:count])


def size_of(ax: Axes) -> Floats:
    """Return width and height, in inches, of the axes' cell in the figure."""
    spec = ax.get_subplotspec()
    box = ax.figure.bbox
    rows, columns = spec.get_gridspec().get_geometry() if spec else (1, 1)
    return np.array([box.width / columns, box.height / rows]) / ax.figure.dpi


def finish_axes(ax: Axes, title: str, *, x: str = "", y: str = "") -> Axes:
    """Set the title and small grey axis labels.

    Texts are never parsed: a dollar in a name does not begin a formula.
    """
    width, _ = size_of(ax)
    points = 11.0 if width > 5 else 9.5
    longest = 0  # letters in the longest line of a label beside the axes
    for item in ax.get_yticklabels():
        longest = max(longest, *map(len, item.get_text().split("\n")))
    room = 72 * width - 36 - 0.64 * SMALL * longest
    letters = max(20, min(TITLE_WIDTH, int(room / (0.62 * points))))
    if title:  # lines of about equal length, so that no word stands alone
        lines = math.ceil(len(title) / letters)
        letters = min(letters, 8 + len(title) // lines)
    heading = wrap_text(title[:1].upper() + title[1:], letters)
    ax.set_title(heading, loc="left", fontsize=points, pad=8)
    ax.set_xlabel(x, fontsize=SMALL, color=MUTED, loc="left")
    ax.set_ylabel(y, fontsize=SMALL, color=MUTED)
    for axis in (ax.xaxis, ax.yaxis):  # a factor beside an axis would cover the title
        formatter = axis.get_major_formatter()
        if isinstance(formatter, ScalarFormatter):
            formatter.set_scientific(False)
            formatter.set_useOffset(False)
    for text in ax.findobj(Text):
        text.set_parse_math(False)
    return ax


def put_words(ax: Axes, text: str, title: str = "") -> Axes:
    """Show words in place of a plot."""
    ax.set_xticks([])
    ax.set_yticks([])
    style: dict[str, Any] = {"ha": "center", "va": "center", "color": MUTED}
    ax.text(0.5, 0.5, wrap_text(text, 48), transform=ax.transAxes, **style)
    return finish_axes(ax, title)


def put_foot(plots: Sequence[Axes], words: str) -> None:
    """Write words below the plots of a figure."""
    style: dict[str, Any] = {"ha": "left", "fontsize": SMALL, "color": MUTED}
    plots[0].figure.supxlabel(words, x=0.01, parse_math=False, **style)


def label(
    ax: Axes,
    text: str,
    x: float,
    y: float,
    shift: tuple[float, float] = (4, 0),
    **style: Any,
) -> None:
    """Write a label at data coordinates, offset by `shift` in points."""
    style = {"va": "center", "fontsize": LABEL_SIZE, "annotation_clip": False, **style}
    ax.annotate(escape_text(text), (x, y), shift, textcoords="offset points", **style)


def curve(
    ax: Axes,
    x: ArrayLike,
    y: ArrayLike,
    name: str,
    *bands: tuple[ArrayLike, ArrayLike],
    nth: int = 0,
) -> tuple[Line2D, str]:
    """Draw a line and its bands in the `nth` style; return line and name."""
    colour, dash, marker = CURVES[nth % len(CURVES)]
    for low, high in bands:
        ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    (line,) = ax.plot(x, y, color=colour, linestyle=dash, marker=marker, markersize=3.5)
    return line, name


def label_ends(ax: Axes, curves: Sequence[tuple[Line2D, str]]) -> None:
    """Label curves right of the axes, at the height of their ends, without overlap."""
    low, high = ax.get_ylim()
    least_gap = (high - low) * 2.4 * LABEL_SIZE / (72 * size_of(ax)[1])
    ends = []
    for line, name in curves:
        heights = np.asarray(line.get_ydata(), dtype=float)
        finite = heights[np.isfinite(heights)]
        if len(finite):
            ends.append((finite[-1], name))
    height = -np.inf
    for end, name in sorted(ends):
        height = max(end, height + least_gap)
        label(ax, name, 1, height, xycoords=ax.get_yaxis_transform())


def escape_text(text: object) -> str:
    """Return a text with escapes for characters that the font lacks."""
    font = font_manager.get_font(font_manager.findfont(font_manager.FontProperties()))
    letters = []
    for letter in str(text):
        has_glyph = letter.isprintable() and font.get_char_index(ord(letter))
        escape = letter.encode("unicode_escape").decode()
        letters.append(letter if has_glyph else escape)
    return "".join(letters)


def wrap_text(text: object, width: int = NAME_WIDTH) -> str:
    """Return a text in lines of `width`, broken after underscores if possible."""
    lines = textwrap.wrap(escape_text(text).replace("_", "_ "), width)
    return "\n".join(lines).replace("_ ", "_")


def prefix_part(part: str, title: str) -> str:
    """Return a title after the name of the part of the reward, if it has one."""
    return f"'{part}': {title}" if part else title


def share_text(share: float) -> str:
    """Return a share as percent; only a share of 1 is written as 100 %.

    >>> share_text(0.03), share_text(0.999), share_text(1.0)
    ('3 %', 'over 99 %', '100 %')
    """
    if 0.995 <= share < 1 - 1e-9:
        return "over 99 %"
    return percent(share).replace(".0 %", " %")


def from_to(before: float, after: float) -> str:
    """Describe the change of a figure, with enough digits to show a difference.

    >>> from_to(0.171, 0.54), from_to(2.001, 2.0)
    ('rises from 0.17 to 0.54', 'falls from 2.001 to 2')
    """
    verb = "rises" if after > before else "falls"
    for digits in (2, 3, 4):
        first = short_number(before, digits)
        last = short_number(after, digits)
        if first != last:
            return f"{verb} from {first} to {last}"
    return f"stays at {first}"


def is_too_wide(low: float, high: float) -> bool:
    """Return whether no axis can span `low` to `high`."""
    return not high / WIDEST - low / WIDEST < 1
