"""Two scored tables side by side: every figure against hand arithmetic, counting of pairs, or scipy."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted.tables import base, outcomes
from scipy.stats import kendalltau
from score_tables import rewarded, scores_of

import rewardkit as rk
from rewardkit.analysis.compare import compare
from rewardkit.analysis.comparison.definition_changes import definition_changes
from rewardkit.analysis.comparison.figures import rank_pairs
from rewardkit.analysis.forecast import LIMITS
from rewardkit.analysis.statistics.selection import at_equal_kl
from rewardkit.cli.output import plain

NAN = float("nan")


def pair(a, b, groups, **options):
    return compare(rewarded(a, groups), rewarded(b, groups), **options)


def picked(figure, *names):
    return tuple(figure[name] for name in names)


# ranks


KINDS = ("n", "concordant", "discordant", "tied_in_a_only", "tied_in_b_only", "tied_in_both")


def counted_pairs(a, b, groups):
    """The pairs of each group, one by one."""
    found = {kind: np.zeros(max(groups) + 1) for kind in KINDS}
    for i, j in combinations(range(len(a)), 2):
        if groups[i] == groups[j] and not np.isnan([a[i], a[j], b[i], b[j]]).any():
            x, y = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
            tied = ("", "_b_only", "_a_only", "_both")[2 * (x == 0) + (y == 0)]
            kind = f"tied_in{tied}" if tied else "concordant" if x == y else "discordant"
            found[kind][groups[i]] += 1
            found["n"][groups[i]] += 1
    return found


VALUES = st.sampled_from([0.0, 0.1, 0.5, 1.0, 7.0, -3.0, NAN])


@given(st.lists(st.tuples(VALUES, VALUES, st.integers(0, 4)), min_size=1, max_size=40))
def test_pairs_of_ranks_equal_counting_them(rows):
    a, b, groups = (np.array(column) for column in zip(*rows, strict=True))
    found, right = rank_pairs(a, b, groups), counted_pairs(a, b, groups)
    for kind in KINDS:
        np.testing.assert_array_equal(found[kind], right[kind])


@pytest.mark.parametrize(
    ("size", "levels", "near"),
    [(64, 64, 1e-12), (64, 5, 1e-12), (2, 2, 1e-12), (2000, 2000, 0.02)],
    ids=["without ties", "with many ties", "a pair", "a large group, of which some pairs are looked at"],
)
def test_tau_b_of_one_group_equals_scipys(size, levels, near):
    generator = np.random.default_rng(size + levels)
    a, b = (generator.permutation(size) * levels // size * 1.0 for _ in "ab")
    found = pair(a, a + 0.5 * b, np.zeros(size, int)).ranks
    assert found["value"] == pytest.approx(kendalltau(a, a + 0.5 * b).statistic, abs=near)
    assert size > 64 or found["n"] == size * (size - 1) // 2


def ranks(value, *counts):
    return "ranks", {"value": value} | dict(zip(KINDS, counts, strict=True))


PAIRS, THIRDS = [0, 0, 1, 1], [0, 0, 1, 1, 2, 2]
BY_HAND = {
    # group 0: 3 pairs, 2 concordant and 1 discordant; group 1: 1 pair, tied in B alone; group 2: no pair
    "tau is pooled over the pairs of all groups": (
        [1, 2, 3, 0, 1, 9], [1, 3, 2, 4, 4, 0], [0, 0, 0, 1, 1, 2], *ranks(1 / 12**0.5, 4, 2, 1, 0, 1, 0)),
    "the reverse": ([1, 2, 3, 4], [0.3, 0.2, 0.1, 0.0], [0] * 4, *ranks(-1, 6, 0, 6, 0, 0, 0)),
    "the order alone": ([1, 2, 3, 4], [-5, 0, 0.1, 1e6], [0] * 4, *ranks(1, 6, 6, 0, 0, 0, 0)),
    "the last digit is a tie": (
        [0.3, 0.1 + 0.2, 1], [0, 1, 2], [0] * 3, *ranks(2 / np.sqrt(6), 3, 2, 0, 1, 0, 0)),
    "siblings of other prompts are never compared": (
        [0, 1, 10, 11], [10, 11, 0, 1], PAIRS, *ranks(1, 2, 2, 0, 0, 0, 0)),
    "rewards": (
        [0, 1, 2, NAN, 1, NAN, 3], [1, 0.5, 2, 1, NAN, NAN, 7], [0, 0, 0, 1, 1, 1, 2], "rewards",
        {"up": 2, "down": 1, "equal": 1, "newly_judged": 1, "no_longer_judged": 1, "judged_in_neither": 1,
         "n": 4, "value": 4.5 / 4, "mean_a": 1.5, "mean_b": 10.5 / 4}),
    "as near as those of a trainer in float32": (
        [0.1, 0.7, 1234.567], np.float32([0.1, 0.7, 1234.567]).astype(float), [0] * 3, "rewards",
        {"equal": 3, "up": 0, "down": 0}),
    # A: - + | 0 0 | - +      B: + - | - + | 0 0
    "signs of advantages": (
        [0, 1, 5, 5, 0, 2], [1, 0, 0, 1, 3, 3], THIRDS, "advantages",
        {"n": 6, "flipped": 2, "from_zero": 2, "to_zero": 2, "changed": 6, "value": 2 / 6}),
    "rewards that are no exact binary numbers have no sign where they are tied": (
        [0.1] * 7, [0.7] * 7, [0] * 7, "advantages", {"n": 7, "changed": 0}),
    "without the best the second best is above the mean": (
        [0, 1, 9], [0, 1, NAN], [0] * 3, "advantages", {"flipped": 1, "n": 2, "missing_b": 1}),
    "groups: lost, gained, dead in both, live in both, one with a single judged row in B": (
        [0, 1, 1, 1, 0, 0, 0, 1, 0, 1], [1, 1, 0, 1, 2, 2, 3, 4, 0, NAN], [*THIRDS, 3, 3, 4, 4], "signal",
        {"n": 4, "lost": 1, "gained": 1, "value": 0, "zero_std_a": 0.5, "zero_std_b": 0.5, "all_a": 2 / 5,
         "all_b": 2 / 4}),
}  # fmt: skip


@pytest.mark.parametrize(("a", "b", "groups", "figure", "expected"), BY_HAND.values(), ids=list(BY_HAND))
def test_figures_by_hand(a, b, groups, figure, expected):
    found = getattr(pair(a, b, groups), figure)
    assert {name: found[name] for name in expected} == pytest.approx(expected)


# rewards


@pytest.mark.parametrize(("sign", "kind"), [(1, "largest_up"), (-1, "largest_down")])
def test_the_largest_to_read_are_of_different_prompts(sign, kind):
    # prompt 0 moves most, row after row; one of it is shown, and then others
    delta = sign * np.array([9.5, 8, 7, 6, 1, 2, 3, 4])
    found = pair(np.zeros(8), delta, [0, 0, 0, 0, 1, 1, 2, 2]).rewards
    assert found[kind][0] == {"rollout_id": 1, "a": 0.0, "b": 9.5 * sign, "delta": 9.5 * sign}
    assert [sign * row["delta"] for row in found[kind]] == [9.5, 4, 2]
    assert sorted(picked(found["quantiles"], "0", "0.5", "1"), key=abs) == [sign, 5 * sign, 9.5 * sign]


def test_the_interval_of_the_mean_delta_resamples_prompts_and_not_rows():
    # within a prompt all siblings move alike: the mean of 40 independent prompts has this standard error
    per_prompt, groups = np.random.default_rng(5).normal(size=40), np.repeat(np.arange(40), 8)
    first, again = (pair(np.zeros(320), per_prompt[groups], groups).rewards["interval"] for _ in "ab")
    assert (first[1] - first[0]) / 2 == pytest.approx(1.96 * per_prompt.std() / np.sqrt(40), rel=0.1)
    assert first == again


# advantages


def test_the_estimator_is_that_of_the_training_settings():
    # the first two rows: 1 against a mean of 0.95 of the sums; 0.87 - 1.8 * 0.58 < 0 of normalised scores
    scores = scores_of({"a": [1.0, 1, 0, 0], "b": [0.0, 0, 0.1, 0.9]}, np.zeros(4, int))
    other = scores.reweigh({"b": 1.8})
    summed = compare(scores, other, training={"scale_rewards": "none"})
    each = compare(scores, other, training={"multi_objective_aggregation": "normalize_then_sum"})
    for found, training in ((summed, "dr_grpo"), (each, "gdpo")):
        assert found.a.training.name == training
        for side, name in ((found.a, "advantage_a"), (found.b, "advantage_b")):
            np.testing.assert_array_equal(found.table[name], side.views[0].advantages)
    np.testing.assert_allclose(summed.table["advantage_a"], scores.rewards - scores.rewards.mean())
    assert (summed.advantages["flipped"], each.advantages["flipped"]) == (0, 2)


# definitions


def size(completion):
    return len(completion) / 99


def even(completion):
    return len(completion) % 2 == 0


def odd(completion):
    return len(completion) % 2 == 1


NUMBER, FIRST = {"n": rk.extract.number(which="last")}, {"n": rk.extract.number(which="first")}
R = rk.Reward("r", NUMBER, [rk.Component("size", size), rk.Component("even", even, weight=0.5)])


def part(name, **changes):
    """The reward with a component changed."""
    return replace(R, components=[replace(c, **changes) if c.name == name else c for c in R.components])


TIDY = rk.Component("tidy", rk.measure.length(full_until=9, zero_from=20), weight=0.1)
ONE_MORE, GATE = replace(R, components=[*R.components, TIDY]), rk.gate("size", at_least=0.5)
CHANGES = {
    "": (R, R),
    "name changed: 's' -> 'r'": (replace(R, name="s"), R),
    "weight of 'size' changed: 1.0 -> 2.0": (R, part("size", weight=2.0)),
    "why of 'size' changed: '' -> 'so'": (R, part("size", why="so")),
    "gate of 'even' added: \"gate('size', at_least=0.5)\"": (R, part("even", gate=GATE)),
    "gate of 'even' removed: \"gate('size', at_least=0.5)\"": (part("even", gate=GATE), R),
    "gate added: \"gate('size', at_least=0.5)\"": (R, replace(R, gate=GATE)),
    "aggregation changed: 'weighted_sum' -> 'weighted_mean'": (R, replace(R, aggregation="weighted_mean")),
    "on_missing changed: 'nan' -> 'zero'": (R, replace(R, on_missing="zero")),
    "transform added: 'rank()'": (R, replace(R, transform=rk.weigh.rank())),
    "field 'n' removed: 'number()'": (R, replace(R, fields={})),
    "field 'n' changed: 'number()' -> \"number(which='first')\"": (R, replace(R, fields=FIRST)),
    "component 'tidy' added: length(full_until=9, zero_from=20)": (R, ONE_MORE),
    "component 'tidy' removed: length(full_until=9, zero_from=20)": (ONE_MORE, R),
    "function of 'even' changed: 'even' -> 'size'": (R, part("even", function=size)),
    "range of 'size' removed: [0.0, 1.0]": (R, part("size", range=None)),
    "primary of 'even' changed: False -> True": (R, part("even", primary=True)),
    "order changed: ['size', 'even'] -> ['even', 'size']": (R, replace(R, components=R.components[::-1])),
}


@pytest.mark.parametrize("expected", CHANGES)
def test_a_change_of_the_definition_is_said_once(expected):
    a, b = (reward.record() for reward in CHANGES[expected])
    assert "; ".join(str(item) for item in definition_changes(a, b)) == expected
    silent = not expected or expected.startswith(("name", "why", "primary"))
    assert (a["fingerprints"]["reward"] == b["fingerprints"]["reward"]) == silent  # each other change pays


def test_the_source_of_a_function_is_part_of_the_definition(tmp_path):
    rewards = []
    for value in (1, 2):
        (tmp_path / "mine.py").write_text(f"def mine(completion):\n    return len(completion) / {value}\n")
        rewards.append(rk.load_reward(f"{tmp_path / 'mine.py'}:mine").record())
    (change,) = definition_changes(*rewards)
    assert (str(change), change.record()["change"]) == ("source 'mine.py' changed", "changed")


def routed(**rewards):
    default = rewards.pop("default", None)
    return rk.Route("data_source", rewards, default, name="routed")


TWO, MORE = routed(x=R, y=R), part("size", weight=3.0)
BECOMES = ["[x] reward added: 'r'", "name changed: 'r' -> 'routed'", "route added: 'data_source'"]
ROUTES = {
    "in one part": (TWO, routed(x=R, y=MORE), ["[y] weight of 'size' changed: 1.0 -> 3.0"]),
    "a part less": (TWO, routed(x=R), ["[y] reward removed: 'r'"]),
    "a default": (TWO, routed(x=R, y=R, default=MORE), ["[default] reward added: 'r'"]),
    "a reward becomes the default of a route": (R, routed(x=R, default=R), BECOMES),
}


@pytest.mark.parametrize(("a", "b", "expected"), ROUTES.values(), ids=list(ROUTES))
def test_a_route_is_compared_part_by_part(a, b, expected):
    assert sorted(map(str, definition_changes(a.record(), b.record()))) == expected


def test_what_else_was_not_the_same_when_scores_were_made_is_said():
    reward, rows = part("even", gate=GATE), [{"completion": "abc"}] * 3
    found = compare(rk.score(reward, rows), rk.score(reward, rows, ignore_gates=True))
    assert found.run == {"ignore_gates": [False, True]}
    assert "ignore_gates was False for A, True for B" in repr(found)


# rows


def rollouts(ids, *, prompt="p", text="c{}"):
    return [{"rollout_id": name, "prompt_id": prompt, "completion": text.format(name)} for name in ids]


LENGTH = rk.Reward("length", components=[rk.Component("n", lambda completion: len(completion), range=None)])


def lengths(a, b):
    return compare(rk.score(LENGTH, a), rk.score(LENGTH, b))


def test_rows_of_one_side_alone_are_counted_and_named():
    found = lengths(rollouts([1, "b", 2.5, "d"]), rollouts(["d", "x", 1]))
    assert found.table["rollout_id"].tolist() == [1, "d"]
    names = ("matched", "only_a", "only_a_ids", "only_b", "only_b_ids", "other_completions")
    assert picked(found.matching, *names) == (2, 2, ["b", 2.5], 1, ["x"], 0)
    assert "rollouts of A that are not in B: 2 (such as 'b', 2.5)" in found.notes


def test_another_completion_under_the_same_id_is_a_warning_and_is_compared():
    a, b = rollouts(range(9)), rollouts(range(9), text="other {}")
    found = lengths(a, [*a[:2], *b[2:]])
    assert found.matching["other_completions"] == found.rewards["up"] == 7
    assert found.notes[0] == (
        "rollouts with another completion in B under the same rollout_id: 7 (such as 2, 3, 4, 5, 6); they "
        "are compared all the same"
    )
    # and a component of one side does not measure what the other picks; one measure stands once
    assert "n" in lengths(a, a).forecast.figures and "n (A)" not in lengths(a, a).forecast.figures
    assert not {"n", "n (A)", "n (B)"} & set(lengths(a, b).forecast.figures)


def log(name, *, of="prompt", completion="{} {}", **more):
    return [
        {of: f"{name}{row // 4}", "completion": completion.format(name, row), **more} for row in range(100)
    ]


def mixed(same):
    """Rows of another log under the same ids, of which so many have the completion of `log("a")`."""
    return [{**row, "completion": f"{'a' if at < same else 'b'} {at}"} for at, row in enumerate(log("b"))]


ONE = rollouts([1])
UNUSABLE = {
    "numbers and texts": (rollouts([1, 2]), rollouts(["1", "2"]),
                          r"no rollout_id in common \(A: 1, 2 ..., B: '1', '2' ...\)"),
    "other ids": (rollouts(["a"]), rollouts(["b"]), "no rollout_id in common"),
    "another log by prompt": (log("a"), log("b"),
                              "of other rollouts: .* 100 % have another prompt, and 0 % the same completion"),
    "another log by prompt_id": (log("a", of="prompt_id"), log("b", of="prompt_id"), "another prompt_id"),
    "a few alike do not make it the same": (log("a"), mixed(5), "100 % .* and 5.0 % the same completion"),
    "an id stands twice": (ONE, rk.load_rollouts(ONE).select([0, 0]), "rollout_id 1 stands twice in B"),
}  # fmt: skip


@pytest.mark.parametrize(("a", "b", "said"), UNUSABLE.values(), ids=list(UNUSABLE))
def test_rows_that_cannot_be_matched_are_one_clear_error(a, b, said):
    with pytest.raises(rk.InputError, match=said):
        lengths(a, b)


def test_other_prompts_alone_do_not_make_it_another_log():
    assert lengths(log("a"), mixed(100)).matching["matched"] == 100


def test_a_label_that_a_component_equals_is_said_once_of_both_sides():
    scores = rewarded([0, 1] * 60, np.repeat(np.arange(30), 4))
    found = compare(scores, scores, label="given_paid")
    (note,) = [text for text in found.notes if "label" in text]
    assert note.startswith("the label is not used: 'given_paid' ") and "'paid'" in note
    assert f"Note: {note}" in " ".join(repr(found).split())


def test_neither_the_order_of_the_rows_nor_that_of_the_sides_matters():
    generator = np.random.default_rng(8)
    values, groups = outcomes(generator, 40, 6, 0.4, 0.3)
    a, b = rewarded(values, groups), rewarded(values + generator.normal(size=len(values)), groups)
    turned = rk.score(b.reward, b.rollouts.select(generator.permutation(len(values))))
    found, again, back = compare(a, b), compare(a, turned), compare(b, a)
    for name in ("rewards", "advantages", "ranks", "signal", "matching"):
        assert getattr(found, name) == getattr(again, name), name
    assert found.ranks["interval"] == pytest.approx(back.ranks["interval"])
    assert found.rewards["value"] == pytest.approx(-back.rewards["value"])
    turn = {"rewards": ("up", "down"), "advantages": ("to_zero", "from_zero"), "signal": ("lost", "gained")}
    for name, (one, other) in turn.items():
        assert getattr(found, name)[one] == getattr(back, name)[other]
    assert {item.code for item in found.new} == {item.code for item in back.gone}


def test_only_siblings_on_both_sides_are_compared_with_each_other():
    rows = [{"rollout_id": row, "prompt_id": f"p{row // 4}", "step": row % 2, "completion": "c" * row}
            for row in range(8)]  # fmt: skip
    found = lengths(rk.load_rollouts(rows, group="prompt_id"), rk.load_rollouts(rows))
    assert found.ranks["n"] == 4  # two pairs a prompt, of six
    assert picked(found.matching, "siblings_in_a_only", "siblings_in_b_only") == (8, 0)
    assert "the groups are not the same; ranks and groups are compared among siblings of both" in found.notes


# cases

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
    assert (found.cases["gained"], found.cases["lost"]) == (["odd pays"], ["even pays"])
    assert found.cases["a"] == found.cases["b"] == {"passed": 3, "failed": 2}
    assert (found.worst_new, found.verdict) == ("high", "gains and losses")
    assert "1 lost ('even pays')" in repr(found)
    assert repr(found).splitlines()[-1].startswith("  Next: mend the cases that B loses")


def test_what_a_case_expects_of_a_component_that_one_reward_lacks_counts_for_neither():
    alone = rk.Reward("alone", components=[rk.Component("even", even, weight=0.5)])
    cases = rk.load_cases([{"name": "tall", "completion": "ab", "reward": [0, 9], "scores": {"size": 7}},
                           {"name": "only size", "completion": "ab", "scores": {"size": 7}}])  # fmt: skip
    found = checked(R, alone, cases).cases
    assert (found["a"], found["b"]) == ({"passed": 0, "failed": 2}, {"passed": 1, "failed": 0})
    assert (found["compared"], found["gained"], found["lost"]) == (1, [], [])


@pytest.mark.parametrize("reward", [R, routed(x=R)], ids=["a reward", "a route"])
def test_a_reward_from_a_record_cannot_run_cases_and_the_record_says_so(tmp_path, reward):
    cases = [replace(case, columns={**case.columns, "data_source": "x"}) for case in CASES]
    scores = rk.score(reward, [{**row, "data_source": "x"} for row in rollouts(["a", "bb"])])
    found = compare(rk.load_scores(scores.save(tmp_path / "scores")), scores, cases=cases)
    why = "the reward of A was read from a run record and cannot be run"
    assert found.cases == {
        "cases": 5, "compared": 0, "a": None, "b": {"passed": 3, "failed": 2}, "gained": None, "lost": None,
        "reason": why}  # fmt: skip
    assert f"Cases were not compared: {why}" in repr(found)
    assert found.changes == () and found.verdict == "same"


def test_a_case_that_no_reward_can_answer_is_an_error():
    with pytest.raises(rk.CasesError, match="'sise', which reward 'r' does not have"):
        checked(R, R, rk.load_cases([{"completion": "a", "scores": {"sise": 1}}]))


# findings


def two(tidy):
    parts, groups = base(np.random.default_rng(7), 100, 8)
    return scores_of({**parts, "tidy": tidy(groups)}, groups, weights={"tidy": 0.1})


def varied(groups):
    return np.random.default_rng(500).beta(3, 2, size=len(groups))


def flat(groups):
    return np.full(len(groups), 0.7)


def codes(found):
    return {(item.code, item.component, item.severity) for item in found}


def test_findings_that_are_new_and_gone():
    there, back = compare(two(varied), two(flat)), compare(two(flat), two(varied))
    assert "Findings: 1 new" in repr(there) and "Findings: 1 gone or less severe" in repr(back)
    assert codes(there.new) == codes(back.gone) == {("constant", "tidy", "warn")}
    assert codes(there.gone) == codes(back.new) == set()
    assert (there.worst_new, there.verdict) == ("warn", "losses")
    assert (back.worst_new, back.verdict) == (None, "gains")


def test_a_finding_that_became_more_severe_counts_as_new_at_its_severity():
    # abstentions: warn from 1 % of the rows on, high from 20 %
    generator = np.random.default_rng(2)
    few, many = (
        two(lambda groups, share=share: np.where(generator.random(len(groups)) < share, NAN, varied(groups)))
        for share in (0.1, 0.4)
    )
    worse, better = compare(few, many), compare(many, few)
    ((before, after),) = [item for item in worse.graded if item[0].code == "abstentions"]
    assert (before.severity, after.severity) == ("warn", "high")
    assert worse.worst_new == "high" and "losses" in worse.verdict
    assert better.worst_new is None and better.verdict == "gains"
    (item,) = [item for item in worse.record()["findings"]["severity"] if item["code"] == "abstentions"]
    assert (item["before"], item["severity"]) == ("warn", "high")
    assert "(was warn)" in repr(worse)


def test_a_finding_of_a_slice_is_not_new_where_the_other_side_has_it_of_the_whole():
    # "tidy" never varies in A; in B it does in half of the tasks, so that it is constant in the other half
    def scores(tidy):
        correct, groups = outcomes(np.random.default_rng(3), 80, 6, 0.5)
        columns = {"task": np.where(groups < 40, "old", "new")}
        return scores_of({"correct": correct, "tidy": tidy}, groups, weights={"tidy": 0.1}, columns=columns)

    half = np.where(np.arange(480) < 240, 0.7, np.random.default_rng(4).beta(3, 2, size=480))
    found, back = compare(a := scores(np.full(480, 0.7)), b := scores(half)), compare(b, a)
    of_b, gone, new, lost = (
        {(item.code, item.part) for item in items}
        for items in (found.b.findings, found.gone, found.new, back.new)
    )
    assert ("constant", "task=old") in of_b  # or this test is about nothing
    assert ("constant", "") in gone and "constant" not in {code for code, _ in new}
    assert ("constant", "") in lost  # of the whole it is new


def test_one_code_said_of_another_component_beside_it_is_new():
    def scores(copied):
        parts = {"a": varied(np.zeros(400)), "b": np.random.default_rng(1).random(400)}
        return scores_of({**parts, "c": parts[copied]}, np.repeat(np.arange(50), 8))

    found = compare(scores("a"), scores("b"))
    for items, other in ((found.new, "b"), (found.gone, "a")):
        (item,) = [item for item in items if item.code == "redundant"]
        assert (item.component, item.evidence["other"]) == ("c", other)


# what each selects for


@pytest.fixture(scope="module")
def gallery():
    read = rk.load_rollouts("gallery:arithmetic")
    return [rk.score(rk.load_reward(f"gallery:{name}"), read) for name in ("arithmetic.flawed", "arithmetic")]


def test_the_forecast_is_that_of_both_at_equal_kl(gallery):
    found = compare(*gallery, seed=3).forecast
    measures = {f"correct ({name})": side.score("correct") for name, side in zip("AB", gallery, strict=True)}
    views = [
        rk.forecast(replace(side, table=side.table.assign(**measures)), columns=[*measures], seed=3).tilted
        for side in gallery
    ]
    kl, figures = at_equal_kl(*views)
    assert found.kl.tolist() == kl.tolist() and found.figures.keys() == figures.keys()
    for name, right in figures.items():
        np.testing.assert_array_equal(found.figures[name].difference, right.difference)
        np.testing.assert_array_equal(found.figures[name].low, right.low)
    assert found.figures["correct (B)"].low[-1] > 0  # at the same KL the good reward picks more right ones


def test_a_label_is_followed_on_both_sides():
    label, groups = np.tile([0.0, 1.0, 0.0, 0.0], 40), np.repeat(np.arange(40), 4)
    noise = np.random.default_rng(0).random(160)
    a, b = (rewarded(rewards, groups, right=label) for rewards in (noise, label + 0.1 * noise))
    found = compare(a, b, label="right")
    assert found.forecast.figures["label"].difference[-1] > 0.3 and "    label: " in repr(found)


def test_rollouts_of_other_prompts_are_not_compared_at_equal_kl():
    a, b = ([*rollouts(range(at)), *rollouts(range(at, 8), prompt="q")] for at in (4, 2))
    found = lengths(a, b).forecast
    why = "the rollouts in both are not of the same prompts, so nothing is compared at equal KL"
    assert (found.notes, len(found.kl), found.figures) == ((why,), 0, {})


def test_a_reward_that_selects_nothing_is_a_note():
    found = pair([0, 1] * 4, [1, 1] * 4, np.repeat(np.arange(4), 2)).forecast
    assert "B selects nothing among these siblings" in found.notes and not found.last


# what cannot be computed


MIXED = [0, 1, 0.5, 0.1]
FINITE = rewarded(MIXED, [0, 0, 1, 1])
INFINITE = replace(FINITE, table=FINITE.table.assign(reward=[0, np.inf, 0.5, 0.1]))
NO_ROW, NO_ADVANTAGE = "no row is judged on both sides", "no row has an advantage on both sides"
NO_PAIR = "no two siblings are judged on both sides"
TIED = "all pairs of siblings are tied in A and B"
ALONE = "no group has two siblings that are judged on both sides"
BAD = {
    "one row": ([1], [0], [0], {"ranks": NO_PAIR, "signal": ALONE}),
    "one group": ([1, 0, 1], [0, 0, 1], [0, 0, 0], {}),
    "groups of one": ([1, 0, 1], [0, 0, 1], [0, 1, 2], {"ranks": NO_PAIR, "signal": ALONE}),
    "ragged groups": ([1, 0, 1], [0, 0, 1], [0, 0, 1], {"ranks": "all pairs of siblings are tied in B"}),
    "constant on both sides": ([1] * 4, [2] * 4, [0, 0, 1, 1], {"ranks": TIED}),
    "nothing judged in A": ([NAN] * 4, [0, 1, 2, 3], [0, 0, 1, 1], {"rewards": NO_ROW}),
    "nothing judged at all": ([NAN] * 4, [NAN] * 4, [0, 0, 1, 1], {"advantages": NO_ADVANTAGE}),
    "judged where the other is not": ([NAN, NAN, 1, 0], [1, 0, NAN, NAN], [0, 0, 1, 1], {"ranks": NO_PAIR}),
    "infinite": (MIXED, INFINITE, [0, 0, 1, 1], {}),
    "other groups": ([0, 1, 0, 1], rewarded([0, 1, 0, 1], [0, 1, 0, 1]), [0, 0, 1, 1], {"ranks": NO_PAIR}),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("scaling", ["group", "batch", "none"])
def test_what_cannot_be_computed_has_a_reason_and_the_record_is_plain(name, scaling):
    a, b, groups, reasons = BAD[name]
    a, b = (side if isinstance(side, rk.Scores) else rewarded(side, groups) for side in (a, b))
    before = [scores.table.copy(deep=True) for scores in (a, b)]
    found = compare(a, b, training={"scale_rewards": scaling})
    assert all(scores.table.equals(table) for scores, table in zip((a, b), before, strict=True))
    record = found.record()
    json.dumps(plain(record), allow_nan=False)
    for key in ("rewards", "advantage_sign_changes", "rank_agreement", "group_signal"):
        assert np.isnan(record[key]["value"]) == bool(record[key]["reason"]), key
    assert "nan" not in repr(found)
    for figure, reason in reasons.items():
        assert getattr(found, figure)["reason"] == reason
        assert figure == "rewards" or reason in repr(found)  # of rewards the counts are told
    kinds = ("up", "down", "equal", "newly_judged", "no_longer_judged", "judged_in_neither")
    assert sum(picked(found.rewards, *kinds)) == len(found.table) == found.matching["matched"]
    if name == "infinite":
        assert found.rewards["no_longer_judged"] == found.matching["infinite_rewards"] == 1
        assert "rollouts with an infinite reward, which counts as not judged: 1" in found.notes
    if name == "one group":
        assert np.isnan(found.ranks["interval"]).all()
        assert "all compared rollouts are of one prompt, so there are no intervals" in found.notes


# on the bundled data


def test_scores_against_themselves_are_the_same(gallery):
    for scores in gallery:
        cases = [case for case in rk.load_cases("gallery:arithmetic") if not case.scores]
        found = compare(scores, scores, cases=cases)
        assert (found.verdict, found.changed, found.worst_new, found.changes) == ("same", 0, None, ())
        assert (found.new, found.gone, found.graded, found.cases["lost"]) == ((), (), (), [])
        assert (found.signal["value"], found.advantages["changed"]) == (0, 0)
        assert found.ranks["value"] == pytest.approx(1)
        assert all((pair.difference == 0).all() for pair in found.forecast.figures.values())
        assert len(found.forecast.kl) > 1 and "Findings: the same as before" in repr(found)
        assert repr(found).splitlines()[-1].startswith("  Next: nothing; B trains as A does")


def test_the_flawed_reward_of_the_gallery_against_the_good_one(gallery):
    flawed, good = gallery
    found = compare(flawed, good, cases="gallery:arithmetic")
    assert (found.cases["lost"], len(found.cases["gained"])) == ([], 88 - found.cases["a"]["passed"])
    assert {("errors", "correct"), ("redundant", "closed"), ("dominant", "detail")} <= {
        (item.code, item.component) for item in found.gone
    }
    assert found.rewards["newly_judged"] == np.isnan(flawed.rewards).sum()
    # what A says of all rows, B says of some only: that is not new
    assert "saturated" not in {item.code for item in found.new}
    assert found.ranks["interval"][0] < found.ranks["value"] < found.ranks["interval"][1] < 0.6


def test_what_is_printed_is_short_and_the_page_has_what_was_left_out(gallery):
    found = compare(*gallery, cases="gallery:arithmetic")
    title, *lines = repr(found).splitlines()
    assert title.startswith("gains and losses: 'arithmetic-v1' (B) against 'arithmetic-flawed' (A)")
    assert len(lines) < 20 and lines[-1].startswith("  Next: read what is new in B")
    assert sum(LIMITS[0] in line for line in lines) == 1 and found.record()["forecast"]["limits"] == [*LIMITS]
    shown = found._repr_html_()
    for change in found.changes:
        assert str(change).partition(": ")[0].replace("'", "&#x27;") in shown
    assert all(limit in shown for limit in LIMITS) and "7 findings gone or less severe" in shown


def test_two_runs_that_share_some_rollouts_are_compared_on_these(gallery):
    good = gallery[1]
    found = compare(good, rk.score(good.reward, good.rollouts.select(np.arange(400, 1600))))
    assert (found.matching["matched"], found.matching["only_a"], found.changed) == (1200, 400, 0)
    assert found.advantages["changed"] == 0  # whole groups are there, so nothing moves
    assert found.signal["zero_std_a"] == found.signal["zero_std_b"] == found.signal["all_b"]
    assert found.signal["all_a"] != found.signal["all_b"]


def test_a_route_is_compared_over_all_its_parts():
    scores = rk.score(rk.load_reward("gallery:mixed"), rk.load_rollouts("gallery:mixed"))
    found = compare(scores, scores.reweigh({"keys": 3.0}))
    assert not np.isnan(found.table["advantage_a"]).any()
    assert [str(item) for item in found.changes] == ["[people-json] weight of 'keys' changed: 0.5 -> 3.0"]
    assert found.ranks["n"] == 80 * 28  # 80 groups of 8: those of one part are not those of another
    moved = found.table["delta"].to_numpy() != 0
    assert set(scores.table["data_source"][moved]) == {"people-json"}
