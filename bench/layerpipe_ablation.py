"""What each part of LayerPipe brings, in the simulator: backward in one task, weight gradients apart, backward_data divided,
replicas. At equal microbatches, links and bound of staleness. Nothing is run."""

import json
import statistics
import sys

from layerpipe_simulated import BATCH, FREE_LINKS, PUBLISHED, ZOO, measured_profile, published
from workers import PROGRAM, plait, print_table

MICROBATCHES = 8
COSTS = ("MACs", "systolic", "measured", "published")
LINKS = {"free": FREE_LINKS, "10 GB/s": ()}
MODES = ("async", "sync")
STRAIGHT = {"async": "pipedream", "sync": "1f1b"}
CLAIMED = (7, 8, 9)
# name -> strategy and --cuts; before them comes the straight pipeline, which depends on the mode.
STEPS = {"G apart": ("layerpipe", "tasks"), "D divided": ("layerpipe", "samples"),
         "replicas": ("layerpipe-replicated", "samples")}
LAYERPIPE = "D divided"
REPLICATED = "pipedream-replicated"


def subjects(options):
    """Model, where its costs come from, flags of plait plan."""
    for model in options.models:
        zoo = ("--model", model, "--batch", str(BATCH))
        flags = {"MACs": (*zoo, "--cost", "analytic"), "systolic": (*zoo, "--cost", f"systolic:{options.array}")}
        for costs in options.costs:
            if costs in flags and model in ZOO:
                yield model, costs, flags[costs]
            elif costs == "measured" and model in ZOO:
                yield model, costs, ("--profile", str(measured_profile(options, model)))
            elif costs == "published" and model in PUBLISHED and published(options, model):
                yield model, costs, ("--profile", str(published(options, model)))


def plans_of(options, subject, mode, links):
    """By step of the ablation, then by number of workers, those plans that are possible."""
    shared = (*subject, "--microbatches", str(options.microbatches), "--workers", ",".join(map(str, options.workers)),
              "--pipeline", mode, *LINKS[links])

    def ask(strategies, *flags):
        # With a second name a strategy that is not possible is left out instead of ending the answer.
        answer = json.loads(plait(options.build, "plan", *shared, "--strategies", ",".join((*strategies, "serial")), *flags,
                                  "--json"))
        found = {strategy: {} for strategy in strategies}
        for plan in answer["plans"]:
            if plan["strategy"] in found:
                found[plan["strategy"]][plan["workers"]] = plan
        return found

    straight = STRAIGHT[mode]
    baselines = [straight, REPLICATED] if mode == "async" else [straight]
    found = ask(baselines)
    found["straight"] = found.pop(straight)
    for step, (strategy, cuts) in STEPS.items():
        found[step] = ask([strategy], "--cuts", cuts)[strategy]
    return found


def gains(mine, other):
    """Throughput of one over another by number of workers, where both are possible."""
    return {n: other[n]["step_seconds"] / mine[n]["step_seconds"] for n in mine if n in other}


def as_gain(factor):
    return f"{100 * (factor - 1):+.0f} %"


def mean_gain(mine, other):
    found = gains(mine, other)
    return as_gain(statistics.mean(found.values())) if found else "-"


def at_claimed(mine, other):
    found = gains(mine, other)
    return " / ".join(as_gain(found[n]) if n in found else "-" for n in CLAIMED)


def best(mine, other):
    found = gains(mine, other)
    if not found:
        return "-"
    n = max(found, key=found.get)
    return f"{as_gain(found[n])} ({n})"


def mean_ratio(mine, other, key):
    both = [n for n in mine if n in other and other[n][key] > 0]
    return f"{statistics.mean(mine[n][key] / other[n][key] for n in both):.2f}" if both else "-"


def oldest(plans):
    return max((plan["staleness_max"] for plan in plans.values()), default=0)


HEADINGS = ("network", "costs", "links", *STEPS, "best of LayerPipe (N)", " / ".join(map(str, CLAIMED)), "memory", "bytes",
            "staleness")
REPLICATED_HEADINGS = ("network", "costs", "links", "LayerPipe", "best (N)", "with replicas", "best (N)")


def row(model, costs, links, found):
    straight, mine = found["straight"], found[LAYERPIPE]
    return (model, costs, links, *(mean_gain(found[step], straight) for step in STEPS), best(mine, straight),
            at_claimed(mine, straight), mean_ratio(mine, straight, "peak_memory_bytes"),
            mean_ratio(mine, straight, "bytes_per_step"), f"{oldest(mine)} / {oldest(straight)}")


def replicated_row(model, costs, links, found):
    other = found[REPLICATED]
    return (model, costs, links, mean_gain(found[LAYERPIPE], other), best(found[LAYERPIPE], other),
            mean_gain(found["replicas"], other), best(found["replicas"], other))


def summary(results, mode):
    """Means over networks of LayerPipe over the straight pipeline, by costs and links."""
    for costs in COSTS:
        for links in LINKS:
            found = [gains(r["found"][LAYERPIPE], r["found"]["straight"]) for r in results
                     if (r["mode"], r["costs"], r["links"]) == (mode, costs, links)]
            found = [g for g in found if g]
            if not found:
                continue
            every = [statistics.mean(g.values()) for g in found]
            claimed = [g[n] for g in found for n in CLAIMED if n in g]
            print(f"- {mode}, {costs}, links {links}: mean {as_gain(statistics.mean(every))} over {len(found)} network(s); "
                  + (f"with 7 to 9 workers mean {as_gain(statistics.mean(claimed))}, most {as_gain(max(claimed))}."
                     if claimed else ""))


def ablation(options):
    """Prints what every part of LayerPipe brings; gives all plans by network, costs, links and mode."""
    n = options.workers
    print("## Ablation (simulated)\n")
    print(f"N = {', '.join(map(str, n))} workers, {options.microbatches} microbatches. Gain in throughput over the straight "
          "pipeline with backward in one task (async: pipedream, sync: 1f1b), mean over N: weight gradients apart, then "
          "backward_data divided by microbatches too, which is LayerPipe, then replicas as well. memory (of the fullest worker) "
          "and bytes: LayerPipe's share of the straight pipeline's, mean over N. staleness: LayerPipe / straight, the most "
          "over N.\n")
    results = []
    for model, costs, subject in subjects(options):
        for mode in options.modes:
            for links in options.links:
                print(f"{PROGRAM}: {model}, {costs}, {mode}, links {links}", file=sys.stderr)
                results.append({"model": model, "costs": costs, "links": links, "mode": mode,
                                "found": plans_of(options, subject, mode, links)})
    for mode in options.modes:
        of_mode = [r for r in results if r["mode"] == mode]
        print(f"**{mode}**, over {STRAIGHT[mode]}:\n")
        print_table(HEADINGS, (row(r["model"], r["costs"], r["links"], r["found"]) for r in of_mode))
        summary(results, mode)
        print()
    if "async" in options.modes:
        print(f"**async**, over {REPLICATED}, mean over N:\n")
        print_table(REPLICATED_HEADINGS, (replicated_row(r["model"], r["costs"], r["links"], r["found"]) for r in results
                                          if r["mode"] == "async"))
    return results
