"""What the pages take as given, made small: data sets of 16 random images, folders of images, runs, files of weights, srun and scontrol.

The pages say cifar10:DIR, mnist:DIR, npy:DIR and graphchallenge:DIR: a folder called DIR holds all of them. Files and
runs that a page names and no earlier command of it has made are made when a command asks for them (`missing`).
"""
import os
import random
import re
import stat
import struct
import tarfile
import zlib

IMAGES = 16
# Files named on the pages, and how one like it is made.
FILES = {
    "theirs.onnx": "plait train --model mlp:16 --run-dir made/mlp TINY && plait export --run made/mlp --out theirs.onnx",
    "w.safetensors": "plait train --model lenet --run-dir made/lenet TINY && plait export --run made/lenet --out w.safetensors",
    "from-torch.safetensors": "plait train --model resnet50 --data cifar10:DIR --run-dir made/resnet50 TINY && plait export "
                              "--run made/resnet50 --names pytorch --out from-torch.safetensors",
}
NETWORKS = {"mlp": "mlp:16"}
TINY = f"--epochs 1 --batch {IMAGES} --train-limit {IMAGES} --test-limit {IMAGES} --threads 1"
# Slurm's programs: its own flags are left away, two workers of mpirun take the place of a step.
SRUN = '#!/bin/bash\nwhile [ $# -gt 0 ] && [ "$1" != plait ]; do shift; done\nexec mpirun -n 2 "$@"\n'
SCONTROL = '#!/bin/bash\necho "scontrol $*" >>scontrol.log\n'


def random_bytes(count):
    return random.Random(count).randbytes(count)


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def write_program(path, text):
    write(path, text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def cifar():
    return b"".join(bytes([i % 10]) + random_bytes(3072) for i in range(IMAGES))


def idx(extents, content):
    return bytes([0, 0, 8, len(extents)]) + struct.pack(f">{len(extents)}I", *extents) + content


def npy(kind, shape, content):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + content


def png(side):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = b"".join(b"\0" + random_bytes(3 * side) for _ in range(side))
    header = struct.pack(">2I5B", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write_images(folder, side):
    for i in range(2 * IMAGES):
        write(f"{folder}/{'train' if i < IMAGES else 'test'}/{'cat' if i % 2 else 'dog'}/{i}.png", png(side))


def write_data(folder):
    """All kinds of data in one folder; no two of them have a file name in common."""
    labels = bytes(i % 10 for i in range(IMAGES))
    for name in ("data_batch_1.bin", "test_batch.bin"):
        write(f"{folder}/{name}", cifar())
    for name in ("train", "t10k"):
        write(f"{folder}/{name}-images-idx3-ubyte", idx([IMAGES, 28, 28], random_bytes(IMAGES * 784)))
        write(f"{folder}/{name}-labels-idx1-ubyte", idx([IMAGES], labels))
    for name in ("train", "test"):
        write(f"{folder}/{name}_x.npy", npy("|u1", (IMAGES, 20), random_bytes(IMAGES * 20)))
        write(f"{folder}/{name}_y.npy", npy("|u1", (IMAGES,), labels))
    write(f"{folder}/n4-l1.tsv", "1\t1\t1\n1\t2\t0.25\n2\t2\t0.25\n3\t3\t0.25\n")
    write(f"{folder}/n4-l2.tsv", "1\t1\t1\n2\t4\t2\n3\t4\t1\n")


def furnish(scratch, plait, build):
    """The folder that a page's commands run in; bin/ in it comes first on the PATH."""
    write_data(f"{scratch}/DIR")
    os.makedirs(f"{scratch}/data")
    os.symlink(f"{scratch}/DIR", f"{scratch}/data/mnist")
    write(f"{scratch}/images.tsv", "1\t1\t1\n2\t2\t1\n3\t1\t1\n3\t2\t1\n5\t4\t1\n6\t1\t1\n")
    write(f"{scratch}/categories.tsv", "1\n3\n6\n")
    write(f"{scratch}/hosts", "localhost slots=8\n")
    write_images(f"{scratch}/photos", 40)
    write_images(f"{scratch}/small", 32)
    with tarfile.open(f"{scratch}/cifar10.tar.zst", "w") as archive:  # readers look at the content
        archive.add(f"{scratch}/small", "cifar10")
    write_program(f"{scratch}/bin/srun", SRUN)
    write_program(f"{scratch}/bin/scontrol", SCONTROL)
    os.symlink(plait, f"{scratch}/bin/plait")
    os.makedirs(f"{scratch}/build")
    os.symlink(build, f"{scratch}/build/release")


def missing(text, scratch):
    """Commands that make what `text` reads and is not there."""
    found = []
    for file, how in FILES.items():
        if file in text and not os.path.exists(f"{scratch}/{file}"):
            found.append(how.replace("TINY", TINY))
    if "--resume" in text:  # begins where nothing is
        return found
    for run, network in re.findall(r"\b(runs/\d+-(\w+))", text):
        if not os.path.exists(f"{scratch}/{run}"):
            data = "cifar10:DIR" if re.match("vgg|resnet", network) else "glyphs"
            found.append(f"plait train --model {NETWORKS.get(network, network)} --data {data} --run-dir {run} {TINY}")
    return found
