"""Markup: hostile text comes out harmless and readable."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.html.markup import LONGEST_SHOWN, escaped, marked, table


class Reader(HTMLParser):
    """Collects tags and text as a browser would see them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.marks, self.depth = [], "", [], 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "mark":
            self.marks.append("")
        self.depth += tag == "mark"
        self.hidden = tag == "sup"

    def handle_endtag(self, tag):
        self.depth -= tag == "mark"
        self.hidden = False

    hidden = False

    def handle_data(self, data):
        if self.hidden:
            return
        self.text += data
        if self.depth:
            self.marks[-1] += data


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("\" onload='x' &amp;", "&quot; onload=&#x27;x&#x27; &amp;amp;"),
        ("a\0b\x1b[31m", "a\u2400b\u241b[31m"),
        ("\ud800", "\u27e8U+D800\u27e9"),
        ("\u202egnp.exe", "\u27e8U+202E\u27e9gnp.exe"),
        ("\x7f\x85", "\u27e8U+007F\u27e9\u27e8U+0085\u27e9"),
        ("line\n\tkept", "line\n\tkept"),
        ("\r", "\u240d"),
        ("Größe 🤖", "Größe 🤖"),
        (3.5, "3.5"),
        (None, "None"),
    ],
)
def test_text_is_escaped_and_what_cannot_be_seen_is_made_visible(text, shown):
    assert escaped(text) == shown


def test_a_long_text_is_cut_with_a_word_on_what_is_left():
    assert (
        escaped("x" * (LONGEST_SHOWN + 1234)) == "x" * LONGEST_SHOWN + "<em> ... 1,234 more characters</em>"
    )
    assert escaped("x" * LONGEST_SHOWN) == "x" * LONGEST_SHOWN
    assert escaped("x" * 9000, limit=None) == "x" * 9000
    assert escaped("<<<", limit=1) == "&lt;<em> ... 2 more characters</em>"


@given(st.text())
def test_no_text_makes_a_tag_or_cannot_be_written_as_utf_8(text):
    shown = escaped(text, limit=None)
    assert not re.search("[<>\"']", shown)
    assert shown.encode("utf-8").decode("utf-8") == shown


def test_spans_are_marked_in_place_and_labelled():
    shown = marked("a <answer>4</answer>", {"prediction": [(10, 11)]})
    assert Reader(shown).marks == ["4"]
    assert Reader(shown).text == "a <answer>4</answer>"
    assert re.search(r"</mark><sup[^>]*>prediction</sup>", shown)


def test_spans_that_meet_are_both_labelled_and_never_nested():
    shown = marked("abcdef", {"wide": [(0, 4)], "inner": [(1, 3)], "over": [(3, 6)]})
    assert Reader(shown).marks == ["abcd"]
    assert Reader(shown).text == "abcdef"
    assert all(f">{name}</sup>" in shown for name in ("wide", "inner", "over"))


def test_an_empty_span_is_seen():
    assert Reader(marked("<answer></answer>", {"prediction": [(8, 8)]})).marks == ["\u2205"]


def test_spans_behind_the_cut_are_left_out_and_those_across_it_end_there():
    shown = marked("abcdef", {"over": [(2, 6)], "behind": [(5, 6)]}, limit=4)
    assert Reader(shown).marks == ["cd"]
    assert "behind" not in shown
    assert "2 more characters" in shown


@given(
    st.text(alphabet="ab<&\n", max_size=12),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=4),
)
def test_marking_never_loses_or_repeats_text(text, edges):
    spans = [(min(edge), min(max(edge), len(text))) for edge in edges if min(edge) <= len(text)]
    assert Reader(marked(text, {"f": spans})).text.replace("\u2205", "") == text


def test_field_names_in_labels_and_cells_are_escaped():
    assert "<b>" not in marked("x", {"<b>": [(0, 1)]})
    shown = table(("<i>",), [("<b>bold</b>",), (3,)], numeric=("<i>",))
    assert {"i", "b"}.isdisjoint(Reader(shown).tags)
    assert Reader(shown).text == "<i><b>bold</b>3"


def test_numeric_columns_stand_flush_right():
    shown = table(("name", "score"), [("a", 1)], numeric=("score",))
    assert re.findall(r"<t[hd] style=\"text-align:(\w+)", shown) == ["left", "right"] * 2
