"""The workbench in a real browser, from an event to the changed picture.

50,000 rollouts with 5 components; the time is taken in the page, from the event to the frame in which the changed
picture is drawn. The alternative is what a person would write with ipywidgets: `interact` with a matplotlib
histogram of the same weighted sum.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from benches.table import NotMeasured, Row
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "notebook"))
from labs import FLAGS, run_all, started, write_notebook

ACTIONS_A_RUN = 4
AIM_SLIDER = 0.06
SETUP = """
import numpy as np, pandas as pd, rewardkit as rk
rng = np.random.default_rng(0)
rows, words = 50_000, np.array("add the two numbers and give what is left over as an answer".split())
table = pd.DataFrame({
    "prompt_id": np.repeat(np.arange(rows // 8), 8),
    "completion": [" ".join(rng.choice(words, 40)) + f" <answer>{n % 7}</answer>" for n in range(rows)],
    "ground_truth": "3",
})
given = {name: rng.random(rows).round(2).tolist() for name in "abcde"}
def component(name):
    def scored(completion):
        return given[name]
    return rk.Component(name, scored, weight=0.5, batch=True)
reward = rk.Reward("five", {"prediction": rk.extract.tag("answer")}, [component(name) for name in given])
scores = rk.score(reward, table)
"""
BENCH = """
import time
began = time.perf_counter()
bench = rk.Workbench(reward, scores)
data = bench._repr_mimebundle_()
print(f"opened in {time.perf_counter() - began:.3f} s")
bench
"""
ALTERNATIVE = """
%matplotlib inline
import ipywidgets, matplotlib.pyplot as plt
arrays = {name: np.array(values) for name, values in given.items()}
def draw(**weights):
    plt.hist(sum(weight * arrays[name] for name, weight in weights.items()), bins=40)
    plt.show()
sliders = {name: ipywidgets.FloatSlider(0.5, min=-1, max=1, step=0.01) for name in given}
made = ipywidgets.interactive(draw, **sliders)
made.add_class("alternative")
made
"""
TIMED = """async ([from, to, act, value]) => {
    const target = document.querySelector(to), source = document.querySelector(from);
    const changed = new Promise(resolve => {
        const seen = () => { observer.disconnect(); requestAnimationFrame(resolve); };
        const observer = new MutationObserver(seen);
        observer.observe(target, {childList: true, subtree: true, characterData: true});
    });
    const began = performance.now();
    if (act === 'key') {
        source.dispatchEvent(new KeyboardEvent('keydown', {key: value, bubbles: true}));
    } else if (act === 'click') {
        source.click();
    } else {
        source.value = value;
        source.dispatchEvent(new Event(act, {bubbles: true}));
    }
    await changed;
    return performance.now() - began;
}"""
OPENED = """async tab => {
    const tabs = document.querySelector(tab), began = performance.now();
    const box = tabs.getBoundingClientRect();
    for (const kind of ['pointerdown', 'pointerup']) {
        tabs.dispatchEvent(new PointerEvent(kind, {
            bubbles: true, button: 0, clientX: box.x + 9, clientY: box.y + 9,
        }));
    }
    const page = document.querySelector('.rewardkit-page');
    while (!page.offsetHeight || !page.textContent.includes('advantage')) {
        await new Promise(requestAnimationFrame);
    }
    return performance.now() - began;
}"""


def timed(page, source, target, act, values):
    """Return the seconds of each action."""
    seconds = []
    for value in values:
        seconds.append(page.evaluate(TIMED, [source, target, act, value]) / 1000)
        page.wait_for_timeout(150)  # the kernel is idle again
    return seconds


def rows(runs):
    """Compare a slider with `interact`, and time the other actions."""
    names = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    path = next(filter(None, names), None)
    if path is None:
        raise NotMeasured("there is no Chromium on this machine")
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        folder = Path(home) / "work"
        folder.mkdir()
        write_notebook(folder / "bench.ipynb", [SETUP, BENCH, ALTERNATIVE, "'done'"])
        with started(folder) as lab:
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            size = {"width": 1400, "height": 1000}
            page = browser.new_context(viewport=size).new_page()
            page.set_default_timeout(60_000)
            run_all(page, lab, "bench.ipynb")
            yield from actions(page, ACTIONS_A_RUN * runs)
            browser.close()


def actions(page, times):
    """Time each action so many times."""
    output = page.locator(".jp-OutputArea-output", has_text="opened in").first
    seconds = float(re.findall(r"opened in ([\d.]+) s", output.inner_text())[0])
    yield Row("workbench, 50,000 rows x 5: made", [seconds])
    page.wait_for_timeout(6000)  # what is computed when nothing moves is there
    handle, drawn = ".alternative .noUi-handle", ".alternative .jp-OutputArea"
    keys = ["ArrowLeft", "ArrowRight"] * (times // 2)
    interact = timed(page, handle, drawn, "key", keys)
    places = ["0.49", "0.51"] * (times // 2)
    picture = ".rewardkit-picture"
    moved = timed(page, ".rewardkit-weight-c", picture, "input", places)
    what = "workbench: a weight is moved by its slider"
    yield Row(what, moved, "interact and matplotlib", interact)
    yield Row(f"{what}, by itself", moved, aim=AIM_SLIDER)
    numbers = [str(0.3 + step / 100) for step in range(times)]
    typed = timed(page, ".rewardkit-weight-box-b", picture, "change", numbers)
    yield Row("workbench: a weight is typed", typed)
    page.evaluate("document.querySelector('.rewardkit-workbench').scrollIntoView()")
    tab = ".rewardkit-workbench .lm-TabBar-tab:nth-child(2)"
    yield Row("workbench: Browse is opened", [page.evaluate(OPENED, tab) / 1000])
    option = "document.querySelector('.rewardkit-kind select').options[{}].value"
    values = [page.evaluate(option.format(kind)) for kind in (1, 2, 3, 0)]
    kinds = [values[step % 4] for step in range(times)]
    texts = [f"answer>{step % 7}" for step in range(times)]
    message, opened = ".rewardkit-browse .rewardkit-message", ".rewardkit-page"
    listed = ".rewardkit-list [role=listbox]"
    for what, *action in (
        ("a filter is chosen", ".rewardkit-kind select", message, "change", kinds),
        ("a text is looked for", ".rewardkit-text input", ".rewardkit-list", "change", texts),
        ("the next completion", ".rewardkit-next", opened, "click", [None] * times),
        ("the next completion by its key", listed, opened, "key", ["j"] * times),
    ):  # fmt: skip
        yield Row(f"workbench: {what}", timed(page, *action))
