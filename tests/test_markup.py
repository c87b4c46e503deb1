"""Markup: hostile text comes out harmless and readable."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.html.markup import LONGEST_SHOWN, escaped, marked, table


class Reader(HTMLParser):
    """Collects tags, and text and marked text without labels, as a browser would see them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.marks, self.open = [], "", [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        if tag == "mark":
            self.marks.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "sup" not in self.open:
            self.text += data
            if "mark" in self.open:
                self.marks[-1] += data


@pytest.mark.parametrize(
    ("text", "options", "shown"),
    [
        ("<script>alert(1)</script>", {}, "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("\" onload='x' &amp;", {}, "&quot; onload=&#x27;x&#x27; &amp;amp;"),
        ("a\0b\x1b[31m\r", {}, "a\u2400b\u241b[31m\u240d"),
        ("\ud800\u202egnp.exe", {}, "\u27e8U+D800\u27e9\u27e8U+202E\u27e9gnp.exe"),
        ("\x7f\x85", {}, "\u27e8U+007F\u27e9\u27e8U+0085\u27e9"),
        ("line\n\tkept Größe 🤖", {}, "line\n\tkept Größe 🤖"),
        (3.5, {}, "3.5"),
        (None, {}, "None"),
        ("x" * (LONGEST_SHOWN + 1234), {}, "x" * LONGEST_SHOWN + "<em> ... 1,234 more characters</em>"),
        ("x" * LONGEST_SHOWN, {}, "x" * LONGEST_SHOWN),
        ("x" * 9000, {"limit": None}, "x" * 9000),
        ("<<<", {"limit": 1}, "&lt;<em> ... 2 more characters</em>"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else repr(value)[:30],
)
def test_text_is_escaped_what_cannot_be_seen_is_made_visible_and_what_is_long_is_cut(text, options, shown):
    assert escaped(text, **options) == shown


@settings(max_examples=15)
@given(st.text())
def test_no_text_makes_a_tag_or_cannot_be_written_as_utf_8(text):
    shown = escaped(text, limit=None)
    assert not re.search("[<>\"']", shown)
    assert shown.encode("utf-8").decode("utf-8") == shown


SPANS_THAT_MEET = {"wide": [(0, 4)], "inner": [(1, 3)], "over": [(3, 6)]}


@pytest.mark.parametrize(
    ("text", "spans", "limit", "marks", "labels"),
    [
        ("a <answer>4</answer>", {"prediction": [(10, 11)]}, None, ["4"], ["prediction"]),
        ("abcdef", SPANS_THAT_MEET, None, ["abcd"], ["wide", "inner", "over"]),
        ("<answer></answer>", {"empty": [(8, 8)]}, None, ["\u2205"], ["empty"]),
        ("abcdef", {"over": [(2, 6)], "behind": [(5, 6)]}, 4, ["cd"], ["over"]),
        ("x", {"<b>": [(0, 1)]}, None, ["x"], ["&lt;b&gt;"]),
    ],
)
def test_spans_are_marked_in_place_and_labelled_and_never_nested(text, spans, limit, marks, labels):
    shown = marked(text, spans, **({"limit": limit} if limit else {}))
    assert Reader(shown).marks == marks
    assert [one for one in labels if f">{one}</sup>" not in shown] == []
    rest = f" ... {len(text) - limit} more characters" if limit else ""
    assert Reader(shown).text.replace("\u2205", "") == text[:limit] + rest
    assert "behind" not in shown


@given(
    st.text(alphabet="ab<&\n", max_size=12),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=4),
)
def test_marking_never_loses_or_repeats_text(text, edges):
    spans = [(min(edge), min(max(edge), len(text))) for edge in edges if min(edge) <= len(text)]
    assert Reader(marked(text, {"f": spans})).text.replace("\u2205", "") == text


def test_cells_are_escaped_and_numeric_columns_stand_flush_right():
    shown = table(("<i>", "name"), [("<b>bold</b>", 1), (3, "x")], numeric=("<i>",))
    assert {"i", "b"}.isdisjoint(Reader(shown).tags)
    assert Reader(shown).text == "<i>name<b>bold</b>13x"
    assert re.findall(r"<t[hd] style=\"text-align:(\w+)", shown) == ["right", "left"] * 3
