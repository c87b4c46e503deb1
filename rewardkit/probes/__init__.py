"""Probes: what bad answers would earn, right ones lose, and whether the case file would notice a change."""
