"""Labelled rewards for the probes: faulty ones, each with a completion that proves it, and healthy ones.

Written from how rewards of public training repositories look and go wrong, without a look at the probes:
labels say what is true, not what a probe finds. A hit is a finding of severity warn or high under one of
`entry.fault.questions`; a healthy entry (`fault` is None) has none. "info" is free.

What counts as healthy: strictness that the prompt asks for; credit that grows with closeness (F1, edits,
numbers, tests); skewed labels; options and labels in the prompt; bonuses of tutorials for form and length, as
long as a right answer earns the larger part; one guess is one guess.

COLLECTION is the half that probes are tuned on, HELD_BACK the half that only measures them: look at its
totals. Its files begin with `held_back_`; there are none at present. Where a probe is changed for one of its entries, its subject moves to
the tuned half, and new ones are written by somebody who has not seen the probes.

To add an entry: its label in the material of its subject, with the settings of a log; the tasks of the log as
lines of the subject's `.jsonl`; and the reward in the form of its trainer (in `verl_rewards.py`,
`trl_rewards.py` or `plain_rewards.py`, or in the `module` of its log) as a person would write it. `test_labelled.py` holds the labels to the
rewards.
"""

from .entry import QUESTIONS, Entry, Fault, entries

__all__ = ["COLLECTION", "HELD_BACK", "QUESTIONS", "Entry", "Fault"]

TUNED_ON = "games answers records mathematics texts questions agents judgements puzzles readings measures evidence"
TUNED_ON += (
    " numbers programs everyday names_and_dates chemistry commands_and_citations"
    " keys_and_places formulas_and_lamps networks_and_meals morse_and_plants"
    " headings_and_harvests gears_and_tanks"
)
MEASURED_ON = ""  # all that were written have been looked at
COLLECTION, HELD_BACK = (
    tuple(entry for subject in subjects.split() for entry in entries(subject))
    for subjects in (TUNED_ON, MEASURED_ON)
)
