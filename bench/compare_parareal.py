#!/usr/bin/python3
"""Parareal: on two real cores, on a virtual clock for many workers, and its accuracy beside the serial network.

Four parts: Real, Memory and Accuracy are measured, Virtual is put together from measured parts. Prints Markdown tables
and writes everything to build/bench/parareal.json. bench/README.md says more.
"""

import argparse
from pathlib import Path

from parareal_accuracy import accuracy
from parareal_real import real
from parareal_virtual import memory, virtual
from workers import ROOT, load_before, write_results

PARTS = {"real": real, "virtual": virtual, "memory": memory, "accuracy": accuracy}


def model_and_batch(text):
    model, _, batch = text.partition(":")
    if not batch.isdecimal() or int(batch) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not MODEL:BATCH, like vgg16:128")
    return model, int(batch)


def pieces_and_sweeps(text):
    pieces, _, sweeps = text.partition("x")
    numbers = [pieces, sweeps or "1"]
    if not all(one.isdecimal() for one in numbers) or not 1 <= int(numbers[1]) <= int(numbers[0]):
        raise argparse.ArgumentTypeError(f"'{text}' is not PIECES or PIECESxSWEEPS, like 6x2")
    return int(numbers[0]), int(numbers[1])


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="where plait was built")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "parareal.json")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    group = parser.add_argument_group("real")
    group.add_argument("--real", nargs="+", type=model_and_batch, default=[("resnet164", 32), ("vgg16", 128)],
                       metavar="MODEL:BATCH", help="resnet164:32 vgg16:128")
    group.add_argument("--rounds", type=int, default=7, help="measured rounds (7)")
    group.add_argument("--steps", type=int, default=3, help="of each contestant in a round (3)")
    group = parser.add_argument_group("virtual and memory")
    group.add_argument("--deep", default="resnet1001", help="the network (resnet1001)")
    group.add_argument("--deep-batch", type=int, default=32, help="its batch on the virtual clock (32)")
    group.add_argument("--memory-batch", type=int, default=64, help="its batch for the memory (64)")
    group.add_argument("--pieces", nargs="+", type=int, default=[3, 6, 12, 18])
    group.add_argument("--reuse-profile", action="store_true", help="that an earlier run left")
    group.add_argument("--profile-steps", type=int, default=3, help="measured steps of profiles (3)")
    group = parser.add_argument_group("accuracy")
    group.add_argument("--cifar10", type=Path, default=ROOT.parent / "shared" / "data" / "cifar10-subset")
    group.add_argument("--mnist", type=Path, default=ROOT / "build" / "data" / "mnist", help="IDX files of MNIST")
    group.add_argument("--models", nargs="+", default=["resnet20", "vgg11", "resnet56"])
    group.add_argument("--epochs", type=int, default=8)
    group.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    group.add_argument("--torn", nargs="+", type=pieces_and_sweeps, default=[(2, 1), (3, 1), (6, 1), (6, 2)],
                       metavar="PIECES[xSWEEPS]", help="2 3 6 6x2")
    group.add_argument("--coarse", choices=["block", "conv"], default="conv", help="of torn networks (conv)")
    options = parser.parse_args()
    if min(options.rounds, options.steps, options.profile_steps, options.epochs) < 1:
        parser.error("--rounds, --steps, --profile-steps and --epochs are at least 1")
    return options


def main():
    options = parse()
    results = {"load_before": load_before()}
    for part in options.parts:
        results[part] = PARTS[part](options)
    write_results(options.out, results)


if __name__ == "__main__":
    main()
