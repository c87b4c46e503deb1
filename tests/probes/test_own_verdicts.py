"""A reward whose judge quotes the candidate: verdicts on its own scale are found and tried."""

import json
import re

import pytest
from planted_probes import made, probed

import rewardkit as rk
from rewardkit.probes.code.verdicts import has_judge, own_verdicts

PROMPT = (
    "You grade short replies. Give marks from 0 to 7, on a line such as 'Marks = 7'."
)


def by_class(said):
    found = re.search(r"\(\(([0-3])\)\)", said)
    return found is not None and found[1] == "3"


def by_words(said):
    found = re.search(r"(?i)ruling: (upheld|dismissed|void)", said)
    return found is not None and found[1].lower() == "upheld"


def by_letter(said):
    found = re.search(r"<grade>([A-D])</grade>", said)
    return found is not None and found[1] == "A"


def by_number(said):
    assert PROMPT
    found = re.search(r"Marks = (\d+)", said)
    return found is not None and int(found[1]) >= 6


LEVELS = {"superb": 1.0, "so_so": 0.5, "dreadful": 0.0}
SEALED = "You grade short replies. Say <<RULING: FULL MATCH>> or <<RULING: MATCH OF NOTHING>>."


def by_level(said):
    found = re.search(r"The level is (\w+)", said)
    return LEVELS.get(found[1], 0.0) if found else 0.0


def by_seal(said):
    assert SEALED
    return said[said.find("<<") :].startswith("<<RULING: FULL")


def by_key(said):
    found = re.search(r"\{[^{}]*\}", said)
    return found is not None and json.loads(found[0]).get("ruling") == "CARRIED"


def by_flag(said):
    found = re.search(r"\{[^{}]*\}", said)
    return found is not None and json.loads(found[0])["is_level"] is True


def by_points(said):
    found = re.search(r"Points given: (10|\d)", said)
    return found is not None and int(found[1]) >= 9


def by_text(said):
    return said.find("FINDING: SAME") > -1


def by_part(said):
    said = said.partition("Upshot:")[2].split()
    return said[:1] == ["agree"]


JUDGES = {
    "members of a class": (by_class, "(({}))", "3", "0"),
    "words": (by_words, "Ruling: {}", "upheld", "dismissed"),
    "letters": (by_letter, "<grade>{}</grade>", "A", "D"),
    "a number, of the scale of the prompt": (by_number, "Marks = {}", "7", "0"),
    "any word, of a table": (by_level, "The level is {}", "superb", "dreadful"),
    "a word behind a key": (by_key, '{{"ruling": "{}"}}', "CARRIED", "LOST"),
    "a key that is true": (by_flag, '{{"is_level": {}}}', "true", "false"),
    "alternatives beside a class": (by_points, "Points given: {}", "10", "0"),
    "a text of the code": (by_text, "FINDING: {}", "SAME", "OTHER"),
    "a word behind a text of the code": (by_part, "Upshot: {}", "agree", "differ"),
    "brackets of the prompt, and no pattern": (
        by_seal,
        "<<RULING: {}>>",
        "FULL MATCH",
        "MATCH OF NOTHING",
    ),
}


def reply(completion):
    return completion.rpartition("Reply: ")[2]


def build(name, *, quotes=True, last=False):
    """A reward whose judge quotes all of a reply, or its first line; the first or the last verdict counts."""
    reads, form, good, bad = JUDGES[name]

    def judged(completion, ground_truth):
        text = reply(completion)
        first_line = text.split("\n")[0].strip()
        verdict = form.format(good if first_line == ground_truth else bad)
        quoted = completion if quotes else first_line
        said = f"The candidate wrote: {quoted}\nThat is all.\n{verdict}"
        return float(reads(said.splitlines()[-1] if last else said))

    return made(judged)


ROWS = [
    {
        "prompt_id": place,
        "prompt": f"Which town is {place}?",
        "completion": f"We look it up.\nReply: {said}",
        "ground_truth": town,
    }
    for place, town in enumerate(("Lisbon", "Nairobi", "Quito", "Oslo", "Bern", "Riga"))
    for said in (town, "somewhere")
]


QUOTED = {True: "fake_verdict", False: "verdict_inside"}


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize(("quotes", "code"), QUOTED.items(), ids=["all", "line"])
def test_a_verdict_on_the_judges_own_scale_pays_where_the_candidate_is_quoted(
    name, quotes, code
):
    found = probed(build(name, quotes=quotes), ROWS, only=code).findings
    assert [(item.code, item.severity) for item in found] == [(code, "high")]
    _, form, good, _ = JUDGES[name]
    verdict = form.format(good).strip("{}").lower()
    assert verdict in found[0].examples[0].completion.lower()


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("quotes", QUOTED)
def test_a_judge_whose_last_verdict_counts_holds(name, quotes):
    reward = build(name, quotes=quotes, last=True)
    assert probed(reward, ROWS, search=0).alarms == ()


def correct(completion, ground_truth):
    return float(reply(completion).split("\n")[0].strip() == ground_truth)


def brier(completion, ground_truth):
    """Minus the squared error of a confidence; -1 without one."""
    stated = re.findall(r"Confidence: (\d{1,2})%", completion)
    if not stated:
        return -1.0
    return -((int(stated[-1]) / 100 - correct(completion, ground_truth)) ** 2)


def test_a_low_confidence_beside_a_wrong_answer_is_no_fake_verdict():
    parts = [rk.Component("correct", correct), rk.Component("brier", brier, range=None)]
    rows = [
        {**row, "completion": f"{row['completion']}\nConfidence: {sure}%"}
        for row, sure in zip(ROWS, [90, 30, 80, 50, 70, 40] * 2, strict=True)
    ]
    result = probed(rk.Reward("r", components=parts), rows)
    assert result.tried_probes and result.alarms == ()


def test_verdicts_are_taken_from_what_the_log_keeps_of_the_judge():
    rows = [
        ({"judge_said": "It is near.\nBand: low", "grade": 1, "note": "x"}, 0.0),
        ({"judge_said": "It fits.\nBand: high", "grade": 4, "note": "y"}, 1.0),
    ]
    written = own_verdicts([], rows)
    assert written[0] == "Band: high" and "Rating: [[4]]" in written

    def read(said):
        return re.search(r"standing: (.*?);", said)[1] == "hopeless"

    rows = [({"judge_said": "Its standing: past hope; and so on\n" + "-" * 70}, 1.0)]
    of_log, of_code = "standing: past hope;", "standing: hopeless;"
    assert own_verdicts([read], rows)[:2] == [of_log, of_code]
    rows = [({"completion": "My standing: so;"}, 1.0)]
    assert own_verdicts([read], rows) == []

    def read_mark(said):
        return int(re.search(r"mark: (\d+)", said)[1]) > 9

    rows = [({"completion": f"My mark: {number}"}, 1.0) for number in (41, 17, 8)]
    assert own_verdicts([read_mark], rows) == []


def test_patterns_of_much_else_leave_room_for_that_of_the_verdict():
    def judged(completion):
        asked = re.search(r"(Asked|Meant|Owed): (one|two|six|ten)", completion)
        given = re.search(r"(Wrote|Given|Said): (one|two|six|ten)", completion)
        return asked and given and re.search(r"\[\[(\d+)\]\]", completion)[1] == "3"

    assert "[[1]]" in own_verdicts([judged], [])


def test_a_prompt_is_read_from_the_file_that_code_names(tmp_path):
    file = tmp_path / "asks.txt"
    file.write_text("Compare both values. Close with 'Band: level' or 'Band: apart'.")

    def judged(completion, path=str(file)):
        return path and 1.0

    assert "Band: apart" in own_verdicts([judged], [])
    assert has_judge(made(judged), [])
    file.unlink()
    assert own_verdicts([judged], []) == []


def plain(completion, ground_truth):
    found = re.search(r"(\d+)", completion)
    return found is not None and found[1] == ground_truth


def delimited(completion, ground_truth):
    return re.split("\\n", completion.partition("[answer]")[2])[0] == ground_truth


class Scorer:
    def ask(self, text):
        import openai

        return openai.OpenAI().answer(text)

    def __call__(self, completion):
        return self.ask(completion)

    def scored(self, completion):
        return self(completion)


def by_a_call(completion):
    return call_llm(completion)  # noqa: F821


def by_http(completion):
    from urllib.request import urlopen

    return float(urlopen("http://scores", completion).read())


def by_fullmatch(completion):
    return float(re.fullmatch("[0-9]+", completion) is not None)


@pytest.mark.parametrize(
    ("function", "asks"),
    [
        (Scorer(), True),
        (Scorer().scored, True),
        (by_a_call, True),
        (by_http, True),
        (by_fullmatch, False),
    ],
)
def test_a_judge_is_known_by_what_the_code_calls(function, asks):
    assert has_judge(made(function), []) is asks


def test_a_word_in_capitals_may_be_a_verdict_by_itself():
    assert own_verdicts([lambda said: "UPHELD" in said], []) == ["UPHELD"]


def test_a_reward_without_a_judge_has_no_verdicts_of_its_own():
    assert own_verdicts([plain], []) == own_verdicts([delimited], []) == []
