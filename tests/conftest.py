"""Settings of all tests: no deadline an example, as processes share cores; the same examples every run."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "rewardkit",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("rewardkit")
