"""Thresholds of findings: where a number begins to matter, and why there."""

__all__ = ["FEWEST_GROUPS", "OFTEN", "THRESHOLDS"]

THRESHOLDS: dict[str, float] = {
    # Share of rows at the minimum: with a quarter right and 8 siblings one group in ten is all wrong even if
    # all prompts are alike ((3/4)^8).
    "sparse": 0.75,
    "sparse_groups_high": 0.5,  # half of the batch gives the task no gradient: our choice
    "starved": 0.05,  # mean as a share of the range: our choice
    "saturated": 0.95,  # likewise
    "tie_rate": 0.8,  # share of sibling pairs that earn the same: our choice
    "identical_pairs": 0.25,  # share of sibling pairs with the same text: our choice
    "outliers": 0.1,  # what values far out add to the squared differences of siblings: our choice
    "outlier_rows": 0.05,  # share of the scores; more than that are no rare ones: our choice
    "top_decile": 0.5,  # share of the unscaled advantage in a tenth of the groups: our choice
    "small_std": 0.1,  # of the typical live group, for certain (`spread_findings`): our choice
    "amplified_noise": 0.05,  # share of live groups that small: our choice
    # Our choice: DAPO (arXiv 2503.14476) resamples such groups, and at 30 % draws 1.4 batches for one.
    "zero_std": 0.3,
    "zero_std_high": 0.6,
    "dominant": 0.5,  # a component that is not primary holds more than half
    "outweighs": 0.1,  # by how much it holds more than one declared heavier: our choice
    "over_declared": 0.3,  # by how much it holds more than its share of the weights: our choice
    "redundant": 0.9,  # correlation
    "opposed": 0.05,  # share of groups where components cancel: our choice
    "gate_open": 0.05,  # our choice
    "abstained": 0.01,  # from here a warning, below only information: our choice
    "error": 0.01,
    "lost_rows_high": 0.2,  # abstentions or errors: our choice
    # Share of sibling pairs that the reward orders as the label does, ties half. A reward that is the label
    # has 1, one that is noise .5, one that is right for nine labels in ten .9: our choice.
    "label_auc": 0.9,
    "label_auc_high": 0.7,
    "order_bias": 0.65,  # two of three pairs go to the longer one: our choice
    "truncated_paid": 0.25,  # our choice
    "length_drift": 0.3,  # of the mean length, over the run: our choice
    "repeat_drift": 0.1,  # of the sibling pairs: our choice
}
FEWEST_GROUPS = 10
"""Fewer give no verdict on a share of groups. Our choice."""
OFTEN = 0.2
"""Share of the live groups in which a component must vary to be weighed by its influence.

Our choice: a penalty that rarely fires is meant to hold little.
"""
