"""Versions of a reward, two or more: which one to train on, what changed, and what is read from kept runs."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from commands import record, refused, run
from planted.tables import base, generator_of
from planted.versions import KINDS, compared, judge_mended, noise_mended, paid

import rewardkit as rk
from rewardkit.plain import to_json

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("short_rehearsals")]

# --- the verdict


@pytest.mark.parametrize("kind", KINDS)
def test_the_verdict_of_a_planted_pair_is_right(kind):
    _, expected, _ = KINDS[kind]
    found = compared(kind, 1)
    assert found.verdict == expected, found.reason
    assert repr(found).lower().startswith(expected.lower())


def test_a_slice_that_is_better_is_named():
    found = compared("better on one slice", 2)
    slices = found.slices.set_index("slice")
    assert slices.loc["data_source=puzzle", "mark"] == "better"
    assert slices.loc["data_source=sums", "difference"] == 0


def test_of_three_the_best_is_chosen_and_why_is_said_of_each_other():
    generator = generator_of("three", 0)
    parts, _ = base(generator)
    noisy, middling, good = (paid(parts, {"tidy": w}) for w in (6.0, 2.0, 0.2))
    found = rk.compare(noisy, good, middling, names=["v1", "v2", "v3"])
    assert (found.verdict, found.best.name) == ("train on v2", "v2")
    first, _ = found.pairs
    assert found.reason == (
        f"better than v1, v3; v1 -> v2: {first.grounds[0].sentence}"
    )
    assert "(better) and (worse) are against v1, beyond noise" in repr(found)
    assert "v3 is worse: right completions" in found.text(verbose=True)
    lines = [line for line in repr(found).splitlines() if "AUC of the task" in line]
    assert lines[0].count("(better)") == 2
    assert (
        len([line for line in repr(found).splitlines() if "Definition, " in line]) == 2
    )


def test_of_several_those_that_are_worse_are_left_out_and_the_others_not_told_apart():
    generator = generator_of("several", 0)
    parts, _ = base(generator)
    parts["neat"] = generator.permutation(parts["tidy"])
    weights = ((0.9, 0.0), (6.0, 0.0), (0.0, 0.9), (0.5, 0.4))
    versions = [paid(parts, {"tidy": tidy, "neat": neat}) for tidy, neat in weights]
    found = rk.compare(*versions)
    assert found.verdict == "not decided"
    assert found.reason == (
        "B is worse than A, C, D; nothing tells A, C, D apart beyond noise"
    )
    head, *lines = found.in_short.lines(verbose=False)[1:6]
    assert (
        head.split() == "version mean signal of the task AUC findings training".split()
    )
    assert [line.split()[0] for line in lines] == list("ABCD")


def test_versions_that_contradict_each_other_or_that_nothing_judges_are_not_decided():
    a, b = noise_mended(generator_of("open", 0))
    lost = {"name": "lost", "completion": "x", "given_correct": 1.0, "given_tidy": 1.0}
    cases = rk.load_cases([{**lost, "reward": 4.0}])
    found = rk.compare(a, b, cases=cases)
    assert found.verdict == "not decided"
    assert "for B: " in found.reason and "1 case lost ('lost')" in found.reason
    three = rk.compare(a, b, a, cases=cases)
    assert three.verdict == "not decided" and "nothing tells" not in three.reason
    assert three.reason.startswith("what differs between A, B, C does not decide (B ag")
    assert "1 case lost ('lost')" in three.reason
    parts, _ = base(generator_of("unjudged", 0))
    first, second = parts["tidy"], parts["correct"]
    sides = ({"x": first, "y": second}, {"x": second, "y": first})
    found = rk.compare(*(paid(side, {}) for side in sides))
    assert found.verdict == "not decided" and "a label would" in found.reason


def test_a_record_of_two_has_the_pair_beside_the_versions_and_one_of_more_has_pairs():
    a, b = judge_mended(generator_of("record", 0))
    kept = {"changed", "advantage_sign_changes", "rank_agreement", "verdict"}
    two = rk.compare(a, b, label="label").record()
    assert kept <= two.keys() and two["best"] == "B"
    assert [item["name"] for item in two["versions"]] == ["A", "B"]
    three = rk.compare(a, b, a).record()
    assert "changed" not in three and len(three["pairs"]) == 2
    assert kept <= three["pairs"][0].keys() | {"verdict"}
    json.dumps(to_json(three), allow_nan=False)


def bill(name, amount):
    return {"name": name, "amount": amount}


def objects(name, amount):
    return json.dumps(bill(name, amount))


def words(name, amount):
    return f"{name} owes {amount}"


def first_name(text):
    return re.search(r"[A-Z]\w+", text).group()


def whole_name(text):
    return re.search(r"[A-Z]\w+( [A-Z]\w+)?", text).group()


def of_name(read):
    def name(completion, ground_truth):
        return read(completion) == read(ground_truth)

    return name


def amount(completion, ground_truth):
    numbers = [re.findall(r"\d+", text)[-1] for text in (completion, ground_truth)]
    return numbers[0] == numbers[1]


def bills(write):
    """Versions that read whole names and first names, of a task of two components."""
    table = []
    for prompt in range(24):
        full = f"{('Ada', 'Bo', 'Cy', 'Dee')[prompt % 4]} Stone"
        for sibling in range(8):
            name = full.split()[0] if sibling in (3, 4, 5, 6) else full
            sum_due = prompt + (sibling in (0, 1, 7))
            row = {"prompt": f"Read bill {prompt}", "completion": write(name, sum_due)}
            row |= {"ground_truth": write(full, prompt), "human": sibling == 2}
            table.append(row)
    log = rk.load_rollouts(table)
    versions = []
    for read in (whole_name, first_name):
        name = rk.Component("name", of_name(read), weight=0.9)
        components = [name, rk.Component("amount", amount)]
        components.append(rk.Component("short", lambda completion: 1.0, weight=0.1))
        versions.append(rk.score(rk.Reward("bills", components=components), log))
    return versions


SHORT_NAME = rk.load_cases(
    [
        {
            "name": "a first name alone",
            "completion": words("Ada", 3),
            "ground_truth": words("Ada Stone", 3),
            "scores": {"name": 0},
        }
    ]
)
REDEFINED = {
    "nothing outside the two": (
        words,
        {},
        "not decided",
        "the task was redefined in 'name' (50 % of its scores): nothing outside the two "
        "rewards says which is right; a label would, or cases that tell them apart",
    ),
    "truths that can be read": (objects, {}, "train on A", "AUC 1.000 -> "),
    "a label": (words, {"label": "human"}, "train on A", "AUC 1.000 -> "),
    "a case": (words, {"cases": SHORT_NAME}, "train on A", "1 case lost"),
}


@pytest.mark.parametrize(
    ("write", "options", "verdict", "reason"), REDEFINED.values(), ids=REDEFINED
)
def test_a_component_of_the_task_that_is_always_1_now_does_not_make_it_better(
    write, options, verdict, reason
):
    before, after = bills(write)
    assert (before.score("name") < 1).any() and (after.score("name") == 1).all()
    found = rk.compare(before, after, **options)
    assert found.verdict == verdict, found.reason
    assert reason in found.reason
    marks = found.pairs[0].marks
    assert "better" not in {marks[name] for name in ("auc", "task_signal", "outlook")}
    assert rk.compare(before, before, **options).verdict == "no difference"


def test_of_several_versions_one_measure_of_the_task_orders_all_in_the_table():
    before, after = bills(objects)
    light = before.reweigh({"name": 0.1})
    found = rk.compare(before, light, after)
    first, _ = found.pairs
    assert first.redefined_task == () and first.task.words == "the stated answers"
    (alone,) = rk.compare(before, light).pairs
    assert alone.task.words == "'amount'"


def test_eight_versions_have_a_headline_of_one_sentence():
    parts, _ = base(generator_of("eight", 0))
    weights = (6.0, 5.0, 4.0, 0.2, 3.0, 2.5, 7.0, 8.0)
    found = rk.compare(*(paid(parts, {"tidy": weight}) for weight in weights))
    assert found.verdict == "train on D"
    assert found.reason.startswith("better than A to C, E to H; A -> D: right complet")
    headline = " ".join(map(str.strip, repr(found).splitlines()[:2]))
    assert len(found.reason) < 200 and headline.endswith(found.reason)


# --- components by what they score


def test_a_renamed_component_is_found_and_another_one_of_the_same_name_is_said_to_be_so():
    parts, _ = base(generator_of("names", 0))
    other = {"correct": parts["correct"], "tidy": parts["tidy"] ** 2}
    renamed = {"correct": parts["correct"], "neat": parts["tidy"]}
    before = paid(parts, {})
    (pair,) = rk.compare(before, paid(renamed, {"neat": 0.7})).pairs
    lines = pair.definition_lines
    assert "component 'tidy' is called 'neat' now" in lines
    assert "weight of 'tidy' changed: 0.5 -> 0.7" in lines
    assert not any("added" in line or "removed" in line for line in lines)
    (pair,) = rk.compare(before, paid(other, {})).pairs
    (line,) = [line for line in pair.definition_lines if "same name" in line]
    assert line.startswith(
        "component 'tidy' has the same name and another definition: 100 % of its scores"
    )


def test_a_finding_of_a_renamed_component_is_no_new_one():
    parts, _ = base(generator_of("names", 0))
    before = paid(parts, {"tidy": 6.0})
    neat = {"correct": parts["correct"], "neat": parts["tidy"]}
    (pair,) = rk.compare(before, paid(neat, {"neat": 6.0})).pairs
    assert any(item.component == "neat" for item in pair.b.alarms)
    assert (pair.findings.new, pair.findings.gone, pair.worst_new) == ((), (), None)
    neat["neat"] = parts["tidy"] ** 2  # another component, so its finding is new
    (pair,) = rk.compare(before, paid(neat, {"neat": 6.0})).pairs
    assert pair.worst_new == "warn" and pair.findings.gone


# --- kept runs

SOURCE = """import rewardkit as rk

def short(completion):
    return float(len(completion) < 30)

correct = rk.Component("correct", rk.verify.matches, columns={"prediction": "number"})
reward = rk.Reward(
    "sums",
    {"number": rk.extract.number(which="last")},
    [correct, rk.Component("short", short, weight=WEIGHT)],
)
"""


def rows(start=0, prompts=24):
    """A log of four answers a prompt: wrong ones are short, and half of the right ones."""
    table = []
    for prompt in range(start, start + prompts):
        for sibling in range(4):
            answer = prompt if sibling < 2 else prompt + 1
            words = "so it must be " * (0 if sibling % 2 else 4)
            row = {"rollout_id": f"{prompt}-{sibling}", "prompt": f"{prompt} + 0?"}
            row |= {"completion": f"{words}{answer}", "ground_truth": str(prompt)}
            table.append(row)
    return table


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Three versions in a folder of runs: the second pays too much for brevity."""
    monkeypatch.chdir(tmp_path)
    for weight in ("0.1", "3.0", "0.2"):
        Path("my.py").write_text(SOURCE.replace("WEIGHT", weight))
        scores = rk.score(rk.load_reward("my.py"), rk.load_rollouts(rows()))
        scores.keep(note=f"weight {weight}")
    return rk.runs()


def test_an_outlook_is_rehearsed_once_and_kept_with_its_run_for_the_same_settings(kept):
    first = rk.compare("v1", "v2")
    assert re.fullmatch(
        r"the training on v1, v2 was rehearsed in \d+\.\d s", first.rehearsals
    )
    again = rk.compare("v1", "v2", "v3")
    assert again.rehearsals.startswith("the training on v3 was rehearsed in")
    assert [side.outlook for side in again.sides[:2]] == [
        side.outlook for side in first.sides
    ]
    assert rk.compare("v1", "v2", "v3").rehearsals == ""
    other = rk.compare("v1", "v2", training={"scale_rewards": "none"})
    assert "v1, v2" in other.rehearsals
    record("forecast v3 --seed 3")
    assert rk.compare("v3", "v3", seed=3).rehearsals == ""


def test_the_label_under_which_all_were_kept_is_that_of_their_comparison(kept):
    table = pd.DataFrame(rows()).assign(good=[1, 1, 0, 0] * 24)
    table.to_json("log.jsonl", orient="records", lines=True)
    for weight in ("0.5", "4.0"):
        Path("my.py").write_text(SOURCE.replace("WEIGHT", weight))
        record("score my.py log.jsonl --keep --label good")
    newest = rk.runs().newest(2)
    assert "Right is what 'good' says" in repr(rk.compare(*newest))
    assert all(run.figures["seconds_per_1000"] > 0 for run in newest)
    told = repr(rk.compare("v1", newest[0]))
    assert "Without a label, right is judged by 'correct'; label=" in told


def test_the_command_compares_kept_versions_folders_and_the_newest_and_shows_the_source(
    kept,
):
    text = run("compare v1 v2 v3 --verbose").stdout
    assert '-    [correct, rk.Component("short", short, weight=0.1)],' in text
    assert text.index("Source, v1 -> v2") < text.index("Source, v2 -> v3")
    kept["v1"].scores.save("old")
    got = record("compare old --last 2")
    assert [item["name"] for item in got["versions"]] == ["old", "v2", "v3"]
    assert [item["note"] for item in got["versions"]] == [
        "",
        "weight 3.0",
        "weight 0.2",
    ]
    refused("compare v1", "compare takes two versions or more, not 1")
    refused("compare v1 v9", "there is no run 'v9'")
    Path("my.py").write_text(SOURCE.replace("sums", "other").replace("WEIGHT", "1"))
    rk.score(rk.load_reward("my.py"), rk.load_rollouts(rows())).keep()
    said = run("compare old --last 2").stderr
    assert "--last 2 leaves out v3, v2, v1, of another reward or other rollouts" in said


def test_kept_versions_run_the_cases_from_their_source(kept):
    case = {"name": "long", "completion": "so it must be so, it must be 7"}
    case |= {"ground_truth": "7", "reward": [1.0, 1.05]}
    Path("cases.jsonl").write_text(
        json.dumps(case)
        + "\n"
        + json.dumps({**case, "name": "brief", "completion": "7", "reward": 1.1})
    )
    got = record("compare v1 v2 --cases cases.jsonl")
    assert got["cases"]["lost"] == ["brief"]
    assert [item["figures"]["cases"] for item in got["versions"]] == [[2, 2], [1, 2]]


def test_versions_of_one_name_are_told_apart_and_other_data_is_matched_by_id(kept):
    found = rk.compare("v1", "v1")
    assert (found.names, found.verdict) == (["v1", "v1 (2)"], "no difference")
    Path("my.py").write_text(SOURCE.replace("WEIGHT", "0.1"))
    more = rk.load_rollouts(rows(start=4))
    other = rk.score(rk.load_reward("my.py"), more).keep()
    found = rk.compare(kept["v1"], other)
    assert found.pairs[0].matching["matched"] == 80
    (note,) = found.notes
    assert note == (
        "rollouts that are left out, as only one side has them: 16 of v1 alone (such as "
        "'0-0', '0-1', '0-2', '0-3', '1-0') and 16 of v1 (2) alone (such as '24-0', "
        "'24-1', '24-2', '24-3', '25-0')"
    )


def test_exploits_of_runs_on_other_rows_are_shown_and_are_neither_better_nor_worse(
    kept,
):
    Path("my.py").write_text(SOURCE.replace("WEIGHT", "0.1"))
    reward = rk.load_reward("my.py")
    runs = []
    for prompts, exploits in ((24, 0), (24, 2), (12, 2)):
        scores = rk.score(reward, rk.load_rollouts(rows(prompts=prompts)))
        runs.append(scores.keep().changed(figures={"exploits": exploits}))
    first, worse, shorter = runs
    (pair,) = rk.compare(first, worse).pairs
    assert (pair.verdict, pair.marks["exploits"]) == ("worse", "worse")
    found = rk.compare(first, shorter)
    assert found.verdict == "no difference"
    assert found.pairs[0].marks["exploits"] == "not known"
    assert [of_version["exploits"] for of_version in found.figures] == [0, 2]
    assert "outlook" not in shorter.about and "rehearsed" in found.rehearsals


def test_a_run_whose_data_is_gone_or_that_is_of_a_newer_format_is_one_sentence(kept):
    about = kept["v2"].folder / "about.json"
    about.write_text(about.read_text().replace('"format": 1', '"format": 9'))
    version = kept["v2"].version.folder / "about.json"
    version.write_text(version.read_text().replace('"format": 1', '"format": 9'))
    with pytest.raises(rk.RolloutsError, match="is of format 9, and this version of"):
        rk.compare("v1", "v2")
    for path in Path("runs/data").iterdir():
        path.unlink()
    with pytest.raises(
        rk.RolloutsError, match=r"the rollouts of the run in .* are gone"
    ):
        rk.compare("v1", "v3")
