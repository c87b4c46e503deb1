"""The command `rewardkit`, which an interrupt ends in one line, also while it still imports."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from rewardkit.cli import main as command

        command()
    except KeyboardInterrupt:
        print("rewardkit: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
