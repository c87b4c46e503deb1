"""A real HTTP server that answers as /v1/chat/completions does and fails as it is told; runs against it."""

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from rewardkit.rollouts.sample import sample

PATHS = ("/v1/chat/completions", "/v1/classify")
SOON = {"retry-after-ms": "10"}
"""A header by which the client asks again at once, not after half a second."""


@dataclass(frozen=True)
class Reply:
    """What the server sends: a body, whole or cut off in the middle, after a while."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False


def said(content, finish_reason="stop", **message):
    """A chat completion with this content."""
    choice = {
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": finish_reason,
    }
    usage = {"prompt_tokens": 3, "completion_tokens": 5}
    return Reply({"object": "chat.completion", "choices": [choice], "usage": usage})


def error(status, message="no", **more):
    """An error as OpenAI words it; a client may ask again soon."""
    return Reply({"error": {"message": message, **more}}, status=status, headers=SOON)


def four(text, attempt):
    """The answer to every prompt."""
    return said("<think>2+2</think><answer>4</answer>")


class _HTTPServer(ThreadingHTTPServer):
    request_queue_size = 64  # connections that wait; 5 refuse some of 16 at once


class ModelServer:
    """The server; `answer(text, attempt)` says what it replies to the prompt's last text.

    `attempt` counts the requests with that text and seed from 0. `asked` holds the requests in their order,
    `keys` the Authorization headers, `most_at_once` how many were at work together.
    """

    def __init__(self, answer=four, models=None):
        self.answer = answer
        self.models = models or Reply({"data": [{"id": "tiny"}, {"id": "tiny-2"}]})
        self.asked, self.keys, self.most_at_once = [], [], 0
        self._at_work, self._attempts, self._lock = 0, Counter(), threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                server.keys.append(self.headers["Authorization"])
                time.sleep(server.models.delay)
                self.send(server.models)

            def do_POST(self):
                request = json.loads(
                    self.rfile.read(int(self.headers["Content-Length"]))
                )
                server.keys.append(self.headers["Authorization"])
                with server._lock:
                    server._at_work += 1
                    server.most_at_once = max(server.most_at_once, server._at_work)
                try:
                    reply = (
                        server.reply(request)
                        if self.path in PATHS
                        else Reply(status=404)
                    )
                    time.sleep(reply.delay)
                finally:
                    with (
                        server._lock
                    ):  # before the client has its answer and asks again
                        server._at_work -= 1
                self.send(reply)

            def send(self, reply):
                body = (
                    reply.body
                    if isinstance(reply.body, bytes)
                    else json.dumps(reply.body).encode()
                )
                headers = {
                    "Content-Type": "application/json",
                    "Content-Length": str(len(body)),
                }
                try:
                    self.send_response(reply.status)
                    for name, value in {**headers, **reply.headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body[: len(body) // 2] if reply.cut else body)
                except (BrokenPipeError, ConnectionResetError):  # the client has gone
                    self.close_connection = True
                self.close_connection |= reply.cut

        self._http = _HTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._http.handle_error = lambda *_: (
            None
        )  # a client that has gone is part of some tests
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    def reply(self, request):
        text = (
            request["messages"][-1]["content"]
            if "messages" in request
            else request["input"]
        )
        mark = f"{text} {request.get('seed')}"
        with self._lock:
            self.asked.append(request)
            self._attempts[mark] += 1
            attempt = self._attempts[mark] - 1
        return self.answer(text, attempt)

    def close(self):
        """Stop; its address is then one where nobody answers."""
        self._http.shutdown()
        self._http.server_close()


PROMPTS = [
    {"prompt_id": f"q{i}", "prompt": f"{i}+2?", "ground_truth": str(i + 2), "level": i}
    for i in range(3)
]
ALL = sorted(f"q{i}#{k}" for i in range(3) for k in range(2))


def run(server, prompts=PROMPTS, **options):
    """A run with few retries."""
    url = server if isinstance(server, str) else server.url
    given = {
        "base_url": url,
        "output": "log.jsonl",
        "model": "tiny",
        "n": 2,
        "retries": 2,
        "timeout": 5.0,
    }
    return sample(prompts, **{**given, **options})


def rows(path="log.jsonl"):
    return [
        json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()
    ]


def ids():
    return sorted(row["rollout_id"] for row in rows())
