"""Read logs as Rollouts, one row per completion."""
