"""Hold the predictions against what training did: make forecast-proof.

    python data/training/proof.py [FILE ...]

For each file of predictions, or those that are named: a row a run that it decides,
with what was predicted before it was made, and what it did; then the figures that
count. `LOOKED_AT` says which runs those are not. Then where a training ends after the
first change that was suggested, and without it. Needs the package alone.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from rewards import CHANGED, SETTINGS, read_suggestions

import rewardkit as rk
from rewardkit.analysis.rehearsal.kinds import form_of
from rewardkit.analysis.rehearsal.outlook import outlook_of
from rewardkit.analysis.rehearsal.rehearsal import LAST_STEPS
from rewardkit.analysis.rehearsal.rows import read_task
from rewardkit.analysis.statistics import Floats

HERE = Path(__file__).parent
PACES = {"1.5e-4": "gentle", "3e-4": "fast"}
LONG = 100
"""Characters above which a completion is longer than nearly all of the first ones."""
FAILS = 0.5
"""Part of what the task alone reaches under which a run fails."""
RESAMPLES = 2000
RUNS_DIFFER = 0.05
"""Between the ends of two runs that differ in their seed alone, about."""
NAMES = ["task", "difficulty", "reward", "pace"]
OTHERS = ("phantom", "against", "phi", "best_of")
LEVELS = {"info": 1, "warn": 2, "high": 3}
LOOKED_AT = {
    "predictions.csv": (
        r"sums-.*-(exact|partial|short|short_slightly|short_gated|short_outcome"
        r"|short_no_std|long|fillers|form_alone)-.*"
    ),
    "predictions_with_tricks.csv": (
        r".*-3e-4-0|sums-hard-.*-1.5e-4-0|sums-hard-short-.*|brackets-hard-exact-.*"
    ),
    "predictions_second.csv": "none",
    "predictions_by_step.csv": "none",
    "predictions_of_fifth.csv": r".*-short_much-.*|sums-hard-half_noisy-1.5e-4-0",
    "predictions_of_pairs.csv": "none",
    "predictions_of_sixth.csv": "none",
}
"""Predictions -> names of runs that had been looked at when they were made."""


@cache
def read_runs() -> pd.DataFrame:
    """Return a row a run: its setting, where it ends, and what it writes at the end."""
    rows: list[dict[str, object]] = []
    for path in sorted((HERE / "runs").glob("*.csv")):
        task, difficulty, reward, rest = path.stem.split("-", 3)
        rate, seed = rest.rsplit("-", 1)
        if rate not in PACES:
            continue
        steps = pd.read_csv(path)
        written = pd.read_parquet(path.with_suffix(".completions.parquet"))
        last = written[written["step"] == written["step"].max()]["completion"]
        rows.append(
            {
                "name": path.stem,
                "task": task,
                "difficulty": difficulty,
                "reward": reward,
                "pace": PACES[rate],
                "seed": int(seed),
                "ended": steps["score/exact"][-LAST_STEPS:].mean(),
                "form": last.map(form_of).mode()[0],
                "length": last.map(len).median(),
            }
        )
    return pd.DataFrame(rows)


def join(predictions: str) -> pd.DataFrame:
    """Return the runs that some predictions decide, with what was told of each."""
    runs = read_runs()
    sound = runs[runs["reward"] == "exact"]
    reached = sound.groupby(["task", "difficulty", "pace"])["ended"].mean()
    is_new = ~runs["name"].str.fullmatch(LOOKED_AT[predictions])
    table = runs[is_new].merge(pd.read_csv(HERE / predictions), on=NAMES)
    did, failed = [], []
    for run in table.itertuples():
        did.append(outlook_of(run.start, run.ended))
        sound_end = reached.get((run.task, run.difficulty, run.pace), np.nan)
        failed.append(run.ended < FAILS * sound_end if sound_end > 0 else np.nan)
    return table.assign(did=did, failed=failed)


def balanced_accuracy(told: pd.Series, did: pd.Series) -> float:
    """Return the mean over the outcomes that occur of the share told rightly."""
    return float(np.mean([(told[did == name] == name).mean() for name in did.unique()]))


def auc(figure: Floats, failed: Floats) -> float:
    """Return the chance that a run that failed has the higher figure, ties half."""
    above = figure[failed == 1][:, None] - figure[failed == 0][None]
    return float((np.sign(above) / 2 + 0.5).mean()) if above.size else float("nan")


def auc_with_interval(table: pd.DataFrame, name: str) -> str:
    """Return the AUC of a figure, with its 95 % interval over rewards of a task."""
    figure, failed = table[name].to_numpy(), table["failed"].to_numpy()
    units = [*table.groupby(["task", "reward"]).indices.values()]
    random = np.random.default_rng(0)
    values: list[float] = []
    for _ in range(RESAMPLES):
        drawn = random.integers(0, len(units), len(units))
        rows = np.concatenate([units[at] for at in drawn])
        values.append(auc(figure[rows], failed[rows]))
    low, high = np.nanquantile(values, (0.025, 0.975))
    return f"{auc(figure, failed):.2f} ({low:.2f} to {high:.2f})"


@cache
def beside(task: str, difficulty: str, reward: str) -> dict[str, float]:
    """Return other figures of the same first rollouts, high where failing is likely.

    How little the best of 8 gains; phi, the share of the squared advantage in groups
    where nothing is right; phi times how far that goes against the task; and how severe
    the finding on phantom signal is.
    """
    from predict import scored

    scores = scored(task, difficulty, reward)
    diagnosis = rk.diagnose(
        scores,
        label="right",
        training=SETTINGS.get(reward.removesuffix(CHANGED)),
    )
    (view,) = diagnosis.views
    severity = max((LEVELS[item.severity] for item in diagnosis["phantom"]), default=0)
    best = rk.forecast(scores, label="right").best_of[""]
    mass, total = view.phantom_mass(view.advantages)
    phi = float(mass.sum() / total.sum()) if total.sum() else 0.0
    right = read_task(view)
    varies = view.group_stats(right).live[view.groups]
    pay = np.where(varies, view.rewards - right, np.nan)
    correlation, _ = view.correlate(pay, np.where(varies, right, np.nan))
    against = -phi * np.nan_to_num(correlation)
    return {
        "best_of": best.before - best.after,
        "phi": phi,
        "against": against,
        "phantom": severity,
    }


def takes_over_rightly(row: pd.Series) -> bool:
    """Return whether the kind that was told is what a run writes at its end."""
    told = str(row["takes_over"])
    if row["form"] == "empty":
        return told.startswith("empty")
    if "longer" in told:
        return bool(row["length"] > LONG)
    named = set(re.findall(r"<\w+>", " ".join(re.findall("`([^`]*)`", told))))
    return named == set(re.findall(r"<\w+>", row["form"]))


def report(table: pd.DataFrame, show: Callable[[str], None] = print) -> None:
    """Print the rows and the figures of some runs."""
    columns = [*NAMES, "seed", "start", "outlook", "end", "fails", "did", "ended"]
    show(
        table.sort_values([*NAMES, "seed"])[columns].to_string(
            index=False, float_format="%.2f"
        )
    )
    told, did = table["outlook"], table["did"]
    always = balanced_accuracy(pd.Series("rises", index=did.index), did)
    show(f"\n{len(table)} runs: {did.value_counts().to_dict()}")
    accuracy = balanced_accuracy(told, did)
    show(f"outlook, balanced accuracy: {accuracy:.2f} (always rises: {always:.2f})")
    show(f"outlook told rightly: {(told == did).sum()} of {len(did)}")
    both = table.groupby(NAMES[:3]).agg(
        told=("outlook", lambda names: (names == "falls").all()),
        learns=("did", lambda names: (names == "rises").all()),
        paces=("pace", "nunique"),
    )
    wrong = both[both["told"] & both["learns"] & (both["paces"] == 2)]
    show(f"told to fall at both rates, and learns at both: {len(wrong)}")
    fell = table[(table["did"] == "falls") & table["takes_over"].notna()]
    if len(fell):
        named = int(fell.apply(takes_over_rightly, axis=1).sum())
        show(f"what takes over, named rightly where it fell: {named} of {len(fell)}")
    known = table[table["failed"].notna()].copy()
    others = {key: beside(*key) for key in set(map(tuple, known[NAMES[:3]].to_numpy()))}
    for name in OTHERS:
        known[name] = [others[tuple(key)][name] for key in known[NAMES[:3]].to_numpy()]
    for pace in ("gentle", "fast"):
        of_pace = known[known["pace"] == pace]
        failed = int(of_pace["failed"].sum())
        show(f"\nfailing at the {pace} rate, {failed} of {len(of_pace)}; AUC (95 %):")
        if 0 < failed < len(of_pace):
            for name in ("fragility", "fails", *OTHERS):
                show(f"  {name:10} {auc_with_interval(of_pace, name)}")


def report_suggestions(show: Callable[[str], None] = print) -> None:
    """Print where trainings end after the first suggested change, and without it.

    Both at the fast rate; `told` is what was said of the end before any of them.
    `offered` says whether `rk.suggest` still offers the change.
    """
    runs = read_runs().groupby(["task", "reward", "pace"])["ended"].mean()
    rows = []
    for change in read_suggestions().itertuples():
        after = runs.get((change.task, f"{change.reward}{CHANGED}", "fast"))
        if after is not None:
            before = runs[change.task, change.reward, "fast"]
            told = change.after
            row = (change.task, change.reward, change.code, change.verdict)
            rows.append((*row, change.offered, told, before, after))
    columns = ["task", "reward", "change", "verdict", "offered", "told", "before"]
    columns.append("after")
    table = pd.DataFrame(rows, columns=columns)
    show(table.to_string(index=False, float_format="%.2f", na_rep=""))
    is_better = table["verdict"] == "improves"
    parts = {"all": table, "said to improve": table[is_better]}
    parts["still offered"] = table[table["offered"]]
    for name, pairs in parts.items():
        lost = pairs["before"] - pairs["after"]
        show(
            f"{name}: {(lost <= 0).sum()} of {len(pairs)} end at least as high after "
            f"it, {(lost <= RUNS_DIFFER).sum()} at most {RUNS_DIFFER} below or higher"
        )


def main() -> None:
    """Print the table of runs, and its figures, by predictions; then suggestions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("predictions", nargs="*", default=list(LOOKED_AT))
    for name in parser.parse_args().predictions:
        table = join(name)
        print(f"\n{name}: {len(table)} runs were made after it")
        if len(table):
            report(table)
    print("\nThe first suggested change, trained:")
    report_suggestions()


if __name__ == "__main__":
    main()
