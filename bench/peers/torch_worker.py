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


def process_bytes(field):
    with open("/proc/self/status") as status:
        return 1024 * int(re.search(rf"^{field}:\s+(\d+) kB", status.read(), re.MULTILINE).group(1))


def answer(**values):
    print(json.dumps(values), flush=True)


def main():
    name, shape, batch, threads, memory_format = sys.argv[1:]
    idle_bytes = process_bytes("VmRSS")
    torch.manual_seed(1)
    torch.set_num_threads(int(threads))
    layout = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}[memory_format]
    sample = [int(extent) for extent in shape.split("x")]
    model = MODELS[name](channels=sample[0]).to(memory_format=layout).train()
    images = torch.randn(int(batch), *sample).contiguous(memory_format=layout)
    labels = torch.randint(0, 10, (int(batch),))
    loss_of = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    answer(parameters=sum(p.numel() for p in model.parameters()), idle_bytes=idle_bytes,
           version=torch.__version__, onednn=torch.backends.mkldnn.is_available())

    for line in sys.stdin:
        seconds = []
        for _ in range(int(line.split()[1])):
            begin = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(model(images), labels)
            loss.backward()
            optimizer.step()
            seconds.append(time.perf_counter() - begin)
        answer(seconds=seconds, loss=loss.item(), peak_bytes=process_bytes("VmHWM"))


main()
