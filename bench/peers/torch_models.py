"""The benchmark's networks in PyTorch, layer for layer those of plait's zoo."""

from torch import nn


def lenet(channels=1, classes=10):
    """20 and 50 filters of 5x5, each pooled, then 500 hidden units (for 28x28 images)."""
    return nn.Sequential(
        nn.Conv2d(channels, 20, 5), nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(800, 500), nn.ReLU(inplace=True), nn.Linear(500, classes))


def vgg16(channels=3, classes=10):
    """VGG-16 with BatchNorm for 32x32 images: 14,728,266 parameters."""
    layers, previous = [], channels
    for width, convolutions in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(convolutions):
            layers += [nn.Conv2d(previous, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
            previous = width
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, classes))


class Bottleneck(nn.Module):
    """Pre-activation: BN-ReLU-1x1, BN-ReLU-3x3, BN-ReLU-1x1. A stage's first block projects its shortcut
    from the activated input; the stride sits in its first 1x1."""

    def __init__(self, inputs, width, outputs, stride, projects):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, width, 1, stride=stride, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False) if projects else None

    def forward(self, x):
        y = self.relu(self.bn1(x))
        skip = x if self.shortcut is None else self.shortcut(y)
        y = self.conv2(self.relu(self.bn2(self.conv1(y))))
        return self.conv3(self.relu(self.bn3(y))) + skip


def preact_resnet(depth, channels=3, classes=10):
    """ResNet-(9n+2) for 32x32 images; 164: 1,703,258 parameters."""
    blocks_per_stage = (depth - 2) // 9
    layers, inputs = [nn.Conv2d(channels, 16, 3, padding=1, bias=False)], 16
    for stage, width in enumerate([16, 32, 64]):
        for block in range(blocks_per_stage):
            stride = 2 if stage > 0 and block == 0 else 1
            layers.append(Bottleneck(inputs, width, 4 * width, stride, projects=block == 0))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.BatchNorm2d(inputs), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(inputs, classes))


MODELS = {
    "lenet": lenet,
    "vgg16": vgg16,
    "resnet164": lambda channels=3, classes=10: preact_resnet(164, channels, classes),
}
