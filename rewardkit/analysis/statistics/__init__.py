"""Statistics of scores, groups and prompts: arrays in, arrays out."""
