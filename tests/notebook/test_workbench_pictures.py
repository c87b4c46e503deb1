"""The pictures and figures that follow a slider: each number against hand arithmetic."""

import re
from dataclasses import replace

import numpy as np
import pytest
from html_read import cells

import rewardkit as rk
from rewardkit.html.pictures import ABOVE, HEIGHT, histogram_svg
from rewardkit.notebook.tables import draw_groups
from rewardkit.notebook.workbench.bench import Bench
from rewardkit.notebook.workbench.compose import live
from rewardkit.notebook.workbench.variant import share_of_turned_signs

pytestmark = pytest.mark.integration

SCORES = {"a": [0, 1, 1, 1, 0, 0], "b": [1, 0, 0, 1, 1, 1]}  # three groups of two
WEIGHTS = {"a": 1.0, "b": 0.5}
SCORED = "6 scores from 0 to 1, mean 0.5"


def bench():
    """Rewards 0.5, 1 | 1, 1.5 | 0.5, 0.5."""
    log = [
        {
            "prompt_id": str(at // 2),
            "completion": str(at),
            "of_a": float(a),
            "of_b": float(b),
        }
        for at, (a, b) in enumerate(zip(*SCORES.values(), strict=True))
    ]
    components = [
        rk.Component(
            name,
            lambda column: column,
            columns={"column": f"of_{name}"},
            weight=weight,
            why=name,
        )
        for name, weight in WEIGHTS.items()
    ]
    return Bench(rk.score(rk.Reward("r", {}, components), log))


def under(made, **weights):
    made.variant = replace(made.start, weights=weights)
    return made


def bars(svg):
    """y and height of each rectangle."""
    return [
        (float(y), float(h))
        for y, h in re.findall(r'<rect [^>]*y="([-\d.]+)"[^>]*height="([-\d.]+)"', svg)
    ]


def test_the_figures_stand_beside_those_of_the_start():
    made = bench()
    assert cells(live(made), "figure") == [
        ["figure", "start"],
        ["mean reward", "0.833 ± 0.373"],  # of 0.5, 1, 1, 1.5, 0.5, 0.5
        ["groups of two or more", "3"],
        ["groups without a signal", "33 % (1)"],
    ]
    html = live(
        under(made, a=1.0, b=1.0)
    )  # 1, 1 | 1, 2 | 1, 1: the first group loses its signal
    assert cells(html, "figure") == [
        ["figure", "start", "now"],
        ["mean reward", "0.833 ± 0.373", "1.167 ± 0.373"],
        ["groups of two or more", "3", "3"],
        ["groups without a signal", "33 % (1)", "67 % (2)"],
        [
            "advantages whose sign turned",
            "",
            "50 %",
        ],  # of four advantages those of the first group are gone
    ]


def test_effective_weights_stand_beside_those_of_the_start():
    """Shares of the squared advantage.

    In the first group a leads by 1 and b is behind by its weight w, so that they hold 1 / (1 - w) and
    -w / (1 - w) of it; in the second b holds all; the third has no advantage.
    """
    made = bench()
    assert cells(live(made), "component")[1:] == [
        ["a", "1", "67 %", "100 %", SCORED],  # of 2 and 0, w = 0.5
        ["b", "0.5", "33 %", "0 %", SCORED.replace("0.5", "0.667")],  # of -1 and 1
        [""],  # beside the switch of its gate
    ]
    html = live(under(made, a=1.0, b=0.25))
    assert cells(html, "component") == [
        [
            "component",
            "weight",
            "declared",
            "effective, of 100 %",
            "at start",
            "scores",
        ],
        ["a", "1", "80 %", "67 %", "100 %", SCORED],  # of 4/3 and 0
        [
            "b",
            "0.25",
            "20 %",
            "33 %",
            "0 %",
            SCORED.replace("0.5", "0.667"),
        ],  # of -1/3 and 1
        [""],
    ]


def test_a_sign_that_turns_is_counted_of_the_advantages_that_there_were():
    made = bench()
    before = made.before
    assert share_of_turned_signs(before, before) == 0.0
    assert (
        share_of_turned_signs(before, under(made, a=-1.0, b=-0.5).figures) == 1.0
    )  # all four that are not 0
    assert share_of_turned_signs(before, under(made, a=1.0, b=1.0).figures) == 0.5
    crossed = under(
        made, a=1.0, b=2.0
    ).figures  # 2, 1 turns the first group; 1, 3 does not the second
    assert share_of_turned_signs(before, crossed) == 0.5


def test_the_histogram_says_in_words_what_it_shows_and_draws_every_reward():
    svg = histogram_svg(np.array([0.0, 0.0, 1.0, np.nan]))
    assert "Reward of 3 completions, 1 not judged" in svg
    room = HEIGHT - ABOVE
    assert bars(svg) == [(ABOVE, room), (HEIGHT - room / 2, room / 2)]
    assert histogram_svg(np.array([np.nan])) == "<p>No reward was judged.</p>"
    assert "Reward of 3 completions, all 0<" in histogram_svg(np.zeros(3))


@pytest.mark.parametrize(
    "values",
    [
        [0.3, 0.1 + 0.2],
        [3e38, 3e38 * (1 + 1e-15)],
        [-1e-12, 0.0],
        [5.0, 5.0],
        [-3e38, 3e38],
    ],
)
def test_rewards_that_differ_by_a_rounding_or_by_all_there_is_have_a_picture(values):
    assert "too far apart" in histogram_svg(np.array([-1.7e308, 1.7e308]))
    svg = histogram_svg(np.array(values))
    assert "2 completions" in svg and "nan" not in svg and "inf" not in svg


def test_the_picture_of_groups_has_the_range_of_each_and_a_strip_for_those_without_a_signal():
    (picture,) = draw_groups(bench().views)
    svg = picture.svg  # by mean: 0.5 to 0.5 without a signal, 0.5 to 1, 1 to 1.5
    assert "3 groups by mean reward; strip below: 1 without a signal" in svg
    ranges, strip = svg.split("<polyline")
    (low_y, low_h), (mid_y, mid_h), (high_y, high_h) = bars(ranges)
    assert high_y == ABOVE and low_h == 1  # the thinnest that is seen
    assert mid_y == pytest.approx(
        high_y + high_h, abs=0.2
    )  # the second ends where the third begins
    assert mid_h == pytest.approx(high_h, abs=0.2) and low_y == pytest.approx(
        mid_y + mid_h, abs=0.2
    )
    assert len(bars(strip)) == 1
