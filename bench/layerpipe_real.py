"""Pipelines of two workers with one thread each, beside one worker and beside what the machine has at most."""

import json
import statistics
import sys

from workers import (PROGRAM, Worker, check_same_network, percent, plait, print_table, ratio, spread,
                     step_seconds_of, usable_cores)

WORKERS = 2
MICROBATCHES = 8
SHAPE = "3x32x32"
# name -> strategy, microbatches, mode
PIPELINES = {
    "layerpipe async": ("layerpipe", 1, "async"),
    "layerpipe async in 2": ("layerpipe", 2, "async"),
    "layerpipe sync": ("layerpipe", MICROBATCHES, "sync"),
    "layerpipe-replicated": ("layerpipe-replicated", MICROBATCHES, "sync"),
    "data_parallel": ("data_parallel", 1, "sync"),
    "pipedream": ("pipedream", 1, "sync"),
    "pipedream-replicated": ("pipedream-replicated", 2, "sync"),
    "gpipe": ("gpipe", MICROBATCHES, "sync"),
    "zb-h1": ("zb-h1", MICROBATCHES, "sync"),
}
# Workers that know nothing of each other, with the whole batch each. name -> workers, microbatches
INDEPENDENT = {
    "one": (1, 1), "ceiling": (WORKERS, 1),
    f"one in {MICROBATCHES}": (1, MICROBATCHES), f"ceiling in {MICROBATCHES}": (WORKERS, MICROBATCHES),
}


def microbatches_of(name):
    return INDEPENDENT[name][1] if name in INDEPENDENT else PIPELINES[name][1]


class Contestants:
    """The processes of one network. One alone is the first of those beside each other, while the second rests."""

    def __init__(self, model, batch, profile, build):
        cores = usable_cores()[:WORKERS]
        command = [str(build / "bench" / "step_worker"), model, SHAPE, str(batch), "1"]
        self.beside = {count: [Worker([*command, "1", "serial", str(count)], [core], 1) for core in cores]
                       for count in (1, MICROBATCHES)}
        self.pipelines = {
            name: Worker([*command, str(WORKERS), strategy, str(count), mode, str(profile)], cores, 1)
            for name, (strategy, count, mode) in PIPELINES.items()}
        check_same_network(model, {"one": self.beside[1][0], **self.pipelines})
        self.names = [*INDEPENDENT, *PIPELINES]

    def workers_of(self, name):
        if name in self.pipelines:
            return [self.pipelines[name]]
        count, microbatches = INDEPENDENT[name]
        return self.beside[microbatches][:count]

    def step_seconds(self, name, steps):
        """The mean step: a pipeline's steps need not be alike. Of two side by side: as their speeds add up."""
        return statistics.harmonic_mean(step_seconds_of(self.workers_of(name), steps, statistics.mean))

    def peak_bytes(self):
        return {name: sum(worker.peak_bytes for worker in self.workers_of(name)) for name in self.names}

    def close(self):
        for worker in [*self.beside[1], *self.beside[MICROBATCHES], *self.pipelines.values()]:
            worker.close()


def measure_profile(model, batch, options):
    """Its points are the batch and its halves down to an eighth, the size of a microbatch."""
    path = options.out.parent / f"{model}_{batch}_pipeline_profile.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    print(f"{PROGRAM}: {model}: profile", file=sys.stderr)
    plait(options.build, "profile", "--model", model, "--data-shape", SHAPE, "--batch", str(batch), "--threads", "1",
          "--out", str(path))
    return path


def plan(name, batch, profile, options):
    """What plait plan says of a contestant that is alone or a pipeline."""
    workers = INDEPENDENT[name][0] if name in INDEPENDENT else WORKERS
    strategy, microbatches, mode = PIPELINES.get(name, ("serial", microbatches_of(name), "sync"))
    answer = json.loads(plait(options.build, "plan", "--profile", str(profile), "--batch", str(batch), "--workers",
                              str(workers), "--strategies", strategy, "--microbatches", str(microbatches),
                              "--pipeline", mode, "--json"))
    return answer["plans"][0]


def predict(contestants, batch, profile, options):
    """By contestant. Says so when a process plays another plan than the one predicted."""
    predicted = {}
    for name in contestants.names:
        if name in INDEPENDENT and INDEPENDENT[name][0] > 1:
            continue
        predicted[name] = plan(name, batch, profile, options)
        hello = contestants.workers_of(name)[0].hello
        if (hello["bytes_per_step"], hello["staleness"]) != (predicted[name]["bytes_per_step"],
                                                             predicted[name]["staleness_max"]):
            sys.exit(f"{PROGRAM}: {name}: step_worker plays another plan than plait plan predicts: {hello} "
                     f"is not {predicted[name]}")
    return predicted


def images_per_second(name, seconds, batch):
    return INDEPENDENT.get(name, (1, 1))[0] * batch / seconds


def compare(names, rounds, batch):
    """Throughput by contestant, absolute and as ratios, each within its own round."""
    speeds = [{name: images_per_second(name, r[name], batch) for name in names} for r in rounds]

    def over(name, other):
        return spread([s[name] / s[other] for s in speeds])
    return {name: {"seconds": spread([r[name] for r in rounds]), "images_per_second": spread([s[name] for s in speeds]),
                   "over_one": over(name, "one"), "of_ceiling": over(name, "ceiling"),
                   "of_ceiling_in_microbatches": over(name, f"ceiling in {MICROBATCHES}")} for name in names}


def measure(model, batch, options):
    profile = measure_profile(model, batch, options)
    contestants = Contestants(model, batch, profile, options.build)
    predicted = predict(contestants, batch, profile, options)
    for name in contestants.names:
        contestants.step_seconds(name, 2)  # primitives, allocators, clocks
    rounds = []
    for number in range(options.rounds):
        print(f"{PROGRAM}: {model}: round {number + 1} of {options.rounds}", file=sys.stderr)
        # To and fro: who comes later in a round that gets slower comes earlier in the next.
        names = contestants.names if number % 2 == 0 else contestants.names[::-1]
        rounds.append({name: contestants.step_seconds(name, options.steps) for name in names})
    peak_bytes = contestants.peak_bytes()
    contestants.close()
    return {"model": model, "batch": batch, "workers": WORKERS, "steps_per_round": options.steps, "rounds": rounds,
            "speed": compare(contestants.names, rounds, batch), "plans": predicted, "peak_bytes": peak_bytes}


SPEED_HEADINGS = ("network", "batch", "who", "microbatches", "ms", "images/s", "/ one", "of ceiling",
                  f"of ceiling in {MICROBATCHES}", "staleness", "sends MB", "peak MB")
PREDICTION_HEADINGS = ("network", "batch", "plan", "microbatches", "workers", "predicted ms", "measured ms", "min..max",
                       "error")


def speed_rows(r):
    for name, speed in r["speed"].items():
        microbatches, known = microbatches_of(name), r["plans"].get(name)
        fairer = percent(speed["of_ceiling_in_microbatches"]) if microbatches == MICROBATCHES else ""
        yield (r["model"], r["batch"], name, microbatches, f"{1e3 * speed['seconds']['median']:.1f}",
               f"{speed['images_per_second']['median']:.0f}", ratio(speed["over_one"]), percent(speed["of_ceiling"]),
               fairer, known["staleness_max"] if known else 0,
               f"{(known['bytes_per_step'] if known else 0) / 1e6:.1f}", f"{r['peak_bytes'][name] / 1e6:.0f}")


def prediction_rows(r):
    for name, known in r["plans"].items():
        measured = {key: 1e3 * seconds for key, seconds in r["speed"][name]["seconds"].items()}
        predicted = 1e3 * known["step_seconds"]
        yield (r["model"], r["batch"], name, microbatches_of(name), known["workers"], f"{predicted:.1f}",
               f"{measured['median']:.1f}", f"{measured['min']:.1f}..{measured['max']:.1f}",
               f"{100 * (predicted / measured['median'] - 1):+.1f} %")


def real(options):
    """Measures; prints two tables."""
    print("## Real\n")
    cores = len(usable_cores())
    if cores < WORKERS:
        print(f"Skipped: {WORKERS} workers need a core each; here is {cores}.\n")
        return []
    results = [measure(model, batch, options) for model, batch in options.real]
    print(f"{WORKERS} workers of 1 thread, measured. ceiling: {WORKERS} workers that know nothing of each other, the "
          f"whole batch each; in {MICROBATCHES}: the same, computing microbatch by microbatch.\n")
    print_table(SPEED_HEADINGS, (row for r in results for row in speed_rows(r)))
    print("The step that plait plan predicts from a profile measured just before.\n")
    print_table(PREDICTION_HEADINGS, (row for r in results for row in prediction_rows(r)))
    return results
