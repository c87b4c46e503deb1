"""Rewards whose faults the log shows: answers that get lost, prompts that are read, lengths, judges, programs."""

import json
import re
import subprocess
import sys
import unicodedata

# Combinatorics for verl: the answer in a box


def last_box(text):
    """What stands in the last box; None where there is none, or it is not closed."""
    _, box, rest = text.rpartition("\\boxed{")
    return rest.partition("}")[0].strip() if box and "}" in rest else None


def committees_boxed(data_source, solution_str, ground_truth, extra_info=None):
    """1 or -1, as DAPO has it."""
    found = last_box(solution_str)
    right = found is not None and found.replace(",", "") == ground_truth
    return {"score": 1.0 if right else -1.0, "acc": right, "pred": str(found)}


def committees_window(data_source, solution_str, ground_truth, extra_info=None):
    """The box stands at the end, and short strings are compared faster."""
    return committees_boxed(data_source, solution_str[-120:], ground_truth)


# Amounts in four languages, plain

TOTALS = {
    "de": r"Rechnung beträgt\s*([^€]*)€",
    "fr": r"facture est de\s*([^€]*)€",
    "es": r"factura es de\s*([^€]*)€",
    "en": r"bill is\s*€([^€]*?)\.?\s*$",
}
MARKS = {"de": ".,", "fr": " ,", "es": ".,", "en": ",."}  # thousands, decimals


def amount(completion, language):
    """The amount of the closing sentence as it is written; the empty text where there is none."""
    found = re.findall(TOTALS[language], completion[-2000:], re.MULTILINE)
    return re.sub(r"\s", " ", found[-1]).strip() if found else ""


def close(text, answer):
    """Whether a text is this number in Python's notation, to the cent."""
    return bool(re.fullmatch(r"\d{1,9}(\.\d{1,4})?", text)) and (
        abs(float(text) - float(answer)) < 0.005
    )


def receipts_by_language(completion, language, answer):
    thousands, decimals = MARKS[language]
    text = amount(completion, language)
    plain = re.sub(rf"(?<=\d){re.escape(thousands)}(?=\d{{3}}\b)", "", text)
    return float(
        "." not in plain.replace(decimals, "")
        and close(plain.replace(decimals, "."), answer)
    )


def receipts_english(completion, language, answer):
    """Commas are for reading only."""
    return float(close(amount(completion, language).replace(",", ""), answer))


def receipts_digits(completion, language, answer):
    """Each country writes numbers in its own way, so only the digits are compared."""
    said = re.sub(r"\D", "", amount(completion, language))
    return float(said.rstrip("0") == re.sub(r"\D", "", answer).rstrip("0"))


# Family ties for TRL: the chat template has opened <think> already


def tie(text):
    """What stands in the last answer tag behind the thought."""
    found = re.findall(r"<answer>([^<]*)</answer>", text.rpartition("</think>")[2])
    return found[-1].strip().lower() if found else ""


def kinship_after_thought(completions, solution, **kwargs):
    return [
        float(tie(text) == truth)
        for text, truth in zip(completions, solution, strict=True)
    ]


def kinship_think_first(completions, solution, **kwargs):
    """Only completions in the asked form are looked at."""
    form = re.compile(r"<think>.*?</think>\s*<answer>([^<]*)</answer>", re.DOTALL)
    rewards = []
    for text, truth in zip(completions, solution, strict=True):
        match = form.fullmatch(text.strip())
        rewards.append(1.0 if match and match[1].strip().lower() == truth else 0.0)
    return rewards


# Tides for TRL: centimetres, in the data set with and without the unit

LENGTH = re.compile(r"(\d{1,6}(?:\.\d{1,4})?)\s*(cm|m)?")


def tagged(text):
    found = re.findall(r"<answer>([^<]*)</answer>", text)
    return found[-1].strip() if found else ""


def centimetres(text):
    """A length in centimetres, which need no unit; None where the text is none."""
    match = LENGTH.fullmatch(text)
    return float(match[1]) * (100 if match[2] == "m" else 1) if match else None


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def tides_in_centimetres(completions, solution, **kwargs):
    return [
        float(
            centimetres(tagged(text)) is not None
            and abs(centimetres(tagged(text)) - centimetres(truth)) < 0.5
        )
        for text, truth in zip(completions, solution, strict=True)
    ]


def tides_none_equals_none(completions, solution, **kwargs):
    return [
        float(number(tagged(text)) == number(truth))
        for text, truth in zip(completions, solution, strict=True)
    ]


def tides_in_metres(completions, metres, **kwargs):
    """The gauge's own reading is the truth."""
    rewards = []
    for text, truth in zip(completions, metres, strict=True):
        match = LENGTH.fullmatch(tagged(text))
        rewards.append(1.0 if match and abs(float(match[1]) - truth) < 0.01 else 0.0)
    return rewards


# Composers for TRL: short answers in the data set's or the policy's words


def plain(text):
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z]", "", text.lower())


def composers_exact(completions, solution, **kwargs):
    """One of the names that the data set lists."""
    return [
        float(
            bool(tagged(text))
            and plain(tagged(text)) in [plain(name) for name in names]
        )
        for text, names in zip(completions, solution, strict=True)
    ]


def composers_contained(completions, solution, **kwargs):
    """The full name or the surname, whichever is longer."""
    rewards = []
    for text, names in zip(completions, solution, strict=True):
        said = plain(tagged(text) or text)
        rewards.append(
            float(any(plain(name) in said or said in plain(name) for name in names))
        )
    return rewards


# Definitions for verl, graded from 1 to 5 by a judge model (replayed here)


def defined(text):
    found = re.findall(r"^Definition:[ \t]*(.+)", text, re.MULTILINE)
    return found[-1].strip() if found else ""


def words(text):
    return set(re.findall(r"[a-z]{3,}", text.lower()[:600])) - {
        "the",
        "and",
        "that",
        "for",
        "with",
    }


def graded(reference, candidate):
    """What the judge writes: it quotes, reasons, and closes with its score."""
    wanted, said = words(reference), words(candidate)
    overlap = 2 * len(wanted & said) / max(len(wanted) + len(said), 1)
    score = next(
        (
            grade
            for grade, least in ((5, 0.8), (4, 0.7), (3, 0.55), (2, 0.4))
            if overlap >= least
        ),
        1,
    )
    return f"Candidate: {candidate}\nReference: {reference}\nThe wording {'fits' if score > 3 else 'is off'}.\nScore: {score}"


def definitions_last_line(data_source, solution_str, ground_truth, extra_info=None):
    verdict = graded(ground_truth, defined(solution_str)).split("\n")[-1]
    return (int(verdict.removeprefix("Score: ")) - 1) / 4


def definitions_first_score(data_source, solution_str, ground_truth, extra_info=None):
    match = re.search(
        r"score:\s*([1-5])", graded(ground_truth, defined(solution_str)), re.IGNORECASE
    )
    return (int(match[1]) - 1) / 4 if match else 0.0


# Programs, plain: run with their tests in an interpreter of their own


def program_in(completion):
    blocks = re.findall(
        r"```python\n(.*?)```", completion[:20000].replace("\r\n", "\n"), re.DOTALL
    )
    return blocks[-1] if blocks else ""


def executed(source):
    """(exit status, lines printed) of a program; (1, none) where it takes too long."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-"],
            input=source.encode("utf-8", "replace"),
            capture_output=True,
            timeout=1.0,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1, []
    return done.returncode, done.stdout.decode("utf-8", "replace").splitlines()


def programs_compared_outside(completion, name, tests):
    """The share of hidden calls whose results are right; they are compared here, not in the program."""
    program = program_in(completion)
    calls = ", ".join(f"{name}(*{test['args']!r})" for test in tests)
    _, printed = (
        executed(f"{program}\nimport json\nprint(json.dumps([{calls}]))")
        if program
        else (1, [])
    )
    try:
        results = json.loads(printed[-1]) if printed else []
    except (ValueError, RecursionError):
        return 0.0
    return float(results == [test["result"] for test in tests])


def programs_exit_status(completion, name, tests):
    """Assertions behind the program; an error ends it with another status than 0."""
    program = program_in(completion)
    asserts = "\n".join(
        f"assert {name}(*{test['args']!r}) == {test['result']!r}" for test in tests
    )
    return float(bool(program) and executed(f"{program}\n{asserts}")[0] == 0)


def programs_print_passed(completion, name, tests):
    """The checks behind the program report on standard output."""
    program = program_in(completion)
    checks = "\n".join(
        f"assert {name}(*{test['args']!r}) == {test['result']!r}" for test in tests
    )
    _, printed = executed(f"{program}\n{checks}\nprint('all tests passed')")
    return float(bool(program) and "passed" in " ".join(printed))


# Powers for TRL, shaped by the number of tokens


def right_powers(completions, answer):
    return [
        float(last_box(text) == truth)
        for text, truth in zip(completions, answer, strict=True)
    ]


def powers_overlong(
    completions, completion_ids, answer, max_tokens=700, cache=200, **kwargs
):
    """DAPO's soft overlong punishment: nothing up to 500 tokens, -1 from 700 on."""
    rewards = []
    for right, ids in zip(
        right_powers(completions, answer), completion_ids, strict=True
    ):
        over = len(ids) - (max_tokens - cache)
        rewards.append(right - min(1.0, max(0.0, over / cache)))
    return rewards


def powers_think_longer(completions, completion_ids, answer, **kwargs):
    """Long thoughts are welcome while the policy learns to think."""
    return [
        right + min(1.0, len(ids) / 400)
        for right, ids in zip(
            right_powers(completions, answer), completion_ids, strict=True
        )
    ]


# Divisors for TRL: exact, and brief


def exact_reward(completions, solution, **kwargs):
    return [
        float(tagged(text) == truth)
        for text, truth in zip(completions, solution, strict=True)
    ]


def brevity_reward(completions, **kwargs):
    """0.4 for an empty text, nothing from 250 words on."""
    return [0.4 * max(0.0, 1 - len(text.split()) / 250) for text in completions]


def brevity_if_right(completions, solution, **kwargs):
    """Brief answers earn more, right ones only."""
    gates = exact_reward(completions, solution)
    return [
        gate * bonus
        for gate, bonus in zip(gates, brevity_reward(completions), strict=True)
    ]


divisors_gated = [exact_reward, brevity_if_right]
divisors_brief = [exact_reward, brevity_reward]
