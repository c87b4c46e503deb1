"""Search: completions beyond the fixed list that are certainly wrong and paid all the same."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rewardkit.findings import Finding
from rewardkit.probes.runner import Outcome, Tries
from rewardkit.probes.search.completions import Record, plain, written
from rewardkit.probes.search.edits import edited, openers
from rewardkit.probes.search.exploits import KEPT, Exploit, explained
from rewardkit.probes.search.gains import OTHERS, Gains
from rewardkit.probes.search.shrinking import shrunk
from rewardkit.probes.search.vocabulary import Vocabulary, gathered
from rewardkit.probes.subjects.scales import Calibration
from rewardkit.probes.verdicts import FULL
from rewardkit.strategies.subject import Subject

CALLS = 400
"""Completions that are tried to find exploits. Our choice: a second or less where a call takes no time."""

SHRINK = 300
"""Completions that are tried to make an exploit small. Our choice."""

HOMES = 3  # prompts on which is searched, one after the other
WAVE = 24  # completions that are tried at a time
ELITE = 8  # records that others are made from


def search(
    tries: Tries,
    calibration: Calibration,
    *,
    calls: int = CALLS,
    seed: int = 0,
    skip: Sequence[Finding] = (),
) -> list[Exploit]:
    """Exploits that were found within so many calls, shrunk, the smallest first; none that `skip` explains.

    Each part of the rollouts gets its share of the calls. A part is left out of which `cannot_search` says
    why, and one where findings of `skip` explain all there is to gain. Up to `SHRINK` more calls are used to
    make an exploit small. Where the time of `tries` is over, it ends with what it has. The same seed gives
    the same exploits. Calls are completions here, without the siblings that a group brings along.
    """
    found: list[Exploit] = []
    parts = _parts(calibration)
    for part, subjects in parts.items():
        gains = Gains(tries, [item for item in skip if item.part == part])
        gains.take(subjects, calibration.scales)
        if not gains.hopeless():
            draw = np.random.default_rng([seed, *part.encode()])
            found += _of_part(
                gains,
                gathered(tries.reward, calibration, subjects),
                draw,
                calls // len(parts),
            )
    return sorted(
        found, key=lambda item: (len(item.home.completion), item.home.completion)
    )


def cannot_search(calibration: Calibration) -> str | None:
    """Why nothing can be searched for, as far as that is known beforehand; ``None`` where it can."""
    parts = _parts(calibration)
    if not parts:
        return "no right answer is known, so no completion is certainly wrong"
    if all(
        len({one.answer for one in subjects}) <= OTHERS for subjects in parts.values()
    ):
        return (
            f"there are fewer than {OTHERS + 1} prompts with answers of their own, so nothing could be told "
            "from chance; give more rollouts"
        )
    return None


def _parts(calibration: Calibration) -> dict[str, list[Subject]]:
    """The subjects with a truth, by part."""
    found: dict[str, list[Subject]] = defaultdict(list)
    for subject in calibration.subjects:
        if subject.answer is not None:
            found[subject.part].append(subject)
    return found


def _of_part(
    gains: Gains, vocabulary: Vocabulary, draw: np.random.Generator, calls: int
) -> list[Exploit]:
    """The exploits of a part: searched on some subjects in turn, until one earns full marks."""
    found: dict[str | None, Exploit] = {}
    homes = [
        gains.subjects[at]
        for at in draw.permutation(len(gains.subjects))[:HOMES].tolist()
    ]
    left = calls - gains.calls
    for place, home in enumerate(homes):
        began = gains.calls
        until = began + left // (len(homes) - place) - gains.others - 1
        record = _climbed(gains, home, vocabulary, draw, until)
        exploit = gains.exploit(record, home) if record is not None else None
        left -= gains.calls - began
        if exploit is None or explained(exploit, gains.skip):
            continue
        exploit = _shrunk(gains, exploit)
        known = found.get(exploit.component)
        if known is None or exploit.home.gain > known.home.gain + 0.01:
            found[exploit.component] = exploit
        if exploit.home.gain >= FULL:
            break
    return list(found.values())


def _climbed(
    gains: Gains,
    home: Subject,
    vocabulary: Vocabulary,
    draw: np.random.Generator,
    until: int,
) -> Record | None:
    """The best exploit on a subject, by edits of the best so far; ``None`` where there is none."""
    tried: list[tuple[float, Record, Outcome]] = []
    best: tuple[float, Record | None] = (0.0, None)
    start = plain(home)
    wave = [start, *openers(start, vocabulary)]
    while best[0] < FULL and not gains.over:
        texts = {
            text: record
            for record in wave
            if (text := written(record, home)) is not None
        }
        fresh = [text for text in texts if (home.rollout_id, text) not in gains.known]
        fresh = fresh[: max(0, until - gains.calls)]
        if not fresh:
            break
        for text, outcome in zip(
            fresh, gains.outcomes([(home, text) for text in fresh]), strict=True
        ):
            worth = gains.worth(home, texts[text], outcome)
            if outcome is not None and not math.isnan(worth):
                tried.append((worth, texts[text], outcome))
                if gains.pays(home, texts[text], outcome):
                    best = max(best, (worth, texts[text]), key=lambda item: item[0])
        parents = [*_elite(tried, gains.weights(home)), start]
        odds = np.append(np.arange(len(parents), 1, -1), len(parents))
        chosen = draw.choice(len(parents), WAVE, p=odds / odds.sum())
        wave = [edited(parents[at], draw, vocabulary) for at in chosen]
    return best[1]


def _elite(
    tried: Sequence[tuple[float, Record, Outcome]], weights: Mapping[str, float]
) -> list[Record]:
    """The records to go on from: those of the most worth, and the best by each component."""
    # the newest of those worth the same: so the search drifts, and does not stay where it began
    ranked = sorted(reversed(tried), key=lambda item: -round(item[0], 6))[:ELITE]
    for name, weight in weights.items():
        scored = [(item[2].scores.get(name, math.nan) * weight, item) for item in tried]
        ranked += [item for _, item in sorted(scored, key=lambda one: one[0])[-1:]]
    return list(dict.fromkeys(record for _, record, _ in ranked))


def _shrunk(gains: Gains, exploit: Exploit) -> Exploit:
    """The smallest form of an exploit that was found, and still holds on other subjects."""
    shortest = min(exploit.others, key=lambda paid: len(paid.completion))
    pair, end = (exploit.home, shortest), gains.calls + SHRINK - 2 * len(gains.subjects)

    def holds(record: Record) -> bool:
        for paid in pair:
            text = written(record, paid.subject)
            if text is None or (
                gains.calls >= end
                and (paid.subject.rollout_id, text) not in gains.known
            ):
                return False
            outcome = gains.outcomes([(paid.subject, text)])[0]
            goal = min(FULL, KEPT * paid.gain)
            if (
                not gains.pays(paid.subject, record, outcome)
                or gains.gain(paid.subject, outcome) < goal
            ):
                return False
        return True

    found = gains.exploit(shrunk(exploit.record, holds), exploit.home.subject)
    better = (
        found is not None
        and found.rate >= exploit.rate
        and not explained(found, gains.skip)
    )
    return (
        replace(found, calls=exploit.calls) if found is not None and better else exploit
    )
