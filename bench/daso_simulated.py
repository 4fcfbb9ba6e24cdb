"""Many nodes of four workers, as the simulator sees them."""

import json

from workers import plait, print_table

RATES = ("10Gbit/s", "100Gbit/s")
PER_WORKER = 64
# Blocking and inside nodes first at every step: synchronous, as libraries that know nodes do it.
WHO = {"data_parallel": ["data_parallel"], "by node, every step": ["local_sgd", "--local-steps", "1"],
       "local_sgd, every 8": ["local_sgd", "--local-steps", "8"], "daso, B 4, W 1": ["daso"],
       "daso, B 8, W 2": ["daso", "--exchange-every", "8", "--exchange-wait", "2"]}


def step(options, rate, nodes, strategy, *flags):
    costs = ["--model", "resnet50", "--cost", "analytic"]
    if options.profile.is_file():
        costs = ["--profile", str(options.profile)]
    said = json.loads(plait(options.build, "plan", *costs, "--nodes", str(nodes), "--workers-per-node", "4", "--batch",
                            str(nodes * 4 * PER_WORKER), "--link-between-nodes", f"{rate},20us", "--strategies",
                            strategy, *flags, "--json"))
    return said["plans"][0], said["cost"]


def simulated(options):
    print("## Simulated\n")
    results = []
    for rate in RATES:
        for nodes in options.nodes:
            for name, flags in WHO.items():
                plan, cost = step(options, rate, nodes, *flags)
                results.append({"rate": rate, "nodes": nodes, "name": name, **plan})
    print(f"Simulated, nothing was run: resnet50, 4 workers per node, {PER_WORKER} samples per worker; costs: "
          f"{cost.rpartition('/')[2]}. Share of perfect scaling (speedup / workers).\n")
    print_table(("link", "nodes x workers", *WHO),
                ((rate, f"{nodes} x 4", *(share(results, rate, nodes, name) for name in WHO))
                 for rate in RATES for nodes in options.nodes))
    return results


def share(results, rate, nodes, name):
    one = next(r for r in results if (r["rate"], r["nodes"], r["name"]) == (rate, nodes, name))
    return f"{100 * one['speedup'] / (4 * nodes):.0f} %"
