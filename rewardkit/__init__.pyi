"""The public names of rewardkit; `__init__.py` imports one when it is first used."""

from rewardkit import judges, targets
from rewardkit.analysis.comparison.compare import Comparison, compare
from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.analysis.forecast import Forecast, forecast
from rewardkit.analysis.suggest import suggest
from rewardkit.analysis.suggestions.suggestion import Suggestion, Suggestions
from rewardkit.analysis.whatif import WhatIf, whatif
from rewardkit.errors import (
    Cancelled,
    CasesError,
    InputError,
    Interrupted,
    NotJudged,
    RewardError,
    RolloutsError,
)
from rewardkit.findings import Finding
from rewardkit.history.card import Card, card
from rewardkit.history.keep import keep
from rewardkit.history.parts import load_scores
from rewardkit.history.recorder import Recorder
from rewardkit.history.run import Run
from rewardkit.history.runs import Runs, runs
from rewardkit.history.track import track
from rewardkit.history.versions import Version
from rewardkit.judges.records import JudgeReport, JudgeReports
from rewardkit.judges.report import judge_report, judge_reports
from rewardkit.judges.rubric import judge
from rewardkit.monitoring.callback import MonitorCallback
from rewardkit.monitoring.monitor import Monitor, monitor
from rewardkit.mutation.mutants import mutants
from rewardkit.mutation.results import MutantResult
from rewardkit.notebook import plots as plots
from rewardkit.notebook import tables as tables
from rewardkit.notebook.inputs import load_inputs as load_inputs
from rewardkit.notebook.inputs import load_versions as load_versions
from rewardkit.notebook.inputs import set_up_notebook as set_up_notebook
from rewardkit.notebook.reward_cell import (
    load_ipython_extension as load_ipython_extension,
)
from rewardkit.notebook.scorecard import summarize as summarize
from rewardkit.notebook.tables import show as show
from rewardkit.notebook.tables import try_extractors as try_extractors
from rewardkit.notebook.workbench.panel import Workbench as Workbench
from rewardkit.primitives import extract, measure, siblings, verify
from rewardkit.primitives import weights as weigh
from rewardkit.primitives.gates import gate
from rewardkit.primitives.primitive import note
from rewardkit.probes.probe import assert_holds, probe
from rewardkit.probes.result import ProbeResult
from rewardkit.probes.review import Review, review
from rewardkit.rewards.component import Component
from rewardkit.rewards.recorded import recorded
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.route import Route
from rewardkit.rewards.save import save_reward
from rewardkit.rewards.schedule import Schedule, schedule
from rewardkit.rewards.training import Training
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.sample import Sampled, sample
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import Case, load_cases
from rewardkit.scoring.check import assert_cases, check
from rewardkit.scoring.check_result import CheckResult
from rewardkit.scoring.evaluate import RewardResult
from rewardkit.scoring.explain import Explanation, explain
from rewardkit.scoring.ray_engine import Ray
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores
from rewardkit.starting.start import Started, start
from rewardkit.suspects.suspect import suspect
from rewardkit.suspects.suspicion import Suspicion
from rewardkit.targets.export import Exported, export
from rewardkit.targets.load import load_reward
from rewardkit.targets.tunix import get_reward_function, register_reward_function

__all__ = [
    "Cancelled",
    "Card",
    "Case",
    "CasesError",
    "CheckResult",
    "Comparison",
    "Component",
    "Diagnosis",
    "Explanation",
    "Exported",
    "Finding",
    "Forecast",
    "InputError",
    "Interrupted",
    "JudgeReport",
    "JudgeReports",
    "Monitor",
    "MonitorCallback",
    "MutantResult",
    "NotJudged",
    "ProbeResult",
    "Ray",
    "Recorder",
    "Review",
    "Reward",
    "RewardError",
    "RewardResult",
    "Rollouts",
    "RolloutsError",
    "Route",
    "Run",
    "Runs",
    "Sampled",
    "Schedule",
    "Scores",
    "Started",
    "Suggestion",
    "Suggestions",
    "Suspicion",
    "Training",
    "Version",
    "WhatIf",
    "assert_cases",
    "assert_holds",
    "card",
    "check",
    "compare",
    "diagnose",
    "explain",
    "export",
    "extract",
    "forecast",
    "gate",
    "get_reward_function",
    "judge",
    "judge_report",
    "judge_reports",
    "judges",
    "keep",
    "load_cases",
    "load_reward",
    "load_rollouts",
    "load_scores",
    "measure",
    "monitor",
    "mutants",
    "note",
    "probe",
    "recorded",
    "register_reward_function",
    "review",
    "runs",
    "sample",
    "save_reward",
    "schedule",
    "score",
    "siblings",
    "start",
    "suggest",
    "suspect",
    "targets",
    "track",
    "verify",
    "weigh",
    "whatif",
]
