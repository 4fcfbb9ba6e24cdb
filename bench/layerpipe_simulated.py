"""LayerPipe beside other pipelines in the simulator, on published, counted and measured costs. Nothing is run."""

import json
import statistics
import sys

from workers import PROGRAM, plait, print_table

MICROBATCHES = 32
BATCH = 128
FREE_LINKS = ("--link-inside-node", "1000TB/s,0s")
# Below this share LayerPipe counts as slower.
EVEN = 0.999

ZOO = ("vgg11", "vgg16", "vgg19", "resnet18", "resnet50", "resnet164")
PUBLISHED = ("vgg16", "resnet18", "resnet50", "alexnet")
MODELS = (*ZOO, "alexnet")

FIGURE_NAMES = ("gpipe", "1f1b", "zb-h2", "pipedream", "layerpipe sync", "layerpipe async")
# Total time / longest stage with 8 workers, node by node in the order of the numbers: of whole nodes, and of LayerPipe's line.
BOUNDS = {"vgg16": (4.22, 7.16), "resnet18": (6.97, 7.75), "resnet50": (7.59, 7.95), "alexnet": (2.97, 3.82)}
LISTED_FIGURES = {model: (straight,) * 4 + (line,) * 2 for model, (straight, line) in BOUNDS.items()}
# VGG-16 over a straight PipeDream at 7, 8 and 9 workers; of the GPU profile what the bounds come to.
LISTED_GAINS = {"MACs": (0.22, 0.30, 0.50), "GPU profile": (0.51, 0.70, 1.00)}


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
    subject, flags = ("--profile", str(path)), ("--replicas", "1", *FREE_LINKS)
    sync = plans(options, subject, [8], ("gpipe", "1f1b", "zb-h2", "layerpipe"), *flags)
    # With a second name a strategy that is not possible is left out instead of ending the answer.
    free = plans(options, subject, [8], ("layerpipe", "pipedream"), "--pipeline", "async", *flags)
    found = {name: sync.get((name.split()[0], 8)) for name in FIGURE_NAMES}
    found["layerpipe async"] = free.get(("layerpipe", 8))
    found["pipedream"] = free.get(("pipedream", 8))
    return {name: plan and plan["speedup"] for name, plan in found.items()}


def figures(options):
    """Speedups with 8 workers by model; prints them beside the listed ones."""
    print("## Figures (simulated)\n")
    print(f"Speedup over one worker, published GPU profiles, 8 workers, {MICROBATCHES} microbatches, links that take "
          "no time, no replicas; in brackets the bound, which no schedule exceeds.\n")
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


def subjects(options):
    """Model, where its costs come from, flags of plait plan."""
    for model in options.models:
        if model in ZOO:
            yield model, "MACs", ("--model", model, "--batch", str(BATCH), "--cost", "analytic")
            if options.measured:
                yield model, "measured", ("--profile", str(measured_profile(options, model)))
        path = published(options, model) if model in PUBLISHED else None
        if path:
            yield model, "published", ("--profile", str(path))


def gain(mine, other, workers):
    """`mine` and `other` are strategies' plans by number of workers; None where they never meet."""
    both = [n for n in workers if n in mine and n in other]
    if not both:
        return None
    gains = {n: other[n]["step_seconds"] / mine[n]["step_seconds"] for n in both}
    best, worst = max(both, key=gains.get), min(both, key=gains.get)
    return {"gains": gains, "mean": statistics.mean(gains.values()), "best": best, "worst": worst,
            "bytes": {"layerpipe": mine[best]["bytes_per_step"], "other": other[best]["bytes_per_step"]},
            "lost": [n for n in both if gains[n] < EVEN]}


def gains_of(options, subject):
    """By mode and other strategy."""
    result = {}
    for mode, others in (("async", ("pipedream", "pipedream-replicated")), ("sync", ("1f1b",))):
        found = plans(options, subject, options.workers, ("layerpipe", *others), "--pipeline", mode)
        by_name = {name: {n: plan for (strategy, n), plan in found.items() if strategy == name}
                   for name in ("layerpipe", *others)}
        for other in others:
            result[mode, other] = gain(by_name["layerpipe"], by_name[other], options.workers)
    return result


def as_gain(factor):
    return f"{100 * (factor - 1):+.1f} %"


def megabytes(count):
    return f"{count / 1e6:.0f}" if count >= 1e7 else f"{count / 1e6:.1f}"


def gain_row(model, costs, mode, other, g):
    if g is None:
        return (model, costs, mode, other, *["never both possible"] + ["-"] * 5)
    lost = f"{len(g['lost'])} of {len(g['gains'])}"
    if g["lost"]:
        lost += f" (N = {', '.join(map(str, g['lost']))})"
    return (model, costs, mode, other, as_gain(g["mean"]), f"{as_gain(g['gains'][g['best']])} (N = {g['best']})",
            f"{as_gain(g['gains'][g['worst']])} (N = {g['worst']})", lost, megabytes(g["bytes"]["layerpipe"]),
            megabytes(g["bytes"]["other"]))


GAIN_HEADINGS = ("network", "costs", "LayerPipe", "over", "mean", "best", "worst", "lost", "sends MB at best",
                 "the other MB")


def print_mean(results, mode, other):
    found = [r["gain"] for r in results if (r["mode"], r["other"]) == (mode, other) and r["gain"]]
    if found:
        best = max(g["gains"][g["best"]] for g in found)
        mean = statistics.mean(g["mean"] for g in found)
        print(f"- {mode} over {other}: mean of all networks and costs {as_gain(mean)}, best {as_gain(best)}, lost at "
              f"{sum(len(g['lost']) for g in found)} of {sum(len(g['gains']) for g in found)}.")


def at_seven_to_nine(options):
    """Straight pipelines on free links, beside the listed gains."""
    path = published(options, "vgg16")
    cases = [("MACs", "MACs, 3x32x32", ("--model", "vgg16", "--data-shape", "3x32x32", "--batch", str(BATCH), "--cost", "analytic")),
             ("MACs", "MACs, 3x224x224", ("--model", "vgg16", "--data-shape", "3x224x224", "--batch", str(BATCH), "--cost", "analytic"))]
    if path:
        cases.append(("GPU profile", "GPU profile", ("--profile", str(path))))
    results = {}
    for listed, label, subject in cases:
        found = plans(options, subject, (7, 8, 9), ("layerpipe", "pipedream"), "--pipeline", "async", "--replicas", "1",
                      *FREE_LINKS)
        gains = [found["pipedream", n]["step_seconds"] / found["layerpipe", n]["step_seconds"] for n in (7, 8, 9)]
        results[label] = {"gains": gains, "listed": LISTED_GAINS[listed]}
    print("VGG-16, async, no replicas, links that take no time: gain over a straight PipeDream (listed).\n")
    print_table(("costs", "7 workers", "8 workers", "9 workers"),
                ((label, *(f"{as_gain(g)} ({as_gain(1 + l)})" for g, l in zip(r["gains"], r["listed"])))
                 for label, r in results.items()))
    if not path:
        print(f"Skipped: the GPU profile, because {options.profiles / 'vgg16.txt'} is not there.\n")
    return results


def gains(options):
    """LayerPipe's throughput over that of the others; prints tables."""
    n = options.workers
    print("## Gains (simulated)\n")
    print(f"Throughput of LayerPipe over that of others, N = {', '.join(map(str, n))} workers, {MICROBATCHES} "
          "microbatches, plait plan's usual links. lost: at how many N the other is faster.\n")
    for model in options.models:
        if model in PUBLISHED and published(options, model) is None:
            print(f"Skipped: {model} published, because {options.profiles / model}.txt is not there.\n")
    results = []
    for model, costs, subject in subjects(options):
        print(f"{PROGRAM}: {model}, {costs}: plans", file=sys.stderr)
        results += [{"model": model, "costs": costs, "mode": mode, "other": other, "gain": g}
                    for (mode, other), g in gains_of(options, subject).items()]
    print_table(GAIN_HEADINGS, (gain_row(r["model"], r["costs"], r["mode"], r["other"], r["gain"]) for r in results))
    for mode, other in (("async", "pipedream"), ("async", "pipedream-replicated"), ("sync", "1f1b")):
        print_mean(results, mode, other)
    print()
    return {"by_network": results, "vgg16_at_7_8_9": at_seven_to_nine(options)}
