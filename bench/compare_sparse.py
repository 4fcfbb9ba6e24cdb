#!/usr/bin/python3
"""Sparse networks: plait beside SuiteSparse:GraphBLAS (inference) and PyTorch (training), on this machine.

Everybody takes turns, round by round; only one computes at a time. Prints Markdown tables and writes everything
measured to build/bench/sparse.json. bench/README.md says more.
"""

import argparse
import json
import lzma
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy

import sparse_networks
from workers import (HERE, ROOT, PROGRAM, Worker, check_same_network, load_before, print_table, ratio, spread,
                     usable_cores, write_results)

NEURONS, LAYERS, BATCH = 1024, 120, 64
DROPPED_REPEAT, KEPT_REPEAT = 50, 5  # of the 1200 images
GRAPHBLAS_KEPT = ("keep-columns", "keep-batches")
WIDTHS = (784, 1024, 1024, 1024)
SPARSITIES = (0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99)
SHOWN = (0.9, 0.95, 0.99)


def challenge(options, folder):
    """The official network and images where they are, else some like them: folder of layers, file of images."""
    images = folder / "images.tsv"
    packed = options.data / "neuron1024.tar.xz"
    if packed.exists():
        with tarfile.open(packed) as archive:
            archive.extractall(folder)
        images.write_bytes(lzma.open(options.data / "sparse-images-1024-first1200.tsv.xz").read())
        return folder / "neuron1024", images, "official"
    layers = folder / "made"
    layers.mkdir()
    for i, (rows, columns, _) in enumerate(sparse_networks.radix_layers(NEURONS, LAYERS)):
        text = "".join(f"{column + 1}\t{row + 1}\t0.0625\n" for row, column in zip(rows, columns))
        (layers / f"n{NEURONS}-l{i + 1}.tsv").write_text(text)
    random = numpy.random.default_rng(1)
    pixels = random.random((1200, NEURONS)) < random.random((1200, 1)) * 0.3
    images.write_text("".join(f"{image + 1}\t{pixel + 1}\t1\n" for image, pixel in zip(*numpy.nonzero(pixels))))
    return layers, images, "made up"


def printed(command, cores):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores))
    if done.returncode != 0:
        sys.exit(f"{PROGRAM}: {' '.join(map(str, command))} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def infer_round(options, network, images, threads):
    cores = usable_cores()[:threads]
    bench = options.build / "bench"

    def ours(*more):
        return printed([options.build / "plait", "infer", "--model", f"graphchallenge:{network}", "--images", images,
                        "--threads", threads, "--json", *more], cores)

    def graphblas(repeat, way):
        return printed([bench / "graphblas_infer", network, images, repeat, threads, way], cores)

    whole = ours("--repeat", DROPPED_REPEAT)
    few = ours("--repeat", KEPT_REPEAT, "--keep-all")
    found = {"peak": printed([bench / "machine_peak"], cores[:1])["fma_per_second"],
             "plait dropped": whole["dropped"]["edges_per_second"],
             "plait kept, all": whole["kept"]["edges_per_second"],
             "plait kept": few["kept"]["edges_per_second"]}
    categories = {whole["categories"] // DROPPED_REPEAT, few["categories"] // KEPT_REPEAT}
    if (bench / "graphblas_infer").exists():
        for name, repeat in [("drop", DROPPED_REPEAT), *((way, KEPT_REPEAT) for way in GRAPHBLAS_KEPT)]:
            theirs = graphblas(repeat, name)
            found[name] = theirs["edges_per_second"]
            categories.add(theirs["categories"] // repeat)
    if len(categories) != 1:
        sys.exit(f"{PROGRAM}: not the same categories everywhere: {categories}")
    return found


def inference(options):
    with tempfile.TemporaryDirectory() as folder:
        network, images, kind = challenge(options, Path(folder))
        print(f"Inference, {kind} 1024 x 120 network, rates in nominal edges/s (images x connections / seconds).\n")
        rounds = {threads: [] for threads in options.threads}
        for _ in range(options.rounds):
            for threads in options.threads:
                rounds[threads].append(infer_round(options, network, images, threads))
    rows = []
    for threads, found in rounds.items():
        peak = max(one["peak"] for one in found)

        def median(name):
            return statistics.median(one[name] for one in found)

        def against(name, peer):
            return ratio(spread([one[name] / one[peer] for one in found])) if peer in found[0] else "not installed"

        def rate(name):
            return f"{median(name):.2e}" if name in found[0] else "-"

        share = spread([one["plait kept, all"] / peak / threads for one in found])
        rows.append(("dead images dropped, 60000", threads, rate("plait dropped"), rate("drop"),
                     against("plait dropped", "drop"), "-"))
        rows.append(("all kept, 60000", threads, rate("plait kept, all"), "-", "-",
                     f"{100 * share['median']:.0f} % ({100 * share['min']:.0f}..{100 * share['max']:.0f})"))
        for name, peer in (("6000 at once", "keep-columns"), ("6000 in batches of 1200", "keep-batches")):
            rows.append((f"all kept, {name}", threads, rate("plait kept"), rate(peer), against("plait kept", peer), "-"))
    print_table(("images", "threads", "plait", "GraphBLAS", "ratio (min..max)", "of FMA peak"), rows)
    return rounds


def take_turns(workers, rounds, seconds):
    """Median steps of each round, by name."""
    slowest = max(worker.step_seconds(3) for worker in workers.values())
    steps = max(3, min(200, round(seconds / slowest)))
    found = [{name: worker.step_seconds(steps) for name, worker in workers.items()} for _ in range(rounds)]
    for worker in workers.values():
        worker.close()
    return found


def torch_worker(file, threads, way):
    return Worker(["/usr/bin/python3", str(HERE / "peers" / "torch_sparse_worker.py"), str(file), str(BATCH),
                   str(threads), way], usable_cores()[:threads], threads)


def our_worker(options, model, shape, threads):
    return Worker([str(options.build / "bench" / "step_worker"), str(model), shape, str(BATCH), str(threads)],
                  usable_cores()[:threads], threads)


def training(options):
    print(f"Training step of radixnet:{NEURONS}x{LAYERS}, batch {BATCH}: forward, backward, SGD with momentum.\n")
    results, rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "radix.npz"
        sparse_networks.write_npz(file, sparse_networks.radix_layers(NEURONS, LAYERS),
                                  ceiling=sparse_networks.RADIX_CEILING)
        for threads in options.threads:
            workers = {"plait": our_worker(options, f"radixnet:{NEURONS}x{LAYERS}", str(NEURONS), threads)}
            workers |= {way: torch_worker(file, threads, way) for way in ("masked", "coo", "csr")}
            check_same_network("radixnet", {name: workers[name] for name in ("plait", "coo", "csr")})
            rounds = take_turns(workers, options.rounds, 3)
            memory = {name: worker.peak_bytes for name, worker in workers.items()}
            results.append({"threads": threads, "rounds": rounds, "peak_bytes": memory})
            for way in ("masked", "coo", "csr"):
                rows.append((threads, way, f"{1e3 * statistics.median(r['plait'] for r in rounds):.1f}",
                             f"{1e3 * statistics.median(r[way] for r in rounds):.0f}",
                             ratio(spread([r[way] / r["plait"] for r in rounds])),
                             f"{memory['plait'] / 1e6:.0f}", f"{memory[way] / 1e6:.0f}",
                             f"{memory[way] / memory['plait']:.1f}"))
    print_table(("threads", "PyTorch's way", "plait ms", "PyTorch ms", "ratio (min..max)", "plait MB", "PyTorch MB",
                 "memory ratio"), rows)
    return results


def break_even(seconds, dense):
    """The sparsity from which on sparse is faster than `dense`; 0: below all measured ones, None: above."""
    points = sorted(seconds.items())
    for (low, slow), (high, fast) in zip(points, points[1:]):
        if slow > dense >= fast:
            return low + (high - low) * (slow - dense) / (slow - fast)
    return 0 if points[0][1] <= dense else None


def even_text(sparsity):
    if sparsity is None:
        return "none"
    return f"{100 * sparsity:.0f} %" if sparsity > 0 else f"below {100 * SPARSITIES[0]:.0f} %"


def mlps(options):
    hidden = "-".join(map(str, WIDTHS[1:]))
    print(f"Training step of an mlp {'-'.join(map(str, WIDTHS))}-10, batch {BATCH}; elements at random places.\n")
    results, rows = [], []
    for threads in options.threads:
        with tempfile.TemporaryDirectory() as folder:
            workers = {"dense": our_worker(options, f"mlp:{hidden}", str(WIDTHS[0]), threads)}
            for sparsity in SPARSITIES:
                place = Path(folder) / f"{sparsity}"
                place.mkdir()
                layers = sparse_networks.random_layers(WIDTHS, sparsity)
                workers[sparsity] = our_worker(options, sparse_networks.write_toml(place, layers), str(WIDTHS[0]),
                                               threads)
                if sparsity in SHOWN:
                    sparse_networks.write_npz(place / "net.npz", layers)
                    workers[f"masked {sparsity}"] = torch_worker(place / "net.npz", threads, "masked")
            workers["torch dense"] = torch_worker(place / "net.npz", threads, "dense")
            rounds = take_turns(workers, options.rounds, 0.5)
        median = {name: statistics.median(r[name] for r in rounds) for name in workers}
        even = break_even({s: median[s] for s in SPARSITIES}, min(median["dense"], median["torch dense"]))
        results.append({"threads": threads, "break_even": even,
                        "rounds": [{str(name): value for name, value in r.items()} for r in rounds],
                        "peak_bytes": {str(name): worker.peak_bytes for name, worker in workers.items()}})
        for sparsity in SHOWN:
            masked = f"masked {sparsity}"
            rows.append((f"{100 * sparsity:.0f} %", threads, f"{1e3 * median[sparsity]:.2f}",
                         f"{1e3 * median['dense']:.2f}", f"{1e3 * median['torch dense']:.2f}",
                         f"{1e3 * median[masked]:.2f}",
                         ratio(spread([r["dense"] / r[sparsity] for r in rounds])),
                         ratio(spread([r[masked] / r[sparsity] for r in rounds])),
                         even_text(even)))
    print_table(("sparsity", "threads", "sparse ms", "dense ms", "PyTorch dense ms", "PyTorch masked ms",
                 "dense / sparse", "masked / sparse", "break-even"), rows)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="where plait was built")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "graphchallenge",
                        help="folder of the packed GraphChallenge; without it a network like it is made up")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds (5)")
    for part in ("inference", "training", "mlps"):
        parser.add_argument(f"--no-{part}", dest=part, action="store_false", help="leave this part out")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "sparse.json")
    options = parser.parse_args()

    results = {"load_before": load_before(), "cores": len(usable_cores())}
    options.threads = [threads for threads in options.threads if threads <= results["cores"]]
    for name, part in (("inference", inference), ("training", training), ("mlps", mlps)):
        if getattr(options, name):
            results[name] = part(options)
    write_results(options.out, results)


if __name__ == "__main__":
    main()
