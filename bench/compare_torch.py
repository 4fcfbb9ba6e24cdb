#!/usr/bin/python3
"""Training steps of plait and of PyTorch, side by side on this machine.

One process each: plait, PyTorch with contiguous and with channels_last tensors, and these two again with
the BLAS that Debian's python3-torch brings along. They take turns, round by round, so that a slow minute
of the machine hits all of them; only one computes at a time. Prints a
Markdown table and writes everything measured to build/bench/torch.json. bench/README.md says more.
"""

import argparse
import glob
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FORMATS = ("contiguous", "channels_last")
PEERS = FORMATS  # with OpenBLAS
DEFAULT_BLAS = tuple(f"{name}, default BLAS" for name in FORMATS)
# model -> sample shape, batch
CASES = {"vgg16": ("3x32x32", 64), "resnet164": ("3x32x32", 32), "lenet": ("1x28x28", 64)}


class Worker:
    """A process that runs training steps when told to; see bench/step_worker.cpp for the protocol."""

    def __init__(self, command, threads, **variables):
        cores = sorted(os.sched_getaffinity(0))[:threads]
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads),
                           **variables)
        self.command = command
        self.process = subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE,
                                        preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.peak_bytes = 0
        self.hello = self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"compare_torch: {' '.join(self.command)} ended early (exit {self.process.wait()})")
        return json.loads(line)

    def ask(self, order):
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        return self._answer()

    def step_seconds(self, steps):
        """The median step of `steps`."""
        answer = self.ask(f"go {steps}")
        self.peak_bytes = answer["peak_bytes"]
        if not math.isfinite(answer["loss"]):
            sys.exit(f"compare_torch: {' '.join(self.command)} diverged (loss {answer['loss']})")
        return statistics.median(answer["seconds"])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def start(model, threads, build):
    shape, batch = CASES[model]
    arguments = [model, shape, str(batch), str(threads)]
    torch_worker = ["/usr/bin/python3", str(HERE / "peers" / "torch_worker.py")]
    workers = {"plait": Worker([str(build / "bench" / "step_worker"), *arguments], threads)}
    for memory_format, with_default in zip(FORMATS, DEFAULT_BLAS):
        command = [*torch_worker, *arguments, memory_format]
        workers[memory_format] = Worker(command, threads)
        if reference := glob.glob("/usr/lib/*/blas/libblas.so.3"):
            workers[with_default] = Worker(command, threads, LD_LIBRARY_PATH=os.path.dirname(reference[0]))
    counts = {name: worker.hello["parameters"] for name, worker in workers.items()}
    if len(set(counts.values())) != 1:
        sys.exit(f"compare_torch: {model} is not the same network everywhere; parameters: {counts}")
    return workers


def measure(model, threads, options):
    workers = start(model, threads, options.build)
    plait = workers["plait"]
    gemm = [plait.ask("gemm")["gemm_gflops"]]
    # Warm-up: primitives, allocators, clocks. Its median step says how many steps fill a round.
    slowest = max([worker.step_seconds(3) for worker in workers.values()])
    steps = max(1, min(500, round(options.round_seconds / slowest)))
    rounds = []
    for _ in range(options.rounds):
        rounds.append({name: worker.step_seconds(steps) for name, worker in workers.items()})
        gemm.append(plait.ask("gemm")["gemm_gflops"])
    for worker in workers.values():
        worker.close()

    median = {name: statistics.median(r[name] for r in rounds) for name in workers}
    better = min(PEERS, key=median.get)
    ratios = [r[better] / r["plait"] for r in rounds]
    default = min((median[name] for name in DEFAULT_BLAS if name in median), default=math.nan)
    gemm_peak = max(gemm)
    return {
        "model": model, "batch": CASES[model][1], "threads": threads,
        "parameters": plait.hello["parameters"], "rounds": rounds, "steps_per_round": steps,
        "median_ms": {name: 1e3 * seconds for name, seconds in median.items()}, "better_peer": better,
        "ratio": median[better] / median["plait"], "ratio_min": min(ratios), "ratio_max": max(ratios),
        "ratio_default_blas": default / median["plait"],
        "peak_bytes": {name: worker.peak_bytes for name, worker in workers.items()},
        "idle_bytes": {name: worker.hello["idle_bytes"] for name, worker in workers.items()},
        "memory_ratio": min(workers[peer].peak_bytes for peer in PEERS) / plait.peak_bytes,
        "gemm_gflops": gemm_peak, "gemm_gflops_all": gemm,
        "gemm_share": plait.hello["step_flops"] / median["plait"] / 1e9 / gemm_peak,
        "torch": {key: workers["contiguous"].hello[key] for key in ("version", "onednn")},
    }


HEADINGS = ("model", "batch", "threads", "plait ms", "PyTorch ms", "format", "ratio", "min..max",
            "ratio, default BLAS", "peak MB", "PyTorch MB", "memory ratio", "GEMM GFLOP/s", "share")


def row(r):
    ms, megabytes = r["median_ms"], {name: b / 1e6 for name, b in r["peak_bytes"].items()}
    return (r["model"], r["batch"], r["threads"], f"{ms['plait']:.1f}", f"{ms[r['better_peer']]:.1f}",
            r["better_peer"], f"{r['ratio']:.2f}", f"{r['ratio_min']:.2f}..{r['ratio_max']:.2f}",
            f"{r['ratio_default_blas']:.2f}",
            f"{megabytes['plait']:.0f}", f"{min(megabytes[p] for p in PEERS):.0f}",
            f"{r['memory_ratio']:.2f}", f"{r['gemm_gflops']:.0f}", f"{100 * r['gemm_share']:.0f} %")


def line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def main():
    root = HERE.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=root / "build" / "release", help="where plait was built")
    parser.add_argument("--models", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7, help="measured rounds (7)")
    parser.add_argument("--round-seconds", type=float, default=1.5, help="of the slowest worker (1.5)")
    parser.add_argument("--out", type=Path, default=root / "build" / "bench" / "torch.json")
    options = parser.parse_args()

    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if load > 0.5:
        print(f"compare_torch: the machine is busy (load {load:.1f} on {cores} cores); "
              "times will be too long and ratios uncertain", file=sys.stderr)
    results = []
    print(line(HEADINGS))
    print(line(["---"] * len(HEADINGS)), flush=True)
    for model in options.models:
        for threads in options.threads:
            if threads > cores:
                print(f"compare_torch: {model} with {threads} threads skipped: {cores} cores", file=sys.stderr)
                continue
            results.append(measure(model, threads, options))
            print(line(row(results[-1])), flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"load_before": load, "cores": cores, "results": results}, indent=1))
    print(f"compare_torch: all rounds are in {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
