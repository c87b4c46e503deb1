"""Fixes: what closes a hole, in one line that names the primitive for it."""

from __future__ import annotations

from rewardkit.findings import Finding

__all__ = ["FIXES", "OTHERWISE", "fix_for"]

OTHERWISE = "See which component pays: rk.explain(reward, {...}) with the columns of the example."

WITHOUT_TRUTH = {
    "nothing_there": "Put what is paid behind a gate on a check of what the prompt asks for.",
    "padding": "Cap what length earns: rk.measure.length(full_until=..., zero_from=...).",
}

FIXES = {
    # families
    "calibration": "Read what the reward makes of one rollout: rk.explain(reward, rollouts[0]).",
    "nothing_there": 'Pay for form only behind a right answer: gate=rk.gate("correct", at_least=1.0).',
    "shotgun": "Compare one extracted value: rk.verify.numbers_equal, choice_equal and matches take no list.",
    "near_misses": "Compare whole values exactly: rk.verify.numbers_equal, matches or json_equal.",
    "special_values": "Use rk.verify.numbers_equal: NaN, infinity and a missing answer are wrong for it.",
    "equivalents": "Compare by value: rk.verify.numbers_equal, math_equal, choice_equal or json_equal.",
    "look_alikes": "Read marks with rk.extract.tag and check the form with rk.measure.tags.",
    "padding": "Cap what length earns, rk.measure.length(zero_from=...), and pay it to right answers only.",
    "judge": 'Show the judge the extracted answer only: columns={"completion": "prediction"}.',
    "contract": "Return a finite number for any text, or None where it cannot judge.",
    "hang": "Use rk.extract.pattern, which has a timeout, or cut the text before your own code reads it.",
    "search": 'See what pays with rk.explain; pay it behind gate=rk.gate("correct", at_least=1.0).',
    # what is paid
    "prompt_echo": 'Read the answer from its mark: fields={"prediction": rk.extract.tag("answer")}.',
    "copied_from_prompt": "Check that the answer solves the task, not only that it holds the target.",
    "example_echo": "Give the prompt's worked example an answer that no prompt has.",
    "mentioned": 'Compare only the stated answer: fields={"prediction": rk.extract.tag("answer")}.',
    "several_marks": 'Read the last mark only: rk.extract.tag("answer"), rk.extract.boxed().',
    "retracted": 'Read the last answer only, as rk.extract.tag("answer") does.',
    "superscript": "Read numbers with rk.verify.numbers_equal, for which 4² is not 42.",
    "letters_for_digits": "Read numbers with rk.verify.numbers_equal, for which O is no digit.",
    "sign_lost": "Read the sign with the number, as rk.extract.number() does.",
    "empty_object": "Compare the whole value with rk.verify.json_equal, or count the keys of the truth.",
    "every_item": "Count what is too much as well: pay F1, not recall alone.",
    "empty_truth": "Return None (not judged) where there is no truth, as rk.verify functions do.",
    "tags_named": 'Allow no text beside the tags: rk.measure.tags("think", "answer", outside="nowhere").',
    "zero_width": "Seldom worth closing: only who knows the answer gets there.",
    "unclosed": "Seldom worth closing: only who knows the answer gets there.",
    "in_code": "Seldom worth closing: only who knows the answer gets there.",
    "flat_credit": "Pay nothing for a text that is not nearer to the answer than any other.",
    "leakage": "Lower the weight of form, or say that it is meant: leakage=..., or expects_partial=True.",
    "open_gate": 'Gate on a right answer: gate=rk.gate("correct", at_least=1.0).',
    "wrong_paid": "Return None (not judged) for truths that are empty or cannot be read.",
    # what is lost
    "zero_is_right": "Ask `prediction is None`, not `if not prediction`, which takes 0 for nothing.",
    "negative_is_right": "Read the sign with the number, as rk.extract.number() does.",
    "right_unpaid": "See how the truths of these prompts are read: rk.explain(reward, {...}).",
    "loses_layout": "Strip white space and read the mark anywhere, as rk.extract.tag and boxed do.",
    "strict": "State the layout in the prompt, or accept several with rk.extract.first_of(...).",
    # what is broken
    "constant": "See whether it reads what it should: rk.explain(reward, rollouts[0]); or give cases.",
    "ignores_truth": "Compare with the column ground_truth, as rk.verify.numbers_equal does.",
    "ignores_completion": "Ask for the completion by its name; rk.explain shows what is read.",
    "inverted": "A distance is a penalty: rk.Component(..., weight=-1.0).",
    "always_errors": 'Mend it. Other column names: load_rollouts(..., columns={"ground_truth": "label"}).',
    "always_abstains": "Read the reasons in rk.score(reward, rollouts): a column is missing or unreadable.",
    "always_late": "Find what it waits for (a server, a lock), or allow more with timeout=...",
    "raises": "Score what cannot be read 0.0 instead of raising, as rk.verify functions do.",
    "out_of_range": "Clip the score, or declare its range: rk.Component(..., range=(low, high)).",
    "dies": "Find what ends the process: sys.exit, a crash in a library, or memory.",
    "wrong_type": "Return a float, a bool or None from every branch.",
    "wrong_length": "Return one score a completion, for a batch of any size.",
    "not_picklable": "Define it at the top of a module, and make clients and locks inside the call.",
    "hidden_state": "Keep nothing between calls: no counters, no mutable default arguments, no cache.",
    "differs_between_calls": "Seed the randomness with the completion; ask judges at temperature 0.",
    "depends_on_order": "Score each row by itself, or declare it: rk.Component(..., group=True).",
    "depends_on_siblings": "Declare it with rk.Component(..., group=True), or use rk.weigh.standardise().",
    "changes_arguments": "Work on a copy, `texts = list(completions)`: lists belong to the trainer.",
    "outside_trainer_range": "Scale or clip the score, and give penalties a negative weight in the trainer.",
    "undeclared_column": "Ask for the column by name, as a parameter of the function.",
}
"""What to do, by code; for codes that are not named by family."""


def fix_for(finding: Finding) -> str:
    """What to do next about a finding, in one line.

    >>> fix_for(Finding("one_off", "high", None, {}, 8, family="near_misses")).partition(" ")[0]
    'Compare'
    """
    if not finding.evidence.get("truth", True) and finding.family in WITHOUT_TRUTH:
        return WITHOUT_TRUTH[finding.family]
    return FIXES.get(finding.code) or FIXES.get(finding.family) or OTHERWISE
