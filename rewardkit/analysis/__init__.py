"""From scores to findings and suggestions: arrays and tables in, records out; never prints, never plots."""

from rewardkit.analysis.findings import (
    sentences as sentences,
)  # so that its findings can be said
