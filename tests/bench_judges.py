"""A judge over a server on this machine, against plain asyncio and openai on the same requests; no test.

The server runs in a process of its own, and takes 50 ms for an answer, as no real one is quicker.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import rewardkit as rk

ROWS, AT_ONCE = 1000, 16
SERVER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from server import ModelServer, Reply, said
body = said('{"reason": "because", "level": "yes"}').body
print(ModelServer(lambda *_: Reply(body, delay=0.05)).url, flush=True)
time.sleep(10**6)
"""


def by_hand(url: str, requests: list[dict[str, object]]) -> list[str]:
    """What a person would write."""
    from openai import AsyncOpenAI

    async def every() -> list[str]:
        free = asyncio.Semaphore(AT_ONCE)
        async with AsyncOpenAI(base_url=url, api_key="none") as client:

            async def one(request: dict[str, object]) -> str:
                async with free:
                    answer = await client.chat.completions.create(**request)  # type: ignore[call-overload]
                return str(answer.choices[0].message.content)

            return await asyncio.gather(*map(one, requests))

    return asyncio.run(every())


def main() -> None:
    """Print seconds and ratio."""
    from bench import compare

    os.environ["NO_PROXY"] = "127.0.0.1"
    folder = str(Path(__file__).parent / "sampling")
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, folder], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        limits = rk.judges.Limits(concurrency=AT_ONCE)
        judge = rk.judge(
            "Is {completion} clear?",
            model="tiny",
            base_url=url,
            limits=limits,
            cache=False,
        )
        reward = rk.Reward("judged", components=[rk.Component("clear", judge)])
        rows = [{"prompt": "2+2?", "completion": f"It is {at}."} for at in range(ROWS)]
        rollouts = rk.load_rollouts(rows)
        asked = [
            {
                "model": "tiny",
                **judge._request([], {**row}, 0),
            }  # the very same requests
            for row in rows
        ]
        title = f"{ROWS:,} completions judged, {AT_ONCE} calls at a time, 50 ms each"
        compare(
            title,
            lambda: rk.score(reward, rollouts),
            "asyncio + openai",
            lambda: by_hand(url, asked),
        )
        server.kill()


if __name__ == "__main__":
    main()
