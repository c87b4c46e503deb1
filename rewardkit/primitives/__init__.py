"""What a reward is made of: extraction, verification, measurement, gating and weighting."""
