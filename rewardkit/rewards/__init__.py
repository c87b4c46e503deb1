"""The definition: components, rewards, how they are loaded and saved."""
