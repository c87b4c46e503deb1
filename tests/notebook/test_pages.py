"""Pages: what is cut, cleaned and escaped on them."""

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from rewardkit.notebook.report import _slugs
from rewardkit.notebook.report_pages import page_of

pytestmark = pytest.mark.integration


def test_what_a_cell_printed_is_no_part_of_a_page_and_what_it_shows_is():
    printed = new_output("stream", name="stdout", text="SECRET\n" * 30)
    figure = new_output("display_data", {"text/plain": "a figure"})
    notebook = new_notebook(cells=[new_code_cell("x", outputs=[printed, figure])])
    page = page_of("a page", "page.html", notebook, failure=None, redact=False)
    assert "SECRET" not in page.top and "a figure" in page.top


def test_rewards_of_one_name_get_folders_of_their_own():
    assert _slugs(["a b", "a/b", "a b", "..", ""]) == [
        "a-b",
        "a-b-2",
        "a-b-3",
        "reward",
        "reward-2",
    ]
