"""Workbench: a panel to weigh, read, check, probe and diagnose a reward.

The verdict and five tiles are above its tabs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pandas as pd

from rewardkit.analysis.diagnosis import diagnose
from rewardkit.analysis.forecast import forecast
from rewardkit.errors import Cancelled, InputError
from rewardkit.findings import describe_size, percent
from rewardkit.html import markup
from rewardkit.notebook import tiles
from rewardkit.notebook.inputs import load_source
from rewardkit.notebook.scorecard import Scorecard
from rewardkit.notebook.tiles import Tile, unknown
from rewardkit.notebook.workbench.bench import Bench
from rewardkit.notebook.workbench.browse import Browse
from rewardkit.notebook.workbench.cases import Cases
from rewardkit.notebook.workbench.compose import Compose, live
from rewardkit.notebook.workbench.findings import Findings, Probes
from rewardkit.notebook.workbench.parts import (
    Panel,
    add_classes,
    html,
    keys,
    render,
    stack,
)
from rewardkit.notebook.workbench.variant import Variant
from rewardkit.rewards.recorded import is_recorded
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import Case, CaseSource
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores
from rewardkit.targets.load import load_reward

SECONDS_IDLE = 0.4
"""Seconds without a move before slow tiles are computed. Our choice."""
MOST_ROWS_AT_ONCE = 5000  # rows up to which all tiles are computed before opening
NOT_PROBED = "not probed yet"
RUN_AGAIN = "the probes ran on earlier settings; run them again"

Source = Rollouts | Scores | str | Path | pd.DataFrame | Iterable[Mapping[str, Any]]
KERNEL_IS_GONE = (
    "The kernel behind this panel is gone, so that its controls do nothing now. What "
    "was saved is saved; run the cell again for a new panel. The weights below are "
    "those that you had."
)


class Workbench:
    """A panel with the tabs Compose, Browse, Cases, Probes and Findings.

    It is shown as the last line of a cell.

    `rollouts` are scored once; Scores of this reward, or a folder of them, are used
    unchanged. Weights, gates and filters then move without scoring, and scheduled
    weights can be viewed at any step. `cases` is a case file, to which Browse adds, or
    a list of cases. `label` names a column that says which completions are right.
    `training` is as for `Training.of`, `timeout` as in `score`.

    The attributes `scores`, `reward` and `cases` give the panel's current state to the
    cells below. On a page without a kernel, such as a report, the panel is a static
    picture. InputError: invalid input, before anything is shown.
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
        tabs: tuple[Any, ...] = (Compose, Browse, Cases, Probes, Findings)
        self._panels: list[Panel] = [tab(self._bench) for tab in tabs]
        self._bench.commands["show"] = self._draw_controls
        self._standing = Standing(self._bench)

    @property
    def scores(self) -> Scores:
        """Return the scores with the weights, gates and aggregation of the panel."""
        return self._bench.scores

    @property
    def reward(self) -> Reward:
        """Return the current reward of the panel."""
        return self._bench.reward

    @property
    def cases(self) -> list[Case]:
        """Return the cases passed as a list, and those of the case file.

        Raises:
            CasesError: the file cannot be read.
        """
        return self._bench.cases()

    @property
    def flagged(self) -> list[Any]:
        """Return the ids of the rollouts flagged in Browse, for the cells below."""
        return self.scores.table["rollout_id"].iloc[self._bench.flagged].tolist()

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
            lambda change: setattr(self._tabs, "selected_index", 1), "browse_requests"
        )
        self._standing.show()
        return frame_widgets(self._bench, self._standing.widget, self._tabs)

    def _draw_controls(self) -> None:
        for panel in self._panels:
            panel.draw_controls()

    def _turned(self, place: int) -> None:
        for at, panel in enumerate(self._panels):
            panel.active = at == place
        self._panels[place].refresh()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widgets' bundle, with the figures as HTML for static pages."""
        bundle = self.panel._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "text/html": static_panel(live(self._bench))}, metadata

    def __repr__(self) -> str:
        size = describe_size(len(self.scores), self.scores.rollouts.sampled_from)
        return f"Workbench of {self.reward.name!r} on {size}"


class Standing:
    """The verdict and the tiles above the tabs.

    The tile of the signal is updated at each move, the others once no control has moved
    for `SECONDS_IDLE`. Nothing runs in the background before the panel is shown.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.widget = html("rewardkit-standing")
        self.tiles: dict[str, Tile] = {}
        for question in (tiles.CASES, tiles.SIGNAL, tiles.TRAINED):
            self._put(Tile(question, "info", "\u2026", ""))
        self.is_visible = False
        self._settled: tuple[Variant, int] | None = None
        self._timer: threading.Timer | None = None
        self._drawing = threading.Lock()
        self._settling = threading.Lock()
        bench.observe(self.follow, ["variant", "revised", "cases_written", "probed"])

    def show(self) -> None:
        """Start the updates when the panel is first shown."""
        if not self.is_visible:
            self.is_visible = True
            if len(self.bench.scored) <= MOST_ROWS_AT_ONCE:
                self.settle()
            else:
                self.follow()

    def follow(self, _: object = None) -> None:
        """Update the signal now, and the other tiles when no control moves."""
        if not self.is_visible:
            return
        figures = self.bench.figures
        with self._drawing:
            if self._settled != self.bench.now:
                self._settled = None  # the tiles are outdated even after a move back
                if figures.several:
                    signal = percent(1 - figures.tied_share)
                    self._put(replace(self.tiles[tiles.SIGNAL], figure=signal, ends=""))
        self._draw()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(SECONDS_IDLE, self.settle)
        self._timer.daemon = True
        self._timer.start()

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until the tiles are computed."""
        if self._timer is not None:
            self._timer.join(seconds)

    def settle(self) -> None:
        """Check, diagnose and forecast the variant, unless a control moves meanwhile.

        Only one thread does so at a time: a forecast takes seconds, and several would
        slow down the controls.
        """
        with self._settling:
            self._put(self._check())
            now = self.bench.now
            if self._settled != now:
                try:
                    trained = self._diagnose(now)
                except Cancelled:
                    return
                except InputError as error:
                    trained = unknown(tiles.TRAINED, str(error))
                with self._drawing:
                    if self.bench.now != now:
                        return
                    self._put(trained)
                    self._settled = now
            self._draw()
            self.bench.cache_right()

    def _check(self) -> Tile:
        recorded = is_recorded(self.bench.scored.reward)
        if self.bench.missing_cases and not recorded and not self.bench.listed_cases:
            reason = "no cases say what it must give"
            return unknown(tiles.CASES, "there is no such case file yet", reason)
        try:
            return tiles.cases_tile(self.bench.checked, recorded=recorded)
        except (InputError, OSError):
            reason = "the cases cannot be checked"
            return unknown(tiles.CASES, "the tab Cases says why", reason)

    def _diagnose(self, now: tuple[Variant, int]) -> Tile:
        """Show the signal under the settings `now`; return the tile of the forecast."""
        bench = self.bench
        scores = bench.scores
        options = bench.options(bench.variant)
        diagnosis = diagnose(scores, **options, progress=lambda _: bench.now == now)
        bench.diagnosed = diagnosis, now
        with self._drawing:
            if bench.now != now:
                raise Cancelled
            self._put(tiles.signal_tile(diagnosis))
        self._draw()
        if diagnosis.views[0].context.label is None:
            options["label"] = None
        return tiles.forecast_tile(forecast(scores, **options), diagnosis)

    def _put(self, tile: Tile) -> None:
        self.tiles[tile.question] = tile

    @property
    def card(self) -> Scorecard:
        """Return the current verdict and tiles."""
        cases, signal, trained = self.tiles.values()
        summaries = (cases, signal, *self._probe_tiles(), trained)
        return Scorecard(self.bench.reward.name, summaries)

    def _probe_tiles(self) -> tuple[Tile, Tile]:
        """Return the tiles of exploits and contract, marked if they are outdated."""
        if self.bench.probed is None:
            exploits = unknown(tiles.HOLES, NOT_PROBED, "the probes have not run")
            return exploits, unknown(tiles.CONTRACT, NOT_PROBED)
        result, settings = self.bench.probed
        exploits = tiles.holes_tile(result)
        contract = tiles.contract_tile(result)
        if settings == self.bench.now:
            diagnosis, diagnosed_settings = self.bench.diagnosed or (None, None)
            if diagnosis is not None and diagnosed_settings == settings:
                contract = tiles.contract_on_log(contract, diagnosis.findings)
            return exploits, contract
        earlier = {"grade": "info", "words": "of earlier settings"}
        exploits = replace(exploits, **earlier, reason=RUN_AGAIN)
        return exploits, replace(contract, **earlier, reason="")

    def _draw(self) -> None:
        with self._drawing:
            busy = self._settled != self.bench.now
            self.widget.value = render("standing", self.card, busy)


def frame_widgets(bench: Bench, *inner: Any) -> Any:
    """Frame widgets with the style, the script, and the channel from page to bench.

    The frame has a sentence that the page shows when the kernel is gone.
    """
    lost = html("rewardkit-lost", f'<p role="alert">{KERNEL_IS_GONE}</p>')
    wire = add_classes(widgets.Text(tooltip="what was done"), "rewardkit-wire")
    wire.observe(lambda change: bench.receive(change["new"]), "value")
    first = html("rewardkit-begin", f"{markup.style('workbench')}{keys()}")
    marks = ("rewardkit-workbench", "rk-bench")
    return add_classes(stack(first, wire, lost, *inner, mark="rewardkit"), *marks)


def static_panel(*inner: str) -> str:
    """Return a part of the panel as HTML for a page without a kernel."""
    body = "".join([markup.style("workbench"), *inner])
    return f'<div class="rewardkit rk-bench">{body}</div>'


def _scores(reward: Reward, source: Source, timeout: float | None) -> Scores:
    """Return the source's scores if they are of this reward, else score its rows."""
    if isinstance(source, str | Path):
        source = load_source(source)
    if isinstance(source, Scores):
        if source.reward.record()["fingerprints"] == reward.record()["fingerprints"]:
            return replace(source, reward=reward)
        source = source.rollouts
    return score(reward, source, notes=True, timeout=timeout)
