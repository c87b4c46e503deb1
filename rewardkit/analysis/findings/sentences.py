"""The table of findings, `findings.toml`: how each is judged, what answers it, and its sentences."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any

from jinja2 import Environment, Template

from rewardkit.findings import SENTENCES, percent, with_interval

FINDINGS: dict[str, dict[str, Any]] = tomllib.loads(
    files("rewardkit.analysis.findings").joinpath("findings.toml").read_text("utf-8")
)
"""Code -> its row."""


ENVIRONMENT = Environment()  # plain text: pages escape it
ENVIRONMENT.filters |= {"percent": percent, "number": lambda value: f"{value:.3g}"}


@cache
def _template(code: str, key: str) -> Template:
    return ENVIRONMENT.from_string(FINDINGS[code].get(key, ""))


def _rendered(code: str, key: str, who: str, evidence: Mapping[str, Any]) -> str:
    told = {**evidence, "who": who, "measured": with_interval(evidence)}
    return _template(code, key).render(told)


SENTENCES |= {
    code: (partial(_rendered, code, "says"), partial(_rendered, code, "do"))
    for code in FINDINGS
}
