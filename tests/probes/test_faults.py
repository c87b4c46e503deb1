"""Which findings are one fault: what the table says explains what, and what a person is told of it."""

import pytest
from probed import finding

from rewardkit.findings import read_codes
from rewardkit.probes.findings.faults import (
    merge_by_cause,
    sort_findings,
)
from rewardkit.probes.options import FAMILIES
from rewardkit.strategies import STRATEGIES

ROWS = read_codes()["probe"]


def hole(code, severity="high", part="", component=None, **evidence):
    return finding(code, severity, part=part, component=component, evidence=evidence)


def of_log(code, severity="high", **evidence):
    """A finding of logged rows, in all parts."""
    evidence = {"kind": "", "logged": True, **evidence}
    return finding(code, severity, "calibration", evidence=evidence)


def of_rows(code, severity="warn", **evidence):
    """A finding that is none of a strategy."""
    return finding(code, severity, "calibration", evidence={"kind": "", **evidence})


SILENT_ROWS = of_log("wrong_paid", kind="silent")
CASES = {
    "who pays for length pays for what is longer": (
        [hole("keywords"), hole("longer"), hole("certain")],
        ["longer high: keywords, certain"],
    ),
    "over others": (
        [hole("a_tenth"), hole("too_much"), hole("mentioned"), hole("tenfold")],
        ["mentioned high: a_tenth, too_much, tenfold"],
    ),
    "the graver is shown": (
        [hole("refusal", "warn"), hole("constant_text")],
        ["constant_text high: refusal"],
    ),
    "what may be right is no cause": (
        [hole("longer", "info", doubt="rare"), hole("keywords")],
        ["keywords high: ", "longer info: "],
    ),
    "any text pays": (
        [hole("empty", "warn"), of_rows("flat_credit"), hole("one_off", "warn")],
        ["empty warn: flat_credit, one_off"],
    ),
    "a part pays": (
        [hole("too_little"), hole("empty_answer")],
        ["containment high: empty_answer, too_little"],
    ),
    "more than it pays": (
        [hole("every_sibling"), hole("too_much", "warn")],
        ["containment high: every_sibling, too_much"],
    ),
    "more pays, perhaps": (
        [hole("every_sibling"), hole("too_much", "info", doubt="rare")],
        ["every_sibling high: too_much"],
    ),
    "a trait of logged rows": (
        [of_log("right_unpaid", trait="notation"), of_rows("loses_notation")],
        ["right_unpaid high: loses_notation"],
    ),
    "another trait": (
        [of_log("right_unpaid", trait="slice"), of_rows("loses_notation")],
        ["right_unpaid high: ", "loses_notation warn: "],
    ),
    "the log stands for what was tried": (
        [of_rows("wrong_paid"), of_log("wrong_paid", "info")],
        ["wrong_paid warn: "],
    ),
    "logged rows that state nothing": (
        [SILENT_ROWS, hole("empty")],
        ["empty high: wrong_paid"],
    ),
    "some of them state something": (
        [of_log("wrong_paid"), hole("empty")],
        ["wrong_paid high: ", "empty high: "],
    ),
    "what a rule knows to be the same": (
        [of_rows("verdict_in_words", "high", also=["orders"]), hole("orders")],
        ["verdict_in_words high: orders"],
    ),
    "length that has a best is no padding": (
        [of_rows("length_curve"), hole("longer", "warn")],
        ["length_curve warn: longer"],
    ),
    "alone all rows earn the same, where they are to be compared": (
        [of_rows("constant"), of_rows("depends_on_siblings", "info", doubt="")],
        ["depends_on_siblings info: constant"],
    ),
    "alone all rows earn the same": (
        [of_rows("constant"), of_rows("depends_on_siblings")],
        ["depends_on_siblings warn: constant"],
    ),
    "another part": (
        [hole("longer", part="a"), hole("keywords", part="b")],
        ["longer high a: ", "keywords high b: "],
    ),
    "a hang is first": (
        [hole("a_tenth"), of_log("log_mismatch"), hole("hang")],
        ["hang high: ", "log_mismatch high: ", "a_tenth high: "],
    ),
    "a call that may hang is not": (
        [of_log("log_mismatch"), hole("hang", "warn")],
        ["log_mismatch high: ", "hang warn: "],
    ),
    "some parts": (
        [hole("longer", "warn", part="b"), hole("longer", part="a")],
        ["longer high a, b: "],
    ),
}


@pytest.mark.parametrize(("findings", "shown"), CASES.values(), ids=CASES)
def test_one_fault_is_one_finding_that_names_what_follows_from_it(findings, shown):
    merged = sort_findings(findings, ["a", "b", "c"], frozenset(FAMILIES))
    lines = []
    for item in merged:
        head = " ".join(filter(None, (item.code, item.severity, item.part)))
        lines.append(f"{head}: {', '.join(item.evidence.get('also', []))}")
        assert ("pays_parts" in item.evidence) is (item.code == "containment")
    assert lines == shown
    assert [item.code for item in merge_by_cause(merged)] == [
        item.code for item in merged
    ]


def test_logged_rows_that_state_nothing_are_counted_where_their_cause_is_shown():
    (merged,) = merge_by_cause([SILENT_ROWS, hole("empty")])
    assert "4 logged completions without an answer earned full marks" in merged.sentence


def test_all_parts_are_counted_together_and_named_by_none():
    findings = [hole("longer", part=part, component="c") for part in "ab"]
    (merged,) = sort_findings(findings, ["a", "b"], frozenset(FAMILIES))
    assert merged.evidence["found"] == merged.evidence["tried"] == merged.n == 8
    assert (merged.component, merged.part) == ("c", "")


def test_the_table_explains_known_codes_and_none_by_itself():
    explains = {}
    for code, row in ROWS.items():
        columns = [name for name in row if name.startswith("explains")]
        explains[code] = {other for name in columns for other in row[name]}
    codes = {*ROWS, *(probe.name for probe in STRATEGIES)}
    kinds = {"pays", "fooled", "more", "silent"}
    assert {*explains} <= codes and set().union(*explains.values()) <= codes | kinds

    def reached(code, path=()):
        assert code not in path, [*path, code]
        for other in explains.get(code, ()):
            reached(other, (*path, code))

    for code in explains:
        reached(code)


CONTAINED = [
    (["too_little", "empty_answer"], "A part of the right answer pays, even an empty"),
    (["too_little", "usual_answer"], "A part of the right answer pays."),
    (["too_much", "several_answers"], "An answer that contains the right one pays"),
    (
        ["too_much", "negated", "too_little"],
        "An answer that contains the right",
    ),
    (
        ["too_much", "several_answers", "too_little", "empty_answer"],
        "even an empty one, and so does a list of all answers.",
    ),
    (
        ["too_little a", "empty_answer a", "too_much b", "several_answers b"],
        "even an empty one, and so does a list of all answers.",
    ),
    (
        ["too_little a", "usual_answer a", "too_little b", "usual_answer b"],
        "A part of the right answer pays.",
    ),
]


@pytest.mark.parametrize(("codes", "words"), CONTAINED)
def test_what_containment_pays_is_said(codes, words):
    findings = []
    for text in codes:
        code, _, part = text.partition(" ")
        findings.append(hole(code, part=part))
    (merged,) = sort_findings(findings, ["a", "b"], frozenset(FAMILIES))
    assert merged.code == "containment" and words in merged.sentence
    is_part_paid = any(text.startswith(("usual", "empty")) for text in codes)
    assert ("A part of the right answer" in merged.sentence) == is_part_paid
