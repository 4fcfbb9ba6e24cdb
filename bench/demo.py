#!/usr/bin/python3
"""The same small network trained in every way on this machine, then one table and one report. ./run demo calls it."""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

MODEL = "mlp:512-256-128"
# On two nodes that this machine pretends, with a slow link between them, where nodes are needed.
NODES = ["--nodes", "2", "--workers-per-node", "1", "--link-between-nodes", "1Gbit/s,100us"]
WAYS = [
    ("serial", "one worker, plain SGD", []),
    ("data_parallel", "two workers share every batch", ["--workers", "2"]),
    ("layerpipe", "two workers, the three tasks balanced", ["--workers", "2", "--microbatches", "4", "--replicas", "1"]),
    ("parareal", "the depth torn in two", ["--workers", "2", "--pieces", "2"]),
    ("daso", "two nodes that meet every fourth step", [*NODES, "--warmup-epochs", "0", "--cooldown-epochs", "0"]),
]


class Demo:
    def __init__(self, options):
        self.plait = options.build / "plait"
        self.folder = options.folder
        self.common = ["--data", "glyphs", "--epochs", str(options.epochs), "--batch", "64", "--threads", "1", "--seed", "1",
                       "--lr", "0.05", "--schedule", "cosine"]

    def run(self, *arguments, show=False):
        command = [str(self.plait), *map(str, arguments)]
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=None if show else subprocess.PIPE)
        if done.returncode != 0:
            sys.exit(f"demo: {' '.join(command)} failed: {done.stderr or ''}")
        return done.stdout

    def profile(self, name, model, *flags):
        file = self.folder / f"{name}.profile.json"
        self.run("profile", "--model", model, "--data-shape", "1x28x28", "--batch", "64", "--threads", "1", "--out", file, *flags)
        return file

    def train(self, name, about, model, *flags):
        print(f"\n== {name}: {about}", file=sys.stderr, flush=True)
        self.run("train", "--model", model, "--strategy", name, "--run-dir", self.folder / name, *self.common, *flags,
                 show=True)

    def all(self):
        print("demo: measuring the network's blocks first, for the predictions", file=sys.stderr)
        usual = self.profile("usual", MODEL)
        torn = self.profile("torn", MODEL, "--pieces", "2")
        for name, about, flags in WAYS:
            self.train(name, about, MODEL, "--profile", torn if name == "parareal" else usual, *flags)
        pruned = self.folder / "pruned"
        print("\n== pruning the serial network: of every ten weights one stays", file=sys.stderr)
        self.run("prune", "--run", self.folder / "serial", "--sparsity", "0.9", "--out", pruned)
        self.train("sparse_rows", "the pruned network, rows shared out", pruned / "model.toml", "--workers", "2", "--init",
                   pruned / "weights.safetensors", "--profile", self.profile("sparse", pruned / "model.toml"))
        names = [name for name, _, _ in WAYS] + ["sparse_rows"]
        print(f"\n{table([self.row(name) for name in names])}")
        report = self.folder / "report.html"
        self.run("report", *(self.folder / name for name in names), "--out", report)
        print(f"{MODEL} on built-in digits, {len(names)} runs, all measured just now on one thread per worker. "
              "predicted: from blocks measured alone.")
        print(f"the report of all of them: {report}")

    def row(self, name):
        record = json.loads((self.folder / name / "report.json").read_text())
        result = record["result"]
        return (name, str(result["workers"]), f"{100 * result['test_accuracy']:.2f}%", f"{result['images_per_second']:,.0f}",
                f"{1e3 * record['predicted']['step_seconds']:.2f}", f"{1e3 * 64 / result['images_per_second']:.2f}",
                f"{100 * result['utilisation']:.0f}%", f"{result['bytes_sent'] / result['steps'] / 1e3:,.1f}",
                str(result["staleness_max"]))


def table(rows):
    rows = [("strategy", "workers", "accuracy", "images/s", "predicted ms", "step ms", "computing", "KB a step", "staleness"),
            *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])])
                     for row in rows) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--folder", type=Path, default=Path("runs/demo"), help="emptied first (runs/demo)")
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    Demo(options).all()


if __name__ == "__main__":
    main()
