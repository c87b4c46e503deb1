"""Two scored tables side by side: every figure against hand arithmetic, counting of pairs, or scipy."""

import json
from dataclasses import replace

import numpy as np
import pytest
from planted.tables import base, outcomes, rewarded, scores_of
from scipy.stats import kendalltau

import rewardkit as rk
from rewardkit.analysis.comparison.before_after import REWARD_MOVES
from rewardkit.analysis.comparison.compare import compare
from rewardkit.analysis.comparison.definition_changes import definition_changes
from rewardkit.plain import to_json

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("short_rehearsals")]

NAN = float("nan")


def pair_of(a, b, **options):
    """What differs between two scored tables."""
    (only,) = compare(a, b, **options).pairs
    return only


def pair(a, b, groups, **options):
    return pair_of(rewarded(a, groups), rewarded(b, groups), **options)


def picked(figure, *names):
    return tuple(figure[name] for name in names)


@pytest.mark.parametrize(
    ("size", "levels", "near"),
    [(64, 64, 1e-12), (64, 5, 1e-12), (2, 2, 1e-12), (2000, 2000, 0.02)],
    ids=["no ties", "many ties", "a pair", "a large group, of which some pairs count"],
)
def test_tau_b_of_one_group_equals_scipys(size, levels, near):
    generator = np.random.default_rng(size + levels)
    a, b = (generator.permutation(size) * levels // size * 1.0 for _ in "ab")
    found = pair(a, a + 0.5 * b, np.zeros(size, int)).ranks
    wanted = kendalltau(a, a + 0.5 * b).statistic
    assert found["value"] == pytest.approx(wanted, abs=near)
    assert size > 64 or found["n"] == size * (size - 1) // 2


PAIRS, THIRDS = [0, 0, 1, 1], [0, 0, 1, 1, 2, 2]
BY_HAND = {
    # group 0: 3 pairs, 2 concordant and 1 discordant; group 1: three tied in B alone and three in both, and a
    # row that is not judged in B; group 2: no pair
    "tau is pooled over the pairs of all groups": (
        [1, 2, 3, 0, 1, 1, 1, 5, 9], [1, 3, 2, 4, 4, 4, 4, NAN, 0], [0, 0, 0, 1, 1, 1, 1, 1, 2],
        "ranks", {"value": 1 / 18**0.5, "n": 9}),
    "the last digit is a tie": (
        [0.3, 0.1 + 0.2, 1], [0, 1, 2], [0] * 3, "ranks", {"value": 2 / np.sqrt(6), "n": 3}),
    "rewards": (
        [0, 1, 2, NAN, 1, NAN, 3], [1, 0.5, 2, 1, NAN, NAN, 7], [0, 0, 0, 1, 1, 1, 2], "rewards",
        {"up": 2, "down": 1, "equal": 1, "newly_judged": 1, "no_longer_judged": 1, "judged_in_neither": 1,
         "n": 4, "value": 4.5 / 4, "mean_a": 1.5, "mean_b": 10.5 / 4}),
    # A: - + | 0 0 | - +      B: + - | - + | 0 0
    "signs of advantages": (
        [0, 1, 5, 5, 0, 2], [1, 0, 0, 1, 3, 3], THIRDS, "advantages",
        {"n": 6, "flipped": 2, "from_zero": 2, "to_zero": 2, "changed": 6, "value": 2 / 6}),
    "groups: lost, gained, dead in both, live in both, one with a single judged row in B": (
        [0, 1, 1, 1, 0, 0, 0, 1, 0, 1], [1, 1, 0, 1, 2, 2, 3, 4, 0, NAN], [*THIRDS, 3, 3, 4, 4], "signal",
        {"n": 4, "lost": 1, "gained": 1, "value": 0, "zero_std_a": 0.5, "zero_std_b": 0.5}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b", "groups", "figure", "expected"), BY_HAND.values(), ids=BY_HAND
)
def test_figures_by_hand(a, b, groups, figure, expected):
    found = getattr(pair(a, b, groups), figure)
    assert {name: found[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ([0, 1, 5, 5, 0, 2], [1, 0, 0, 1, 3, 3], "33 % of the advantages change sign"),
        ([0, 1, 5, 5, 0, 2], [0, 1, 5, 5, 3, 3], "33 % of the advantages become 0"),
    ],
)
def test_the_reason_counts_changes_of_sign_as_the_figures_do(a, b, said):
    found = pair(a, b, THIRDS)
    assert found.reason.startswith(said)


def test_the_interval_of_the_mean_delta_resamples_prompts_as_siblings_move_alike():
    per_prompt = np.random.default_rng(5).normal(size=40)
    groups = np.repeat(np.arange(40), 8)
    sides = (np.zeros(320), per_prompt[groups], groups)
    first, again = (pair(*sides).rewards["interval"] for _ in "ab")
    half = 1.96 * per_prompt.std() / np.sqrt(40)
    assert (first[1] - first[0]) / 2 == pytest.approx(half, rel=0.1)
    assert first == again


def test_the_estimator_is_that_of_the_training_settings():
    # the first two rows: 1 against a mean of 0.95 of the sums; 0.87 - 1.8 * 0.58 < 0 of normalised scores
    scores = scores_of({"a": [1.0, 1, 0, 0], "b": [0.0, 0, 0.1, 0.9]}, np.zeros(4, int))
    other = scores.reweigh({"b": 1.8})
    summed = pair_of(scores, other, training={"scale_rewards": "none"})
    gdpo = {"multi_objective_aggregation": "normalize_then_sum"}
    each = pair_of(scores, other, training=gdpo)
    assert (summed.a.training.name, each.b.training.name) == ("dr_grpo", "gdpo")
    centred = scores.rewards - scores.rewards.mean()
    np.testing.assert_allclose(summed.table["advantage_a"], centred)
    assert (summed.advantages["flipped"], each.advantages["flipped"]) == (0, 2)


def size(completion):
    return len(completion) / 99


def even(completion):
    return len(completion) % 2 == 0


def odd(completion):
    return len(completion) % 2 == 1


NUMBER, FIRST = (
    {"n": rk.extract.number(which="last")},
    {"n": rk.extract.number(which="first")},
)
R = rk.Reward(
    "r", NUMBER, [rk.Component("size", size), rk.Component("even", even, weight=0.5)]
)


def part(name, **changes):
    """The reward with a component changed."""
    return replace(
        R,
        components=[
            replace(c, **changes) if c.name == name else c for c in R.components
        ],
    )


def routed(default=None, **rewards):
    return rk.Route("data_source", rewards, default, name="routed")


TIDY = rk.Component("tidy", rk.measure.length(full_until=9, zero_from=20), weight=0.1)
ONE_MORE, GATE = (
    replace(R, components=[*R.components, TIDY]),
    rk.gate("size", at_least=0.5),
)
CHANGES = {
    "[y] weight of 'size' changed: 1.0 -> 3.0": (
        routed(x=R, y=R),
        routed(x=R, y=part("size", weight=3.0)),
    ),
    "[x] reward added: 'r'; name changed: 'r' -> 'routed'; route added: 'data_source'": (
        R,
        routed(R, x=R),
    ),
    "name changed: 's' -> 'r'": (replace(R, name="s"), R),
    "weight of 'size' changed: 1.0 -> 2.0": (R, part("size", weight=2.0)),
    "gate of 'even' added: \"gate('size', at_least=0.5)\"": (
        R,
        part("even", gate=GATE),
    ),
    "transform added: 'rank()'": (R, replace(R, transform=rk.weigh.rank())),
    "field 'n' changed: 'number()' -> \"number(which='first')\"": (
        R,
        replace(R, fields=FIRST),
    ),
    "component 'tidy' added: length(full_until=9, zero_from=20)": (R, ONE_MORE),
    "function of 'even' changed: 'even' -> 'size'": (R, part("even", function=size)),
    "order changed: ['size', 'even'] -> ['even', 'size']": (
        R,
        replace(R, components=R.components[::-1]),
    ),
}


@pytest.mark.parametrize("expected", CHANGES)
def test_a_change_of_the_definition_is_said_once(expected):
    a, b = (reward.record() for reward in CHANGES[expected])
    assert "; ".join(sorted(map(str, definition_changes(a, b)))) == expected
    silent = expected.startswith("name")
    assert (
        a["fingerprints"]["reward"] == b["fingerprints"]["reward"]
    ) == silent  # each other change pays


def rollouts(ids, *, prompt="p", text="c{}"):
    return [
        {"rollout_id": name, "prompt_id": prompt, "completion": text.format(name)}
        for name in ids
    ]


LENGTH = rk.Reward(
    "length",
    components=[rk.Component("n", lambda completion: len(completion), range=None)],
)


def lengths(a, b):
    return pair_of(rk.score(LENGTH, a), rk.score(LENGTH, b))


def test_rows_of_one_side_alone_are_counted_and_named():
    found = lengths(rollouts([1, "b", 2.5, "d"]), rollouts(["d", "x", 1]))
    assert found.table["rollout_id"].tolist() == [1, "d"]
    counts = {"matched": 2, "only_a": 2, "only_a_ids": ["b", 2.5], "only_b": 1}
    counts |= {"only_b_ids": ["x"], "other_completions": 0}
    assert counts.items() <= found.matching.items()
    assert found.notes == (
        "rollouts that are left out, as only one side has them: 2 of A alone (such as "
        "'b', 2.5) and 1 of B alone (such as 'x')",
        "all compared rollouts are of one prompt, so there are no intervals",
    )


@pytest.mark.parametrize(
    ("rows", "cut"),
    [(960, 0), (123, 3)],
    ids=["whole groups", "a group of which one side has three rows"],
)
def test_one_definition_on_a_log_and_on_its_first_rows_is_no_difference(
    gallery, rows, cut
):
    flawed, mended = (
        (whole, rk.score(whole.reward, whole.rollouts.select(range(rows))))
        for whole in gallery
    )
    for sides in (flawed, mended[::-1]):
        found = compare(*sides)
        assert found.verdict == "no difference", found.reason
        assert repr(found).endswith("  Next: nothing; they train alike")
        a, b = found.figures
        assert a["task_signal"] is not None
        assert {**a, "marks": b["marks"]} == b
        assert set(b["marks"].values()) == {"within noise", "not known"}
        versions = found.record()["versions"]
        assert [side["rows"] for side in versions] == [*map(len, sides)]
        matching = found.pairs[0].matching
        assert picked(matching, "matched", "incomplete") == (rows - cut, cut)


def test_of_three_versions_the_rows_of_all_are_compared():
    a, b, c = (rollouts(ids, prompt=None) for ids in ("wxyz", "vwxy", "uwxz"))
    found = compare(*(rk.score(LENGTH, rows) for rows in (a, b, c)))
    for pair in found.all_pairs.values():
        assert pair.table["rollout_id"].tolist() == ["w", "x"]
    assert found.pairs[0].matching["incomplete"] == 1
    apart = [rollouts(ids) for ids in ("wx", "xy", "wy")]
    with pytest.raises(rk.InputError, match="no rollout_id is in all of A, B, C; comp"):
        compare(*(rk.score(LENGTH, rows) for rows in apart))


def test_another_completion_under_the_same_id_is_a_warning_and_is_compared():
    a, b = rollouts(range(9)), rollouts(range(9), text="other {}")
    found = lengths(a, [*a[:2], *b[2:]])
    assert found.matching["other_completions"] == found.rewards["up"] == 7
    assert found.notes[0].startswith(
        "rollouts with another completion under the same rollout_id: 7 (such as"
    )


def log(name, *, of="prompt", completion="{} {}", **more):
    return [
        {of: f"{name}{row // 4}", "completion": completion.format(name, row), **more}
        for row in range(100)
    ]


def mixed(same):
    """Rows of another log under the same ids, of which so many have the completion of `log("a")`."""
    return [
        {**row, "completion": f"{'a' if at < same else 'b'} {at}"}
        for at, row in enumerate(log("b"))
    ]


ONE = rollouts([1])
UNUSABLE = {
    "other ids": (rollouts(["a"]), rollouts(["b"]),
                  r"no rollout_id in common \(A, of memory: 'a' ..., B, of memory: 'b'"),
    "another log by prompt": (log("a"), log("b"),
                              "of other rollouts: .* 100 % have another prompt, and 0 % the same completion"),
    "a few alike do not make it the same": (log("a"), mixed(5), "100 % .* and 5.0 % the same completion"),
    "an id stands twice": (ONE, rk.load_rollouts(ONE).select([0, 0]), "rollout_id 1 stands twice in B"),
}  # fmt: skip


@pytest.mark.parametrize(("a", "b", "said"), UNUSABLE.values(), ids=UNUSABLE)
def test_rows_that_cannot_be_matched_are_one_clear_error(a, b, said):
    with pytest.raises(rk.InputError, match=said):
        lengths(a, b)


TURNED = (
    ("rewards", "up", "down"),
    ("advantages", "to_zero", "from_zero"),
    ("signal", "lost", "gained"),
)


def test_neither_the_order_of_the_rows_nor_that_of_the_sides_matters():
    generator = np.random.default_rng(8)
    values, groups = outcomes(generator, 40, 6, 0.4, 0.3)
    a = rewarded(values, groups)
    b = rewarded(values + generator.normal(size=len(values)), groups)
    turned = rk.score(b.reward, b.rollouts.select(generator.permutation(len(values))))
    found, again, back = pair_of(a, b), pair_of(a, turned), pair_of(b, a)
    for name in ("rewards", "advantages", "ranks", "signal", "matching"):
        assert getattr(found, name) == getattr(again, name), name
    assert found.ranks["interval"] == pytest.approx(back.ranks["interval"])
    assert found.rewards["value"] == pytest.approx(-back.rewards["value"])
    for name, one, other in TURNED:
        assert getattr(found, name)[one] == getattr(back, name)[other]
    new, gone = found.findings.new, back.findings.gone
    assert {item.code for item in new} == {item.code for item in gone}


def test_only_siblings_on_both_sides_are_compared_with_each_other():
    rows = [{"rollout_id": row, "prompt_id": f"p{row // 4}", "step": row % 2, "completion": "c" * row}
            for row in range(8)]  # fmt: skip
    found = lengths(rk.load_rollouts(rows, group="prompt_id"), rk.load_rollouts(rows))
    assert found.ranks["n"] == 4  # two pairs a prompt, of six
    assert picked(found.matching, "siblings_in_a_only", "siblings_in_b_only") == (8, 0)
    assert (
        "the groups are not the same; ranks and groups are compared among siblings of both"
        in found.notes
    )


CASES = rk.load_cases(
    [
        {"name": "both", "completion": "ab", "reward": [0, 9]},
        {"name": "only size", "completion": "abc", "scores": {"size": [0, 1]}},
        {"name": "even pays", "completion": "abcd", "reward": [0.5, 1.0]},
        {"name": "odd pays", "completion": "abc", "reward": [0.5, 1.0]},
        {"name": "neither", "completion": "abc", "reward": 7},
    ]
)


def checked(a, b, cases=CASES):
    rows = rollouts(["a", "bb"])
    return compare(rk.score(a, rows), rk.score(b, rows), cases=cases)


def test_cases_that_are_gained_and_lost_are_named():
    found = checked(R, part("even", function=odd))
    (both,) = found.pairs
    assert (both.cases["gained"], both.cases["lost"]) == (["odd pays"], ["even pays"])
    assert both.cases["a"] == both.cases["b"] == {"passed": 3, "failed": 2}
    assert (found.worst_new, found.verdict) == ("high", "not decided")
    assert found.reason == (
        "for B: 1 case gained ('odd pays'); against it: 1 case lost ('even pays')"
    )
    assert "Next: mend the cases that B loses" in repr(found)


def test_a_reward_from_a_record_cannot_run_cases_and_the_record_says_so(tmp_path):
    scores = rk.score(R, rollouts(["a", "bb"]))
    loaded = rk.load_scores(scores.save(tmp_path / "scores"))
    found = compare(loaded, scores, cases=CASES)
    why = "the reward of A was read from a run record and cannot be run"
    told = {"compared": 0, "a": None, "b": {"passed": 3, "failed": 2}, "reason": why}
    assert told.items() <= found.pairs[0].cases.items()
    assert f"Cases were not compared: {why}" in repr(found)


def two(tidy):
    parts, groups = base(np.random.default_rng(7), 100, 8)
    return scores_of({**parts, "tidy": tidy(groups)}, groups, weights={"tidy": 0.1})


def varied(groups):
    return np.random.default_rng(500).beta(3, 2, size=len(groups))


def missing(share):
    """Abstentions warn from 1 % of the rows on, and are high from 20 %."""
    return lambda groups: np.where(
        np.random.default_rng(2).random(len(groups)) < share, NAN, varied(groups)
    )


def test_findings_are_new_gone_or_more_severe():
    flat, free = two(lambda groups: np.full(len(groups), 0.7)), two(varied)
    there, back = pair_of(free, flat), pair_of(flat, free)
    assert "Findings: 1 new" in repr(there)
    assert "Findings: 1 gone or less severe" in repr(back)
    assert (there.findings.gone, back.findings.new) == ((), ())
    for item in (*there.findings.new, *back.findings.gone):
        named = (item.code, item.component, item.severity)
        assert named == ("constant", "tidy", "warn")
    tiny = pair_of(free, two(missing(0.005)))
    assert tiny.findings.lines == ["Findings: 1 new (1 for information)"]
    few, many = two(missing(0.1)), two(missing(0.4))
    worse, better = pair_of(few, many), pair_of(many, few)
    graded = [item for item in worse.findings.graded if item[0].code == "abstentions"]
    assert [[item.severity for item in sides] for sides in graded] == [["warn", "high"]]
    assert "(was warn)" in repr(worse)
    worst = [item.worst_new for item in (there, back, worse, better)]
    assert worst == ["warn", None, "high", None]
    assert worse.grounds[-1].what == "findings"
    assert (worse.verdict, better.verdict) == ("worse", "better")


@pytest.fixture
def gallery(flawed_scores, good_scores):
    return flawed_scores, good_scores


MIXED = rewarded([0, 1, 0.5, 0.1], [0, 0, 1, 1])
INFINITE = replace(MIXED, table=MIXED.table.assign(reward=[0, np.inf, 0.5, 0.1]))
BAD = {
    "one group": ([1, 0, 1], [0, 0, 1], [0, 0, 0], "of one prompt, so there are no intervals"),
    "constant on both sides": ([1] * 4, [2] * 4, [0, 0, 1, 1], "all pairs of siblings are tied in A and B"),
    "nothing judged in A": ([NAN] * 4, [0, 1, 2, 3], [0, 0, 1, 1], "no row is judged on both sides"),
    "infinite": (MIXED, INFINITE, None, "with an infinite reward, which counts as not judged: 1"),
}  # fmt: skip


@pytest.mark.parametrize(("a", "b", "groups", "said"), BAD.values(), ids=BAD)
def test_what_cannot_be_computed_has_a_reason_and_the_record_is_plain(
    a, b, groups, said
):
    a, b = (side if groups is None else rewarded(side, groups) for side in (a, b))
    before = [scores.table.copy(deep=True) for scores in (a, b)]
    found = pair_of(a, b)
    for scores, table in zip((a, b), before, strict=True):
        assert scores.table.equals(table)
    record = found.record()
    assert said in json.dumps(to_json(record), allow_nan=False)
    assert "nan" not in repr(found)
    for key in ("rewards", "advantage_sign_changes", "rank_agreement", "group_signal"):
        assert np.isnan(record[key]["value"]) == bool(record[key]["reason"]), key
    moved = sum(picked(found.rewards, *REWARD_MOVES))
    assert moved == len(found.table) == found.matching["matched"]


def test_scores_against_themselves_are_no_difference(gallery):
    cases = [case for case in rk.load_cases("gallery:arithmetic") if not case.scores]
    for scores in gallery:
        found = compare(scores, scores, cases=cases)
        assert (found.verdict, found.best) == ("no difference", None)
        assert found.worst_new is None
        (both,) = found.pairs
        assert (both.changed, both.changes, both.grounds) == (0, (), ())
        findings = both.findings
        assert (findings.new, findings.gone, findings.graded) == ((), (), ())
        assert both.cases["lost"] == []
        assert (both.signal["value"], both.advantages["changed"]) == (0, 0)
        assert both.ranks["value"] == pytest.approx(1)
        of_a, of_b = (side.outlook for side in found.sides)
        assert of_a == of_b and of_a.task is not None
        assert set(both.marks.values()) == {"within noise", "not known"}, both.marks
        assert both.marks["outlook"] == both.marks["auc"] == "within noise"
        assert repr(found).startswith("No difference: no advantage changes its sign")
        assert repr(found).endswith("  Next: nothing; they train alike")


def test_what_is_printed_says_which_to_train_on_and_the_page_has_what_was_left_out(
    gallery,
):
    found = compare(*gallery, names=["flawed", "mended"], cases="gallery:arithmetic")
    assert (found.verdict, found.best.name) == ("train on mended", "mended")
    title, *lines = repr(found).splitlines()
    assert title.startswith("Train on mended: better than flawed: 62 cases gained (")
    assert len(lines) <= 40
    table = {line.split("  ")[2]: line for line in lines if line.startswith("    ")}
    assert "88 of 88 (better)" in table["cases"]
    assert f"rises, 0.17 to {found.best.outlook.end:.2f}" in table["rehearsed training"]
    shown = found._repr_html_()
    for change in found.pairs[0].changes:
        assert str(change).partition(": ")[0].replace("'", "&#x27;") in shown
    assert "8 findings gone or less severe" in shown


def test_a_route_is_compared_over_all_its_parts():
    scores = rk.score(
        rk.load_reward("gallery:mixed"), rk.load_rollouts("gallery:mixed")
    )
    found = pair_of(scores, scores.reweigh({"keys": 3.0}))
    assert not np.isnan(found.table["advantage_a"]).any()
    assert [str(item) for item in found.changes] == [
        "[people-json] weight of 'keys' changed: 0.5 -> 3.0"
    ]
    assert (
        found.ranks["n"] == 80 * 28
    )  # 80 groups of 8: those of one part are not those of another
    moved = found.table["delta"].to_numpy() != 0
    assert set(scores.table["data_source"][moved]) == {"people-json"}
