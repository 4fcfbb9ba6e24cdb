"""What the comparisons share: processes that run training steps when told to, cores, Markdown tables."""

import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FORMATS = ("contiguous", "channels_last")
PROGRAM = Path(sys.argv[0]).stem


def usable_cores():
    """One processor of every core that this process may use, ascending."""
    cores, seen = [], set()
    for processor in sorted(os.sched_getaffinity(0)):
        siblings = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
        core = siblings.read_text() if siblings.exists() else processor
        if core not in seen:
            seen.add(core)
            cores.append(processor)
    return cores


class Worker:
    """A process on `cores` with `threads` OpenMP threads; see bench/step_worker.cpp for the protocol."""

    def __init__(self, command, cores, threads, **variables):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads),
                           **variables)
        self.command = command
        self.process = subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE,
                                        preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.peak_bytes = 0
        self.hello = self.answer()

    def tell(self, order):
        try:
            self.process.stdin.write(order + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # answer() says that it ended

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{PROGRAM}: {' '.join(self.command)} ended early (exit {self.process.wait()})")
        return json.loads(line)

    def ask(self, order):
        self.tell(order)
        return self.answer()

    def step_seconds(self, steps, average=statistics.median):
        """The average step of `steps`."""
        return step_seconds_of([self], steps, average)[0]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def step_seconds_of(workers, steps, average=statistics.median):
    """The average step of each, all computing at the same time."""
    for worker in workers:
        worker.tell(f"go {steps}")
    averages = []
    for worker in workers:
        answer = worker.answer()
        worker.peak_bytes = answer["peak_bytes"]
        if not math.isfinite(answer["loss"]):
            sys.exit(f"{PROGRAM}: {' '.join(worker.command)} diverged (loss {answer['loss']})")
        averages.append(average(answer["seconds"]))
    return averages


def check_same_network(model, workers):
    """`workers` by name."""
    counts = {name: worker.hello["parameters"] for name, worker in workers.items()}
    if len(set(counts.values())) != 1:
        sys.exit(f"{PROGRAM}: {model} is not the same network everywhere; parameters: {counts}")


def plait(build, *arguments):
    """What the plait program of `build` prints."""
    done = subprocess.run([str(build / "plait"), *arguments], text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{PROGRAM}: plait {' '.join(arguments)} failed: {done.stderr.strip()}")
    return done.stdout


def load_before():
    """The machine's load, with a warning where it is not quiet."""
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"{PROGRAM}: the machine is busy (load {load:.1f} on {len(usable_cores())} cores); "
              "times will be too long and ratios uncertain", file=sys.stderr)
    return load


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def ratio(r):
    return f"{r['median']:.2f} ({r['min']:.2f}..{r['max']:.2f})"


def percent(r):
    return f"{100 * r['median']:.0f} % ({100 * r['min']:.0f}..{100 * r['max']:.0f})"


def line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def print_headings(headings):
    print(line(headings))
    print(line(["---"] * len(headings)), flush=True)


def print_table(headings, rows):
    print_headings(headings)
    for cells in rows:
        print(line(cells))
    print(flush=True)


def write_results(path, results):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1))
    print(f"{PROGRAM}: everything is in {path}", file=sys.stderr)
