#!/usr/bin/python3
"""Writes small networks as PyTorch exports them, one per pattern that its files have, as the judge of patterns_test.cpp.

Run with Debian's python3-torch and python3-onnx:  /usr/bin/python3 tests/onnx/record_patterns.py
"""
import json
import pathlib
import warnings

import onnx
import onnx.numpy_helper
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(20219)
warnings.filterwarnings("ignore")
CLASSES = 5


def conv_norm(inputs, outputs, kernel=3, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(outputs))


class Excitation(nn.Module):
    """Squeeze and excitation with a mean that keeps the axes; a mean that does not at the end."""

    def __init__(self):
        super().__init__()
        self.stem = conv_norm(3, 8)
        self.fc1, self.fc2 = nn.Conv2d(8, 2, 1), nn.Conv2d(2, 8, 1)
        self.fc = nn.Linear(8, CLASSES)

    def forward(self, x):
        x = F.silu(self.stem(x))
        x = x * torch.sigmoid(self.fc2(F.relu(self.fc1(x.mean((2, 3), keepdim=True)))))
        return self.fc(F.dropout(x.mean((2, 3)), 0.25, self.training))


class Hard(nn.Module):
    """Hard sigmoid and hard swish, relu6, and factors for channels from a linear layer."""

    def __init__(self):
        super().__init__()
        self.stem, self.body = conv_norm(3, 8, stride=2), conv_norm(8, 8, groups=8)
        self.gate = nn.Linear(8, 8)
        self.fc = nn.Linear(8, CLASSES)

    def forward(self, x):
        x = F.hardswish(self.stem(x))
        gate = F.hardsigmoid(self.gate(F.adaptive_avg_pool2d(x, 1).flatten(1)))
        x = F.relu6(self.body(x)) * gate.view(-1, 8, 1, 1)
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Shuffle(nn.Module):
    """Channels split and shuffled, with shapes that the graph computes."""

    def __init__(self):
        super().__init__()
        self.stem = conv_norm(3, 8)
        self.branch = nn.Sequential(*conv_norm(4, 4, groups=4), *conv_norm(4, 4, 1), nn.ReLU())
        self.fc = nn.Linear(8, CLASSES)

    def forward(self, x):
        left, right = self.stem(x).chunk(2, dim=1)
        x = torch.cat((left, self.branch(right)), dim=1)
        n, channels, height, width = x.size()
        x = x.view(n, 2, channels // 2, height, width).transpose(1, 2).contiguous().view(n, -1, height, width)
        return self.fc(x.mean([2, 3]))


class Branches(nn.Module):
    """Branches that are concatenated; average pooling pads with a node of its own."""

    def __init__(self):
        super().__init__()
        self.b1, self.b2 = conv_norm(3, 4, 1), conv_norm(3, 4)
        self.pool = conv_norm(3, 2, 1)
        self.fc = nn.Linear(13 * 2 * 2, CLASSES)

    def forward(self, x):
        pooled = F.relu(self.pool(F.avg_pool2d(x, 3, stride=1, padding=1)))
        x = torch.cat([F.relu(self.b1(x)), F.relu(self.b2(x)), pooled, F.max_pool2d(x, 3, stride=1, padding=1)], 1)
        return self.fc(F.adaptive_avg_pool2d(x, 2).view(x.size(0), -1))


class Residual(nn.Module):
    """Equal biases everywhere, which the exporter stores once; padding before a convolution; GELU; a matrix product."""

    def __init__(self):
        super().__init__()
        self.layer = nn.ModuleList([conv_norm(4, 4) for _ in range(3)])
        self.stem = nn.Conv2d(3, 4, 3)
        nn.init.zeros_(self.stem.bias)
        self.weight, self.bias = nn.Parameter(torch.randn(4, CLASSES)), nn.Parameter(torch.randn(CLASSES))

    def forward(self, x):
        x = F.gelu(self.stem(F.pad(x, (1, 1, 1, 1))))
        for one in self.layer:
            x = F.leaky_relu(x + one(x), 0.1)
        return torch.matmul(F.adaptive_avg_pool2d(x, 1).squeeze(3).squeeze(2), self.weight) + self.bias


def lively(network, equal):
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d) and not equal:
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
            nn.init.uniform_(module.running_mean, -0.5, 0.5)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return network


def flat(tensor):
    return [float(f"{x:.9g}") for x in tensor.flatten().tolist()]


def record(network, name, images, opset, training=False, batch=True):
    here = pathlib.Path(__file__).parent
    mode = torch.onnx.TrainingMode
    file = here / f"pattern_{name}.onnx"
    axes = {"dynamic_axes": {"x": {0: "n"}, "y": {0: "n"}}} if batch else {}
    torch.onnx.export(network, images, file, input_names=["x"], output_names=["y"], opset_version=opset,
                      training=mode.TRAINING if training else mode.EVAL, do_constant_folding=not training, **axes)
    state = network.state_dict()
    for one in onnx.load(str(file)).graph.initializer:  # running statistics may have moved
        if one.name in state:
            state[one.name].copy_(torch.from_numpy(onnx.numpy_helper.to_array(one).copy()))
    network.eval()
    with torch.no_grad():
        logits = network(images)
    names = sorted(one for one in state if not one.endswith("num_batches_tracked"))
    return {"file": file.name, "logits": flat(logits), "names": names if training else []}


def main():
    images = torch.randn(2, 3, 8, 8)
    cases = []
    for opset in (11, 13, 17):
        cases.append(record(lively(Excitation(), False), f"excitation{opset}", images, opset, training=True))
    cases.append(record(lively(Hard(), False), "hard", images, 13))
    cases.append(record(lively(Hard(), False), "hard14", images, 14, training=True))
    cases.append(record(lively(Shuffle(), False), "shuffle", images, 13, training=True))
    cases.append(record(lively(Shuffle(), False), "shuffle_fixed", images, 11, batch=False))
    cases.append(record(lively(Branches(), False), "branches", images, 12))
    cases.append(record(lively(Residual(), True), "residual", images, 13))
    cases.append(record(lively(Residual(), False), "residual_unfolded", images, 15, training=True))
    file = pathlib.Path(__file__).parent / "recorded_patterns.json"
    file.write_text(json.dumps({"images": flat(images), "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
