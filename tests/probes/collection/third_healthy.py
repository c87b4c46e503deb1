"""Healthy rewards of a third hand, which a careless checker would shout at."""

import json
import math
import re

import rewardkit as rk

NUMBER = re.compile(r"-?\d{1,9}(?:\.\d{1,6})?", re.ASCII)
SENTIMENTS = {"positive", "negative", "neutral"}


def only_tag(completion, tag):
    """What is in the one tag of that name that stands behind the reasoning, or nothing."""
    told = completion.rpartition("</think>")[2].strip()
    if completion.count("</think>") > 1 or told.count(f"<{tag}>") != 1 or told.count(f"</{tag}>") != 1:
        return ""
    whole = re.fullmatch(rf"<{tag}>([^<>]*)</{tag}>", told)
    return whole.group(1).strip() if whole else ""


def only_line(completion, label):
    """What stands behind the label, which begins the last line that is not blank and no other line."""
    lines = [line.strip() for line in completion.splitlines() if line.strip()]
    labelled = [line for line in lines if line.lower().startswith(f"{label.lower()}:")]
    if len(labelled) != 1 or labelled[0] != lines[-1]:
        return ""
    return lines[-1].partition(":")[2].strip()


# Exact


def move_as_written(completion, ground_truth):
    """The best move in the one tag, sign by sign: Bxc6 is not bxc6, and Qxf7 is not Qxf7#."""
    return float(only_tag(completion, "move") == ground_truth)


def interval_as_written(completion, ground_truth):
    """The interval in the last line, ends and brackets; spaces do not count."""
    return float(re.sub(r"\s", "", only_line(completion, "Interval")) == re.sub(r"\s", "", ground_truth))


def share_any_way(completion, ground_truth):
    """The share, with a percent sign, the word or neither, to a hundredth of a point."""
    written = only_line(completion, "Result").lower().rstrip(".")
    number = re.sub(r"\s*(?:%|percent|per cent)$", "", written).strip()
    if not NUMBER.fullmatch(number):
        return 0.0
    return float(abs(float(number) - float(ground_truth.rstrip("%"))) < 0.01)


def arrival_to_the_minute(data_source, solution_str, ground_truth, extra_info=None):
    """The time in the last line, on the clock of 24 hours or of 12; other keys are logged."""
    written = only_line(solution_str, "Arrival").lower().rstrip(".")
    found = re.fullmatch(r"([0-9]{1,2})[:.h]([0-9]{2})(?:\s*([ap])\.?m)?", written)
    if not found:
        return {"score": 0.0, "readable": 0.0}
    hour, minute, half = int(found[1]), int(found[2]), found[3]
    if half:
        if not 1 <= hour <= 12:
            return {"score": 0.0, "readable": 0.0}
        hour = hour % 12 + 12 * (half == "p")
    wanted = tuple(int(part) for part in ground_truth.split(":"))
    return {"score": float((hour, minute) == wanted), "readable": 1.0}


def act_or_nothing(prompts, completions, ground_truth, **kwargs):
    """The label in the last line, as it was annotated."""
    labels = [only_line(completion, "Act").lower().rstrip(".") for completion in completions]
    return [1.0 if label == truth else 0.0 for label, truth in zip(labels, ground_truth, strict=True)]


def sentiment_or_penalty(completion, ground_truth):
    """1 for the label, -1 for another of the three, -0.5 for what is no label."""
    label = only_line(completion, "Sentiment").lower().rstrip(".")
    if label not in SENTIMENTS:
        return -0.5
    return 1.0 if label == ground_truth else -1.0


def unknown_is_not_judged(prompts, completions, ground_truth, **kwargs):
    """Tagged numbers; a row without a truth is not judged."""
    rewards = []
    for completion, truth in zip(completions, ground_truth, strict=True):
        if not truth:
            rewards.append(None)
            continue
        answer = only_tag(completion, "answer").replace(",", "")
        rewards.append(float(bool(NUMBER.fullmatch(answer)) and float(answer) == float(truth)))
    return rewards


def record_field_by_field(completion, ground_truth):
    """Every field of the YAML and no other, in any order, quoted or not; a key twice is none."""

    def fields(text):
        """The fields of a flat record as pairs in order."""
        pairs = [line.partition(":") for line in text.splitlines() if line.strip()]
        return sorted((key.strip().lower(), value.strip().strip("\"'").lower()) for key, _, value in pairs)

    blocks = completion.split("```")
    if len(blocks) != 3 or not re.match(r"(?:ya?ml)?[ \t]*\r?\n", blocks[1]):
        return 0.0
    return float(fields(blocks[1].partition("\n")[2]) == fields(ground_truth))


def boxed_read_by_hand(completion, ground_truth):
    """The last boxed expression, its braces counted; spaces, \\dfrac and dollar signs do not matter."""

    def plain(text):
        """An expression without what does not matter."""
        return (
            re.sub(r"[\s$]|\\[,;!]|\\left|\\right", "", text)
            .replace("dfrac", "frac")
            .replace("tfrac", "frac")
        )

    start = completion.rfind("\\boxed{")
    if start < 0:
        return 0.0
    depth, place = 1, start + len("\\boxed{")
    begin = place
    while place < len(completion) and depth:
        depth += {"{": 1, "}": -1}.get(completion[place], 0)
        place += 1
    return float(depth == 0 and plain(completion[begin : place - 1]) == plain(ground_truth))


# Graded and negative


def one_box_iou(completion, ground_truth):
    """Intersection over union of the one box with the true one; two boxes are none."""
    numbers = re.fullmatch(
        r"\[?\s*" + r"\s*,\s*".join([r"([0-9]{1,5})"] * 4) + r"\s*\]?", only_tag(completion, "box")
    )
    if not numbers:
        return 0.0
    x1, y1, x2, y2 = map(int, numbers.groups())
    if x1 >= x2 or y1 >= y2:
        return 0.0
    width = max(0, min(x2, ground_truth[2]) - max(x1, ground_truth[0]))
    height = max(0, min(y2, ground_truth[3]) - max(y1, ground_truth[1]))
    size = (ground_truth[2] - ground_truth[0]) * (ground_truth[3] - ground_truth[1])
    return width * height / ((x2 - x1) * (y2 - y1) + size - width * height)


box_overlap = rk.Reward(
    "box_overlap",
    components=[rk.Component("iou", one_box_iou, why="share of overlap", expects_partial=True)],
)


def pixels_away(completion, ground_truth):
    """Minus the distance of the click in units of 100 pixels, never below -1, which is no click as well."""
    point = re.fullmatch(r"([0-9]{1,5})\s*,\s*([0-9]{1,5})", only_tag(completion, "click"))
    if not point:
        return -1.0
    distance = math.hypot(int(point[1]) - ground_truth[0], int(point[2]) - ground_truth[1])
    return 0.0 if distance <= 3 else max(-1.0, -distance / 100)


click_costs = rk.Reward(
    "click_costs",
    components=[
        rk.Component("away", pixels_away, range=(-1, 0), why="minus the distance", expects_partial=True)
    ],
)


def kendall(completion, ground_truth):
    """Rank correlation, from -1 to 1; what is no order of the same things is -1."""
    wanted = [item.strip().lower() for item in ground_truth.split(">")]
    given = [item.strip().lower() for item in only_line(completion, "Ranking").rstrip(".").split(">")]
    if sorted(given) != sorted(wanted):
        return -1.0
    place = {item: position for position, item in enumerate(given)}
    pairs = [(a, b) for number, a in enumerate(wanted) for b in wanted[number + 1 :]]
    return sum(1 if place[a] < place[b] else -1 for a, b in pairs) / len(pairs)


order_of_things = rk.Reward(
    "order_of_things",
    components=[rk.Component("tau", kendall, range=(-1, 1), why="rank correlation", expects_partial=True)],
)


def citation_f1(completion, ground_truth):
    """Square of the F1 of the cited sources; a sentence has to stand before them."""
    cited = {int(number) for number in re.findall(r"\[([0-9]{1,3})\]", completion)}
    hits = len(cited & {int(number) for number in ground_truth})
    if not hits or len(completion.partition("[")[0].split()) < 3:
        return 0.0
    return (2 * hits / (len(cited) + len(ground_truth))) ** 2


sources_cited = rk.Reward(
    "sources_cited",
    components=[rk.Component("f1", citation_f1, why="square of the F1 of the sources", expects_partial=True)],
)


def character_f(completion, ground_truth):
    """Translation: square of the F1 of groups of four letters, each counted as often as it stands there."""

    def groups(text):
        """Groups of four letters and how often each stands there."""
        plain = f" {' '.join(re.findall(r'[a-z]+', text.lower()))} "
        counts = {}
        for place in range(len(plain) - 3):
            counts[plain[place : place + 4]] = counts.get(plain[place : place + 4], 0) + 1
        return counts

    given, wanted = groups(completion), groups(ground_truth)
    shared = sum(min(count, given.get(group, 0)) for group, count in wanted.items())
    total = sum(given.values()) + sum(wanted.values())
    return (2 * shared / total) ** 2 if total else 0.0


# Of several parts


def slogan_kept(completions, at_most, keyword, **kwargs):
    """A sentence of at least five words that keeps to the number of words, its keyword, and no commas."""
    rewards = []
    for completion, most, word in zip(completions, at_most, keyword, strict=True):
        words = completion.split()
        said = re.search(rf"\b{re.escape(word)}\b", completion, re.IGNORECASE) is not None
        fine = 5 <= len(words) <= most and "," not in completion and completion.strip().endswith(".")
        rewards.append(float(fine and said and len({one.lower() for one in words}) > len(words) / 2))
    return rewards


def headings_with_text(completion, sections):
    """Each section is a heading of its own line, in order, with at least eight different words below."""
    parts = re.split(r"^##[ \t]+(.+?)[ \t]*$", completion.replace("\r\n", "\n"), flags=re.MULTILINE)
    if "```" in completion or [title.lower() for title in parts[1::2]] != [one.lower() for one in sections]:
        return 0.0
    return float(all(len({word.lower() for word in text.split()}) >= 8 for text in parts[2::2]))


def finished_once(completion, ground_truth):
    """The transcript ends in the one Finish, with the right city in it."""
    lines = completion.strip().splitlines()
    finishes = [line for line in lines if "finish[" in line.lower()]
    if len(finishes) != 1 or finishes[0] != lines[-1]:
        return False
    return lines[-1].strip().lower() == f"finish[{ground_truth.lower()}]"


def few_searches(completion):
    """A right transcript is worth a little more with fewer searches, nothing more from five on."""
    return max(0.0, 1.0 - max(0, completion.count("Action:") - 1) / 4)


agent_in_few_steps = rk.Reward(
    "agent_in_few_steps",
    components=[
        rk.Component("city", finished_once, primary=True),
        rk.Component("few", few_searches, weight=0.2, gate=rk.gate("city", at_least=1.0)),
    ],
)


def verdict_of_model(request):
    """Stands for the model that judges: reads JSON, answers in JSON, and looks at the answer alone."""
    case = json.loads(request)
    same = case["candidate"].strip().rstrip(".").lower() == case["reference"].lower()
    return json.dumps({"verdict": "same" if same else "different"})


async def judged_as_data(completion, ground_truth):
    """A judge sees the name in the tag as a value of JSON, no longer than 60 signs; its verdict is parsed."""
    name = only_tag(completion, "answer")
    if not name or len(name) > 60:
        return 0.0
    request = json.dumps({"candidate": name, "reference": ground_truth})
    return float(json.loads(verdict_of_model(request))["verdict"] == "same")


def number_told(completion, ground_truth):
    """The one number in the one tag is the true one."""
    answer = only_tag(completion, "answer").replace(",", "")
    return bool(NUMBER.fullmatch(answer)) and float(answer) == float(ground_truth)


def thought_and_tag(completion):
    """Reasoning of three words or more and one answer behind it, nothing else."""
    whole = re.fullmatch(r"\s*<think>([^<>]*)</think>\s*<answer>[^<>]+</answer>\s*", completion)
    return bool(whole) and len(whole.group(1).split()) >= 3


def brief(completion):
    """Full up to 60 words, falling to nothing at 160."""
    return min(1.0, max(0.0, (160 - len(completion.split())) / 100))


form_truth_and_brevity = rk.Reward(
    "form_truth_and_brevity",
    components=[
        rk.Component("form", thought_and_tag, weight=0.1),
        rk.Component("number", number_told, weight=1.0),
        rk.Component("brief", brief, weight=0.15, gate=rk.gate("number", at_least=1.0)),
    ],
)


def worth_its_level(data_source, solution_str, ground_truth, extra_info=None):
    """A right number is worth 0.7 to 1 by its level; without a level it is worth 0.8."""
    level = (extra_info or {}).get("level")
    worth = {1: 0.7, 2: 0.85, 3: 1.0}.get(level, 0.8)
    return worth * number_told(solution_str, ground_truth)
