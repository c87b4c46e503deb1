"""What has been proved of which target, a JSON line each, for the table that `make test-trainers` prints."""

import json
import os
from pathlib import Path


def proved(target, step, by=""):
    """Note that a step (recognised, read, written, called, equal) was seen to hold for a target."""
    place = os.environ.get("REWARDKIT_TABLE")
    if place:
        with Path(place).open("a") as file:
            file.write(json.dumps({"target": target, "step": step, "by": by}) + "\n")
