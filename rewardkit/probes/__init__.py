"""Probes: what bad answers would earn, right ones lose, and whether the case file would notice a change."""

from rewardkit.probes.results import (
    sentences as sentences,
)  # so that its findings can be said
