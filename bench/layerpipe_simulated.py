"""LayerPipe on published profiles, beside the bounds that no schedule exceeds. Nothing is run."""

import json
import sys

from workers import PROGRAM, plait, print_table

MICROBATCHES = 32
BATCH = 128
FREE_LINKS = ("--link-inside-node", "1000TB/s,0s")

ZOO = ("vgg11", "vgg16", "vgg19", "resnet18", "resnet50", "resnet164")
PUBLISHED = ("vgg16", "resnet18", "resnet50", "alexnet")
MODELS = (*ZOO, "alexnet")

FIGURE_NAMES = ("gpipe", "1f1b", "1f1b-interleaved", "zb-h2", "zb-v", "pipedream", "layerpipe sync", "layerpipe async")
FREE = ("pipedream", "layerpipe async")
# Total time / longest stage with 8 workers, node by node in the order of the numbers: of whole nodes, and of LayerPipe's line.
BOUNDS = {"vgg16": (4.22, 7.16), "resnet18": (6.97, 7.75), "resnet50": (7.59, 7.95), "alexnet": (2.97, 3.82)}
# A worker with several pieces can be more even than one with whole stages: only the number of workers bounds it.
IN_PIECES = ("1f1b-interleaved", "zb-v")
WORKERS = 8


def bound(name, straight, line):
    return WORKERS if name in IN_PIECES else line if name.startswith("layerpipe") else straight


LISTED_FIGURES = {model: [bound(name, *of) for name in FIGURE_NAMES] for model, of in BOUNDS.items()}


def plans(options, subject, workers, strategies, *flags):
    """By strategy and number of workers, those that are possible."""
    answer = json.loads(plait(options.build, "plan", *subject, "--microbatches", str(MICROBATCHES), "--workers",
                              ",".join(map(str, workers)), "--strategies", ",".join(strategies), *flags, "--json"))
    return {(plan["strategy"], plan["workers"]): plan for plan in answer["plans"]}


def published(options, model):
    """The file, or None where it is not there."""
    path = options.profiles / f"{model}.txt"
    return path if path.exists() else None


def figures_of(options, path):
    subject, flags = ("--profile", str(path)), FREE_LINKS
    sync = plans(options, subject, [WORKERS], [name.split()[0] for name in FIGURE_NAMES if name not in FREE], *flags)
    # With a second name a strategy that is not possible is left out instead of ending the answer.
    free = plans(options, subject, [WORKERS], ("layerpipe", "pipedream"), "--pipeline", "async", *flags)
    found = {name: sync.get((name.split()[0], WORKERS)) for name in FIGURE_NAMES}
    found["layerpipe async"] = free.get(("layerpipe", WORKERS))
    found["pipedream"] = free.get(("pipedream", WORKERS))
    return {name: plan and plan["speedup"] for name, plan in found.items()}


def figures(options):
    """Speedups with 8 workers by model; prints them beside the listed ones."""
    print("## Figures (simulated)\n")
    print(f"Speedup over one worker, published GPU profiles, {WORKERS} workers, {MICROBATCHES} microbatches, links that take "
          "no time; in brackets the bound, which no schedule exceeds.\n")
    results = {}
    for model in LISTED_FIGURES:
        path = published(options, model)
        if path is None:
            print(f"Skipped: {model}, because {options.profiles / model}.txt is not there.\n")
            continue
        results[model] = figures_of(options, path)
    if results:
        print_table(("profile", *FIGURE_NAMES), (figure_row(model, found) for model, found in results.items()))
    return {model: {"found": found, "listed": dict(zip(FIGURE_NAMES, LISTED_FIGURES[model]))}
            for model, found in results.items()}


def figure_row(model, found):
    def cell(speedup, listed):
        return f"{'none' if speedup is None else format(speedup, '.2f')} ({listed:.2f})"
    return (model, *(cell(found[name], listed) for name, listed in zip(FIGURE_NAMES, LISTED_FIGURES[model])))


def measured_profile(options, model):
    path = options.out.parent / f"{model}_{BATCH}_profile.json"
    if options.reuse_profiles and path.exists():
        return path
    print(f"{PROGRAM}: {model}: profile", file=sys.stderr)
    path.parent.mkdir(parents=True, exist_ok=True)
    plait(options.build, "profile", "--model", model, "--batch", str(BATCH), "--threads", "1", "--steps",
          str(options.profile_steps), "--out", str(path))
    return path
