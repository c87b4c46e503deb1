"""Probes: what bad answers would earn and right ones lose; and whether the case file would notice a change."""
