"""Probes: what bad answers would earn of a reward, and what right ones would lose."""
