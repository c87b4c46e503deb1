"""The components of a starting reward as written, each below what was measured and what is to be decided."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from rewardkit.findings import counted, percent
from rewardkit.starting.forms import Form
from rewardkit.starting.task import Limits, Task
from rewardkit.starting.truths import code_of

__all__ = ["WIDTH", "comment", "components", "needs_mark"]

WIDTH = 110
ALWAYS, HARDLY = 0.95, 0.2  # share of completions with a form that says little to tell them apart: our choice
RIGHT, SOME = 0.9, 0.02  # share of right answers from which on, and up to which, there is little signal
JUDGED = {
    "number": "truths are numbers, compared by their value and exactly",
    "choice": "truths are letters of a choice",
    "mathematics": "truths are mathematics: what is equal is right, however it is written",
    "json": "truths are JSON, compared value by value",
    "labels": "truths are lists, whose order does not matter",
    "accepted": "truths are lists of answers that are all accepted",
    "text": "truths are short texts; case, white space and the punctuation around them do not count",
    "prose": "truths are long texts: paid is the share of words in common",
}


def components(task: Task) -> Iterator[str]:
    """The text of each component, its comment above it."""
    if task.truth.verified:
        yield from _correct(task)
    if task.form is not None:
        yield _form(task, task.form)
    if task.limits is not None:
        yield _length(task, task.limits)
    if task.looping:
        yield _loops(task)
    if not task.truth.verified and task.form is None and task.limits is None and not task.looping:
        yield _component(
            "length", "rk.measure.length(full_from=1)", [NOTHING], weight="1.0", why="a stand-in"
        )


NOTHING = "Too few completions to measure anything: this pays for any text at all. Decide: what to pay for."


def _correct(task: Task) -> Iterator[str]:
    code, _ = task.truth.verification
    columns = []
    if task.taken is not None and task.taken.extractor is None:
        columns.append('"prediction": "completion"')
    if task.truth.reader is not None:
        columns.append('"ground_truth": "truth"')
    options = {"columns": f"{{{', '.join(columns)}}}"} if columns else {}
    if task.truth.kind == "json":
        yield _component(
            "values",
            f"partial({code}, partial=True)",
            [f"The {JUDGED['json']}. Decide: is an object that is partly right worth anything?"],
            **options,
            weight="0.5",
            why="partial credit: the share of right values, against missing and added ones",
        )
        code, options = "all_right", {}
    notes = [_how_often_right(task), *_outside(task)]
    weight = "0.5" if task.truth.kind == "json" else "1.0"
    yield _component("correct", code, notes, **options, weight=weight, primary="True", why="the task itself")


def _how_often_right(task: Task) -> str:
    """What is compared, how often it is right, and what that means for training."""
    right = task.taken.right if task.taken else 0.0
    head = "" if task.truth.kind == "json" else f"The {JUDGED[task.truth.kind]}. "
    if task.truth.share < 1.0:
        head += f"{percent(1 - task.truth.share)} of the truths are none, and not judged. "
    said = f"{head}{percent(right)} of the completions are right"
    if task.truth.kind == "prose":
        return f"{head}The mean score is {right:.2f}. Decide: whether a phrase or a judge is to be compared."
    if right >= RIGHT:
        return f"{said}: there is little left to learn. Decide: whether harder prompts are there."
    if right <= SOME:
        return (
            f"{said}: too few to learn from. Decide: easier prompts, or credit for what is nearly right; "
            "and is the truth what you think it is?"
        )
    return f"{said}."


def _outside(task: Task) -> Iterator[str]:
    """How often another way reads a right answer where the taken one does not."""
    taken = task.taken
    if taken is None:
        return
    missed = {
        way.code: sum(
            mine != 1.0 and other == 1.0 for mine, other in zip(taken.scores, way.scores, strict=True)
        )
        for way in task.ways
    }
    code = max(missed, key=lambda name: missed[name], default="")
    if missed.get(code):
        share = percent(missed[code] / len(taken.scores))
        yield f"Decide: in {share} of them a right answer is read by {code}, not by this. Is it to be paid?"


def _form(task: Task, form: Form) -> str:
    said = f"{percent(form.share)} of the completions keep this form ({form.what})"
    if form.share >= ALWAYS:
        note = f"{said}: siblings hardly differ in it. Decide: whether it is worth a weight."
    elif form.share <= HARDLY:
        note = f"{said}. Decide: is it asked for in the prompt? What no sibling does is not learned."
    else:
        note = f"{said}. Decide: its weight, so that form never earns what being right does."
        note = (
            note if task.truth.verified else f"{said}. Decide: whether it is to be paid, and what beside it."
        )
    options = (
        {"columns": '{"marked": "prediction"}'} if form.mark is not None and not needs_mark(task) else {}
    )
    options |= {"weight": "0.2"} if task.truth.verified else {"weight": "1.0", "primary": "True"}
    return _component("format", form.code, [note], **options, why="what reads the answer relies on it")


def needs_mark(task: Task) -> bool:
    """Whether the form asks for a field of its own, as the answer is read in another way, too."""
    mark = task.form.mark if task.form else None
    return mark is not None and (task.taken is None or mark != task.taken.extractor)


def _length(task: Task, limits: Limits) -> str:
    code = f"rk.measure.length(full_until={limits.full_until}, zero_from={limits.zero_from})"
    if task.truth.verified:
        note = (
            f"Nine of ten right completions have at most {counted(limits.full_until, 'word')}, the longest "
            f"{limits.longest:,}. Decide: whether brevity is worth anything, and from where on."
        )
        gate = 'rk.gate("correct", at_least=1.0)'
        why = "only when right: else the shortest answer is none at all"
        return _component("concise", code, [note], weight="0.1", gate=gate, why=why)
    note = (
        f"Nine of ten completions have at most {counted(limits.full_until, 'word')}, the longest "
        f"{limits.longest:,}. "
        "Decide: from where on a completion is too long."
    )
    return _component("length", code, [note], weight="0.2", why="no longer than most are")


def _loops(task: Task) -> str:
    share = percent(task.looping)
    note = f"{share} of the completions repeat more than a tenth of what they say. Decide: what a loop costs."
    return _component("repetition", "rk.measure.repetition(ngram=4)", [note], weight="-0.2", why="loops")


def _component(name: str, code: str, notes: Iterable[str], *, why: str, **options: str) -> str:
    """A component with its notes above it."""
    lines = [
        code_of(name),
        code,
        *(f"{key}={value}" for key, value in options.items()),
        f"why={code_of(why)}",
    ]
    inner = "".join(f"            {line},\n" for line in lines)
    return f"{comment(notes, 8)}        rk.Component(\n{inner}        ),\n"


def comment(lines: Iterable[str], indent: int = 0) -> str:
    """Lines of a comment: each "Decide" begins one, and rows of a table, with a space before them, stay."""
    mark, made = " " * indent + "# ", ""
    for line in (part for whole in lines for part in whole.replace(" Decide:", "\nDecide:").split("\n")):
        if not line or line[0] == " ":
            made += (mark + line).rstrip() + "\n"
            continue
        made += textwrap.fill(
            line,
            WIDTH,
            initial_indent=mark,
            subsequent_indent=mark,
            break_long_words=False,
            break_on_hyphens=False,
        )
        made += "\n"
    return made
