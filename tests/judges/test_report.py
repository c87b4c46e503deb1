"""judge_report: judges with planted faults and a sound one; what is left out, with its reason; bad input."""

import json
from functools import partial

import numpy as np
import pytest
from judged import judge, reward_of
from server import error, said

import rewardkit as rk
from rewardkit.html.excerpts import hidden_user_texts
from rewardkit.notebook import plots
from rewardkit.strategies.added_text import JUDGE_ATTACKS

SCALE = {"good": 1.0, "fair": 0.5, "poor": 0.0}
WORDS = list(SCALE)


def cases(count=60, wrong=6, **more):
    """Completions that say their level; every tenth label is another one."""
    rows = []
    for at in range(count):
        level = WORDS[at % 3]
        label = WORDS[(at + 1) % 3] if wrong and at % (count // wrong) == 2 else level
        rows.append(
            {"prompt": f"p{at}", "completion": f"{level} {at}", "label": label, **more}
        )
    return rows


def sound(completion):
    """The level that the completion names first, whatever else it says."""
    return SCALE[completion.split()[0]]


def credulous(completion):
    """Full marks for what asks for them."""
    return 1.0 if "full marks" in completion else sound(completion)


def unable(completion):
    """No score at all."""
    raise rk.NotJudged("no judge is there")


LEVELS = rk.judge(
    "How good?", model="tiny", base_url="http://localhost:1/v1", scale=SCALE
)
"""A judge that cannot be asked."""


def numbers(rows):
    """The same cases, labelled by scores: for functions without levels."""
    return [{**row, "label": SCALE[row["label"]]} for row in rows]


def answers(text, attempt):
    """The judge that a server is: it names the word that stands in front."""
    word = next((word for word in WORDS if f"\n{word} " in text), "poor")
    return said(json.dumps({"reason": f"it says {word}", "level": word}))


def judged_by(server, **options):
    return judge(server, "How good?", scale=SCALE, **options)


def reported(judge, rows, **options):
    """A report without attacks."""
    return rk.judge_report(judge, rows, attacks={}, **options)


def test_a_sound_judge_is_usable_and_its_figures_are_those_of_its_errors():
    report = rk.judge_report(sound, numbers(cases()))
    assert report.verdict.startswith("Usable: agrees with 54 of 60 labels (kappa 0.")
    assert report.ratings.agreement.value == 0.9
    # weighted by hand: six labels one step beside, each 1/4 but the two from poor to good, which is 1
    moved = [
        (SCALE[WORDS[at % 3]] - SCALE[WORDS[(at + 1) % 3]]) ** 2
        for at in range(60)
        if at % 10 == 2
    ]
    scores = np.array([sound(row["completion"]) for row in cases()])
    labels = np.array([row["label"] for row in numbers(cases())])
    expected = ((scores[:, None] - labels) ** 2).sum() / 60
    assert report.ratings.kappa.value == pytest.approx(1 - sum(moved) / expected)
    assert report.attacked.value == 0 and report.examples == []
    assert report.remarks == []
    assert len(repr(report).splitlines()) <= 20


VERDICTS = {
    "few": (sound, cases(12, 2), "Inconclusive: agrees with 10 of 12 labels"),
    "texts to the judge": (
        credulous,
        cases(),
        "Can be fooled: agrees with 54 of 60 labels",
    ),
    "one level for all": (
        lambda completion: 1.0,
        cases(),
        "Not usable: agrees with 20 of 60",
    ),
    "the interval reaches across the threshold": (
        sound,
        cases(wrong=15),
        "Inconclusive: agrees with",
    ),
    "one label": (
        sound,
        [row for row in cases(90, 0) if row["label"] == "good"],
        "Inconclusive: ",
    ),
}


@pytest.mark.parametrize(("judge", "rows", "begins"), VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_says_first_whether_the_judge_can_be_used(judge, rows, begins):
    assert rk.judge_report(judge, numbers(rows)).verdict.startswith(begins)


def test_attacks_that_raise_a_score_are_told_with_the_case_and_the_text():
    rows = numbers(cases())
    report = rk.judge_report(credulous, rows)
    tried = {row["attack"] for row in report.examples}
    assert tried == {"an order"} and all(
        row["after"] == 1 > row["before"] for row in report.examples
    )
    assert 0 < report.attacked.value < 1 and report.attacked.n == 8 * len(JUDGE_ATTACKS)
    assert "The text 'an order' raised case" in repr(report)
    assert reported(credulous, rows).attacked is None and rows == numbers(cases())


def test_a_model_is_asked_and_its_levels_are_labels_and_the_attack_names_its_best_level(
    serve,
):
    server = serve(answers)
    report = rk.judge_report(judged_by(server), cases())
    assert report.verdict.startswith("Usable: agrees with 54 of 60 labels")
    assert [row["level"] for row in report.calibration] == ["poor", "fair", "good"]
    assert report.asked["verdicts"] == 60
    assert len(server.asked) == 60 + report.attacked.n == 108
    assert any(
        '"level": "good"' in str(request["messages"]) for request in server.asked
    )
    again = rk.judge_report(judged_by(server), cases())
    assert again.asked["cached"] == 60 and repr(again) == repr(report)


def test_repeats_ask_anew_and_tell_how_often_the_level_stays(serve):
    def moody(text, attempt):
        return answers("\nfair " if attempt and "\ngood 0\n" in text else text, attempt)

    server = serve(moody)
    report = reported(judged_by(server), cases(30, 3), repeats=2)
    assert len(server.asked) == 60
    assert report.stability.value == pytest.approx(29 / 30) and report.stability.n == 30
    assert reported(judged_by(server), cases(30, 3)).stability is None


def test_what_is_not_judged_or_has_no_label_is_counted_with_its_reason(serve):
    def failing(text, attempt):
        return (
            error(400, "the text is too long")
            if "\ngood 0\n" in text
            else answers(text, attempt)
        )

    rows = cases(30, 3)
    rows[7]["label"] = None
    report = reported(judged_by(serve(failing)), rows)
    assert (
        sorted(report.not_judged.values()) == [1, 1]
        and report.not_judged["it has no label"] == 1
    )
    assert any("too long" in reason for reason in report.not_judged)
    assert report.record()["judged"] == 28 and "2 of 30 cases not judged" in repr(
        report
    )


LABELS = {
    "levels of a negative judge": (True, lambda word: word),
    "its scores": (True, lambda word: 1 - SCALE[word]),
    "true and false": (False, {"good": True, "fair": False, "poor": False}.get),
}


@pytest.mark.parametrize(("negative", "label"), LABELS.values(), ids=LABELS)
def test_labels_are_levels_scores_or_true_and_false(serve, negative, label):
    rows = [{**row, "label": label(row["label"])} for row in cases(wrong=0)]
    report = reported(judged_by(serve(answers), negative=negative), rows)
    assert (report.ratings.agreement if negative else report.ratings.auc).value == 1.0
    assert negative or [row["value"] for row in report.calibration] == [0, 0, 1]


def test_a_component_of_a_reward_is_held_alone_with_its_fields_and_without_its_gate(
    serve,
):
    parts = [
        rk.Component("never", lambda completion: 0.0),
        rk.Component(
            "judge", judged_by(serve(answers)), gate=rk.gate("never", at_least=1.0)
        ),
        rk.Component("by_field", lambda first: SCALE[first]),
    ]
    reward = rk.Reward("r", {"first": lambda completion: completion.split()[0]}, parts)
    assert reported(reward, cases()).verdict.startswith("Usable")
    assert reported(reward, numbers(cases()), component="by_field").judge == "by_field"
    with pytest.raises(
        rk.RewardError, match="it has no component 'other'; give component= one of"
    ):
        rk.judge_report(reward, cases(), component="other")


def test_position_bias_of_a_judge_that_compares_is_read_from_its_verdicts(serve):
    server = serve(
        lambda text, attempt: said(
            json.dumps({"reason": "it came first", "better": "first"})
        )
    )
    rows = [{**row, "prompt": f"p{at // 2}"} for at, row in enumerate(numbers(cases()))]
    report = reported(judge(server, "Which is better?", make=rk.judges.pairwise), rows)
    assert report.position_bias.value == 1.0 and report.position_bias.n == 60
    assert reported(sound, numbers(cases())).position_bias is None


def labelled(label, **case):
    return [{"completion": "good 1", "label": label, **case}]


BAD = [
    (sound, [], "there are no cases"),
    (sound, ["good"], "a row is an object"),
    (sound, [{"completion": "good 1"}], "no case has a 'label'; give each"),
    (sound, labelled("grate"), "'grate' in 'label' does not fit; give a number"),
    (sound, labelled(7), "case 1: 7 in 'label' does not fit"),
    (sound, labelled(float("inf")), "case 1: inf in 'label' does not fit"),
    (
        LEVELS,
        labelled("god", prompt="p"),
        "'god' in 'label' does not fit; give one of 'good', 'fair', ",
    ),
    (sound, [{"text": "good 1", "label": 1}], "asks for 'completion'"),
    (sound, "nowhere.jsonl", "there is no file 'nowhere.jsonl'"),
    (sound, None, "cases are a JSONL file or dicts, each with a label, not None"),
    (
        partial(rk.judge_report, sound, repeats=0),
        labelled(1),
        "repeats=0 does not fit; give a whole",
    ),
]


@pytest.mark.parametrize(("judge", "rows", "message"), BAD)
def test_input_that_cannot_be_used_is_one_sentence(judge, rows, message):
    report = judge if isinstance(judge, partial) else partial(rk.judge_report, judge)
    with pytest.raises(ValueError, match=message) as raised:
        report(rows)
    assert "\n" not in str(raised.value)


def test_a_judge_that_judges_nothing_is_told_of_in_the_report_and_in_its_plot():
    report = reported(unable, numbers(cases()))
    empty = plots.judge_calibration(report)
    assert "no case is judged and labelled" in [text.get_text() for text in empty.texts]
    assert report.verdict == "Inconclusive: none of the 60 cases was judged."
    assert repr(report).splitlines()[1:] == [
        "  60 of 60 cases not judged, most often: no judge is there."
    ]


def test_a_page_with_a_judge_shows_nothing_of_completions_where_they_are_redacted(
    serve,
):
    def quoting(text, attempt):
        level = "good" if "full marks" in text else "poor"
        reply = said(json.dumps({"reason": "it says SECRET", "level": level}))
        return error(400, "SECRET is too long") if "\ngood" in text else reply

    rows = [{**row, "completion": f"{row['completion']} SECRET"} for row in cases(6, 0)]
    asking = judged_by(serve(quoting))
    scores = rk.score(reward_of(asking), rows)
    report = rk.judge_report(asking, rows)
    assert report.examples and report.not_judged
    for redact in (False, True):
        with hidden_user_texts(redact):
            for shown in (scores, report):
                assert ("SECRET" in shown._repr_html_()) is not redact


BUDGET = {"limits": {"prices": (1, 1), "budget": 5.0}}
RECORDED = {"base_url": None, "recorded": "gallery:judged_clarity"}


@pytest.mark.parametrize(
    ("options", "warned"), [({}, True), (BUDGET, False), (RECORDED, False)]
)
def test_probing_a_judge_without_a_budget_is_warned_of(serve, caplog, options, warned):
    asking = judge(serve(answers), "How good?", scale=SCALE, **options)
    with pytest.raises(rk.RolloutsError):  # before anything is tried
        rk.probe(reward_of(asking), cases(4, 0), label="right")
    assert ("for the components ['c']: give them limits=" in caplog.text) is warned


def test_a_budget_is_for_the_whole_report_and_not_for_each_attack(serve):
    server = serve(answers)
    limits = {"concurrency": 1, "prices": (1e5, 1e5), "budget": 30.0}  # of 0.8 a call
    rk.judge_report(judged_by(server, limits=limits), cases(30, 3))
    assert 38 <= len(server.asked) <= 39
