"""torch_worker.py MODEL CxHxW BATCH THREADS FORMAT: PyTorch's side of compare_torch.py.

Speaks the protocol of bench/step_worker.cpp: "go N" on stdin, one line of JSON back.
FORMAT is contiguous or channels_last.
"""

import json
import re
import sys
import time

import torch

from torch_models import MODELS

LAYOUTS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


def process_bytes(field):
    with open("/proc/self/status") as status:
        return 1024 * int(re.search(rf"^{field}:\s+(\d+) kB", status.read(), re.MULTILINE).group(1))


def answer(**values):
    print(json.dumps(values), flush=True)


class Training:
    """A network, its optimizer and one made-up batch. `wrap` may put the network into another module."""

    def __init__(self, name, shape, batch, memory_format, seed=1, wrap=lambda model: model):
        self.idle_bytes = process_bytes("VmRSS")
        torch.manual_seed(seed)
        layout = LAYOUTS[memory_format]
        sample = [int(extent) for extent in shape.split("x")]
        self.model = wrap(MODELS[name](channels=sample[0]).to(memory_format=layout).train())
        self.images = torch.randn(batch, *sample).contiguous(memory_format=layout)
        self.labels = torch.randint(0, 10, (batch,))
        self.loss_of = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)

    def hello(self):
        return {"parameters": sum(p.numel() for p in self.model.parameters()), "idle_bytes": self.idle_bytes,
                "version": torch.__version__, "onednn": torch.backends.mkldnn.is_available()}

    def go(self, steps):
        seconds = []
        for _ in range(steps):
            begin = time.perf_counter()
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.loss_of(self.model(self.images), self.labels)
            loss.backward()
            self.optimizer.step()
            seconds.append(time.perf_counter() - begin)
        return {"seconds": seconds, "loss": loss.item(), "peak_bytes": process_bytes("VmHWM")}


def main():
    name, shape, batch, threads, memory_format = sys.argv[1:]
    torch.set_num_threads(int(threads))
    training = Training(name, shape, int(batch), memory_format)
    answer(**training.hello())
    for line in sys.stdin:
        answer(**training.go(int(line.split()[1])))


if __name__ == "__main__":
    main()
