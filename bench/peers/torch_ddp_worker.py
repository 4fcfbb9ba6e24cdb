"""torch_ddp_worker.py MODEL CxHxW BATCH WORLD FORMAT: DistributedDataParallel (gloo) for compare_parallel.py.

WORLD processes share the BATCH, each with one thread on one of the cores it may use. The one that is started
starts the others and speaks for all the protocol of bench/step_worker.cpp: "go N" on stdin, one line of JSON back.
They speak it with each other too; whose stdin ends, ends. `seconds` are those of process 0, `loss` is the
mean, bytes are the sum over the processes. FORMAT is contiguous or channels_last.
"""

import ctypes
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile

PR_SET_PDEATHSIG = 1
PATIENCE = datetime.timedelta(minutes=2)  # with a process that does not come, or is gone


class Other:
    """One of the processes beside process 0. Its stdin ends with process 0; where it does not listen, a signal
    ends it."""

    def __init__(self, rank, rendezvous):
        libc = ctypes.CDLL(None)
        self.process = subprocess.Popen([sys.executable, *sys.argv, str(rank), rendezvous], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))

    def tell(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"torch_ddp_worker: a process ended early (exit {self.process.wait()})")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def serve(arguments, rank, rendezvous, others):
    name, shape, batch, world, memory_format = arguments
    # Only now: every thread of torch, gloo and BLAS inherits the core.
    import torch
    from torch import distributed
    from torch.nn.parallel import DistributedDataParallel
    from torch_worker import Training, answer

    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=int(world),
                                   timeout=PATIENCE)
    training = Training(name, shape, int(batch) // int(world), memory_format, seed=1 + rank,
                        wrap=DistributedDataParallel)
    hello = training.hello()
    hello["idle_bytes"] += sum(other.answer()["idle_bytes"] for other in others)
    answer(**hello)
    for line in sys.stdin:
        for other in others:
            other.tell(line)
        distributed.barrier()
        mine = training.go(int(line.split()[1]))
        all_of_them = [mine, *(other.answer() for other in others)]
        answer(seconds=mine["seconds"], loss=sum(one["loss"] for one in all_of_them) / len(all_of_them),
               peak_bytes=sum(one["peak_bytes"] for one in all_of_them))
    for other in others:
        other.close()
    distributed.destroy_process_group()


def main():
    arguments, hidden = sys.argv[1:6], sys.argv[6:]
    batch, world = int(arguments[2]), int(arguments[3])
    cores = sorted(os.sched_getaffinity(0))
    if world > len(cores) or batch % world:
        sys.exit(f"torch_ddp_worker: batch {batch} for {world} processes on {len(cores)} cores: needs a core each "
                 "and equal shares")
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
    if hidden:
        rank, rendezvous = hidden
        os.sched_setaffinity(0, {cores[int(rank)]})
        serve(arguments, int(rank), rendezvous, [])
        return
    with tempfile.TemporaryDirectory() as folder:
        rendezvous = os.path.join(folder, "rendezvous")
        others = [Other(rank, rendezvous) for rank in range(1, world)]
        os.sched_setaffinity(0, {cores[0]})
        serve(arguments, 0, rendezvous, others)


main()
