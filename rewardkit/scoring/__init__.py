"""Definition x rollouts -> Scores."""
