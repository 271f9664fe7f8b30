#!/usr/bin/python3
"""Writes torchvision's networks with random weights as TorchScript, scripted and traced, with an input and its outputs,
and a few small networks of PyTorch's own layers and of control flow.

    torchscript_zoo.py FOLDER    ->  FOLDER/NAME.script.pt, NAME.trace.pt, NAME.npz (input, output, output of doubles)

Made with Debian's python3-torch and python3-torchvision, or any later ones. Existing files are left alone.
"""
import os, pathlib, sys, warnings

import numpy, torch, torchvision

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
# 64 x 64 pixels keep it quick; ViT fixes its image size, and VGG's pooling has equal windows at 224 alone.
NETS = {name: {} for name in ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x0_5",
                              "squeezenet1_1", "densenet121", "regnet_y_400mf", "efficientnet_b0", "vgg11_bn")}
NETS["googlenet"] = {"init_weights": True}
NETS["vit_b_16"] = {"image_size": 64}


class Gated(torch.nn.Module):
    """Branches and loops that depend on the image: they stay in the graph."""

    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 8, 3, 2, 1)
        self.wide = torch.nn.Conv2d(8, 8, 5, 1, 2)
        self.narrow = torch.nn.Conv2d(8, 8, 1)
        self.head = torch.nn.Linear(8, 10)

    def forward(self, x):
        x = torch.relu_(self.stem(x))
        for _ in range(2):
            if bool(x.mean() > 0.25):
                x = self.narrow(x)
            else:
                x = self.wide(x)
                x *= 2
        turns = 0
        while float(x.abs().mean()) > 0.01:
            x = x * 0.5
            turns += 1
            if turns == 9:
                break
        return self.head(x.mean([2, 3])) * turns


class SelfAttention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


# Name: how it is made, its input, and the forms it is written in. Traces without gradients hold one operator per layer.
OWN = {"gated": (Gated, (3, 32, 32), ["script"]),
       "self_attention": (SelfAttention, (7, 32), ["script", "trace"]),
       "encoder_layer": (lambda: torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), (7, 32),
                         ["script", "trace"]),
       "encoder_layer_gelu": (lambda: torch.nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True,
                                                                       norm_first=True), (7, 32), ["script", "trace"])}


def images(count, name):
    size = 224 if name == "vgg11_bn" else 64
    return torch.randn(count, 3, size, size)


def make(name, options):
    """Batch norms hold the statistics of random images: without them signals of a random network die out or explode."""
    net = getattr(torchvision.models, name)(**options)
    norms = [module for module in net.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None
    with torch.no_grad():
        net.eval()
        for norm in norms:  # they alone: dropped paths would spoil the statistics
            norm.train()
        net(images(4 if name == "vgg11_bn" else 32, name))
        if name == "vit_b_16":  # its head starts at zero
            net.heads.head.weight.normal_(0, 0.05)
    return net.eval()


def tensor_of(result):
    return result if isinstance(result, torch.Tensor) else result[0]


def write(folder, name, options):
    done = folder / f"{name}.npz"
    if done.exists():
        return
    torch.manual_seed(7)
    net = make(name, options)
    image = images(2, name)
    torch.jit.script(net).save(str(folder / f"{name}.script.pt"))
    # Unchecked: the check traces again without gradients, where attention is another operator.
    torch.jit.trace(net, image, check_trace=False).save(str(folder / f"{name}.trace.pt"))
    with torch.no_grad():
        output = tensor_of(net(image)).numpy()
        exact = tensor_of(net.double()(image.double())).numpy()
    part = folder / f"{name}.part.npz"
    numpy.savez(part, input=image.numpy(), output=output, exact=exact)
    os.replace(part, done)
    print(name, flush=True)


def write_own(folder, name, make, shape, forms):
    done = folder / f"{name}.npz"
    if done.exists():
        return
    torch.manual_seed(7)
    net = make().eval()
    given = torch.randn(2, *shape)
    with torch.no_grad():
        if "script" in forms:
            torch.jit.script(net).save(str(folder / f"{name}.script.pt"))
        if "trace" in forms:
            torch.jit.trace(net, given, check_trace=False).save(str(folder / f"{name}.trace.pt"))
        output = net(given).numpy()
        exact = net.double()(given.double()).numpy()
    part = folder / f"{name}.part.npz"
    numpy.savez(part, input=given.numpy(), output=output, exact=exact)
    os.replace(part, done)
    print(name, flush=True)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, options in NETS.items():
        write(folder, name, options)
    for name, (make, shape, forms) in OWN.items():
        write_own(folder, name, make, shape, forms)
