#!/usr/bin/python3
"""bench_small_test.py BUILD: every benchmark of ./run bench runs to its end, as small as it can be.

What it prints means nothing here, but there must be a table. A benchmark whose peer is not installed is named and left out.
"""
import importlib.util
import os
import subprocess
import sys
import tempfile
import time

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
ONCE = ["--rounds", "1", "--steps", "1"]
# script, flags, Python modules of the peer
BENCHMARKS = [
    ("layerpipe", ["--no-ablation", "--no-real"], []),
    ("layerpipe", ["--no-figures", "--no-real", "--costs", "MACs", "systolic", "--models", "vgg11", "--workers", "2", "--links", "free"], []),
    ("layerpipe", ["--no-figures", "--no-ablation", "--real", "resnet20:8", "--profile-steps", "1", *ONCE], []),
    ("parareal", ["--parts", "real", "--real", "resnet20:4", "--profile-steps", "1", *ONCE], []),
    ("parareal", ["--parts", "virtual", "memory", "--deep", "resnet20", "--deep-batch", "8", "--memory-batch", "8",
                  "--pieces", "2", "--profile-steps", "1"], []),
    ("parareal", ["--parts", "accuracy", "--cifar10", "none", "--mnist", "none", "--epochs", "1", "--seeds", "1",
                  "--torn", "3", "3x2"], []),
    ("daso", ["--parts", "simulated", "--nodes", "2"], []),
    ("daso", ["--parts", "accuracy", "--model", "lenet", "--cifar10", "none", "--rates", "1gbit", "--epochs", "1",
              "--targets", "1", "--seeds", "1", "2", "--who", "data_parallel", "daso, corrected"], []),
    ("torch", ["--models", "lenet", "--threads", "1", "--rounds", "1", "--round-seconds", "0.01"], ["torch"]),
    ("sparse", ["--help"], ["torch", "numpy"]),  # minutes, however small
    ("parallel", ["--help"], ["torch"]),
]


def main():
    build = os.path.abspath(sys.argv[1])
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, flags, modules in BENCHMARKS:
            title = f"compare_{name}.py {' '.join(flags)}"
            missing = [module for module in modules if importlib.util.find_spec(module) is None]
            if missing:
                print(f"not run: {title}: no Python module {', '.join(missing)}")
                continue
            begin = time.monotonic()
            done = subprocess.run([sys.executable, os.path.join(BENCH, f"compare_{name}.py"), *flags, "--build", build,
                                   "--out", os.path.join(folder, f"{name}.json")],
                                  capture_output=True, text=True, cwd=folder, check=False)
            good = done.returncode == 0 and any(sign in done.stdout for sign in ("\n|", "usage:", "Skipped: "))
            failed += not good
            print(f"{'ran' if good else 'FAILED'}, {time.monotonic() - begin:.0f} s: {title}", flush=True)
            if not good:
                print(f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
