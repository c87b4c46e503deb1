"""Benchmark of the workbench in a real browser, run by `make bench`: from an event to the changed picture.

Not a test: nothing here fails. 50,000 rollouts with 5 components, each action 20 times; the time is taken in
the page, from the event to the frame in which the changed picture is drawn. The alternative is what a person
would write with ipywidgets: `interact` with a matplotlib histogram of the same weighted sum.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parent / "notebook"))
from labs import FLAGS, run_all, started, write_notebook

TIMES = 20
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
print(f"opened in {time.perf_counter() - began:.2f} s")
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


def timed(page, source, target, act, values):
    """Milliseconds of each action."""
    found = []
    for value in values:
        found.append(page.evaluate(TIMED, [source, target, act, value]))
        page.wait_for_timeout(150)  # the kernel is idle again
    return found


def told(what, found, against=None):
    """Print median and worst, and the ratio to an alternative."""
    median = statistics.median(found)
    ratio = (
        f", {statistics.median(against) / median:.1f} times as fast as interact"
        if against
        else ""
    )
    print(
        f"{what:<42} median {median:6.0f} ms, worst of {len(found)} {max(found):6.0f} ms{ratio}",
        flush=True,
    )


def main() -> None:
    """Print the timings."""
    path = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if path is None:
        print(
            "workbench in the browser: not timed, as there is no Chromium on this machine"
        )
        return
    print(
        "Workbench in the browser, 50,000 rollouts x 5 components, event to drawn picture"
    )
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        folder = Path(home) / "work"
        folder.mkdir()
        write_notebook(folder / "bench.ipynb", [SETUP, BENCH, ALTERNATIVE, "'done'"])
        with started(folder) as lab:
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            page = browser.new_context(
                viewport={"width": 1400, "height": 1000}
            ).new_page()
            page.set_default_timeout(60_000)
            run_all(page, lab, "bench.ipynb")
            print(
                page.locator(".jp-OutputArea-output", has_text="opened in")
                .first.inner_text()
                .strip()
            )
            page.wait_for_timeout(6000)  # what is computed when nothing moves is there
            keys = ["ArrowLeft", "ArrowRight"] * (TIMES // 2)
            interact = timed(
                page,
                ".alternative .noUi-handle",
                ".alternative .jp-OutputArea",
                "key",
                keys,
            )
            places = ["0.49", "0.51"] * (TIMES // 2)
            moved = timed(
                page, ".rewardkit-weight-c", ".rewardkit-picture", "input", places
            )
            told("a weight is moved by its slider", moved, interact)
            box, numbers = (
                ".rewardkit-weight-box-b",
                [str(0.3 + step / 100) for step in range(TIMES)],
            )
            told(
                "a weight is typed",
                timed(page, box, ".rewardkit-picture", "change", numbers),
            )
            page.evaluate(
                "document.querySelector('.rewardkit-workbench').scrollIntoView()"
            )
            opened = page.evaluate(
                OPENED, ".rewardkit-workbench .lm-TabBar-tab:nth-child(2)"
            )
            print(f"{'Browse is opened':<42}        {opened:6.0f} ms")
            option = (
                "document.querySelector('.rewardkit-kind select').options[{}].value"
            )
            kinds = [page.evaluate(option.format(kind)) for kind in (1, 2, 3, 8, 0)] * (
                TIMES // 5
            )
            texts = [f"answer>{step % 7}" for step in range(TIMES)]
            message, read = ".rewardkit-browse .rewardkit-message", ".rewardkit-page"
            listed = ".rewardkit-list [role=listbox]"
            for what, *action in (
                (
                    "a filter is chosen",
                    ".rewardkit-kind select",
                    message,
                    "change",
                    kinds,
                ),
                (
                    "a text is looked for",
                    ".rewardkit-text input",
                    ".rewardkit-list",
                    "change",
                    texts,
                ),
                (
                    "the next completion",
                    ".rewardkit-next",
                    read,
                    "click",
                    [None] * TIMES,
                ),
                ("the next completion by its key", listed, read, "key", ["j"] * TIMES),
            ):
                told(what, timed(page, *action))
            browser.close()


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

if __name__ == "__main__":
    main()
