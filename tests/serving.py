"""A server that misbehaves on demand for the tests of sampling and of judges, closed in the end."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "sampling"))

from server import ModelServer


@pytest.fixture
def serve():
    """Servers that are closed in the end."""
    servers = []

    def made(*arguments, **options):
        servers.append(ModelServer(*arguments, **options))
        return servers[-1]

    yield made
    for server in servers:
        server.close()


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """A working folder and a cache of the test's own, no proxy, no key, no address in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REWARDKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
