#!/usr/bin/python3
"""Records what PyTorch computes for each kind of layer, as the judge of recorded_layers_test.cpp.

Run with Debian's python3-torch:  /usr/bin/python3 tests/kernels/record_layers.py
Inputs are float32 values; PyTorch computes in float64, so that the record has no rounding of its own.
"""
import json
import pathlib

import torch
import torch.nn.functional as F

torch.manual_seed(20211)


def numbers(tensor):
    """Shape and values, nine significant digits: exact for float32."""
    flat = tensor.detach().flatten().tolist()
    return {"shape": list(tensor.shape), "data": [float(f"{x:.9g}") for x in flat]}


def random(*shape):
    return torch.randn(*shape, dtype=torch.float32).double()


def record(name, kind, spec, src, parameters, function, **extra):
    """function(src, *trainable parameters) -> dst; gradients for a random diff_dst."""
    src = src.clone().requires_grad_()
    values = [p.clone().requires_grad_() for p in parameters.values()]
    dst = function(src, *values)
    diff_dst = random(*dst.shape)
    grads = torch.autograd.grad(dst, [src] + values, diff_dst)
    return {
        "name": name, "kind": kind, "spec": spec, "training": extra.get("training", True),
        "src": numbers(src), "dst": numbers(dst), "diff_dst": numbers(diff_dst),
        "diff_src": numbers(grads[0]),
        "parameters": {k: numbers(p) for k, p in parameters.items()},
        "gradients": {k: numbers(g) for k, g in zip(parameters, grads[1:])},
        "state": {k: numbers(s) for k, s in extra.get("state", {}).items()},
        "state_after": {k: numbers(s) for k, s in extra.get("state_after", {}).items()},
    }


def convolution(name, shape, out, kernel, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1,
                bias=True):
    parameters = {"weight": random(out, shape[1] // groups, *kernel) * 0.3}
    if bias:
        parameters["bias"] = random(out)
    spec = {"out": out, "kernel": kernel, "stride": stride, "padding": padding,
            "dilation": dilation, "groups": groups, "bias": bias}
    return record(name, "convolution", spec, random(*shape), parameters,
                  lambda x, w, b=None: F.conv2d(x, w, b, stride, padding, dilation, groups))


def linear(name, shape, out, bias=True):
    parameters = {"weight": random(out, shape[1]) * 0.3}
    if bias:
        parameters["bias"] = random(out)
    return record(name, "linear", {"out": out, "bias": bias}, random(*shape), parameters,
                  lambda x, w, b=None: F.linear(x, w, b))


def batch_norm(name, shape, training, epsilon=1e-5, momentum=0.1, relu=False):
    channels = shape[1]
    parameters = {"weight": random(channels) * 0.3 + 1, "bias": random(channels) * 0.5}
    state = {"running_mean": random(channels), "running_var": random(channels).abs() + 0.5}
    after = {k: s.clone() for k, s in state.items()}

    def function(x, w, b):
        dst = F.batch_norm(x, after["running_mean"], after["running_var"], w, b, training, momentum,
                           epsilon)
        return F.relu(dst) if relu else dst

    return record(name, "batch_norm", {"epsilon": epsilon, "momentum": momentum, "relu": relu},
                  random(*shape) * 1.5 + 0.7, parameters, function, training=training, state=state,
                  state_after=after)


def plain(name, kind, shape, function, spec=None, src=None):
    return record(name, kind, spec or {}, random(*shape) if src is None else src, {}, function)


def max_pool(name, src, kernel, stride, padding, ceil_mode=False):
    spec = {"kernel": kernel, "stride": stride, "padding": padding}
    if ceil_mode:
        spec["ceil_mode"] = True
    return plain(name, "max_pool", None,
                 lambda x: F.max_pool2d(x, kernel, stride, padding, ceil_mode=ceil_mode), spec, src)


def average_pool(name, shape, kernel, stride, padding, ceil_mode=False, count_include_pad=True):
    spec = {"kernel": kernel, "stride": stride, "padding": padding}
    if ceil_mode:
        spec["ceil_mode"] = True
    if not count_include_pad:
        spec["count_include_pad"] = False
    return plain(name, "average_pool", shape,
                 lambda x: F.avg_pool2d(x, kernel, stride, padding, ceil_mode, count_include_pad), spec)


def layer_norm(name, shape, dims, epsilon=1e-5, affine=True):
    last = shape[-dims:]
    parameters = {"weight": random(*last) * 0.3 + 1, "bias": random(*last)} if affine else {}
    return record(name, "layer_norm", {"dims": dims, "epsilon": epsilon, "affine": affine},
                  random(*shape) * 1.5 + 0.7, parameters,
                  lambda x, w=None, b=None: F.layer_norm(x, last, w, b, epsilon))


def channel_shuffle(groups):
    """Written out: PyTorch's own has no gradient on the CPU in some versions."""
    def function(x):
        n, c, h, w = x.shape
        return x.reshape(n, groups, c // groups, h, w).transpose(1, 2).reshape(n, c, h, w)
    source = torch.arange(2 * 12 * 6.0).reshape(2, 12, 3, 2)
    assert torch.equal(function(source), torch.nn.ChannelShuffle(groups)(source))
    return function


def transposed(name, shape, out, kernel, stride=(1, 1), padding=(0, 0), output_padding=(0, 0), groups=1,
               bias=True):
    parameters = {"weight": random(shape[1], out // groups, *kernel) * 0.3}
    if bias:
        parameters["bias"] = random(out)
    spec = {"out": out, "kernel": kernel, "stride": stride, "padding": padding,
            "output_padding": output_padding, "groups": groups, "bias": bias}
    return record(name, "transposed_convolution", spec, random(*shape), parameters,
                  lambda x, w, b=None: F.conv_transpose2d(x, w, b, stride, padding, output_padding, groups))


def sequence(name, shape, out, kernel, stride=1, padding=0, dilation=1, groups=1, bias=True):
    parameters = {"weight": random(out, shape[1] // groups, kernel) * 0.3}
    if bias:
        parameters["bias"] = random(out)
    spec = {"out": out, "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation,
            "groups": groups, "bias": bias}
    return record(name, "convolution_1d", spec, random(*shape), parameters,
                  lambda x, w, b=None: F.conv1d(x, w, b, stride, padding, dilation, groups))


def cases():
    image = (2, 5, 6, 5)
    yield convolution("conv_3x3", image, 4, (3, 3), padding=(1, 1))
    yield convolution("conv_3x3_no_bias", (1, 3, 6, 5), 9, (3, 3), bias=False)
    yield convolution("conv_stride2", image, 3, (3, 3), stride=(2, 2), padding=(1, 1))
    yield convolution("conv_dilated", (1, 3, 9, 8), 4, (3, 3), padding=(2, 2), dilation=(2, 2))
    yield convolution("conv_groups", (2, 6, 6, 5), 4, (3, 3), padding=(1, 1), groups=2)
    yield convolution("conv_depthwise", (2, 6, 6, 5), 6, (3, 3), padding=(1, 1), groups=6)
    yield convolution("conv_1x1", (2, 9, 5, 4), 4, (1, 1))
    yield convolution("conv_5x5", (2, 3, 6, 5), 4, (5, 5), padding=(2, 2))
    yield convolution("conv_7x7_stride2", (1, 3, 9, 8), 4, (7, 7), stride=(2, 2), padding=(3, 3))
    yield convolution("conv_uneven", (1, 3, 9, 8), 4, (2, 3), stride=(3, 1), padding=(1, 2),
                      dilation=(1, 2))
    yield linear("linear", (4, 11), 6)
    yield linear("linear_no_bias", (3, 5), 7, bias=False)
    yield batch_norm("batch_norm", (3, 5, 4, 3), True)
    yield batch_norm("batch_norm_momentum", (3, 9, 4, 3), True, epsilon=1e-3, momentum=0.3)
    yield batch_norm("batch_norm_relu", (3, 5, 4, 3), True, relu=True)
    yield batch_norm("batch_norm_flat", (6, 5), True)
    yield batch_norm("batch_norm_evaluation", (3, 5, 4, 3), False)
    yield batch_norm("batch_norm_relu_evaluation", (3, 5, 4, 3), False, relu=True)
    yield plain("relu", "relu", (2, 3, 5, 4), F.relu)
    yield plain("relu_at_zero", "relu", None, F.relu, src=random(2, 3, 5, 4).round())
    yield plain("tanh", "tanh", (2, 3, 5, 4), torch.tanh)
    yield plain("sigmoid", "sigmoid", (2, 3, 5, 4), torch.sigmoid)
    yield plain("gelu", "gelu", None, F.gelu, src=random(2, 3, 5, 4) * 2)
    yield max_pool("max_pool", random(2, 3, 7, 6), (2, 2), (2, 2), (0, 0))
    yield max_pool("max_pool_padded", random(2, 3, 7, 6) - 3, (3, 3), (2, 2), (1, 1))
    yield max_pool("max_pool_ties", random(2, 3, 7, 6).round(), (3, 2), (1, 2), (1, 0))
    yield average_pool("average_pool", (2, 3, 7, 6), (2, 2), (2, 2), (0, 0))
    yield average_pool("average_pool_padded", (2, 3, 7, 6), (3, 3), (2, 2), (1, 1))
    yield plain("global_average_pool", "global_average_pool", (2, 5, 4, 3),
                lambda x: F.adaptive_avg_pool2d(x, 1))
    yield plain("flatten", "flatten", (2, 3, 4, 3), lambda x: torch.flatten(x, 1))
    yield plain("leaky_relu", "leaky_relu", (2, 3, 5, 4), F.leaky_relu)
    yield plain("leaky_relu_at_zero", "leaky_relu", None, lambda x: F.leaky_relu(x, 0.2), {"slope": 0.2},
                random(2, 3, 5, 4).round())
    yield plain("silu", "silu", None, F.silu, src=random(2, 3, 5, 4) * 3)
    three, two, one = (3, 3), (2, 2), (1, 1)
    yield max_pool("max_pool_ceil", random(2, 3, 7, 6), two, two, (0, 0), True)
    yield max_pool("max_pool_ceil_padded", random(2, 3, 6, 8) - 3, three, two, one, True)
    # A last window that would start in the padding behind the image is left out.
    yield max_pool("max_pool_ceil_left_out", random(2, 3, 5, 5), two, two, one, True)
    yield average_pool("average_pool_ceil", (2, 3, 7, 6), two, two, (0, 0), True)
    yield average_pool("average_pool_ceil_padded", (2, 3, 6, 8), three, two, one, True)
    yield average_pool("average_pool_ceil_left_out", (2, 3, 5, 5), two, two, one, True)
    yield average_pool("average_pool_ceil_uneven", (2, 3, 9, 10), (4, 3), (3, 2), (1, 0), True)
    yield average_pool("average_pool_not_counted", (2, 3, 7, 6), three, two, one, False, False)
    yield average_pool("average_pool_ceil_not_counted", (2, 3, 6, 8), three, two, one, True, False)
    yield plain("upsample", "upsample", (2, 3, 4, 5), lambda x: F.interpolate(x, scale_factor=(2, 3)),
                {"scale": (2, 3)})
    yield plain("upsample_bilinear", "upsample_bilinear", (2, 3, 4, 5),
                lambda x: F.interpolate(x, scale_factor=(2, 3), mode="bilinear", align_corners=False),
                {"scale": (2, 3)})
    yield plain("upsample_bilinear_row", "upsample_bilinear", (2, 3, 1, 4),
                lambda x: F.interpolate(x, scale_factor=4, mode="bilinear", align_corners=False),
                {"scale": (4, 4)})
    yield plain("slice", "slice", (3, 7, 4, 3), lambda x: x.narrow(1, 2, 4), {"start": 2, "length": 4})
    yield plain("slice_flat", "slice", (3, 7), lambda x: x.narrow(1, 0, 3), {"length": 3})
    yield plain("channel_shuffle", "channel_shuffle", (2, 12, 3, 2), channel_shuffle(3), {"groups": 3})
    yield layer_norm("layer_norm", (4, 11), 1)
    yield layer_norm("layer_norm_image", (2, 3, 5, 4), 3, epsilon=1e-3)
    yield layer_norm("layer_norm_row", (2, 3, 5, 4), 1)
    yield layer_norm("layer_norm_not_affine", (2, 3, 35), 2, affine=False)
    corners = torch.tensor([-3.0, 3.0, 0.0, -4.0, 4.0, 2.5], dtype=torch.float64)
    bends = torch.cat([corners, random(54) * 3]).reshape(2, 3, 5, 2)
    yield plain("hard_sigmoid", "hard_sigmoid", None, F.hardsigmoid, src=bends)
    yield plain("hard_swish", "hard_swish", None, F.hardswish, src=bends)
    yield plain("relu6", "clip", None, F.relu6, {"ceiling": 6.0}, bends * 2)
    for name, shape, output in [("", (2, 3, 7, 5), (3, 2)), ("_same", (2, 3, 4, 3), (4, 3)),
                                ("_larger", (2, 3, 3, 4), (5, 7)), ("_divides", (2, 3, 6, 8), (2, 4))]:
        yield plain("adaptive_average_pool" + name, "adaptive_average_pool", shape,
                    lambda x: F.adaptive_avg_pool2d(x, output), {"output": output})
    yield transposed("transposed", (2, 5, 4, 3), 3, three)
    yield transposed("transposed_stride2", (2, 5, 4, 3), 3, two, stride=two, bias=False)
    yield transposed("transposed_padded", (2, 4, 4, 3), 6, three, stride=two, padding=one,
                     output_padding=(1, 0), groups=2)
    yield transposed("transposed_uneven", (1, 9, 3, 2), 4, (4, 3), stride=(3, 2), padding=(1, 0),
                     output_padding=(2, 1))
    yield transposed("transposed_depthwise", (2, 6, 3, 4), 6, (4, 4), stride=two, padding=one, groups=6)
    yield sequence("sequence", (2, 5, 9), 4, 3, padding=1)
    yield sequence("sequence_uneven", (2, 6, 14), 9, 4, stride=2, padding=2, dilation=2, groups=3)
    yield sequence("sequence_no_bias", (2, 9, 4), 5, 1, bias=False)
    yield batch_norm("batch_norm_sequence", (3, 5, 7), True)


def embedding(vocabulary, width, ids):
    """Token ids have no gradient, so this is not one of the layers above. Some ids occur often, others never."""
    weight = random(vocabulary, width).requires_grad_()
    dst = F.embedding(ids, weight)
    diff_dst = random(*dst.shape)
    gradient, = torch.autograd.grad(dst, weight, diff_dst)
    return {"ids": {"shape": list(ids.shape), "data": ids.flatten().tolist()}, "weight": numbers(weight),
            "dst": numbers(dst), "diff_dst": numbers(diff_dst), "gradient": numbers(gradient)}


if __name__ == "__main__":
    path = pathlib.Path(__file__).with_name("recorded_layers.json")
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases())
    ids = torch.tensor([[3, 0, 6, 3, 3], [1, 6, 0, 3, 4]])
    tokens = json.dumps(embedding(7, 3, ids), separators=(",", ":"))
    path.write_text(f'{{"torch":"{torch.__version__}","layers":[\n{lines}\n],\n"embedding":{tokens}}}\n')
    print(f"{path.name}: {path.stat().st_size} bytes")
