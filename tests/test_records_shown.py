"""What every record shows of itself in a notebook: one look, short, harmless, on light and dark pages."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardkit as rk
from rewardkit.html import markup

EVIL = (
    "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
    "<a href='javascript:pwned'>go</a><style>body{display:none}</style>\x00\u202e\ud800</div></table>"
)
SHORT = {"suggestions": 100_000, "check": 50_000, "suspicion": 40_000}  # characters; others: 17,000
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
        self.open, self.tags, self.attributes, self.text, self.colours = [], [], set(), "", []
        self.marks, self.unlabelled = [], ""  # marked texts; the text without the labels of marks
        self.feed(text.replace(markup.style(), ""))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.marks += [""] * (tag == "mark")
        self.attributes |= {name for name, _ in attrs}
        self.colours += [found for _, value in attrs for found in COLOUR.findall(value or "")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes what is not open"

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
    rk.note("verdict", {"level": completion, "reason": completion, "raw": [completion] * 3, completion: 1})
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
    rollouts = rk.load_rollouts([*rows, {"prompt_id": "p", "rollout_id": evil}], columns={})
    fields = {"prediction": rk.extract.tag("answer"), "whole": rk.extract.pattern("(?s)^(.{1,5000})")}
    components = [
        rk.Component("correct", rk.verify.matches, why=evil, primary=True),
        rk.Component("odd", odd, weight=0.5, gate=rk.gate("correct", at_least=1.0)),
        rk.Component("fails", fails, weight=0.1),
    ]
    reward = rk.Reward(evil, fields, components, on_missing="skip")
    other = rk.Reward("other", fields, components[:2])
    scores, found = rk.score(reward, rollouts), rk.score(other, rollouts)
    case = {"completion": evil, "ground_truth": "1", "reward": 1, "why": evil}
    cases = rk.load_cases([{**case, "name": f"{evil[:3000]}{row}"} for row in range(20)])
    diagnosis = rk.diagnose(found, label="is_right")
    flawed = rk.load_reward("gallery:arithmetic.flawed")
    advice = rk.suggest(rk.diagnose(rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic")))
    first = rk.load_rollouts("gallery:arithmetic").select(range(160))
    examples = ({"rollout_id": evil, "old": evil, "new": None},) * 7
    changes = tuple(replace(item, why=item.why + evil, examples=examples) for item in advice.changes)
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
        "verdict": rk.explain(rk.Reward("j", components=[rk.Component("j", told)]), {"completion": evil}),
        "judged": rk.judge_report(told, [{"completion": evil, "label": at / 9} for at in range(10)]),
        "suspicion": rk.suspect(scores, pattern="script"),
        "probes": rk.probe(flawed, first, only="padding", search=0),
        "mutants": rk.mutants(other, cases, rollouts, budget=5),
    }


KINDS = tuple(
    "rollouts reward route result scores check diagnosis suggestion suggestions forecast comparison whatif "
    "explanation verdict judged suspicion probes mutants".split()
)


@pytest.fixture(scope="module")
def records():
    return build(EVIL * 100)  # one text that is shown whole makes 44,000 characters


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_is_short_harmless_the_same_twice_and_has_the_one_look_without_colours_of_its_own(
    records, kind
):
    shown = records[kind]._repr_html_()
    assert shown.startswith(markup.card("")[: -len("</div>")]) and shown.count("<style>") >= 1
    assert shown == records[kind]._repr_html_()
    shown = shown.replace(markup.style(), "")
    page = Page(shown)
    assert set(page.tags) <= ALLOWED
    assert not {name for name in page.attributes if name.startswith("on") or name in ("href", "src")}
    assert not re.search("[\x00\u202e\ud800]", shown)
    shown.encode("utf-8")
    assert [colour for colour in page.colours if not OF_THE_PAGE.fullmatch(colour)] == []
    assert "rgb(" not in shown
    assert len(shown) < SHORT.get(kind, 17_000)


def shown(record):
    return Page(record._repr_html_()).text


def test_rollouts_show_how_they_were_read_and_the_first_rows():
    rows = [{"question": f"q{n // 2}", "response": f"<b>{n}</b>", "answer": "x" * 900} for n in range(8)]
    text = shown(rk.load_rollouts([*rows, {"question": "q"}]))
    told = ("8 from memory, 1 row kept out", "4 by prompt (sizes: 4 of 2)", "completion from response")
    assert [words for words in (*told, "has no completion", "and 3 more") if words not in text] == []
    assert text.count("as above") == 2 and "<b>4</b>" in text and "<b>5</b>" not in text
    assert "x" * 200 in text and "x" * 201 not in text and "700 more characters" in text


def test_a_reward_and_a_route_show_what_they_pay_for_and_when():
    size = rk.Component("size", odd, weight=-0.25, range=None, gate=rk.gate("correct", at_least=1.0))
    reward = rk.Reward(
        "mine", {"prediction": rk.extract.tag("answer")},
        [rk.Component("correct", rk.verify.matches, why="the task"), size],
        on_missing="zero", gate=rk.gate("correct", at_least=0.5), transform=rk.weigh.min_max(),
    )  # fmt: skip
    rest = rk.Reward("rest", components=reward.components[:1])
    told = {
        "mine", "the task", "-0.25", "unbounded", "0 to 1", "weighted_sum", "zero", "min_max()",
        "at_least=0.5", "tag('answer'",
    }  # fmt: skip
    assert {words for words in told if words not in shown(reward)} == set()
    told = {"data_source", "math", "correct 1, size -0.25", "(any other)", "rest", "weighted_sum"}
    text = shown(rk.Route("data_source", {"math": reward}, default=rest))
    assert {words for words in told if words not in text} == set()


def test_a_result_shows_a_row_a_component_with_the_weight_that_is_for_it(records):
    text = shown(records["reward"](completion="<answer>1</answer>", ground_truth="1"))
    assert text.startswith("Reward 1component")
    assert "ValueError" in text and "seen" in text and "0.1" in text
    assert "predictionnot found" in shown(records["reward"](completion="none", ground_truth="1"))


def test_a_check_shows_by_a_mark_and_in_words_whether_it_passed():
    reward = rk.Reward("r", {"size": lambda completion: len(completion)}, [rk.Component("odd", odd)])
    good = {"completion": "a", "reward": 1}
    bad = [{"completion": "b" * (2 * n), "name": f"n{n}", "reward": 1, "why": "even"} for n in range(1, 15)]
    assert "\u2713 1 of 1 cases passed, 0 failed" in shown(rk.check(reward, rk.load_cases([good])))
    text = shown(rk.check(reward, rk.load_cases([good, *bad])))
    assert "\u2717 1 of 15 cases passed, 14 failed" in text
    assert text.index("size = 24") < text.index("and 2 more") < text.index("size = 26")
    assert text.count("even") == 14


def empty_scores():
    reward = rk.Reward("r", components=[rk.Component("fails", fails)])
    return rk.score(reward, [{"completion": "a"}, {"completion": "b"}])


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (lambda: rk.load_rollouts([{"completion": "x"}]).select(np.array([False])), "0 rollouts"),
        (empty_scores, "no reward was judged"),
        (lambda: empty_scores().reward(completion="x"), "not judged"),
        (lambda: rk.suggest(rk.diagnose(empty_scores())), "no change"),
        (lambda: rk.diagnose(empty_scores()), "diagnosis"),
        (lambda: rk.compare(empty_scores(), empty_scores()), "same"),
        (lambda: rk.whatif(empty_scores(), weights={"fails": 2.0}), "same findings as before"),
    ],
)
def test_where_there_is_nothing_to_show_the_page_says_so(record, told):
    text = shown(record()).lower()
    assert told in text and "nan" not in text.replace("finan", "")


# texts and marks

LONGEST = markup.LONGEST_SHOWN


@pytest.mark.parametrize(
    ("text", "options", "shown"),
    [
        ("<script>alert(1)</script>", {}, "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("\" onload='x' &amp;", {}, "&quot; onload=&#x27;x&#x27; &amp;amp;"),
        ("a\0b\x1b[31m\r", {}, "a\u2400b\u241b[31m\u240d"),
        ("x" * (LONGEST + 1234), {}, "x" * LONGEST + "<em> ... 1,234 more characters</em>"),
        ("x" * 9000, {"limit": None}, "x" * 9000),
    ],
    ids=lambda value: "" if isinstance(value, dict) else repr(value)[:30],
)
def test_text_is_escaped_what_cannot_be_seen_is_made_visible_and_what_is_long_is_cut(text, options, shown):
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
        ("a <answer>4</answer>", {"prediction": [(10, 11)]}, None, ["4"], ["prediction"]),
        ("abcdef", SPANS_THAT_MEET, None, ["abcd"], ["wide", "inner", "over"]),
        ("abcdef", {"over": [(2, 6)], "behind": [(5, 6)]}, 4, ["cd"], ["over"]),
    ],
)
def test_spans_are_marked_in_place_and_labelled_and_never_nested(text, spans, limit, marks, labels):
    shown = markup.marked(text, spans, **({"limit": limit} if limit else {}))
    assert Page(shown).marks == marks
    assert [one for one in labels if f">{one}</sup>" not in shown] == []
    rest = f" ... {len(text) - limit} more characters" if limit else ""
    assert Page(shown).unlabelled.replace("\u2205", "") == text[:limit] + rest
    assert "behind" not in shown


def test_cells_are_escaped_and_numeric_columns_stand_flush_right():
    shown = markup.table(("<i>", "name"), [("<b>bold</b>", 1), (3, "x")], numeric=("<i>",))
    assert {"i", "b"}.isdisjoint(Page(shown).tags)
    assert Page(shown).unlabelled == "<i>name<b>bold</b>13x"
    assert re.findall(r"<t[hd]( class=\"rk-number\")?>", shown) == [' class="rk-number"', ""] * 3
