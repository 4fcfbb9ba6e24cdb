#!/usr/bin/python3
"""One network trained in every way on this machine, on a slow link, and a pruned one: a table and a report. ./run demo calls it."""

import argparse
import os
import shutil
from pathlib import Path

from demo_progress import Progress
from demo_rows import DENSE_EPOCHS, LINK, PRUNED_EPOCHS, SPARSITY, rows_of_machine, rows_of_nodes, rows_of_sparse
from demo_table import Measured, cells, same_accuracy, table
from workers import HERE, usable_cores

BATCH = 64
CONVOLUTIONS = os.path.relpath(HERE / "demo.toml")
WORKERS = (2, 4, 8)  # that divide the batch, and fill two nodes
LATER_EPOCHS = 2  # of the rounds after the first


class Demo:
    def __init__(self, options):
        self.options = options
        self.plait = str(options.build / "plait")
        self.folder = options.folder
        self.machine = rows_of_machine(options.workers, options.rounds)
        self.nodes = rows_of_nodes(options.workers)
        self.sparse = rows_of_sparse(options.workers, self.folder / "prune")
        first = [row.seconds for row in self.machine]
        later = [0.4 * seconds for seconds in first] * (options.rounds - 1)
        self.progress = Progress([4, 4, *first, *(row.seconds for row in self.nodes), *later, self.sparse[0].seconds, 1,
                                  *(row.seconds for row in self.sparse[1:]), 1])

    def run(self, title, *arguments):
        return self.progress.run(title, [self.plait, *map(str, arguments)])

    def profile(self, name, title, *flags):
        file = self.folder / f"{name}.profile.json"
        self.run(title, "profile", "--model", CONVOLUTIONS, "--data-shape", "1x28x28", "--batch", BATCH, "--threads", 1,
                 "--steps", self.options.profile_steps, "--out", file, *flags)
        self.progress.note(title)
        return file

    def folders(self, row):
        return [self.folder / (row.name if number == 1 else f"{row.name}-round-{number}") for number in range(1, row.rounds + 1)]

    def train(self, row, number, *flags):
        folder = self.folders(row)[number - 1]
        title = f"{row.what}, round {number} of {row.rounds}" if row.rounds > 1 else row.what
        self.run(title, "train", "--data", "glyphs", "--batch", BATCH, "--threads", 1, "--seed", 1, "--lr", 0.05, "--schedule",
                 "cosine", "--test-limit", self.options.test_images, "--run-dir", folder,
                 "--quiet", *row.flags, *flags)
        measured = Measured([folder])
        self.progress.note(f"{title}: {measured.images_per_second:,.0f} images/s, {100 * measured.accuracy:.2f}%")

    def train_convolutions(self):
        """To and fro, so that a machine that gets slower meets all rows alike; later rounds are short, for the speed only."""
        usual = self.profile("usual", "measuring the network, for the planner")
        torn = self.profile("torn", "measuring it split in two, for parareal", "--pieces", 2)
        for number in range(1, self.options.rounds + 1):
            epochs = self.options.epochs if number == 1 else min(self.options.epochs, LATER_EPOCHS)
            common = ["--model", CONVOLUTIONS, "--epochs", epochs, "--train-limit", self.options.images]
            for row in self.machine if number % 2 else reversed(self.machine):
                self.train(row, number, *common, "--profile", torn if row.name == "parareal" else usual)
            for row in self.nodes if number == 1 else []:
                self.train(row, number, *common, "--profile", usual)

    def train_sparse(self):
        dense, *pruned = self.sparse
        images = ["--train-limit", self.options.sparse_images]
        self.train(dense, 1, "--epochs", DENSE_EPOCHS, *images)
        title = "plait prune: the smallest weights go"
        self.run(title, "prune", "--run", self.folder / dense.name, "--sparsity", SPARSITY, "--out", self.folder / "prune")
        self.progress.note(title)
        for row in pruned:
            self.train(row, 1, "--epochs", PRUNED_EPOCHS, *images)

    def report(self):
        file = self.folder / "report.html"
        rows = [*self.machine, *self.nodes, *self.sparse]
        self.run("report", "report", *(self.folder / row.name for row in rows), "--out", file)
        self.progress.note(f"a report of {len(rows)} runs")
        return file

    def part(self, rows, measured, reference):
        return [(cells(row, measured[row.name], reference), row.choose) for row in rows]

    def table(self):
        measured = {row.name: Measured(self.folders(row)) for row in [*self.machine, *self.nodes, *self.sparse]}
        serial, dense = measured["serial"], measured["dense"]
        exact, stale = (measured[row.name] for row in self.nodes)
        target = same_accuracy(exact, stale)
        seconds = [one.seconds_to(target) for one in (exact, stale)]
        nodes = self.part(self.nodes, measured, serial)
        row, line = nodes[-1]
        nodes[-1] = (row, f"{line} Here {100 * target:.0f} % took {seconds[1]:.1f} s instead of {seconds[0]:.1f} s.")
        link = LINK.split(",", maxsplit=1)[0].replace("Mbit", " Mbit")
        return table([(None, f"Six convolutions on 28x28 digits, batch {BATCH}, one thread per worker:"),
                      *self.part(self.machine, measured, serial),
                      (None, f"The same on two nodes with a link of {link} between them; speedup over serial:"), *nodes,
                      (None, "A perceptron, dense and pruned:"), *self.part(self.sparse, measured, dense)])


def whole(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    cores = len(usable_cores())
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--folder", type=Path, default=Path("runs/demo"), help="emptied first (runs/demo)")
    parser.add_argument("--epochs", type=whole, default=5)
    parser.add_argument("--images", type=whole, default=2048, help="of an epoch (2048)")
    parser.add_argument("--rounds", type=whole, default=2, help="of the first five rows; the median counts (2)")
    parser.add_argument("--workers", type=int, choices=WORKERS, default=max(n for n in WORKERS if n <= max(cores, 2)),
                        help="as many as there are cores, at most 8")
    parser.add_argument("--quick", action="store_true", help="a few steps of everything: shows that it works, not how fast")
    options = parser.parse_args()
    options.test_images, options.sparse_images, options.profile_steps = 500, 0, 5
    if options.quick:
        options.epochs, options.images, options.test_images, options.rounds, options.profile_steps = 1, 128, 64, 1, 1
        options.sparse_images = 128
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    demo = Demo(options)
    demo.train_convolutions()
    demo.train_sparse()
    report = demo.report()
    print(f"\n{demo.table()}")
    print(f"Measured just now with {options.workers} workers on {cores} core(s). speedup: images per second in training.\n"
          "sent/step: all workers together. memory: of the worker that holds most.")
    if options.workers > cores:
        print(f"{options.workers} workers shared {cores} core(s): no gain can be seen.")
    print(f"The report of all runs: {report}")


if __name__ == "__main__":
    main()
