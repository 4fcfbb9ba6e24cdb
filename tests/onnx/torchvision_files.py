#!/usr/bin/python3
"""Holds plait against torchvision: every network exported by PyTorch, imported, run, trained and exported again.

    /usr/bin/python3 tests/onnx/torchvision_files.py --plait build/release/plait --runtime DIR [--all | NAME ...]

Needs Debian's python3-torchvision and python3-onnx, node, and onnxruntime-node below DIR (`npm install --ignore-scripts
--prefix DIR onnxruntime-node`; the tests of onnx keep one in build/release/tests/onnxruntime). Not part of ctest.

Each network is exported twice with the same weights: for evaluation, where BatchNorm is folded into convolutions, and for
training, unfolded. Per file: `import`; the largest difference between what plait and onnxruntime compute for four images,
relative to the largest output; the loss of the first and the tenth step of `train` on eight images; after it the same
difference for the file that `export` writes; whether the weights have the names of the network's state_dict. onnxruntime
cannot run a file that is saved for training, so that it is given a copy with the nodes switched to evaluation.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx
import onnx.numpy_helper
import torch
import torchvision

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
SOME = """alexnet vgg11 vgg11_bn vgg16_bn resnet18 resnet34 resnet50 resnet101 resnext50_32x4d wide_resnet50_2 squeezenet1_0
squeezenet1_1 densenet121 googlenet inception_v3 shufflenet_v2_x0_5 shufflenet_v2_x1_0 mobilenet_v2 mobilenet_v3_small
mobilenet_v3_large mnasnet0_5 mnasnet1_0 regnet_x_400mf regnet_y_400mf regnet_y_800mf efficientnet_b0 efficientnet_b1
efficientnet_v2_s convnext_tiny vit_b_16 swin_t maxvit_t""".split()
OTHERS = ("deeplab", "faster", "fcn", "fcos", "keypoint", "lraspp", "mask", "mc3", "mvit", "quantized", "r2plus1d", "r3d", "raft",
          "retinanet", "s3d", "ssd", "swin_v2")  # no classification of images, or 8-bit
HERE = pathlib.Path(__file__).parent


def size_of(name):
    """Of the images: AlexNet and VGG average over 6x6 and 7x7, which PyTorch exports at full size only."""
    if name.startswith(("alexnet", "vgg", "maxvit")):
        return 224
    return 80 if name == "inception_v3" else 64


def network_of(name, images):
    """Seeded, with running statistics and affine parameters that no default could hide."""
    torch.manual_seed(20213)
    options = {"weights": None, "num_classes": 10}
    if name in ("googlenet", "inception_v3"):
        options |= {"aux_logits": False, "init_weights": False}
    if name.startswith("vit"):
        options["image_size"] = size_of(name)
    if name.startswith(("efficientnet", "convnext", "swin", "maxvit")):
        options["stochastic_depth_prob"] = 0.0  # PyTorch cannot export it for training
    network = getattr(torchvision.models, name)(**options)
    norms = [one for one in network.modules() if isinstance(one, torch.nn.BatchNorm2d)]
    for norm in norms:
        torch.nn.init.uniform_(norm.weight, 0.8, 1.2)
        torch.nn.init.uniform_(norm.bias, -0.1, 0.1)
        norm.kept, norm.momentum = norm.momentum, None
    with torch.no_grad():
        network.train()(images)
        network(images)
    for norm in norms:
        norm.momentum = norm.kept
    return network


def export(network, images, file, training):
    mode = torch.onnx.TrainingMode
    torch.onnx.export(network, images, str(file), opset_version=13, input_names=["images"], output_names=["logits"],
                      training=mode.TRAINING if training else mode.EVAL, do_constant_folding=not training,
                      dynamic_axes={"images": {0: "n"}, "logits": {0: "n"}})


def in_evaluation(file, copy):
    """The same file, computing what it computes in evaluation."""
    model = onnx.load(str(file))
    off = onnx.numpy_helper.from_array(numpy.array(False), "/off")
    model.graph.initializer.append(off)
    for node in model.graph.node:
        if node.op_type == "BatchNormalization":
            del node.output[1:]
            for attribute in [one for one in node.attribute if one.name == "training_mode"]:
                node.attribute.remove(attribute)
        if node.op_type == "Dropout" and len(node.input) == 3:
            node.input[2] = "/off"
    onnx.save(model, str(copy))


class Failed(Exception):
    pass


def run(command):
    calm = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    done = subprocess.run([str(one) for one in command], capture_output=True, text=True, env=calm)
    if done.returncode != 0:
        raise Failed((done.stderr or done.stdout).strip().splitlines()[-1][:300])
    return done.stdout


def runtime_outputs(folder, file, images, place):
    work = folder / "runtime"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    in_evaluation(file, work / "one.onnx")
    (work / "one.in").write_bytes(images.numpy().tobytes())
    (work / "one.shape").write_text("x".join(str(extent) for extent in images.shape))
    run(["env", f"NODE_PATH={place / 'node_modules'}", "node", HERE / "run_onnx.js", work])
    return numpy.frombuffer((work / "one.out").read_bytes(), "<f4").reshape(len(images), -1)


def read_tensors(file):
    raw = pathlib.Path(file).read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + length])
    header.pop("__metadata__", None)
    def values(one):
        begin, end = one["data_offsets"]
        return numpy.frombuffer(raw[8 + length + begin:8 + length + end], "<f4").reshape(one["shape"])
    return {name: values(one) for name, one in header.items() if one["dtype"] == "F32"}


def difference(ours, theirs):
    return float(numpy.abs(ours - theirs).max() / max(1e-30, numpy.abs(theirs).max()))


def write_data(folder, images, test):
    folder.mkdir()
    numpy.save(folder / "train_x.npy", images.numpy())
    numpy.save(folder / "train_y.npy", numpy.arange(2, 2 + len(images)) % 10)
    numpy.save(folder / "test_x.npy", test.numpy())
    numpy.save(folder / "test_y.npy", numpy.arange(6, 6 + len(test)) % 10)


def check(name, training, folder, arguments):
    """The row of one file."""
    row = {"network": name, "mode": "train" if training else "eval"}
    size = size_of(name)
    torch.manual_seed(7)
    images, test = torch.randn(8, 3, size, size), torch.randn(4, 3, size, size)
    write_data(folder / "data", images, test)
    network = network_of(name, images)
    file = folder / f"{name}.onnx"
    try:
        export(network, images[:2], file, training)
    except Exception as error:  # of PyTorch's own
        row["import"] = "PyTorch cannot export it: " + str(error).splitlines()[0][:120]
        return row
    plait, data = arguments.plait, ["--data", f"npy:{folder / 'data'}", "--no-normalise", "--batch", "8", "--threads", arguments.threads]
    model = ["--model", folder / "imported" / "model.toml"]
    try:
        run([plait, "import", file, "--out", folder / "imported"])
        row["import"] = "ok"
        weights = folder / "imported" / "weights.safetensors"
        names = {one for one in network.state_dict() if not one.endswith("num_batches_tracked")}
        row["names"] = f"{len(names & set(read_tensors(weights)))}/{len(read_tensors(weights))}"
        run([plait, "eval", *model, "--init", weights, *data, "--outputs", folder / "out.safetensors"])
        ours = read_tensors(folder / "out.safetensors")["outputs"]
        row["outputs"] = difference(ours, runtime_outputs(folder, file, test, arguments.runtime))
        run([plait, "train", *model, "--init", weights, *data, "--epochs", "10", "--lr", arguments.lr, "--clip-norm", "1",
             "--quiet", "--run-dir", folder / "run"])
        losses = [json.loads(line)["train_loss"] for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()
                  if "train_loss" in line]
        row["first"], row["last"] = losses[0], losses[-1]
        row["loss"] = "falls" if losses[-1] < losses[0] else "DOES NOT FALL"
        again = folder / "again.onnx"
        trained = max((folder / "run" / "checkpoints").glob("*/weights.safetensors"))
        run([plait, "export", *model, "--init", trained, *data, "--out", again])
        run([plait, "eval", *model, "--init", trained, *data, "--outputs", folder / "out.safetensors"])
        ours = read_tensors(folder / "out.safetensors")["outputs"]
        row["export"] = difference(ours, runtime_outputs(folder, again, test, arguments.runtime))
    except Failed as error:
        row["error"] = str(error).replace(str(folder), "")
    return row


def text_of(row):
    number = lambda key, form: format(row[key], form) if key in row else "-"
    return " | ".join([f"{row['network']:20}", f"{row['mode']:5}", f"{row.get('import', 'refused'):7}", f"{row.get('names', '-'):>9}",
                       f"{number('outputs', '.1e'):>7}", f"{number('first', '.4f'):>7}", f"{number('last', '.4f'):>7}",
                       f"{number('export', '.1e'):>7}", row.get("error", "")])


def is_good(row):
    return "error" not in row and row.get("outputs", 1) < 1e-4 and row.get("export", 1) < 1e-4 and row.get("loss") == "falls"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help="names of torchvision; without any: a selection of every family")
    parser.add_argument("--all", action="store_true", help="all classification networks")
    parser.add_argument("--plait", type=pathlib.Path, required=True)
    parser.add_argument("--runtime", type=pathlib.Path, required=True)
    parser.add_argument("--lr", default="0.002", help="of the ten steps, whose gradients are clipped to norm 1")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--modes", nargs="*", default=["eval", "train"])
    arguments = parser.parse_args()
    arguments.plait, arguments.runtime = arguments.plait.resolve(), arguments.runtime.resolve()
    every = [name for name in torchvision.models.list_models() if not name.startswith(OTHERS)]
    names = every if arguments.all else arguments.networks or SOME
    rows = []
    print("network | mode | import | names | outputs | first loss | last loss | export | error", flush=True)
    for name in names:
        for mode in arguments.modes:
            with tempfile.TemporaryDirectory() as folder:
                rows.append(check(name, mode == "train", pathlib.Path(folder), arguments))
            print(text_of(rows[-1]), flush=True)
    both = [name for name in names if all(is_good(row) for row in rows if row["network"] == name)]
    print(f"{len(both)} of {len(names)} networks in all modes; {sum(map(is_good, rows))} of {len(rows)} files")
    return 0 if len(both) == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
