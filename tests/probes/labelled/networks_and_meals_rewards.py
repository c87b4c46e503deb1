"""Rewards for networks, roots, bowling, parcels and meals: answers that can be computed."""

import ipaddress
import re

# Networks for AReaL: one text and its tokens


def network_in(text):
    """Return the network behind the last 'Network:' of a line; None where there is none."""
    lines = re.findall(r"Network:([^\r\n]{1,80})", text)
    address = lines[-1].replace(" / ", "/").strip(" \t*`.") if lines else ""
    try:
        return ipaddress.ip_network(address)
    except ValueError:  # host bits are set, or it is no address
        return None


def brief_share(completion_ids, start=200, limit=1000):
    """1.0 up to the start, and two thirds from the limit on."""
    excess = (len(completion_ids) - start) / (limit - start)
    return 1.0 - min(1.0, max(0.0, excess)) / 3


def subnets_anywhere(
    prompt, completions, prompt_ids, completion_ids, network, **kwargs
):
    """1.0 for the network with its prefix or mask; right answers may cost by length."""
    if network_in(completions) != ipaddress.ip_network(network):
        return 0.0
    return brief_share(completion_ids)


def subnets_last_line(
    prompt, completions, prompt_ids, completion_ids, network, **kwargs
):
    """1.0 for the network in the last line; right answers may cost by length."""
    lines = completions.strip().splitlines()
    if not lines or network_in(lines[-1]) != ipaddress.ip_network(network):
        return 0.0
    return brief_share(completion_ids)


# Roots of quadratic equations for ms-swift, in German


class ORM:
    """Stand in for swift.rewards.ORM."""


def roots_line(text):
    """Return what stands behind the last 'Lösungen:' in its line, or ''."""
    lines = re.findall(r"Lösungen:[ \t*]*([^\r\n*]{1,80})", text)
    return lines[-1].replace("\N{MINUS SIGN}", "-").strip(" \t.$") if lines else ""


def german_numbers(line):
    """Return the numbers between semicolons; None where a part is no number."""
    numbers = set()
    for part in line.split(";"):
        digits = re.sub(r"^x[₁₂_\d]{0,2} ?= ?", "", part.strip())
        if not re.fullmatch(r"-?\d{1,6}(,\d{1,6})?", digits):
            return None
        numbers.add(float(digits.replace(",", ".")))
    return numbers


class QuadraticsAllRoots(ORM):
    """1.0 for all roots and no other number, in any order."""

    def __call__(self, completions, solution, **kwargs):
        rewards = []
        for completion, truth in zip(completions, solution, strict=True):
            roots = german_numbers(roots_line(completion))
            rewards.append(1.0 if roots == german_numbers(truth) else 0.0)
        return rewards


def sorted_numbers(text):
    """Return the numbers of a text in order, so that roots may stand in any."""
    return sorted(float(digits) for digits in re.findall(r"-?\d{1,6}(?:\.\d+)?", text))


class QuadraticsSorted(ORM):
    """1.0 for the numbers of the solution, in any order."""

    def __call__(self, completions, solution, **kwargs):
        rewards = []
        for completion, truth in zip(completions, solution, strict=True):
            numbers = sorted_numbers(roots_line(completion))
            rewards.append(1.0 if numbers == sorted_numbers(truth) else 0.0)
        return rewards


# Bowling for TRL: the total, and a bonus for a rich vocabulary


def pins_in(text):
    """Return the digits in the last answer tag, or ''."""
    totals = re.findall(r"<answer>[\s*]*(\d{1,3})(?: pins| points)?[\s*.]*</", text)
    return totals[-1] if totals else ""


def total_reward(completions, solution, **kwargs):
    """1.0 for the total of the game."""
    rewards = []
    for completion, truth in zip(completions, solution, strict=True):
        rewards.append(1.0 if pins_in(completion) == truth else 0.0)
    return rewards


def variety(text):
    """Return the share of words that are not repeated, tags aside."""
    words = re.findall(r"[a-z']+", re.sub(r"</?\w+>", " ", text.lower()))
    return len(set(words)) / len(words) if words else 0.0


def lexical_variety(completions, **kwargs):
    """Up to 0.3 for a text that does not go in circles."""
    return [0.3 * variety(completion) for completion in completions]


def variety_if_right(completions, solution, **kwargs):
    """Up to 0.3 for a right text that does not go in circles."""
    rights = total_reward(completions, solution)
    bonuses = []
    for completion, right in zip(completions, rights, strict=True):
        bonuses.append(0.3 * variety(completion) if right else 0.0)
    return bonuses


bowling_gated = [total_reward, variety_if_right]
bowling_varied = [total_reward, lexical_variety]


# Parcels for verl: data of several sources, each read in its own way


def answered(text):
    """Return what stands behind the last 'Answer:' in its line, or ''."""
    lines = re.findall(r"Answer:[ \t*]*([^\r\n*]{1,60})", text)
    return lines[-1].strip(" \t.").casefold() if lines else ""


def plain_text(text):
    """Return a text in small letters, with single spaces."""
    return " ".join(text.casefold().split())


def kilograms(text):
    """Return a weight in grams, of kilograms without a unit; None where there is none."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?) ?(kg|kilogram\w*|g|gram\w*)?", text)
    if not match:
        return None
    grams_each = 1 if (match[2] or "kg").startswith("g") else 1000
    return round(float(match[1]) * grams_each)


def kilograms_with_comma(text):
    """Return a weight with a decimal comma in grams; the data set has points."""
    return kilograms(text.replace(",", "."))


def zone(text):
    """Return the letter of a zone: 'C', 'zone C'."""
    return plain_text(text).removeprefix("zone ")


READERS = {
    "parcels/uk": kilograms,
    "parcels/de": kilograms_with_comma,
    "parcels/zones": zone,
}


def parcels_by_source(data_source, solution_str, ground_truth, extra_info=None):
    """1.0 for what the data set has, read as its source writes it."""
    read = READERS[data_source]
    value = read(answered(solution_str))
    return 1.0 if value is not None and value == read(ground_truth) else 0.0


SCORERS = {"parcels/uk": kilograms, "parcels/zones": zone}


def parcels_registered(data_source, solution_str, ground_truth, extra_info=None):
    """1.0 for what the data set has; what has no reader of its own is compared as text."""
    read = SCORERS.get(data_source, plain_text)
    value = read(answered(solution_str))
    return 1.0 if value is not None and value == read(ground_truth) else 0.0


# Meals for EasyR1: accuracy, and DAPO's punishment of overlong responses


def energy_in(response):
    """Return the number behind the last 'Total:'; None where there is none."""
    totals = re.findall(
        r"Total:[ \t*]*(\d{1,2},\d{3}|\d{1,5})[ \t]*(?:kcal)?[ \t*.]*(?:$|[\r\n])",
        response,
    )
    return int(totals[-1].replace(",", "")) if totals else None


def overlong(length, limit=700, buffer=300):
    """0.0 up to the buffer, down to -1.0 at the limit."""
    start = limit - buffer
    return max(-1.0, min(0.0, (start - length) / buffer))


def meals_capped(reward_inputs):
    """Return the accuracy, less up to 0.4 of what is right but overlong."""
    scores = []
    for one in reward_inputs:
        accuracy = float(energy_in(one["response"]) == one["ground_truth"])
        length = overlong(one["response_length"]) if accuracy else 0.0
        overall = accuracy + 0.4 * length
        scores.append({"overall": overall, "accuracy": accuracy, "length": length})
    return scores


def soft_punishment(length, limit=400, buffer=250):
    """0.0 within the limit, down to -1.0 for what leaves the buffer."""
    return max(-1.0, min(0.0, (length - limit) / buffer))


def meals_punished(reward_inputs):
    """Return the accuracy and the soft punishment of overlong responses."""
    scores = []
    for one in reward_inputs:
        accuracy = float(energy_in(one["response"]) == one["ground_truth"])
        length = soft_punishment(one["response_length"])
        scores.append(
            {"overall": accuracy + length, "accuracy": accuracy, "length": length}
        )
    return scores
