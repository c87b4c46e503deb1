"""report(): the notebooks run by papermill for one or several rewards, and the pages made of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from papermill.engines import papermill_engines
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook
from tqdm.auto import tqdm

from rewardkit.analysis.diagnosis import diagnose
from rewardkit.errors import InputError, names_of
from rewardkit.notebook.display import TEXTS
from rewardkit.notebook.inputs import read_inputs
from rewardkit.notebook.report.executed import story_of
from rewardkit.notebook.report.pages import (
    Page,
    Summary,
    index_page,
    notebook_page,
    summary_markdown,
)
from rewardkit.notebook.scorecard import Short
from rewardkit.probes.probe import BUDGET
from rewardkit.probes.results.floor import LEAKAGE
from rewardkit.rewards.recorded import LOGGED_REWARD
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.rollouts.package_data import bundled
from rewardkit.rollouts.write import write_whole
from rewardkit.scoring.cases import cases_for
from rewardkit.scoring.score import score
from rewardkit.starting.notebooks import parameters_cell

NOTEBOOKS = (
    ("01_build", "Build: what it pays for"),
    ("02_check", "Check: cases, contract, probes, mutants"),
    ("03_analyze", "Analyze: what it would teach"),
)
TRIED = 16  # rollouts that are scored before the first notebook runs, so that wrong input is told at once
AT_ONCE = 2  # notebooks that run at the same time; each has a kernel of its own


@dataclass(frozen=True)
class Report:
    """Where a report lies: `index` to open, `summary` in Markdown, and the errors of pages that failed."""

    index: Path
    summary: Path
    summaries: tuple[Summary, ...]

    @property
    def failed(self) -> list[str]:
        """One line a page that failed."""
        return [
            f"{item.title} ({summary.name}): {item.error}"
            for summary in self.summaries
            for item in summary.pages
            if item.error
        ]


def report(
    rewards: Sequence[str],
    rollouts: str | Path,
    folder: str | Path,
    *,
    cases: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    group: Sequence[str] | None = None,
    join: str | Path | None = None,
    on: str = "prompt",
    fill: Mapping[str, Any] | None = None,
    as_: str | None = None,
    log_weights: Mapping[str, float] | None = None,
    training: Any = None,
    label: str | None = None,
    by: Sequence[str] | None = None,
    seed: int = 0,
    timeout: float | Callable[[Sequence[Reward]], float | None] | None = None,
    budget: float = BUDGET,
    leakage: float = LEAKAGE,
    baseline: str | Path | None = None,
    single_file: bool = False,
    redact: bool = False,
    progress: bool = False,
) -> Report:
    """Run the notebooks for each reward and write the pages into the folder.

    These are ``index.html``, a page a notebook, and ``summary.md``.

    `rewards` are names as `load_reward` takes them, with the target `as_`; "logged", or none at all, stands
    for the scores that are in the log, with `log_weights`. `columns`, `group`, `join`, `on` and `fill` are as
    in `load_rollouts`. Scores of a log have no page of checks, as nothing can be scored anew.
    ``single_file=True`` puts all pages into ``index.html``. ``redact=True`` leaves out prompts and
    completions. `timeout` is as in `score`, or a function that gives it for the loaded rewards, `training`,
    `label` and `by` as in `diagnose`, `budget`, `leakage` and `baseline` as in `probe`. All input is
    read before the first notebook runs. A notebook that fails leaves its page with the error
    (`Report.failed`). InputError: input that cannot be used.
    """
    names = list(dict.fromkeys(rewards)) or [LOGGED_REWARD]
    if (
        baseline is not None
        and len([name for name in names if name != LOGGED_REWARD]) != 1
    ):
        raise InputError(
            f"baseline={str(baseline)!r} is of one reward, and the report is of {names}"
        )
    by = names_of(by, "by") if by is not None else None
    if redact and (shown := [name for name in by or () if name in TEXTS]):
        raise InputError(
            f"by={shown!r} names the slices by texts, which redact=True leaves out; name other columns"
        )
    loaded, logged, written, ignored = read_inputs(
        names,
        rollouts,
        cases=cases,
        as_=as_,
        log_weights=log_weights,
        baseline=baseline,
        label=label,
        by=by,
        columns=columns,
        group=list(group or []) or None,
        join=join,
        on=on,
        fill=fill,
    )
    timeout = timeout(list(loaded.values())) if callable(timeout) else timeout
    training = Training.of(training)
    for reward in loaded.values():
        first = score(
            reward, logged.select(range(min(TRIED, len(logged)))), timeout=timeout
        )
        diagnose(first, training=training, label=label, by=by, seed=seed)
        cases_for(reward, written, ignored)
    slugs = _slugs([reward.name for reward in loaded.values()])
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    jobs = [
        (at, stem, title)
        for at in range(len(names))
        for stem, title in NOTEBOOKS
        if stem != "02_check" or names[at] != LOGGED_REWARD
    ]
    shared = {
        "rollouts": str(rollouts),
        "columns": dict(columns or {}),
        "group": list(group or []),
        "join": str(join or ""),
        "on": on,
        "fill": dict(fill or {}),
        "read_as": as_ or "",
        "log_weights": dict(log_weights or {}),
        "cases": str(cases or ""),
        "ignore": ignored,
        "fail_on_miss": False,
        "budget": budget,
        "leakage": leakage,
        "baseline": str(baseline or ""),
        "training": training.record(),
        "label": label or "",
        "by": list(by or []),
        "seed": seed,
        "timeout": timeout or 0,
        "redact": redact,
    }
    with (
        ThreadPoolExecutor(max_workers=min(AT_ONCE, os.cpu_count() or 1)) as pool,
        tqdm(total=len(jobs), desc="report", unit="page", disable=not progress) as bar,
    ):
        running = {}
        for at, stem, title in jobs:
            values = {**shared, "reward": names[at]}
            running[at, stem] = pool.submit(
                _run, stem, title, values, slugs[at], redact
            )
        for _ in as_completed(running.values()):
            bar.update()
        made = {key: job.result() for key, job in running.items()}
    called = [reward.name for reward in loaded.values()]
    summaries = []
    for at, name in enumerate(called):
        pages = tuple(page for key, page in made.items() if key[0] == at)
        name = names[at] if called.count(name) > 1 else name
        summaries.append(
            Summary(name, loaded[names[at]], logged, training, pages, redact)
        )
    index, markdown = folder / "index.html", folder / "summary.md"
    for summary in [] if single_file else summaries:
        for item in summary.pages:
            _write(folder / item.file, notebook_page(item, summary))
    _write(index, index_page(summaries, inline=single_file))
    _write(markdown, summary_markdown(summaries))
    return Report(index, markdown, tuple(summaries))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def _slugs(names: Sequence[str]) -> list[str]:
    """A folder name a reward, all different."""
    slugs: list[str] = []
    for name in names:
        base = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "reward"
        numbered = (base if at == 1 else f"{base}-{at}" for at in count(1))
        slugs.append(next(slug for slug in numbered if slug not in slugs))
    return slugs


def _run(stem: str, title: str, given: dict[str, Any], slug: str, redact: bool) -> Page:
    """Execute one notebook with the parameters it has, and make its page."""
    notebook = load_notebook_node(str(bundled(f"notebooks/{stem}.ipynb").resolve()))
    source = parameters_cell(notebook).source
    known = {
        name: value
        for name, value in given.items()
        if re.search(rf"(?m)^{name}: ", source)
    }
    notebook, failure = parameterize_notebook(notebook, known), None
    try:
        _execute(notebook)
    except (
        Exception
    ) as error:  # the kernel died or did not start: the page has to say so
        failure = f"{type(error).__name__}: {error}"
    story = story_of(notebook, redact=redact)
    return Page(
        title,
        f"{slug}/{stem}.html",
        story,
        failure or story.error,
        Short.found(notebook),
    )


def _execute(notebook: Any) -> None:
    """Run the cells of a notebook in a kernel, to the first error.

    It stays in memory: by way of files papermill changes the folder of the process for a moment, which
    another notebook at the same time may then take for its own.
    """
    quiet = ["--IPKernelApp.log_level=50"]
    papermill_engines.execute_notebook_with_engine(
        None, notebook, "python3", progress_bar=False, extra_arguments=quiet
    )
