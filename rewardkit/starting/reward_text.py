"""The reward file: a first reward for a task, with what was measured and what is to be decided."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from rewardkit.findings import counted, percent
from rewardkit.primitives.extract import Extractor, first_of
from rewardkit.starting.component_text import WIDTH, comment, components, needs_mark
from rewardkit.starting.own import OWN, source
from rewardkit.starting.task import Task
from rewardkit.starting.truths import code_of
from rewardkit.targets.exported import identifier

__all__ = ["reward_text"]

HEAD = "way to read the answer"
SHOWN = 6  # ways to read the answer in the table of a comment
TAKEN = ("reward", "rk", "partial", "annotations", "SCHEMA", *OWN)  # names that a file has already
UNJUDGED = {
    "none": "the log has no ground_truth",
    "opaque": "the truths are objects that say how to judge an answer, not what it is",
    "code": "the truths are code or tests, and rewardkit runs no code of completions",
}


def reward_text(name: str, tasks: Sequence[Task], log: str, total: int) -> str:
    """The text of the reward file for these tasks of the `log`, of whose `total` rows they are a sample."""
    owns = _variables(tasks)
    parts = [_reward(name, task, own) for task, own in zip(tasks, owns, strict=True)]
    if len(tasks) > 1:
        parts.append(_route(name, tasks, owns))
    body = "\n\n".join(parts)
    imports = "from functools import partial\n\n" if "partial(" in body else ""
    head = f"{_docstring(name, tasks, log, total)}\n\nfrom __future__ import annotations\n\n{imports}"
    functions = [source(own).rstrip() for own in OWN if f" {own},\n" in body]
    functions += [_reader(task, own) for task, own in zip(tasks, owns, strict=True) if _reads_truth(task)]
    return (
        "\n\n\n".join([f"{head}import rewardkit as rk", *functions, body]).replace("rk\n\n\n#", "rk\n\n#")
        + "\n"
    )


def _docstring(name: str, tasks: Sequence[Task], log: str, total: int) -> str:
    rows = sum(len(task.rows) for task in tasks)
    sample = f"{rows:,} of the" if rows < total else "all" if total > 1 else "the"
    shown = code_of(log)[1:-1].replace("\\", "/").replace('"', "'")
    what = "a first reward" if len(tasks) == 1 else f"a first reward for each of {len(tasks)} data sources"
    return (
        f'"""{name}: {what}, to be made your own.\n\n'
        + _filled(
            f"Figures in the comments are of {sample} {counted(total, 'completion')} of {shown}, as they "
            "were when this file was written. A log shows what a policy does, not what it should do: lines "
            f"that begin with Decide are for you. {name}_cases.jsonl holds completions to decide them on."
        )
        + '\n"""'
    )


def _variables(tasks: Sequence[Task]) -> list[str]:
    """The name of each task's reward in the file."""
    if len(tasks) == 1:
        return ["reward"]
    names: list[str] = []
    for task in tasks:
        name = identifier(task.name)
        while name in (*TAKEN, *names):
            name = f"{name}_"
        names.append(name)
    return names


def _route(name: str, tasks: Sequence[Task], names: Sequence[str]) -> str:
    lines = "".join(f"        {code_of(task.name)}: {own},\n" for task, own in zip(tasks, names, strict=True))
    note = comment(["Rows of another source are not judged. Decide: a source that pays more drowns others."])
    return f'{note}reward = rk.Route(\n    "data_source",\n    {{\n{lines}    }},\n    name="{name}-v1",\n)'


def _reward(name: str, task: Task, own: str) -> str:
    """The statements that make one reward."""
    title = f"{name}-v1" if own == "reward" else f"{name}-{own.strip('_')}-v1"
    schema = f"{own.upper()}_SCHEMA" if own != "reward" else "SCHEMA"
    made = f"{schema} = {_schema(task.form.schema)}\n\n" if task.form and task.form.schema else ""
    inner = "".join(components(task)).replace("json_schema(SCHEMA)", f"json_schema({schema})")
    return (
        f"{made}{comment(_measured(task))}{own} = rk.Reward(\n    {code_of(title)},\n{_fields(task, own)}"
        f"    components=[\n{inner}    ],\n)"
    )


def _measured(task: Task) -> Iterator[str]:
    """What was measured of the task, for the comment above its reward."""
    about = f"{counted(len(task.rows), 'completion')} of {counted(task.prompts, 'prompt')}"
    yield f"{code_of(task.name)}: {about}." if task.name else f"{about[0].upper()}{about[1:]}."
    if not task.truth.verified:
        yield (
            f"Nothing here pays for being right: {UNJUDGED[task.truth.kind]}. Decide: what a right answer "
            "is. It is the first component then, a function of prediction and what else it needs, with "
            "primary=True and more weight than all others together."
        )
    if task.ways:
        yield ""
        yield from _table(task)


def _table(task: Task) -> Iterator[str]:
    """The ways to read the answer, the best of them, in lines of a comment."""
    best = sorted(task.ways, key=lambda way: (-way.right, -way.found))[:SHOWN]
    shown = {way.code: way for way in task.ways if way in best}
    chosen = {task.taken.code: task.taken} if task.taken else {}
    names = {code: code.replace("rk.extract.", "") for code in {**shown, **chosen}}
    width = max(len(HEAD), *map(len, names.values()))
    judged = task.truth.verified
    yield f"  {HEAD.ljust(width)}  found" + ("  right" if judged else "")
    for code, way in {**shown, **chosen}.items():
        figures = f"{percent(way.found):>7}" + (f"{percent(way.right):>7}" if judged else "")
        yield f"  {names[code].ljust(width)}{figures}" + ("  taken" if code in chosen else "")


def _fields(task: Task, own: str) -> str:
    """The fields, each on lines of its own."""
    fields: dict[str, str] = {}
    if task.form is not None and needs_mark(task):
        fields["marked"] = code_of(task.form.mark)
    if task.taken is not None and task.taken.extractor is not None:
        fields["prediction"] = _over_lines(task.taken.extractor)
    if _reads_truth(task):
        fields["truth"] = _reader_name(own)
    lines = "".join(f"        {code_of(field)}: {code},\n" for field, code in fields.items())
    return f"    fields={{\n{lines}    }},\n" if lines else ""


def _over_lines(extractor: Extractor) -> str:
    """The code of an extractor; of several in turn, a line each."""
    if not isinstance(extractor, first_of):
        return code_of(extractor)
    lines = "".join(f"            {code_of(item)},\n" for item in extractor.extractors)
    return f"rk.extract.first_of(\n{lines}        )"


def _reads_truth(task: Task) -> bool:
    return task.truth.verified and task.truth.reader is not None


def _reader_name(own: str) -> str:
    return "final_answer" if own == "reward" else f"final_answer_of_{own}"


def _reader(task: Task, own: str) -> str:
    """The function that finds the answer in a worked solution."""
    return (
        f"def {_reader_name(own)}(ground_truth: str | None) -> str | None:\n"
        '    """The answer at the end of a worked solution."""\n'
        f"    return {code_of(task.truth.reader)}(ground_truth)"
    )


def _filled(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_on_hyphens=False, break_long_words=False)


def _schema(schema: dict[str, Any]) -> str:
    """A schema of `schema_of` as it is written in a file."""
    kinds = "".join(
        f"        {code_of(key)}: {{{', '.join(f'{code_of(k)}: {code_of(v)}' for k, v in kind.items())}}},\n"
        for key, kind in schema["properties"].items()
    )
    keys = "".join(f"        {code_of(key)},\n" for key in schema["required"])
    properties, required = f"{{\n{kinds}    }}", f"[\n{keys}    ]"
    return f'{{\n    "type": "object",\n    "properties": {properties},\n    "required": {required},\n}}'
