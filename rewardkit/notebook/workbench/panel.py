"""Workbench: the panel to weigh, read, check, probe and diagnose a reward."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pandas as pd
from IPython.display import HTML

from rewardkit.errors import InputError
from rewardkit.html import markup
from rewardkit.notebook.workbench.bench import Bench
from rewardkit.notebook.workbench.browse import Browse
from rewardkit.notebook.workbench.cases import CaseMatrix
from rewardkit.notebook.workbench.compose import Compose, live
from rewardkit.notebook.workbench.parts import Panel, classed, html, keys, stack
from rewardkit.notebook.workbench.reading import row_page
from rewardkit.notebook.workbench.standing import Standing
from rewardkit.notebook.workbench.tried import Findings, Probes
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import CaseSource
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores
from rewardkit.targets.load import load_reward

Source = Rollouts | Scores | str | Path | pd.DataFrame | Iterable[Mapping[str, Any]]
KERNEL_IS_GONE = (
    "The kernel behind this panel is gone, so that its controls do nothing now. What "
    "was saved is saved; run the cell again for a new panel. The weights below are "
    "those that you had."
)


class Workbench:
    """A panel with the tabs Compose, Browse, Cases, Probes and Findings.

    The last line of a cell shows it.

    `rollouts` are scored once (or are the Scores of this reward, which are taken as
    they are); from then on weights, gates and filters move without scoring. `cases` is
    a case file, to which Browse adds, or a list of cases. `label` names a column that
    says which completions are right, `training` is as `Training.of` takes it, `timeout`
    as in `score`. `scores` and `reward` are those that stand in the panel, for the
    cells below. A page without a kernel (a report) has a still picture. InputError:
    input that cannot be used, before anything is shown.
    """

    def __init__(
        self,
        reward: Reward | str,
        rollouts: Source,
        cases: CaseSource | None = None,
        label: str | None = None,
        *,
        training: Any = None,
        timeout: float | None = None,
        seed: int = 0,
    ) -> None:
        reward = load_reward(reward) if isinstance(reward, str) else reward
        check_reward(reward, "Workbench")
        scores = _scores(reward, rollouts, timeout)
        self._bench = Bench(
            scores,
            cases=cases,
            label=label,
            training=training,
            timeout=timeout,
            seed=seed,
        )
        if cases is not None:
            self._bench.cases()
        kinds: tuple[Any, ...] = (Compose, Browse, CaseMatrix, Probes, Findings)
        self._panels: list[Panel] = [kind(self._bench) for kind in kinds]
        self._bench.commands["show"] = self._draw_controls
        self._standing = Standing(self._bench)

    @property
    def scores(self) -> Scores:
        """Return the scores under the weights, gates and aggregation of the panel."""
        return self._bench.scores

    @property
    def reward(self) -> Reward:
        """Return the reward as it stands in the panel."""
        return self._bench.reward

    @property
    def line(self) -> str:
        """Return code that makes this reward of the one called ``reward``."""
        return str(self._bench.variant.line)

    @property
    def flagged(self) -> list[Any]:
        """Return the ids of the rollouts flagged in Browse, for the cells below."""
        return self.scores.table["rollout_id"].iloc[self._bench.flagged].tolist()

    def completion(self, row: int) -> HTML:
        """Return a completion by position, as Browse shows it."""
        return HTML(still(row_page(self._bench, row, still=True)))

    @cached_property
    def panel(self) -> Any:
        """Return the widget with all tabs; the same each time."""
        titles = [panel.title for panel in self._panels]
        self._tabs = widgets.Tab(
            [panel.widget for panel in self._panels], titles=titles
        )
        self._turned(0)
        self._tabs.observe(lambda change: self._turned(change["new"]), "selected_index")
        self._bench.observe(
            lambda change: setattr(self._tabs, "selected_index", 1), "asked_for"
        )
        self._standing.show()
        return framed(self._bench, self._standing.widget, self._tabs)

    def _draw_controls(self) -> None:
        for panel in self._panels:
            panel.draw_controls()

    def _turned(self, place: int) -> None:
        for at, panel in enumerate(self._panels):
            panel.active = at == place
        self._panels[place].refresh()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the panel, and for a page without a kernel its picture."""
        found = self.panel._repr_mimebundle_(**options)
        data, metadata = found if isinstance(found, tuple) else (found, {})
        return {**data, "text/html": still(live(self._bench))}, metadata

    def __repr__(self) -> str:
        rows = len(self.scores)
        return f"Workbench of {self.reward.name!r} on {rows} rollouts: {self.line}"


def framed(bench: Bench, *inner: Any) -> Any:
    """Frame widgets with the style, the script, and the wire from page to bench.

    A sentence in the frame is seen when the kernel is gone.
    """
    lost = html("rewardkit-lost", f'<p role="alert">{KERNEL_IS_GONE}</p>')
    wire = classed(widgets.Text(tooltip="what was done"), "rewardkit-wire")
    wire.observe(lambda change: bench.read(change["new"]), "value")
    first = html("rewardkit-begin", f"{markup.style('workbench')}{keys()}")
    marks = ("rewardkit-workbench", "rk-bench")
    return classed(stack(first, wire, lost, *inner, mark="rewardkit"), *marks)


def still(*inner: str) -> str:
    """Return a piece of the panel for a page that has no kernel."""
    body = "".join([markup.style("workbench"), *inner])
    return f'<div class="rewardkit rk-bench">{body}</div>'


def _scores(reward: Reward, rollouts: Source, timeout: float | None) -> Scores:
    if not isinstance(rollouts, Scores):
        return score(reward, rollouts, notes=True, timeout=timeout)
    if rollouts.reward.record()["fingerprints"] != reward.record()["fingerprints"]:
        raise InputError(
            f"these are scores of {rollouts.reward.name!r} and not of the reward "
            f"{reward.name!r} as it is now; give the rollouts, which are then scored"
        )
    return rollouts
