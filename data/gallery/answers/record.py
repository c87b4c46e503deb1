"""Write the recorded answers of the gallery's judges from what stands beside this in words.

NAME.json has for each case of NAME, and each of its components that ask a model, [level, reason]; NAME.jsonl
gets the answers under the keys that the judges look for. Run it again after a rubric, a scale or a case was
changed: python data/gallery/answers/record.py
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import rewardkit as rk
from rewardkit.judges.session import Answer, Session, answer_key

HERE = Path(__file__).parent


def recorded(name: str) -> str:
    """The lines of NAME.jsonl."""
    said = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    reward, lines = rk.load_reward(f"gallery:{name}"), {}
    for case in rk.load_cases(f"gallery:{name}"):
        for component, (level, reason) in said.get(case.name, {}).items():
            text = json.dumps({"reason": reason, "level": level}, ensure_ascii=False)

            async def ask(session, request, sample, read, text=text):
                key = answer_key({"model": session.server.model, **request}, sample)
                lines[key] = json.dumps({"key": key, "text": text}, ensure_ascii=False)
                return Answer(text, read(text), kept=True)

            judge = next(item.function for item in reward.components if item.name == component)
            asked, Session.ask = Session.ask, ask
            try:
                asyncio.run(judge(**{column: case.columns[column] for column in judge.columns}))
            finally:
                Session.ask = asked
    return "\n".join(lines.values()) + "\n"


if __name__ == "__main__":
    for source in sorted(HERE.glob("*.json")):
        file = source.with_suffix(".jsonl")
        file.touch()  # the judges read it when they begin
        file.write_text(recorded(source.stem), encoding="utf-8")
