"""The primitives of a reward: extraction, verification, measurement, gates, weights."""
