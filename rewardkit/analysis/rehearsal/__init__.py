"""The rehearsal of a training: kinds of completions, a policy, its outlook."""
