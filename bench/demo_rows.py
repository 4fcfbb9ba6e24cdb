"""The rows of the demo's table: what is trained with which flags, what it costs, when to choose it."""

from dataclasses import dataclass

LINK = "100Mbit/s,100us"
WIDTHS = "2048-2048"  # of the perceptron that is pruned
SPARSITY = 0.9
DENSE_EPOCHS = 4
PRUNED_EPOCHS = 2


@dataclass
class Row:
    name: str  # of its run folder
    what: str
    flags: list
    cost: str
    choose: str
    seconds: float  # about, on two cores: for the time left
    rounds: int = 1


def rows_of_machine(workers, rounds):
    """The ways to share one network; the first is the reference of the others."""
    shared = ["--workers", str(workers)]
    pipeline = ["--strategy", "layerpipe", *shared]
    return [
        Row("serial", "serial", ["--strategy", "serial"], "-", "One worker: the reference for the rows below.", 18, rounds),
        Row("data_parallel", "data_parallel", ["--strategy", "data_parallel", *shared], "sends every gradient",
            "Choose it first: plain SGD, wherever the links keep up with the gradients.", 10, rounds),
        Row("layerpipe-sync", "layerpipe sync", [*pipeline, "--microbatches", str(max(4, workers))], "some waiting (bubble)",
            "Choose it where gradients are too large to send, or the network too large for a worker.", 11, rounds),
        Row("layerpipe-async", "layerpipe async", [*pipeline, "--microbatches", str(workers), "--pipeline", "async"],
            "weights {staleness} old", "Choose it where the synchronous pipeline waits too long.", 10, rounds),
        Row("parareal", "parareal", ["--strategy", "parareal", *shared, "--pieces", "2", "--replicas", str(workers // 2)],
            "changes the network", "Choose it for deep networks, small batches, and activations that do not fit.", 11, rounds),
    ]


def rows_of_nodes(workers):
    """The same network on two nodes with a slow link between them."""
    link = ["--nodes", "2", "--workers-per-node", str(workers // 2), "--link-between-nodes", LINK]
    return [
        Row("data_parallel-slow", "data_parallel", ["--strategy", "data_parallel", *link], "waits for the link",
            "Each step waits until all gradients have crossed the link.", 21),
        Row("daso-slow", "daso", ["--strategy", "daso", *link, "--warmup-epochs", "0", "--cooldown-epochs", "0"],
            "nodes differ for some steps", "Choose it where nodes are joined by a slow link.", 11),
    ]


def rows_of_sparse(workers, pruned):
    """A wide perceptron, then what plait prune wrote to `pruned`; the first is the reference of the others."""
    model = ["--model", pruned / "model.toml", "--init", pruned / "weights.safetensors"]
    return [
        Row("dense", "dense network", ["--model", f"mlp:{WIDTHS}"], "-", "A perceptron, one worker: the reference for the rows below.", 14),
        Row("pruned", f"pruned {100 * SPARSITY:.0f} %", model, f"{PRUNED_EPOCHS} more epochs",
            "Choose it where most weights can go: plait prune, then train on.", 2),
        Row("sparse_rows", "pruned, sparse_rows", [*model, "--strategy", "sparse_rows", "--workers", str(workers)],
            f"{PRUNED_EPOCHS} more epochs", "Choose it for sparse networks on several workers.", 2),
    ]
