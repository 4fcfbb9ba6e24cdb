"""The networks of compare_sparse.py, for both sides: .toml and .mtx files for plait, .npz for PyTorch."""

import numpy

RADIX_CEILING = 32


def radix_layers(neurons, layers, seed=1):
    """Like plait's radixnet: nodes of 16 neurons, each joined to itself and to one 2^s further on; every group of
    layers but the first permutes its inputs."""
    nodes = neurons // 16
    stages = nodes.bit_length() - 1
    random = numpy.random.default_rng(seed)
    place = numpy.arange(neurons)
    made = []
    for layer in range(layers):
        if layer > 0 and layer % stages == 0:
            place = random.permutation(neurons)
        node = numpy.arange(neurons) % nodes
        joined = numpy.stack([node, (node + (1 << layer % stages)) % nodes], axis=1)
        columns = (joined[:, :, None] + nodes * numpy.arange(16)).reshape(neurons, 32)
        columns = numpy.sort(place[columns], axis=1)
        made.append((numpy.repeat(numpy.arange(neurons), 32), columns.reshape(-1), (neurons, neurons)))
    return made


def random_layers(widths, sparsity, seed=1):
    """A layer between each two widths, each element there with probability 1 - sparsity."""
    random = numpy.random.default_rng(seed)
    made = []
    for inputs, outputs in zip(widths, widths[1:]):
        rows, columns = numpy.nonzero(random.random((outputs, inputs)) >= sparsity)
        made.append((rows, columns, (outputs, inputs)))
    return made


def write_npz(path, layers, classes=10, ceiling=0):
    """With a dense head; ceiling 0: ReLU."""
    arrays = {"layers": len(layers) + 1, "ceiling": ceiling}
    for i, (rows, columns, shape) in enumerate(layers):
        arrays |= {f"rows{i}": rows, f"columns{i}": columns, f"shape{i}": shape}
    arrays[f"shape{len(layers)}"] = (classes, layers[-1][2][0])
    numpy.savez(path, **arrays)


def write_toml(folder, layers, classes=10):
    """The same network with ReLU as folder/net.toml."""
    lines = ['name = "mlp"', f"input = [{layers[0][2][1]}]"]
    for i, (rows, columns, shape) in enumerate(layers):
        matrix = [f"%%MatrixMarket matrix coordinate pattern general\n{shape[0]} {shape[1]} {len(rows)}"]
        matrix += [f"{row + 1} {column + 1}" for row, column in zip(rows, columns)]
        (folder / f"fc{i}.mtx").write_text("\n".join(matrix) + "\n")
        lines += ["[[block]]", f'name = "fc{i}"',
                  f'layers = [{{type = "sparse_linear", matrix = "fc{i}.mtx"}}, {{type = "relu"}}]']
    lines += ["[[block]]", 'name = "head"', f'layers = [{{type = "linear", out = {classes}}}]']
    (folder / "net.toml").write_text("\n".join(lines) + "\n")
    return folder / "net.toml"
