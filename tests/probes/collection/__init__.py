"""A labelled collection of rewards for the probes: faulty ones with their faults, and healthy ones.

It was written before any threshold of the probes, from how reward functions go wrong in practice, and is not
to be tuned to them. A third of it (`held_aside`) was not looked at while the probes were first developed: the
files `aside_*.py` and `labels_aside.py`. A second and a third part (`second_*.py`, `third_*.py` and their
labels) were written later, each by someone who had seen neither the probes nor the other rewards. Each part
told something about the probes that was then mended, so none is unseen any more: what was found at the first
look stands in the changelog, and whoever wants an honest figure writes a new part.

What is expected of `rk.probe(label.reward(), label.rollouts())`: of a faulty reward one finding of severity
warn or high in a family of `label.families` for its one fault; of a healthy one none. Findings of severity
"info" are free.

What counts as healthy here, as it can be argued about:
 - strictness: an exact match that loses "42.0" is as its author wants it. A reward loses equivalents where it
   is lenient otherwise, or where what it loses is no more than white space or a line end around a text;
 - one guess is one guess, be it the first announced number, the last number or the last tag;
 - partial credit that is said to be some (`expects_partial`, `why`), or that a similarity is by its nature;
 - small sums for the form, and an honest "I don't know" at no reward between -1 and 1;
 - ``None`` where there is no truth; negative rewards; a group bonus that is declared as one (`group=True`);
 - where a task has no truth, what fulfils the form that was asked for is right.

`data.py` has the rollouts, each function a kind of answer in a form; `labels_*.py` the labels with what shows
the fault (or the health) of each; `faulty_*.py` and `healthy_*.py` the rewards, in the forms of several
trainers, as a person would write them. `tests/probes/test_collection.py` holds the labels to the rewards.
"""

from __future__ import annotations

from . import labels_answers, labels_aside, labels_conduct, labels_healthy, labels_second, labels_third
from .labelled import FAMILIES, Labelled

__all__ = ["COLLECTION", "FAMILIES", "Labelled"]

COLLECTION: tuple[Labelled, ...] = (
    *labels_answers.LABELS,
    *labels_conduct.LABELS,
    *labels_healthy.LABELS,
    *labels_aside.LABELS,
    *labels_second.LABELS,
    *labels_third.LABELS,
)
