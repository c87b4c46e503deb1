"""Pages: what is cut, cleaned and escaped on them."""

from copy import deepcopy

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from rewardkit.notebook.report import _slugs
from rewardkit.notebook.report_pages import STREAM_LINES, printed_lines, story_of

pytestmark = pytest.mark.integration

LEFT_OUT = "are left out of this page"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a\x00b\n", "ab\n", id="control characters go"),
        pytest.param("\x1b[31mred\x1b[0m\n", "red\n", id="and colours as a whole"),
        pytest.param(
            "10 %\r90 %\rdone\r\nnext",
            "done\nnext\n",
            id="the last state of a progress bar",
        ),
        pytest.param("row\n" * 10, "row\n" * 10, id="ten lines are all shown"),
        pytest.param(
            "row\n" * 11,
            "row\n" * 10 + f"[1 more lines {LEFT_OUT}]\n",
            id="of eleven one is not",
        ),
        pytest.param(
            "\n" * 4000,
            "\n" * 10 + f"[3,990 more lines {LEFT_OUT}]\n",
            id="empty lines count",
        ),
        pytest.param(
            "x" * 10_000,
            "x" * 3000 + f"\n[7,000 more characters {LEFT_OUT}]\n",
            id="a long line",
        ),
        pytest.param(
            ("x" * 1000 + "\n") * 30,
            ("x" * 1000 + "\n") * 2
            + "x" * 998
            + f"\n[7,009 more characters and 20 more lines {LEFT_OUT}]\n",
            id="long lines, and many",
        ),
    ],
)
def test_what_the_users_code_prints_is_cut_and_cleaned_on_the_page(text, expected):
    assert printed_lines(text) == expected


def test_pieces_of_a_stream_are_one_and_what_was_printed_is_left_out_of_a_redacted_page():
    pieces = [
        new_output("stream", name=name, text=f"{name} SECRET {n}\n")
        for n in range(30)
        for name in ("stdout", "stderr")
    ]
    cells = [
        new_code_cell(
            "x",
            outputs=[*pieces, new_output("display_data", {"text/plain": "a figure"})],
        )
    ]
    body = story_of(new_notebook(cells=deepcopy(cells)), redact=False).top
    assert body.count("SECRET") == 2 * STREAM_LINES
    assert body.count(f"20 more lines {LEFT_OUT}") == 2
    body = story_of(new_notebook(cells=cells), redact=True).top
    assert "SECRET" not in body and LEFT_OUT not in body
    assert "a figure" in body


def test_rewards_of_one_name_get_folders_of_their_own():
    assert _slugs(["a b", "a/b", "a b", "..", ""]) == [
        "a-b",
        "a-b-2",
        "a-b-3",
        "reward",
        "reward-2",
    ]
