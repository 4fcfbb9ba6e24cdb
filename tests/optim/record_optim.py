#!/usr/bin/python3
"""Records what PyTorch computes, for recorded_test.cpp. Run: /usr/bin/python3 record_optim.py
Writes recorded_optim.json beside itself. Every float32 is printed exactly."""
import json
import os

import torch

torch.manual_seed(20)
COUNT, STEPS = 13, 10


def floats(tensor):
    return [float(x) for x in tensor.detach().flatten()]


def optimizer_case(name, make, spec, decay, rates):
    weights = torch.nn.Parameter(torch.randn(COUNT))
    optimizer = make([weights])
    case = {"name": name, "spec": spec, "decay": decay, "rates": rates, "start": floats(weights),
            "gradients": [], "weights": []}
    for step in range(STEPS):
        gradient = torch.randn(COUNT) * 10.0 ** ((step % 5) - 3)
        optimizer.param_groups[0]["lr"] = rates[step]
        weights.grad = gradient
        optimizer.step()
        case["gradients"].append(floats(gradient))
        case["weights"].append(floats(weights))
    return case


def optimizers():
    rates = [0.1 / (1 + step) for step in range(STEPS)]
    small = [0.01] * STEPS
    sgd, adam, adamw = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
    yield optimizer_case("sgd", lambda p: sgd(p, 0.1, weight_decay=0.01), {"kind": "sgd"}, 0.01, rates)
    yield optimizer_case("momentum", lambda p: sgd(p, 0.1, momentum=0.9, weight_decay=5e-4),
                         {"kind": "sgd", "momentum": 0.9}, 5e-4, rates)
    yield optimizer_case("nesterov", lambda p: sgd(p, 0.1, momentum=0.8, nesterov=True, weight_decay=0.1),
                         {"kind": "sgd", "momentum": 0.8, "nesterov": True}, 0.1, rates)
    yield optimizer_case("adam", lambda p: adam(p, weight_decay=0.05), {"kind": "adam"}, 0.05, small)
    yield optimizer_case("adam_betas", lambda p: adam(p, betas=(0.8, 0.95), eps=1e-4),
                         {"kind": "adam", "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-4}, 0.0, rates)
    yield optimizer_case("adamw", lambda p: adamw(p, weight_decay=0.1), {"kind": "adamw"}, 0.1, rates)


def schedule_case(make, spec):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=spec["base"])
    schedule = make(optimizer)
    rates = []
    for _ in range(20):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return {"spec": spec, "rates": rates}


def schedules():
    lr = torch.optim.lr_scheduler
    yield schedule_case(lambda o: lr.StepLR(o, step_size=6, gamma=0.3),
                        {"kind": "step", "base": 0.4, "step_size": 6, "gamma": 0.3})
    yield schedule_case(lambda o: lr.CosineAnnealingLR(o, T_max=20),
                        {"kind": "cosine", "base": 0.3, "total_steps": 20, "final_fraction": 0.0})
    yield schedule_case(lambda o: lr.CosineAnnealingLR(o, T_max=20, eta_min=0.02),
                        {"kind": "cosine", "base": 0.2, "total_steps": 20, "final_fraction": 0.1})


def loss_case(kind, smoothing, loss, logits, targets):
    logits = logits.clone().requires_grad_(True)
    value = loss(logits, targets)
    value.backward()
    return {"kind": kind, "smoothing": smoothing, "classes": logits.shape[1], "logits": floats(logits),
            "targets": floats(targets), "mean": float(value), "gradient": floats(logits.grad)}


def losses():
    logits = torch.randn(6, 7) * 4
    labels = torch.randint(0, 7, (6,))
    cross = torch.nn.functional.cross_entropy
    for smoothing in (0.0, 0.1, 0.5):
        yield loss_case("cross_entropy", smoothing,
                        lambda x, y, s=smoothing: cross(x, y, label_smoothing=s), logits, labels)
    yield loss_case("mse", 0.0, torch.nn.functional.mse_loss, logits, torch.randn(6, 7))
    one_hot = torch.nn.functional.one_hot(labels, 7).float()
    case = loss_case("mse", 0.0, torch.nn.functional.mse_loss, logits, one_hot)
    case["targets"] = floats(labels)
    yield case
    weights = torch.tensor([1.0, 2.5, 0.25, 0.0, 4.0, 1.0, 0.6])
    for smoothing in (0.0, 0.1, 0.5):
        case = loss_case("cross_entropy", smoothing,
                         lambda x, y, s=smoothing: cross(x, y, weights, label_smoothing=s), logits, labels)
        case["weights"] = floats(weights)
        yield case


def clip_case(max_norm):
    tensors = [torch.nn.Parameter(torch.zeros(n)) for n in (5, 1, 17)]
    for tensor in tensors:
        tensor.grad = torch.randn(tensor.shape)
    before = [floats(tensor.grad) for tensor in tensors]
    norm = torch.nn.utils.clip_grad_norm_(tensors, max_norm)
    return {"max_norm": max_norm, "gradients": before, "norm": float(norm),
            "clipped": [floats(tensor.grad) for tensor in tensors]}


def pixel_cases():
    """A label per pixel; those below 0 are ignored."""
    logits = torch.randn(2, 5, 3, 4) * 3
    labels = torch.randint(0, 5, (2, 3, 4))
    labels[0, 0, :3] = -1
    labels[1, 2, 1] = -1
    weights = torch.tensor([1.0, 2.5, 0.25, 0.0, 4.0])
    for smoothing in (0.0, 0.1):
        for weight in (None, weights):
            case = loss_case("cross_entropy", smoothing, lambda x, y, s=smoothing, w=weight:
                             torch.nn.functional.cross_entropy(x, y, w, ignore_index=-1, label_smoothing=s),
                             logits, labels)
            case["pixels"] = 12
            if weight is not None:
                case["weights"] = floats(weight)
            yield case


recorded = {"torch": torch.__version__, "optimizers": list(optimizers()), "schedules": list(schedules()),
            "losses": list(losses()), "clips": [clip_case(1.5), clip_case(100.0)],
            "pixel_losses": list(pixel_cases())}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded_optim.json"), "w") as out:
    json.dump(recorded, out)
    out.write("\n")
