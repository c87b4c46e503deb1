"""What all tests of sampling need: a folder to work in, and servers that are closed in the end."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from server import ModelServer


@pytest.fixture(autouse=True)
def quiet(monkeypatch, tmp_path):
    """A working folder, no proxy, no key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


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
