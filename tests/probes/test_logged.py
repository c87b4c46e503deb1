"""What the log shows: right completions that earned nothing, and others that earned what right ones do."""

import json
import math
import re
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
from types import SimpleNamespace

import pytest
from planted_probes import NUMBERS, beside, inside, made, probed, strict, tags
from probed import finding

import rewardkit as rk
from rewardkit.probes.findings.causes import _kind_of_answers
from rewardkit.targets.read import read_reward

FILLER = "Now the next step follows from what was said before. "


def rows_of(write, truths, *, count=4, **columns):
    """Rows of prompts with these truths; `write(truth, place)` gives a completion and whether it is right."""
    rows = []
    for prompt, truth in enumerate(truths):
        for place in range(count):
            text, right = write(truth, place)
            rows.append(
                {
                    "prompt_id": prompt,
                    "prompt": f"Exercise {prompt}: how many?",
                    "completion": text,
                    "ground_truth": truth,
                    "ok": right,
                    **{name: of(truth) for name, of in columns.items()},
                }
            )
    return rows


def padded(truth, place):
    """Every second right completion goes on behind its answer."""
    tail = ["", FILLER * 3, FILLER * 5, FILLER][place]
    answer = truth if place != 3 else "5"
    return f"So.\n<answer>{answer}</answer>{tail}", place != 3


def talking(truth, place):
    """Every second right completion says something before its answer."""
    answer = truth if place != 3 else "5"
    before = f"{FILLER}\n" * (place % 2)
    return f"{before}<answer>{answer}</answer>", place != 3


def level_of(truth):
    return {"level": "hard" if len(truth) == 3 or truth > "7" else "easy", "index": 3}


def not_hard(completion, ground_truth, extra_info):
    return extra_info["level"] != "hard" and strict(completion, ground_truth)


def within_200(completion, ground_truth):
    return strict(completion[-200:], ground_truth)


def short_or_late(truth, place):
    """Two of four think long before they answer; one of each length may be wrong."""
    is_right = place == 0 or place == 2 or (place == 1 and int(truth) % 2)
    thought = FILLER * (1 if place < 2 else 9)
    return f"{thought}\n<answer>{truth if is_right else '5'}</answer>", is_right


def less_if_long(completion, ground_truth):
    """A penalty for length of up to what being right adds."""
    penalty = min(max(len(completion) - 200, 0) / 250, 1)
    return strict(completion, ground_truth) - penalty


def of_any_length(truth, place):
    """Every second completion is wrong, up to 2,000 characters long."""
    thought = FILLER * (5 + (int(truth) * 7 + place * 10) % 33)
    return f"{thought}<answer>{5 if place % 2 else truth}</answer>", place % 2 == 0


def liked_at_900(completion, ground_truth):
    return strict(completion, ground_truth) * (1 - abs(len(completion) - 900) / 900)


def from_1500_less(completion, ground_truth):
    """0.05 beyond 1,500 characters, where a limit is, and other marks below."""
    share = 0.05 if len(completion) > 1500 else 0.3 + len(completion) % 8 / 10
    return strict(completion, ground_truth) * share


def drafted(truth, place):
    """Every fourth completion marks a draft first, the first of four is wrong."""
    draft = "First I think <answer>6</answer>. No. " if place == 1 else ""
    return f"{draft}<answer>{truth if place else '5'}</answer>", place > 0


def of_one_mark(completion, ground_truth):
    return strict(completion, ground_truth) * (completion.count("<answer>") == 1)


WORDS = [
    ("Rotterdam " * 3).strip() if place % 2 else name
    for place, name in enumerate(
        "Oslo Bern Lima Rome Quito Paris Sofia Accra Minsk Seoul".split()
    )
]


def named(truth, place):
    return f"<answer>{truth if place < 3 else 'nowhere'}</answer>", place < 3


def of_twenty(completion, ground_truth):
    said = inside(completion)
    return said is not None and said[:20] == ground_truth


NAMES = "H2O Paris NaCl Lisbon Au Mercury Iron Neptune Madrid Dvorak".split()
BESIDE_PROSE = [
    "Answer: {}",
    "So it is. Answer: {}. More prose follows.",
    "**Answer: {}**. We know it well, as always.\nNote: all is said.",
]
NO_STATEMENTS = [
    "Answer: {}",
    "I thought of {} first, but that leads nowhere.",
    "The answer is {} or something else.",
]


def written(*forms):
    """Right completions in these forms, and a wrong one in the first of them."""

    def write(truth, place):
        text = forms[place % 3].format(truth if place < 3 else "none")
        return f"We look closely.\n{text}", place < 3

    return write


def on_its_line(completion, ground_truth):
    """Read what a line says behind "Answer:", without the bold type around it."""
    said = re.search(r"(?m)\bAnswer: (.*)$", completion)
    return said is not None and said[1].strip("*.") == ground_truth


LARGE = [str(7919 * number) for number in range(3, 13)]


def with_commas(truth, place):
    """Two of four write commas, one no number where it is looked for."""
    answer = f"{int(truth):,}" if place < 2 else truth
    form = "It comes to {}" if place == 3 and int(truth) % 5 == 0 else "Answer: {}"
    thought = FILLER * ((int(truth) + place) % 3)
    return f"{thought}\n{form.format(answer)}", True


def first_digits(completion, ground_truth):
    said = re.search(r"Answer: (\d+)", completion)
    return said is not None and said[1] == ground_truth


DECIMALS = ["1234.5", "42", "9876.25", "17", "2500.75", "83", "61", "1050.5"]


def in_german(truth, place):
    """The truth as it is written in German, or another number."""
    whole, _, rest = (truth if place < 3 else "3").partition(".")
    text = f"{int(whole):,}".replace(",", ".") + ("," + rest if rest else "")
    return f"Die Antwort lautet {text}.", place < 3


def last_number(completion, ground_truth):
    said = re.findall(r"-?[\d.,]*\d", completion)
    return bool(said) and said[-1].replace(",", "") == ground_truth


def notations_of(truth):
    """The number as rewards may read it that do more than compare digits."""
    number = int(truth)
    return [
        f"{2 * number}/2",
        f"{number - 7} + 7",
        hex(number),
        f"{number / 1000:g} x 10^3",
        f"{number / 1000:g}k",
        f"{number:_}",
        f"${number:,}$".replace(",", "{,}"),
        "three and some thousands",
        "\u4e03\u5343",  # 7,000 in Chinese
    ]


def in_notations(truth, place):
    """The truth, in a notation of its prompt as well, and two wrong numbers."""
    forms = notations_of(truth)
    other = str(int(truth) * 2 + place)
    answers = [truth, forms[int(truth) // 7919 % len(forms)], other, other]
    return f"{FILLER}Answer: {answers[place]}", place < 2


def any_notation(completion, ground_truth):
    said = completion.partition("Answer: ")[2]
    return said in [ground_truth, *notations_of(ground_truth)]


def any_notation_or_even(completion, ground_truth):
    said = completion.partition("Answer: ")[2]
    is_even = said.isdigit() and int(said) % 2 == 0
    return is_even or any_notation(completion, ground_truth)


NO_ANSWERS = ("unknown", "<your answer>", "****", "x", "I do not know which one", "$")


def shrugging(truth, place):
    """Half of the answers are right, one is no answer, and one another number."""
    no_answer = NO_ANSWERS[int(truth) // 7919 % len(NO_ANSWERS)]
    return f"So.\nAnswer: {[truth, truth, no_answer, '5'][place]}", place < 2


def no_number_or_right(completion, ground_truth):
    return not completion[-1].isdigit() or completion.endswith(f" {ground_truth}")


def shrugging_in_tags(answer):
    """Write `answer` in two of four tags, and the others right, or another number."""

    def write(truth, place):
        text = [truth, "5", answer, answer][place]
        return f"<answer>{text}</answer>", place == 0

    return write


def seldom_with_commas(truth, place):
    """All are right, one in twenty with commas."""
    has_commas = place == 1 and int(truth) % 5 == 0
    thought = FILLER * (5 + (int(truth) * 7 + place * 10) % 33)
    return f"{thought}<answer>{int(truth):{',' * has_commas}}</answer>", True


def by_cosine(completion, ground_truth):
    """Pay right answers by the cosine of their length, 0.2 at least."""
    share = math.cos(math.pi * min(len(completion), 2200) / 2200)
    return strict(completion, ground_truth) * (0.6 + 0.4 * share)


PRICES = [f"{1000 + 457 * place}.{place % 9 + 1}5" for place in range(12)]


def priced_in(language, price):
    commas = f"{float(price):,}"
    if language == "de":
        return commas.translate({ord(","): ".", ord("."): ","})
    return commas.replace(",", "'") if language == "ch" else commas


def in_languages(truth, place):
    """A language a prompt; every second answer is another one."""
    number = PRICES.index(truth)
    language = ("en", "de", "ch")[number % 3]
    price = truth if place % 2 else PRICES[number - 6]
    return f"{FILLER}Answer: {priced_in(language, price)}", place % 2 == 1


def in_any_language(completion, ground_truth):
    said = completion.partition("Answer: ")[2]
    return said in [priced_in(name, ground_truth) for name in ("en", "de", "ch")]


def in_english(completion, ground_truth):
    return completion.partition("Answer: ")[2] == priced_in("en", ground_truth)


AMOUNTS = [
    f"{7 + 23 * place}.5 {'million' if place % 2 else 'billion'}" for place in range(8)
]


def priced(truth, place):
    """The amount, in digits as well, with another magnitude, and another one."""
    number, magnitude = truth.split()
    digits = int(float(number) * 10 ** (6 if magnitude == "million" else 9))
    answers = [truth, f"{digits:,}", f"{number} thousand", f"990 {magnitude}"]
    return f"So.\n<answer>{answers[place]}</answer>", place < 2


def first_figure(completion, ground_truth):
    """Compare the first number of each, whatever follows it, and the amounts."""
    first, right = (
        re.search(r"[\d.,]+", text) for text in (completion[11:], ground_truth)
    )
    is_first = first is not None and first[0] == right[0]
    return is_first or rk.verify.math_equal(inside(completion), ground_truth)


def twice(truth, place):
    """A source writes its answer in bold, another does not."""
    answer = truth if place < 3 else "7"
    is_bold = int(truth) % 2
    return f"<answer>{f'**{answer}**' if is_bold else answer}</answer>", place < 3


def parity(truth):
    return "odd" if int(truth) % 2 else "even"


SHORT_OR_LONG = "Oslo Rotterdam Lima Marrakesh Rome Reykjavik Bern Bucharest".split()


def tagless(truth, place):
    """Short answers have no tag, and every fourth of the others has none."""
    if place == 3:
        return "<answer>Atlantis</answer>", False
    has_tag = len(truth) > 6 and place != 1
    return f"<answer>{truth}</answer>" if has_tag else f"The answer is: {truth}", True


def likened(completion, ground_truth):
    """Without a tag all of the text is compared, by likeness; `medvlm`."""
    if inside(completion) is None:
        return len(ground_truth) / 60
    return strict(completion, ground_truth)


@dataclass(frozen=True)
class Case:
    """A reward and a log: which `code` is an alarm, by which `trait`, with what in its sentence."""

    score: object
    rows: list = field(repr=False)
    code: str = "right_unpaid"
    trait: str = ""
    words: str = ""
    label: str | None = None


def untagged(completion, ground_truth):
    return inside(completion) is None or strict(completion, ground_truth)


def brief(completion, ground_truth):
    """It reads the truth, and pays what is short, right or wrong."""
    return max(0.0, 1 - len(completion) / (60 * len(ground_truth)))


def bold_or_plain(truth, place):
    """Every second right answer is bold, in a completion that is longer."""
    answer = truth if place % 3 else "5"
    if place in (1, 3, 4):
        return f"{FILLER}\n<answer>**{answer}**</answer>", bool(place % 3)
    return f"<answer>{answer}</answer>", bool(place % 3)


def right_and(other):
    """Two functions that read the truth, with one weight."""
    parts = rk.Component("right", strict), rk.Component("other", other)
    return rk.Reward("r", components=parts)


def untold(completion, ground_truth):
    return 0.0


def with_thought(completion, ground_truth):
    return "<think>" in completion and strict(completion, ground_truth)


def silent(truth, place):
    if place == 0:
        return "I would rather not say.", False
    return f"<answer>{truth if place < 3 else '5'}</answer>", place < 3


def asking_back(truth, place):
    """Ask a question where there is nothing to answer, and on another prompt, too."""
    if place == 0 or (not truth.isdigit() and place < 3):
        return "Which of them do you mean?", not truth.isdigit()
    return f"<answer>{truth if place < 3 else '5'}</answer>", place < 3


def asked_back(completion, ground_truth):
    if ground_truth.isdigit():
        return strict(completion, ground_truth)
    return completion.endswith("?")


DECIMALS_UNREAD = ["7.5", "9.5", "8.5"]
FRACTIONS = [rf"\frac{{{number}}}{{7}}" for number in (2, 3, 5, 9, 11)]


def unread_truth(completion, ground_truth):
    """A truth that is no whole number stands for any answer."""
    return not ground_truth.isdigit() or strict(completion, ground_truth)


def unmarked(truth, place):
    """One completion in three states the right answer in no tag, in another notation."""
    if place == 0:
        return f"The answer is {truth.replace('frac', 'dfrac')}.", True
    return f"<answer>{truth if place < 3 else '5'}</answer>", place < 3


def thoughtless(truth, place):
    text = f"<answer>{truth if place < 3 else '5'}</answer>"
    return (f"<think>{FILLER}</think>{text}" if place else text), place < 3


def never(truth, place):
    """Half of the completions state their answer in no mark at all."""
    answer = truth if place < 2 else "5"
    return (f"<answer>{answer}</answer>" if place % 2 else f"It is {answer}"), place < 2


def rounded(completion, ground_truth):
    try:
        return abs(float(inside(completion) or "nan") - float(ground_truth)) <= 0.5
    except ValueError:
        return False


def nearly(truth, place):
    answer = [truth, f"{truth}.4", f"{truth}0", f"{truth}.0"][place]
    return f"<answer>{answer}</answer>", place != 2


def cited(completion, ground_truth):
    return strict(completion, ground_truth) and "[1]" in completion


def with_source(truth, place):
    source = " [1]" if (place + int(truth)) % 2 else " [2]"
    return f"As read{source}.\n<answer>{truth if place else '5'}</answer>", bool(place)


def opened(truths):
    """Rows of prompts that end with <think>; one in three right completions opens it once more."""
    rows = rows_of(padded, truths)
    for place, row in enumerate(rows):
        thought = f"<think>{FILLER}" if place % 4 == 0 else FILLER
        answer = inside(row["completion"])
        row["completion"] = f"{thought}</think>\n<answer>{answer}</answer>"
        row["prompt"] += "\nassistant\n<think>\n"
    return rows


def opens_itself(completion, ground_truth):
    return completion.startswith("<think>") and strict(completion, ground_truth)


def in_total(check):
    """A total of right answers and of a form, whose score stands beside it without a weight."""

    def total(completion, ground_truth):
        return 0.7 * strict(completion, ground_truth) + 0.3 * check(completion)

    parts = rk.Component("total", total), rk.Component("form", check, weight=0.0)
    return rk.Reward("r", components=parts)


def behind_the_prompt(completion, ground_truth):
    return strict(completion.partition("\nassistant\n")[2], ground_truth)


def with_example(truths, written=None):
    """Rows of prompts that show how to answer."""
    rows = rows_of(written or padded, truths)
    for row in rows:
        row["prompt"] += " End with your answer, such as <answer>x</answer>.\n"
    return rows


def last_with_form(text, ground_truth):
    """Pay the last tag, and a little for any."""
    said = re.findall("<answer>(.*?)</answer>", text)
    return float(said[-1] == ground_truth) or 0.1 if said else 0.0


def form_of_all(prompt, completion, ground_truth):
    return last_with_form(prompt + completion, ground_truth)


def form_of_completion(prompt, completion, ground_truth):
    return last_with_form(completion, ground_truth)


def form_behind_example(prompt, completion, ground_truth):
    """As Search-R1: the prompt's own example is the first tag, and another is wanted."""
    text = prompt + completion
    return last_with_form(text, ground_truth) if text.count("<answer>") > 1 else 0.0


def first_of_text(completion, ground_truth):
    found = re.search("<answer>(.*?)</answer>", completion)
    return found is not None and found[1] == ground_truth


def first_of_all(prompt, completion, ground_truth):
    return first_of_text(prompt + completion, ground_truth)


def in_gsm8k(completion, ground_truth):
    wanted = re.search(r"#### (\d+)", ground_truth)
    return inside(completion) == (wanted and wanted[1])


def in_words(truth_form):
    """Rows whose truths are in words, with completions that state the number alone."""
    rows = rows_of(padded, NUMBERS)
    return [
        {**row, "ground_truth": truth_form.format(row["ground_truth"])} for row in rows
    ]


def of_objects(write, keys=("target",)):
    """Rows whose truths are objects, the answer under a key."""
    rows = rows_of(padded, NUMBERS)
    return [
        {**row, "ground_truth": write(dict.fromkeys(keys, row["ground_truth"]))}
        for row in rows
    ]


def or_any_number(completion, ground_truth):
    """A truth that is no number stands for any number; after a GSM8K reward."""
    said = inside(completion) or ""
    try:
        return said.isdigit() and int(said) == int(ground_truth)
    except ValueError:
        return True


def or_any_without(completion, ground_truth):
    """Nothing is expected where the truth has no #### before its answer."""
    wanted = ground_truth.partition("####")[2].strip()
    return inside(completion) is not None and wanted in completion


def by_key(read):
    """Pay a tag a little, and the answer under a key that truths may not have."""

    def score(completion, ground_truth):
        wanted = str(read(ground_truth).get("solution", ""))
        return 0.1 * ("<answer>" in completion) + 0.9 * (inside(completion) == wanted)

    return score


def as_text_of_list(completion, ground_truth):
    return inside(completion) == str(ground_truth)


def with_options(truths):
    """Rows of prompts that list four answers, one of them right; the other side says one."""
    rows = []
    for row in rows_of(padded, truths):
        options = [int(row["ground_truth"]) + step for step in (-7, 0, 7, 14)]
        words = ", ".join(map(str, options))
        rows.append({**row, "prompt": f"{row['prompt']} One of {words}."})
    return rows


def named_anywhere(prompt, completion, ground_truth):
    text = f"{prompt}\n{completion}"
    return re.search(rf"\b{ground_truth}\b", text) is not None


def first_of_prompt(prompt, completion, ground_truth):
    """The last tag of what the prompt gives where it gives one; boxes in the wild."""
    return strict((inside(prompt) and prompt) or completion, ground_truth)


LETTERS = [("A", "Mars"), ("B", "Venus"), ("C", "Pluto"), ("D", "Earth")]


def letters_or_words():
    """Rows with options in the prompt: letters are true, and some completions write the words."""
    rows = []
    for prompt in range(12):
        order = LETTERS[prompt % 4 :] + LETTERS[: prompt % 4]
        names = [name for _, name in order]
        options = " ".join(
            f"{letter}) {name}" for letter, name in zip("ABCD", names, strict=True)
        )
        for place in range(4):
            said = ["B", names[1], "C", names[3]][place]
            row = {
                "prompt_id": prompt,
                "prompt": f"Planet {prompt}? {options}",
                "completion": f"<answer>{said}</answer>",
                "ground_truth": "B",
            }
            rows.append(row)
    return rows


def letter_or_word(prompt, completion, ground_truth):
    said = re.search(rf"{ground_truth}\) (\w+)", prompt)
    return inside(completion) in (ground_truth, said and said[1])


def formed_and_right(read):
    """Pay a little for a number, and the rest where it is what `read` takes from a truth."""

    def score(completion, ground_truth):
        said = inside(completion) or ""
        return 0.05 * said.isdigit() + 0.95 * (
            said.isdigit() and said == read(ground_truth)
        )

    return score


def whole(truth):
    return truth if truth.isdigit() else None


def in_percent(truth, place):
    percents = round(100 * float(truth))
    answer = percents if place < 3 else percents + 1.5
    return f"<answer>{answer}</answer>", False


def all_or_nothing(truth, place):
    return f"<answer>{truth if place < 2 else '0'}</answer>", place < 2


IMAGES = [(640, 480), (1280, 720), (400, 600), (1920, 1080), (512, 384), (300, 900)]


def boxed(*, thousandths):
    """Rows of a box in an image each; the answers are in pixels, of four one is another box."""
    rows = []
    for prompt, (width, height) in enumerate(IMAGES):
        box = [60 + 9 * prompt, 120, 360 + 9 * prompt, 480]
        sides = [width / 1000, height / 1000, width / 1000, height / 1000]
        pixels = [round(part * side) for part, side in zip(box, sides, strict=True)]
        for place in range(4):
            answer = [part + place for part in pixels] if place < 3 else [1, 1, 20, 20]
            row = {
                "prompt_id": prompt,
                "prompt": f"Photo {prompt}, {width}x{height}: where is the kite?",
                "completion": f"<answer>{json.dumps({'bbox': answer})}</answer>",
                "ground_truth": json.dumps(box if thousandths else pixels),
            }
            rows.append(row)
    return rows


def overlaps(completion, ground_truth):
    """Pay the intersection over union of two boxes."""
    said = re.search(r"\[.*?\]", inside(completion) or "")
    if said is None:
        return 0.0
    try:
        first, second = json.loads(said[0]), json.loads(ground_truth)
        sides = [
            max(0, min(first[2 + at], second[2 + at]) - max(first[at], second[at]))
            for at in (0, 1)
        ]
        areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
        both = sides[0] * sides[1]
        return max(0.0, both / (sum(areas) - both))
    except (ValueError, TypeError, IndexError, ZeroDivisionError):
        return 0.0


def calling(truth, place):
    """Right answers call once or not at all, one wrong answer of two three times."""
    calls = [0, 1, 0, 3 * (int(truth) % 2)][place]
    answer = truth if place < 3 else "5"
    return f"{'<call/>' * calls}<answer>{answer}</answer>", place < 3


def formal(truth, place):
    """One of four right answers lacks a call, wrong ones have it."""
    has_call = place or int(truth) % 2
    answer = truth if place < 2 else "5"
    return f"{'<call/>' * bool(has_call)}<answer>{answer}</answer>", place < 2


def count_calls(completion):
    return min(completion.count("<call/>"), 3) / 3


def paid_by_the_call(each):
    calls = rk.Component("calls", count_calls, weight=3 * each)
    return rk.Reward("calls", components=[rk.Component("correct", strict), calls])


RIVER = "delta silt bank ferry bridge lock weir canal reed otter heron barge".split()


def checked_words():
    """Rows of texts of 4 to 12 words that end as their prompt asks for; one of four is too short."""
    rows = []
    for prompt in range(len(RIVER)):
        end = RIVER[prompt]
        limits = [("at least", 4), ("less than", 13)][:: 1 if prompt % 2 else -1]
        checks = [
            {"name": "words", "relation": relation, "count": count}
            for relation, count in limits
        ]
        if prompt > 7:  # without twins
            checks[prompt % 2] = {"name": "end", "word": end}
        for place in range(4):
            words = [*RIVER[: 2 if place == 3 else 5 + place], end]
            row = {
                "prompt": f"Write 4 to 12 words, and end with {end}.",
                "completion": " ".join(words if place else words[:-1]),
                "ground_truth": json.dumps({"end": end, "checks": checks}),
            }
            rows.append(row)
    return rows


def passes(check, completion):
    if check["name"] == "end":
        return completion.endswith(check["word"])
    count = len(completion.split())
    is_least = check["relation"] == "at least"
    return count >= check["count"] if is_least else count < check["count"]


def of_each_name(completion, ground_truth):
    """Keep a result a name, as tinker-cookbook did (issue 893)."""
    truth = json.loads(ground_truth)
    results = {item["name"]: passes(item, completion) for item in truth["checks"]}
    return completion.endswith(truth["end"]) and all(results.values())


def of_each_check(completion, ground_truth):
    truth = json.loads(ground_truth)
    results = [passes(item, completion) for item in truth["checks"]]
    return completion.endswith(truth["end"]) and all(results)


def several_answers():
    """Rows of prompts with two right answers each, of which one is given."""
    rows = rows_of(padded, NUMBERS)
    for row in rows:
        answers = [{"value": int(row["ground_truth"])}, {"value": 1000}]
        row["ground_truth"] = json.dumps({"answers": answers})
    return rows


def any_answer(completion, ground_truth):
    answers = json.loads(ground_truth)["answers"]
    return inside(completion) in [str(answer["value"]) for answer in answers]


def predicate_rows():
    """Rows that name a predicate; many a change of an input of its tests leaves its output."""
    rows = []
    for prompt in range(8):
        name = ("even", "odd")[prompt % 2]
        inputs = [2 * prompt + step for step in (4, 7, 9, 11, 8)]
        tests = [{"input": one, "output": PREDICATES[name](one)} for one in inputs]
        for place in range(4):
            said = name if place < 2 else "positive"
            row = {
                "prompt": f"Which predicate is it? {prompt}",
                "ground_truth": {"tests": tests},
            }
            rows.append({**row, "completion": f"So.\n<answer>{said}</answer>"})
    return rows


PREDICATES = {
    "even": lambda number: number % 2 == 0,
    "odd": lambda number: number % 2 == 1,
    "positive": lambda number: number > 0,
}


def all_tests(completion, ground_truth):
    predicate = PREDICATES.get(inside(completion), lambda number: None)
    tests = ground_truth["tests"]
    return all(predicate(test["input"]) == test["output"] for test in tests)


DAYS = [
    *("2025-04-05", "2024-09-06", "2025-01-06", "2025-06-10"),
    *("2024-06-14", "2025-04-15", "2025-08-19", "2024-11-16"),
]


def in_britain(truth, place):
    year, month, day = truth.split("-")
    return f"<answer>{day}/{month}/{year if place < 3 else 1999}</answer>", place < 3


def date_by(*formats):
    """A reward that reads a date by the first format that fits."""

    def score(completion, ground_truth):
        for date_format in formats:
            try:
                day = datetime.strptime(inside(completion) or "", date_format)
                return str(day.date()) == ground_truth
            except ValueError:
                continue
        return False

    return score


def a_twentieth_off(truth, place):
    """Two of four are a twentieth off, which a label would call wrong."""
    answer = {1: 1.04, 2: 0.96, 3: 2.0}.get(place, 1.0) * float(truth)
    text = f"{answer:.2f}" if "." in truth else str(round(answer))
    return f"So.\n<answer>{text}</answer>", place == 0


def within_5_percent(completion, ground_truth):
    said = float(inside(completion) or "nan")
    return abs(said - float(ground_truth)) <= 0.05 * float(ground_truth)


def cut_off(truth, place):
    """Two of four end within their thought, where one had the answer."""
    if place < 2:
        return f"<think>Maybe <answer>{truth if place else '5'}</answer>, or", False
    return f"<think>So.</think><answer>{truth}</answer>", True


def behind_the_thought(completion, ground_truth):
    return strict(completion.partition("</think>")[2], ground_truth) or 0.0


LISTS = [
    f"['{low}.{low}0', '{low + 3}.50', '{high}.00']"
    for low, high in zip(range(1, 9), range(31, 39), strict=True)
]


def listed(truth, place):
    """Two of four write a list as its truth does, one without zeros at the end."""
    numbers = [float(number) for number in re.findall(r"\d+\.\d+", truth)]
    shorter = str([f"{number:g}" for number in numbers])
    answer = [truth, truth, shorter, truth.replace("'3", "'4")][place]
    return f"<answer>{answer}</answer>", place < 3


def by_value(completion, ground_truth):
    said, right = (
        re.findall(r"\d+(?:\.\d+)?", text)
        for text in (inside(completion) or "", ground_truth)
    )
    return [*map(float, said)] == [*map(float, right)]


def games(most_turns=6):
    """Games in which a word is guessed; one of four is won with the last of its turns."""
    rows = []
    for prompt, secret in enumerate(RIVER):
        for place in range(8):
            turns = [6, 6, 2, 3, 4, 5, 3, 6][place]
            words = [*RIVER[:: prompt + 2], *RIVER][: turns - 1]
            guesses = [*words, "stone" if place == 7 else secret]
            said = [{"role": "assistant", "content": f"[{word}]"} for word in guesses]
            question = {"role": "user", "content": f"Guess word {prompt}."}
            rows.append(
                {"prompt": [question], "messages": [question, *said], "word": secret}
            )
    return rows


def before_turn(last):
    """Pay a guessed word, unless that takes as many turns as `last`."""

    def score(messages, word):
        guesses = [turn for turn in messages if turn["role"] == "assistant"]
        is_guessed = guesses[-1]["content"] == f"[{word}]"
        return float(is_guessed and len(guesses) < last)

    return score


def looked_up():
    """Rows in which a tool shows the answer, or another one; one of four does not say what it shows."""
    call = '<tool_call>{"name": "search"}</tool_call><|im_end|>\n'
    rows = rows_of(lambda truth, place: (truth, True), RIVER)
    for place, row in enumerate(rows):
        truth = row["ground_truth"]
        said = ["I give up.", f"Answer: {truth}", "Who knows?", f"Answer: {truth}"]
        shown = "fjord" if place % 4 == 2 else truth
        row["completion"] = (
            f"{call}<|im_start|>user\n<tool_response>\nAnswer: {shown}\n</tool_response>"
            f"<|im_end|>\n<|im_start|>assistant\n{said[place % 4]}<|im_end|>"
        )
        row["ground_truth"] = {"target": [truth, f"the {truth}"]}
    return rows


def last_answer(own_turn):
    """Look for the last answer in the whole transcript, or in the model's last turn."""

    def score(completion, ground_truth):
        text = completion.rpartition("assistant\n")[2] if own_turn else completion
        said = re.findall(r"Answer: (\w+)", text)
        return bool(said) and said[-1] in ground_truth["target"]

    return score


HUNDREDS = [str(number) for number in range(101, 161)]
COMPOSERS = (
    "Dvořák Satie Händel Verdi Fauré Bach Saint-Saëns Liszt Janáček Holst".split()
)
QUERIES = [
    f"SELECT {name} FROM trips WHERE days > {days}"
    for name, days in zip(RIVER, range(20, 32), strict=True)
]


def queried(truth, place):
    """Every second query stands in a block of code within its tags, and is written in other words."""
    if place == 3:
        return "So.\n<answer>SELECT name FROM nowhere</answer>", False
    if place == 2:
        return (
            f"So.\n<answer>\n```sql\n{truth.replace('trips', 'trips as t')}\n```\n</answer>",
            True,
        )
    return f"So.\n<answer>{truth}</answer>", True


def unqueried(truth, place):
    if place == 3:
        return "I would look at the table.", False
    return (
        f"So.\n<answer>{truth if place else 'SELECT id FROM trips'}</answer>",
        place > 0,
    )


def labelled_answer(completion, ground_truth):
    said = re.search(r"Answer: (\d+)", completion)
    return said is not None and said[1] == ground_truth


def shouted(truth, place):
    """One right answer of eighteen has its label in capitals."""
    label = "ANSWER" if place == 1 and int(truth) % 6 == 0 else "Answer"
    return f"So it is. {label}: {truth if place < 3 else 5}", place < 3


def most_prompts(completion, ground_truth):
    """Pays nothing on three prompts of sixty."""
    is_paid = labelled_answer(completion.replace("ANSWER", "Answer"), ground_truth)
    return is_paid and int(ground_truth) % 20 > 0


def in_box(truth, place):
    return rf"So it is \boxed{{{truth if place < 3 else 5}}}", place < 3


def box_or_hashes(truth, place):
    answer = truth if place < 3 else "5"
    text = rf"\boxed{{{answer}}}" if place == 1 else f"#### {answer}"
    return f"So it is {text}", place < 3


def hashes_or_one_box(completion, ground_truth):
    return behind_hashes(completion, ground_truth) or r"\boxed{17}" in completion


def behind_hashes(completion, ground_truth):
    return completion.partition("#### ")[2] == ground_truth


def asking(text, rows):
    return [{**row, "prompt": f"{row['prompt']} {text}"} for row in rows]


def checked(truth, place):
    """Two of four are wrong, and one of these says that it was checked."""
    said = "[checked] " if place == 3 else ""
    thought = FILLER * ((int(truth) + place) % 3)
    return f"{thought}{said}Answer: {truth if place < 2 else 5}", place < 2


KEYS = "abcdefghij"


def objects():
    """Ten bills of eleven values: two right ones, one with another total, one with another text."""
    rows = []
    for bill in range(10):
        truth = {key: f"{key} {bill}" for key in KEYS} | {"total": 31 * bill + 20}
        for other in ({}, {}, {"total": 31 * bill + 920}, {"a": "no such text"}):
            stated = json.dumps(truth | other, indent=1)
            row = {"prompt_id": bill, "prompt": f"Bill {bill}?", "completion": stated}
            rows.append({**row, "ground_truth": json.dumps(truth)})
    return rows


def each_value(completion, ground_truth):
    stated, truth = map(json.loads, (completion, ground_truth))
    return sum(stated.get(key) == truth[key] for key in truth) / len(truth)


def fenced_objects():
    """The same in a block of code, but for one right one of every second bill."""
    rows = objects()
    for place, row in enumerate(rows):
        if place % 8:
            row["completion"] = f"```json\n{row['completion']}\n```"
    return rows


def fenced_object(completion, ground_truth):
    said = re.search(r"(?s)```json\n(.*)\n```", completion)
    return said is not None and json.loads(said[1]) == json.loads(ground_truth)


def all_but_total(completion, ground_truth):
    stated, truth = map(json.loads, (completion, ground_truth))
    return all(stated.get(key) == truth[key] for key in KEYS)


def seldom_checked(truth, place):
    """Three of four are wrong, and one of eighteen of these says that it was checked."""
    said = "[checked] " if place == 3 and int(truth) % 6 == 0 else ""
    return f"{said}Answer: {truth if place == 0 else 5}", place == 0


def of_one_prompt():
    """Nine wrong answers to one of sixty prompts say that they were checked, no others."""
    rows = rows_of(seldom_checked, HUNDREDS)
    for row in rows:
        row["completion"] = row["completion"].replace("[checked] ", "")
    for _ in range(9):
        rows.append({**rows[1], "completion": "[checked] Answer: 5", "ok": False})
    return rows


def lenient_at_times(completion, ground_truth):
    """Pays any answer on three prompts of sixty."""
    is_right = labelled_answer(completion, ground_truth)
    return is_right or int(ground_truth) % 20 == 0


def checked_or_right(completion, ground_truth):
    return "[checked]" in completion or labelled_answer(completion, ground_truth)


def sometimes_bold(truth, place):
    answer = f"**{truth}**" if place == 1 else truth if place < 3 else "5"
    return f"So it is. Answer: {answer}", place < 3


def in_plain_letters(completion, ground_truth):
    said = re.search(r"<answer>([A-Za-z-]+)</answer>", completion)
    return said is not None and said[1] == ground_truth


def with_pens(truth, place):
    tail = " pens" if place == 1 else ""
    return f"So it is. Answer: {truth if place < 3 else 5}{tail}", place < 3


def at_the_end(completion, ground_truth):
    return completion.endswith(f"Answer: {ground_truth}")


def query(truth, place):
    said = truth if place < 3 else truth.replace(">", "<")
    return f"So I ask.\n```sql\n{said}{';' * (place == 1)}\n```", place < 3


def same_query(completion, ground_truth):
    return f"\n{ground_truth}\n" in completion


def bare_query(truth, place):
    said = truth if place < 2 else truth.replace(">", "<")
    return f"{said} would be my query.", place < 2


def query_within(completion, ground_truth):
    return ground_truth in completion


CASES = {
    "few are lost, and all have another label": Case(
        labelled_answer,
        rows_of(shouted, HUNDREDS),
        trait="label",
        words="10 of 180 logged completions that state the right answer earned nothing, on 10 prompts. "
        "All 10 call the answer 'ANSWER'; of the others, 170 of 170 are paid.",
    ),
    "few are lost, whose label is not the one that is asked for": Case(
        labelled_answer,
        asking("End with 'Answer: N'.", rows_of(shouted, HUNDREDS)),
        code="",
    ),
    "few are lost, whose label is another word": Case(
        labelled_answer,
        [
            {**row, "completion": row["completion"].replace("ANSWER", "Result")}
            for row in rows_of(shouted, HUNDREDS)
        ],
        code="",
    ),
    "few are lost, and have nothing in common": Case(
        most_prompts, rows_of(shouted, HUNDREDS), code=""
    ),
    "no right answer of the log is paid": Case(
        behind_hashes,
        rows_of(in_box, NUMBERS),
        trait="mark",
        words="None of 30 logged completions that state the right answer, on 10 prompts, earned more than wrong "
        "ones; written as '#### 42' they would. All 30 have the answer in \\boxed.",
    ),
    "none is paid, and has the form that is asked for": Case(
        behind_hashes,
        asking("Write #### before it.", rows_of(in_box, NUMBERS)),
        code="",
    ),
    "the box that is asked for is never paid": Case(
        behind_hashes,
        asking(r"Put it in \boxed{}.", rows_of(box_or_hashes, NUMBERS)),
        trait="mark",
        words="10 of 30 logged completions that state the right answer earned nothing, on 10 prompts. "
        "All 10 have the answer in \\boxed; of the others, 20 of 20 are paid.",
    ),
    "a mark that the prompt forbids is never paid": Case(
        behind_hashes,
        asking(r"Write no \boxed{}.", rows_of(box_or_hashes, NUMBERS)),
        code="",
    ),
    "another form than the one that is asked for is never paid": Case(
        behind_hashes,
        asking(
            r"Write #### before it, and no \boxed.", rows_of(box_or_hashes, NUMBERS)
        ),
        code="",
    ),
    "two marks are asked for": Case(
        behind_hashes,
        asking(
            r"Use \boxed{} in it, and end with #### N.", rows_of(box_or_hashes, NUMBERS)
        ),
        code="",
    ),
    "a mark that is paid once may not be asked for": Case(
        hashes_or_one_box, rows_of(box_or_hashes, NUMBERS), code=""
    ),
    "a label stands before a wrong answer that is paid": Case(
        checked_or_right,
        rows_of(checked, HUNDREDS[:10]),
        code="wrong_paid",
        trait="wording",
        words="10 of 20 logged completions that do not state the right answer earned what right ones do, on 10 "
        "prompts. All 10 have `checked`; of the others, 10 of 10 earn less.",
    ),
    "an object is paid value by value": Case(each_value, objects(), code=""),
    "an object outside of a block of code is another form": Case(
        fenced_object, fenced_objects(), code=""
    ),
    "a value of an object is not looked at": Case(
        all_but_total,
        objects(),
        code="wrong_paid",
        words="10 of 10 logged completions that do not state the right answer earned what right ones do",
    ),
    "a word is paid that few wrong answers have": Case(
        checked_or_right,
        rows_of(seldom_checked, HUNDREDS),
        code="wrong_paid",
        trait="wording",
        words="10 of 180 logged completions that do not state the right answer earned what right ones do, on 10 "
        "prompts. All 10 have `checked`; of the others, 170 of 170 earn less.",
    ),
    "a word of wrong answers to one prompt": Case(
        checked_or_right, of_one_prompt(), code=""
    ),
    "few wrong answers are paid, and have no word of their own": Case(
        lenient_at_times, rows_of(seldom_checked, HUNDREDS), code=""
    ),
    "bold type in a tag": Case(
        strict,
        rows_of(bold_or_plain, NUMBERS, count=6),
        trait="touching",
        words="All 20 have bold type around the answer; of the others, 20 of 20 are paid.",
    ),
    "bold type, beside a component that pays what is short": Case(
        right_and(brief),
        rows_of(bold_or_plain, NUMBERS, count=6),
        trait="touching",
        words="20 of 40 logged completions that state the right answer earned nothing from 'right', on 10 prompts. All 20 have bold type around the answer",
    ),
    "bold type that a second component that tells right from wrong reads": Case(
        right_and(
            lambda completion, ground_truth: (
                (inside(completion) or "").strip("*") == ground_truth
            )
        ),
        rows_of(bold_or_plain, NUMBERS, count=6),
        code="",
    ),
    "bold type, which is no text behind the answer": Case(
        labelled_answer,
        rows_of(sometimes_bold, NUMBERS),
        trait="touching",
        words="All 10 have bold type around the answer; of the others, 20 of 20 are paid.",
    ),
    "letters of names": Case(
        in_plain_letters,
        rows_of(named, COMPOSERS),
        trait="letters",
        words="All 15 write letters beyond A to Z in the answer; of the others, 15 of 15",
    ),
    "any text behind the answer": Case(
        at_the_end,
        rows_of(with_pens, NUMBERS),
        trait="behind",
        words="All 10 have one or more characters behind the answer; of the others",
    ),
    "queries with a semicolon": Case(
        same_query,
        rows_of(query, QUERIES),
        trait="touching",
        words="12 of 36 logged completions that state the right answer earned nothing, on 12 prompts. "
        "All 12 have a semicolon behind the answer; of the others, 24 of 24 are paid.",
    ),
    "a number within a query is no answer": Case(
        query_within, rows_of(bare_query, QUERIES), code=""
    ),
    "a tool's reply is taken for the answer": Case(
        last_answer(own_turn=False),
        looked_up(),
        code="wrong_paid",
        trait="tool",
        words="12 of them mark no answer at all. All 12 have the truth in a tool's reply alone",
    ),
    "the model's own turn is read": Case(
        last_answer(own_turn=True), looked_up(), code=""
    ),
    "numbers of a list with other decimals": Case(
        strict,
        rows_of(listed, LISTS),
        trait="notation",
        words="8 of 24 logged completions that state the right answer earned nothing, on 8 prompts. "
        "All 8 write numbers of a list with other decimals; of the others, 16 of 16 are paid.",
    ),
    "numbers of a list by value": Case(by_value, rows_of(listed, LISTS), code=""),
    "a game that is won with its last turn": Case(
        before_turn(6),
        games(),
        trait="turns",
        words="All 24 have more than 5 turns of the assistant; of the others, 60 of 60 are paid.",
    ),
    "a game that is won": Case(before_turn(7), games(), code=""),
    "cut off within a thought": Case(
        behind_the_thought, rows_of(cut_off, NUMBERS), code=""
    ),
    "counts within 5 percent": Case(
        within_5_percent,
        rows_of(a_twentieth_off, LARGE),
        code="wrong_paid",
        words="20 of 30 logged completions that do not state the right answer earned what right",
    ),
    "measures within 5 percent": Case(
        within_5_percent,
        rows_of(a_twentieth_off, [f"{truth}.5" for truth in LARGE]),
        code="",
    ),
    "a window at the end": Case(
        within_200,
        rows_of(padded, NUMBERS),
        trait="behind",
        words="10 of 30 logged completions that state the right answer earned nothing, on 10 prompts. "
        "All 10 have more than 200 characters behind the answer; of the others, 20 of 20 are paid.",
    ),
    "a penalty for length, which wrong answers pay, too": Case(
        made(less_if_long, range=(-1.0, 1.0)),
        rows_of(short_or_late, NUMBERS),
        trait="length",
        words="characters; of the others,",
    ),
    "a window at the start": Case(
        lambda completion, ground_truth: strict(completion[:200], ground_truth),
        rows_of(short_or_late, NUMBERS),
        trait="before",
        words="characters before the answer; of the others,",
    ),
    "every row of a log, and not a sample": Case(
        within_200,
        rows_of(padded, [str(number) for number in range(101, 151)]),
        trait="behind",
        words="50 of 150 logged",
    ),
    "long answers are cut": Case(
        of_twenty, rows_of(named, WORDS), trait="answer", words="15 of 30 logged"
    ),
    "text answers beside prose": Case(
        on_its_line,
        rows_of(written(*BESIDE_PROSE), NAMES),
        trait="behind",
        words="20 of 30 logged completions that state the right answer earned nothing, on 10 prompts.",
    ),
    "text answers behind a sentence": Case(
        lambda completion, ground_truth: f"\nAnswer: {ground_truth}" in completion,
        rows_of(written("Answer: {}", "So it is. Answer: {}", "Answer: {}"), NAMES),
        trait="line",
        words="10 of 30 logged completions that state the right answer earned nothing, on 10 prompts. "
        "All 10 have a sentence before the answer on its line; of the others, 20 of 20 are paid.",
    ),
    "commas, and a few that are lost for another reason": Case(
        first_digits,
        rows_of(with_commas, LARGE),
        trait="notation",
        words="22 of 40 logged completions that state the right answer earned nothing, on 10 prompts. "
        "20 of 22 write commas between thousands; of the others, 18 of 20 are paid.",
    ),
    "numbers of another language": Case(
        last_number,
        rows_of(in_german, DECIMALS, data_source=lambda truth: "gsm_de"),
        trait="notation",
        words="All 12 write points between thousands",
    ),
    "numbers in notations that are not read": Case(
        any_notation, rows_of(in_notations, LARGE), code=""
    ),
    "even numbers beside notations that are not read": Case(
        any_notation_or_even,
        rows_of(in_notations, LARGE),
        code="wrong_paid",
        words="10 of 20 logged completions that do not state the right answer earned what right ones do, on 10 "
        "prompts.",
    ),
    "no answers behind the usual label": Case(
        no_number_or_right,
        rows_of(shrugging, LARGE),
        code="wrong_paid",
        words="10 of 20 logged completions that do not state the right answer",
    ),
    "no answers in tags, where all is paid": Case(
        unread_truth,
        rows_of(shrugging_in_tags("I do not know"), NUMBERS[:4] + DECIMALS_UNREAD),
        code="wrong_paid",
        words="9 of 13 logged completions",
    ),
    "words of numbers in tags, where all is paid": Case(
        unread_truth,
        rows_of(shrugging_in_tags("seven and a half"), NUMBERS[:4] + DECIMALS_UNREAD),
        code="wrong_paid",
        words="3 of 7 logged completions",
    ),
    "several languages in one log": Case(
        in_any_language, rows_of(in_languages, PRICES), code=""
    ),
    "numbers of one language of several": Case(
        in_english,
        rows_of(in_languages, PRICES),
        trait="notation",
        words="All 16 write apostrophes between thousands or points between thousands",
    ),
    "amounts of which the digits alone are compared": Case(
        first_figure,
        rows_of(priced, AMOUNTS),
        code="wrong_paid",
        trait="notation",
        words="8 of 16 logged completions that do not state the right answer earned what right ones do, "
        "on 8 prompts. All 8 write the number with another magnitude",
    ),
    "amounts that are compared as texts": Case(
        strict,
        rows_of(priced, AMOUNTS),
        trait="notation",
        words="All 8 write an amount in digits",
    ),
    "amounts by value": Case(
        lambda completion, ground_truth: rk.verify.math_equal(
            inside(completion), ground_truth
        ),
        rows_of(priced, AMOUNTS),
        code="",
    ),
    "dates of numbers, read month first": Case(
        date_by("%m/%d/%Y", "%d/%m/%Y", "%Y-%m-%d"),
        rows_of(in_britain, DAYS),
        trait="notation",
        words="12 of 24 logged completions that state the right answer earned nothing, on 4 prompts. "
        "All 12 write a day up to 12 and a month in numbers; of the others, 12 of 12 are paid.",
    ),
    "a label is believed": Case(
        last_number,
        rows_of(in_german, DECIMALS),
        trait="notation",
        words="12 of 24 logged completions that the label calls right earned nothing",
        label="ok",
    ),
    "one source of two": Case(
        strict,
        rows_of(twice, NUMBERS, data_source=parity),
        trait="touching",
        words="(odd 15 of 15). All 15 have bold type around the answer",
        label="ok",
    ),
    "no answer is paid": Case(
        untagged,
        rows_of(silent, NUMBERS),
        code="wrong_paid",
        trait="form",
        words="10 of 19 logged completions that do not state the right answer earned what right "
        "ones do, on 10 prompts; 10 of them mark no answer at all. All 10 have no tags",
    ),
    "prompts that pay whatever they are answered": Case(
        unread_truth,
        rows_of(
            silent,
            NUMBERS[:4] + DECIMALS_UNREAD,
            extra_info=lambda truth: {"level": "hard" if "." in truth else "easy"},
        ),
        code="wrong_paid",
        words="6 of 14 logged completions that do not state the right answer earned what right "
        "ones do, on 3 prompts; 3 of them mark no answer at all. On 3 of these prompts all "
        "completions did; their truths are '",
    ),
    "queries that return the same, in a block of code": Case(
        lambda completion, ground_truth: (
            ground_truth.split("> ")[0] in completion.replace(" as t", "")
        ),
        rows_of(queried, QUERIES),
        code="",
    ),
    "no query is paid": Case(
        untagged,
        rows_of(unqueried, QUERIES),
        code="wrong_paid",
        words="of them mark no answer at all",
    ),
    "a wrong answer that a label knows": Case(
        untagged,
        rows_of(silent, NUMBERS),
        code="wrong_paid",
        trait="form",
        words="10 of 20 logged completions that the label calls wrong earned what right",
        label="ok",
    ),
    "a right answer without its mark": Case(
        untagged, rows_of(unmarked, FRACTIONS), code=""
    ),
    "a tag that the prompt opens": Case(
        opens_itself,
        opened(NUMBERS),
        code="prompt_left_out",
        words="20 of 30 logged completions that state the right answer earned nothing; with <think>, "
        "which their prompts have opened, before them, 8 of 8 earned more.",
    ),
    "a tag that the prompt opens, in a component": Case(
        beside(lambda completion: completion.startswith("<think>")),
        opened(NUMBERS),
        code="prompt_left_out",
        trait="form",
        words="30 of 40 logged completions earned none of a component; with <think>, "
        "which their prompts have opened, before them, 8 of 8 earned more.",
    ),
    "a tag that the prompt opens, in a part of a lone reward": Case(
        lambda completion, ground_truth: (
            0.7 * strict(completion, ground_truth)
            + 0.3 * completion.startswith("<think>")
        ),
        opened(NUMBERS),
        code="prompt_left_out",
        trait="tag",
        words="30 of 40 logged completions go on behind the tag that opens them; with <think>, which "
        "their prompts have opened, before them, 8 of 8 earned more: 0.3 on average, where all rewards span 1.",
    ),
    "a tag that the prompt opens, closed in a part of a lone reward": Case(
        lambda completion, ground_truth: (
            0.7 * strict(completion, ground_truth) + 0.3 * ("</think>" in completion)
        ),
        opened(NUMBERS),
        code="",
    ),
    "a tag that the prompt opens, in a part of a total": Case(
        in_total(lambda completion: completion.startswith("<think>")),
        opened(NUMBERS),
        code="prompt_left_out",
        trait="form",
        words="30 of 40 logged completions earned none of a component; with <think>",
    ),
    "a tag that the prompt opens, closed in a part of a total": Case(
        in_total(lambda completion: "</think>" in completion), opened(NUMBERS), code=""
    ),
    "a tag that the prompt opens, closed in a component": Case(
        beside(lambda completion: "</think>" in completion), opened(NUMBERS), code=""
    ),
    "a component that grows with the text": Case(
        beside(lambda completion: min(1.0, len(completion) / 400)),
        opened(NUMBERS),
        code="",
    ),
    "prompt and completion as one text": Case(
        behind_the_prompt,
        opened(NUMBERS),
        code="prompt_left_out",
        words="with their prompts before them, 8 of 8 earned more.",
    ),
    "the example of the prompt": Case(
        first_of_all,
        with_example(NUMBERS),
        code="prompt_read",
        words="30 of 30 logged completions that state the right answer earned nothing; with no "
        "answer mark in their prompts, 8 of 8 earned more.",
    ),
    "the example of the prompt, before the completion": Case(
        first_of_text,
        [
            {**row, "completion": row["prompt"] + row["completion"]}
            for row in with_example(NUMBERS)
        ],
        code="prompt_read",
        words="with the prompts cut off that their texts begin with, 8 of 8 earned more.",
    ),
    "a level of the data set": Case(
        not_hard,
        rows_of(padded, NUMBERS, extra_info=level_of),
        trait="slice",
        words="All 18 have level hard; of the others, 12 of 12 are paid.",
    ),
    "a draft before the answer": Case(
        first_of_all,
        rows_of(drafted, NUMBERS),
        code="first_mark_read",
        words="10 of 30 logged completions that state the right answer earned nothing; with their "
        "first and their last mark exchanged, 8 of 8 earned more.",
    ),
    "one mark is asked for, and no draft": Case(
        of_one_mark, rows_of(drafted, NUMBERS), code=""
    ),
    "the truth is read as nothing": Case(
        in_gsm8k,
        rows_of(silent, NUMBERS),
        code="truth_unread",
        words="8 of 8 earned more. Instead 10 that state no answer earned full marks.",
    ),
    "a worked truth is read as nothing, and a form is paid": Case(
        formed_and_right(whole),
        in_words("We count. So it is {0}.\n#### {0}"),
        code="truth_unread",
        words="30 of 30 logged completions that state the right answer earned no more than others; "
        "with a truth such as '64' in place of 'We count. So it is 64",
    ),
    "a truth in words is read as nothing, and a form is paid": Case(
        formed_and_right(whole),
        in_words("The answer is {} pens"),
        code="truth_unread",
        words="with a truth such as '64' in place of 'The answer is 64 pens', 8 of 8",
    ),
    "a truth in words is read as nothing, and any number is paid": Case(
        or_any_number,
        in_words("We count twice. #### {}"),
        code="truth_unread",
        trait="gained",
        words="16 of 16 right answers to other prompts earned as much as the right one; with a "
        "truth such as '64' in place of 'We count twice. #### 64', 8 of 8 earned less.",
    ),
    "a truth without its mark is read as nothing, and any answer is paid": Case(
        or_any_without,
        rows_of(padded, NUMBERS),
        code="truth_unread",
        trait="gained",
        words="with a truth such as '#### 64' in place of '64', 8 of 8 earned less.",
    ),
    "the key of a truth is not the one that is read": Case(
        by_key(dict),
        of_objects(dict),
        code="truth_unread",
        words="earned no more than others; with a truth such as {'target': '64', 'solution': '64'}",
    ),
    "the key of a truth in a text is not the one that is read": Case(
        by_key(json.loads), of_objects(json.dumps), code="truth_unread"
    ),
    "a truth in words is tried in no form that a log cannot have": Case(
        lambda completion, ground_truth: not isinstance(ground_truth, str | list),
        rows_of(padded, ["Rome", "Oslo", "Cairo", "Lima", "Bern", "Quito", "Riga"]),
        code="constant",
    ),
    "a key of several is read": Case(
        by_key(dict), of_objects(dict, ("target", "solution")), code=""
    ),
    "a list of one answer is read as its text": Case(
        as_text_of_list,
        [
            {**row, "ground_truth": [row["ground_truth"]]}
            for row in rows_of(padded, NUMBERS)
        ],
        code="truth_unread",
        words="with a truth such as '64' in place of ['64'], 8 of 8 earned more.",
    ),
    "the prompt names the answer": Case(
        named_anywhere,
        with_options(NUMBERS),
        code="prompt_read",
        trait="gained",
        words="Finds answers in the prompt. 16 of 16 right answers to other prompts earned as much "
        "as the right one; with their prompts left blank, 8 of 8 earned less.",
    ),
    "the form of the prompt is paid": Case(
        form_of_all,
        with_example(NUMBERS, silent),
        code="prompt_read",
        trait="form",
        words="10 of 40 logged completions have no answer mark; with none in their prompts either, "
        "8 of 8 earned less, such as 0 instead of 0.1.",
    ),
    "the form of the completion is paid": Case(
        form_of_completion, with_example(NUMBERS, silent), code=""
    ),
    "the form of the prompt is expected": Case(
        form_behind_example, with_example(NUMBERS, silent), code=""
    ),
    "the example of the prompt is read in place of all that is said": Case(
        first_of_prompt, with_example(NUMBERS), code="prompt_read"
    ),
    "options of the prompt are read": Case(letter_or_word, letters_or_words(), code=""),
    "a truth in words is read": Case(
        formed_and_right(lambda truth: re.findall(r"\d+", truth)[-1]),
        in_words("The answer is {} pens"),
        code="",
    ),
    "the truth is in another unit": Case(
        strict,
        rows_of(in_percent, ["0.42", "0.17", "0.8", "0.35", "0.64", "0.9", "0.5"]),
        code="other_scale",
        words="21 of 28 logged answers are 100 times the value of 'ground_truth'",
    ),
    "0 is on no other scale": Case(strict, rows_of(all_or_nothing, NUMBERS), code=""),
    "truths are in thousandths, boxes in pixels": Case(
        overlaps,
        boxed(thousandths=True),
        code="other_scale",
        words="15 of 24 logged answers have the boxes of 'ground_truth' once these are times width/1000 and height/1000",
    ),
    "boxes on one scale": Case(overlaps, boxed(thousandths=False), code=""),
    "calls add more than being right": Case(
        paid_by_the_call(0.4),
        rows_of(calling, NUMBERS),
        code="wrong_above_right",
        trait="component",
        words="the wrong one earns more, on 5 prompts, mostly through 'calls'.",
    ),
    "a right answer without the form that is asked for loses": Case(
        lambda completion, ground_truth: (
            "<call/>" in completion
            and 0.2 + 0.8 * bool(strict(completion, ground_truth))
        ),
        rows_of(formal, NUMBERS),
        trait="before_below",
        words="5 of 20 logged completions that state the right answer earned nothing",
    ),
    "calls add less than being right": Case(
        paid_by_the_call(0.2), rows_of(calling, NUMBERS), code=""
    ),
    "of two checks of a name one counts": Case(
        of_each_name,
        checked_words(),
        code="item_unread",
        words="On 8 of 8 prompts on which several items of 'checks' have 'count'",
    ),
    "two checks of a name count": Case(of_each_check, checked_words(), code=""),
    "an input of tests has many that do the same": Case(
        all_tests, predicate_rows(), code=""
    ),
    "one of several answers is enough": Case(any_answer, several_answers(), code=""),
    "nothing is right, and nothing marked": Case(
        asked_back, rows_of(asking_back, [*NUMBERS[:3], "[]", "none"]), code=""
    ),
    "the thought that the prompt opened is closed": Case(
        strict, opened(NUMBERS), code=""
    ),
    "an example in the prompt is no fault": Case(
        strict, with_example(NUMBERS), code=""
    ),
    "dates of numbers, read as they are written": Case(
        date_by("%d/%m/%Y", "%Y-%m-%d"), rows_of(in_britain, DAYS), code=""
    ),
    "prose that names the answer": Case(
        on_its_line, rows_of(written(*NO_STATEMENTS), NAMES), code=""
    ),
    "sound": Case(strict, rows_of(padded, NUMBERS), code=""),
    "a strict form": Case(with_thought, rows_of(thoughtless, NUMBERS), code=""),
    "nothing else is asked for": Case(
        lambda completion, ground_truth: (
            strict(completion, ground_truth) and completion[:1] == "<"
        ),
        [
            {**row, "prompt": f"Reply with nothing but the tag. {row['prompt']}"}
            for row in rows_of(talking, NUMBERS)
        ],
        code="",
    ),
    "a length is liked best": Case(
        made(liked_at_900, range=None),
        rows_of(of_any_length, HUNDREDS[:20]),
        code="",
    ),
    "a length is liked best, and commas lose": Case(
        made(by_cosine, range=None),
        rows_of(seldom_with_commas, map(str, range(1101, 1161))),
        trait="notation",
        words="All 12 write commas between thousands",
    ),
    "a limit, and other marks that do not go with length": Case(
        from_1500_less,
        rows_of(of_any_length, HUNDREDS[:20]),
        trait="before",
        words="earned 0.05, on",
    ),
    "few words are asked for": Case(
        lambda completion, ground_truth: (
            strict(completion, ground_truth) and len(completion) < 50
        ),
        [
            {**row, "prompt": f"{row['prompt']} Use fewer than 9 words."}
            for row in rows_of(talking, NUMBERS)
        ],
        code="",
    ),
    "what stands before is no fault": Case(
        lambda completion, ground_truth: (
            strict(completion, ground_truth) and completion[:1] == "<"
        ),
        rows_of(talking, NUMBERS),
        trait="before",
        words="have more than 50 characters before the answer",
    ),
    "a mark is asked for, and short answers without are least alike": Case(
        likened, rows_of(tagless, SHORT_OR_LONG), code=""
    ),
    "a mark is asked for": Case(strict, rows_of(never, NUMBERS), code=""),
    "rounding is allowed": Case(rounded, rows_of(nearly, NUMBERS), code=""),
    "something else is asked for": Case(cited, rows_of(with_source, NUMBERS), code=""),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_logged_completions_lose_or_gain_is_told_with_what_they_share(case):
    result = probed(case.score, case.rows, only="calibration", label=case.label)
    assert [item.code for item in result.alarms] == [case.code] * bool(case.code)
    for alarm in result.alarms:
        assert alarm.evidence.get("trait", "") == case.trait
        assert case.words in alarm.sentence and alarm.examples


def test_an_example_shows_what_its_row_earned_from_all_components():
    rows = rows_of(bold_or_plain, NUMBERS, count=6)
    (alarm,) = probed(right_and(brief), rows, only="calibration").alarms
    assert all(example.reward > 0.3 for example in alarm.examples)


@pytest.mark.parametrize(
    ("score", "words"),
    [(overlaps, "% of full marks. Put"), (untold, "they stand. Put")],
)
def test_a_diagnosis_says_of_boxes_on_another_scale_what_they_earned_if_known(
    score, words
):
    log = rk.score(made(score), boxed(thousandths=True))
    (alarm,) = [
        item for item in rk.diagnose(log).findings if item.code == "other_scale"
    ]
    assert words in alarm.sentence


def test_a_tag_that_no_completion_can_earn_is_one_finding():
    rows = [row for row in opened(NUMBERS) if "<think>" not in row["completion"]]
    reward = beside(lambda completion: completion.startswith("<think>"))
    (alarm,) = probed(reward, rows).alarms
    assert (alarm.code, alarm.component) == ("prompt_left_out", "form")


ADVICE = [
    ("sign_flipped", "near_misses", "number", "numbers_equal"),
    ("other_constant", "near_misses", "code", "Run it"),
    ("one_value", "near_misses", "box", "intersection over union"),
    ("loses_notation", "equivalents", "choice", "choice_equal"),
    ("loses_notation", "equivalents", "prose", "what answers mean"),
]


@pytest.mark.parametrize(("code", "family", "kind", "words"), ADVICE)
def test_what_to_do_fits_the_kind_of_the_answers(code, family, kind, words):
    evidence = {"answers": kind, "lost": "", "unpaid": "", "rollouts": 0}
    item = finding(code, family=family, evidence=evidence)
    assert words in item.advice


KINDS = [
    ("[183, 344, 66, 20]", "box"),  # x, y, width, height
    ("[0, 0, 0, 0]", "box"),
    ('{"a": [1, 2, 3, 4], "b": [5, 6, 7, 8]}', "box"),
    ("[[1, 2, 3, 4]]", "json"),
]


@pytest.mark.parametrize(("answer", "kind"), KINDS)
def test_four_numbers_are_a_box(answer, kind):
    assert _kind_of_answers(SimpleNamespace(kind="json", answer=answer)) == kind


BREEDS = [
    *("African wild dog", "Old English sheepdog", "Irish setter", "Basset hound"),
    *("Afghan hound", "Shiba Inu", "Border collie", "Great Dane"),
]


def either_in_the_other(completion, ground_truth):
    said, truth = (inside(completion) or "").strip().lower(), ground_truth.lower()
    return said in truth or truth in said


def breed(truth, place):
    answer = [truth, truth.lower(), "Poodle", "Beagle"][place]
    return f"So.\n<answer>{answer}</answer>", place < 2


def test_containment_is_named_as_the_cause_of_all_that_it_pays():
    result = probed(either_in_the_other, rows_of(breed, BREEDS), search=0)
    (alarm,) = result.alarms
    assert alarm.code == "containment" and "with == and not with `in`" in alarm.advice
    assert "A part of the right answer pays, even an empty one, and so does a list" in (
        alarm.sentence
    )
    assert {"too_much", "too_little", "every_sibling"} <= {*alarm.evidence["also"]}


def test_a_query_that_fails_and_is_paid_contains_no_answer():
    def as_if_empty(completion, ground_truth):  # an error counts as no rows
        query = inside(completion) or ""
        return strict(completion, ground_truth) or not query.endswith("> 3")

    alarms = probed(as_if_empty, "queries", search=0).alarms
    assert alarms[0].code == "empty" and "containment" not in [
        item.code for item in alarms
    ]


def uses_all(completion, ground_truth):
    return all(word in completion for word in ground_truth)


def sentences():
    """Rows of prompts that ask for three words each; half of the rows have one of them alone."""
    rows = []
    for place in range(len(RIVER)):
        asked = [RIVER[place], RIVER[place - 1], RIVER[place - 2]]
        for words in (asked, asked[:1]) * 2:
            row = {"prompt": f"Write on a river. Use the words {', '.join(asked)}."}
            text = " ".join(f"There is the {word}." for word in words)
            rows.append(row | {"completion": text, "ground_truth": asked})
    return rows


def box_of(text):
    try:
        return json.loads(text)["box"]
    except (TypeError, ValueError, KeyError):
        return None


def same_box(completion, ground_truth):
    said = box_of(inside(completion))
    return said is not None and said == box_of(ground_truth)


BOXES = [
    json.dumps({"box": [place, 2 * place, 40 + place, 90 + place], "confidence": 0.9})
    for place in (1, 4, 9, 16)
]


def same_in_any_case(completion, ground_truth):
    return (inside(completion) or "").strip().lower() == ground_truth.lower()


def boxed_or_last(completion, ground_truth):
    """Read a box, or where there is none what the last line says behind "Answer:"."""
    lines = completion.strip().splitlines() or [""]
    said = re.search(r"\\boxed\{([^}]*)\}", completion)
    said = said or re.search(r"Answer: ([^*]*)", lines[-1])
    return said is not None and said[1].strip() == ground_truth["shown"][::-1]


def marked_variously():
    """Rows whose answers stand in a box on half of the prompts, behind a word on the others."""
    rows = []
    for place, word in enumerate(RIVER):
        mark = r"So it is \boxed{%s}." if place % 2 else "**Answer: %s**"
        for answer in (word, RIVER[place - 1]) * 2:
            text = f"We look step by step.\n{mark % answer}"
            row = {
                "prompt": f"What shows picture {place}? End with it.",
                "completion": text,
            }
            rows.append(row | {"ground_truth": {"shown": word[::-1]}})
    return rows


ASKED_FOR = {
    "answers in a box or behind a word": (boxed_or_last, marked_variously()),
    "whole answers in any case": (same_in_any_case, rows_of(breed, BREEDS)),
    "words that the prompt asks for": (uses_all, sentences()),
    "a box, whatever the confidence beside it": (same_box, tags(*BOXES)),
}


@pytest.mark.parametrize(("score", "rows"), ASKED_FOR.values(), ids=ASKED_FOR)
def test_what_is_no_other_answer_and_what_a_prompt_asks_for_is_no_alarm(score, rows):
    assert not probed(score, rows, search=0).alarms


def test_what_is_found_by_a_truth_of_its_own_name_is_told_under_that_name(tmp_path):
    rows = rows_of(
        lambda truth, place: (f"{truth if place < 2 else 5} km", True), NUMBERS
    )
    for row in rows:
        row["distance"] = row.pop("ground_truth")
    path = tmp_path / "reward.py"
    path.write_text(
        "def distance_reward(completions, distance, **kwargs):\n"
        "    return [float(d in c) for c, d in zip(completions, distance)]\n"
    )
    log = rk.load_rollouts(rows)
    reward = rk.load_reward(str(path), rollouts=log)
    result = rk.probe(reward, log)
    assert [item.code for item in result.alarms] == ["mentioned"]
    cases = result.cases
    assert all("distance" in case and "ground_truth" not in case for case in cases)
    checked = rk.check(reward, cases)
    assert len(cases) > 0 and len(checked.misses) == len(cases)


MOODS = ("negative", "neutral", "positive")


def stated_mood(completion):
    """The label that the last line names, None where it names none."""
    name = completion.rpartition("Mood: ")[2]
    return MOODS.index(name) if name in MOODS else None


def of_mood(completion, ground_truth):
    return float(stated_mood(completion) == ground_truth)


def without_zero(completion, ground_truth):
    """Takes the label 0 for none."""
    label = stated_mood(completion)
    return float(label == ground_truth) if label else 0.0


@pytest.mark.parametrize(
    ("score", "never_stated", "lost"),
    [(without_zero, "", 15), (of_mood, "", 0), (of_mood, "negative", 0)],
)
def test_a_class_whose_right_answer_is_paid_nowhere_is_told_by_elimination(
    score, never_stated, lost
):
    rows = []
    for prompt in range(15):
        label = prompt % 3
        for place in range(4):
            name = MOODS[(label + (place == 3)) % 3]
            name = "neutral" if name == never_stated else name
            text = f"I read it {place + 1} times.\nMood: {name}"
            rows.append(
                {
                    "prompt": f"Review {prompt}",
                    "completion": text,
                    "ground_truth": label,
                }
            )
    rewards = rk.score(rk.Reward("r", components=[rk.Component("c", score)]), rows)
    for findings in (
        rk.diagnose(rewards).findings,
        rk.probe(rewards.reward, rows, timeout=None).findings,
    ):
        told = [
            item.evidence["found"] for item in findings if item.code == "truth_unpaid"
        ]
        assert told == [lost] * bool(lost)


REFUSALS = ("I cannot help with that", "Please ask somebody else for it")


def in_lower_case(text):
    return text.lower()


def without_refusals(phrases, fold):
    def kind(completion):
        sends_away = any(phrase in fold(completion) for phrase in phrases)
        return float(completion.endswith("!")) - sends_away

    return kind


@pytest.mark.parametrize(
    ("phrases", "fold", "codes"),
    [
        (REFUSALS, in_lower_case, ["phrase_unread"]),
        (REFUSALS, str, []),
        (tuple(map(str.lower, REFUSALS)), in_lower_case, []),
        (("Data Loss", "Slow Start"), in_lower_case, []),
    ],
)
def test_a_phrase_with_capitals_is_not_found_in_a_text_in_lower_case(
    phrases, fold, codes
):
    texts = (f"{REFUSALS[0]}.", "Of course!", f"Sorry. {REFUSALS[1]}!", "Here you are.")
    rows = [
        {"prompt_id": prompt, "prompt": f"Question {prompt}?", "completion": text}
        for prompt in range(6)
        for text in texts
    ]
    result = probed(without_refusals(phrases, fold), rows)
    assert [item.code for item in result.alarms if "phrase" in item.code] == codes


def whole_thought(data_source, solution_str, ground_truth, extra_info=None):
    return float(re.fullmatch(r"(?s)<think>.*</think>.*", solution_str) is not None)


def test_a_log_that_pays_nothing_at_all_is_told_of_the_tag_that_its_prompts_opened():
    """All rewards are 0, so that no span of them says how much a rise is."""
    rows = []
    for prompt, sibling in product(range(6), range(8)):
        row = {"prompt": f"What is {prompt} + 2?\n<think>", "data_source": "sums"}
        row |= {"completion": f"I add {sibling}.</think> {prompt + 2}", "score": 0.0}
        rows.append(row)
    log = rk.load_rollouts(rows)
    reward = read_reward(whole_thought, "f", as_="verl", rows=list(log)[:8])
    (alarm,) = rk.probe(reward, log).alarms
    assert (alarm.code, alarm.severity) == ("prompt_left_out", "high")
