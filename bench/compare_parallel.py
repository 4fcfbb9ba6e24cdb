#!/usr/bin/python3
"""Two workers on two cores: plait beside the machine's ceiling, beside PyTorch DDP, and beside its own prediction.

All processes of a network are started once and take turns, round by round, so that a slow minute of the
machine hits all of them; only one contestant computes at a time. In the middle of the rounds the network is
profiled, and plait plan predicts the steps that the rounds measure. Prints Markdown tables and writes
everything measured to build/bench/parallel.json. bench/README.md says more.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

from workers import (FORMATS, HERE, PROGRAM, ROOT, Worker, check_same_network, line, load_before, percent, plait,
                     print_headings, ratio, spread, step_seconds_of, usable_cores, write_results)

WORKERS = 2
# model -> sample shape, batch of all workers together
CASES = {"vgg16": ("3x32x32", 128), "resnet164": ("3x32x32", 64)}


class Contestants:
    """The processes of one network. `one` is the first of the `beside`, while the second rests."""

    def __init__(self, model, build):
        shape, batch = CASES[model]
        cores = usable_cores()[:WORKERS]
        plait = [str(build / "bench" / "step_worker"), model, shape]
        ddp = ["/usr/bin/python3", str(HERE / "peers" / "torch_ddp_worker.py"), model, shape]
        share = str(batch // WORKERS)
        self.beside = [Worker([*plait, share, "1"], [core], 1) for core in cores]
        self.workers = {
            "serial": Worker([*plait, str(batch), "1"], cores[:1], 1),
            "plait": Worker([*plait, str(batch), "1", str(WORKERS)], cores, 1),
            **{name: Worker([*ddp, str(batch), str(WORKERS), name], cores, 1) for name in FORMATS},
        }
        check_same_network(model, {"one": self.beside[0], **self.workers})
        self.names = ["one", "ceiling", *self.workers]

    def step_seconds(self, name, steps):
        """The median step; for the ceiling, the mean of both processes' medians."""
        if name == "one":
            return self.beside[0].step_seconds(steps)
        if name == "ceiling":
            return statistics.mean(step_seconds_of(self.beside, steps))
        return self.workers[name].step_seconds(steps)

    def close(self):
        for worker in [*self.beside, *self.workers.values()]:
            worker.close()


def predict(model, options):
    """What plait plan says after plait profile has looked at the machine: seconds of a step by strategy."""
    shape, batch = CASES[model]
    profile = options.out.parent / f"{model}_profile.json"
    profile.parent.mkdir(parents=True, exist_ok=True)
    network = ("--model", model, "--data-shape", shape, "--batch", str(batch))
    plait(options.build, "profile", *network, "--threads", "1", "--out", str(profile))
    answer = json.loads(plait(options.build, "plan", *network, "--workers", f"1,{WORKERS}",
                              "--strategies", "serial,data_parallel", "--profile", str(profile), "--json"))
    steps = {(plan["strategy"], plan["workers"]): plan["step_seconds"] for plan in answer["plans"]}
    return {"serial": steps["serial", 1], "data_parallel": steps["data_parallel", WORKERS]}


def compare(rounds):
    """Ratios of throughput, each within its own round."""
    better = min(FORMATS, key=lambda name: statistics.median(r[name] for r in rounds))
    return {
        "better_peer": better,
        "ceiling_over_one": spread([WORKERS * r["one"] / r["ceiling"] for r in rounds]),
        "plait_over_one": spread([WORKERS * r["one"] / r["plait"] for r in rounds]),
        "plait_of_ceiling": spread([r["ceiling"] / r["plait"] for r in rounds]),
        "plait_over_ddp": spread([r[better] / r["plait"] for r in rounds]),
    }


def against_prediction(predicted, rounds):
    """Of serial and data_parallel: predicted and measured seconds, error as a share of the measured."""
    result = {}
    for strategy, name in (("serial", "serial"), ("data_parallel", "plait")):
        measured = spread([r[name] for r in rounds])
        result[strategy] = {"predicted": predicted[strategy], "measured": measured,
                            "error": predicted[strategy] / measured["median"] - 1}
    return result


def measure(model, options):
    contestants = Contestants(model, options.build)
    for name in contestants.names:
        contestants.step_seconds(name, 2)  # primitives, allocators, clocks
    rounds, predicted = [], None
    for number in range(options.rounds):
        if number == options.rounds // 2:
            print(f"{PROGRAM}: {model}: profile", file=sys.stderr)
            predicted = predict(model, options)
        print(f"{PROGRAM}: {model}: round {number + 1} of {options.rounds}", file=sys.stderr)
        # To and fro: who comes later in a round that gets slower comes earlier in the next.
        names = contestants.names if number % 2 == 0 else contestants.names[::-1]
        rounds.append({name: contestants.step_seconds(name, options.steps) for name in names})
    contestants.close()
    workers = contestants.workers
    return {
        "model": model, "batch": CASES[model][1], "workers": WORKERS, "steps_per_round": options.steps,
        "rounds": rounds,
        "median_ms": {name: 1e3 * statistics.median(r[name] for r in rounds) for name in contestants.names},
        **compare(rounds), "prediction": against_prediction(predicted, rounds),
        "peak_bytes": {name: worker.peak_bytes for name, worker in workers.items()},
        "torch": {key: workers["contiguous"].hello[key] for key in ("version", "onednn")},
    }


SPEED_HEADINGS = ("model", "batch", "one ms", "ceiling ms", "plait ms", "DDP ms", "format", "ceiling / one",
                  "plait / one", "plait of ceiling", "plait / DDP", "peak MB", "DDP MB")
PREDICTION_HEADINGS = ("model", "batch", "plan", "workers", "predicted ms", "measured ms", "min..max", "error")


def speed_row(r):
    ms, better = r["median_ms"], r["better_peer"]
    megabytes = {name: b / 1e6 for name, b in r["peak_bytes"].items()}
    return (r["model"], r["batch"], *(f"{ms[name]:.1f}" for name in ("one", "ceiling", "plait", better)), better,
            ratio(r["ceiling_over_one"]), ratio(r["plait_over_one"]), percent(r["plait_of_ceiling"]),
            ratio(r["plait_over_ddp"]), f"{megabytes['plait']:.0f}",
            f"{min(megabytes[name] for name in FORMATS):.0f}")


def prediction_rows(r):
    for strategy, p in r["prediction"].items():
        measured = {key: f"{1e3 * seconds:.1f}" for key, seconds in p["measured"].items()}
        yield (r["model"], r["batch"], strategy, 1 if strategy == "serial" else WORKERS,
               f"{1e3 * p['predicted']:.1f}", measured["median"], f"{measured['min']}..{measured['max']}",
               f"{100 * p['error']:+.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="where plait was built")
    parser.add_argument("--models", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--rounds", type=int, default=7, help="measured rounds (7)")
    parser.add_argument("--steps", type=int, default=5, help="of each contestant in a round (5)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "parallel.json")
    options = parser.parse_args()
    if options.rounds < 1 or options.steps < 1:
        parser.error("--rounds and --steps are at least 1")
    cores = len(usable_cores())
    if cores < WORKERS:
        sys.exit(f"{PROGRAM}: {WORKERS} workers need a core each; here is {cores}")

    load = load_before()
    results = [measure(model, options) for model in options.models]
    print_headings(SPEED_HEADINGS)
    for result in results:
        print(line(speed_row(result)))
    print()
    print_headings(PREDICTION_HEADINGS)
    for result in results:
        for cells in prediction_rows(result):
            print(line(cells))
    sys.stdout.flush()
    write_results(options.out, {"load_before": load, "cores": cores, "results": results})


if __name__ == "__main__":
    main()
