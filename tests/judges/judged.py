"""What the tests of judges share: answers, judges, and rewards of one judge."""

import json
import re

from server import said

import rewardkit as rk

QUICK = {"retries": 3, "timeout": 5.0}


def verdict(level="yes", reason="because", **more):
    """A usable answer."""
    return said(json.dumps({"reason": reason, "level": level, **more}))


def completion_in(request):
    """The completion that a request holds, between its marks."""
    return re.search(
        r"<completion (\w+)>\n(.*)\n</completion \1>", user_text(request), re.DOTALL
    )[2]


def user_text(request):
    return request["messages"][1]["content"]


def judge(
    server, rubric="Is {completion} clear?", limits=None, make=rk.judge, **options
):
    """A judge that asks this server."""
    limits = rk.judges.Limits(**{**QUICK, **(limits or {})})
    return make(
        rubric, **{"model": "tiny", "base_url": server.url, "limits": limits, **options}
    )


def reward_of(function, **component):
    """A reward of one component."""
    return rk.Reward("r", components=[rk.Component("c", function, **component)])


def score(function, texts, **options):
    """Scores of one component on completions of one prompt."""
    rows = [
        {"prompt": "2+2?", "completion": text} if isinstance(text, str) else text
        for text in texts
    ]
    return rk.score(reward_of(function), rows, **options)


def reason(scores, row=0):
    return scores.table["error/c"][row]
