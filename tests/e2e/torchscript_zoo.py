#!/usr/bin/python3
"""Writes torchvision's networks with random weights as TorchScript, scripted and traced, with an input and its outputs.

    torchscript_zoo.py FOLDER    ->  FOLDER/NAME.script.pt, NAME.trace.pt, NAME.npz (input, output, output of doubles)

Made with Debian's python3-torch and python3-torchvision, or any later ones. What is there already is left alone.
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


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, options in NETS.items():
        write(folder, name, options)
