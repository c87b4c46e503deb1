"""What suggest() proposes, measures and says."""
