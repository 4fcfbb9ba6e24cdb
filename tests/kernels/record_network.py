#!/usr/bin/python3
"""Records ten SGD steps of a small residual network in PyTorch, as the judge of network_test.cpp.

Run with Debian's python3-torch:  /usr/bin/python3 tests/kernels/record_network.py
Images and initial weights are float32 values; PyTorch computes in float64.
"""
import json
import pathlib

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(20211)


def numbers(tensor):
    flat = tensor.detach().flatten().tolist()
    return {"shape": list(tensor.shape), "data": [float(f"{x:.9g}") for x in flat]}


class Stem(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class Residual(nn.Module):
    """conv-norm-relu-conv-norm, plus the input, relu."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(8)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + x)


class PreActivation(nn.Module):
    """norm-relu, then conv-norm-relu-conv plus a 1x1 shortcut; both of stride 2."""

    def __init__(self):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(8)
        self.conv1 = nn.Conv2d(8, 12, 3, stride=2, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(12)
        self.conv2 = nn.Conv2d(12, 12, 3, padding=1, bias=True)
        self.shortcut = nn.Conv2d(8, 12, 1, stride=2, bias=False)

    def forward(self, x):
        x = F.relu(self.norm1(x))
        y = F.relu(self.norm2(self.conv1(x)))
        return self.conv2(y) + self.shortcut(x)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(12, 5)

    def forward(self, x):
        return self.linear(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


def build():
    parts = [("stem", Stem()), ("residual", Residual()), ("pool", nn.MaxPool2d(2)),
             ("preactivation", PreActivation()), ("head", Head())]
    network = nn.Sequential()
    for name, part in parts:
        network.add_module(name, part)
    return network.double()


def snapshot(network):
    return {k: numbers(v) for k, v in network.state_dict().items() if "num_batches" not in k}


def main():
    network = build()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(parameter.float())
    images = torch.randn(8, 3, 8, 8, dtype=torch.float32).double()
    labels = torch.randint(0, 5, (8,))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    result = {"torch": torch.__version__, "learning_rate": 0.1, "momentum": 0.9,
              "weight_decay": 5e-4, "images": numbers(images), "labels": labels.tolist(),
              "initial": snapshot(network), "losses": []}
    for step in range(10):
        optimizer.zero_grad()
        loss = F.cross_entropy(network(images), labels)
        loss.backward()
        if step == 0:
            result["gradients"] = {k: numbers(p.grad) for k, p in network.named_parameters()}
        optimizer.step()
        result["losses"].append(float(f"{loss.item():.9g}"))
    result["final"] = snapshot(network)
    network.eval()
    result["evaluation"] = numbers(network(images))
    lines = ",\n".join(f'"{k}":{json.dumps(v, separators=(",", ":"))}' for k, v in result.items())
    path = pathlib.Path(__file__).with_name("recorded_network.json")
    path.write_text(f"{{{lines}}}\n")
    print(f"{path.name}: {path.stat().st_size} bytes; losses {result['losses']}")


if __name__ == "__main__":
    main()
