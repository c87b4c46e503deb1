"""calibrate(): which prompts can be probed, and what answers earn there."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from rewardkit.answers.formats import Format
from rewardkit.answers.marks import find_likely_mark
from rewardkit.probes.runner import Tries, are_equal, reward_for
from rewardkit.probes.subjects.log import (
    NO_TRUTH_COLUMNS,
    Log,
    Part,
    read_labels,
    split_parts,
)
from rewardkit.probes.subjects.logged import TELLS, logged
from rewardkit.probes.subjects.scales import Calibration, LeftOut, Scale
from rewardkit.probes.subjects.written import (
    ENOUGH,
    Best,
    best_format,
    drafts,
    skeletons,
    with_format,
)
from rewardkit.rewards.fingerprint import user_code
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import column_values
from rewardkit.strategies.subject import Row, Subject
from rewardkit.targets.adapter import Adapter, uses

MOST_SUBJECTS = 8  # prompts that are probed, or 4 of each of several parts: our choice
FEW_SUBJECTS = 2  # prompts of a part where calls are slow
CALLS_OF_A_RUN = 1500  # calls that all of it takes, about
LOG_RIGHT = 0.6  # gain from which an answer of the log counts as right: our choice
LONGEST_LOGGED = 2000  # characters of an answer that is kept of a log
SCORING_SHARE = 0.2  # share of the budget for scoring the log

GIVE_RIGHT_ONES = "give rollouts, or cases (cases=...), with right ones"

Placed = Sequence[tuple[int, Subject]]
"""Subjects, each with the place of its row."""


@dataclass(frozen=True)
class PartCalibration:
    """What is known of a part: see `Calibration` for its modes."""

    mode: str
    why: str = ""
    subjects: Sequence[tuple[Subject, Scale]] = ()
    left_out: Sequence[LeftOut] = ()
    constant: tuple[float, int] | None = None


def calibrate(
    tries: Tries, rollouts: Rollouts, *, label: str | None = None, seed: int = 0
) -> Calibration:
    """Choose subjects of all parts of the rollouts, and measure their scales.

    Args:
        tries: The reward and the time left.
        rollouts: The user's rollouts.
        label: A column that says which rollouts are right.
        seed: Draws the rollouts that are scored.
    """
    columns = rollouts.as_logged()
    names, values = list(columns), zip(*columns.values(), strict=True)
    rows: list[Row] = [dict(zip(names, row, strict=True)) for row in values]
    labels: Sequence[bool | None] = ()
    if label is not None:
        labels = read_labels(column_values(rollouts.table[label]), label)
    log = Log(tries, rows, rollouts.groups, labels)
    parts = split_parts(tries.reward.routed_by or "data_source", rows)
    draw = np.random.default_rng(seed)
    for part in parts:
        log.score(part, draw, share=SCORING_SHARE / len(parts))
    calibrated: dict[str, PartCalibration] = {}
    for part in parts:
        count = max(4, MOST_SUBJECTS // len(parts))
        calibrated[part.name] = _calibrate_part(log, part, count)
    pairs = [pair for known in calibrated.values() for pair in known.subjects]
    return Calibration(
        subjects=tuple(subject for subject, _ in pairs),
        scales={subject.rollout_id: scale for subject, scale in pairs},
        pool=tuple((rows[place], out) for place, out in log.outcomes.items()),
        modes={name: known.mode for name, known in calibrated.items()},
        why={
            name or "reward": known.why
            for name, known in calibrated.items()
            if known.why
        },
        left_out=tuple(
            prompt for known in calibrated.values() for prompt in known.left_out
        ),
        constants={
            name: known.constant for name, known in calibrated.items() if known.constant
        },
        labelled=tuple(
            prompt for part in parts for prompt in _compare_labelled(log, part)
        ),
    )


def _calibrate_part(log: Log, part: Part, count: int) -> PartCalibration:
    """Choose the subjects of a part, by right completions or by its truths."""
    if not any(place in log.outcomes for place in part.places):
        return PartCalibration("slow", _explain_slow(log.tries))
    if _is_slow(log.tries):
        count = FEW_SUBJECTS
    drafted = list(islice(drafts(log, part), count))
    of_log = logged(log, part, count)
    best = Best()
    kinds = {draft.kind for _, draft in drafted or of_log}
    if kinds.isdisjoint(subject.kind for _, subject in of_log):
        best = best_format(log, part, drafted, slow=_is_slow(log.tries))
    written: list[tuple[int, Subject]] = []
    if best.format:
        for place, draft in drafted:
            written.append((place, with_format(draft, best.format)))
    if not best.paid(part):
        written += of_log
        written += _write_like_log(log, drafted, of_log)
    subjects, left_out = _compare_answers(log, part, written, best.format)
    if subjects:
        return PartCalibration("truth", "", subjects, left_out)
    is_flat = part.high - part.low <= 1e-9
    why = _explain_none_right(log, part, drafted)
    if why:
        subjects = _choose_without_truth(log, part, count, is_flat=is_flat)
        return PartCalibration("unknown", why, subjects)
    if not drafted:
        return PartCalibration(
            "no truth", subjects=_choose_without_truth(log, part, count)
        )
    if best.inverted and not best.format:
        return PartCalibration("inverted")
    return _calibrate_undecided(log, part, count, was_tried=best.tried)


def _is_slow(tries: Tries) -> bool:
    """Whether there is no time for all that is tried of a quick reward."""
    return tries.seconds_a_call * CALLS_OF_A_RUN > tries.seconds_left


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
    log: Log, drafted: Placed, of_log: Placed
) -> Iterator[tuple[int, Subject]]:
    """Write drafts in formats of the log, for prompts without a right completion."""
    prompts = log.by_prompt(place for place, _ in of_log)
    for place, draft in drafted:
        if int(log.groups[place]) in prompts:
            continue
        formats = [
            subject.format for _, subject in of_log[:1] if subject.kind == draft.kind
        ]
        formats += islice(skeletons(log, place, draft), 2)
        for option in formats:
            yield place, with_format(draft, option)


def _compare_answers(
    log: Log, part: Part, written: Placed, usual: Format | None
) -> tuple[list[tuple[Subject, Scale]], list[LeftOut]]:
    """Keep the prompts on which right earns more than wrong, in the fairest format.

    Returns:
        The subjects with their scales, and the other prompts on which both were judged
        in the usual format, or in one that tells them apart elsewhere.
    """
    apart: dict[int, list[tuple[Subject, Scale]]] = defaultdict(list)
    alike: list[tuple[int, LeftOut]] = []
    for (place, subject), (right, wrong, scale) in zip(
        written, _score_answers(log, part, written), strict=True
    ):
        span = max(part.high - scale.floor, right - scale.floor, 1e-9)
        if right - wrong > TELLS * span:
            apart[place].append((subject, scale))
        elif not math.isnan(right) and not math.isnan(wrong):
            alike.append((place, LeftOut(subject, right, wrong)))
    subjects: list[tuple[Subject, Scale]] = []
    marks = {usual.opening} if usual else set()
    for place, options in apart.items():
        if not usual:
            marks |= {subject.format.opening for subject, _ in options}
        subject, scale = _choose_fairest(options)
        paid, unpaid = _read_answers(log, place, subject.format, scale)
        subject = replace(subject, paid_answers=paid, unpaid_answers=unpaid)
        subjects.append((subject, scale))
    left_out: dict[int, LeftOut] = {}
    for place, prompt in reversed(alike):
        if prompt.subject.format.opening in marks and place not in apart:
            left_out[place] = prompt
    return subjects, list(left_out.values())[::-1] if subjects else []


def _score_answers(
    log: Log, part: Part, written: Placed
) -> Iterator[tuple[float, float, Scale]]:
    """Score what subjects have written; yield right, wrong, and the scale of each."""
    in_format: list[tuple[Subject, str]] = []
    in_no_format: list[tuple[Subject, str]] = []
    for _, subject in written:
        in_format += [(subject, subject.reference), (subject, subject.baseline)]
        texts = (f"It is {subject.wrong[0]}.", f"It is {subject.right}.", "")
        in_no_format += [(subject, text) for text in texts]
    pairs = np.array(log.rewards(part, in_format)).reshape(-1, 2)
    others = np.full((len(written), 3), math.nan)
    if not log.tries.late:  # what has no form may be late as well
        others = np.array(log.rewards(part, in_no_format)).reshape(-1, 3)
    for (right, wrong), others_of in zip(pairs.tolist(), others.tolist(), strict=True):
        yield right, wrong, _make_scale(right, wrong, others_of, part.low)


def _make_scale(
    right: float, wrong: float, others: Sequence[float], lowest: float
) -> Scale:
    """Make a scale; what was not judged counts as the least."""
    plain, bare, empty = others
    rewards = [wrong, plain, empty, lowest]
    judged = [reward for reward in rewards if not math.isnan(reward)]
    floor = min(judged, default=0.0)
    wrong, plain, bare = (
        floor if math.isnan(reward) else reward for reward in (wrong, plain, bare)
    )
    return Scale(right, wrong, plain, floor, bare)


def _choose_fairest(
    options: Sequence[tuple[Subject, Scale]],
) -> tuple[Subject, Scale]:
    """Choose where being right adds most; of equal ones one with neutral reasoning.

    What a rollout says besides its answer may be paid for right and wrong alike.
    """
    widest = max(scale.span for _, scale in options)
    fair = [option for option in options if option[1].span >= ENOUGH * widest]
    return max(fair, key=lambda option: (option[0].format.neutral, option[1].right))


def _read_answers(
    log: Log, place: int, form: Format, scale: Scale
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read the answers of a prompt's completions in a format: paid and unpaid."""
    is_paid: dict[str, bool] = {}
    for sibling in log.beside(place):
        answer = form.read(log.text(sibling))
        if answer and len(answer) <= LONGEST_LOGGED:
            gain = scale.gain(log.earned(sibling))
            is_paid[answer] = is_paid.get(answer, False) or gain >= LOG_RIGHT
    paid = tuple(answer for answer in is_paid if is_paid[answer])
    return paid, tuple(answer for answer in is_paid if not is_paid[answer])


# --- where no right answer earns more


def _calibrate_undecided(
    log: Log, part: Part, count: int, *, was_tried: bool
) -> PartCalibration:
    """Say whether the truth is read at all."""
    tries = log.tries
    if _is_slow(tries) and (not was_tried or tries.seconds_left < tries.budget / 2):
        return PartCalibration("slow", _explain_slow(tries))
    if not part.seen:
        return PartCalibration("unknown", "no completion was judged there")
    if are_equal(part.seen):
        constant = part.seen[0], len(part.seen)
        return PartCalibration("constant", constant=constant)
    if _truth_matters(log, part):
        return PartCalibration(
            "unknown",
            "no right answer could be told from a wrong one: "
            f"{_describe_rewards(log, part)}, and none could be written that earns "
            "more than a wrong one; give rollouts, or cases (cases=...), with a "
            "completion that earns full marks beside one that does not",
        )
    if asks_for_truth(tries.reward):
        return PartCalibration("deaf")
    return PartCalibration("no truth", subjects=_choose_without_truth(log, part, count))


def _explain_none_right(log: Log, part: Part, drafted: Placed) -> str:
    """Say why no completion can be a right one; "" where one can, or none is needed."""
    reward, count = log.tries.reward, len(part.places)
    if log.labels:
        labels = [log.labels[place] for place in part.places]
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
    is_flat = part.high - part.low <= 1e-9
    is_full = part.high >= _ceiling(log, part.places[0])
    if not part.seen or not is_flat or is_full or not columns:
        return ""
    earned = _describe_rewards(log, part)
    named = " or ".join(sorted(columns))
    if not any(log.truth(place) for place in part.places):
        return (
            f"{earned}, and no row has a {named}, which it "
            "reads; name the column of the log with load_rollouts(..., columns={...})"
        )
    if any(any(skeletons(log, place, draft)) for place, draft in drafted):
        return ""
    return f"{earned}, perhaps because none of them is right; {GIVE_RIGHT_ONES}"


def _ceiling(log: Log, place: int) -> float:
    """Return full marks of all components for a row; 1 where none are declared."""
    part = reward_for(log.tries.reward, log.rows[place])
    total = 0.0
    for component in part.components:
        weight = part.weights[component.name]
        low, high = component.range or (0.0, 1.0)
        total += weight * (high if weight > 0 else low)
    return total


def _describe_rewards(log: Log, part: Part) -> str:
    count = len(log.ranked(part.places))
    if part.high - part.low <= 1e-9:
        return f"all {count} completions that were scored earn {part.high:.4g}"
    rewards = f"{part.low:.4g} to {part.high:.4g}"
    return f"the {count} completions that were scored earn {rewards}"


def _truth_matters(log: Log, part: Part) -> bool:
    """Whether rollouts earn otherwise with another prompt's truth."""
    ranked = log.ranked(part.places)
    rows: list[Row] = []
    siblings: list[Sequence[Row]] = []
    rewards: list[float] = []
    for place in [*ranked[:8], *ranked[-4:]]:
        truth = log.truth(place)
        for other in map(log.truth, part.places):
            if other != truth:
                rows.append(log.tries.variants.of(log.rows[place], **other))
                siblings.append(log.siblings(place))
                rewards.append(log.earned(place))
                break
    outcomes = log.tries.outcomes(rows, siblings, share=0.3)
    for outcome, reward in zip(outcomes, rewards, strict=True):
        if outcome is not None:
            if not math.isclose(outcome.reward, reward, abs_tol=1e-9):
                return True
    return False


def _choose_without_truth(
    log: Log, part: Part, count: int, *, is_flat: bool = False
) -> list[tuple[Subject, Scale]]:
    """Choose prompts by what their rollouts earn.

    References are the best paid rollouts of prompts, the baseline is the worst. Where
    all earn the same, `is_flat`, as none is right, whatever earns more and knows no
    answer is a hole.
    """
    ranked = log.ranked(part.places)
    if not ranked or (part.high - part.low <= 1e-9) is not is_flat:
        return []
    if is_flat and _ceiling(log, ranked[0]) <= part.high:
        return []
    subjects: list[tuple[Subject, Scale]] = []
    for place, *_ in list(log.by_prompt(ranked).values())[:count]:
        subject = log.plain(place, part, baseline=log.text(ranked[-1]))
        scale = Scale(part.high, part.low, part.low, part.low)
        if is_flat:
            form = find_likely_mark(subject.reference).format
            scale = replace(scale, right=_ceiling(log, place))
            _, unpaid = _read_answers(log, place, form, scale)
            subject = replace(subject, format=form, unpaid_answers=unpaid)
        subjects.append((subject, scale))
    return subjects


def asks_for_truth(reward: Reward) -> bool:
    """Whether the reward reads a truth, as far as its parameters and code say."""
    if "ground_truth" in reward.needs:
        return True
    for function in reward.functions:
        parts = [function] if isinstance(function, Adapter) else user_code(function)
        for part in parts:
            if isinstance(part, Adapter) and "ground_truth" in part.needs:
                if uses(part.called, "ground_truth"):
                    return True
    return False


def _compare_labelled(log: Log, part: Part) -> Iterator[LeftOut]:
    """Yield prompts with the best paid completion of each label, right and wrong."""
    ranked = log.ranked(part.places) if log.labels else []
    for places in log.by_prompt(ranked).values():
        right = [place for place in places if log.labels[place] is True]
        wrong = [place for place in places if log.labels[place] is False]
        if right and wrong:
            subject = log.plain(wrong[0], part)
            yield LeftOut(subject, log.earned(right[0]), log.earned(wrong[0]))
