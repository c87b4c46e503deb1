"""Findings: one cause is told once; their numbers by hand; what is paid beside the task; trends; slices."""

from statistics import NormalDist

import numpy as np
import pytest
from planted.tables import FAILS, GROUPS, PROMPTS, ROWS, SIBLINGS, outcomes, scores_of

import rewardkit as rk
from rewardkit.analysis import parts as parts_module
from rewardkit.analysis.findings.spread import least_spread
from rewardkit.targets.load import reward_named

pytestmark = pytest.mark.usefixtures("short_rehearsals")

AT = np.arange(ROWS)
UNSCALED = {"scale_rewards": "none"}


def loud(scores, training=None):
    """Code, severity and component of what is above "info"."""
    found = rk.diagnose(scores, training=training).findings
    return {
        (item.code, item.severity, item.component)
        for item in found
        if item.severity != "info"
    }


def task(seed=1, rate=0.45):
    return outcomes(np.random.default_rng(seed), PROMPTS, SIBLINGS, rate)[0]


def noise(seed=2):
    return np.random.default_rng(seed).random(ROWS)


def grades(seed=5):
    """A grade of its own for each prompt."""
    return (np.random.default_rng(seed).integers(2, 9, PROMPTS) / 10)[GROUPS]


def cancelling(groups):
    """Two that cancel in so many groups."""
    return {"a": task(), "b": np.where(GROUPS < groups, 1 - task(), noise())}


def outlying():
    return np.where(AT % 200 == 0, 5000, np.random.default_rng(6).normal(100, 10, ROWS))


WIDE = np.where(AT == 799, 30, np.where(GROUPS < 10, 40, 1) * noise())
NEARLY_ALL = np.where(noise() < 0.04, noise(3).round(1), 0.7)
TWO_FAULTS = np.where(
    GROUPS < 60, grades(8), np.where(noise() < 0.02, noise(3).round(1), 0.7)
)
OPPOSED, DEAD = ("opposed", "high", None), ("zero_std_groups", "high", None)
CLUSTERED = ("clustered", "high", None)
ONE_CAUSE = {
    "two that make it constant, of 0 and 1": (
        {"said": task(), "unsaid": 1 - task()},
        None,
        {OPPOSED},
    ),
    "most groups cancel: as bad as any other silence": (
        cancelling(70),
        None,
        {OPPOSED},
    ),
    "tied at the grade that nearly all get": ({"grade": NEARLY_ALL}, None, {CLUSTERED}),
    "tied at grades of their own": (
        {"grade": np.where(GROUPS < 90, grades(), noise().round(1))},
        None,
        {DEAD},
    ),
    "both": ({"grade": TWO_FAULTS}, None, {("clustered", "warn", None), DEAD}),
    "fails where it would pay less": (
        {"grade": np.where(task() == 1, 1.0, FAILS)},
        None,
        {("errors", "high", "grade")},
    ),
    "wide as they hold outliers": (
        {"words": outlying()},
        UNSCALED,
        {("outliers", "warn", "words")},
    ),
    "wide all the same": (
        {"points": WIDE},
        UNSCALED,
        {("high_variance", "warn", None)},
    ),
}


@pytest.mark.parametrize(
    ("parts", "training", "expected"), ONE_CAUSE.values(), ids=ONE_CAUSE
)
def test_what_follows_from_a_fault_is_told_with_it_and_a_second_fault_is_told(
    parts, training, expected
):
    assert loud(scores_of(parts, GROUPS), training) == expected


DOMINANT = {
    "heavier, and says why": (3.0, "this stage teaches layout", (0, 2), "info"),
    "heavier, without a reason": (3.0, "", (0, 2), "warn"),
    "declared lighter than the task that it outweighs": (
        0.9,
        "a nudge",
        (0, 2),
        "warn",
    ),
    "how heavy it is was not declared": (
        1.0,
        "the docstring of a function",
        None,
        "warn",
    ),
    "very heavy": (20.0, "", (0, 2), "warn"),
    "light": (0.05, "", (0, 2), "none"),
}


@pytest.mark.parametrize(
    ("weight", "why", "ends", "severity"), DOMINANT.values(), ids=DOMINANT
)
def test_what_is_declared_as_heavy_as_the_task_and_says_why_is_dominant_by_design(
    weight, why, ends, severity
):
    parts = {"correct": task(), "layout": 2.0 * (noise() > 0.5)}
    components = {
        "correct": {"primary": True},
        "layout": {"weight": weight, "why": why},
    }
    scores = scores_of(parts, GROUPS, components=components, ranges={"layout": ends})
    found = [
        item for item in rk.diagnose(scores)["dominant"] if item.component == "layout"
    ]
    assert [item.severity for item in found] == [severity] * (severity != "none")
    for item in found:
        assert ("declared on purpose" in item.sentence) == (severity == "info")
        assert bool(item.suggestions) == (severity == "warn")


LEVEL = noise(1)[GROUPS]
SHARED = {"a": 0.9 * LEVEL + 0.1 * task(), "b": 0.9 * LEVEL + 0.1 * noise()}


REDUNDANT = {
    "between prompts only": (SHARED, {}),
    "of three copies each once": (dict.fromkeys("abc", task()), {"b": "a", "c": "a"}),
    "cancelled": ({"a": task(), "b": 1 - task(), "c": np.zeros(ROWS)}, {}),
}


@pytest.mark.parametrize(("parts", "others"), REDUNDANT.values(), ids=REDUNDANT)
def test_redundant_is_what_two_components_share_among_siblings(parts, others):
    found = rk.diagnose(scores_of(parts, GROUPS))["redundant"]
    assert {item.component: item.evidence["other"] for item in found} == others
    assert np.corrcoef(SHARED["a"], SHARED["b"])[0, 1] > 0.9


def test_what_takes_back_what_another_pays_is_not_said_to_pay_for_the_same():
    for other, weight in ((noise(), -0.5), (1 - noise(), 0.5)):
        parts, weights = (
            {"task": task(), "bonus": noise(), "other": other},
            {"bonus": 0.5, "other": weight},
        )
        diagnosis = rk.diagnose(scores_of(parts, GROUPS, weights=weights))
        (found,) = diagnosis["opposed"]
        assert (found.severity, found.evidence["components"]) == (
            "warn",
            "bonus, other",
        )
        assert (
            "cancel: within groups what they pay has a correlation of -1.00"
            in found.sentence
        )
        assert not diagnosis["redundant"]


def test_the_task_is_never_the_one_too_many_whatever_is_declared_first():
    rows = [
        {
            "prompt_id": f"p{at // 8}",
            "completion": str(at),
            "ground_truth": "1",
            "given": float(value),
        }
        for at, value in enumerate(task())
    ]
    twin = rk.Component("twin", lambda given: given)
    correct = rk.Component("correct", lambda given, ground_truth: given)
    for components in ([twin, correct], [correct, twin]):
        found = rk.diagnose(rk.score(rk.Reward("r", components=components), rows))
        assert [item.component for item in found["redundant"]] == ["twin"]


# outliers, wide and narrow groups, two kinds of prompts


def normal(seed=0):
    return np.random.default_rng(seed).normal(100, 10, 800)


def told(code, values, groups=GROUPS, **options):
    return rk.diagnose(scores_of({"points": values}, groups), **options)[code]


def test_outliers_are_counted_with_what_they_make_of_the_differences_of_siblings():
    words, far = normal(), [3, 90, 91]
    words[far] = [400, 500, -300]
    (found,) = told("outliers", words)
    rest = np.where(np.isin(AT, far), np.nan, words).reshape(100, 8)
    without = (np.sum(~np.isnan(rest), axis=1) * np.nanvar(rest, axis=1)).sum()
    whole = 8 * words.reshape(100, 8).var(1).sum()
    assert found.evidence["value"] == pytest.approx(1 - without / whole)
    assert (found.evidence["rows"], found.evidence["extreme"]) == (3, 500)
    assert set(found.rollout_ids) == {4, 91, 92} and found.severity == "warn"
    assert "3 scores (0.4 %) far from the rest" in found.sentence
    assert found.suggestions == ("standardise_components",)
    (few,) = told("outliers", np.where(AT == 5, 5000, normal())[:40], GROUPS[:40])
    assert few.severity == "info" and "5 groups are too few" in few.sentence


@pytest.mark.parametrize("count", [2, 3, 8])
def test_one_normal_sample_in_twenty_varies_less_than_the_least_spread(count):
    samples = np.random.default_rng(count).standard_normal((40_000, count))
    share = (
        samples.std(axis=1, ddof=1) < least_spread(np.array([float(count)]))[0]
    ).mean()
    assert share == pytest.approx(0.05, abs=0.006)
    expected = NormalDist().inv_cdf(0.525)  # of two that of half a normal difference
    assert least_spread(np.array([2.0, 1.0])) == pytest.approx(
        [expected, np.nan], nan_ok=True
    )


# what is paid beside the task, and the label

LENGTH = np.random.default_rng(7).integers(5, 200, ROWS)
LONGER = np.clip(LENGTH / 200 + np.random.default_rng(8).normal(0, 0.15, ROWS), 0, 1)
HACKS = {
    "length_bias",
    "column_bias",
    "truncated_paid",
    "label_disagrees",
    "label_unusable",
    "label_undecided",
}


def hacks(second, parts=None, primary="task", weight=0.3, told=(), **columns):
    """Findings of these codes on a task and what else is paid for."""
    columns.setdefault("completion", ["x" * size for size in LENGTH.tolist()])
    components = {primary: {"primary": True}} if primary else None
    parts, weights = parts or {"task": task(), "second": second}, {"second": weight}
    scores = scores_of(
        parts,
        GROUPS,
        weights=weights,
        columns=columns,
        components=components,
        ranges={"second": None},
    )
    return {
        item.code: item
        for item in rk.diagnose(scores, **dict(told)).findings
        if item.code in HACKS
    }


def test_what_pays_for_length_is_said_in_the_words_of_its_sign_and_noise_is_no_bias():
    assert not hacks(noise())
    for sign, word, paid_for in ((1, "longer", "length"), (-1, "shorter", "brevity")):
        found = hacks(0.5 + sign * (LONGER - 0.5))["length_bias"]
        fix = f"'second' pays for {paid_for}: soften or gate it."
        assert found.sentence.endswith(fix)
        assert (
            f"with equal 'task', the {word} one (in characters) gets the higher"
            in found.sentence
        )
        parts = {"judge": 0.5 + sign * LENGTH / 400}
        for more in (
            {},
            {"second": noise() > 0.1},
        ):  # a task that is scored by the length
            found = hacks(None, parts | more, "judge", 0.1)["length_bias"]
            assert (found.component, found.evidence["value"]) == (
                "judge",
                max(sign, 0.0),
            )
            assert f"that 'judge' tells apart, the {word} one" in found.sentence
    assert not hacks(None, {"second": LONGER}, None)  # alone, it may be the task


def test_what_pays_for_a_mark_pays_for_no_length_though_marked_texts_are_longer():
    marked = np.random.default_rng(5).random(ROWS) < 0.5
    note = f"<note>{'y' * 150}</note>"
    pairs = zip(LENGTH.tolist(), marked.tolist(), strict=True)
    texts = ["x" * size + note * is_marked for size, is_marked in pairs]
    assert not hacks(marked * 1.0, completion=texts)
    assert set(hacks((marked + LONGER) / 2, completion=texts)) == {"length_bias"}


def test_brevity_that_right_completions_alone_are_paid_for_is_no_alarm():
    severities = []
    for second in (task() * (1 - LONGER), 1 - LONGER, task() * LONGER):
        severities.append(hacks(second)["length_bias"].severity)
    assert severities == ["info", "warn", "warn"]


def test_a_mild_penalty_of_the_longest_completions_is_a_limit_and_no_alarm():
    """DAPO's soft penalty of overlong answers was told to be softened; found in the wild."""
    beyond = np.clip((LENGTH - 130) / 70, 0, 1)
    of_most = np.clip((LENGTH - 60) / 140, 0, 1)
    severities = []
    for penalty, weight in ((-beyond, 0.3), (-of_most, 0.3), (-beyond, 1.5)):
        bias = hacks(penalty, weight=weight)["length_bias"]
        severities.append((bias.severity, "soften" in bias.advice))
    assert severities == [("info", False), ("warn", True), ("warn", True)]


def test_another_column_that_is_paid_for_is_named_once():
    emojis = np.random.default_rng(3).integers(0, 10, ROWS)
    columns = {"emojis": emojis, "letters": LENGTH * 2.0}
    found = hacks(emojis / 9, **columns)["column_bias"]
    assert (
        found.evidence["column"] == "emojis"
        and "with the higher 'emojis' gets" in found.sentence
    )
    assert set(hacks(LONGER, **columns)) == {
        "length_bias"
    }  # `letters` is the length once more
    asked = {"columns": ["temperature"]}
    assert "column_bias" not in hacks(
        emojis / 9, told=asked, temperature=noise(), **columns
    )


def test_a_column_of_0_and_1_may_be_the_label_and_is_no_alarm_without_one():
    """The report called a log's `is_right` a bias where no label was named; found in the wild."""
    flags = np.random.default_rng(3).integers(0, 2, ROWS)
    found = hacks(flags.astype(float), is_right=flags)["column_bias"]
    assert found.severity == "info" and "name it with label=" in found.advice
    assert "goes with 'is_right', which is 0 or 1" in found.sentence
    labelled = hacks(
        flags.astype(float), told={"label": "ok"}, ok=task(), is_right=flags
    )
    assert labelled["column_bias"].severity == "warn"  # the label is another one
    assert "'is_right' bias" in labelled["column_bias"].sentence


def test_a_label_that_the_reward_does_not_follow_is_found_also_as_text():
    wrong = np.random.default_rng(6).random(ROWS) < 0.15
    ok = np.where(wrong, 1 - task(), task())
    found, as_text = (
        hacks(noise(), told={"label": "ok"}, ok=label)["label_disagrees"]
        for label in (ok, (ok > 0).astype(str))
    )
    assert (
        found.evidence == as_text.evidence
        and found.severity == "warn"
        and "'ok'" in found.sentence
    )


# slices

PLACES = [(row // 6, row % 6) for row in range(360)]


def scores_with(column, name="kind"):
    """Scores in which half of each group earns 1, and a column that is given by group and sibling."""
    groups, siblings = zip(*PLACES, strict=True)
    return scores_of(
        {"c": np.mod(siblings, 2)},
        groups,
        columns={name: [column(*place) for place in PLACES]},
    )


MIXED = [
    (lambda group, sibling: sibling % 2, 60),  # what the reward is of
    (lambda group, sibling: "a" if sibling or group > 2 else "b", 3),
    (lambda group, sibling: [sibling], 60),
]


@pytest.mark.parametrize(("column", "mixed"), MIXED)
def test_a_column_that_differs_among_siblings_is_no_slice_and_a_list_is_one_as_it_is_written(
    column, mixed
):
    with pytest.raises(
        rk.InputError,
        match=f"by='kind' differs among the siblings of {mixed} of 60 groups",
    ):
        rk.diagnose(scores_with(column), by=["kind"])
    table = rk.diagnose(
        scores_with(lambda group, sibling: ["a", group % 2]), by=["kind"]
    ).group_signal
    assert table["slice"].tolist() == ["all", "kind=['a', 0]", "kind=['a', 1]"]


def test_unasked_a_usual_column_that_differs_among_siblings_or_has_many_values_is_passed_over():
    diagnosis = rk.diagnose(
        scores_with(lambda group, sibling: ("easy", "hard")[sibling % 2], "task")
    )
    assert diagnosis.by == () and diagnosis.group_signal["slice"].tolist() == ["all"]
    assert not any(item.part for item in diagnosis.findings)
    scores = scores_with(lambda group, sibling: f"t{group % 31}", "task")
    assert rk.diagnose(scores).by == ()
    assert rk.diagnose(scores, by="task").by == ("task",)  # one text is one name


def test_a_column_that_was_asked_for_is_looked_at_though_it_has_many_values_up_to_a_limit(
    monkeypatch,
):
    groups = np.repeat(np.arange(12 * 31), 6)
    values = np.tile([0, 1], 6 * 6 * 31) * (groups % 31 != 7)
    scores = scores_of(
        {"c": values}, groups, columns={"kind": [f"d{group % 31}" for group in groups]}
    )
    diagnosis = rk.diagnose(scores, by=["kind"])
    assert len(diagnosis.group_signal) == 1 + 31
    assert [item.part for item in diagnosis["constant"]] == ["kind=d7"]
    monkeypatch.setattr(parts_module, "MOST_NAMED_VALUES", 20)
    with pytest.raises(
        rk.InputError, match=r"by='kind' has 31 values, too many .* \(at most 20\)"
    ):
        rk.diagnose(scores, by=["kind"])


@pytest.mark.parametrize("primary", ["task", "bonus"])
def test_a_shape_that_one_source_alone_has_is_told_and_is_a_fault_of_the_task_only(
    primary,
):
    """The bonus is earned by 60 % in source a and by 2 % in b; all others are alike."""
    draw, groups = np.random.default_rng(0), np.repeat(np.arange(200), 8)
    task = draw.random(1600) < 0.5
    bonus = draw.random(1600) < np.where(groups % 2, 0.02, 0.6)
    scores = scores_of(
        {"task": task.astype(float), "bonus": bonus.astype(float)},
        groups,
        weights={"bonus": 0.3},
        columns={"data_source": np.array(["a", "b"])[groups % 2]},
        components={primary: {"primary": True}},
    )
    (found,) = rk.diagnose(scores)["sparse"]
    assert (found.component, found.part) == ("bonus", "data_source=b")
    assert found.severity == ("warn" if primary == "bonus" else "info")


RARE = task(rate=0.12)


@pytest.mark.parametrize(
    ("bonus", "severity", "behind"),
    [
        (RARE * (0.5 + noise() / 2), "info", "task"),
        (RARE * (noise() < 0.1), "warn", ""),
        ((noise() < 0.1) * 1.0, "warn", ""),
    ],
    ids=["behind the task", "sparse behind it, too", "anywhere"],
)
def test_a_bonus_that_is_sparse_as_its_task_is_needs_no_near_misses(
    bonus, severity, behind
):
    parts = {"task": RARE, "bonus": bonus}
    components = {"task": {"primary": True}}
    scores = scores_of(parts, GROUPS, weights={"bonus": 0.3}, components=components)
    found = {item.component: item for item in rk.diagnose(scores)["sparse"]}["bonus"]
    assert (found.severity, found.evidence["behind"]) == (severity, behind)
    assert ("Pay near misses" in found.sentence) == (not behind)


# what findings name, and what a stranger found


@pytest.mark.parametrize("taken", ['kwargs["answer"]', 'kwargs.get("answer")'])
def test_a_function_that_takes_the_truth_out_of_its_kwargs_is_the_task(tmp_path, taken):
    file = tmp_path / "rewards.py"
    file.write_text(
        "def tidy(completions, **kwargs):\n    return [float('answer' in c) for c in completions]\n\n"
        f"def right(completions, **kwargs):\n    truths = {taken}\n"
        "    return [float(c == t) for c, t in zip(completions, truths)]\n\nreward_funcs = [tidy, right]\n"
    )
    rollouts = rk.load_rollouts(
        [{"prompt": "2+2?", "completion": "4", "answer": "4"}] * 4
    )
    assert reward_named(f"{file}:reward_funcs", rollouts).task == ("right",)


@pytest.mark.parametrize("weight", [0.5, -0.5])
def test_a_component_that_its_gate_tells_apart_among_siblings_is_not_called_constant(
    weight,
):
    flags = np.random.default_rng(0).integers(0, 2, 160).tolist()
    good = rk.Component("good", lambda worth: worth, primary=True)
    gate = rk.gate("open", at_least=1)
    bonus = rk.Component("bonus", lambda completion: 1.0, weight=weight, gate=gate)
    reward = rk.Reward("r", components=[good, bonus])
    for opened, expected in ((flags, set()), ([1] * 160, {"constant"})):
        rows = []
        for n, flag in enumerate(opened):
            row = {"prompt_id": n // 8, "completion": "x" * (n % 7)}
            rows.append({**row, "open": flag, "worth": n % 3 / 2})
        findings = rk.diagnose(rk.score(reward, rows)).findings
        codes = {item.code for item in findings if item.component == "bonus"}
        assert codes & {"constant", "dead"} == expected


@pytest.mark.parametrize(
    ("truth", "wrong", "right"),
    [
        ("42", "Answer: 41", "Answer: 42"),
        ("Action: maps\nInput: Rome", "Action: maps\nInput: Oslo", "So\n{}"),
    ],
)
def test_a_task_that_pays_nobody_counts_who_states_the_truth(truth, wrong, right):
    reward = rk.Reward("r", components=[rk.Component("right", lambda completion: 0.0)])
    for stated, said in ((0, "to any advantage."), (7, "7 of 80 completions state")):
        rows = []
        for n in range(80):
            text = right.format(truth) if n < stated else wrong
            row = {"prompt_id": n // 8, "completion": text, "ground_truth": truth}
            rows.append(row)
        (item,) = rk.diagnose(rk.score(reward, rows)).findings
        assert (item.code, said in item.sentence) == ("constant", True)
        assert ("rk.explain" in item.advice) == bool(stated)


@pytest.mark.parametrize("calls", [("look(1)", "look(2)"), ("look(1)", "look(1)")])
def test_conversations_are_the_same_text_where_all_of_their_turns_are(calls):
    rows = []
    for number in range(40):
        for call in calls:
            turns = [{"role": "assistant", "content": call}]
            turns.append({"role": "assistant", "content": "Done."})
            rows.append(
                {
                    "prompt_id": number,
                    "completion": "Done.",
                    "messages": turns,
                    "score": float(number % 3 == 0 and call == "look(1)"),
                }
            )
    rollouts = rk.load_rollouts(rows)
    scores = rk.score(rk.recorded(rollouts), rollouts)
    is_told = bool(rk.diagnose(scores)["collapsed_outputs"])
    assert is_told == (calls[0] == calls[1])
