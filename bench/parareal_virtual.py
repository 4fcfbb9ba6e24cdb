"""Deep networks on more workers than the machine has: every part timed alone on one idle worker, put together by the
simulator; and the memory of each worker, which is measured."""

import json
import sys

from workers import PROGRAM, plait, print_table

SHAPE = "3x32x32"
LINK = "80Gbit/s,2us"
MICROBATCHES = 8
# name -> strategy, microbatches
BESIDE = {"parareal": ("parareal", 1), f"parareal in {MICROBATCHES}": ("parareal", MICROBATCHES),
          "layerpipe": ("layerpipe", 1), f"layerpipe in {MICROBATCHES}": ("layerpipe", MICROBATCHES),
          "data_parallel": ("data_parallel", 1)}


def measure_profile(options):
    """Of the most pieces: the coarse parts of fewer have the same shapes."""
    pieces = max(options.pieces)
    path = options.out.parent / f"{options.deep}_{options.deep_batch}_{pieces}_profile.json"
    if options.reuse_profile and path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    print(f"{PROGRAM}: {options.deep} in {pieces} pieces: profile", file=sys.stderr)
    plait(options.build, "profile", "--model", options.deep, "--data-shape", SHAPE, "--batch", str(options.deep_batch),
          "--threads", "1", "--pieces", str(pieces), "--steps", str(options.profile_steps), "--out", str(path))
    return path


def plan(name, workers, profile, options):
    """Each worker on a node of its own, so that nobody slows another down; links as inside one."""
    strategy, count = BESIDE[name]
    answer = json.loads(plait(options.build, "plan", "--profile", str(profile), "--batch", str(options.deep_batch),
                              "--nodes", str(workers), "--workers-per-node", "1", "--link-between-nodes", LINK,
                              "--strategies", strategy, "--microbatches", str(count), "--json"))
    return answer["plans"][0]


def virtual(options):
    """Plays plans of all strategies on measured costs; prints one table."""
    print("## Virtual\n")
    results = []
    profile = measure_profile(options)
    for pieces in options.pieces:
        results.append({"workers": pieces, "plans": {name: plan(name, pieces, profile, options) for name in BESIDE}})
    print(f"{options.deep}, batch {options.deep_batch}, speedup over one worker on the **virtual clock**: every task "
          f"timed alone on one idle worker; links of {LINK}.\n")
    print_table(("workers", *BESIDE, "parareal sends MB", "layerpipe sends MB", "data_parallel sends MB"),
                ((r["workers"], *(f"{r['plans'][name]['speedup']:.2f}" for name in BESIDE),
                  *(f"{r['plans'][name]['bytes_per_step'] / 1e6:.1f}"
                    for name in ("parareal", "layerpipe", "data_parallel"))) for r in results))
    return results


def train(pieces, profile, options):
    where = ["--strategy", "parareal", "--pieces", str(pieces), "--profile", str(profile)] if pieces > 1 else []
    samples = str(2 * options.memory_batch)
    answer = plait(options.build, "train", "--model", options.deep, "--data", f"cifar10:{options.cifar10}",
                   "--batch", str(options.memory_batch), "--steps", "1", "--threads", "1", "--train-limit", samples,
                   "--test-limit", "8", "--run-dir", "none", "--quiet", "--json", *where)
    return [share["memory_bytes"] for share in json.loads(answer)["shares"]]


def memory(options):
    """Measures the memory of each worker's tensors and weights; prints one line per worker."""
    print("## Memory\n")
    if not options.cifar10.is_dir():
        print(f"Skipped: there is no data in {options.cifar10.name}.\n")
        return {}
    profile = measure_profile(options)
    serial = train(1, profile, options)[0]
    torn = train(6, profile, options)
    print(f"{options.deep}, batch {options.memory_batch}, bytes of tensors, weights and optimizer, measured; torn by "
          f"measured costs. One worker has {serial / 1e6:.0f} MB.\n")
    print_table(("worker", "MB", "of one worker's"),
                ((i, f"{b / 1e6:.0f}", f"{100 * b / serial:.1f} %") for i, b in enumerate(torn)))
    return {"serial": serial, "torn": torn}
