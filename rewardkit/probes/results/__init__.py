"""Results: findings by cause, and how they stand on a page."""
