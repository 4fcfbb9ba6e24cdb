"""Who is compared, and how they run on two nodes with a slow link between them."""

import json
import subprocess
import sys

from workers import HERE, PROGRAM

CLUSTER = HERE / "cluster" / "cluster"

CONTESTANTS = {
    "data_parallel": ["--strategy", "data_parallel"],
    "daso, corrected": ["--strategy", "daso"],
    "daso, corrected, every 2": ["--strategy", "daso", "--exchange-every", "2"],
    "daso, paper": ["--strategy", "daso", "--merge", "paper"],
    "daso, corrected, bf16": ["--strategy", "daso", "--exchange-wire", "bf16"],
    "local_sgd": ["--strategy", "local_sgd", "--local-steps", "8"],
    # With the usual outer momentum, 0.9, eight steps between exchanges are too few: 34.7 % after five epochs.
    "diloco": ["--strategy", "diloco", "--local-steps", "8", "--outer-momentum", "0.3"],
}


def data_of(options):
    if options.cifar10.is_dir():
        return ["--data", f"cifar10:{options.cifar10}", "--augment", "pad-crop 4, flip"]
    return ["--data", "glyphs"]


def common(options, seed):
    return ["--model", options.model, "--batch", str(options.batch), "--lr", options.lr, "--seed", str(seed),
            "--threads", "1", "--pin", "none", "--quiet", "--json", *data_of(options)]


def can_have_a_cluster():
    done = subprocess.run([str(CLUSTER), "check"], text=True, capture_output=True)
    if done.returncode != 0:
        print(f"Skipped: {done.stdout.strip() or done.stderr.strip()}\n")
    return done.returncode == 0


def answer(command):
    print(f"{PROGRAM}: {' '.join(str(word) for word in command)}", file=sys.stderr)
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{PROGRAM}: failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def on_link(options, rate, *flags):
    """What plait train prints, 2 nodes of 1 worker."""
    return answer([CLUSTER, "with", "--nodes", "2", "--rate", rate, "--workers-per-node", "1", "--",
                   options.build.resolve() / "plait", "train", *flags])


def on_threads(options, *flags):
    return answer([options.build / "plait", "train", "--nodes", "2", "--workers-per-node", "1", *flags])
