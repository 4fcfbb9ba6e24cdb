#!/usr/bin/python3
"""Records names, shapes and logits of PyTorch's networks, as the judge of weights_file_test.cpp.

Run with Debian's python3-torch and python3-torchvision:  /usr/bin/python3 tests/cli/record_torch_names.py
VGG and ResNet are nested as torchvision nests them, with their small stems; the others are torchvision's
own. Weights are made by a formula that the test repeats, so only names, shapes and logits are kept.
"""
import json
import pathlib

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision.models as zoo


class Basic(nn.Module):
    def __init__(self, into, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(into, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = None
        if stride != 1 or into != width:
            self.downsample = nn.Sequential(nn.Conv2d(into, width, 1, stride, bias=False),
                                            nn.BatchNorm2d(width))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    def __init__(self, into, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(into, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.downsample = None
        if stride != 1 or into != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(into, 4 * width, 1, stride, bias=False),
                                            nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(F.relu(self.bn2(self.conv2(y)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, block, sizes, width, large):
        super().__init__()
        self.large = large
        self.conv1 = nn.Conv2d(3, width, 7 if large else 3, 2 if large else 1, 3 if large else 1,
                               bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        into = width
        self.stages = len(sizes)
        for stage, size in enumerate(sizes):
            blocks = []
            for i in range(size):
                stride = 2 if i == 0 and stage > 0 else 1
                blocks.append(block(into, width << stage, stride))
                into = (width << stage) * (4 if block is Bottleneck else 1)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(into, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        if self.large:
            x = F.max_pool2d(x, 3, 2, 1)
        for stage in range(self.stages):
            x = getattr(self, f"layer{stage + 1}")(x)
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class VGG(nn.Module):
    def __init__(self, sizes, large):
        super().__init__()
        layers, into = [], 3
        for size, width in zip(sizes, (64, 128, 256, 512, 512)):
            for _ in range(size):
                layers += [nn.Conv2d(into, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
                into = width
            layers.append(nn.MaxPool2d(2, 2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(512, 10)
        if large:
            self.classifier = nn.Sequential(
                nn.Linear(512 * 2 * 2, 4096), nn.ReLU(), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(),
                nn.Dropout(), nn.Linear(4096, 10))

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


def spread(number, count):
    """count numbers in [-1/2, 1/2)."""
    i = torch.arange(count, dtype=torch.int64)
    return ((i * 2654435761 + number * 40503) % 2**32).double() / 2**32 - 0.5


def values(number, name, shape, gain):
    u = spread(number, shape.numel())
    if len(shape) > 1:
        u = u * gain * (24 / shape[1:].numel()) ** 0.5  # variance gain^2 2 / fan_in
    elif name.endswith("running_var"):
        u = 1 + 0.5 * u
    elif name.endswith("weight"):
        u = 1 + 0.2 * u
    else:
        u = 0.2 * u
    return u.float().reshape(shape)


def record(network, side, gain=1):
    """With a gain for which the logits of two images differ clearly and float32 is exact enough."""
    state = network.state_dict()
    names = [name for name in state if not name.endswith("num_batches_tracked")]
    for number, name in enumerate(names):
        state[name] = values(number, name, state[name].shape, gain)
    network.load_state_dict(state)
    network = network.double().eval()
    images = 2 * spread(1000, 2 * 3 * side * side).float().reshape(2, 3, side, side)
    with torch.no_grad():
        logits = network(images.double())
    return {"side": side,
            "gain": gain,
            "tensors": [[name, list(state[name].shape)] for name in names],
            "counters": [name for name in state if name.endswith("num_batches_tracked")],
            "logits": [float(f"{x:.7g}") for x in logits.flatten().tolist()]}


def main():
    recorded = {
        "resnet20": record(ResNet(Basic, (3, 3, 3), 16, False), 32),
        "resnet18": record(ResNet(Basic, (2, 2, 2, 2), 64, True), 64),
        "resnet50": record(ResNet(Bottleneck, (3, 4, 6, 3), 64, False), 32),
        "vgg11": record(VGG((1, 1, 2, 2, 2), False), 32),
        "vgg16": record(VGG((2, 2, 3, 3, 3), True), 64),
        "densenet121": record(zoo.densenet121(num_classes=10), 64, 1.7),
        "googlenet": record(zoo.googlenet(num_classes=10, aux_logits=False, init_weights=False), 64, 1.6),
        "squeezenet": record(zoo.squeezenet1_0(num_classes=10), 64, 2),
        "mobilenet_v2": record(zoo.mobilenet_v2(num_classes=10), 64, 1.1),
        "efficientnet_b0": record(zoo.efficientnet_b0(num_classes=10), 64, 1.5),
    }
    lines = ",\n".join(f' "{name}": {json.dumps(one)}' for name, one in recorded.items())
    pathlib.Path(__file__).with_name("recorded_torch_names.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
