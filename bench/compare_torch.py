#!/usr/bin/python3
"""Training steps of plait and of PyTorch, side by side on this machine.

One process each: plait, PyTorch with contiguous and with channels_last tensors, and these two again with
the BLAS that Debian's python3-torch brings along. They take turns, round by round, so that a slow minute
of the machine hits all of them; only one computes at a time. Prints a
Markdown table and writes everything measured to build/bench/torch.json. bench/README.md says more.
"""

import argparse
import glob
import math
import os
import statistics
import sys
from pathlib import Path

from workers import (FORMATS, HERE, ROOT, Worker, check_same_network, line, load_before, print_headings,
                     usable_cores, write_results)

PEERS = FORMATS  # with OpenBLAS
DEFAULT_BLAS = tuple(f"{name}, default BLAS" for name in FORMATS)
# model -> sample shape, batch
CASES = {"vgg16": ("3x32x32", 64), "resnet164": ("3x32x32", 32), "lenet": ("1x28x28", 64)}


def start(model, threads, build):
    shape, batch = CASES[model]
    arguments = [model, shape, str(batch), str(threads)]
    cores = usable_cores()[:threads]
    torch_worker = ["/usr/bin/python3", str(HERE / "peers" / "torch_worker.py")]
    workers = {"plait": Worker([str(build / "bench" / "step_worker"), *arguments], cores, threads)}
    for memory_format, with_default in zip(FORMATS, DEFAULT_BLAS):
        command = [*torch_worker, *arguments, memory_format]
        workers[memory_format] = Worker(command, cores, threads)
        if reference := glob.glob("/usr/lib/*/blas/libblas.so.3"):
            workers[with_default] = Worker(command, cores, threads,
                                           LD_LIBRARY_PATH=os.path.dirname(reference[0]))
    check_same_network(model, workers)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="where plait was built")
    parser.add_argument("--models", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7, help="measured rounds (7)")
    parser.add_argument("--round-seconds", type=float, default=1.5, help="of the slowest worker (1.5)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "torch.json")
    options = parser.parse_args()

    load, cores = load_before(), len(usable_cores())
    results = []
    print_headings(HEADINGS)
    for model in options.models:
        for threads in options.threads:
            if threads > cores:
                print(f"compare_torch: {model} with {threads} threads skipped: {cores} cores", file=sys.stderr)
                continue
            results.append(measure(model, threads, options))
            print(line(row(results[-1])), flush=True)
    write_results(options.out, {"load_before": load, "cores": cores, "results": results})


if __name__ == "__main__":
    main()
