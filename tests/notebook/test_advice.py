"""What is shown of suggestions and forecasts, the answers in short, and completions to read."""

import html
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from plotted import table_of

import rewardkit as rk
from rewardkit.analysis.forecast import LIMITS
from rewardkit.analysis.suggestions.suggestion import MOST_CHANGES_SHOWN
from rewardkit.findings import percent
from rewardkit.html.excerpts import hidden_user_texts
from rewardkit.html.pages import redact_finding
from rewardkit.notebook import tables
from rewardkit.notebook.scorecard import summarize
from rewardkit.notebook.tables import show

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("short_rehearsals")]

HOSTILE = "<script>alert(1)</script>\ud800SECRET"


def page(advice, *, redact=False):
    with hidden_user_texts(redact):
        return advice._repr_html_().replace("\xa0", " ")


def caption(advice):
    return re.search(r"rk-title.>(.*?)</b>", page(advice))[1]


def test_the_caption_says_how_many_are_ranked(unranked, judged):
    assert caption(unranked) == "No change of the reward to suggest."
    assert "unranked: neither training nor a trusted label" in caption(judged)
    ranked = replace(judged.changes[0], rank=1, verdict="improves")
    mixed = replace(judged, changes=(ranked, judged.changes[0]))
    assert caption(mixed).startswith(
        "Changes to consider, 1 of 2 ranked; of the others neither training"
    )
    assert caption(replace(judged, changes=(ranked,))).endswith("1 of 1 ranked")


def test_each_change_has_its_rank_verdict_code_effects_and_examples(judged):
    best = next(item for item in judged.changes if item.outcome)
    best = replace(best, rank=1, verdict="improves")
    shown = page(replace(judged, changes=(best, *judged.changes)))
    named = html.escape(best.named)
    assert f"<b>1. {named} (improves)</b>: " in shown
    for item in judged.changes[: MOST_CHANGES_SHOWN - 1]:
        assert item.line.replace('"', "&quot;").replace("'", "&#x27;") in shown
        for effect in item.effects:
            if abs(effect.difference) >= 0.02:
                low, high = effect.interval
                assert (
                    f"{100 * effect.difference:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
                    in shown
                )
                before = (
                    f"{percent(effect.before)} ({percent(effect.before_interval[0])}"
                )
                assert before in shown
        for example in item.examples[:5]:
            assert f">{example['rollout_id']}<" in shown
    assert best.outcome and f"<li>{html.escape(best.outcome)}.</li>" in shown
    small = [
        e
        for e in best.effects
        if e.figure == "effective_weight" and abs(e.difference) < 0.02
    ]
    alone = page(replace(judged, changes=(best,)))
    assert small and not any(
        f"effective weight of &#x27;{effect.component}" in alone for effect in small
    )


def test_a_change_that_changes_no_figure_says_so_in_a_sentence(judged):
    effects = judged.changes[0].effects
    still = tuple(
        replace(effect, difference=0.0, interval=(0.0, 0.0)) for effect in effects
    )
    shown = page(replace(judged, changes=(replace(judged.changes[0], effects=still),)))
    assert "Nothing of this changes: groups without a signal 28 %" in shown


def test_examples_are_escaped_and_left_out_where_texts_are(judged):
    told = {
        "rollout_id": 1,
        "old": HOSTILE,
        "new": None,
        "score_before": float("nan"),
        "score_after": 1.0,
    }
    hostile = replace(
        judged, changes=(replace(judged.changes[0], examples=(told,) * 7),)
    )
    shown = page(hostile)
    assert "<script>" not in shown and "&lt;script&gt;" in shown and "nan" not in shown
    assert "and 2 more" in shown
    shown.encode()  # a lone surrogate would fail here
    redacted = page(hostile, redact=True)
    assert "SECRET" not in redacted and "[redacted, 1 word]" in redacted


def test_the_forecast_is_a_table_of_both_paces_with_limits(expected):
    shown = expected._repr_html_().replace("\xa0", " ")
    assert expected.outlook.sentence.startswith("the task ")
    assert expected.outlook.sentence.split(":")[0] in shown.replace("&#x27;", "'")
    curve = expected.curves["gentle", "score/concise"]
    low, middle, high = (edge[-1] for edge in (curve.low, curve.middle, curve.high))
    assert f">{middle:.3g} ({low:.3g} to {high:.3g})<" in shown
    assert "the best of 8 by reward does 0.5" in shown
    assert all(limit in shown for limit in LIMITS)
    nothing = rk.forecast(table_of({"x": [np.nan] * 2}, [0, 0]))._repr_html_()
    assert "<table>" not in nothing and "2 of 2 rows have no reward" in nothing


def test_tags_of_completions_are_hidden_where_texts_of_users_are():
    rows = [
        {"prompt": f"2+{at // 8}?", "completion": text, "ground_truth": "4"}
        for at, text in enumerate(["<secret>4</secret>", *["<secret>5</secret>"] * 3, *["so"] * 4] * 20)
    ]  # fmt: skip
    right = rk.Component("right", lambda completion: float("4" in completion))
    tagged = rk.Component("tagged", lambda completion: float("<" in completion))
    found = rk.forecast(rk.score(rk.Reward("r", components=[right, tagged]), rows))
    assert "completions with `<secret>`" in found.outlook.takes_over.kind
    assert "share of completions with `&lt;secret&gt;`" in page(found)
    hidden = page(found, redact=True)
    assert "secret" not in hidden and "share of a kind of completions" in hidden
    with hidden_user_texts():
        assert found.outlook.takes_over.name == "completions of one form"


def test_completions_to_read_are_escaped_cut_and_left_out_on_request():
    row = {
        "rollout_id": 7,
        "prompt": HOSTILE,
        "reward": 0.51239,
        "score/a": np.nan,
        "score/only_json": 0.5,
    }
    frame = pd.DataFrame([{**row, "completion": HOSTILE + "x" * 5000}], dtype=object)
    shown = show(frame, "read")._repr_html_()
    assert "rollout 7" in shown and "reward 0.512" in shown and "a -" not in shown
    assert "only_json 0.5" in shown  # the name of a component as it is
    assert "<script>" not in shown and "characters⟩" in shown
    shown.encode()
    with hidden_user_texts():
        assert "SECRET" not in show(frame, "read")._repr_html_()
    chat = np.array(
        [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": HOSTILE},
        ]
    )
    frame["prompt"] = [chat]  # as a Parquet file gives it
    page = show(frame, "read")._repr_html_()
    assert "be brief" in page and "<script>" not in page


def test_the_reason_why_a_label_is_of_no_use_is_told_on_redacted_pages_too(scores):
    diagnosis = rk.diagnose(scores, label="completion_tokens")
    (item,) = diagnosis["label_unusable"]
    assert redact_finding(item).sentence == item.sentence
    assert "is not one of two values" in item.sentence


def test_one_is_not_told_in_the_plural():
    scores = table_of({"x": [0.0, 1.0]}, [0, 0])
    diagnosis, found = rk.diagnose(scores), rk.forecast(scores)
    assert "of 1 group has a signal" in diagnosis._repr_html_()
    assert answered(scores)["Learnable signal"].words == "of 1 group vary"
    assert "1 prompt is too few" in repr(found)


def test_the_group_sizes_are_those_of_the_diagnosis(scores):
    diagnosis = rk.diagnose(scores)
    table = tables.group_sizes(diagnosis, (4, 16)).set_index("group_size")
    assert list(table.index) == [4]  # the log has groups of 8
    for size, row in table.iterrows():
        share = diagnosis.dead_share(size)[""]
        np.testing.assert_allclose(
            row[["without_a_signal", "from", "to"]].astype(float),
            [share.value, *share.interval],
        )
    assert table.batches[4] > 1


def test_pairs_of_components_stand_from_the_strongest_on_and_say_why_there_is_no_correlation():
    up = [0.0, 1.0, 0.0, 1.0]
    columns = {
        "a": up,
        "b": [0.0, 1.0, 0.0, 0.2],
        "c": [1.0, 0.0, 1.0, 0.0],
        "d": [1.0] * 4,
    }
    pairs = tables.correlated(rk.diagnose(table_of(columns, [0, 0, 1, 1]))).set_index(
        ["first", "second"]
    )
    assert pairs.correlation.iloc[:3].tolist() == pytest.approx(
        [-1.0, 0.8320503, -0.8320503]
    )
    assert pairs.index[0] == ("a", "c") and pairs.correlation.iloc[3:].isna().all()
    assert pairs.why_not["a", "d"] == "'d' is the same among siblings in all 4 rows"
    alone = rk.diagnose(table_of({"a": up}, [0, 0, 1, 1]))
    assert tables.correlated(alone).empty


def answered(scores, label="", advice=None):
    diagnosis = rk.diagnose(scores, label=label or None)
    advice = advice or rk.suggest(diagnosis)
    short = summarize(diagnosis, rk.forecast(diagnosis), advice)
    return {tile.question: tile for tile in short.tiles}


def test_the_answers_are_computed_and_speak_of_a_label(scores, unranked, judged):
    told, diagnosis = answered(scores, advice=unranked), rk.diagnose(scores)
    live = diagnosis.views[0].live
    assert (
        told["Learnable signal"].figure == percent(live.mean())
        and told["Learnable signal"].ends
    )
    outlook = rk.forecast(scores).outlook
    trained = told["Trained on it"]
    assert trained.figure == f"{outlook.start:.2f} \u2192 {outlook.end:.2f}"
    fails = f"{percent(outlook.fragility)} of learners fail"
    assert trained.words == f"share of the task, at a {outlook.pace} rate; {fails}"
    assert outlook.grade.startswith(
        f"Four of five learners at the {outlook.pace} rate end there or above; "
    )
    assert outlook.grade.endswith("under half of what the task alone gives")
    start = scores.table["is_right"].mean()
    judged_by_label = answered(scores, "is_right", judged)["Trained on it"]
    assert judged_by_label.figure.startswith(f"{start:.2f} \u2192 ")
    assert "label_disagrees" in judged_by_label.words


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ([np.nan] * 4, [0, 0, 1, 1]),
        ([1.0], [0]),
        ([0.5] * 4, [0, 0, 1, 1]),
        ([1e6] * 9, [0, 0, *range(1, 8)]),
    ],
    ids=["nothing judged", "one row", "constant", "constant, one group of two"],
)
def test_where_nothing_can_be_told_no_tile_is_good_and_each_says_why(values, groups):
    told = answered(table_of({"x": values}, groups))
    assert len(told) == 2
    assert (
        told["Learnable signal"].grade != "good"
        and told["Trained on it"].grade != "good"
    )
    assert all(
        tile.words and "nan" not in tile.words + tile.figure for tile in told.values()
    )


@pytest.mark.parametrize(
    ("column", "name"),
    [([1, 0], "judged"), (["yes", "no"], "judged"), ([0, 1, 2], None)],
)
def test_a_record_names_the_label_where_it_is_used(column, name):
    rows = [{"prompt": "p", "completion": "x", "judged": value} for value in column]
    reward = rk.Reward("r", components=[rk.Component("a", lambda completion: 1.0)])
    scores = rk.score(reward, rows)
    assert rk.forecast(rk.diagnose(scores, label="judged")).record()["label"] == name
    assert rk.forecast(rk.diagnose(scores)).record()["label"] is None
