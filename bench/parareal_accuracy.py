"""The same network serial and torn, same epochs, several seeds: test accuracy at the end."""

import json
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor

from workers import PROGRAM, plait, print_table, usable_cores

MNIST_MODEL = "mlp:256-256-256-256-256-256"


def cases(options):
    """(model, data, further flags)"""
    if options.cifar10.is_dir():
        for model in options.models:
            # Deep networks without a warm-up, and VGG at 0.05, need too many epochs for a small data set.
            rate = "0.02" if model.startswith("vgg") else "0.05"
            yield model, f"cifar10:{options.cifar10}", ["--augment", "pad-crop 4, flip", "--lr", rate,
                                                        "--weight-decay", "5e-4", "--schedule", "cosine"]
    else:
        print(f"Skipped: there is no data in {options.cifar10.name}.\n")
    if options.mnist.is_dir():
        yield MNIST_MODEL, f"mnist:{options.mnist}", ["--lr", "0.02", "--schedule", "cosine", "--train-limit", "20000"]
    else:
        print(f"Skipped: there is no data in {options.mnist.name}; plait data fetch mnist brings it.\n")


def train(model, data, flags, pieces, seed, options):
    """On one worker: the bits do not depend on how many there are."""
    where = ["--strategy", "parareal", "--pieces", str(pieces), "--coarse", options.coarse, "--workers", "1",
             "--sweeps", str(min(options.sweeps, pieces))]
    where = where if pieces > 1 else []
    print(f"{PROGRAM}: {model}, {pieces} piece(s), seed {seed}", file=sys.stderr)
    answer = json.loads(plait(options.build, "train", "--model", model, "--data", data, "--batch", "64", "--epochs",
                              str(options.epochs), "--seed", str(seed), "--threads", "1", "--pin", "none", "--run-dir",
                              "none", "--quiet", "--json", *flags, *where))
    return {"model": model, "data": data.partition(":")[0], "pieces": pieces, "seed": seed,
            "accuracy": 100 * answer["test_accuracy"], "train_loss": answer["train_loss"],
            "residuals": answer["residuals"]}


def rows(results, options):
    for model in dict.fromkeys(r["model"] for r in results):
        mine = [r for r in results if r["model"] == model]
        serial = statistics.mean(r["accuracy"] for r in mine if r["pieces"] == 1)
        for pieces in (1, *options.torn):
            runs = [r for r in mine if r["pieces"] == pieces]
            if not runs:
                continue
            mean = statistics.mean(r["accuracy"] for r in runs)
            yield (model, mine[0]["data"], pieces if pieces > 1 else "serial",
                   " ".join(f"{r['accuracy']:.2f}" for r in runs), f"{mean:.2f}",
                   f"{mean - serial:+.2f}" if pieces > 1 else "",
                   f"{statistics.mean(r['train_loss'] for r in runs):.3f}")


def accuracy(options):
    """Trains as many at a time as there are cores; prints one table."""
    print("## Accuracy\n")
    jobs = [(model, data, flags, pieces, seed) for model, data, flags in cases(options)
            for pieces in (1, *options.torn) for seed in options.seeds]
    with ThreadPoolExecutor(len(usable_cores())) as pool:
        results = list(pool.map(lambda job: train(*job, options), jobs))
    print(f"{options.epochs} epochs, batch 64, --coarse {options.coarse}, --sweeps {options.sweeps}, test accuracy in %, "
          f"seeds {' '.join(map(str, options.seeds))}.\n")
    print_table(("network", "data", "pieces", "by seed", "mean", "- serial", "train loss"), rows(results, options))
    return results
