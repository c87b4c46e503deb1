"""Phantom signal: how much there is, which way it goes, and what changes it. The curve of length."""

from dataclasses import replace

import numpy as np
import pytest
from planted.tables import GROUPS, PROMPTS, ROWS, outcomes, scored, stated

import rewardkit as rk
from rewardkit.analysis.findings import by_outlook
from rewardkit.analysis.findings.by_outlook import judge_by_outlook
from rewardkit.analysis.rehearsal.rehearsal import rehearse_view
from rewardkit.analysis.statistics.curves import LengthCurve, fit_curve, kind_of_curve
from rewardkit.findings import percent

pytestmark = pytest.mark.integration

DRAW = np.random.default_rng(5)
HARD = outcomes(DRAW, PROMPTS, 8, 0.3, 0.4)[0]
NOISE = DRAW.random(ROWS)
UNSCALED = {"scale_rewards": "none"}


def paid_beside(bonus, right=HARD, **options):
    return scored({"right": right, "bonus": bonus}, GROUPS, **options)


AGAINST = np.clip(0.6 - 0.3 * HARD + 0.3 * NOISE, 0, 1)
WITH = np.clip(0.3 * HARD + 0.3 * NOISE, 0, 1)


def paid_for_brevity(share=0.35, **options):
    """Half of the wrong completions are short and paid; every second prompt is too hard."""
    draw = np.random.default_rng(7)
    right = np.where(GROUPS % 2 == 0, 0.0, draw.random(ROWS) < share)
    short = np.where(right > 0, 0.0, draw.random(ROWS) < 0.5)
    texts = ["no" if is_short else "a longer thought" for is_short in short]
    columns = {"completion": texts}
    return paid_beside(short, right, columns=columns, weights={"bonus": 0.3}, **options)


def test_phantom_is_the_share_of_the_squared_advantage_in_groups_where_none_is_right():
    scores = paid_beside(AGAINST)
    view = rk.diagnose(scores).views[0]
    squares = np.bincount(GROUPS, view.advantages**2)
    none_right = np.bincount(GROUPS, HARD) == 0
    by_hand = squares[none_right].sum() / squares.sum()
    (item,) = rk.diagnose(scores)["phantom"]
    assert item.evidence["value"] == pytest.approx(by_hand)
    low, high = item.evidence["interval"]
    assert low < by_hand < high
    assert item.evidence["by"] == pytest.approx({"bonus": by_hand})
    assert item.n == PROMPTS


@pytest.mark.parametrize(
    ("scores", "task", "severity", "side"),
    [
        (paid_for_brevity(), "falls", "high", "against"),
        (paid_for_brevity(0.5), "falls", "warn", "against"),
        (paid_beside(AGAINST), "rises", "info", "against"),
        (paid_beside(WITH), "rises", "info", "with"),
        (paid_beside(NOISE), "rises", "info", "beside"),
        (
            paid_beside(AGAINST, transform=lambda rewards, _: rewards),
            None,
            "high",
            "against",
        ),
    ],
    ids=[
        "short ones take over",
        "at a fast pace alone",
        "against the task, by no trait that can be learned",
        "with the task",
        "beside the task",
        "siblings would have to be scored anew",
    ],
)
def test_its_severity_is_that_of_what_training_would_make_of_it(
    scores, task, severity, side
):
    (item,) = rk.diagnose(scores)["phantom"]
    assert (item.severity, item.evidence["side"]) == (severity, side)
    assert bool(item.suggestions) == (severity != "info")
    words = f"In a rehearsed training on these completions the task {task}"
    assert (words in item.sentence) == (task is not None)


def test_a_share_that_may_be_below_its_threshold_stays_for_information():
    scores = paid_for_brevity()
    (item,) = rk.diagnose(scores)["phantom"]
    limit = {"phantom": 0.99 * item.evidence["value"]}
    (near,) = rk.diagnose(scores, thresholds=limit)["phantom"]
    assert near.evidence["inconclusive"] and near.severity == "info"


def test_no_reward_is_called_to_learn_its_severity(tmp_path):
    calls = tmp_path / "calls"

    def short(completion):
        calls.touch()
        return float(len(completion) < 5)

    solved = rk.Component("solved", lambda given_right: given_right)
    brief = rk.Component("short", short, weight=0.3)
    table = paid_for_brevity().table[["prompt_id", "completion", "given_right"]]
    reward = rk.Reward("r", components=[solved, brief])
    scores = rk.score(reward, rk.load_rollouts(table))
    calls.unlink()
    (item,) = rk.diagnose(scores)["phantom"]
    assert item.severity == "high" and not calls.exists()
    assert rk.forecast(scores).outlook.task == "falls" and calls.exists()


@pytest.mark.parametrize(
    ("scores", "options"),
    [
        (paid_beside(AGAINST, right=np.arange(ROWS) % 2 * 1.0), {}),
        (
            paid_beside(
                AGAINST,
                components={"bonus": {"gate": rk.gate("right", at_least=1.0)}},
            ),
            {},
        ),
        (paid_beside(AGAINST), {"training": {"filter_metric": "right"}}),
        (scored({"right": HARD}, GROUPS), {}),
    ],
    ids=["always one right", "behind a gate", "filtered by the task", "task alone"],
)
def test_there_is_none(scores, options):
    assert rk.diagnose(scores, **options)["phantom"] == []


def test_dapos_filter_by_the_total_leaves_it():
    training = {"filter_metric": "reward"}
    assert rk.diagnose(paid_beside(AGAINST), training=training)["phantom"]


def test_the_gate_the_filter_and_no_scaling_show_what_they_make_of_it():
    advice = rk.suggest(rk.diagnose(paid_for_brevity()))
    gate = next(item for item in advice.changes if item.code == "gate_component")
    assert gate.answers == "phantom"
    before, after = gate.outcome.split(";")[0].removeprefix("phantom: ").split(" -> ")
    assert (after, before != "0 %") == ("0 %", True)
    table = advice.table.set_index("code")["phantom"]
    ways = " ".join(advice.text().split()).partition("other ways: ")[2]
    assert ways.startswith(f"advantage with no std: {percent(table['no_std'])}, ")
    assert "groups dropped in which 'right' does not vary (DAPO): 0 %" in ways
    assert table["filter_task"] == 0
    assert table["no_std"] < table["as_is"] / 2
    notes = [note for note in advice.notes if note.startswith("phantom is answered")]
    assert len(notes) == 2 and f"from {before} to 0 %" in notes[0]


def test_whatif_shows_what_becomes_of_it():
    scores = paid_beside(AGAINST)
    training = {"filter_metric": "right"}
    lines = rk.whatif(scores, training=training).text()
    assert "Squared advantage where nothing is right: " in lines
    assert "-> 0 %" in lines


def test_answers_that_contradict_what_is_paid_are_no_task():
    texts = [f"<answer>{7 * right:.0f}</answer>" for right in HARD.tolist()]
    columns = {"completion": texts, "ground_truth": ["7"] * ROWS}
    form = 0.1 * (NOISE > 0.5)
    for paid, is_known in ((HARD + form, True), (1 - HARD + form, False)):
        scores = scored({"paid": paid}, GROUPS, ranges={"paid": None}, columns=columns)
        words = " ".join(rk.diagnose(scores).text().split())
        assert ("(the stated answers)" in words) is is_known


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"is_good": HARD}, {"label": "is_good"}, "('is_good')"),
        ({"acc": HARD}, {}, "('acc')"),
        ({"ground_truth": ["7"] * ROWS}, {}, "(the stated answers)"),
        ({}, {}, "not known without a label"),
    ],
    ids=["a label", "a verdict of the log", "stated answers", "nothing"],
)
def test_a_lone_number_takes_the_task_from_what_is_known_of_it(columns, options, words):
    answers = np.where(HARD > 0, 7, GROUPS % 3)
    texts = [f"<answer>{answer}</answer>" for answer in answers.tolist()]
    scores = scored(
        {"paid": HARD + NOISE},
        GROUPS,
        ranges={"paid": None},
        columns={"completion": texts, **columns},
    )
    diagnosis = rk.diagnose(scores, **options)
    assert words in " ".join(diagnosis.text().split())
    if columns:
        (item,) = diagnosis["phantom"]
        assert item.evidence["side"] == "" and item.severity == "warn"
        assert item.evidence["outlook"] == "falls"  # but nothing is known to take over
        several = diagnosis.group_signal["task_signal"]
        mixed = np.bincount(GROUPS, HARD)
        assert several[0] == pytest.approx(((mixed > 0) & (mixed < 8)).mean())


def test_a_component_that_holds_all_only_where_the_task_is_tied_is_not_dominant():
    right = np.where(GROUPS < 70, 0.0, HARD)
    found = {item.code for item in rk.diagnose(paid_beside(NOISE, right)).findings}
    assert "phantom" in found and "dominant" not in found


def test_of_a_log_the_score_that_tells_right_from_wrong_is_not_dominant():
    """The healthy log of a trainer, whose heaviest part is the task; found in the wild."""
    rows = []
    for place, right in enumerate(HARD[:400].tolist()):
        parts = {"right_reward": 2.0 * right, "form_reward": 0.5 * (NOISE[place] < 0.9)}
        answer = {"ground_truth": "7", "completion": "#### 7" if right else "#### 9"}
        total = {"reward": sum(parts.values())}
        rows.append({"prompt": f"p{place // 8}", **answer, **parts, **total})
    log = rk.load_rollouts(rows)
    diagnosis = rk.diagnose(rk.score(rk.recorded(log), log))
    assert diagnosis.views[0].verdicts.name == "right_reward"
    assert not diagnosis["dominant"]


def test_what_falls_at_one_pace_is_a_warning_where_most_of_the_signal_is_phantom():
    diagnosis = rk.diagnose(paid_for_brevity(0.5))
    (item,) = diagnosis["phantom"]
    for share, severity in ((0.6, "warn"), (0.4, "info")):
        evidence = {**item.evidence, "value": share}
        mild = replace(item, severity="info", evidence=evidence)
        assert judge_by_outlook(mild, diagnosis.views[0]).severity == severity


@pytest.mark.parametrize(
    ("share", "side", "lost", "severity"),
    [
        (0.6, "info", 6, "warn"),
        (0.4, "info", 6, "info"),
        (0.4, "high", 6, "info"),
        (0.6, "high", 0, "info"),
    ],
    ids=["most of it", "a part", "against the task", "all seeds agree"],
)
def test_what_rises_with_some_seeds_alone_is_not_called_harmless(
    share, side, lost, severity, monkeypatch
):
    """Said to rise for information, beside a suggestion that says it falls to 0."""
    diagnosis = rk.diagnose(paid_beside(WITH))
    (item,) = diagnosis["phantom"]
    (view,) = diagnosis.views
    run = rehearse_view(view)
    ends = np.where(np.arange(len(run.ends)) % 16 < lost // 2, 0.0, 0.95)
    run.__dict__["ends"] = ends
    monkeypatch.setattr(by_outlook, "rehearse_view", lambda *_, **__: run)
    evidence = {**item.evidence, "value": share}
    judged = by_outlook.judge_by_outlook(
        replace(item, severity=side, evidence=evidence), view
    )
    assert judged.severity == severity
    words = "the task rises, and falls with other seeds"
    assert (words in judged.sentence) is (lost > 0)
    assert "the task rises" in judged.sentence


@pytest.mark.parametrize(("scaling", "is_scaled"), [("group", True), ("none", False)])
def test_no_advice_names_a_setting_that_the_training_has(scaling, is_scaled):
    training = {"scale_rewards": scaling}
    limits = {"phantom": 0.05}
    scores = paid_for_brevity()
    diagnosis = rk.diagnose(scores, training=training, thresholds=limits)
    (item,) = diagnosis["phantom"]
    assert ("without scaling" in item.advice) is is_scaled
    assert "behind a gate" in item.advice


def test_a_gate_that_gains_little_is_left_out_with_what_it_mends(monkeypatch):
    monkeypatch.setattr("rewardkit.analysis.suggest.LEAST_HIGHER", 0.2)
    draw = np.random.default_rng(0)
    letters = draw.choice([60, 200, 400, 700], ROWS)
    right = (GROUPS % 5 == 0) & (draw.random(ROWS) < 0.6)
    columns = {"completion": ["x" * count for count in letters]}
    weights = {"bonus": 0.3}
    scores = paid_beside(
        1 - letters / 800, right * 1.0, columns=columns, weights=weights
    )
    note = rk.suggest(rk.diagnose(scores)).notes[1]
    assert note.startswith("left out, as training gains less than the 0.2 by which")
    assert note.endswith(", though phantom: 80 % -> 0 %)")


# --- the curve of length

AT = np.linspace(100, 2000, 9)


def falls(values):
    return LengthCurve(AT, np.asarray(values, dtype=float))


LIMIT = np.clip((AT - 1500) / 500, 0, 1)


@pytest.mark.parametrize(
    ("right", "wrong", "kind"),
    [
        (1 - AT / 4000, np.zeros(9), "mild"),
        (1 - 0.02 * AT / 2000, np.zeros(9), ""),
        (1 - LIMIT, -LIMIT, "mild"),
        (1 - AT / 4000, -AT / 4000, "pays_wrong"),
        (1 - AT / 4000, -1 + AT / 4000, "mirrored"),
        (1 + AT / 1000, AT / 1000, "outweighs"),
        (1 - AT / 1000, np.zeros(9), "outweighs"),
        (0.75 + 0.25 * np.cos(AT / 320), np.zeros(9), "turns"),
        (1 - np.abs(AT - 1000) / 2000, np.zeros(9), "mild"),
    ],
    ids=[
        "brevity of right answers",
        "a hundredth",
        "a limit for all",
        "brevity for all",
        "a cosine within its budget",
        "more for each word",
        "long right answers under wrong ones",
        "wraps",
        "one best length",
    ],
)
def test_a_curve_is_what_it_pays(right, wrong, kind):
    span = float(np.mean(right) - np.mean(wrong))
    assert kind_of_curve(falls(right), falls(wrong), span) == kind


def test_a_peak_is_shown_with_both_ends_and_a_slope_by_its_ends():
    peak = falls(1 - np.abs(AT - 1000) / 1000)
    shown = peak.describe(peak.outline, "characters")
    assert shown == "0.1 at 100 characters, 0.95 at 1,000 and 0 at 2,000"
    assert falls(AT / 2000 + 0.1 * np.sin(AT)).outline == [0, 8]


def test_a_curve_is_fitted_among_alike_rows_only():
    """Classes of longer rows earn more: that is theirs, and not of the length."""
    lengths = DRAW.uniform(100, 2000, 800)
    classes = np.arange(800) // 8
    level = DRAW.random(100)[classes] * 5
    fit = fit_curve(lengths + 200 * level, level - lengths / 1000, classes, classes)
    assert fit is not None and fit.curve.explained > 0.99
    slope = fit.curve.rise / (fit.curve.lengths[-1] - fit.curve.lengths[0])
    assert slope == pytest.approx(-1 / 1000, rel=0.05)


NOT_ONE_WAY = "Length moves the reward, and not one way"


def wraps(correct, letters):
    falling = (1 + np.cos(np.pi * letters / 1000)) / 2
    return np.where(correct > 0, 0.5 + 0.5 * falling, -0.5 - 0.5 * falling)


def peaks(correct, letters):
    return correct * (1 - np.abs(letters - 1000) / 2000)


def shrinks(correct, letters):
    return np.where(correct > 0, 1, -1) / (1 + letters / 1000)


def as_asked(correct, letters):
    """Right answers lose by each letter that lacks at the length asked for, as LCPO."""
    words = np.array([50, 100, 200])[GROUPS % 3]
    return correct - np.abs(words * 10 - letters) / 1000


AT_MOST_50 = "Use at most 50 words."
SEVERAL = [AT_MOST_50, "Use at most 100 words.", "Use at most 200 words."]


@pytest.mark.parametrize(
    ("wishes", "pay", "count"),
    [
        ([AT_MOST_50], wraps, 0),
        ([AT_MOST_50, "Keep it under 50 words."], wraps, 0),
        ([AT_MOST_50, "Keep it under fifty words."], wraps, 0),
        (SEVERAL, wraps, 1),
        (SEVERAL, as_asked, 0),
    ],
    ids=[
        "all ask alike",
        "in other words",
        "and the number as a word",
        "what they ask for is not read",
        "it is read",
    ],
)
def test_length_counts_where_the_prompt_asks_for_one_and_the_reward_reads_it(
    wishes, pay, count
):
    made = stated(np.random.default_rng(0), pay)
    columns = {"completion": made["@completion"]}
    columns["prompt"] = [f"{at}? {wishes[at % len(wishes)]}" for at in GROUPS]
    scores = scored(
        {"paid": made["paid"]}, GROUPS, ranges={"paid": None}, columns=columns
    )
    assert len(rk.diagnose(scores)["length_curve"]) == count


def steps_down(correct, letters):
    return correct + 1.2 * (letters < 500)


@pytest.mark.parametrize(
    ("pay", "words", "others"),
    [
        (
            steps_down,
            "It changes at one length, about 510, and not with each character.",
            "turns",
        ),
        (wraps, "It turns at about", "step"),
        (lambda correct, letters: correct - letters / 900, "Length", "step"),
    ],
    ids=["a step", "a turn", "a slope"],
)
def test_a_step_is_no_turn(pay, words, others):
    made = stated(np.random.default_rng(0), pay)
    columns = {"completion": made["@completion"]}
    scores = scored(
        {"paid": made["paid"]}, GROUPS, ranges={"paid": None}, columns=columns
    )
    (item,) = rk.diagnose(scores)["length_curve"]
    assert words in item.sentence and others not in item.sentence


@pytest.mark.parametrize(
    ("pay", "earns", "severity"),
    [
        (wraps, f"{NOT_ONE_WAY}: the better paid answers earn 0.9", "warn"),
        (peaks, f"{NOT_ONE_WAY}: the better paid answers earn 0.5", "info"),
        (shrinks, "Padding helps wrong answers: the better paid answers", "info"),
    ],
)
def test_where_it_turns_is_said_with_figures(pay, earns, severity):
    made = stated(np.random.default_rng(0), pay)
    columns = {"completion": made["@completion"]}
    scores = scored(
        {"paid": made["paid"]}, GROUPS, ranges={"paid": None}, columns=columns
    )
    (item,) = rk.diagnose(scores)["length_curve"]
    assert item.sentence.startswith(earns) and item.severity == severity
    if item.evidence["turns"]:
        assert f". It turns at about {item.evidence['turn']}." in item.sentence
        assert item.evidence["turn"] in ("970", "1,000", "1,100")
    else:
        assert "a cosine reward does so on purpose" in item.sentence
