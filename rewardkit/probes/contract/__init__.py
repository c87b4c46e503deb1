"""Contract: whether a trainer can call a reward, and whether every call comes back."""
