#!/usr/bin/env python3
"""Writes the seeds beside it, the small files that the fuzzers start from (PyTorch 1.13 or later):

    python3 tests/data/fuzz/make.py

bench/fuzz adds the files of tests/data/{images,npy,pt2} and of Debian's libonnx-testdata. What a fuzzer found and was
mended lies here too, as found_*.
"""
import collections, gzip, json, pathlib, struct, zipfile
import torch

here = pathlib.Path(__file__).resolve().parent
for name in ["onnx", "torchscript", "state_dict", "idx"]:
    (here / name).mkdir(exist_ok=True)
torch.manual_seed(1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 2, 3)
        self.norm = torch.nn.BatchNorm2d(2)
        self.sizes = [1, 2]
        self.table = {"a": torch.ones(2)}

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        for size in self.sizes:
            x = x * size
        return x + self.table["a"].sum()


class Branch(torch.nn.Module):
    def forward(self, x, flag: bool = True):
        if flag and x.size(0) > 1:
            return x + 1, x
        return x - 1, x


class Until(torch.nn.Module):
    def forward(self, x):
        while bool(x.sum() < 10):
            x = x + x
        if bool(x[0] > 3):
            x = -x
        return x


def save_program(program, name):
    """Without the places in source files, which are another's paths."""
    path = here / "torchscript" / name
    torch.jit.save(program, path)
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members.items():
            if not member.endswith(".debug_pkl"):
                archive.writestr(zipfile.ZipInfo(member), data)


net = Net().eval()
save_program(torch.jit.script(Until()), "until.pt")
save_program(torch.jit.script(net), "scripted.pt")
save_program(torch.jit.trace(net, torch.zeros(1, 1, 4, 4)), "traced.pt")
save_program(torch.jit.script(Branch()), "branch.pt")

image = torch.zeros(1, 1, 4, 4)
torch.onnx.export(net, image, here / "onnx/net.onnx", opset_version=13, input_names=["x"], dynamic_axes={"x": {0: "N"}})
torch.onnx.export(torch.jit.script(Until()), torch.ones(2), here / "onnx/loop.onnx", opset_version=13)

shared = torch.arange(6.0)
state = collections.OrderedDict(w=shared.view(2, 3), v=shared[2:4], h=torch.zeros(2, dtype=torch.half), n=torch.tensor(3))
torch.save(state, here / "state_dict/plain.pth")
torch.save({"epoch": 3, "lr": 0.1, "name": "x", "state_dict": state, "betas": (0.9, None)}, here / "state_dict/checkpoint.pth")
header = json.dumps({"w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
                     "n": {"dtype": "I8", "shape": [3], "data_offsets": [16, 19]},
                     "__metadata__": {"format": "pt"}}).encode()
(here / "state_dict/tensors.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(range(19)))

images = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2, 4, 3) + bytes(range(24))
(here / "idx/images").write_bytes(images)
(here / "idx/images.gz").write_bytes(gzip.compress(images, mtime=0))
