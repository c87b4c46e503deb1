"""calibrate(): which prompts can be probed, and what answers earn there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

import numpy as np

from rewardkit.answers.comparison import states_truth
from rewardkit.answers.formats import Format
from rewardkit.answers.judging import judge_log
from rewardkit.answers.kinds import kind_of
from rewardkit.answers.marks import find_likely_mark, find_marks
from rewardkit.answers.truth_column import NO_TRUTH_COLUMNS
from rewardkit.errors import RolloutsError
from rewardkit.primitives.verify.numbers import read_decimal
from rewardkit.probes.code.constants import constants
from rewardkit.probes.runner import RowOutcome, Tries, are_equal
from rewardkit.probes.subjects.drafts import (
    against_unpaid,
    best_format,
    drafts,
    logged,
    skeletons,
    states_estimates,
    tells_answers_apart,
    with_format,
)
from rewardkit.probes.subjects.kinds import find_kinds
from rewardkit.probes.subjects.log import SHARE_OF_TRY, ScoredPart, read_labels
from rewardkit.probes.subjects.scales import (
    ENOUGH,
    Calibration,
    Measurements,
    Placed,
    Scale,
    compare_answers,
    read_answers,
)
from rewardkit.probes.text_columns import learn_text_columns
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.users_code import user_code
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import column_values
from rewardkit.strategies.strategy import (
    Row,
    Subject,
    completion_of,
    wrong_answers,
)
from rewardkit.targets.adapter import Adapter
from rewardkit.targets.columns import CANONICAL

MOST_SUBJECTS = 8  # prompts that are probed, or 4 of each of several parts: our choice
FEW_SUBJECTS = 2  # prompts of a part if calls are slow
CALLS_OF_A_RUN = 1500  # approximate number of calls of a whole probing
SCORING_SHARE = 0.2  # share of the budget for scoring the sample of the log
SHARE_OF_REST = 0.1  # share of the budget for scoring the other rows of the log

MOST_LABELS_CHECKED = 1000  # completions whose labels are held to their truths
CONTRADICTED = 0.1
"""Share of labels that truths contradict from which a label of one value is refused.
Our choice."""

TRUTH_NAMES = {name for name in CANONICAL if CANONICAL[name] == "ground_truth"}
"""Names under which a reward looks for the truth in a row that it is given."""

GIVE_RIGHT_ONES = "give rollouts, or cases (cases=...), with right ones"


@dataclass(frozen=True)
class PartCalibration:
    """The calibration of one part of the log, see `Calibration`."""

    mode: str
    why: str = ""
    subjects: Measurements = ()
    left_out: Measurements = ()
    constant: tuple[float, int] | None = None


def calibrate(
    tries: Tries, rollouts: Rollouts, *, label: str | None = None, seed: int
) -> Calibration:
    """Choose subjects of all parts of the rollouts, and measure their scales.

    Args:
        tries: The reward and the time left.
        rollouts: The user's rollouts.
        label: A column that says which rollouts are right.
        seed: Draws the rollouts that are scored.
    """
    columns = rollouts.as_logged()
    values = zip(*columns.values(), strict=True)
    rows: list[Row] = [dict(zip(columns, row, strict=True)) for row in values]
    tries.text_columns = learn_text_columns(rows, rollouts.groups)
    labels: Sequence[bool | None] = ()
    if label is not None:
        labels = read_labels(column_values(rollouts.table[label]), label)
        _check_labels(labels, rows, label)
    kinds = find_kinds(rows, rollouts.groups, tries.reward)
    everything = ScoredPart(tries, rows, rollouts.groups, labels)
    parts = everything.split(kinds)
    draw = np.random.default_rng(seed)
    for part in parts:
        part.score(draw, share=SCORING_SHARE / len(parts))
    tries.find_unwritable(_pool(everything))
    count = max(4, MOST_SUBJECTS // len(parts))
    if len(parts) > 1 and _is_slow(tries, count * len(parts)):
        count = FEW_SUBJECTS
    calibrated = {part.name: _calibrate_part(part, count) for part in parts}
    if not _is_slow(tries):
        everything.score_rest(share=SHARE_OF_REST)
    ids = [row.get("rollout_id") for row in rows]
    chosen = list(chain.from_iterable(item.subjects for item in calibrated.values()))
    left_out = chain.from_iterable(item.left_out for item in calibrated.values())
    return Calibration(
        tuple(subject for subject, _ in chosen),
        {subject.rollout_id: scale for subject, scale in chosen},
        _pool(everything),
        {name: item.mode for name, item in calibrated.items()},
        {name or "reward": item.why for name, item in calibrated.items() if item.why},
        tuple(left_out),
        {name: item.constant for name, item in calibrated.items() if item.constant},
        dict(zip(ids, labels, strict=False)),
    )


def _check_labels(
    labels: Sequence[bool | None], rows: Sequence[Row], name: str
) -> None:
    """Raise RolloutsError if a label calls all rows right that their truths call wrong.

    A label with any wrong row is not checked.
    """
    count = labels.count(True)
    if not count or False in labels:
        return
    verdicts = (
        states_truth(completion_of(row), row.get("ground_truth"))
        for row, label in zip(rows, labels, strict=True)
        if label
    )
    wrong = sum(verdict == 0.0 for verdict in islice(verdicts, MOST_LABELS_CHECKED))
    if wrong >= CONTRADICTED * min(count, MOST_LABELS_CHECKED):
        raise RolloutsError(
            f"the label {name!r} calls all {count:,} completions right, also {wrong:,} "
            "that do not state their ground truth; leave it out, or name a column that "
            "tells right from wrong"
        )


def _pool(part: ScoredPart) -> tuple[tuple[Row, RowOutcome], ...]:
    """Return the rows that were scored so far, with their outcomes."""
    outcomes = part.outcomes.items()
    return tuple((part.rows[place], outcome) for place, outcome in outcomes)


def _calibrate_part(part: ScoredPart, count: int) -> PartCalibration:
    """Choose the subjects of a part, if completions can be written for it."""
    if not any(place in part.outcomes for place in part.places):
        return PartCalibration("slow", _explain_slow(part.tries))
    tries = part.tries
    if tries.unwritable and not tries.worst_values:  # no hole can be shown
        return PartCalibration("unknown")
    # a sum of components for form does not say which completions are right
    is_form = tries.reward.is_blind and len(tries.reward.all_components) > 1
    if tries.unwritable or is_form:
        mode = "unknown" if tries.unwritable else "no truth"
        return PartCalibration(mode, subjects=_choose_without_truth(part, count))
    return _calibrate_by_truth(part, FEW_SUBJECTS if _is_slow(tries) else count)


def _calibrate_by_truth(part: ScoredPart, count: int) -> PartCalibration:
    """Choose the subjects of a part, by right completions or by its truths."""
    has_estimates = states_estimates(part)
    drafted = [] if has_estimates else list(islice(drafts(part), count))
    of_log = logged(part, count, has_estimates=has_estimates)
    kinds = {draft.kind for _, draft in drafted}
    needs_format = kinds.isdisjoint(subject.kind for _, subject in of_log)
    to_write = drafted if needs_format else []
    best = best_format(part, to_write, is_slow=_is_slow(part.tries))
    written = []
    if best.format:
        written = [(place, with_format(draft, best.format)) for place, draft in drafted]
    if not best.is_fully_paid:
        written += of_log
        written += _write_like_log(part, drafted, of_log)
    subjects, left_out = compare_answers(part, written, best.format)
    if not subjects and tells_answers_apart(part):
        # the right answers to other prompts are paid here, too
        written = [(place, against_unpaid(part, place, item)) for place, item in of_log]
        subjects, left_out = compare_answers(part, written, best.format)
    if subjects:
        return PartCalibration("truth", "", subjects, left_out)
    why = _explain_none_right(part, drafted)
    if why:
        subjects = _choose_without_truth(part, count, is_flat=part.is_flat)
        return PartCalibration("unknown", why, subjects)
    if not drafted:
        subjects = _choose_without_truth(part, count)
        return PartCalibration("no truth", subjects=subjects)
    if best.is_inverted and not best.format:
        return PartCalibration("inverted")
    return _calibrate_undecided(part, count, was_tried=best.is_tried)


def _is_slow(tries: Tries, subjects: int = MOST_SUBJECTS) -> bool:
    """Return whether calls are too slow for all that is tried on so many prompts."""
    calls = CALLS_OF_A_RUN * subjects / MOST_SUBJECTS
    return tries.seconds_a_call * calls > tries.seconds_left


def _explain_slow(tries: Tries) -> str:
    if tries.is_hopeless:
        return (
            "no call came back in its time; give a longer timeout, or mend what takes "
            "so long"
        )
    before = f"{tries.why_over} before right and wrong answers could be told apart"
    if tries.is_cancelled:
        return before
    seconds = tries.seconds_a_call
    needed = max(1, seconds * CALLS_OF_A_RUN)
    return (
        f"{before} (a call takes {seconds:.2g} s); about budget={needed:.0f} would "
        "do for all"
    )


def _write_like_log(
    part: ScoredPart, drafted: Placed, of_log: Placed
) -> Iterator[tuple[int, Subject]]:
    """Write drafts in formats of the log, for prompts without a right completion.

    Yield none if truths are objects of another form than answers. That is so if a truth
    is not paid in place of the answer in a right completion.
    """
    forms = {int(part.groups[place]): subject.format for place, subject in of_log}
    objects = []
    others = []
    for place, draft in drafted:
        form = forms.get(int(part.groups[place]))
        if form is None:
            others.append((place, draft))
        elif draft.kind == "json":
            objects.append((draft, form.write(draft.right)))
    rewards = part.score_all(objects)
    if rewards and not any(reward >= ENOUGH * part.high for reward in rewards):
        return
    for place, draft in others:
        formats = list(islice(skeletons(part, place, draft), 2))
        if of_log and of_log[0][1].kind == draft.kind:
            formats.insert(0, of_log[0][1].format)
        for option in formats:
            if not _is_share_in_percent(draft, option):
                yield place, with_format(draft, option)


def _is_share_in_percent(draft: Subject, option: Format) -> bool:
    """Return whether a share would be written in percent: 0.372 as "0.372 %"."""
    behind = (option.closing + option.tail).lstrip()
    number = read_decimal(draft.right)
    if number is None or draft.right.endswith("%") or not behind.startswith("%"):
        return False
    return abs(number) <= 1


# --- where no right answer earns more


def _calibrate_undecided(
    part: ScoredPart, count: int, *, was_tried: bool
) -> PartCalibration:
    """Calibrate a part without subjects by whether its truth is read at all."""
    tries = part.tries
    if _is_slow(tries) and (not was_tried or tries.seconds_left < tries.budget / 2):
        return PartCalibration("slow", _explain_slow(tries))
    if not part.rewards:
        return PartCalibration("unknown", "no completion was judged there")
    if are_equal(part.rewards):
        constant = part.rewards[0], len(part.rewards)
        return PartCalibration("constant", constant=constant)
    if _truth_matters(part):
        return PartCalibration(
            "unknown",
            "no right answer could be told from a wrong one: "
            f"{_describe_rewards(part)}, and none could be written that earns "
            "more than a wrong one; give rollouts, or cases (cases=...), with a "
            "completion that earns full marks beside one that does not",
        )
    if asks_for_truth(tries.reward):
        return PartCalibration("deaf")
    return PartCalibration("no truth", subjects=_choose_without_truth(part, count))


def _explain_none_right(part: ScoredPart, drafted: Placed) -> str:
    """Say why no completion can be right; "" if one can, or if none is needed."""
    reward, count = part.tries.reward, len(part.places)
    if part.labels:
        labels = [part.labels[place] for place in part.places]
        if True in labels:
            return ""
        wrong, missing = labels.count(False), labels.count(None)
        counts = f"{wrong} are called wrong, {missing} have no label"
        return (
            f"the label calls none of {count} completions right ({counts}); "
            f"{GIVE_RIGHT_ONES}"
        )
    columns = {*reward.needs}
    if asks_for_truth(reward):
        columns.add("ground_truth")
    columns -= NO_TRUTH_COLUMNS
    is_full = part.high >= _ceiling(part, part.places[0])
    if not part.rewards or not part.is_flat or is_full or not columns:
        return ""
    earned = _describe_rewards(part)
    named = " or ".join(sorted(columns))
    if not any(map(part.truth, part.places)):
        return (
            f"{earned}, and no row has a {named}, which it "
            "reads; name the column of the log with load_rollouts(..., columns={...})"
        )
    if any(any(skeletons(part, place, draft)) for place, draft in drafted):
        return ""
    places = part.ranked(part.places)
    rows = [part.rows[place] for place in places]
    answers = judge_log(rows, [part.earned(place) for place in places])
    right = sum(answer.is_right is True for answer in answers)
    if right:
        return f"{earned}, though {right} of them state the right answer"
    return f"{earned}, perhaps because none of them is right; {GIVE_RIGHT_ONES}"


def _ceiling(part: ScoredPart, place: int) -> float:
    """Return the full marks of a row's components; 1 each for those without a range."""
    reward = part.tries.reward.for_row(part.rows[place]) or part.tries.reward
    total = 0.0
    for component in reward.components:
        weight = reward.weights[component.name]
        low, high = component.range or (0.0, 1.0)
        total += weight * (high if weight > 0 else low)
    return total


def _describe_rewards(part: ScoredPart) -> str:
    count = len(part.ranked(part.places))
    if part.is_flat:
        return f"all {count} completions that were scored earn {part.high:.4g}"
    rewards = f"{part.low:.4g} to {part.high:.4g}"
    return f"the {count} completions that were scored earn {rewards}"


def _truth_matters(part: ScoredPart) -> bool:
    """Return whether rollouts earn something else with another prompt's truth."""
    ranked = part.ranked(part.places)
    truths = list(map(part.truth, part.places))
    rows = []
    siblings = []
    rewards = []
    for place in [*ranked[:8], *ranked[-4:]]:
        truth = part.truth(place)
        other = next((other for other in truths if other != truth), None)
        if other is not None:
            rows.append(part.tries.varied(part.rows[place], **other))
            siblings.append(part.siblings(place))
            rewards.append(part.earned(place))
    outcomes = part.tries.outcomes(rows, siblings, share=SHARE_OF_TRY)
    return any(
        outcome.is_tried and not math.isclose(outcome.reward, reward, abs_tol=1e-9)
        for outcome, reward in zip(outcomes, rewards, strict=True)
    )


def _choose_without_truth(
    part: ScoredPart, count: int, *, is_flat: bool = False
) -> Measurements:
    """Choose prompts by the rewards of their rollouts.

    The reference of a prompt is its best paid rollout, the baseline of all is the worst
    rollout. Programs that earn the most are right, if others earn less. With `is_flat`
    all rollouts earn the same because none is right: then a completion that earns more
    without knowing the answer is a hole.
    """
    ranked = part.ranked(part.places)
    if not ranked or part.is_flat is not is_flat:
        return []
    if is_flat and _ceiling(part, ranked[0]) <= part.high:
        return []
    best = [place for place, *_ in part.by_prompt(ranked).values()]
    highest = [at for at in best if part.outcomes[at].reward == part.high]
    programs = [] if is_flat else _programs(part, highest[:count])
    if programs:
        of_programs, _ = compare_answers(part, programs, None)
        if of_programs:
            return of_programs
    subjects = []
    for place in best[:count]:
        subject = part.plain(place)
        worst = part.text(ranked[-1])
        columns = {**subject.columns, **part.tries.worst_values}
        baseline = worst or subject.reference
        subject = replace(subject, columns=columns, baseline=baseline)
        scale = Scale(part.high, part.low, part.low, part.low)
        if is_flat:
            form = find_likely_mark(subject.reference).format
            scale = replace(scale, right=_ceiling(part, place))
            _, unpaid = read_answers(part, place, form, scale)
            subject = replace(subject, format=form, unpaid_answers=unpaid)
        subjects.append((subject, scale))
    return subjects


def _programs(part: ScoredPart, places: Sequence[int]) -> Placed:
    """Make subjects of rollouts that earn the most and hold a program in a fence."""
    subjects: list[tuple[int, Subject]] = []
    for place in places:
        subject = part.plain(place)
        for mark in find_marks(subject.reference):
            if mark.format.name == "fence" and kind_of(mark.answer) == "code":
                wrong = wrong_answers(mark.answer, "code")
                draft = replace(subject, answer=mark.answer, kind="code", wrong=wrong)
                subjects.append((place, with_format(draft, mark.format)))
                break
    return subjects


def asks_for_truth(reward: Reward) -> bool:
    """Return whether the reward reads a truth, as a parameter or from its row."""
    if "ground_truth" in reward.needs:
        return True
    for function in reward.functions:
        parts = [function] if isinstance(function, Adapter) else user_code(function)
        for part in parts:
            if isinstance(part, Adapter) and part.gives_row:
                if not TRUTH_NAMES.isdisjoint(constants([part.function])):
                    return True
    return False
