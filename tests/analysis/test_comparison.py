"""Two scored tables side by side: every figure against hand arithmetic, counting of pairs, or scipy."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardkit.analysis.agreement import rank_pairs
from rewardkit.analysis.equal_kl import at_equal_kl
from scipy.stats import kendalltau
from score_tables import sampled, scores_of

import rewardkit as rk
from rewardkit.analysis.compare import compare
from rewardkit.analysis.comparison.definition_changes import definition_changes
from rewardkit.analysis.forecast import forecast as rk_forecast
from rewardkit.cli.output import plain

NAN = float("nan")


def of(values, groups, **more):
    """Scores of one component, whose score is the reward, as it is given."""
    rows = [
        {"prompt_id": f"p{group}", "completion": f"c{row}", "given": None if np.isnan(value) else value}
        for row, (value, group) in enumerate(zip(values, groups, strict=True))
    ]
    component = rk.Component("c", lambda given: given, range=None)
    return rk.score(rk.Reward("given", components=[component], **more), rows)


def pair(a, b, groups, **options):
    return compare(of(a, groups), of(b, groups), **options)


# ranks


def counted_pairs(a, b, groups):
    """What tau-b is made of, by counting the pairs one by one."""
    found = np.zeros((5, max(groups) + 1))
    for i, j in combinations(range(len(a)), 2):
        if groups[i] == groups[j] and not np.isnan([a[i], a[j], b[i], b[j]]).any():
            x, y = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
            found[:, groups[i]] += (x * y, x != 0, y != 0, x == y == 0, 1)
    return found


VALUES = st.sampled_from([0.0, 0.1, 0.5, 1.0, 7.0, -3.0, NAN])


@given(st.lists(st.tuples(VALUES, VALUES, st.integers(0, 4)), min_size=1, max_size=40))
def test_pairs_of_ranks_equal_counting_them(rows):
    a, b, groups = (np.array(column) for column in zip(*rows, strict=True))
    np.testing.assert_array_equal(rank_pairs(a, b, groups), counted_pairs(a, b, groups))


@pytest.mark.parametrize(
    ("size", "levels"),
    [
        pytest.param(300, 300, id="a large group without ties"),
        pytest.param(300, 5, id="a large group with many ties"),
        pytest.param(257, 257, id="one more than a power of two"),
        pytest.param(2, 2, id="a pair"),
    ],
)
def test_tau_b_of_one_group_equals_scipys(size, levels):
    generator = np.random.default_rng(size + levels)
    a, b = (generator.permutation(size) * levels // size * 1.0 for _ in "ab")
    found = pair(a, a + 0.5 * b, np.zeros(size, int)).ranks
    assert found["value"] == pytest.approx(kendalltau(a, a + 0.5 * b).statistic)
    assert found["n"] == size * (size - 1) // 2


def test_tau_b_is_pooled_over_the_pairs_of_all_groups_by_hand():
    # group 0: 3 pairs, 2 concordant and 1 discordant; group 1: 1 pair, tied in B alone; group 2: no pair
    found = pair([1, 2, 3, 0, 1, 9], [1, 3, 2, 4, 4, 0], [0, 0, 0, 1, 1, 2]).ranks
    counts = {key: found[key] for key in ("n", "concordant", "discordant", "tied_in_a_only",
                                          "tied_in_b_only", "tied_in_both")}  # fmt: skip
    assert counts == {"n": 4, "concordant": 2, "discordant": 1, "tied_in_a_only": 0, "tied_in_b_only": 1,
                      "tied_in_both": 0}  # fmt: skip
    assert found["value"] == pytest.approx((2 - 1) / np.sqrt(4 * 3))


@pytest.mark.parametrize(
    ("b", "expected"),
    [
        pytest.param([0.3, 0.2, 0.1, 0.0], -1, id="the reverse order"),
        pytest.param([10, 20, 30, 40], 1, id="the same order at another scale"),
        pytest.param([-5, 0, 0.1, 1e6], 1, id="the same order, not evenly"),
    ],
)
def test_tau_b_is_of_the_order_alone(b, expected):
    assert pair([1, 2, 3, 4], b, [0] * 4).ranks["value"] == pytest.approx(expected)


def test_rewards_that_differ_in_the_last_digit_are_tied():
    assert pair([0.3, 0.1 + 0.2, 1], [0, 1, 2], [0] * 3).ranks["tied_in_a_only"] == 1


def test_siblings_of_other_prompts_are_never_compared():
    # within each prompt the order is the same, between them it is turned round
    assert pair([0, 1, 10, 11], [10, 11, 0, 1], [0, 0, 1, 1]).ranks["value"] == 1


# rewards


def test_deltas_by_hand():
    a, b = [0.0, 1.0, 2.0, NAN, 1.0, NAN, 3.0], [1.0, 0.5, 2.0, 1.0, NAN, NAN, 7.0]
    found = pair(a, b, [0, 0, 0, 1, 1, 1, 2]).rewards
    counts = {name: found[name] for name in ("up", "down", "equal", "newly_judged", "no_longer_judged",
                                             "judged_in_neither", "n")}  # fmt: skip
    assert counts == {"up": 2, "down": 1, "equal": 1, "newly_judged": 1, "no_longer_judged": 1,
                      "judged_in_neither": 1, "n": 4}  # fmt: skip
    assert (found["value"], found["mean_a"], found["mean_b"]) == (4.5 / 4, 1.5, 10.5 / 4)
    assert (found["quantiles"]["0"], found["quantiles"]["0.5"], found["quantiles"]["1"]) == (-0.5, 0.5, 4.0)
    assert [row["rollout_id"] for row in found["largest_up"]] == [7, 1]
    assert found["largest_down"] == [{"rollout_id": 2, "a": 1.0, "b": 0.5, "delta": -0.5}]


def test_rewards_as_near_as_those_of_a_trainer_in_float32_are_equal():
    a = np.array([0.1, 0.7, 1234.567])
    found = pair(a, a.astype(np.float32).astype(float), [0, 0, 0])
    assert (found.rewards["equal"], found.changed, found.verdict) == (3, 0, "same")


def test_the_largest_to_read_are_of_different_prompts():
    # prompt 0 moves most, row after row; one of it is shown, and then others
    delta = np.array([9.0, 8, 7, 6, 1, 2, 3, 4])
    found = pair(np.zeros(8), delta, [0, 0, 0, 0, 1, 1, 2, 2]).rewards["largest_up"]
    assert [row["delta"] for row in found] == [9, 4, 2]
    found = pair(np.zeros(8), -delta, [0, 0, 0, 0, 1, 1, 2, 2]).rewards["largest_down"]
    assert [row["delta"] for row in found] == [-9, -4, -2]


def test_the_interval_of_the_mean_delta_resamples_prompts_and_not_rows():
    # within a prompt all siblings move alike: the mean of 40 independent prompts has this standard error
    generator = np.random.default_rng(5)
    per_prompt = generator.normal(size=40)
    delta = np.repeat(per_prompt, 8)
    found = pair(np.zeros(320), delta, np.repeat(np.arange(40), 8))
    low, high = found.rewards["interval"]
    assert (high - low) / 2 == pytest.approx(1.96 * per_prompt.std() / np.sqrt(40), rel=0.1)
    assert (
        found.rewards["interval"]
        == pair(np.zeros(320), delta, np.repeat(np.arange(40), 8)).rewards["interval"]
    )


# advantages


def test_advantage_signs_by_hand():
    # A: - + | 0 0 | - +      B: + - | - + | 0 0
    found = pair([0, 1, 5, 5, 0, 2], [1, 0, 0, 1, 3, 3], [0, 0, 1, 1, 2, 2]).advantages
    assert (found["n"], found["flipped"], found["from_zero"], found["to_zero"], found["changed"]) == (
        6, 2, 2, 2, 6,
    )  # fmt: skip
    assert found["value"] == pytest.approx(2 / 6)
    assert found["counts"]["- to +"] == found["counts"]["+ to -"] == 1
    assert sum(found["counts"].values()) == 6
    assert found["rollout_ids"] == [1]  # one a prompt


def test_a_tied_group_of_rewards_that_are_no_exact_binary_numbers_has_no_sign():
    found = pair([0.1] * 7, [0.7] * 7, [0] * 7).advantages
    assert found["counts"]["0 to 0"] == 7


def test_a_group_that_loses_a_row_has_other_advantages_for_the_rest():
    # without the best, the second best is above the mean: what trains changes though its reward does not
    found = pair([0, 1, 9], [0, 1, NAN], [0, 0, 0])
    assert found.rewards["equal"] == 2
    assert (found.advantages["flipped"], found.advantages["n"], found.advantages["missing_b"]) == (1, 2, 1)


def test_the_estimator_is_that_of_the_training_settings():
    # the first two rows: 1 against a mean of 0.95 of the sums; 0.87 - 1.8 * 0.58 < 0 of normalised scores
    groups = np.zeros(4, int)
    parts = {"a": [1.0, 1, 0, 0], "b": [0.0, 0, 0.1, 0.9]}
    scores = scores_of(parts, groups)
    other = scores.reweigh({"b": 1.8})
    summed = compare(scores, other, training={"scale_rewards": "none"})
    each = compare(scores, other, training={"multi_objective_aggregation": "normalize_then_sum"})
    for found, training in ((summed, "dr_grpo"), (each, "gdpo")):
        assert found.a.training.name == training
        for side, name in ((found.a, "advantage_a"), (found.b, "advantage_b")):
            np.testing.assert_array_equal(found.table[name], side.views[0].advantages)
    np.testing.assert_allclose(summed.table["advantage_a"], scores.rewards - scores.rewards.mean())
    assert (summed.advantages["flipped"], each.advantages["flipped"]) == (0, 2)


# groups


def test_group_signal_by_hand():
    # lost, gained, dead in both, live in both, and one with a single judged row in B
    groups = np.repeat(np.arange(5), 2)
    a = [0, 1, 1, 1, 0, 0, 0, 1, 0, 1]
    b = [1, 1, 0, 1, 2, 2, 3, 4, 0, NAN]
    found = pair(a, b, groups).signal
    assert (found["n"], found["lost"], found["gained"], found["value"]) == (4, 1, 1, 0.0)
    assert (found["zero_std_a"], found["zero_std_b"]) == (0.5, 0.5)
    assert (found["all_a"], found["all_b"]) == (2 / 5, 2 / 4)


# definitions


def size(completion):
    return len(completion) / 99


def even(completion):
    return len(completion) % 2 == 0


def built(**changes):
    """A reward of two components and a field, with parts of it changed."""
    options = {
        "name": "r", "fields": {"n": rk.extract.number(which="last")}, "transform": None, "gate": None,
        "first": {}, "second": {}, "more": [], "turned": False, "aggregation": "weighted_sum",
        "on_missing": "nan",
    } | changes  # fmt: skip
    first = {"name": "size", "function": size, "weight": 1.0} | options["first"]
    second = {"name": "even", "function": even, "weight": 0.5} | options["second"]
    made = [rk.Component(item.pop("name"), item.pop("function"), **item) for item in (first, second)]
    made = [*(made[::-1] if options["turned"] else made), *options["more"]]
    names = ("transform", "gate", "aggregation", "on_missing")
    return rk.Reward(options["name"], options["fields"], made, **{name: options[name] for name in names})


TIDY = rk.Component("tidy", rk.measure.length(full_until=9, zero_from=20), weight=0.1)

CHANGES = [
    pytest.param({}, {}, [], id="nothing"),
    pytest.param({"name": "s"}, {}, ["name changed: 's' -> 'r'"], id="name"),
    pytest.param({}, {"first": {"weight": 2.0}}, ["weight of 'size' changed: 1.0 -> 2.0"], id="weight"),
    pytest.param({}, {"first": {"why": "so"}}, ["why of 'size' changed: '' -> 'so'"], id="reason"),
    pytest.param({}, {"second": {"gate": rk.gate("size", at_least=0.5)}},
                 ["gate of 'even' added: \"gate('size', at_least=0.5)\""], id="gate of a component"),
    pytest.param({"second": {"gate": rk.gate("size", at_least=0.5)}}, {},
                 ["gate of 'even' removed: \"gate('size', at_least=0.5)\""], id="gate removed"),
    pytest.param({}, {"gate": rk.gate("size", at_least=0.1)},
                 ["gate added: \"gate('size', at_least=0.1)\""], id="gate of the reward"),
    pytest.param({}, {"aggregation": "weighted_mean"},
                 ["aggregation changed: 'weighted_sum' -> 'weighted_mean'"], id="aggregation"),
    pytest.param({}, {"on_missing": "zero"}, ["on_missing changed: 'nan' -> 'zero'"], id="missing scores"),
    pytest.param({}, {"transform": rk.weigh.rank()}, ["transform added: 'rank()'"], id="transform"),
    pytest.param({}, {"fields": {}}, ["field 'n' removed: 'number()'"], id="field removed"),
    pytest.param({}, {"fields": {"n": rk.extract.number(which="first")}},
                 ["field 'n' changed: 'number()' -> \"number(which='first')\""], id="field"),
    pytest.param({}, {"more": [TIDY]},
                 ["component 'tidy' added: length(full_until=9, zero_from=20)"], id="component added"),
    pytest.param({"more": [TIDY]}, {},
                 ["component 'tidy' removed: length(full_until=9, zero_from=20)"], id="component removed"),
    pytest.param({}, {"second": {"function": size}}, ["function of 'even' changed: 'even' -> 'size'"],
                 id="function"),
    pytest.param({}, {"first": {"range": None}}, ["range of 'size' removed: [0.0, 1.0]"], id="range"),
    pytest.param({}, {"second": {"primary": True}}, ["primary of 'even' changed: False -> True"],
                 id="primary"),
    pytest.param({}, {"turned": True}, ["order changed: ['size', 'even'] -> ['even', 'size']"], id="order"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected"), CHANGES)
def test_a_change_of_the_definition_is_said_once(before, after, expected):
    a, b = built(**before).record(), built(**after).record()
    assert [str(item) for item in definition_changes(a, b)] == expected
    silent = not expected or expected[0].startswith(("name", "why", "primary"))
    assert (a["fingerprints"]["reward"] == b["fingerprints"]["reward"]) == silent  # each other change pays


def test_the_source_of_a_function_is_part_of_the_definition(tmp_path):
    rewards = []
    for value in (1, 2):
        (tmp_path / "mine.py").write_text(f"def mine(completion):\n    return len(completion) / {value}\n")
        rewards.append(rk.load_reward(f"{tmp_path / 'mine.py'}:mine").record())
    (change,) = definition_changes(*rewards)
    assert str(change) == "source 'mine.py' changed"
    assert change.record()["change"] == "changed"


def test_a_function_whose_source_is_unknown_is_a_note():
    space = {}
    exec("def made(completion): return 1.0", space)
    scores = rk.score(rk.Reward("r", components=[rk.Component("c", space["made"])]), [{"completion": "a"}])
    found = compare(scores, scores)
    assert "the source of made is unknown on both sides, so a change of it cannot be seen" in found.notes


def routed(**rewards):
    default = rewards.pop("default", None)
    return rk.Route("data_source", rewards, default, name="routed")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        pytest.param(routed(x=built(), y=built()), routed(x=built(), y=built(first={"weight": 3.0})),
                     ["[y] weight of 'size' changed: 1.0 -> 3.0"], id="in one part"),
        pytest.param(routed(x=built(), y=built(name="s")), routed(x=built()), ["[y] reward removed: 's'"],
                     id="a part less"),
        pytest.param(routed(x=built()), routed(x=built(), default=built(name="s")),
                     ["[default] reward added: 's'"], id="a default"),
        pytest.param(built(), routed(x=built(), default=built()),
                     ["route added: 'data_source'", "name changed: 'r' -> 'routed'", "[x] reward added: 'r'"],
                     id="a reward becomes the default of a route"),
    ],
)  # fmt: skip
def test_a_route_is_compared_part_by_part(a, b, expected):
    changes = definition_changes(a.record(), b.record())
    assert sorted(str(item) for item in changes) == sorted(expected)


def test_what_else_was_not_the_same_when_scores_were_made_is_said():
    reward, rows = built(second={"gate": rk.gate("size", at_least=0.5)}), [{"completion": "abc"}] * 3
    found = compare(rk.score(reward, rows), rk.score(reward, rows, ignore_gates=True))
    assert found.run == {"ignore_gates": [False, True]}
    assert "ignore_gates was False for A, True for B" in repr(found)
    assert "the definition is the same" not in repr(found)


# rows


def rollouts(ids, *, prompt="p", text="c{}"):
    return [{"rollout_id": name, "prompt_id": prompt, "completion": text.format(name)} for name in ids]


LENGTH = rk.Reward("length", components=[rk.Component("n", lambda completion: len(completion), range=None)])


def test_rows_of_one_side_alone_are_counted_and_named():
    found = compare(rk.score(LENGTH, rollouts([1, "b", 2.5, "d"])), rk.score(LENGTH, rollouts(["d", "x", 1])))
    assert found.table["rollout_id"].tolist() == [1, "d"]
    names = ("matched", "only_a", "only_a_ids", "only_b", "only_b_ids", "other_completions")
    assert [found.matching[name] for name in names] == [2, 2, ["b", 2.5], 1, ["x"], 0]
    assert "rollouts of A that are not in B: 2 ('b', 2.5)" in found.notes


def test_numbers_as_ids_are_the_same_beside_texts():
    found = compare(rk.score(LENGTH, rollouts([1, 2])), rk.score(LENGTH, rollouts([2, 1, "x"])))
    assert found.table["rollout_id"].tolist() == [1, 2]
    assert (found.changed, found.forecast.notes) == (
        0,
        compare(found.a.scores, found.a.scores).forecast.notes,
    )


def test_another_completion_under_the_same_id_is_a_warning_and_is_compared():
    a, b = rollouts(range(9)), rollouts(range(9), text="other {}")
    found = compare(rk.score(LENGTH, a), rk.score(LENGTH, [*a[:2], *b[2:]]))
    assert found.matching["other_completions"] == 7
    assert found.notes[0] == (
        "rollouts with another completion in B under the same rollout_id: 7 of 9 (2, 3, 4, 5, 6 ...); they "
        "are compared all the same"
    )
    assert found.rewards["up"] == 7


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        pytest.param([1, 2], ["1", "2"], r"no rollout_id in common \(A: 1, 2 ..., B: '1', '2' ...\)",
                     id="numbers and texts"),
        pytest.param(["a"], ["b"], "no rollout_id in common", id="others"),
    ],
)  # fmt: skip
def test_nothing_in_common_is_one_clear_error(a, b, said):
    with pytest.raises(rk.InputError, match=said):
        compare(rk.score(LENGTH, rollouts(a)), rk.score(LENGTH, rollouts(b)))


@pytest.mark.parametrize("column", ["prompt", "prompt_id"])
def test_numbers_of_rows_of_another_log_are_no_ids_in_common(column):
    a, b = (
        rk.score(LENGTH, [{column: f"{log}{row // 4}", "completion": f"{log} {row}"} for row in range(40)])
        for log in "ab"
    )
    said = f"of other rollouts: .* 100 % have another {column}, and 0 % the same completion"
    with pytest.raises(rk.InputError, match=said):
        compare(a, b)


def test_a_few_alike_do_not_make_it_the_same_log_and_other_prompts_alone_not_another():
    a = [{"rollout_id": row, "prompt": f"a{row // 4}", "completion": f"a {row}"} for row in range(100)]
    b = [{**row, "prompt": f"b{at}"} for at, row in enumerate(a)]
    assert compare(rk.score(LENGTH, a), rk.score(LENGTH, b)).matching["matched"] == 100
    few = [row if at < 5 else {**row, "completion": f"b {at}"} for at, row in enumerate(b)]
    with pytest.raises(rk.InputError, match=r"100 % have another prompt, and 5\.0 % the same completion"):
        compare(rk.score(LENGTH, a), rk.score(LENGTH, few))


def test_a_label_that_a_component_equals_is_said_once_of_both_sides():
    scores = of([0, 1] * 60, np.repeat(np.arange(30), 4))
    found = compare(scores, scores, label="given")
    (note,) = [text for text in found.notes if "label" in text]
    assert note.startswith("A and B cannot be held against the label: 'given' ") and "'c'" in note
    assert f"note: {note}" in repr(found)


def test_an_id_that_stands_twice_is_an_error():
    read = rk.load_rollouts(rollouts([1, 2]))
    with pytest.raises(rk.InputError, match="rollout_id 1 stands twice in B"):
        compare(rk.score(LENGTH, read), rk.score(LENGTH, read.select([0, 0, 1])))


@pytest.mark.parametrize("wrong", ["scored", None, 3], ids=repr)
def test_what_is_no_scores_is_an_error(wrong):
    with pytest.raises(rk.InputError, match="compare takes two Scores, as rk"):
        compare(of([1], [0]), wrong)


def test_an_unknown_setting_is_an_error():
    with pytest.raises(rk.InputError, match="did you mean 'scale_rewards'"):
        compare(of([1], [0]), of([1], [0]), training={"scale_reward": "none"})


def test_the_order_of_the_rows_does_not_matter():
    values, groups = sampled(3, prompts=30, generations=4, rate=0.5, spread=0.2)
    generator = np.random.default_rng(1)
    other = values + generator.normal(size=len(values))
    a, b = of(values, groups), of(other, groups)
    turned = b.rollouts.select(generator.permutation(len(values)))
    found, again = compare(a, b), compare(a, rk.score(b.reward, turned))
    for name in ("rewards", "advantages", "ranks", "signal", "matching"):
        assert getattr(found, name) == getattr(again, name), name


def test_only_siblings_on_both_sides_are_compared_with_each_other():
    rows = [{"rollout_id": row, "prompt_id": f"p{row // 4}", "step": row % 2, "completion": "c" * row}
            for row in range(8)]  # fmt: skip
    whole = rk.load_rollouts(rows, group="prompt_id")
    found = compare(rk.score(LENGTH, whole), rk.score(LENGTH, rk.load_rollouts(rows)))
    assert found.ranks["n"] == 4  # two pairs a prompt, of six
    assert (found.matching["siblings_in_a_only"], found.matching["siblings_in_b_only"]) == (8, 0)
    assert "the groups are not the same; ranks and groups are compared among siblings of both" in found.notes


def test_the_two_sides_can_be_exchanged():
    values, groups = sampled(8, prompts=40, generations=6, rate=0.4, spread=0.3)
    noise = np.random.default_rng(8).normal(size=len(values))
    there, back = pair(values, values + noise, groups), pair(values + noise, values, groups)
    assert there.ranks["value"] == pytest.approx(back.ranks["value"])
    assert there.rewards["up"] == back.rewards["down"]
    assert there.rewards["value"] == pytest.approx(-back.rewards["value"])
    assert there.advantages["to_zero"] == back.advantages["from_zero"]
    assert there.signal["lost"] == back.signal["gained"]
    assert {item.code for item in there.new} == {item.code for item in back.gone}
    assert there.ranks["interval"] == pytest.approx(back.ranks["interval"])


# cases

CASES = rk.load_cases(
    [
        {"name": "both", "completion": "ab", "reward": [0, 9]},
        {"name": "only size", "completion": "abc", "scores": {"size": [0, 1]}},
        {"name": "even pays", "completion": "abcd", "reward": [0.5, 1.0]},
        {"name": "odd pays", "completion": "abc", "reward": [0.5, 1.0]},
    ]
)


def odd(completion):
    return len(completion) % 2 == 1


def checked(a, b, cases=CASES):
    rows = rollouts(["a", "bb"])
    return compare(rk.score(a, rows), rk.score(b, rows), cases=cases)


def test_cases_that_are_gained_and_lost_are_named():
    found = checked(built(), built(second={"function": odd}))
    assert (found.cases["gained"], found.cases["lost"]) == (["odd pays"], ["even pays"])
    assert (found.cases["a"], found.cases["b"]) == ({"passed": 3, "failed": 1}, {"passed": 3, "failed": 1})
    assert (found.worst_new, found.verdict) == ("high", "gains and losses")
    assert "cases lost: 1 ('even pays')" in repr(found)


def test_what_a_case_expects_of_a_component_that_one_reward_lacks_counts_for_neither():
    alone = rk.Reward("alone", components=[rk.Component("even", even, weight=0.5)])
    cases = rk.load_cases([{"name": "tall", "completion": "ab", "reward": [0, 9], "scores": {"size": 7}},
                           {"name": "only size", "completion": "ab", "scores": {"size": 7}}])  # fmt: skip
    found = checked(built(), alone, cases).cases
    assert (found["a"], found["b"]) == ({"passed": 0, "failed": 2}, {"passed": 1, "failed": 0})
    assert (found["compared"], found["gained"], found["lost"]) == (1, [], [])


@pytest.mark.parametrize("route", [False, True], ids=["a reward", "a route"])
def test_a_reward_from_a_record_cannot_run_cases_and_the_record_says_so(tmp_path, route):
    reward = routed(x=built()) if route else built()
    rows = [{**row, "data_source": "x"} for row in rollouts(["a", "bb"])]
    cases = [replace(case, columns={**case.columns, "data_source": "x"}) for case in CASES]
    scores = rk.score(reward, rows)
    stored = rk.load_scores(scores.save(tmp_path / "scores"))
    found = compare(stored, scores, cases=cases)
    assert found.cases["a"] is None
    assert found.cases["b"] == {"passed": 3, "failed": 1}
    assert (found.cases["gained"], found.cases["lost"], found.cases["compared"]) == (None, None, 0)
    assert found.cases["reason"] == "the reward of A was read from a run record and cannot be run"
    assert "cases were not compared: the reward of A was read from a run record" in repr(found)
    assert found.changes == () and found.verdict == "same"


def test_a_case_that_no_reward_can_answer_is_an_error():
    with pytest.raises(rk.CasesError, match="'sise'; reward 'r' has"):
        checked(built(), built(), rk.load_cases([{"completion": "a", "scores": {"sise": 1}}]))


# findings


def two(tidy, rate=0.45, seed=7):
    correct, groups = sampled(seed, prompts=100, generations=8, rate=rate, spread=0.05)
    return scores_of({"correct": correct, "tidy": tidy(groups)}, groups, weights={"tidy": 0.1})


def varied(groups):
    return np.random.default_rng(500).beta(3, 2, size=len(groups))


def flat(groups):
    return np.full(len(groups), 0.7)


def codes(found):
    return {(item.code, item.component, item.severity) for item in found}


def test_findings_that_are_new_and_gone():
    there, back = compare(two(varied), two(flat)), compare(two(flat), two(varied))
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


def test_the_same_finding_of_another_component_or_part_is_new():
    rows = [{"data_source": source, "prompt_id": f"{source}{row // 4}", "completion": "c" * (row % 3)}
            for source in "xy" for row in range(80)]  # fmt: skip
    ones = rk.Reward("ones", components=[rk.Component("size", lambda completion: 1.0)])
    fine = rk.Reward("fine", components=[rk.Component("size", lambda completion: len(completion) / 2)])
    found = compare(
        rk.score(rk.Route("data_source", {"x": ones, "y": fine}), rows),
        rk.score(rk.Route("data_source", {"x": fine, "y": ones}), rows),
    )
    constant = [(item.part, item.component) for item in found.new if item.code == "constant"]
    assert constant == [("y", "size")]
    assert [item.part for item in found.gone if item.code == "constant"] == ["x"]


def test_a_finding_of_a_slice_is_not_new_where_the_other_side_has_it_of_the_whole():
    # "tidy" never varies in A; in B it does in half of the tasks, so that it is constant in the other half
    def scores(tidy):
        correct, groups = sampled(3, prompts=80, generations=6, rate=0.5, spread=0.05)
        rows = [
            {"prompt_id": f"p{group}", "task": "old" if group < 40 else "new", "completion": f"c{row}",
             "given_correct": correct[row], "given_tidy": tidy[row]}
            for row, group in enumerate(groups)
        ]  # fmt: skip
        made = [rk.Component(name, lambda given: given, weight=weight, columns={"given": f"given_{name}"})
                for name, weight in (("correct", 1.0), ("tidy", 0.1))]  # fmt: skip
        return rk.score(rk.Reward("r", components=made), rows)

    half = np.where(np.arange(480) < 240, 0.7, np.random.default_rng(4).beta(3, 2, size=480))
    found = compare(scores(np.full(480, 0.7)), scores(half))
    of_b = {(item.code, item.component, item.part) for item in found.b.findings}
    assert ("constant", "tidy", "task=old") in of_b  # or this test is about nothing
    assert "constant" not in {item.code for item in found.new}
    assert {(item.code, item.part) for item in found.gone} >= {("constant", "")}
    back = compare(scores(half), scores(np.full(480, 0.7)))
    assert ("constant", "") in {(item.code, item.part) for item in back.new}  # of the whole it is new


def test_one_code_said_of_another_component_beside_it_is_new():
    def scores(copied):
        parts = {"a": varied(np.zeros(400)), "b": np.random.default_rng(1).random(400)}
        parts["c"] = parts[copied]
        return scores_of(parts, np.repeat(np.arange(50), 8))

    found = compare(scores("a"), scores("b"))
    new, gone = ([item for item in items if item.code == "redundant"] for items in (found.new, found.gone))
    assert [(item.component, item.evidence["other"]) for item in new] == [("c", "b")]
    assert [(item.component, item.evidence["other"]) for item in gone] == [("c", "a")]


# what each selects for


def test_the_forecast_is_that_of_both_at_equal_kl(gallery):
    flawed, good = gallery
    found = compare(flawed, good, seed=3).forecast
    columns = {
        f"correct ({name})": scores.score("correct") for name, scores in zip("AB", gallery, strict=True)
    }
    both = [
        rk_forecast(replace(scores, table=scores.table.assign(**columns)), columns=list(columns), seed=3)
        for scores in gallery
    ]
    assert found.record() == at_equal_kl(*both).record()
    picked = found.figures["correct (B)"]
    assert picked.low[-1] > 0  # at the same KL the good reward picks more right completions


def test_a_label_is_followed_on_both_sides(gallery):
    _, good = gallery
    label = (good.score("correct") == 1) * 1.0
    sides = [
        replace(scores, table=scores.table.assign(right=label),
                rollouts=replace(scores.rollouts, table=scores.rollouts.table.assign(right=label)))
        for scores in gallery
    ]  # fmt: skip
    found = compare(*sides, label="right")
    picked = found.forecast.figures["label"]
    np.testing.assert_allclose(picked.b, found.forecast.figures["correct (B)"].b)
    assert picked.difference[-1] > 0 and "label" in repr(found)
    with pytest.raises(rk.InputError, match="rights"):
        compare(*sides, label="rights")


def test_scores_against_themselves_select_the_same():
    found = compare(two(varied), two(varied)).forecast
    assert len(found.kl) > 1
    assert all((pair.difference == 0).all() for pair in found.figures.values())


def test_rollouts_of_other_prompts_are_not_compared_at_equal_kl():
    a = [*rollouts(range(4), prompt="p"), *rollouts(range(4, 8), prompt="q")]
    b = [*rollouts(range(2), prompt="p"), *rollouts(range(2, 8), prompt="q")]
    found = compare(rk.score(LENGTH, a), rk.score(LENGTH, b)).forecast
    why = "the rollouts in both are not of the same prompts, so nothing is compared at equal KL"
    assert (found.notes, len(found.kl), found.figures) == ((why,), 0, {})


def test_a_component_of_one_side_does_not_measure_other_completions():
    a, b = rollouts(range(9)), rollouts(range(9), text="other {}")
    one, other = rk.score(LENGTH, a), rk.score(LENGTH, b)
    assert {"n (A)", "n (B)"} <= set(compare(one, one).forecast.figures)
    assert not {"n (A)", "n (B)"} & set(compare(one, other).forecast.figures)


def test_the_limits_of_a_forecast_stand_where_it_is_shown():
    found = compare(two(varied), two(varied))
    for limit in found.record()["forecast"]["limits"]:
        assert f"limit: {limit}" in repr(found)


# what cannot be computed


def endless(rewards, groups):
    return np.where(rewards > 0.9, np.inf, rewards)


BAD = {
    "one row": (of([1], [0]), of([0], [0])),
    "one group": (of([1, 0, 1], [0, 0, 0]), of([0, 0, 1], [0, 0, 0])),
    "groups of one": (of([1, 0, 1], [0, 1, 2]), of([0, 0, 1], [0, 1, 2])),
    "ragged groups": (of([1, 0, 1], [0, 0, 1]), of([0, 0, 1], [0, 0, 1])),
    "constant on both sides": (of([1] * 4, [0, 0, 1, 1]), of([2] * 4, [0, 0, 1, 1])),
    "nothing judged in A": (of([NAN] * 4, [0, 0, 1, 1]), of([0, 1, 2, 3], [0, 0, 1, 1])),
    "nothing judged at all": (of([NAN] * 4, [0, 0, 1, 1]), of([NAN] * 4, [0, 0, 1, 1])),
    "judged where the other is not": (of([NAN, NAN, 1, 0], [0, 0, 1, 1]), of([1, 0, NAN, NAN], [0, 0, 1, 1])),
    "infinite": (of([0, 1, 0.5, 0.1], [0, 0, 1, 1]), of([0, 1, 0.5, 0.1], [0, 0, 1, 1], transform=endless)),
    "other groups": (of([0, 1, 0, 1], [0, 0, 1, 1]), of([0, 1, 0, 1], [0, 1, 0, 1])),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("scaling", ["group", "batch", "none"])
def test_what_cannot_be_computed_has_a_reason_and_the_record_is_plain(name, scaling):
    found = compare(*BAD[name], training={"scale_rewards": scaling})
    record = found.record()
    json.dumps(plain(record), allow_nan=False)
    for key in ("rewards", "advantage_sign_changes", "rank_agreement", "group_signal"):
        figure = record[key]
        assert np.isnan(figure["value"]) == bool(figure["reason"]), key
        assert figure["reason"] is None or "nan" not in repr(found)
    counts = [found.rewards[key] for key in ("up", "down", "equal", "newly_judged", "no_longer_judged",
                                             "judged_in_neither")]  # fmt: skip
    assert sum(counts) == len(found.table) == found.matching["matched"]


@pytest.mark.parametrize(
    ("name", "figure", "reason"),
    [
        ("nothing judged in A", "rewards", "no row is judged on both sides"),
        ("nothing judged at all", "advantages", "no row has an advantage on both sides"),
        ("judged where the other is not", "ranks", "no two siblings are judged on both sides"),
        ("groups of one", "ranks", "no two siblings are judged on both sides"),
        ("constant on both sides", "ranks", "all pairs of siblings are tied in A and B"),
        ("groups of one", "signal", "no group has two siblings that are judged on both sides"),
    ],
)
def test_the_reason_says_why(name, figure, reason):
    found = compare(*BAD[name])
    assert getattr(found, figure)["reason"] == reason


def test_infinite_rewards_count_as_not_judged():
    found = compare(*BAD["infinite"])
    assert found.rewards["no_longer_judged"] == found.matching["infinite_rewards"] == 1
    assert "rollouts with an infinite reward, which counts as not judged: 1" in found.notes


def test_one_prompt_has_no_interval_and_a_note():
    found = compare(*BAD["one group"])
    assert np.isnan(found.ranks["interval"]).all()
    assert "all compared rollouts are of one prompt, so there are no intervals" in found.notes


def test_the_tables_of_the_caller_are_not_changed():
    a, b = BAD["infinite"]
    before = [scores.table.copy(deep=True) for scores in (a, b)]
    compare(a, b)
    for scores, table in zip((a, b), before, strict=True):
        assert scores.table.equals(table)


# on the bundled data


@pytest.fixture(scope="module")
def gallery():
    read = rk.load_rollouts("gallery:arithmetic")
    return [rk.score(rk.load_reward(f"gallery:{name}"), read) for name in ("arithmetic.flawed", "arithmetic")]


def test_scores_against_themselves_are_the_same(gallery):
    for scores in gallery:
        cases = [case for case in rk.load_cases("gallery:arithmetic") if not case.scores]
        found = compare(scores, scores, cases=cases)
        assert (found.verdict, found.changed, found.worst_new, found.changes) == ("same", 0, None, ())
        assert found.ranks["value"] == pytest.approx(1)
        assert (found.new, found.gone, found.graded, found.cases["lost"]) == ((), (), (), [])
        assert (found.signal["value"], found.advantages["changed"]) == (0, 0)


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
    # the pooled tau-b, counted pair by pair
    sums = counted_pairs(flawed.rewards, good.rewards, flawed.groups).sum(axis=1)
    assert found.ranks["value"] == pytest.approx(sums[0] / np.sqrt(sums[1] * sums[2]))
    assert found.ranks["interval"][0] < found.ranks["value"] < found.ranks["interval"][1] < 0.6


def test_scores_from_disk_give_the_same_comparison(gallery, tmp_path):
    stored = [rk.load_scores(scores.save(tmp_path / f"{at}")) for at, scores in enumerate(gallery)]
    assert compare(*stored).record() == compare(*gallery).record()


def test_two_runs_that_share_some_rollouts_are_compared_on_these(gallery):
    good = gallery[1]
    half = good.rollouts.select(np.arange(400, 1600))
    found = compare(good, rk.score(good.reward, half))
    assert (found.matching["matched"], found.matching["only_a"], found.changed) == (1200, 400, 0)
    assert found.advantages["changed"] == 0  # whole groups are there, so nothing moves
    assert found.signal["zero_std_a"] == found.signal["zero_std_b"] == found.signal["all_b"]
    assert found.signal["all_a"] != found.signal["all_b"]


def test_a_route_is_compared_over_all_its_parts():
    scores = rk.score(rk.load_reward("gallery:mixed"), rk.load_rollouts("gallery:mixed"))
    other = scores.reweigh({"keys": 3.0})
    found = compare(scores, other)
    assert not np.isnan(found.table["advantage_a"]).any()
    assert [str(item) for item in found.changes] == ["[people-json] weight of 'keys' changed: 0.5 -> 3.0"]
    assert found.ranks["n"] == 80 * 28  # 80 groups of 8: those of one part are not those of another
    moved = found.table["delta"].to_numpy() != 0
    assert set(scores.table["data_source"][moved]) == {"people-json"}
