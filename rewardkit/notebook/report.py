"""Run the notebooks of a report for one or several rewards, and write its pages."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from papermill.engines import papermill_engines
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook
from tqdm.auto import tqdm

from rewardkit.analysis.diagnosis import diagnose
from rewardkit.errors import InputError, names_of
from rewardkit.history.card import card
from rewardkit.html.cards import USER_COLUMNS
from rewardkit.html.excerpts import hidden_user_texts
from rewardkit.notebook.inputs import NotebookInputs, read_inputs
from rewardkit.notebook.report_pages import (
    ALL_REWARDS,
    NotebookPage,
    Summary,
    card_page,
    index_page,
    notebook_page,
    page_of,
    summary_markdown,
)
from rewardkit.plain import Plain, Record
from rewardkit.rewards.recorded import LOGGED_REWARD
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.rollouts.paths import bundled, write_content
from rewardkit.scoring.check import cases_for
from rewardkit.scoring.score import score
from rewardkit.starting.start import parameters_cell

NOTEBOOKS = (
    ("01_build", "Build: what it pays for"),
    ("02_check", "Check: cases, probes, mutants"),
    ("03_analyze", "Analyze: what it would teach"),
)
COMPARE_NOTEBOOK = ("04_compare", "Compare: which one to train on")
"""The notebook that compares several rewards."""
TRIAL_ROWS = 16
"""Rollouts scored before the first notebook runs, so that wrong input fails early."""
MOST_KERNELS = 2  # notebooks that run at the same time, each in its own kernel


@dataclass(frozen=True)
class Report:
    """A written report: the page `index` to open, and `summary` in Markdown.

    `compared` is the page that compares several rewards, None for a single reward.
    """

    index: Path
    summary: Path
    summaries: tuple[Summary, ...]
    compared: NotebookPage | None = None

    @property
    def failed(self) -> list[str]:
        """Return a line for each page that failed."""
        lines = []
        for summary in self.summaries:
            for page in summary.pages:
                if page.error:
                    lines.append(f"{page.title} ({summary.name}): {page.error}")
        if self.compared is not None and self.compared.error:
            lines.append(f"{self.compared.title}: {self.compared.error}")
        return lines


def report(
    rewards: Sequence[str],
    rollouts: str | Path,
    folder: str | Path,
    *,
    cases: str | Path | None = None,
    label: str | None = None,
    training: Any = None,
    by: Sequence[str] | None = None,
    reading: Plain | None = None,
    limits: Plain | None = None,
    timeout: float | Callable[[Sequence[Reward]], float | None] | None = None,
    single_file: bool = False,
    redact: bool = False,
    progress: bool = False,
) -> Report:
    """Run the notebooks for each reward and write the pages into the folder.

    Writes ``index.html``, a page for each notebook, and ``summary.md``. All input is
    read before the first notebook runs. Recorded scores have no page of checks, as
    they cannot be computed for other completions. The page of a notebook that fails
    shows the error (`Report.failed`).

    Args:
        rewards: Names as `load_reward` takes them; "logged", or no name, for the scores
            recorded in the log.
        rollouts: A source as `load_rollouts` takes it, or a folder of scores. The
            folder provides the rows, and the scores of "logged".
        folder: The folder for the pages; created if missing.
        cases: A case file, or none.
        label: As in `diagnose` and `probe`.
        training: As in `diagnose`.
        by: As in `diagnose`.
        reading: How files are read, as in `load_inputs`.
        limits: Options of `probe`, such as timeout, budget, leakage, baseline, seed.
        timeout: Seconds for one call, or a function from rewards to seconds.
        single_file: Put all pages into ``index.html``.
        redact: Leave out prompts, completions, truths and error messages.
        progress: Show a progress bar.

    Raises:
        InputError: Input that cannot be used.
    """
    names = list(dict.fromkeys(rewards)) or [LOGGED_REWARD]
    reading = dict(reading or {})
    limits = dict(limits or {})
    by = names_of(by, "by") if by is not None else None
    _check_names(by, redact=redact)
    columns: Record = {"label": label, "by": by}
    options: Record = {"reading": reading, "limits": limits}
    training = Training.of(training)
    with hidden_user_texts(redact):  # hides prints of users' functions, too
        inputs = read_inputs(names, rollouts, cases=cases, **columns, **options)
        if callable(timeout):
            timeout = timeout(list(inputs.rewards.values()))
        _try(inputs, timeout, training=training, **columns)
    if timeout is not None:
        limits["timeout"] = timeout
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    parameters = {
        "rollouts": str(rollouts),
        "cases": str(cases) if cases else None,
        "label": label,
        "training": training.record(),
        "by": by,
        "reading": reading,
        "limits": limits,
        "fail_on": "",
        "redact": redact,
    }
    pages, compared = _run_all(inputs, parameters, redact=redact, progress=progress)
    summaries = _summarize(
        inputs, training, pages, baseline=limits.get("baseline"), redact=redact
    )
    return _write_report(folder, summaries, compared, single_file=single_file)


def _check_names(by: Sequence[str] | None, *, redact: bool) -> None:
    """Raise an InputError if `redact` hides the texts that `by` would show."""
    texts = [name for name in by or () if name in USER_COLUMNS]
    if redact and texts:
        raise InputError(
            f"by={texts!r} names the slices by texts, which redact=True leaves out; "
            "name other columns"
        )


def _try(inputs: NotebookInputs, timeout: float | None, **settings: Any) -> None:
    """Score and diagnose a few rollouts, so that wrong input fails early."""
    count = min(TRIAL_ROWS, len(inputs.rollouts))
    first = inputs.rollouts.select(range(count))
    for name, reward in inputs.rewards.items():
        if inputs.scores is None or name != LOGGED_REWARD:
            diagnose(score(reward, first, timeout=timeout), **settings)
        cases_for(reward, inputs.cases, inputs.ignored)


def _run_all(
    inputs: NotebookInputs,
    parameters: Plain,
    *,
    redact: bool,
    progress: bool,
) -> tuple[dict[str, list[NotebookPage]], NotebookPage | None]:
    """Run the notebooks, `MOST_KERNELS` at a time.

    Returns:
        The pages of each reward by its name, and the page that compares several.
    """
    names = list(inputs.rewards)
    reading = {**parameters["reading"], "ignore": inputs.ignored}
    slugs = _slugs([reward.name for reward in inputs.rewards.values()])
    workers = min(MOST_KERNELS, os.cpu_count() or 1)
    with ThreadPoolExecutor(max_workers=workers) as pool:
        jobs: dict[str, list[Future[NotebookPage]]] = {name: [] for name in names}
        for name, slug in zip(names, slugs, strict=True):
            values = {**parameters, "reward": name, "reading": reading}
            for stem, title in NOTEBOOKS:
                if stem != "02_check" or name != LOGGED_REWARD:
                    job = pool.submit(_run, stem, title, values, slug, redact)
                    jobs[name].append(job)
        every_job = list(chain.from_iterable(jobs.values()))
        comparison = None
        if len(names) > 1:
            titles = list(_titles(inputs).values())
            values = {**parameters, "versions": names, "names": titles}
            values["cases"] = None if LOGGED_REWARD in names else values["cases"]
            comparison = pool.submit(_run, *COMPARE_NOTEBOOK, values, "", redact)
            every_job.append(comparison)
        total = len(every_job)
        with tqdm(total=total, desc="report", unit="page", disable=not progress) as bar:
            for _ in as_completed(every_job):
                bar.update()
        pages = {name: [job.result() for job in jobs[name]] for name in names}
        return pages, None if comparison is None else comparison.result()


def _titles(inputs: NotebookInputs) -> dict[str, str]:
    """Return the title of each reward: its `name` if unique, else the user's name."""
    reward_names = [reward.name for reward in inputs.rewards.values()]
    titles = {}
    for name, reward in inputs.rewards.items():
        is_unique = reward_names.count(reward.name) == 1
        titles[name] = reward.name if is_unique else name
    return titles


def _summarize(
    inputs: NotebookInputs,
    training: Training,
    pages: Mapping[str, Sequence[NotebookPage]],
    *,
    baseline: str | None,
    redact: bool,
) -> tuple[Summary, ...]:
    titles = _titles(inputs)
    summaries = []
    slugs = _slugs([reward.name for reward in inputs.rewards.values()])
    for slug, (name, reward) in zip(slugs, inputs.rewards.items(), strict=True):
        about = (titles[name], reward, inputs.rollouts, training)
        every_page = [*pages[name]]
        if name != LOGGED_REWARD:
            with hidden_user_texts(redact):
                reward_card = card(reward, baseline=baseline)
                every_page.append(card_page(reward_card, f"{slug}/card.html"))
        summaries.append(Summary(*about, tuple(every_page), redact))
    return tuple(summaries)


def _write_report(
    folder: Path,
    summaries: tuple[Summary, ...],
    compared: NotebookPage | None,
    *,
    single_file: bool,
) -> Report:
    index = folder / "index.html"
    markdown = folder / "summary.md"
    if not single_file:
        for summary in summaries:
            for page in summary.pages:
                text = notebook_page(page, summary.name, summary.pages)
                write_content(folder / page.file, text)
        if compared is not None:
            text = notebook_page(compared, ALL_REWARDS, [compared])
            write_content(folder / compared.file, text)
    write_content(index, index_page(summaries, compared, inline=single_file))
    write_content(markdown, summary_markdown(summaries, compared))
    return Report(index, markdown, summaries, compared)


def _slugs(names: Sequence[str]) -> list[str]:
    """Return a unique folder name for each reward."""
    slugs: list[str] = []
    for name in names:
        base = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "reward"
        slug = base
        number = 1
        while slug in slugs:
            number += 1
            slug = f"{base}-{number}"
        slugs.append(slug)
    return slugs


def _run(
    stem: str, title: str, parameters: Plain, slug: str, redact: bool
) -> NotebookPage:
    """Execute a notebook with those `parameters` that it declares; return its page."""
    notebook = load_notebook_node(str(bundled(f"notebooks/{stem}.ipynb").resolve()))
    source = parameters_cell(notebook).source
    values = {}
    for name, value in parameters.items():
        if re.search(rf"(?m)^{name}: ", source):
            values[name] = value
    notebook = parameterize_notebook(notebook, values)
    failure = None
    try:
        _execute(notebook)
    except Exception as error:  # the kernel died or did not start: shown on the page
        failure = f"{type(error).__name__}: {error}"
    file = f"{slug}/{stem}.html" if slug else f"{stem}.html"
    return page_of(title, file, notebook, failure=failure, redact=redact)


def _execute(notebook: Any) -> None:
    """Run the cells of a notebook in a kernel, up to the first error.

    The notebook stays in memory. With files, papermill changes the working directory of
    the process, which would affect a notebook that runs at the same time.
    """
    quiet = ["--IPKernelApp.log_level=50"]
    papermill_engines.execute_notebook_with_engine(
        None, notebook, "python3", progress_bar=False, extra_arguments=quiet
    )
