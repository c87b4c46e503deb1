"""The notebooks in a real JupyterLab, driven by a real browser: one server and one page for all."""

import json
import re
import shutil

import pytest
from labs import RUNS_WITHIN, run_all, started, write_notebook
from opened import violations

from rewardkit.rollouts.paths import bundled

pytestmark = [pytest.mark.integration, pytest.mark.browser]
OUTPUT = ".jp-OutputArea-output"


@pytest.fixture(scope="module")
def lab_folder(tmp_path_factory):
    """A copy of the notebooks, in which JupyterLab works."""
    folder = tmp_path_factory.mktemp("lab") / "work"
    shutil.copytree(bundled("notebooks"), folder)
    return folder


@pytest.fixture(scope="module")
def lab(lab_folder):
    """Address and token of a JupyterLab on the folder."""
    with started(lab_folder) as found:
        yield found


@pytest.fixture(scope="module")
def page(lab, browser):
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(30_000)
    yield page
    context.close()


MINE = """%%reward mine.py --rollouts rollouts
import rewardkit as rk


def right(prediction, ground_truth):
    return {predicted} == ground_truth


reward = rk.Reward(
    "mine", {{"prediction": rk.extract.tag("answer")}}, [rk.Component("right", right, why="the task")]
)"""


@pytest.fixture(scope="module")
def built(page, lab):
    """Notebook 01, run from top to bottom, with what went wrong in the page, and the folder it works in."""
    trouble = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    run_all(page, lab, "01_build.ipynb")
    assert (
        page.locator(
            f"{OUTPUT}[data-mime-type*='error'], {OUTPUT}[data-mime-type*='stderr']"
        ).count()
        == 0
    )
    assert page.locator(".rewardkit table").first.is_visible()
    return trouble


def tab(page, name):
    """The tab of the workbench with this title, brought to the front."""
    page.locator(".rewardkit-workbench .lm-TabBar-tab", has_text=name).click()
    return page.locator(f".rewardkit-{name.lower()}")


STANDING = "document.querySelector('.rewardkit-standing').innerText"


def test_a_weight_that_is_moved_in_the_browser_changes_numbers_picture_and_tiles(
    page, built
):
    picture = page.locator(".rewardkit-picture")
    before = picture.inner_html()
    assert "200 groups by mean reward" in before and "at start" not in before
    box = page.locator(".rewardkit-weight-box-format")
    box.fill("")
    box.press_sequentially("0,35")
    box.press("Enter")
    picture.get_by_text("dashed: at the start").wait_for()
    assert "0.35" in picture.inner_html() and picture.inner_html() != before
    standing, handle = (
        page.locator(".rewardkit-standing"),
        page.locator(".rewardkit-weight-concise"),
    )
    before = standing.inner_text()
    handle.focus()
    for _ in range(25):
        handle.press("ArrowLeft")  # a slider works by keyboard
    page.wait_for_function(f"before => {STANDING} !== before", arg=before)
    standing.locator("[aria-busy]").wait_for(state="detached")
    assert float(page.locator(".rewardkit-weight-box-concise").input_value()) < 0.1
    settled = standing.inner_text()
    page.locator(".rewardkit-reset").click()
    page.locator(".rewardkit-undo").click()
    page.wait_for_function(f"settled => {STANDING} === settled", arg=settled)
    page.locator(".rewardkit-reset").click()
    page.wait_for_function(
        "!document.querySelector('.rewardkit-picture').innerText.includes('dashed')"
    )


TOPS = """selector => [...document.querySelectorAll(selector)].map(
    row => Math.round(row.getBoundingClientRect().top))"""


def test_what_a_component_does_stands_beside_its_controls(page, built):
    controls = page.evaluate(TOPS, ".rewardkit-controls .rk-bench-row")
    effects = page.evaluate(TOPS, ".rk-bench-board .rk-bench-effect tr")
    assert len(controls) > 4  # those with a switch have a second row
    assert effects == pytest.approx(controls, abs=2)


SETTLED = """() => {
    const option = document.querySelector('.rewardkit-list [aria-selected=true]');
    const row = document.querySelector('[data-row]').dataset.row;
    const hasFocus = document.activeElement.matches('[role=listbox]');
    return hasFocus && option !== null && option.dataset.line === row;
}"""
"""Whether the list, too, shows the row that is read, and has the focus again."""


def test_browse_is_filtered_read_by_keyboard_and_made_into_a_case(
    page, built, lab_folder
):
    browse = tab(page, "Browse")
    browse.locator(".rewardkit-kind select").select_option("right but unpaid")
    found = browse.locator(".rewardkit-message").first
    found.filter(has_text="of 1,600 completions").wait_for()
    browse.locator(".rewardkit-clear").click()
    found.filter(has_text=re.compile("^1,600 completions;")).wait_for()
    browse.locator(".rewardkit-text input").fill("apples")
    browse.locator(".rewardkit-text input").press("Enter")
    found.filter(has_text="157 of 1,600 completions").wait_for()
    reading = browse.locator(".rewardkit-page")
    before = reading.inner_text()
    listed = browse.locator(".rewardkit-list [role=listbox]")
    listed.focus()
    listed.press("ArrowDown")
    page.wait_for_function(
        "before => document.querySelector('.rewardkit-page').innerText !== before",
        arg=before,
    )
    assert reading.locator("mark").count() >= 1 and "prediction" in reading.inner_text()
    cell = page.locator(".jp-Notebook .jp-mod-selected .rewardkit-browse")
    assert cell.count() == 1  # the arrow went through the list, not to another cell
    chosen = browse.locator("[role=option][aria-selected=true]")
    row = browse.locator("[data-row]").get_attribute("data-row")
    assert chosen.get_attribute("data-line") == row
    page.keyboard.press("j")  # the list has the focus still
    page.wait_for_function(
        "row => document.querySelector('[data-row]').dataset.row !== row", arg=row
    )
    page.wait_for_function(SETTLED)
    page.keyboard.press("k")
    page.wait_for_function(
        "row => document.querySelector('[data-row]').dataset.row === row", arg=row
    )
    page.wait_for_function(SETTLED)
    page.keyboard.press("f")
    chosen.filter(has_text="\u2691").wait_for()
    second = reading.inner_text()
    browse.locator(".rk-bench-siblings button:not([aria-current])").last.click()
    page.wait_for_function(
        "before => document.querySelector('.rewardkit-page').innerText !== before",
        arg=second,
    )
    page.keyboard.press(
        "c"
    )  # the focus stays where it was though the page is another, and goes to the form
    page.wait_for_function(
        "document.activeElement.closest('.rewardkit-case-expected') !== null"
    )
    browse.locator(".rewardkit-case-name input").fill("found in the browser")
    browse.locator(".rewardkit-case-why input").fill("it surprised me")
    browse.locator(".rewardkit-case-path input").fill("mine.jsonl")
    browse.locator(".rewardkit-case-save").click()
    browse.locator(".rewardkit-case .rewardkit-message", has_text="Saved as").wait_for()
    (case,) = map(json.loads, (lab_folder / "mine.jsonl").read_text().splitlines())
    assert case["name"] == "found in the browser" and case["why"] == "it surprised me"
    cases = tab(page, "Cases")
    cases.locator(".rewardkit-message", has_text="1 of 1 cases passed").wait_for()
    cases.locator("summary", has_text="1 case passed").click()
    cases.get_by_text("it surprised me").wait_for()


RULES = "color-contrast label button-name select-name aria-input-field-name aria-toggle-field-name".split()


def test_a_finding_is_answered_by_one_click_which_undo_takes_back(page, built):
    compose = tab(page, "Compose")
    # as it is, no change of this reward makes training end elsewhere
    findings = tab(page, "Findings")
    findings.locator(".rewardkit-run-findings").click()
    findings.get_by_text("left out, as training gains less than").wait_for()
    tab(page, "Compose")
    weight = compose.locator(".rewardkit-weight-box-format")
    weight.fill("3")
    weight.press("Enter")
    compose.get_by_text("dashed: at the start").wait_for()
    tab(page, "Findings")
    findings.locator(".rewardkit-run-findings").click()
    findings.get_by_role("button", name="Try it").first.click()
    findings.locator(".rewardkit-message", has_text="Applied").wait_for()
    tab(page, "Compose")
    added = compose.locator(".rewardkit-weight-box-close")
    added.wait_for()
    compose.locator(".rewardkit-undo").click()
    added.wait_for(state="detached")
    compose.locator(".rewardkit-reset").click()
    page.wait_for_function(
        "!document.querySelector('.rewardkit-picture').innerText.includes('dashed')"
    )


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_every_control_has_a_name_and_all_is_read_in_both_themes(page, built, theme):
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    page.locator(".lm-Menu-item[data-type='submenu']", has_text="Theme").first.hover()
    page.locator(".lm-Menu-itemLabel").get_by_text(
        f"JupyterLab {theme}", exact=True
    ).click()
    page.locator(f"body[data-jp-theme-light={str(theme == 'Light').lower()}]").wait_for(
        state="attached"
    )
    for name in ("Browse", "Cases", "Probes", "Findings", "Compose"):
        tab(page, name)
        assert violations(page, ".rewardkit-workbench", RULES) == []
    compose = page.locator(".rewardkit-compose")
    assert (
        compose.get_by_role("slider", name="weight of format", exact=True).count() == 1
    )
    assert (
        compose.get_by_role("spinbutton", name="limit of the gate of concise").count()
        == 1
    )


def test_keys_in_the_panel_are_its_own_but_lab_saves_and_escape_goes_back(
    page, built, lab_folder
):
    cells = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell")
    count = cells.count()
    tab(page, "Compose").locator(".rewardkit-reset").focus()
    page.keyboard.press("d")
    page.keyboard.press("d")
    assert cells.count() == count
    with page.expect_response(
        lambda answer: answer.request.method == "PUT" and "01_build" in answer.url
    ):
        page.keyboard.press("Control+s")
    assert (
        '"output_type"' in (lab_folder / "01_build.ipynb").read_text()
    )  # what the cells gave
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    cells.nth(count).wait_for()
    page.keyboard.press("d")
    page.keyboard.press("d")
    cells.nth(count).wait_for(state="detached")


def test_a_reward_cell_with_an_error_points_to_its_line_and_is_mended(
    page, built, lab_folder
):
    run_cell(page, "%load_ext rewardkit")
    out = run_cell(page, MINE.format(predicted="predicted"))
    out.filter(has_text="NameError").wait_for()
    assert "line 6" in out.inner_text()
    out = run_cell(page, MINE.format(predicted="prediction"))
    out.filter(has_text="saved").wait_for()
    assert "NameError" not in out.inner_text()
    assert "return prediction == ground_truth" in (lab_folder / "mine.py").read_text()


def test_a_kernel_that_is_restarted_under_an_open_panel_is_told_in_the_panel(
    page, built
):
    lost = page.locator(".rewardkit-lost").first
    assert not lost.is_visible()
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_role("menuitem", name="Restart Kernel\u2026").click()
    page.get_by_role("button", name="Confirm Kernel Restart").click()
    lost.wait_for(state="visible")
    assert "run the cell again for a new panel" in lost.inner_text()
    assert built == []


def run_cell(page, code):
    """The output of a new cell at the end of the notebook with this code."""
    cells = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell")
    cells.last.locator(".jp-InputPrompt, .jp-InputArea-prompt").first.click()
    page.keyboard.press("Escape")
    count = cells.count()
    page.keyboard.press("b")
    cells.nth(count).wait_for()
    page.keyboard.press("Enter")
    page.keyboard.insert_text(code)
    page.keyboard.press("Control+Enter")
    last = cells.last
    page.wait_for_function(
        """() => {
            const cells = document.querySelectorAll('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell');
            const prompt = cells[cells.length - 1].querySelector('.jp-InputPrompt').textContent;
            return /\\[\\d+\\]/.test(prompt);
        }""",
        timeout=RUNS_WITHIN * 1000,
    )
    return last.locator(".jp-OutputArea")


ODD = """from rewardkit.notebook.workbench.panel import frame_widgets
one = lambda completion: 1
weights = {'third': 1 / 3, 'eighth': 0.125, 'huge': 1500.0, 'small': 1e-5}
odd = rk.Reward('odd', {}, [rk.Component(n, one, weight=weights[n], why='odd') for n in weights])
rows = [{'prompt_id': 'p', 'prompt': 'p', 'completion': 'a' * n} for n in range(4)]
bench = rk.Workbench(odd, rows)"""
CELLS = [
    "import rewardkit as rk\nrk.set_up_notebook()",
    "print('row\\n' * 5000)",
    "print('one')",
    f"{ODD}\nframe_widgets(bench._bench, bench._panels[0].widget)",
    "frame_widgets(bench._bench, bench._panels[0].widget)",
    "reward, logged = rk.load_reward('mine.py'), rk.load_rollouts('log.jsonl')",
    "scores = rk.score(reward, logged);",
    "logged",
    "reward",
    "scores",
    "rk.explain(reward, logged[0])",
    "rk.check(reward, 'cases.jsonl')",
    "diagnosis = rk.diagnose(scores)\ndiagnosis",
    "rk.suggest(diagnosis)",
    "rk.probe(reward, logged, search=0)",
    "rk.Workbench(reward, scores, 'cases.jsonl')",
]


@pytest.fixture(scope="module")
def shown(page, lab, lab_folder, hostile):
    """A notebook of odd weights and hostile texts, run; and what the page asked for meanwhile and later."""
    for name in ("log.jsonl", "cases.jsonl", "mine.py"):
        shutil.copy(hostile / name, lab_folder)
    write_notebook(lab_folder / "shown.ipynb", CELLS)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    run_all(page, lab, "shown.ipynb")
    return asked


def test_a_panel_that_is_shown_moves_no_weight_and_what_a_cell_prints_scrolls_in_a_box(
    page, shown
):
    long, short = page.locator(f"{OUTPUT}[data-mime-type*='stdout']").all()[:2]
    assert (
        long.inner_text().count("row") == 5000
        and 100 < long.bounding_box()["height"] < 400
    )
    assert short.bounding_box()["height"] < 40
    for name, written in (
        ("third", "0.333"),
        ("eighth", "0.125"),
        ("huge", "1500"),
        ("small", "0.00001"),
    ):
        first, other = (
            page.locator(f".rewardkit-weight-box-{name}").nth(at) for at in (0, 1)
        )
        first.wait_for()
        other.wait_for()
        assert all(box.input_value().startswith(written) for box in (first, other))
    handle = page.locator(".rewardkit-weight-eighth").first
    handle.focus()
    page.wait_for_timeout(500)  # what the page would say of its own has been said
    out = run_cell(page, "print('now', bench.reward.weights == weights)")
    out.filter(has_text="now True").wait_for()
    handle.press("ArrowRight")
    handle.press("ArrowRight")
    boxes = "[...document.querySelectorAll('.rewardkit-weight-box-eighth')]"  # two pages on one panel
    page.wait_for_function(f"{boxes}.every(box => !box.value.startsWith('0.125'))")
    page.locator(".rewardkit-reset").first.click()
    page.wait_for_function(f"{boxes}.every(box => box.value === '0.125')")


def test_hostile_texts_run_nothing_and_load_nothing_wherever_they_are_shown(
    page, lab, shown
):
    assert page.locator(f"{OUTPUT}[data-mime-type*='error']").count() == 0
    for name, part in (
        ("Browse", ".rewardkit-page"),
        ("Cases", ".rewardkit-cases-page"),
    ):
        tab(page, name).locator(part, has_text="window.pwned").wait_for()
    probes = tab(page, "Probes")
    probes.locator(".rewardkit-run-probes").click()
    page.wait_for_function(
        "document.querySelector('.rewardkit-page-probes').innerText.length > 100"
    )
    assert page.evaluate("window.pwned") is None
    assert (
        page.evaluate("getComputedStyle(document.body).display") != "none"
    )  # no style of theirs counts
    address, _ = lab
    own = (address, address.replace("http:", "ws:"), "data:", "blob:")
    assert [url for url in shown if not url.startswith(own) or url.endswith("/x")] == []
