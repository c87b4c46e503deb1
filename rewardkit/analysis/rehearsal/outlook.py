"""The outlook of a rehearsal: where the task ends, how sure that is, what grows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rewardkit.analysis.rehearsal.reach import HALF
from rewardkit.analysis.rehearsal.rehearsal import RISE, Rehearsal
from rewardkit.analysis.statistics import NO_INTERVAL, Codes, Floats, Interval, Mask
from rewardkit.analysis.view import View
from rewardkit.findings import percent, short_number
from rewardkit.html.excerpts import UserText

LEAST_GROWTH = 0.1
"""Growth of a kind's share from which it is told and has a curve. Our choice."""
CERTAIN = 3.0
"""Standard errors by which what takes over is paid better. Our choice."""
LEAST_PROMPTS = 10
Task = Literal["rises", "stalls", "falls"]


@dataclass(frozen=True)
class TakesOver:
    """The kind of completions that grows most, among learners that fail if any do.

    It is paid better than other wrong completions, beyond noise. `own_words` names it
    without words of completions. `share` is its share at the start and at the end,
    `step` the first at which it is half of all, None for never. `example` is one of its
    completions. `component` is what pays it most beside the task, "" for none.
    """

    kind: str
    own_words: str = field(repr=False)
    share: Interval
    step: int | None
    example: str
    component: str

    @property
    def name(self) -> str:
        """Return the kind, without what completions say while that is hidden."""
        return str(UserText(self.kind, self.own_words))

    @property
    def words(self) -> str:
        """Return what grows, how soon and to which share."""
        start, end = map(percent, self.share)
        if self.share[0] >= HALF or self.share[1] < HALF:
            return f"{self.name} grow from {start} to {end} of all"
        within = ""
        if self.step is not None:
            within = f" within about {max(10, 10 * round(self.step / 10))} steps"
        return f"{self.name} take over{within} ({start} to {end} of all)"


@dataclass(frozen=True)
class Outlook:
    """What becomes of the task in training.

    `task` "rises" by a tenth of the task or more, "falls" to half of its start or less,
    or "stalls", at the worse of a gentle and a fast pace; None where it cannot be told,
    and `why` says why. `start`, `gentle` and `fast` are shares done of the task: at the
    start, and what four of five learners reach at the end of each pace. Only learners
    count that learn the task where it alone is paid, if there are any.

    `sound` is where a reward for the task alone ends, at the worse pace. `fragility`, 0
    to 1, is the share of learners that end under half of what they reach with that
    reward. `untried` says what was left out, and why. `interval`, 95 %, is where other
    seeds end at the worse pace.
    """

    task: Task | None
    start: float
    gentle: float
    fast: float
    sound: float
    fragility: float
    takes_over: TakesOver | None
    why: str
    untried: tuple[str, ...] = ()
    interval: Interval = NO_INTERVAL

    @property
    def end(self) -> float:
        """Return the share done of the task at the end of the worse pace."""
        return min(self.gentle, self.fast)

    @property
    def pace(self) -> str:
        """Return the worse pace."""
        return "gentle" if self.gentle < self.fast else "fast"

    @property
    def is_open(self) -> bool:
        """Return whether other seeds may lead to another outcome of the task."""
        low, high = self.interval
        return outlook_of(self.start, low) != outlook_of(self.start, high)

    @property
    def end_text(self) -> str:
        """Return the end, with its interval where other seeds decide otherwise."""
        if not self.is_open:
            return share_text(self.end)
        low, high = map(share_text, self.interval)
        return f"{share_text(self.end)} ({low} to {high} with other seeds)"

    @property
    def sentence(self) -> str:
        """Return what becomes of the task, and why, in one sentence."""
        if self.task is None:
            return f"what becomes of the task cannot be told: {self.why}"
        start = share_text(self.start)
        text = f"the task {self.task}, from {start} to {self.end_text}"
        if self.task == "rises":
            return text
        best = max(self.gentle, self.fast)
        if outlook_of(self.start, best) != self.task:
            other = "fast" if self.pace == "gentle" else "gentle"
            text += f", at a {self.pace} rate ({share_text(best)} at a {other} one)"
        if self.sound > self.end + RISE:
            text += f"; the task alone would give {share_text(self.sound)}"
        if self.takes_over is None:
            return f"{text}: {self.why}" if self.why else text
        text += f": {self.takes_over.words}"
        return f"{text}, because {self.why}" if self.why else text

    @property
    def grade(self) -> str:
        """Return how many learners end there, in words, "" where that is not known."""
        if self.task is None:
            return ""
        ends = percent(self.fragility)
        return (
            f"Four of five learners at the {self.pace} rate end there or above; {ends} "
            "of the learners end under half of what the task alone gives"
        )


def share_text(share: float) -> str:
    """Write a share done of the task, such as 0.08."""
    return f"{share:.2f}"


def read_outlook(rehearsal: Rehearsal) -> Outlook:
    """Return the outlook of the task, or why there is none."""
    why = why_untold(rehearsal.view, rehearsal.rows.task[: len(rehearsal.view)])
    if why or rehearsal.sound is None:
        takes_over = _takes_over(rehearsal, np.ones(len(rehearsal.pace), dtype=bool))
        unknown = (math.nan,) * 5
        return Outlook(None, *unknown, takes_over, why, rehearsal.untried)
    start = rehearsal.start
    ends = rehearsal.ends
    sound = rehearsal.sound
    gentle = rehearsal.end("gentle")
    fast = rehearsal.end("fast")
    is_gentle = rehearsal.pace == "gentle"
    is_worse = is_gentle if gentle < fast else ~is_gentle
    fails = ends < HALF * sound
    takes_over = _takes_over(rehearsal, fails if fails.any() else is_worse)
    return Outlook(
        outlook_of(start, min(gentle, fast)),
        start,
        gentle,
        fast,
        float(np.median(sound[is_worse])),
        float(fails.mean()),
        takes_over,
        _why(rehearsal, takes_over),
        rehearsal.untried,
        rehearsal.end_interval,
    )


def outlook_of(start: float, end: float) -> Task:
    """Return the outcome of the task between these shares done of it.

    >>> outlook_of(0.1, 0.5), outlook_of(0.1, 0.12), outlook_of(0.1, 0.02)
    ('rises', 'stalls', 'falls')
    """
    if end >= start + RISE:
        return "rises"
    return "falls" if end <= start / 2 < start else "stalls"


def why_untold(view: View, task: Floats) -> str:
    """Say why the outlook of the task cannot be told, "" where it can."""
    if np.isnan(task).all():
        return (
            "nothing says which completions are right: name a trusted column with "
            "label=..., or give truths that can be compared"
        )
    prompts = len(np.unique(view.bootstrap.prompts))
    if prompts < LEAST_PROMPTS:
        few = "1 prompt is" if prompts == 1 else f"{prompts} prompts are"
        return f"{few} too few: at least {LEAST_PROMPTS} are needed"
    if not (np.nan_to_num(task) >= HALF).any():
        return (
            "no completion of the log is right, so nobody can tell how often one will "
            "be: sample more of each prompt, or easier prompts"
        )
    if not view.several:
        return "no prompt has two completions: sample several of each"
    return ""


def _takes_over(rehearsal: Rehearsal, learners: Mask) -> TakesOver | None:
    """Return the kind that grows most among these learners and is paid for it."""
    course = rehearsal.course.shares[:, learners].mean(axis=1)
    growth = course[-1] - rehearsal.material.shares / rehearsal.material.shares.sum()
    place = int(growth.argmax())
    if growth[place] < LEAST_GROWTH or not _is_paid(rehearsal, place):
        return None
    kind = rehearsal.kinds[place]
    is_same = [item.words == kind.words for item in rehearsal.kinds]
    share = course[:, is_same].sum(axis=1)
    half = np.flatnonzero(share >= HALF)
    rows = np.flatnonzero(rehearsal.rows.kinds == place)
    texts = sorted((rehearsal.rows.completions[row] for row in rows), key=len)
    return TakesOver(
        kind.words,
        kind.own_words,
        (float(share[0]), float(share[-1])),
        int(half[0]) if half.size else None,
        texts[len(texts) // 2],
        _payer(rehearsal, rows),
    )


def _is_paid(rehearsal: Rehearsal, kind: int) -> bool:
    """Return whether wrong ones of a kind are paid better than other wrong ones.

    By `CERTAIN` standard errors or more.
    """
    rows = rehearsal.rows
    is_wrong = ~rows.right & ~np.isnan(rows.rewards)
    is_kind = rows.kinds == kind
    inside, outside = (rows.rewards[is_wrong & side] for side in (is_kind, ~is_kind))
    if not len(inside) or not len(outside):
        return True
    error = math.sqrt(inside.var() / len(inside) + outside.var() / len(outside))
    return bool(inside.mean() - outside.mean() >= CERTAIN * error)


def _payer(rehearsal: Rehearsal, rows: Codes) -> str:
    """Return the component beside the task that pays these rows most above the mean."""
    view = rehearsal.view
    best = ""
    most = 0.0
    task = getattr(view.verdicts, "name", "")
    for name, component in view.components.items():
        if name == task or not component.weight:
            continue
        payment = np.nan_to_num(component.weight * rehearsal.rows.scores[name])
        gain = float(payment[rows].mean() - payment[: len(view)].mean())
        if gain > most:
            best = name
            most = gain
    return best


def _why(rehearsal: Rehearsal, takes_over: TakesOver | None) -> str:
    """Explain the outlook by what decides where nothing is right, or takes over."""
    view = rehearsal.view
    logged = len(view)
    is_start = rehearsal.rows.stages[:logged] == 0
    right = np.where(is_start, rehearsal.rows.right[:logged], np.nan)
    stats = view.group_stats(right)
    share = float((stats.mean == 0)[stats.count > 0].mean())
    groups = f"the {percent(share)} of groups where nothing is right"
    if takes_over is None and share >= RISE:
        return f"what chance pays in {groups} wears off what the policy knows"
    if takes_over is None or not takes_over.component:
        return ""
    name = takes_over.component
    if share >= RISE:
        return f"in {groups} `{name}` decides"
    largest = short_number(float(np.nan_to_num(rehearsal.rows.scores[name]).max()))
    return f"`{name}` pays up to {largest} for it, right or wrong"
