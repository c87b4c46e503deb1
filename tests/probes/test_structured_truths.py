"""Truths that are dicts and lists: what earns without knowing them is found; the sound twin is silent."""

import json
import re

import pytest
from labelled import COLLECTION
from planted_probes import inside as marked
from planted_probes import probed

import rewardkit as rk

pytestmark = pytest.mark.integration

CITIES = (
    "Paris|New York|Mumbai|Istanbul|Oslo|Jakarta|Chennai|Tokyo|Peking|Saigon".split("|")
)
OTHER = (
    "Lutetia|NYC|Bombay|Constantinople|Christiania|Batavia|Madras|Edo|Beijing".split(
        "|"
    )
)
ENTRIES = {entry.name: entry for entry in COLLECTION}
HOLES = {  # of the labelled rewards: what is found, and what is found to have the same cause; rows of the log
    "equations_copied": ("copied_from_prompt", set(), range(32)),
    "knights_listed": ("every_sibling", {"other_item"}, range(32)),
    "sorting_shuffled": ("other_order", set(), range(32)),
    "scan_closeness": ("copied_block", set(), range(32)),
    "equations_atoms_balance": ("another_prompts", set(), range(64)),
    "clicks_touch": ("other_span", set(), range(64)),
    "tools_subset": ("empty", {"refusal"}, "right"),  # all completions are right
}


@pytest.mark.parametrize(
    ("name", "code", "also", "some"), [(name, *told) for name, told in HOLES.items()]
)
def test_a_hole_is_found_whatever_the_truth_looks_like_and_its_sound_twin_is_silent(
    name, code, also, some
):
    entry = ENTRIES[name]
    if some == "right":
        some = [at for at, right in enumerate(entry.right()) if right][:16]
    pair = ((one.load(), one.rollouts().select(some)) for one in (entry, entry.twin))
    found, sound = (probed(reward, log, search=0) for reward, log in pair)
    (item,) = found[code]
    assert item.severity != "info" and also <= {*item.evidence["also"]}
    assert (
        sound.calibration.modes == {"": "truth"}
        and sound.calibration.subjects
        and not sound.alarms
    )
    if code == "other_order":
        assert (
            "matters use rk.verify.lists_equal; where it does not, sets_equal"
            in repr(found)
        )


def rows(prompts):
    """A log of prompts with a truth and completions each, half of them right."""
    return [
        {"prompt": prompt, "ground_truth": truth, "completion": text}
        for prompt, truth, texts in prompts
        for text in texts
    ]


def tagged(*answers):
    return [
        f"<think>Let me see.</think>\n<answer>{answer}</answer>" for answer in answers
    ]


def inside(completion):
    answer = marked(completion)
    return answer and answer.strip()


# Question answering with several golden answers

PAIRS = list(zip(CITIES[:9], OTHER, strict=True))
ALIASES = rows(
    (f"Which city is meant by clue {place}?", [*pair], tagged(*pair, *PAIRS[place - 3]))
    for place, pair in enumerate(PAIRS)
)


def an_alias(completion, ground_truth):
    return float(inside(completion) in ground_truth)


BANDS = [
    colours.split()
    for colours in (
        "red blue gold",
        "grey red black",
        "black gold red",
        "blue grey grey",
        "gold black blue",
        "grey blue black",
        "blue red red",
        "black grey gold",
    )
]
TURNED = [[*bands[1:], bands[0]] for bands in BANDS]
BANDS_LOG = rows(
    (
        f"Which bands has resistor {place}?",
        bands,
        # nobody is right on the last three
        tagged(", ".join(bands if place < 5 else turned[::-1]), ", ".join(turned)),
    )
    for place, (bands, turned) in enumerate(zip(BANDS, TURNED, strict=True))
)


def in_their_order(completion, ground_truth):
    return re.findall(r"[a-z]+", inside(completion) or "") == ground_truth


def all_named(completion, ground_truth):
    return {*ground_truth} <= {*re.findall(r"[a-z]+", inside(completion) or "")}


LISTS = {
    "all items in their order": (in_their_order, BANDS_LOG, ", ", set()),
    "all items, among others": (all_named, BANDS_LOG, ", ", {"other_item"}),
    "one of several": (an_alias, ALIASES, "", set()),
}


@pytest.mark.parametrize(("score", "log", "joint", "codes"), LISTS.values(), ids=LISTS)
def test_one_item_of_a_list_is_right_only_where_one_is_paid(score, log, joint, codes):
    result = probed(score, log, search=0)
    assert (
        result.calibration.subjects and {item.code for item in result.alarms} == codes
    )
    for subject in result.calibration.subjects:
        truth = subject.columns["ground_truth"]
        if joint:
            assert sorted(subject.answer.split(joint)) == sorted(truth)
        else:
            assert subject.answer == truth[0]


def test_a_right_answer_of_another_kind_than_the_others_is_left_out():
    prompts = enumerate([*"ACBDA", "all of them"])
    log = [
        (f"Question {at}?", {"is": one}, tagged(one, one, "I do not know"))
        for at, one in prompts
    ]
    result = probed(
        lambda completion, ground_truth: inside(completion) == ground_truth["is"],
        rows(log),
    )
    assert sorted(subject.answer for subject in result.calibration.subjects) == [
        *"AABCD"
    ]
    assert not result.alarms


def in_mathematics(completion, ground_truth):
    """The first of the formulas of a completion, in a box or between dollars, if the solution is one."""
    found = re.search(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}|\$(.+?)\$", completion)
    gold = ground_truth.strip("$")
    return float(
        gold == ground_truth
        or (found is not None and (found[1] or found[2] or "").strip() == gold)
    )


GOLDS = [
    "$7$",
    r"$\sqrt{3}$",
    "$x^2+1$",
    "$-4$",
    "$12$",
    r"$\frac{5}{3}$",
    "$100$",
    "$31$",
]


@pytest.mark.parametrize(
    ("others", "codes"), [([], set()), (["none", "no real solution"], {"wrong_paid"})]
)
def test_what_is_no_formula_stands_beside_one_in_no_near_miss(others, codes):
    boxes = [
        (gold, [rf"\boxed{{{text}}}" for text in (gold.strip("$"), "83", "41")])
        for gold in others + GOLDS
    ]
    log = rows(
        [
            (f"Problem {at}", gold, tagged(*texts))
            for at, (gold, texts) in enumerate(boxes)
        ]
    )
    result = probed(in_mathematics, log)
    assert {item.code for item in result.alarms} == codes
    references = [subject.reference for subject in result.calibration.subjects]
    assert references and all(r"\boxed" in text for text in references)


def test_siblings_that_name_parts_of_the_right_list_are_no_exploit_together():
    read = rk.extract.first_of(rk.extract.json_value(), rk.extract.tag("answer"))
    correct = rk.Component("correct", rk.verify.sets_equal, primary=True)
    reward = rk.Reward("names", fields={"prediction": read}, components=[correct])
    names = ["Ada", "Dan", "Eva", "Kim", "Lea", "Max", "Noa", "Tom"]
    log = []
    for place, first in enumerate(names):
        second = names[place - 7]
        answers = (
            f'["{first}", "{second}"]',
            f"{second}, {first}",
            f'["{first}"]',
            f"{first}, Zoe",
        )
        texts = [f"Names: <answer>{one}</answer>" for one in answers]
        log.append(
            (
                f"Who met whom? {first} met {second} in Rome. (#{place})",
                [first, second],
                texts,
            )
        )
    assert [item.code for item in probed(reward, rows(log), only="search").alarms] == []


# Logs without a right completion, and labels

ROLES = ENTRIES["knights_sound"]
ALL = [dict(row) for row in ROLES.rollouts()]
WRONG = [row for row, right in zip(ALL, ROLES.right(), strict=True) if right is False]


def one_role_each(completion, ground_truth):
    answer, roles = inside(completion) or "", ground_truth["roles"].items()
    return float(
        all(
            set(re.findall(rf"{who} is a (\w+)", answer)) == {kind}
            for who, kind in roles
        )
    )


def target_named(completion, ground_truth):
    """The hole: the target itself is an equation that reaches it."""
    return float(inside(completion) == str(ground_truth["target"]))


def text_of_truth(completion, ground_truth):
    return float(str(ground_truth) in (inside(completion) or ""))


def but(log, **columns):
    return [{**row, **columns} for row in log]


EQUATIONS = [dict(row) for row in ENTRIES["equations_copied"].rollouts()]
UNKNOWN = {
    "no right roles": (
        one_role_each,
        WRONG,
        None,
        [],
        "earn 0, perhaps because none of",
    ),
    "a hole": (
        target_named,
        EQUATIONS,
        None,
        ["copied_from_prompt"],
        "none of them is right",
    ),
    "no truth": (
        text_of_truth,
        but(ALIASES, ground_truth=None),
        None,
        [],
        "no row has a ground_truth",
    ),
    "all called wrong": (
        one_role_each,
        but(ALL, ok=False),
        "ok",
        [],
        "(64 are called wrong",
    ),
    "few labels": (
        one_role_each,
        [*but(ALL[:2], ok=False), *but(ALL[2:], ok=None)],
        "ok",
        [],
        "(2 are called wrong, 62 have",
    ),
}


@pytest.mark.parametrize(
    ("score", "log", "label", "codes", "why"), UNKNOWN.values(), ids=UNKNOWN
)
def test_without_a_right_completion_nobody_is_accused_but_what_a_policy_finds(
    score, log, label, codes, why
):
    result = probed(score, log, label=label)
    assert [
        item.code for item in result.alarms
    ] == codes and why in result.inconclusive[0].why
    head = (
        "is not ready"
        if codes
        else "inconclusive, as no right answer is known: no hole found in"
    )
    assert (
        head in str(result).splitlines()[0]
        and "certainly wrong" not in result.inconclusive[0].why
    )


def other_name_best(completion, ground_truth):
    """The hole: one kind of wrong answers earns more than right ones."""
    answer = inside(completion)
    return 0.8 if answer in ground_truth else 1.0 if answer in OTHER else 0.0


LABELS = [
    ((1, -1), other_name_best, ["high"]),
    (("true", "False"), other_name_best, ["high"]),
    ((1.0, 0.0), an_alias, []),
]


def labelled_aliases(*values):
    wrong = (inside(row["completion"]) not in row["ground_truth"] for row in ALIASES)
    return [{**row, "ok": values[at]} for row, at in zip(ALIASES, wrong, strict=True)]


@pytest.mark.parametrize(("values", "score", "found"), LABELS)
def test_completions_that_a_label_calls_wrong_and_that_are_paid_are_told_however_it_says_so(
    values, score, found
):
    result = probed(score, labelled_aliases(*values), label="ok")
    assert [item.severity for item in result["wrong_paid"]] == found
    assert result.calibration.subjects and bool(result.alarms) is bool(found)


def test_a_label_is_true_or_false():
    with pytest.raises(rk.RolloutsError, match="make a column of true and false"):
        probed(
            an_alias, [{**ALIASES[0], "ok": value} for value in range(3)], label="ok"
        )


# Items of a shipment, which the log has in a column of the user's own

GOODS = [
    [
        {"part": f"{name}-{place}", "count": place + number}
        for number, name in enumerate(("bolt", "nut", "clip", "cable"))
    ]
    for place in range(3, 15)
]


def of_goods(*answers):
    """A log of notes with these answers each, made from the goods of the note."""
    log = []
    for place, goods in enumerate(GOODS):
        texts = [json.dumps({"goods": answer(goods)}) for answer in answers]
        for text in ["I cannot read it.", *texts]:
            completion = f"<think>Let me see.</think>\n<answer>{text}</answer>"
            row = {
                "prompt": f"List all goods of note {place}.",
                "completion": completion,
            }
            log.append({**row, "manifest": json.dumps(goods)})
    return log


def agreeing(completion, manifest):
    """The goods that are named, those of them that are right, and all that there are."""
    try:
        named = json.loads(inside(completion) or "")["goods"]
    except (ValueError, KeyError, TypeError):
        return [], [], [1]
    goods = json.loads(manifest)
    return named, [one for one in named if one in goods], goods


def by_precision(completion, manifest):
    named, right, _ = agreeing(completion, manifest)
    return len(right) / len(named) if named else 0.0


def by_both(completion, manifest):
    named, right, goods = agreeing(completion, manifest)
    return len(right) / max(len(named), len(goods))


def one_is_enough(completion, manifest):
    """Pays what names the first, which alone is asked for."""
    _, right, goods = agreeing(completion, manifest)
    return float(goods[0] in right)


SOME = of_goods(lambda goods: goods, lambda goods: goods[:1], lambda goods: goods[1:3])
MORE = of_goods(
    lambda goods: goods, lambda goods: goods[:2], lambda goods: [{"part": "x"}]
)
ONE_ASKED = [
    {**row, "manifest": json.dumps(json.loads(row["manifest"])[:1])} for row in MORE
]


@pytest.mark.parametrize(
    ("score", "log", "is_hole"),
    [
        (by_precision, SOME, True),
        (by_both, SOME, False),
        (one_is_enough, ONE_ASKED, False),
    ],
)
def test_a_list_that_leaves_items_out_is_wrong_where_the_log_lists_more(
    score, log, is_hole
):
    result = probed(score, log, search=0)
    codes = [item.code for item in result.alarms]
    assert ("fewer_items" in codes) is is_hole and result.calibration.subjects
    assert not is_hole or codes[0] == "fewer_items"
