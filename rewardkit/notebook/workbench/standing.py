"""Standing: the verdict and the five tiles above the tabs."""

from __future__ import annotations

import threading
from dataclasses import replace

from rewardkit.analysis.diagnosis import diagnose
from rewardkit.analysis.forecast import forecast
from rewardkit.errors import Cancelled, InputError
from rewardkit.findings import percent
from rewardkit.notebook import tiles
from rewardkit.notebook.scorecard import Scorecard
from rewardkit.notebook.workbench.bench import Bench
from rewardkit.notebook.workbench.parts import html, made
from rewardkit.notebook.workbench.variant import Variant
from rewardkit.rewards.recorded import is_recorded

SECONDS_IDLE = 0.4
"""Seconds without a move until what takes longer is computed. Our choice."""
MOST_ROWS_AT_ONCE = 5000  # up to which all tiles are there when the panel opens
WAITING = "\u2026"
NOT_PROBED = "not probed yet"
RUN_AGAIN = "the probes ran on earlier settings; run them again"


class Standing:
    """The tiles: the signal follows each move, the others when nothing moves.

    Nothing runs in the background before the panel is `shown`.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.widget = html("rewardkit-standing")
        asked = (tiles.CASES, tiles.SIGNAL, tiles.SELECTS)
        self.tiles = {name: tiles.Tile(name, "info", WAITING, "") for name in asked}
        self.shown = False
        self._settled: tuple[Variant, int] | None = None
        self._timer: threading.Timer | None = None
        self._drawing = threading.Lock()
        bench.observe(self.follow, ["variant", "revised", "cases_written", "probed"])

    def show(self) -> None:
        """Begin, as the panel is to be seen."""
        if not self.shown:
            self.shown = True
            if len(self.bench.scored) <= MOST_ROWS_AT_ONCE:
                self.settle()
            else:
                self.follow()

    def follow(self, _: object = None) -> None:
        """Show what is known at once, and the rest when nothing moves."""
        if not self.shown:
            return
        figures = self.bench.figures
        if figures.several and self._settled != self.bench.now:
            self._put(
                replace(
                    self.tiles[tiles.SIGNAL],
                    figure=percent(1 - figures.tied_share),
                    ends="",
                )
            )
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
        """Check, diagnose and forecast the variant, unless it moves meanwhile."""
        bench, now = self.bench, self.bench.now
        self._check()
        if self._settled != now:
            scores, options = bench.scores, bench.options(bench.variant)
            try:
                found = diagnose(
                    scores, **options, progress=lambda share: bench.now == now
                )
                bench.diagnosed = found, now
                self._put(tiles.signal_tile(found))
                self._draw()
                usable = found.views[0].context.label is not None
                options["label"] = bench.label if usable else None
                selects = tiles.forecast_tile(forecast(scores, **options), found)
            except Cancelled:
                return
            except InputError as error:
                selects = tiles.Tile(tiles.SELECTS, "info", "-", str(error))
            if bench.now != now:
                return
            self._put(selects)
            self._settled = now
        self._draw()
        bench.keep_right()

    def _check(self) -> None:
        try:
            self._put(
                tiles.cases_tile(
                    self.bench.checked, recorded=is_recorded(self.bench.scored.reward)
                )
            )
        except (InputError, OSError):
            told = "the tab Cases says why", "the cases cannot be checked"
            self._put(tiles.Tile(tiles.CASES, "info", "-", *told))

    def _put(self, tile: tiles.Tile) -> None:
        self.tiles[tile.question] = tile

    @property
    def card(self) -> Scorecard:
        """Return the verdict and the tiles as they stand."""
        cases, signal, selects = (
            self.tiles[name] for name in (tiles.CASES, tiles.SIGNAL, tiles.SELECTS)
        )
        return Scorecard(
            self.bench.reward.name, (cases, signal, *self._probed(), selects)
        )

    def _probed(self) -> tuple[tiles.Tile, tiles.Tile]:
        """Return what the probes found, marked where the settings have moved since."""
        if self.bench.probed is None:
            exploits = tiles.Tile(
                tiles.EXPLOITS, "info", "-", NOT_PROBED, "the probes have not run"
            )
            return exploits, tiles.Tile(tiles.CONTRACT, "info", "-", NOT_PROBED)
        result, of = self.bench.probed
        exploits, contract = tiles.probe_tiles(result)
        if of == self.bench.now:
            diagnosis, diagnosed_of = self.bench.diagnosed or (None, None)
            found = diagnosis.findings if diagnosis and diagnosed_of == of else ()
            return exploits, tiles.contract_on_log(contract, found)
        earlier = {"grade": "info", "said": "of earlier settings"}
        return replace(exploits, **earlier, reason=RUN_AGAIN), replace(
            contract, **earlier, reason=""
        )

    def _draw(self) -> None:
        with self._drawing:
            self.widget.value = self.html(busy=self._settled != self.bench.now)

    def html(self, *, busy: bool = False) -> str:
        """Return the verdict and the tiles; `busy`: some are of earlier settings."""
        return made("standing", self.card, busy)
