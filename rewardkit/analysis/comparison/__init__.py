"""What differs between versions of a reward, and which one to train on."""
