"""A step on the slow link: measured, predicted, and how much of the exchanges was hidden."""

import json
import statistics
import subprocess
import tempfile
from pathlib import Path

from daso_link import CLUSTER, CONTESTANTS, can_have_a_cluster, common, on_link
from workers import plait, print_table

NAMES = ("data_parallel", "daso, corrected")
# Differences of two lengths leave out what happens once: connecting, and averaging at the end.
SHORT, LONG = 8, 32
CYCLING = ["--warmup-epochs", "0", "--cooldown-epochs", "0"]


def flags_of(name):
    return CONTESTANTS[name] + (CYCLING if name.startswith("daso") else [])


def measured(options, rate, name):
    """Seconds of a step, and the longer run's answer."""
    runs = [on_link(options, rate, *common(options, 1), *flags_of(name), "--steps", steps, "--epochs", "100",
                    "--run-dir", "none", "--test-limit", "64") for steps in (SHORT, LONG)]
    seconds = [run["steps"] * options.batch / run["images_per_second"] for run in runs]
    return (seconds[1] - seconds[0]) / (LONG - SHORT), runs[1]


def link_rate(rate):
    """Mbit/s that TCP really gets."""
    up = [str(CLUSTER), "up", "--nodes", "2", "--rate", rate, "--name", "rate"]
    subprocess.run(up, check=True, capture_output=True)
    try:
        said = subprocess.run([str(CLUSTER), "rate", "--name", "rate"], text=True, capture_output=True, check=True)
        return float(said.stdout.split(" Mbit")[0].split()[-1])
    finally:
        subprocess.run([str(CLUSTER), "down", "--name", "rate"], check=True, capture_output=True)


def predicted(options, profile, mbit):
    flags = ["--profile", str(profile), "--batch", str(options.batch), "--nodes", "2", "--workers-per-node", "1",
             "--link-between-nodes", f"{mbit}Mbit/s,100us", "--json"]
    plans = json.loads(plait(options.build, "plan", *flags, "--strategies", "data_parallel,daso"))["plans"]
    return {name: next(p["step_seconds"] for p in plans if p["strategy"] == name.split(",")[0]) for name in NAMES}


def steps(options):
    print("## Steps\n")
    if not can_have_a_cluster():
        return []
    results = []
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile.json"
        for rate in options.rates:
            mbit = link_rate(rate)
            rounds = {name: [] for name in NAMES}
            guesses = {name: [] for name in NAMES}
            for _ in range(options.rounds):
                # Two profiles at once: both cores are busy then as well.
                take = [str(options.build / "plait"), "profile", "--model", options.model, "--batch",
                        str(options.batch // 2), "--threads", "1", "--json", "--out"]
                other = subprocess.Popen(take + [str(Path(folder) / "other.json")], stdout=subprocess.DEVNULL)
                subprocess.run(take + [str(profile)], check=True, stdout=subprocess.DEVNULL)
                other.wait()
                guess = predicted(options, profile, mbit)
                for name in NAMES:
                    rounds[name].append(measured(options, rate, name))
                    guesses[name].append(guess[name])
            for name in NAMES:
                results.append({"rate": rate, "mbit": mbit, "name": name,
                                "seconds": [seconds for seconds, _ in rounds[name]], "predicted": guesses[name],
                                "exchange_seconds": [run["exchange_seconds"] for _, run in rounds[name]],
                                "exchange_waited_seconds": [run["exchange_waited_seconds"] for _, run in rounds[name]],
                                "exchanges": rounds[name][-1][1]["exchanges"],
                                "utilisation": [run["utilisation"] for _, run in rounds[name]]})
    print(f"{options.model}, batch {options.batch}, 2 nodes of 1 worker of 1 thread, {options.rounds} rounds.\n")
    print_table(("link", "TCP gets Mbit/s", "who", "step / data_parallel's", "predicted / measured step",
                 "exchanges hidden", "computing"), rows(results))
    return results


def rows(results):
    for one in results:
        base = next(r for r in results if r["rate"] == one["rate"] and r["name"] == "data_parallel")
        ratios = [a / b for a, b in zip(one["seconds"], base["seconds"])]
        errors = [p / s for p, s in zip(one["predicted"], one["seconds"])]
        way = sum(one["exchange_seconds"])
        hidden = f"{100 * (1 - sum(one['exchange_waited_seconds']) / way):.0f} %" if way > 0 else ""
        yield (one["rate"], f"{one['mbit']:.1f}", one["name"], f"{statistics.median(ratios):.2f}",
               f"{statistics.median(errors):.2f} ({min(errors):.2f}..{max(errors):.2f})", hidden,
               f"{100 * statistics.median(one['utilisation']):.0f} %")
