"""Write the recorded answers of the gallery's judges from what stands beside this in words.

NAME.json has for each case of NAME, and each of its components that ask a model, [level, reason], of a judge
that compares siblings [place from 1, reason]; NAME.jsonl gets the answers under the keys that the judges look
for. Run it again after a rubric, a scale or a case was changed: python data/gallery/answers/record.py
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import rewardkit as rk
from rewardkit.judges.cache import answer_key
from rewardkit.judges.session import ModelAnswer, Session

HERE = Path(__file__).parent


def recorded(name: str) -> str:
    """The lines of NAME.jsonl."""
    said = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    cases = {case.name: case for case in rk.load_cases(f"gallery:{name}") if case.name in said}
    lines = {}
    for item in rk.load_reward(f"gallery:{name}").components:
        for columns, told in calls(item, cases, said) if getattr(item.function, "asks_model", False) else ():

            async def ask(session, request, sample, read, told=told):
                key = answer_key({"model": session.connection.server.model, **request}, sample)
                text = json.dumps(answer(request["messages"][-1]["content"], told), ensure_ascii=False)
                lines[key] = json.dumps({"key": key, "text": text}, ensure_ascii=False)
                return ModelAnswer(text, read(text), cached=True)

            with patch.object(Session, "ask", ask):
                asyncio.run(item.function(**columns))
    return "\n".join(lines.values()) + "\n"


def calls(item, cases, said) -> Iterator[tuple[dict, list]]:
    """The columns of each call of a component, and by completion what is to be answered."""
    told = {name: told[item.name] for name, told in said.items() if item.name in told}
    groups = {}
    for name in told:
        groups.setdefault(cases[name].columns["prompt"] if item.group else name, []).append(name)
    for names in groups.values():
        rows = [cases[name].columns for name in names]
        columns = {column: [row[column] for row in rows] for column in item.function.columns}
        if not item.group:
            columns = {column: value for column, (value,) in columns.items()}
        yield columns, [(row["completion"], *told[name]) for row, name in zip(rows, names, strict=True)]


def answer(content: str, told: list) -> dict[str, str]:
    """What the judge says to what it is shown: one completion and its level, or two and the better one."""
    if len(told) == 1:
        ((_, level, reason),) = told
        return {"reason": reason, "level": level}
    first, second = sorted((one for one in told if one[0] in content), key=lambda one: content.find(one[0]))
    better = "tie" if first[1] == second[1] else "first" if first[1] < second[1] else "second"
    return {"reason": (second if better == "second" else first)[2], "better": better}


if __name__ == "__main__":
    for source in sorted(HERE.glob("*.json")):
        file = source.with_suffix(".jsonl")
        file.touch()  # the judges read it when they begin
        file.write_text(recorded(source.stem), encoding="utf-8")
