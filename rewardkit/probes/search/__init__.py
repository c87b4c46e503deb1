"""Search for certainly wrong, paid completions that no strategy writes."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np

from rewardkit.findings import Finding, Findings, rule
from rewardkit.probes.falls import FULL_MARKS, WILD
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.options import SEARCH_CALLS
from rewardkit.probes.runner import RowOutcome
from rewardkit.probes.search.exploits import (
    EXPLOIT_GAIN,
    KEPT_GAIN,
    LEAST_OTHER_PROMPTS,
    Exploit,
    Gains,
    PaidCompletion,
    is_explained,
    is_partly_right,
    report_exploit,
)
from rewardkit.probes.search.templates import (
    WRONG_SLOTS,
    Segment,
    Template,
    Vocabulary,
    edit_template,
    first_templates,
    gather_vocabulary,
    plain,
    write_wrong,
)
from rewardkit.strategies.strategy import Subject

SHRINK_CALLS = 300
"""Completions that are tried to shrink an exploit. Our choice."""

MOST_HOMES = 3  # prompts that are searched, one after the other
WAVE_SIZE = 24  # completions that are tried at a time
ELITE_SIZE = 8  # templates that the next ones are made from

MANY_WORDS = 12
"""Words from which full stops are tried in their place. Our choice."""

FEW_REPEATS = 12
"""Repeats up to which a part of one may be left out. Our choice."""


@rule("exploit")
def exploits(
    observed: Observed,
    findings: Findings,
    *,
    calls: int = SEARCH_CALLS,
    seed: int = 0,
) -> Iterator[Finding]:
    """Search for exploits that no finding explains, and shrink each of them.

    A part of the log is left out if findings explain all of its gains. When the time is
    over, the search ends with what it has. The same seed gives the same exploits, the
    smallest first.

    Args:
        observed: What was observed of the reward.
        findings: An exploit that one of these explains is left out.
        calls: Completions to try, without the siblings that a group brings along; each
            part gets its share. Up to `SHRINK_CALLS` more make an exploit small.
        seed: Draws prompts and edits.
    """
    if observed.noise <= WILD and not find_why_unsearchable(observed):
        for exploit in search_exploits(observed, findings, calls=calls, seed=seed):
            yield report_exploit(exploit, observed)


def search_exploits(
    observed: Observed,
    findings: Findings = (),
    *,
    calls: int = SEARCH_CALLS,
    seed: int = 0,
) -> list[Exploit]:
    """Return the exploits of all parts, see `exploits`."""
    of_parts = []
    parts = _group_by_part(observed)
    for part, subjects in parts.items():
        skip = [finding for finding in findings if finding.part == part]
        gains = Gains(observed, skip)
        gains.take(subjects)
        if not gains.is_hopeless:
            draw = np.random.default_rng([seed, *part.encode()])
            vocabulary = gather_vocabulary(observed, subjects)
            of_parts += _search_part(gains, vocabulary, draw, calls // len(parts))
    return sorted(of_parts, key=lambda exploit: exploit.home.size)


def find_why_unsearchable(observed: Observed) -> str:
    """Say why there can be no search; "" if there can."""
    if observed.tries.is_over:
        return observed.tries.why_over
    parts = _group_by_part(observed)
    if not parts:
        return "no right answer is known, so no completion is certainly wrong"
    for subjects in parts.values():
        if len({subject.answer for subject in subjects}) > LEAST_OTHER_PROMPTS:
            return ""
    return (
        f"there are fewer than {LEAST_OTHER_PROMPTS + 1} prompts with answers of "
        "their own, so nothing could be told from chance; give more rollouts"
    )


def _group_by_part(observed: Observed) -> dict[str, list[Subject]]:
    """Group the subjects with a truth."""
    parts = defaultdict(list)
    for subject in observed.subjects_with_truth:
        parts[subject.part].append(subject)
    return parts


def _search_part(
    gains: Gains, vocabulary: Vocabulary, draw: np.random.Generator, calls: int
) -> list[Exploit]:
    """Search on some subjects in turn, until an exploit earns full marks."""
    best: dict[str | None, Exploit] = {}
    order = draw.permutation(len(gains.subjects))[:MOST_HOMES].tolist()
    remaining = calls - gains.calls
    for place, at in enumerate(order):
        home, start = gains.subjects[at], gains.calls
        until = start + remaining // (len(order) - place) - gains.others - 1
        template = _climb(gains, home, vocabulary, draw, until)
        exploit = None if template is None else gains.confirm(template, home)
        remaining -= gains.calls - start
        if exploit is None or is_explained(exploit, gains.skip):
            continue
        exploit = _shrink_exploit(gains, exploit)
        if gains.replaces_answer(exploit.home):
            continue
        other = best.get(exploit.component)
        if other is None or exploit.home.gain > other.home.gain + 0.01:
            best[exploit.component] = exploit
        if exploit.home.gain >= FULL_MARKS:
            break
    return list(best.values())


class ScoredTemplate(NamedTuple):
    """A template with its outcome on a subject, and its worth there."""

    worth: float
    template: Template
    outcome: RowOutcome


def _climb(
    gains: Gains,
    home: Subject,
    vocabulary: Vocabulary,
    draw: np.random.Generator,
    until: int,
) -> Template | None:
    """Edit the best templates so far; return the one that gains most, or None."""
    scored = []
    best = None
    best_worth = 0.0
    start = plain(home)
    wave = [start, *first_templates(start, vocabulary)]
    while best_worth < FULL_MARKS and not gains.is_over:
        new = _write_new(gains, home, wave, until - gains.calls)
        if not new:
            break
        outcomes = gains.outcomes([(home, text) for text in new])
        for text, outcome in zip(new, outcomes, strict=True):
            worth = gains.gain(home, outcome)
            item = PaidCompletion(home, text, outcome, worth)
            if math.isnan(worth) or is_partly_right(item):
                continue
            template = new[text]
            scored.append(ScoredTemplate(worth, template, outcome))
            if worth > best_worth and gains.pays(home, outcome):
                best, best_worth = template, worth
        parents = [*_select_elite(scored, gains.observed.weights(home)), start]
        odds = np.append(np.arange(len(parents), 1, -1), len(parents))
        chosen = draw.choice(len(parents), WAVE_SIZE, p=odds / odds.sum())
        wave = [edit_template(parents[at], draw, vocabulary) for at in chosen]
    return best


def _write_new(
    gains: Gains, home: Subject, templates: Iterable[Template], most_new: int
) -> dict[str, Template]:
    """Write wrong completions that were not tried yet, each with its template."""
    new = {}
    for template in templates:
        text = write_wrong(template, home)
        if text is not None and gains.is_new(home, text):
            new[text] = template
    return dict(islice(new.items(), max(0, most_new)))


def _select_elite(
    scored: Sequence[ScoredTemplate], weights: Mapping[str, float]
) -> list[Template]:
    """Select the templates of most worth, and the best for each component."""
    # of equal templates the newest, so that the search moves on
    ranked = sorted(reversed(scored), key=lambda item: -round(item.worth, 6))
    elite = ranked[:ELITE_SIZE]
    for name, weight in weights.items():
        amounts = [item.outcome.scores.get(name, math.nan) * weight for item in scored]
        order = sorted(range(len(amounts)), key=amounts.__getitem__)
        elite += [scored[place] for place in order[-1:]]
    return list(dict.fromkeys(item.template for item in elite))


# --- making small


def _shrink_exploit(gains: Gains, exploit: Exploit) -> Exploit:
    """Return the smallest form of an exploit that still holds on other subjects."""
    shortest = min(exploit.others, key=lambda item: len(item.completion))
    end = gains.calls + SHRINK_CALLS - 2 * len(gains.subjects)

    def holds(template: Template) -> bool:
        for item in (exploit.home, shortest):
            subject, text = item.subject, write_wrong(template, item.subject)
            if text is None or (gains.calls >= end and gains.is_new(subject, text)):
                return False
            (outcome,) = gains.outcomes([(subject, text)])
            goal = min(FULL_MARKS, KEPT_GAIN * item.gain)
            gain = gains.gain(subject, outcome)
            if not gain >= max(EXPLOIT_GAIN, goal):  # it may be NaN
                return False
        return True

    smaller = gains.confirm(shrink(exploit.template, holds), exploit.home.subject)
    if smaller is None or smaller.rate < exploit.rate:
        return exploit
    return exploit if is_explained(smaller, gains.skip) else smaller


def shrink(template: Template, holds: Callable[[Template], bool]) -> Template:
    """Shrink a template by delta debugging (Zeller and Hildebrandt, 2002).

    Leave out segments, then repeats, then words and characters of each text, until no
    single one can be left out. The same input gives the same output.

    Args:
        template: A template that holds.
        holds: Whether a template is still paid; False once no calls are left.
    """
    before = None
    while template != before:
        before = template
        template = tuple(_drop_units(template, lambda units: holds(tuple(units))))
        for place in range(len(template)):
            template = _shrink_segment(template, place, holds)
    return template


def _shrink_segment(
    template: Template, place: int, holds: Callable[[Template], bool]
) -> Template:
    """Leave out what can be left out of the segment at a place."""
    best = template[place]

    def fits(segment: Segment) -> bool:
        nonlocal best
        if holds((*template[:place], segment, *template[place + 1 :])):
            best = segment
            return True
        return False

    words = len(best.text.split()) * best.times
    if words >= MANY_WORDS:
        fits(Segment(". ", words))
    least, most = 0, best.times
    while most - least > 1:  # as if more of it were never worse
        middle = 1 if least == 0 else (least + most) // 2
        if fits(best._replace(times=middle)):
            most = middle
        else:
            least = middle
    if best.times <= FEW_REPEATS:
        best = Segment(best.text * best.times)
    one_answer = re.sub(f"[{WRONG_SLOTS}]", WRONG_SLOTS[0], best.text)
    fits(best._replace(text=one_answer))
    for unit in (r"\s*\S+|\s+", r"(?s)."):
        _drop_units(
            re.findall(unit, best.text),
            lambda units: fits(best._replace(text="".join(units))),
        )
    return (*template[:place], best, *template[place + 1 :])


Unit = TypeVar("Unit")


def _drop_units(
    units: Sequence[Unit], holds: Callable[[Sequence[Unit]], bool]
) -> Sequence[Unit]:
    """Leave out the units that can be left out, many at once first."""
    size = len(units)
    while size:
        start = 0
        while start < len(units):
            remaining = [*units[:start], *units[start + size :]]
            if holds(remaining):
                units = remaining
            else:
                start += size
        size //= 2
    return units
