"""Time to an accuracy on the slow link, bytes, and the accuracy at the end.

The first seed is trained on the link. The others are trained on threads: their bits are those of the link, and only the
accuracy at the end is asked of them.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

from daso_link import CONTESTANTS, can_have_a_cluster, common, on_link, on_threads
from workers import print_table


def epochs_of(folder):
    return [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]


def seconds_to(target, epochs):
    """Until the first epoch whose test accuracy reaches `target`; None if none does."""
    seconds = 0
    for epoch in epochs:
        seconds += epoch["seconds"]
        if 100 * epoch["test_accuracy"] >= target:
            return seconds
    return None


def less_time(target, one, base):
    mine, theirs = (seconds_to(target, run["epochs"]) for run in (one, base))
    return f"{100 * (1 - mine / theirs):.0f} %" if mine and theirs else "not reached"


def train(options, name, seed, rate):
    with tempfile.TemporaryDirectory() as folder:
        flags = [*common(options, seed), *CONTESTANTS[name], "--epochs", options.epochs, "--schedule", "cosine",
                 "--weight-decay", "5e-4", "--run-dir", Path(folder) / "run", "--keep-last", "1"]
        run = on_link(options, rate, *flags) if rate else on_threads(options, *flags)
        epochs = epochs_of(Path(folder) / "run")
    result = {"name": name, "seed": seed, "rate": rate, "accuracy": 100 * run["test_accuracy"],
              "seconds": sum(epoch["seconds"] for epoch in epochs), "bytes": run["bytes_sent"],
              "hash": run["weights_hash"], "epochs": epochs,
              "exchange_seconds": run["exchange_seconds"], "exchange_waited_seconds": run["exchange_waited_seconds"]}
    print(json.dumps(result), file=sys.stderr)
    return result


def rows(options, results):
    def find(**wanted):
        return [r for r in results if all(r[key] == value for key, value in wanted.items())]

    def accuracy(name):
        return [find(name=name, seed=seed)[0]["accuracy"] for seed in options.seeds]

    base_accuracy = statistics.mean(accuracy("data_parallel"))
    for rate in options.rates:
        base = find(rate=rate, name="data_parallel")[0]
        for name in options.who:
            one = find(rate=rate, name=name)[0]
            mean = statistics.mean(accuracy(name))
            yield (rate, name, *(less_time(target, one, base) for target in options.targets),
                   f"{100 * (1 - one['seconds'] / base['seconds']):.0f} %", f"{one['bytes'] / base['bytes']:.2f}",
                   " ".join(f"{a:.1f}" for a in accuracy(name)), f"{mean:.1f}", f"{mean - base_accuracy:+.1f}")


def accuracy(options):
    print("## Accuracy\n")
    if not can_have_a_cluster():
        return []
    first, *others = options.seeds
    results = []
    for rate in options.rates:
        for name in options.who:
            results.append(train(options, name, first, rate))
    for seed in others:
        for name in options.who:
            results.append(train(options, name, seed, None))
    for name in options.who:
        hashes = {r["hash"] for r in results if r["name"] == name and r["seed"] == first}
        assert len(hashes) == 1, f"{name}: other bits at another rate: {hashes}"
    print(f"{options.model}, batch {options.batch}, {options.epochs} epochs, 2 nodes of 1 worker of 1 thread.\n")
    print_table(("link", "who", *(f"less time to {target:g} %" for target in options.targets), "to the end",
                 "bytes / data_parallel's",
                 f"accuracy at the end, seeds {' '.join(map(str, options.seeds))}", "mean", "- data_parallel"),
                rows(options, results))
    return results
