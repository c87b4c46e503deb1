"""A reward that asks a judge and compares siblings, and the judge: a server that prefers long texts."""

import json
import re
from contextlib import contextmanager

from server import ModelServer, said

import rewardkit as rk


def answer(question, attempt):
    shown = re.findall(
        r"<completion\w* (\w+)>\n(.*?)\n</completion\w* \1>", question, re.DOTALL
    )
    sizes = [len(text) for _, text in shown]
    if len(sizes) == 1:
        return said(
            json.dumps({"reason": "so", "level": "yes" if sizes[0] % 2 else "no"})
        )
    better = (
        "tie" if sizes[0] == sizes[1] else "first" if sizes[0] > sizes[1] else "second"
    )
    return said(json.dumps({"reason": "so", "better": better}))


def reward(url):
    asks = {"model": "tiny", "base_url": url}
    parts = {
        "clear": rk.judge("Is {completion} clear?", **asks),
        "better": rk.judges.pairwise("Which is better?", opponents=2, **asks),
        "best": rk.siblings.best_of(of="clear"),
        "above": rk.siblings.rank(of="better"),
        "agrees": rk.siblings.majority(),
        "own": rk.siblings.diversity(ngram=1),
        "new": rk.siblings.novelty(),
        "short": rk.siblings.length(unit="characters"),
    }
    made = [
        rk.Component(name, part, weight=0.5**at)
        for at, (name, part) in enumerate(parts.items())
    ]
    fields = {"prediction": rk.extract.pattern(r"[a-z0-9]")}
    return rk.Reward("judged", fields=fields, components=made, on_missing="skip")


@contextmanager
def at_work(monkeypatch):
    """The reward with its judge, and the server, which is asked again by the trainer: nothing is kept."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("REWARDKIT_CACHE", "off")
    server = ModelServer(answer)
    yield reward(server.url), server
    server.close()
