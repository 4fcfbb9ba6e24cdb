#!/usr/bin/python3
"""LayerPipe: beside published figures, part by part beside PipeDream in the simulator, and on two real cores.

Three parts: Figures and Ablation are simulated, Real is measured. Prints Markdown tables and writes everything to
build/bench/layerpipe.json. bench/README.md says more.
"""

import argparse
from pathlib import Path

from layerpipe_ablation import COSTS, LINKS, MICROBATCHES, MODES, ablation
from layerpipe_real import real
from layerpipe_simulated import MODELS, figures
from workers import ROOT, load_before, write_results


def model_and_batch(text):
    model, _, batch = text.partition(":")
    if not batch.isdecimal() or int(batch) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not MODEL:BATCH, like vgg16:128")
    return model, int(batch)


def number_of_workers(text):
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of workers; 2 or more")
    return int(text)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="where plait was built")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "layerpipe.json")
    parser.add_argument("--profiles", type=Path, default=ROOT.parent / "shared" / "data" / "pipedream-profiles",
                        help="folder of the published profiles")
    parser.add_argument("--quick", action="store_true", help="a small version of every table, in a few minutes")
    for part in ("figures", "ablation", "real"):
        parser.add_argument(f"--no-{part}", dest=f"with_{part}", action="store_false", help="leave this part out")
    group = parser.add_argument_group("ablation")
    group.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    group.add_argument("--workers", nargs="+", type=number_of_workers, default=list(range(2, 17)), help="2 to 16")
    group.add_argument("--costs", nargs="+", choices=COSTS, default=list(COSTS), help="where costs come from (all)")
    group.add_argument("--array", default="128x128", help="of systolic costs (128x128)")
    group.add_argument("--links", nargs="+", choices=list(LINKS), default=list(LINKS), help="between workers (both)")
    group.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES), help="async, sync (both)")
    group.add_argument("--microbatches", type=int, default=MICROBATCHES, help=f"of every plan ({MICROBATCHES})")
    group.add_argument("--profile-steps", type=int, default=3, help="of those profiles (3)")
    group.add_argument("--reuse-profiles", action="store_true", help="that an earlier run left, for what is simulated")
    group = parser.add_argument_group("real")
    group.add_argument("--real", nargs="+", type=model_and_batch, default=[("vgg16", 128), ("resnet164", 64)],
                       metavar="MODEL:BATCH", help="vgg16:128 resnet164:64")
    group.add_argument("--rounds", type=int, default=7, help="measured rounds (7)")
    group.add_argument("--steps", type=int, default=5, help="of each contestant in a round (5)")
    options = parser.parse_args()
    if min(options.rounds, options.steps, options.profile_steps, options.microbatches) < 1:
        parser.error("--rounds, --steps, --profile-steps and --microbatches are at least 1")
    return quickly(options) if options.quick else options


def quickly(options):
    options.models, options.workers = ["vgg16", "resnet18"], [2, 4, 8]
    options.costs, options.links = ["systolic", "published"], ["free"]
    options.real, options.rounds, options.steps = [("resnet20", 64)], 3, 5
    return options


def main():
    options = parse()
    results = {"load_before": load_before()}
    if options.with_figures:
        results["figures"] = figures(options)
    if options.with_ablation:
        results["ablation"] = ablation(options)
    if options.with_real:
        results["real"] = real(options)
    write_results(options.out, results)


if __name__ == "__main__":
    main()
