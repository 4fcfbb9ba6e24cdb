#!/usr/bin/python3
"""LayerPipe: beside published figures, beside PipeDream in the simulator, and on two real cores.

Three parts: Figures and Gains are simulated, Real is measured. Prints Markdown tables and writes everything to
build/bench/layerpipe.json. bench/README.md says more.
"""

import argparse
from pathlib import Path

from layerpipe_real import real
from layerpipe_simulated import MODELS, figures, gains
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
    for part in ("figures", "gains", "real"):
        parser.add_argument(f"--no-{part}", dest=f"with_{part}", action="store_false", help="leave this part out")
    group = parser.add_argument_group("gains")
    group.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    group.add_argument("--workers", nargs="+", type=number_of_workers, default=list(range(2, 17)), help="2 to 16")
    group.add_argument("--no-measured", dest="measured", action="store_false", help="no profiles of this machine")
    group.add_argument("--profile-steps", type=int, default=3, help="of those profiles (3)")
    group.add_argument("--reuse-profiles", action="store_true", help="that an earlier run left, for what is simulated")
    group = parser.add_argument_group("real")
    group.add_argument("--real", nargs="+", type=model_and_batch, default=[("vgg16", 128), ("resnet164", 64)],
                       metavar="MODEL:BATCH", help="vgg16:128 resnet164:64")
    group.add_argument("--rounds", type=int, default=7, help="measured rounds (7)")
    group.add_argument("--steps", type=int, default=5, help="of each contestant in a round (5)")
    options = parser.parse_args()
    if min(options.rounds, options.steps, options.profile_steps) < 1:
        parser.error("--rounds, --steps and --profile-steps are at least 1")
    return options


def main():
    options = parse()
    results = {"load_before": load_before()}
    if options.with_figures:
        results["figures"] = figures(options)
    if options.with_gains:
        results["gains"] = gains(options)
    if options.with_real:
        results["real"] = real(options)
    write_results(options.out, results)


if __name__ == "__main__":
    main()
