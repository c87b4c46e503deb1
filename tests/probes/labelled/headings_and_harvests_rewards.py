"""Rewards for scarves, headings, harvests, turnouts and fallacies: where an answer stands, and how it is read."""

import re

# Scarves for AReaL: stitches behind '####', as in GSM8K

STITCHES = re.compile(
    r"####[ \t*]*(\d{1,3}(?:,\d{3})+|\d{1,6})(?: stitches)?[*. \t\r]*$", re.MULTILINE
)


def stitches_in(text, start=0):
    """Return the last number behind '####' from a place on; None without one."""
    numbers = [match[1] for match in STITCHES.finditer(text, start)]
    return int(numbers[-1].replace(",", "")) if numbers else None


def scarves_dialogue(
    prompt, completions, prompt_ids, completion_ids, stitches, **kwargs
):
    """1.0 for the number; the prompt shows an example, so reading begins behind it."""
    dialogue = prompt + completions
    return float(stitches_in(dialogue, start=len(prompt)) == stitches)


def scarves_tail(prompt, completions, prompt_ids, completion_ids, stitches, **kwargs):
    """1.0 for the number, which stands at the end."""
    return float(stitches_in(completions[-100:]) == stitches)


# Headings for OpenRLHF: the prompt holds another's entry in the same form

HEADING = re.compile(
    r"^[*_> ]*Heading:[*_ ]*(\d{1,3})(?: ?°| degrees)?[*_. \r]*$",
    re.MULTILINE | re.IGNORECASE,
)


def heading_in(text):
    """Return the degrees of the last 'Heading:' line, 0 to 359, or None."""
    headings = HEADING.findall(text)
    if not headings or int(headings[-1]) > 360:
        return None
    return int(headings[-1]) % 360


def headings_answered(queries, prompts, labels, **kwargs):
    """1.0 for the heading that the completion gives."""
    rewards = []
    for query, prompt, label in zip(queries, prompts, labels, strict=True):
        heading = heading_in(query[len(prompt) :])
        rewards.append(1.0 if heading == int(label) % 360 else 0.0)
    return {"rewards": rewards, "scores": rewards}


def headings_last_entry(queries, prompts, labels, **kwargs):
    """1.0 where the last entry of the query is right."""
    rewards = []
    for query, label in zip(queries, labels, strict=True):
        heading = heading_in(query)
        rewards.append(1.0 if heading == int(label) % 360 else 0.0)
    return {"rewards": rewards, "scores": rewards}


# Harvests for ms-swift, in the numbers of five countries


class ORM:
    """Stand-in for ms-swift's class."""


YIELD = re.compile(
    r"^[* ]*(?:Result|Ergebnis|Résultat|النتيجة) ?:[* ]*(\S[^*\n]{0,30}?)\s?(?:t|طن)[*. \r]*$",
    re.MULTILINE,
)
SPACES = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
GROUPS = {"en_US": ",", "de_DE": ".", "de_CH": "'’", "fr_FR": "", "ar_EG": "٬,"}


def written_yield(completion):
    """Return the last number of tonnes as it is written, or ''."""
    numbers = YIELD.findall(completion)
    return numbers[-1].strip(" ") if numbers else ""


class HarvestsByLocale(ORM):
    """1.0 for the tonnes, with the groups of the prompt's country and any decimal mark."""

    def __call__(self, completions, tonnes, locale, **kwargs):
        rewards = []
        for text, truth, country in zip(completions, tonnes, locale, strict=True):
            group = rf"(?<=\d)[{SPACES}{GROUPS[country]}](?=\d{{3}}(?!\d))"
            number = re.sub(group, "", written_yield(text))
            number = re.sub("[,٫]", ".", number)
            is_number = re.fullmatch(r"\d{1,9}(\.\d{1,3})?", number)
            is_right = is_number and abs(float(number) - truth) < 0.01
            rewards.append(1.0 if is_right else 0.0)
        return rewards


class HarvestsCommaOrPoint(ORM):
    """1.0 for the tonnes; of comma and point, the last one is the decimal mark."""

    def __call__(self, completions, tonnes, **kwargs):
        rewards = []
        for text, truth in zip(completions, tonnes, strict=True):
            number = written_yield(text).replace(" ", "")
            if number.rfind(",") > number.rfind("."):
                number = number.replace(".", "").replace(",", ".")
            number = number.replace(",", "")
            is_number = re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,3})?", number)
            is_right = is_number and abs(float(number) - truth) < 0.01
            rewards.append(1.0 if is_right else 0.0)
        return rewards


# Turnouts for EasyR1: the data set holds shares of two offices, each in its own way

TURNOUT = re.compile(
    r"^[* ]*Turnout:[* ]*(\d{1,3}(?:[.,]\d{1,2})?) ?(?:%|per ?cent)?[*. \r]*$",
    re.MULTILINE | re.IGNORECASE,
)


def turnout_in(response):
    """Return the last turnout near the end, in percent; None without one."""
    numbers = TURNOUT.findall(response[-1500:])
    return float(numbers[-1].replace(",", ".")) if numbers else None


def share(text):
    """Return '57.8%' and '0.578' as the same share."""
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def scores_of(reward_inputs, is_right):
    """0.9 for the turnout to a tenth of a percent, 0.1 for its line."""
    scores = []
    for reward_input in reward_inputs:
        percent = turnout_in(reward_input["response"])
        form, accuracy = 0.0, 0.0
        if percent is not None:
            form = 1.0
            accuracy = float(is_right(percent, reward_input["ground_truth"]))
        overall = 0.9 * accuracy + 0.1 * form
        scores.append({"overall": overall, "format": form, "accuracy": accuracy})
    return scores


def turnouts_as_shares(reward_inputs):
    """Compare shares, in percent or not."""
    return scores_of(
        reward_inputs, lambda percent, truth: abs(percent / 100 - share(truth)) < 0.0006
    )


def turnouts_in_percent(reward_inputs):
    """Compare percents."""
    return scores_of(
        reward_inputs,
        lambda percent, truth: abs(percent - float(truth.rstrip("%"))) < 0.06,
    )


# Fallacies for OpenAI's graders: names differ, so a judge (replayed here) compares


def comparison(given, accepted):
    """Write what the judge writes of a name and the accepted ones."""
    names = [name.lower() for name in accepted]
    is_same = given.lower().replace("-", " ").removesuffix(" fallacy") in names
    verdict = "equivalent" if is_same else "not equivalent"
    return f"Given: {given}\nAccepted: {', '.join(accepted)}\nVerdict: {verdict}"


def fallacies_compared(sample, item):
    """1.0 where the judge's last line says that the named fallacy is the right one."""
    lines = re.findall(r"^[* ]*Fallacy:(.*)$", sample["output_text"], re.MULTILINE)
    given = lines[-1].strip(" \t\r*.'\"")[:60] if lines else ""
    if not given:
        return 0.0
    last_line = comparison(given, item["fallacy"]).splitlines()[-1]
    return 1.0 if last_line == "Verdict: equivalent" else 0.0


def fallacies_named(sample, item):
    """1.0 where one of the fallacy's names is in the answer."""
    text = sample["output_text"].lower()
    return 1.0 if any(name.lower() in text for name in item["fallacy"]) else 0.0
