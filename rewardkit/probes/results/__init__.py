"""Results: findings by cause, how they are said and shown, and what is accepted of them."""
