#!/usr/bin/python3
"""Weights that meet now and then, beside synchronous data parallelism, over links that are really slow.

Three parts: Steps and Accuracy are measured with Open MPI between network namespaces whose link is held to a rate
(bench/cluster, needs root), Simulated is played by the simulator. Prints Markdown tables and writes everything to
build/bench/daso.json. bench/README.md says more.
"""

import argparse
from pathlib import Path

from daso_accuracy import accuracy
from daso_link import CONTESTANTS
from daso_simulated import simulated
from daso_steps import steps
from workers import ROOT, load_before, write_results

PARTS = {"steps": steps, "accuracy": accuracy, "simulated": simulated}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="where plait was built")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "daso.json")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    group = parser.add_argument_group("steps and accuracy")
    group.add_argument("--model", default="vgg11")
    group.add_argument("--batch", type=int, default=128)
    group.add_argument("--cifar10", type=Path, default=ROOT.parent / "shared" / "data" / "cifar10-subset",
                       help="without it, glyphs with noise")
    group.add_argument("--rates", nargs="+", default=["100mbit", "1gbit"], help="of the link (100mbit 1gbit)")
    group = parser.add_argument_group("steps")
    group.add_argument("--rounds", type=int, default=3)
    group = parser.add_argument_group("accuracy")
    group.add_argument("--who", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS), metavar="NAME",
                       help=f"of: {'; '.join(CONTESTANTS)}; data_parallel is what all are compared with")
    group.add_argument("--epochs", type=int, default=5)
    group.add_argument("--lr", default="0.02")
    group.add_argument("--targets", nargs="+", type=float, default=[45, 50, 55],
                       help="test accuracies in %% to be reached (45 50 55)")
    group.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3],
                       help="the first on the link; the others on threads, which give the same bits sooner")
    group = parser.add_argument_group("simulated")
    group.add_argument("--nodes", nargs="+", type=int, default=[2, 4, 8, 16, 32, 64, 128, 256], help="of 4 workers (2 .. 256)")
    group.add_argument("--profile", type=Path,
                       default=ROOT.parent / "shared" / "data" / "pipedream-profiles" / "resnet50.txt",
                       help="costs of a worker; without it, resnet50 with counted costs")
    return parser.parse_args()


def main():
    options = parse()
    results = {"load_before": load_before()}
    for part in options.parts:
        results[part] = PARTS[part](options)
        write_results(options.out, results)


if __name__ == "__main__":
    main()
