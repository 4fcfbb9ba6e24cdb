#!/usr/bin/python3
"""Writes small ONNX files as PyTorch exports them, with logits, as the judge of torch_files_test.cpp.

Run with Debian's python3-torch:  /usr/bin/python3 tests/onnx/record_torch.py
"""
import json
import pathlib
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(20217)
warnings.filterwarnings("ignore")


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(6, 8, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=2, bias=False)
        self.bn2 = nn.BatchNorm2d(8)
        self.downsample = nn.Sequential(nn.Conv2d(6, 8, 1, stride=2, bias=False), nn.BatchNorm2d(8))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.downsample(x))


class Network(nn.Module):
    """The blocks of torch_files_test.cpp."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(2, 6, 3, padding=1), nn.BatchNorm2d(6), nn.GELU(),
                                  nn.MaxPool2d(2))
        self.residual = Residual()
        self.pool = nn.AvgPool2d(2, padding=1)
        self.fc1 = nn.Linear(8 * 3 * 3, 7)
        self.fc2 = nn.Linear(7, 7, bias=False)
        self.fc3 = nn.Linear(7, 5)

    def forward(self, x):
        x = torch.flatten(self.pool(self.residual(self.stem(x))), 1)
        x = F.dropout(torch.tanh(self.fc1(x)), 0.5, self.training)
        x = torch.sigmoid(self.fc2(x))
        return self.fc3(torch.clamp(x, 0.0, 6.0))


class Layers(nn.Module):
    """The blocks of kLayers in torch_files_test.cpp."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 6, 3, padding=1)
        self.pool1 = nn.MaxPool2d(3, 2, ceil_mode=True)
        self.conv2 = nn.Conv2d(6, 8, 3)
        self.pool2 = nn.AvgPool2d(3, 2, padding=1, count_include_pad=False)
        self.pool3 = nn.AvgPool2d(2, 2, ceil_mode=True)
        self.fc = nn.Linear(8 * 2 * 2, 5)

    def forward(self, x):
        x = self.pool1(F.silu(self.conv1(x)))
        x = self.pool2(F.leaky_relu(self.conv2(x), 0.1))
        return self.fc(torch.flatten(self.pool3(x), 1))


class Operations(nn.Module):
    """The blocks of kOperationsOfTorch in torch_files_test.cpp."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(2, 12, 3, padding=1)
        self.depthwise = nn.Conv2d(6, 6, 3, padding=1, groups=6)
        self.squeeze = nn.Conv2d(12, 12, 1)
        self.down = nn.Conv2d(12, 12, 2, stride=2)
        self.norm = nn.LayerNorm([8, 4])
        self.up = nn.ConvTranspose2d(11, 8, 3, stride=2, padding=1, output_padding=1)
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = F.adaptive_avg_pool2d(F.relu6(self.stem(x)), (8, 4))
        left, right = x.chunk(2, 1)
        x = torch.cat((left, self.depthwise(right)), 1)
        n, c, h, w = x.size()
        x = torch.transpose(x.view(n, 3, c // 3, h, w), 1, 2).contiguous().view(n, -1, h, w)
        x = F.hardsigmoid(self.squeeze(F.adaptive_avg_pool2d(x, 1))) * x
        y = F.interpolate(F.hardswish(self.down(x)), size=x.shape[-2:])
        x = self.up(self.norm(x + y)[:, :11])
        x = F.interpolate(x * F.hardsigmoid(x), scale_factor=2, mode="bilinear", align_corners=False)
        return self.fc(x.mean([2, 3]))


def main():
    here = pathlib.Path(__file__).parent
    network = Network()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
            nn.init.uniform_(module.running_mean, -0.5, 0.5)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    network.eval()
    images = torch.randn(3, 2, 16, 16)
    options = {"input_names": ["x"], "output_names": ["y"], "opset_version": 13,
               "dynamic_axes": {"x": {0: "n"}, "y": {0: "n"}}}
    torch.onnx.export(network, images, here / "torch_folded.onnx", **options)
    torch.onnx.export(network, images, here / "torch_whole.onnx",
                      training=torch.onnx.TrainingMode.PRESERVE, **options)
    with torch.no_grad():
        logits = network(images)
    flat = lambda tensor: [float(f"{x:.9g}") for x in tensor.flatten().tolist()]
    (here / "recorded_torch.json").write_text(
        json.dumps({"images": flat(images), "logits": flat(logits)}) + "\n")
    layers = Layers().eval()
    torch.onnx.export(layers, images, here / "torch_layers.onnx", **options)
    with torch.no_grad():
        logits = layers(images)
    (here / "recorded_torch_layers.json").write_text(
        json.dumps({"images": flat(images), "logits": flat(logits)}) + "\n")
    operations = Operations().eval()
    nn.init.uniform_(operations.norm.weight, 0.5, 1.5)
    nn.init.uniform_(operations.norm.bias, -0.5, 0.5)
    torch.onnx.export(operations, images, here / "torch_operations.onnx",
                      **{**options, "opset_version": 17})
    with torch.no_grad():
        logits = operations(images)
    (here / "recorded_torch_operations.json").write_text(
        json.dumps({"images": flat(images), "logits": flat(logits)}) + "\n")


if __name__ == "__main__":
    main()
