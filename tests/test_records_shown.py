"""What is shown of records and completions: one look, short, nothing hidden, harmless on every page."""

import re
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardkit as rk
from rewardkit.html import markup
from rewardkit.html.blocks import Code, Quote, Table
from rewardkit.html.excerpts import (
    LINE,
    LONGEST_EXCERPT,
    Excerpt,
    UserText,
    hidden_user_texts,
    make_excerpt,
    one_line,
    visible,
)
from rewardkit.html.pages import More, Point
from rewardkit.html.pages import Page as RecordPage
from rewardkit.scoring.explain import field_spans

pytestmark = [
    pytest.mark.integration,
    pytest.mark.usefixtures("one_process", "short_rehearsals"),
]

EVIL = (
    "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
    "<a href='javascript:pwned'>go</a><style>body{display:none}</style>\x00\u202e\ud800</div></table>"
)
SHORT = {
    "suggestions": 100_000,
    "check": 52_000,
    "suspicion": 40_000,
}  # characters; others: 17,000
ALLOWED = set(
    "div p b table thead tbody tr th td ul li em code pre svg rect g path text figure figcaption details "
    "summary mark sup span i".split()
)
VOID = {"img", "rect", "br"}
COLOUR = re.compile(r"(?<![-\w])(?:color|background(?:-color)?)\s*:\s*([^;\"']+)")
OF_THE_PAGE = re.compile(r"inherit|currentColor|transparent|rgba\(.*\)|#[0-9a-f]{8}")


class Page(HTMLParser):
    """Reads a page strictly: what is opened is closed, in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text, self.colours = (
            [],
            [],
            set(),
            "",
            [],
        )
        self.marks, self.unlabelled = (
            [],
            "",
        )  # marked texts; the text without the labels of marks
        self.feed(text.replace(markup.style(), ""))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.marks += [""] * (tag == "mark")
        self.attributes |= {name for name, _ in attrs}
        self.colours += [
            found for _, value in attrs for found in COLOUR.findall(value or "")
        ]
        self.open += [tag] * (tag not in VOID)

    def handle_endtag(self, tag):
        assert tag in VOID or (self.open and self.open.pop() == tag), (
            f"</{tag}> closes what is not open"
        )

    def handle_data(self, data):
        self.text += data
        if "sup" not in self.open:
            self.unlabelled += data
        if "mark" in self.open:
            self.marks[-1] += data


def fails(completion):
    raise ValueError(completion)


def odd(completion):
    rk.note("seen", completion)
    return len(completion) % 2 == 1


def told(completion):
    """A judge whose model said what is in the completion."""
    rk.note(
        "verdict",
        {
            "level": completion,
            "reason": completion,
            "raw": [completion] * 3,
            completion: 1,
        },
    )
    if "marks" in completion:
        return 1.0
    return 0.0


told.asks_model = True


def build(evil):
    """Each kind of record, of rollouts, names and reasons that are hostile."""
    rows = [
        {
            "prompt_id": f"{evil[:3000]}{row // 4}",
            "prompt": evil,
            "completion": f"{'x' * (row % 4)}{evil} <answer>{row % 3}</answer>",
            "ground_truth": "1",
            "is_right": row % 3 == 1,
            evil.replace("\ud800", "")[:200]: evil,
        }
        for row in range(24)
    ]
    rollouts = rk.load_rollouts(
        [*rows, {"prompt_id": "p", "rollout_id": evil}], columns={}
    )
    fields = {
        "prediction": rk.extract.tag("answer"),
        "whole": rk.extract.pattern("(?s)^(.{1,5000})"),
    }
    components = [
        rk.Component("correct", rk.verify.matches, why=evil, primary=True),
        rk.Component("odd", odd, weight=0.5, gate=rk.gate("correct", at_least=1.0)),
        rk.Component("fails", fails, weight=0.1),
    ]
    reward = rk.Reward(evil, fields, components, on_missing="skip")
    other = rk.Reward("other", fields, components[:2])
    scores, found = rk.score(reward, rollouts), rk.score(other, rollouts)
    case = {"completion": evil, "ground_truth": "1", "reward": 1, "why": evil}
    cases = rk.load_cases(
        [{**case, "name": f"{evil[:3000]}{row}"} for row in range(20)]
    )
    diagnosis = rk.diagnose(found, label="is_right")
    flawed = rk.load_reward("gallery:arithmetic.flawed")
    advice = rk.suggest(rk.diagnose(rk.score(flawed, "gallery:arithmetic")))
    first = rk.load_rollouts("gallery:arithmetic").select(range(160))
    examples = ({"rollout_id": evil, "old": evil, "new": None},) * 7
    changes = tuple(
        replace(item, why=item.why + evil, examples=examples) for item in advice.changes
    )
    advice = replace(advice, changes=changes * 6, notes=(evil,))
    return {
        "rollouts": rollouts,
        "reward": reward,
        "route": rk.Route("prompt_id", {evil: reward, "b": other}, default=other),
        "result": reward(completion=evil, ground_truth=evil),
        "scores": scores,
        "check": rk.check(reward, cases),
        "diagnosis": rk.diagnose(scores),
        "suggestion": advice.changes[0],
        "suggestions": advice,
        "forecast": rk.forecast(scores),
        "comparison": rk.compare(scores, found, cases=cases),
        "whatif": rk.whatif(diagnosis, weights={"odd": -3.0}),
        "explanation": rk.explain(reward, rollouts[0]),
        "verdict": rk.explain(
            rk.Reward("j", components=[rk.Component("j", told)]), {"completion": evil}
        ),
        "judged": rk.judge_report(
            told, [{"completion": evil, "label": at / 9} for at in range(10)]
        ),
        "suspicion": rk.suspect(scores, pattern="script"),
        "probes": rk.probe(flawed, first, only="padding", search=0),
        "mutants": rk.mutants(other, cases, rollouts, budget=5),
    }


KINDS = (
    "rollouts reward route result scores check diagnosis suggestion suggestions forecast comparison whatif "
    "explanation verdict judged suspicion probes mutants"
)


@pytest.fixture(scope="module")
def records():
    return build(EVIL * 100)  # one text that is shown whole makes 44,000 characters


@pytest.mark.parametrize("kind", KINDS.split())
def test_a_record_is_short_harmless_the_same_twice_and_has_the_one_look_without_colours_of_its_own(
    records, kind
):
    shown = records[kind]._repr_html_()
    assert (
        shown.startswith(markup.card("")[: -len("</div>")])
        and shown.count("<style>") >= 1
    )
    assert shown == records[kind]._repr_html_()
    shown = shown.replace(markup.style(), "")
    page = Page(shown)
    assert set(page.tags) <= ALLOWED
    assert not {
        name
        for name in page.attributes
        if name.startswith("on") or name in ("href", "src")
    }
    assert not re.search("[\x00\u202e\ud800]", shown)
    shown.encode("utf-8")
    assert [
        colour for colour in page.colours if not OF_THE_PAGE.fullmatch(colour)
    ] == []
    assert "rgb(" not in shown
    assert len(shown) < SHORT.get(kind, 17_000)


def rollouts():
    rows = [
        {"question": f"q{n // 2}", "response": f"<b>{n}</b>", "answer": "x" * 900}
        for n in range(8)
    ]
    return rk.load_rollouts([*rows, {"question": "q"}])


CORRECT = rk.Component("correct", rk.verify.matches, why="the task")
SIZE = rk.Component(
    "size", odd, weight=-0.25, range=None, gate=rk.gate("correct", at_least=1.0)
)
MINE = rk.Reward(
    "mine", {"prediction": rk.extract.tag("answer")}, [CORRECT, SIZE, rk.Component("fails", fails)],
    on_missing="zero", gate=rk.gate("correct", at_least=0.5), transform=rk.weigh.min_max(),
)  # fmt: skip
ROUTE = rk.Route(
    "data_source", {"math": MINE}, default=rk.Reward("rest", components=[CORRECT])
)
ODD = rk.Reward(
    "r", {"size": lambda completion: len(completion)}, [rk.Component("odd", odd)]
)


def checked(misses):
    bad = [
        {"completion": "b" * (2 * n), "name": f"n{n}", "reward": 1, "why": "odd"}
        for n in range(1, 15)
    ]
    return rk.check(
        ODD, rk.load_cases([{"completion": "a", "reward": 1}, *bad[:misses]])
    )


def unjudged():
    reward = rk.Reward("r", components=[rk.Component("fails", fails)])
    return rk.score(reward, [{"completion": "a"}, {"completion": "b"}])


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (
            rollouts,
            "8 from memory, 1 row kept out|4 by prompt (sizes: 4 of 2)|completion from response",
        ),
        (
            rollouts,
            f"has no completion|The first rows|as above|<b>4</b>|{'x' * 200}|700 more characters",
        ),
        (
            lambda: MINE,
            "mine|the task|-0.25|unbounded|0 to 1|weighted_sum|zero|min_max()|at_least=0.5|tag('",
        ),
        (
            lambda: ROUTE,
            "data_source|math|correct 1, size -0.25, fails 1|(any other)|rest|weighted_sum",
        ),
        (
            lambda: MINE(completion="<answer>1</answer>", ground_truth="1"),
            "Reward |ValueError|seen|-0.25",
        ),
        (lambda: MINE(completion="none", ground_truth="1"), "predictionnot found"),
        (lambda: checked(0), "\u2713 1 of 1 cases passed, 0 failed"),
        (
            lambda: checked(14),
            "\u2717 1 of 15 cases passed, 14 failed|size = 24|and 2 more|size = 26",
        ),
        (lambda: rollouts().select(np.zeros(8, dtype=bool)), "0 rollouts"),
        (unjudged, "no reward was judged"),
        (lambda: unjudged().reward(completion="x"), "not judged"),
        (lambda: rk.suggest(rk.diagnose(unjudged())), "no change"),
        (lambda: rk.diagnose(unjudged()), "cannot be judged yet"),
        (lambda: rk.compare(unjudged(), unjudged()), "no difference"),
        (
            lambda: rk.whatif(unjudged(), weights={"fails": 2.0}),
            "Findings: the same as before",
        ),
    ],
)
def test_a_record_shows_what_is_in_it_and_says_where_there_is_nothing(record, told):
    text = Page(record()._repr_html_()).text.lower()
    assert [words for words in told.split("|") if words.lower() not in text] == []
    assert (
        "nan" not in text.replace("finan", "").replace("on missingnan", "")
        and "x" * 201 not in text
    )


# texts and marks


@pytest.mark.parametrize(
    ("text", "options", "shown"),
    [
        ("<script>alert(1)</script>", {}, "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("\" onload='x' &amp;", {}, "&quot; onload=&#x27;x&#x27; &amp;amp;"),
        ("a\0b\x1b[31m\r", {}, "a\u2400b\u241b[31m\u240d"),
        (
            "x" * (markup.LONGEST_ESCAPED + 1234),
            {},
            "x" * markup.LONGEST_ESCAPED + "<em> ... 1,234 more characters</em>",
        ),
        ("x" * 9000, {"limit": None}, "x" * 9000),
    ],
)
def test_text_is_escaped_what_cannot_be_seen_is_made_visible_and_what_is_long_is_cut(
    text, options, shown
):
    assert markup.escaped(text, **options) == shown


@given(st.text("<>&\"'a\n\x00\u202e\ud800"))
def test_no_text_makes_a_tag_or_cannot_be_written_as_utf_8(text):
    shown = markup.escaped(text, limit=None)
    assert not re.search("[<>\"']", shown)
    assert shown.encode("utf-8").decode("utf-8") == shown


SPANS_THAT_MEET = {"wide": [(0, 4)], "inner": [(1, 3)], "over": [(3, 6)]}


@pytest.mark.parametrize(
    ("text", "spans", "limit", "marks", "labels"),
    [
        (
            "a <answer>4</answer>",
            {"prediction": [(10, 11)]},
            None,
            ["4"],
            ["prediction"],
        ),
        ("abcdef", SPANS_THAT_MEET, None, ["abcd"], ["wide", "inner", "over"]),
        ("abcdef", {"over": [(2, 6)], "behind": [(5, 6)]}, 4, ["cd"], ["over"]),
    ],
)
def test_spans_are_marked_in_place_and_labelled_and_never_nested(
    text, spans, limit, marks, labels
):
    shown = markup.marked(text, spans, **({"limit": limit} if limit else {}))
    assert Page(shown).marks == marks
    assert [one for one in labels if f">{one}</sup>" not in shown] == []
    rest = f" ... {len(text) - limit} more characters" if limit else ""
    assert Page(shown).unlabelled.replace("\u2205", "") == text[:limit] + rest
    assert "behind" not in shown


def test_cells_are_escaped_and_numeric_columns_stand_flush_right():
    shown = markup.table(
        ("<i>", "name"), [("<b>bold</b>", 1), (3, "x")], numeric=("<i>",)
    )
    assert {"i", "b"}.isdisjoint(Page(shown).tags)
    assert Page(shown).unlabelled == "<i>name<b>bold</b>13x"
    assert (
        re.findall(r"<t[hd]( class=\"rk-number\")?>", shown)
        == [' class="rk-number"', ""] * 3
    )


# excerpts of completions

HIDDEN = {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}
SIGNS = st.characters(codec="utf-8") | st.sampled_from(
    list("\u202e\u200b\ud800\x1b\r\n\t\x00\u2028")
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x1b[2Jb", "a␛[2Jb"),
        ("a\x00\r\nb\tc", "a␀␍\nb\tc"),  # line breaks and tabs stay
        ("a\u202eb\u2066", "a⟨U+202E⟩b⟨U+2066⟩"),
        ("4\u200b2\ufeff", "4⟨U+200B⟩2⟨U+FEFF⟩"),
        ("naïve 漢字 ２", "naïve 漢字 ２"),
    ],
)
def test_nothing_is_hidden_in_a_text_that_is_shown(text, expected):
    assert visible(text) == make_excerpt(text).text == expected


def test_what_is_long_is_left_out_of_the_middle_and_what_a_field_took_stays_in_sight():
    assert (
        make_excerpt("x" * 100, longest=30).text
        == f"{'x' * 20} ⟨70 characters⟩ {'x' * 10}"
    )
    assert make_excerpt("reads " * 30, longest=60).text.startswith("reads reads")
    assert "⟩ reads" in make_excerpt("reads " * 30, longest=60).text  # no word is cut
    text = "so " * 500 + "<answer>42</answer>" + " and" * 500
    at = text.index("42")
    read = make_excerpt(text, {"prediction": [(at, at + 2)]})
    (start, end) = read.spans["prediction"][0]
    assert read.text[start:end] == "42"
    assert read.text.count("characters⟩") == 2 and len(read.text) < 2 * LONGEST_EXCERPT


@given(st.text(SIGNS, max_size=900), st.integers(0, 900), st.integers(0, 40))
def test_a_span_marks_the_same_text_when_it_is_shown(text, start, length):
    end = min(start + length, len(text))
    start = min(start, end)
    read = make_excerpt(text, {"field": [(start, end)]}, longest=60)
    (low, high) = read.spans["field"][0]
    assert read.text[low:high] == visible(text[start:end])
    assert (
        not {unicodedata.category(sign) for sign in read.text if sign not in "\n\t"}
        & HIDDEN
    )
    assert one_line(text).isprintable() and len(one_line(text)) <= 300


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ({"p": [(1, 3)]}, "a⟦p: bc⟧d"),
        ({"p": [(0, 4)], "q": [(1, 2)]}, "⟦p: abcd⟧"),  # one in another is left out
        ({"p": [(2, 2)]}, "ab⟦p: ⟧cd"),
    ],
)
def test_what_a_field_took_stands_in_brackets_in_a_terminal(spans, expected):
    assert Excerpt("abcd", spans).bracketed() == expected


def any_size(size):
    return size > 0


def spans_of(completion, **fields):
    reward = rk.Reward("any", fields, [rk.Component("any", any_size)])
    return field_spans(reward, {"completion": completion, "ground_truth": "42"})


def test_fields_are_those_of_extractors_and_of_texts_of_some_length_that_are_read_in_time():
    assert spans_of("<answer>42</answer>", size=rk.extract.tag("answer")) == {
        "size": [(8, 10)]
    }
    assert spans_of("x" * 30_000, size=rk.extract.tag("answer")) == {}
    assert spans_of("<answer>42</answer>", size=odd) == {}
    slow = rk.extract.pattern(r"(a|aa)+$", timeout=0.01)
    assert spans_of("a" * 5000 + "b", size=slow) == {}


def test_a_table_that_is_wider_than_a_line_is_told_row_by_row():
    table = Table(
        "what it selects",
        ("mean of", "now", "later"),
        [("reward", 1.0, "2 to 3")],
        is_open=True,
    )
    assert table.lines(verbose=False)[1:] == [
        "  mean of  now  later",
        "  reward   1    2 to 3",
    ]
    token = LINE.set(20)
    try:
        assert table.lines(verbose=False)[1:] == [
            "  reward: now: 1;",
            "      later: 2 to",
            "      3",
        ]
    finally:
        LINE.reset(token)


# one page, three renderings

FENCED = "SECRET ```\n# not a heading <b>"


def a_page():
    """A page that has a text of a user wherever one may stand."""
    text = UserText(f"SECRET {EVIL}")
    quote = Quote(
        text,
        FENCED,
        {"field": [(0, 6)]},
        values=[("this", 1.0), ("a right answer", 0.5)],
    )
    other = Quote("another", "SECRET too")
    point = Point(
        "high", "hole", text, reason="It is paid.", advice=text, examples=[quote, other]
    )
    rows = [("a|b", text, ""), ("c", 2.0, "")]
    table = Table("figures", ("name", "value", "empty"), rows, is_open=True)
    details = More("details", [text, Code("x = 1")])
    return RecordPage(
        "title", [text, point, table, details, RecordPage("inner", [text], text)], text
    )


def renderings():
    page = a_page()
    return {
        "html": page.html,
        "markdown": page.markdown,
        "text": page.text(verbose=True),
    }


@pytest.mark.parametrize("form", ["html", "markdown", "text"])
def test_one_switch_hides_the_texts_of_users_and_nothing_else_in_each_rendering(form):
    assert renderings()[form].count("SECRET") >= 8
    with hidden_user_texts():
        hidden = renderings()[form]
    assert "SECRET" not in hidden and "not a heading" not in hidden
    for words in (
        "title",
        "hole",
        "It is paid",
        "figures",
        "another",
        "details",
        "x = 1",
    ):
        assert words in hidden.replace("\\", "")
    assert "SECRET" in renderings()[form]


def test_a_short_text_leaves_out_what_is_folded_and_every_rendering_leaves_out_empty_columns():
    short = a_page().text()
    assert (
        "another" not in short
        and "x = 1" not in short
        and "earns 1, a right answer 0.5" in short
    )
    assert [form for form, shown in renderings().items() if "empty" in shown] == []


def test_no_text_of_a_user_makes_markup_in_markdown():
    shown = a_page().markdown
    assert "<script" not in shown and not re.search("[\x00\u202e\ud800]", shown)
    assert "````\n" in shown  # a fence that the quoted one does not end
    cells = [line for line in shown.splitlines() if line.startswith("| a")]
    assert len(re.findall(r"(?<!\\)\|", cells[0])) == 3


def quoting():
    """Records of rollouts whose every text is a secret, and of a judge who repeats it."""
    secret = f"SECRET <answer>{'SECRET'}</answer>"
    row = {"prompt": secret, "completion": secret, "ground_truth": secret}
    components = [rk.Component("odd", odd), rk.Component("fails", fails)]
    reward = rk.Reward("mine", {"it": rk.extract.tag("answer")}, components)
    judge = rk.Reward("judge", components=[rk.Component("told", told)])
    case = {**row, "name": "c", "why": secret, "reward": 5, "scores": {"fails": 1}}
    scores = rk.score(reward, [row] * 4)
    return [
        rk.load_rollouts([row] * 4),
        reward(**row),
        judge(**row),
        scores,
        rk.score(judge, [row] * 2),
        rk.check(reward, rk.load_cases([case])),
        rk.explain(reward, row),
        rk.explain(judge, row),
        rk.diagnose(scores),
        rk.probe(reward, rk.load_rollouts([row] * 4), search=0, budget=5),
    ]


@pytest.mark.parametrize("form", ["_repr_html_", "_repr_markdown_", "__repr__"])
def test_no_record_quotes_a_user_in_any_form_while_texts_are_hidden(form):
    records = quoting()
    assert sum("SECRET" in getattr(record, form)() for record in records) >= 6
    with hidden_user_texts():
        hidden = [getattr(record, form)() for record in records]
    assert [shown for shown in hidden if "SECRET" in shown] == []
