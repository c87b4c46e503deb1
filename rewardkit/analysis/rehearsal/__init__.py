"""The rehearsal of a training: kinds of completions, a policy over them, its outlook."""
