"""What tests of judges need: answers kept in a folder of their own, servers that are closed in the end."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "sampling"))

from server import ModelServer


@pytest.fixture(autouse=True)
def quiet(monkeypatch, tmp_path):
    """No proxy, no key, no answers from elsewhere."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("REWARDKIT_CACHE", str(tmp_path))


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
