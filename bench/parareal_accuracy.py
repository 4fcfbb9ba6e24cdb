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
    flat = ["--lr", "0.02", "--schedule", "cosine", "--train-limit", "20000"]
    if options.mnist.is_dir():
        yield MNIST_MODEL, f"mnist:{options.mnist}", flat
    else:
        print(f"There is no data in {options.mnist.name}, so these are glyphs; plait data fetch mnist brings it.\n")
        yield MNIST_MODEL, "glyphs", flat


SERIAL = (1, 1)


def train(model, data, flags, torn, seed, options):
    """On one worker: the bits do not depend on how many there are."""
    pieces, sweeps = torn
    where = ["--strategy", "parareal", "--pieces", str(pieces), "--coarse", options.coarse, "--workers", "1",
             "--sweeps", str(sweeps)]
    where = where if torn != SERIAL else []
    print(f"{PROGRAM}: {model}, {pieces} piece(s), {sweeps} sweep(s), seed {seed}", file=sys.stderr)
    answer = json.loads(plait(options.build, "train", "--model", model, "--data", data, "--batch", "64", "--epochs",
                              str(options.epochs), "--seed", str(seed), "--threads", "1", "--pin", "none", "--run-dir",
                              "none", "--quiet", "--json", *flags, *where))
    result = {"model": model, "data": data.partition(":")[0], "torn": torn, "seed": seed,
              "accuracy": 100 * answer["test_accuracy"], "train_loss": answer["train_loss"],
              "residuals": answer["residuals"]}
    print(json.dumps(result), file=sys.stderr)
    return result


def rows(results, options):
    for model in dict.fromkeys(r["model"] for r in results):
        mine = [r for r in results if r["model"] == model]
        serial = statistics.mean(r["accuracy"] for r in mine if r["torn"] == SERIAL)
        for torn in (SERIAL, *options.torn):
            runs = [r for r in mine if r["torn"] == torn]
            mean = statistics.mean(r["accuracy"] for r in runs)
            is_serial = torn == SERIAL
            yield (model, mine[0]["data"], "serial" if is_serial else torn[0], "" if is_serial else torn[1],
                   " ".join(f"{r['accuracy']:.2f}" for r in runs), f"{mean:.2f}",
                   "" if is_serial else f"{mean - serial:+.2f}",
                   f"{statistics.mean(r['train_loss'] for r in runs):.3f}")


def accuracy(options):
    """Trains as many at a time as there are cores; prints one table."""
    print("## Accuracy\n")
    jobs = [(model, data, flags, torn, seed) for model, data, flags in cases(options)
            for torn in (SERIAL, *options.torn) for seed in options.seeds]
    with ThreadPoolExecutor(len(usable_cores())) as pool:
        results = list(pool.map(lambda job: train(*job, options), jobs))
    print(f"{options.epochs} epochs, batch 64, --coarse {options.coarse}, test accuracy in %, "
          f"seeds {' '.join(map(str, options.seeds))}.\n")
    print_table(("network", "data", "pieces", "sweeps", "by seed", "mean", "- serial", "train loss"),
                rows(results, options))
    return results
