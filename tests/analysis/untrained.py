"""Suggestions for whose changes no training is rehearsed, where nothing is asserted of it."""

from contextlib import contextmanager

import pytest


@contextmanager
def untrained():
    """Suggest without rehearsing the training on each change."""
    with pytest.MonkeyPatch.context() as patch:
        name = "rewardkit.analysis.suggest.train_on"
        patch.setattr(name, lambda view, changed: [None] * len(changed))
        yield
