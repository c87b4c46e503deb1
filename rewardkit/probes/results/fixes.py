"""Fixes: what closes a hole, in one line that names the primitive for it."""

from __future__ import annotations

from rewardkit.findings import Finding

__all__ = ["FIXES", "fix_for"]

GATE = 'gate=rk.gate("correct", at_least=1.0)'

OTHERWISE = "See which component pays for it: rk.explain(reward, {...}) with the columns of the example."

WITHOUT_TRUTH = {
    "nothing_there": "Ask for what the prompt asks for before anything is paid: a gate on a check of it.",
    "padding": "Let more text earn nothing: rk.measure.length(full_until=..., zero_from=...) has an end.",
}

FIXES = {
    # families
    "calibration": "Read what this reward makes of a rollout: rk.explain(reward, rollouts[0]).",
    "nothing_there": (
        "Judge what was extracted, not the completion: every rk.verify function takes a prediction of "
        f"None for wrong; put what is paid for length and form behind {GATE}."
    ),
    "shotgun": (
        "Compare one extracted value as a whole, with rk.verify.numbers_equal, rk.verify.choice_equal "
        "or rk.verify.matches, which take no list; to look for the truth in a text (`in`, "
        "rk.verify.contains) is to pay for listing."
    ),
    "near_misses": (
        "Compare exactly: rk.verify.numbers_equal without a tolerance; pay nearness, if at all, in a "
        "component of its own, with rk.verify.closeness and expects_partial=True."
    ),
    "special_values": (
        "Read numbers with rk.verify.numbers_equal: for it NaN and infinity are no numbers, a missing "
        "answer is wrong, and a missing truth is not judged."
    ),
    "equivalents": (
        "Compare by value: rk.verify.numbers_equal, rk.verify.math_equal, rk.verify.choice_equal and "
        "rk.verify.json_equal take other notations, rk.verify.matches texts in any case."
    ),
    "look_alikes": (
        "Read tags with rk.extract.tag and hold the form against a grammar with rk.measure.tags: both "
        "take pairs of real tags only."
    ),
    "padding": (
        "Let more text earn nothing: rk.measure.length(full_until=..., zero_from=...) has an end, and "
        f"behind {GATE} only right answers are paid for it."
    ),
    "judge": (
        'Show the judge the extracted answer only, columns={"completion": "prediction"}, and ask it '
        f"only where a check has passed: {GATE}."
    ),
    "contract": (
        "Make it a function of its arguments alone, which returns a finite number for any text, or "
        "None where it cannot judge."
    ),
    "hang": (
        "Bound what is done with a text: rk.extract.pattern and rk.measure.regex end after their "
        "timeout=..., rk.verify.math_equal reads 2,000 characters at most; cut the text before code "
        "of your own reads it."
    ),
    "search": (
        "See which component pays for it, with rk.explain(reward, {...}) and the columns of the "
        f"example, and pay that one only where the answer is right: {GATE}."
    ),
    # single findings
    "prompt_echo": (
        'Read the answer from its mark, fields={"prediction": rk.extract.tag("answer")}, so that what '
        "the prompt says is not taken for it."
    ),
    "example_echo": (
        "Give the example in the prompt an answer that no prompt has, and read the last tag, as "
        'rk.extract.tag("answer") does.'
    ),
    "mentioned": (
        'Read the answer where it is stated, fields={"prediction": rk.extract.tag("answer")}, and '
        "compare that: a search of the whole completion finds the right one among others."
    ),
    "several_marks": (
        'Read one of them, the last, as rk.extract.tag("answer"), rk.extract.boxed() and '
        'rk.extract.choice() do; a gate on rk.measure.tags("think", "answer") pays only where there '
        "is exactly one."
    ),
    "retracted": 'Take the last answer, as rk.extract.tag("answer") and rk.extract.boxed() do by default.',
    "negated": (
        "Compare all of what was extracted, with rk.verify.matches, or with rk.verify.choice_equal, "
        "which takes no letter that is denied."
    ),
    "too_much": (
        "Compare whole values, with rk.verify.numbers_equal or rk.verify.matches: a part of a text "
        "(`in`, a pattern without ends) stands in longer ones, too."
    ),
    "too_little": (
        "Compare whole values, with rk.verify.numbers_equal or rk.verify.matches: `prediction in "
        "truth` takes any part of the truth."
    ),
    "zero_is_right": (
        "Ask `prediction is None`, not `if not prediction`, to which 0 is nothing; "
        "rk.verify.numbers_equal does."
    ),
    "negative_is_right": (
        "Read the sign with the number, as rk.extract.number() and rk.verify.numbers_equal do."
    ),
    "empty_truth": "Give None (not judged) where there is no truth, as all rk.verify functions do.",
    "tags_named": (
        'Allow no text beside the tags, rk.measure.tags("think", "answer", outside="nowhere"), or pay '
        f"the form only to right answers: {GATE}."
    ),
    "ever_longer": (
        "Give what is paid for length an end, rk.measure.length(full_until=..., zero_from=...), and a small "
        "weight: filler is as long as reasons are."
    ),
    "empty_object": (
        "Compare the whole value with rk.verify.json_equal; a share of fields is of those that the truth "
        "has, not of those that were given."
    ),
    "every_item": (
        "Count what is too much as well: compare sets for equality, or pay F1 or the overlap's share of the "
        "union, not recall alone."
    ),
    "one_item": "Compare whole lists, with rk.verify.json_equal, or as sets where the order does not matter.",
    "other_decimals": "Compare the numbers as they are, with rk.verify.numbers_equal; int() cuts them off.",
    "words_turned": "Compare the text in its order, or what it does when it is run; a bag of words has none.",
    "superscript": (
        'Read a number as it is written, with rk.verify.numbers_equal: unicodedata.normalize("NFKC", '
        "...) and int() make 42 of 4²."
    ),
    "letters_for_digits": "Take a letter for no digit: rk.verify.numbers_equal and rk.verify.matches do not.",
    "tags_of_two_kinds": "Read pairs of one tag, with rk.extract.tag.",
    "nested": "Of nested tags read the innermost, as rk.extract.tag does, and compare all that stands in it.",
    "zero_width": (
        "Only who knows the answer gets there, so it is seldom worth closing; rk.verify.matches(..., "
        "exact=True) takes the very same characters only."
    ),
    "unclosed": (
        "Only who knows the answer gets there, so it is seldom worth closing; rk.extract.tag takes "
        "closed pairs only, but with unclosed=True."
    ),
    "in_code": "Only who knows the answer gets there, so it is seldom worth closing.",
    "ignores_completion": "Ask for the completion by its name; rk.explain shows what a reward reads.",
    "flat_credit": "Pay for closeness to the right answer, or nothing: what any text earns teaches nothing.",
    "leakage": (
        f"Pay less beside the task, or put it behind {GATE}; where a wrong answer is meant to earn a "
        "part, declare it with expects_partial=True on the component, or allow more with leakage=..."
    ),
    "constant": (
        "See whether the reward reads what it should: rk.explain(reward, rollouts[0]) shows its "
        "fields, rollouts.summary() the columns."
    ),
    "ignores_truth": (
        'Compare with the truth: rk.Component("correct", rk.verify.numbers_equal) asks for a field '
        "`prediction` and the column `ground_truth`."
    ),
    "open_gate": f"Let the gate ask for a right answer: {GATE}, on the score of the task itself.",
    "wrong_paid": (
        "See what these truths have in common, rk.explain(reward, {...}) with the columns of the "
        "example: an empty or unreadable truth is to be not judged (None), as the rk.verify functions "
        "have it."
    ),
    "inverted": (
        "Turn it round: a distance or a loss is a penalty, rk.Component(..., weight=-1.0), and "
        "rk.verify.closeness and rk.measure.similarity rise with what is right."
    ),
    "right_unpaid": (
        "See what these prompts have in common, rk.explain(reward, {...}) with the columns of the "
        "example: a truth that is not read, or a layout that is not taken."
    ),
    "always_errors": (
        "Mend what the error says; a column of another name is mapped with rk.load_rollouts(..., "
        'columns={"ground_truth": "label"}).'
    ),
    "always_abstains": (
        "See which column is missing or cannot be read: the table of rk.score(reward, rollouts) has "
        "the reasons."
    ),
    "always_late": (
        "Find out what it waits for (a server, a lock), or give each call more time with timeout=..."
    ),
    "raises": (
        "Judge what cannot be read instead of raising, as the rk.verify functions do: wrong is a "
        "score of 0.0, while an error is no score at all."
    ),
    "out_of_range": (
        "Bring the score into its range, or declare the one it has: rk.Component(..., range=(low, "
        "high)), or range=None."
    ),
    "dies": (
        "Find out what ends the process: sys.exit, os._exit, a crash in a library, or memory; a worker of "
        "the trainer dies with it."
    ),
    "not_finite": (
        "Give None where there is nothing to judge, and divide by nothing that can be 0: one NaN "
        "makes a trainer's whole batch NaN."
    ),
    "wrong_type": "Return a float, a bool or None from every branch.",
    "wrong_length": "Return one score a completion, for a batch of any size.",
    "loses_layout": (
        "Read the answer with rk.extract.tag or rk.extract.boxed, which leave out white space around "
        "it and what the reasoning says, and compare with rk.verify.numbers_equal or "
        "rk.verify.matches, to which a full stop is nothing."
    ),
    "strict": (
        'Say the layout in the prompt; rk.extract.first_of(rk.extract.tag("answer"), '
        "rk.extract.boxed()) takes more than one."
    ),
    "not_picklable": (
        "Define the function at the top of a module, and make clients and locks inside the call."
    ),
    "hidden_state": (
        "Keep nothing from call to call: no counters, no lists as default arguments, nothing of earlier rows."
    ),
    "differs_between_calls": (
        "Take chance out of it, or seed it with the completion's text; ask a judge at temperature 0."
    ),
    "depends_on_order": (
        "Score each row by itself; what compares siblings says so, rk.Component(..., group=True), and "
        "gets the list of one group."
    ),
    "depends_on_siblings": (
        "Score each row by itself; what compares siblings says so, rk.Component(..., group=True), and "
        "what normalises rewards is a transform: rk.weigh.standardise()."
    ),
    "changes_arguments": (
        "Work on a copy, `texts = list(completions)`: lists and dicts belong to the trainer."
    ),
    "nan_for_none": "Return 0.0 for a bad completion, and None for one that cannot be judged.",
    "undeclared_column": "Ask for the column by name, as a parameter of the function.",
}
"""What to do, by code; for codes that are not named by family."""


def fix_for(finding: Finding) -> str:
    """What to do next about a finding, in one line.

    >>> fix_for(Finding("one_off", "high", None, {}, 8, family="near_misses")).partition(":")[0]
    'Compare exactly'
    """
    if not finding.evidence.get("truth", True) and finding.code not in FIXES:
        return WITHOUT_TRUTH.get(finding.family, FIXES.get(finding.family, OTHERWISE))
    return FIXES.get(finding.code) or FIXES.get(finding.family) or OTHERWISE
