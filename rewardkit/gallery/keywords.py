"""Keywords in a text of the right length: why the sky is blue, in 30 to 80 words.

What it is for: open answers without a truth to compare with, where some words have to
occur: here four terms, each a quarter. The share of the terms is multiplied with the
root of how well the length fits, so that a bare list of the terms earns nothing, nor
does a text of the right length about something else. Where more than a fifth of the
runs of three words repeat, nothing is paid.

What it misses: everything that is said with the words. "Scattering has nothing to do
with it" and a soup of words in any order earn full marks, so use it beside a judge, or
as a first filter. Only whole words in this form count: "scattered" is not "scattering".
"""

from __future__ import annotations

import rewardkit as rk

reward = rk.Reward(
    "keywords-v1",
    components=[
        rk.Component(
            "stuffing",
            rk.measure.repetition(ngram=3),
            weight=0.0,
            why="recorded, and the gate of the whole: saying it again is no length",
        ),
        rk.Component(
            "window",
            rk.measure.length(
                zero_until=10, full_from=30, full_until=80, zero_from=160
            ),
            weight=0.5,
            why="an exponent: half way down still earns 0.7",
        ),
        rk.Component(
            "terms",
            rk.measure.keywords("scattering", "wavelength", "blue", "atmosphere"),
            weight=1.0,
            primary=True,
            why="the task, as far as words can tell",
        ),
    ],
    aggregation="product",
    gate=rk.gate("stuffing", at_most=0.2),
)
