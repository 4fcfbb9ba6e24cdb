"""torch_sparse_worker.py NETWORK.npz BATCH THREADS WAY: PyTorch's side of compare_sparse.py.

Speaks the protocol of bench/step_worker.cpp. The network's layers are arrays rows<i>, columns<i>, shape<i> of
the elements that are there; a layer without rows<i> is dense. Between layers: clamp to 0 .. ceiling.
WAY: masked (dense weights times a mask), dense (without it), coo or csr (torch.sparse, values as parameters; csr with
a gradient of our own).
"""

import sys
import warnings

import numpy
import torch

from torch_worker import answer, process_bytes, Training

warnings.simplefilter("ignore")  # CSR is in beta
LR, MOMENTUM, DECAY = 0.01, 0.9, 5e-4


class Masked(torch.nn.Module):
    """The mask holds where gradients are too: they pass through the same product."""

    def __init__(self, rows, columns, shape):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(*shape) * (2 * shape[0] / len(rows)) ** 0.5)
        self.bias = torch.nn.Parameter(torch.zeros(shape[0]))
        mask = torch.zeros(*shape)
        mask[rows, columns] = 1
        self.register_buffer("mask", mask)

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight * self.mask, self.bias)


class Coo(torch.nn.Module):
    def __init__(self, rows, columns, shape):
        super().__init__()
        self.values = torch.nn.Parameter(torch.randn(len(rows)) * (2 * shape[0] / len(rows)) ** 0.5)
        self.bias = torch.nn.Parameter(torch.zeros(shape[0]))
        self.shape, self.indices = tuple(shape), torch.stack([rows, columns])

    def forward(self, x):
        matrix = torch.sparse_coo_tensor(self.indices, self.values, self.shape)
        return torch.sparse.mm(matrix, x.t()).t() + self.bias


def begins(rows, count):
    return torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(rows, minlength=count).cumsum(0)])


class CsrProduct(torch.autograd.Function):
    """PyTorch 1.13 silently gives the values of a CSR matrix no gradient: here is one."""

    @staticmethod
    def forward(ctx, values, x, layer):
        ctx.save_for_backward(values, x)
        ctx.layer = layer
        return torch.sparse_csr_tensor(layer.begin, layer.columns, values, layer.shape) @ x

    @staticmethod
    def backward(ctx, gradient):
        values, x = ctx.saved_tensors
        layer = ctx.layer
        turned = torch.sparse_csr_tensor(layer.turned_begin, layer.turned_columns, values[layer.origin],
                                         layer.shape[::-1])
        of_values = (gradient[layer.rows] * x[layer.columns]).sum(1)
        return of_values, turned @ gradient.contiguous(), None


class Csr(torch.nn.Module):
    def __init__(self, rows, columns, shape):
        super().__init__()
        self.values = torch.nn.Parameter(torch.randn(len(rows)) * (2 * shape[0] / len(rows)) ** 0.5)
        self.bias = torch.nn.Parameter(torch.zeros(shape[0]))
        self.shape, self.rows, self.columns = tuple(shape), rows, columns
        self.begin = begins(rows, shape[0])
        self.origin = torch.argsort(columns * shape[0] + rows)
        self.turned_begin = begins(columns, shape[1])
        self.turned_columns = rows[self.origin]

    def forward(self, x):
        return CsrProduct.apply(self.values, x.t().contiguous(), self).t() + self.bias


def layer_of(network, i, way):
    shape = [int(extent) for extent in network[f"shape{i}"]]
    if way == "dense" or f"rows{i}" not in network:
        return torch.nn.Linear(shape[1], shape[0])
    rows, columns = (torch.from_numpy(network[f"{name}{i}"].astype(numpy.int64)) for name in ("rows", "columns"))
    return {"masked": Masked, "coo": Coo, "csr": Csr}[way](rows, columns, shape)


class Clamp(torch.nn.Module):
    def __init__(self, ceiling):
        super().__init__()
        self.ceiling = ceiling

    def forward(self, x):
        return x.clamp(0, self.ceiling) if self.ceiling else x.relu()


class SparseTraining(Training):
    def __init__(self, file, batch, way):
        self.idle_bytes = process_bytes("VmRSS")
        torch.manual_seed(1)
        network = numpy.load(file)
        layers = []
        for i in range(int(network["layers"])):
            layers += ([Clamp(float(network["ceiling"]))] if i > 0 else []) + [layer_of(network, i, way)]
        self.model = torch.nn.Sequential(*layers).train()
        self.images = torch.randn(batch, int(network["shape0"][1]))
        self.labels = torch.randint(0, 10, (batch,))
        self.loss_of = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=LR, momentum=MOMENTUM, weight_decay=DECAY)


def main():
    file, batch, threads, way = sys.argv[1:]
    torch.set_num_threads(int(threads))
    training = SparseTraining(file, int(batch), way)
    answer(**training.hello())
    for line in sys.stdin:
        answer(**training.go(int(line.split()[1])))


if __name__ == "__main__":
    main()
