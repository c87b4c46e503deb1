"""`python -m rewardkit.cli`."""

from rewardkit.__main__ import main

main()
