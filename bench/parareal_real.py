"""Torn networks on two workers with one thread each, beside one worker and beside what the machine has at most."""

import json
import statistics
import sys

from workers import (PROGRAM, Worker, percent, plait, print_table, ratio, spread, step_seconds_of, usable_cores)

WORKERS = 2
SHAPE = "3x32x32"
# name -> strategy, microbatches
SHARED = {"parareal": ("parareal", 1), "parareal in 4": ("parareal", 4), "data_parallel": ("data_parallel", 1)}
HEADINGS = ("network", "batch", "who", "ms", "images/s", "/ one", "of ceiling", "predicted / one", "error")


class Contestants:
    """The processes of one network. One alone is the first of the two that know nothing of each other."""

    def __init__(self, model, batch, profile, build):
        cores = usable_cores()[:WORKERS]
        command = [str(build / "bench" / "step_worker"), model, SHAPE, str(batch), "1"]
        self.beside = [Worker([*command, "1", "serial"], [core], 1) for core in cores]
        self.shared = {name: Worker([*command, str(WORKERS), strategy, str(count), "sync", str(profile)], cores, 1)
                       for name, (strategy, count) in SHARED.items()}
        self.names = ["one", "ceiling", *self.shared]

    def workers_of(self, name):
        return {"one": self.beside[:1], "ceiling": self.beside}.get(name) or [self.shared[name]]

    def step_seconds(self, name, steps):
        return statistics.harmonic_mean(step_seconds_of(self.workers_of(name), steps))

    def close(self):
        for worker in [*self.beside, *self.shared.values()]:
            worker.close()


def measure_profile(model, batch, options):
    path = options.out.parent / f"{model}_{batch}_torn_profile.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    print(f"{PROGRAM}: {model}: profile", file=sys.stderr)
    plait(options.build, "profile", "--model", model, "--data-shape", SHAPE, "--batch", str(batch), "--threads", "1",
          "--pieces", str(WORKERS), "--steps", str(options.profile_steps), "--out", str(path))
    return path


def predict(name, batch, profile, options):
    strategy, count = SHARED.get(name, ("serial", 1))
    answer = json.loads(plait(options.build, "plan", "--profile", str(profile), "--batch", str(batch), "--workers",
                              str(WORKERS if name in SHARED else 1), "--strategies", strategy, "--microbatches",
                              str(count), "--json"))
    return answer["plans"][0]["step_seconds"]


def measure(model, batch, options):
    profile = measure_profile(model, batch, options)
    contestants = Contestants(model, batch, profile, options.build)
    for name in contestants.names:
        contestants.step_seconds(name, 2)  # primitives, allocators, clocks
    rounds = []
    for number in range(options.rounds):
        print(f"{PROGRAM}: {model}: round {number + 1} of {options.rounds}", file=sys.stderr)
        names = contestants.names if number % 2 == 0 else contestants.names[::-1]
        rounds.append({name: contestants.step_seconds(name, options.steps) for name in names})
    contestants.close()
    predicted = {name: predict(name, batch, profile, options) for name in contestants.names if name != "ceiling"}
    return {"model": model, "batch": batch, "rounds": rounds, "predicted": predicted}


def speed(seconds, name, batch):
    return (WORKERS if name == "ceiling" else 1) * batch / seconds[name]


def rows(result):
    batch, rounds = result["batch"], result["rounds"]
    for name in rounds[0]:
        median = statistics.median(r[name] for r in rounds)
        over_one = spread([speed(r, name, batch) / speed(r, "one", batch) for r in rounds])
        predicted = result["predicted"]["one"] / result["predicted"][name] if name in SHARED else None
        yield (result["model"], batch, name, f"{1e3 * median:.1f}",
               f"{statistics.median(speed(r, name, batch) for r in rounds):.0f}",
               ratio(over_one),
               percent(spread([speed(r, name, batch) / speed(r, 'ceiling', batch) for r in rounds])),
               f"{predicted:.2f}" if predicted else "",
               f"{100 * (predicted / over_one['median'] - 1):+.1f} %" if predicted else "")


def real(options):
    """Measures; prints one table."""
    print("## Real\n")
    if len(usable_cores()) < WORKERS:
        print(f"Skipped: {WORKERS} workers need a core each; here is {len(usable_cores())}.\n")
        return []
    results = [measure(model, batch, options) for model, batch in options.real]
    print(f"{WORKERS} workers of 1 thread, measured. ceiling: {WORKERS} workers that know nothing of each other, the "
          "whole batch each. Predicted from a profile of the torn network measured just before.\n")
    print_table(HEADINGS, (row for r in results for row in rows(r)))
    return results
