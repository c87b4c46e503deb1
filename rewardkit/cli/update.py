"""`rewardkit check --update`: ask which cases to update to the reward."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import click

import rewardkit as rk
from rewardkit.errors import did_you_mean
from rewardkit.findings import NAMED, counted, most
from rewardkit.html.excerpts import one_line
from rewardkit.plain import Plain, Record
from rewardkit.scoring.case_updates import (
    Update,
    propose_updates,
    replace_component,
    suggest_component,
)
from rewardkit.scoring.check_result import (
    ABOVE,
    BELOW,
    DROPPED,
    EQUAL,
    Miss,
    Undecided,
)

LONGEST_SHOWN = 600
"""Characters of a completion shown with a question."""

LETTERS = {ABOVE: "1", BELOW: "2", EQUAL: "e", DROPPED: "d"}
"""Decision on a case -> its answer; "y" accepts the current score."""

NOBODY = (
    "--update asks, and nobody answers here, so nothing more was written; name what is "
    "to be taken over with --accept NAME, or a component's new name with --rename "
    "OLD=NEW"
)


def rename_components(
    reward: rk.Reward, path: str, renames: Sequence[str], timeout: float | None
) -> int:
    """Rename components in cases by --rename OLD=NEW,...; return the count of cases.

    InputError: another form, or from `replace_component`.
    """
    changed = 0
    for rename in renames:
        old, _, new = rename.partition("=")
        if not old or not new:
            raise rk.InputError(
                f"--rename {rename} is no OLD=NEW; write the component that CASES "
                "name, =, and the one of REWARD, or several with commas"
            )
        names = _split_names(new)
        changed += replace_component(path, reward, old, names, timeout=timeout)
    return changed


def accept_named(result: rk.CheckResult, names: Sequence[str]) -> list[Update]:
    """Return the updates of the cases and components that --accept names.

    InputError: a name without a missed expectation, or without a score to accept.
    """
    updates = propose_updates(result)
    misses: dict[str, list[Miss]] = defaultdict(list)
    for miss in result.misses:
        for name in (miss.case, miss.what):
            misses[name].append(miss)
    accepted: list[Update] = []
    for name in names:
        if name not in misses:
            raise rk.InputError(
                f"--accept {name}: no case that fails and no component that is missed "
                f"is called so{did_you_mean(name, misses)}"
            )
        chosen = [item for item in updates if name in (item.case, item.part)]
        if not chosen:
            raise rk.InputError(
                f"--accept {name}: there is nothing to take over, as it got "
                f"{misses[name][0].got}"
            )
        accepted += [item for item in chosen if item not in accepted]
    return accepted


def ask_for_components(
    reward: rk.Reward, path: str, result: rk.CheckResult, timeout: float | None
) -> int:
    """Ask for new names of unknown components; return the count of changed cases."""
    changed = 0
    for old, cases in result.unknown.items():
        case_list = rk.load_cases(path)
        suggestion = suggest_component(reward, case_list, old, timeout=timeout)
        number = counted(len(cases), "case")
        names = most(list(map(repr, cases)), NAMED)
        _say(f"{number} ({names}) name {old!r}, which {reward.name!r} does not have.")
        _say(f"It has {', '.join(reward.names)}.")
        answer = _ask(
            f"What is {old!r} now (several with commas where it was split, - for none)",
            default=suggestion or "-",
        )
        if answer != "-":
            new = _split_names(answer)
            changed += replace_component(path, reward, old, new, timeout=timeout)
    return changed


def ask_for_updates(result: rk.CheckResult) -> list[Update]:
    """Ask about each failed or undecided case; return the accepted updates.

    "q" ends the questions and keeps the updates accepted so far.
    """
    accepted: list[Update] = []
    for miss in result.misses:
        answer = _ask_about_miss(miss)
        if answer == "q":
            return accepted
        if answer == "y":
            accepted.append(Update(miss.case, miss.what, miss.proposed))
    for case in result.to_decide:
        choices = _choices_of(case)
        answer = _ask_about_undecided(case, choices)
        if answer == "q":
            return accepted
        if answer in choices:
            accepted.append(Update(case.case, case.what, choices[answer]))
    return accepted


def _ask_about_miss(miss: Miss) -> str:
    """Show what a case expects and gets; ask whether to accept that: y, n or q."""
    _say("\n" + ": ".join(filter(None, [miss.case, one_line(miss.why)])))
    _show_completions(miss.completion, miss.below)
    _say(f"  {miss.what}: expected {miss.expected}, got {miss.got}")
    if miss.proposed is None:
        _say("  Nothing can be taken over: mend the reward.")
        return "n"
    return _ask(f"  Expect this from now on: {miss.proposed}", ("y", "n", "q"), "n")


def _choices_of(case: Undecided) -> Plain:
    """Map possible answers to decisions on a case."""
    choices: Record = {}
    for choice in case.choices:
        choices[LETTERS.get(choice, "y")] = choice
    return choices


def _ask_about_undecided(case: Undecided, choices: Plain) -> str:
    """Show an undecided case, and ask for a decision; "s" skips the case."""
    _say(f"\n{case.case}: {one_line(case.why)}")
    _show_completions(case.completion, case.below)
    _say(f"  {case.what} now: {case.got}")
    question = "Drop it"
    if "y" in choices:
        question = "Is that right"
    elif "1" in choices:
        question = "Which is better, 1 or 2, or e: they are equally good"
    question = f"  {question} (d: drop the case, s: decide later, q: end)"
    return _ask(question, (*choices, "s", "q"), "s")


def _show_completions(completion: str, below: str) -> None:
    texts = [completion, below] if below else [completion]
    for number, text in enumerate(texts, start=1):
        mark = f"{number}: " if below else ""
        _say(f"  {mark}{one_line(repr(text), LONGEST_SHOWN)}")


def _say(text: str) -> None:
    click.echo(text, err=True)


def _ask(question: str, answers: Sequence[str] = (), default: str = "") -> str:
    """Return a person's answer. InputError: nobody answers."""
    kind = click.Choice(answers) if answers else str
    try:
        answer: str = click.prompt(question, default=default, type=kind, err=True)
    except click.Abort:
        _say("")
        raise rk.InputError(NOBODY) from None
    return answer


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
