"""One browser for the tests of a file that open a page; hostile rollouts; helpers that tests import."""

import json
import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from labs import FLAGS
from plotted import arithmetic_with_label

import rewardkit as rk
from rewardkit.analysis.rehearsal.rehearsal import LEARNERS, STEPS

NO_BROWSER = (
    "no Chromium on this machine: to run the browser tests install Debian's package "
    "'chromium', or run 'python -m playwright install chromium'"
)


@pytest.fixture(scope="module")
def browser():
    """Open the Chromium of this machine, or the one that Playwright installed.

    While it is open, no test can run an event loop of its own.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        names = ("chromium", "chromium-browser", "google-chrome")
        places = [*map(shutil.which, names), playwright.chromium.executable_path]
        path = next((place for place in places if place and Path(place).exists()), None)
        if path is None and os.environ.get("CI"):
            pytest.fail(NO_BROWSER)
        if path is None:
            pytest.skip(NO_BROWSER)
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module", autouse=True)
def _one_process(one_process):
    """Each file has it."""


USUAL, SHORT = (LEARNERS, STEPS), (2, 40)
"""Learners of each pace, and steps, of a rehearsal."""


@contextmanager
def rehearsals(learners, steps):
    """What is shared is rehearsed so, whatever the file asks for that is the first to need it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rewardkit.analysis.rehearsal.rehearsal.LEARNERS", learners)
        patch.setattr("rewardkit.analysis.rehearsal.rehearsal.STEPS", steps)
        yield


@pytest.fixture(scope="session")
def scores():
    """The bundled rollouts, scored, with a label of which some are wrong."""
    return rk.score(rk.load_reward("gallery:arithmetic"), arithmetic_with_label())


@pytest.fixture(scope="session")
def flawed():
    """The diagnosis of the flawed reward of the gallery."""
    scores = rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic")
    with rehearsals(*USUAL):
        return rk.diagnose(scores)


@pytest.fixture(scope="session")
def unranked(scores):
    with rehearsals(*SHORT):
        return rk.suggest(rk.diagnose(scores))


@pytest.fixture(scope="session")
def judged(scores):
    """Changes that a label alone tells apart."""
    diagnosis = rk.diagnose(scores, label="is_right")
    with pytest.MonkeyPatch.context() as patch:
        name = "rewardkit.analysis.suggestions.measure.why_untold"
        patch.setattr(name, lambda *_: "not asked here")
        return rk.suggest(diagnosis)


@pytest.fixture(scope="session")
def expected(scores):
    forecast = rk.forecast(scores, label="is_right")
    with rehearsals(*USUAL):
        assert forecast.curves  # which are made when they are first asked for
    return forecast


HOSTILE = (
    "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
    "<style>body{display:none}</style>SECRET"
)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """A rollout file with markup in every text, and its reward file."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [
        {
            "prompt_id": f"p{n // 4}",
            "prompt": HOSTILE,
            "completion": f"{HOSTILE} <answer>{n % 3}</answer>",
            "ground_truth": "1",
        }
        for n in range(40)
    ]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    case = {"name": "c", "completion": HOSTILE, "ground_truth": "1", "reward": 1}
    (folder / "cases.jsonl").write_text(json.dumps(case))
    (folder / "mine.py").write_text(
        "import rewardkit as rk\n"
        "import logging, warnings\n"
        "class Unreadable(Exception): pass\n"
        "def strict(completion, prediction, ground_truth):\n"
        "    print('saw', completion, '\\0'); warnings.warn(completion); logging.warning(completion)\n"
        "    if prediction == '2': raise Unreadable(completion)\n"
        "    return prediction == ground_truth\n"
        "fields = {'prediction': rk.extract.tag('answer')}\n"
        "reward = rk.Reward('mine', fields, [rk.Component('strict', strict)])\n"
    )
    return folder
