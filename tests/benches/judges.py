"""A judge over a server on this machine, against plain asyncio and openai on the same requests.

The server runs in a process of its own, and takes 50 ms for an answer, as no real one is quicker.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from benches.table import Row, in_turn

import rewardkit as rk

ROWS, AT_ONCE = 1000, 16
AIM = 1.1
SERVER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from server import ModelServer, Reply, said
body = said('{"reason": "because", "level": "yes"}').body
print(ModelServer(lambda *_: Reply(body, delay=0.05)).url, flush=True)
time.sleep(10**6)
"""


def by_hand(url, requests):
    """Return the answers, as a person would ask for them."""
    from openai import AsyncOpenAI

    async def every():
        free = asyncio.Semaphore(AT_ONCE)
        async with AsyncOpenAI(base_url=url, api_key="none") as client:

            async def one(request):
                async with free:
                    answer = await client.chat.completions.create(**request)
                return str(answer.choices[0].message.content)

            return await asyncio.gather(*map(one, requests))

    return asyncio.run(every())


def rows(runs):
    """Compare the very same requests."""
    os.environ["NO_PROXY"] = "127.0.0.1"
    command = [
        sys.executable,
        "-c",
        SERVER,
        str(Path(__file__).parents[1] / "sampling"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        judge = rk.judge(
            "Is {completion} clear?",
            model="tiny",
            base_url=url,
            limits=rk.judges.Limits(concurrency=AT_ONCE),
            cache=False,
        )
        reward = rk.Reward("judged", components=[rk.Component("clear", judge)])
        table = [{"prompt": "2+2?", "completion": f"It is {at}."} for at in range(ROWS)]
        rollouts = rk.load_rollouts(table)
        requests = []
        for row in table:
            requests.append({"model": "tiny", **judge._request([], {**row}, 0)})
        try:
            ours, theirs = in_turn(
                lambda: rk.score(reward, rollouts),
                lambda: by_hand(url, requests),
                runs=runs,
            )
        finally:
            server.kill()
    what = f"judge {ROWS:,} completions, {AT_ONCE} calls of 50 ms at a time"
    yield Row(what, ours, "asyncio and openai by hand", theirs, aim=AIM)
