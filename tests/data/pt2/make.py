#!/usr/bin/env python3
"""Makes the torch.export archives of this folder, with random weights, and what torch computes with them.

For maintainers; the tests only read the files. Needs torch 2.9 or newer and numpy:
    python3 tests/data/pt2/make.py [NAME ...]
Beside NAME.pt2 lies NAME.npz with the arrays in0, in1 ..., out0 ... and other_in0 ..., other_out0 ... for a
second set of inputs, of other sizes than those of the export. Archives that must be refused have none.
"""
import json
import pathlib
import sys
import zipfile

import numpy as np
import torch
from torch import nn
from torch.export import Dim, export, save
from torch.nn import functional as F
from torch._higher_order_ops.while_loop import while_loop

FOLDER = pathlib.Path(__file__).resolve().parent
BATCH, LENGTH = Dim("batch", min=1, max=64), Dim("length", min=2, max=32)


class ConvNet(nn.Module):
    """In-place activations, a residual, a module that is called twice, batch norm."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
                                      nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, padding=1, groups=2))
        self.act = nn.Hardswish()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = self.features(x)
        x = self.act(x + self.act(x))
        return self.fc(self.pool(x).flatten(1))


class Attention(nn.Module):
    """Batch and length are both symbols; the length is computed with."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(32, 8)
        self.attn = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.register_buffer("positions", torch.randn(32, 8), persistent=False)

    def forward(self, ids):
        x = self.embed(ids) + self.positions[:ids.size(1)]
        y, _ = self.attn(x, x, x, need_weights=False)
        y = self.norm(x + y)
        return y.reshape(ids.size(0) * ids.size(1), 8).softmax(-1)


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.group = nn.LayerNorm(6), nn.GroupNorm(2, 4)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(6, 5)

    def forward(self, x):
        x = self.drop(F.gelu(self.fc(self.group(self.layer(x)))))
        return F.pad(x.softmax(-1), (1, 2)).var(-1), x.rsqrt().isnan()


class Grouped(nn.Module):
    """A graph inside the graph (no_grad), and two queries to a key."""

    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(8, 16), nn.Linear(8, 8)
        self.register_buffer("speed", torch.rand(4))

    def forward(self, x):
        batch, length, _ = x.shape
        with torch.no_grad():
            angle = torch.outer(torch.arange(length).float(), self.speed)
        query = self.query(x).view(batch, length, 4, 4).transpose(1, 2) * angle.cos()
        key = self.key(x).view(batch, length, 2, 4).transpose(1, 2)
        y = F.scaled_dot_product_attention(query, key, key.abs().add(1).log2(), is_causal=True, enable_gqa=True)
        return y.transpose(1, 2).flatten(2), torch.fmod(x, 0.7), x.sort(1, descending=True).values


class Shapes(nn.Module):
    """Arithmetic on sizes, constants, several inputs and outputs."""

    def forward(self, x, y):
        n, length = x.shape[0], x.shape[1]
        half = length // 2
        head = x[:, :half]
        ramp = torch.arange(length, dtype=torch.float32)
        grid = torch.zeros(n, length * 2 + 1) + torch.cat([ramp, ramp, torch.tensor([2.5])])
        return {"head": head.sum(1), "grid": grid, "tail": x[:, half:] * y.unsqueeze(1),
                "flat": x.reshape(-1, 1).expand(n * length, 3)}


class Layouts(nn.Module):
    """Weights that are views: strided, channels-last, with an offset, tied; small types."""

    def __init__(self):
        super().__init__()
        store = torch.randn(100)
        self.turned = nn.Parameter(store[4:36].view(4, 8).t())
        self.shifted = nn.Parameter(store[36:44])
        self.conv = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)
        self.second.weight = self.first.weight
        self.register_buffer("mask", torch.tensor([True, False] * 4))
        self.register_buffer("scale", torch.tensor([0.5] * 8, dtype=torch.bfloat16))

    def forward(self, x, image):
        x = self.second(self.first(x)) + self.shifted
        x = torch.where(self.mask, x, x * self.scale.float())
        return x @ self.turned, self.conv(image)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 8, batch_first=True, bidirectional=True)
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        y, last = self.rnn(x)
        return self.out(y[:, -1]), last


class Branches(nn.Module):
    """torch.cond on data, with weights inside, on a size, and one inside another."""

    def __init__(self):
        super().__init__()
        self.plain, self.gated = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        inner = lambda y: torch.cond(y.max() > 1, lambda z: z / 2, lambda z: z * z.shape[0], (y,))
        x = torch.cond(x.sum() > 0, lambda y: self.plain(y), lambda y: inner(self.gated(y).relu()), (x,))
        return torch.cond(x.shape[0] > 4, lambda y: y + 1, lambda y: y.sin(), (x,))


class Loops(nn.Module):
    """torch.while_loop whose turns depend on the data."""

    def __init__(self):
        super().__init__()
        self.step = nn.Linear(4, 4)

    def forward(self, x):
        go_on = lambda turn, y: (turn < 6) & (y.abs().sum() < 40)
        body = lambda turn, y: (turn + 1, self.step(y).tanh() + y * 1.5)
        return while_loop(go_on, body, (torch.zeros((), dtype=torch.int64), x))


class Indexing(nn.Module):
    """Positions given by tensors: read, written, added to."""

    def forward(self, x, i, j):
        masked = torch.where(x > 0, x, 0.5)
        masked[x < -1] = 2.0
        apart = x.clone()
        apart[torch.tensor([1]), :, j] = x[0, 0, :4]
        return (x[i, j], x[:, i, j], x[i, :, j], x[i.unsqueeze(1), j], x[x > 0], masked,
                x.index_put((i, j), x[0, 0], accumulate=True), apart,
                x.index_fill(1, i, 0.25), x.index_add(2, i, x[:, :, :3], alpha=2), x.index_copy(2, i, x[:, :, 1:4]),
                x.slice_scatter(x[:, :2] * 3, 1, 1, -1), x.select_scatter(x[:, 0] * 2, 1, -1),
                x.scatter_reduce(1, i.view(1, 3, 1).expand(1, 3, 5), x, "amax"), x.nonzero())


class Instances(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine, self.plain = nn.InstanceNorm2d(3, affine=True), nn.InstanceNorm1d(3)

    def forward(self, x):
        return self.affine(x), self.plain(x.flatten(2))


class Functions(nn.Module):
    """Core operators of ATen that no other archive here has."""

    def forward(self, x):
        whole = (x * 8).int()
        flow = torch.stack([x[:, 0], x[:, 1]], -1).tanh()
        return (torch.atan2(x, x.roll(1, 2)), x.abs().log10(), x.exp2(), x.erfc(), (x * 3).trunc(), x.asinh(),
                (x.abs() + 1).acosh(), x.tanh().atanh(), (x / x.relu()).isfinite(), (whole & 5) ^ (whole | 2), ~whole,
                x.diagonal(1, 2, 3), x.repeat_interleave(2, 1), F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 2),
                F.grid_sample(x, flow, align_corners=False), torch.cdist(x[:, 0], x[:, 1]),
                F.fold(x.reshape(-1, 4, 36)[:, :, :9], (4, 4), 2), F.hardshrink(x), F.softshrink(x))


class Precise(nn.Module):
    """A part that is kept out of autocast: a graph inside the graph."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            y = self.fc(x.float()) * 2
        return y.relu()


class Parts(nn.Module):
    """Writes to parts of a tensor: the tensor is read, not the part."""

    def forward(self, x):
        mask = torch.zeros(4, 6)
        for i, rows in enumerate((slice(0, -2), slice(-2, None))):
            for j, columns in enumerate((slice(0, 1), slice(1, 5, 2))):
                mask[rows, columns] = 1.0 + i + 2 * j
        torch.rand([])  # drawn, and not read
        y = x + mask
        y[:, 1].mul_(2).relu_()
        y[:, :, -1] = x[:, :, 0]
        return y, y.mean(2)


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.plain = nn.LSTMCell(6, 4), nn.GRUCell(6, 4), nn.RNNCell(6, 4, nonlinearity="relu")

    def forward(self, x):
        state = self.gru(x), self.plain(x, x[:, :4])
        return (*self.lstm(x, state), *state)


class Bags(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.sum = nn.EmbeddingBag(16, 4, padding_idx=3), nn.EmbeddingBag(16, 4, mode="sum")

    def forward(self, ids, starts):
        return self.mean(ids), self.sum(ids.flatten(), starts, (ids.flatten() + 1) / 4)


class Unsupported(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 4), Cholesky())

    def forward(self, x):
        return self.inner(x)


class Cholesky(nn.Module):
    def forward(self, x):
        return torch.linalg.cholesky(x @ x.mT + torch.eye(4))


class StaleResult(nn.Module):
    """Returns another view of what was changed in place."""

    def forward(self, x):
        y = x.clone()
        v = y.t()
        y.add_(1.0)
        return v


class StaleOperand(nn.Module):
    """Hands such a view to a branch."""

    def forward(self, x):
        y = x.clone()
        v = y.t()
        y.add_(1.0)
        return torch.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, (v,))


class StaleItem(nn.Module):
    """Reads a number out of such a view."""

    def forward(self, x):
        y = torch.ones(1, 1, dtype=torch.int64)
        v = y.t()
        y.add_(1)
        return x + v.item()


class StaleView(nn.Module):
    """Reads a view after the tensor behind it was changed."""

    def forward(self, x):
        y = x + 1
        view = y.view(-1, 2)
        y.mul_(2)
        return view + 1


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count.add_(1)
        return x + self.count


def arrays(prefix, inputs, outputs):
    flat = outputs.values() if isinstance(outputs, dict) else outputs if isinstance(outputs, tuple) else (outputs,)
    result = {f"{prefix}in{i}": x.numpy() for i, x in enumerate(inputs)}
    result.update({f"{prefix}out{i}": y.detach().numpy() for i, y in enumerate(flat)})
    return result


def slim_nodes(part):
    """Of a graph and of those that its calls hold (torch.no_grad)."""
    if isinstance(part, list):
        for item in part:
            slim_nodes(item)
    elif isinstance(part, dict):
        if "nn_module_stack" in part.get("metadata", {}) or "stack_trace" in part.get("metadata", {}):
            part["metadata"] = {k: v for k, v in part["metadata"].items() if k == "nn_module_stack"}
        for item in part.values():
            slim_nodes(item)


def slim(path):
    """Without what no reader needs: stack traces, example inputs, spaces."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if "sample_inputs" not in name}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            if name.endswith("models/model.json"):
                program = json.loads(data)
                slim_nodes(program["graph_module"])
                data = json.dumps(program, separators=(",", ":")).encode()
            archive.writestr(zipfile.ZipInfo(name), data)


def make(name, module, inputs, shapes, other=None, decompose=False):
    if sys.argv[1:] and name not in sys.argv[1:]:
        return
    module.eval()
    program = export(module, inputs, dynamic_shapes=shapes)
    if decompose:
        program = program.run_decompositions()
    save(program, FOLDER / f"{name}.pt2")
    slim(FOLDER / f"{name}.pt2")
    if other is None:
        return
    found = arrays("", inputs, module(*inputs))
    found.update(arrays("other_", other, module(*other)))
    np.savez(FOLDER / f"{name}.npz", **found)


def main():
    torch.manual_seed(7)
    image, batch = torch.randn, ({0: BATCH},)
    make("conv_net", ConvNet(), (image(3, 3, 8, 8),), batch, (image(5, 3, 8, 8),))
    make("decomposed", ConvNet(), (image(3, 3, 8, 8),), batch, (image(2, 3, 8, 8),), decompose=True)
    ids = lambda *sizes: torch.randint(0, 32, sizes)
    make("attention", Attention(), (ids(3, 7),), ({0: BATCH, 1: LENGTH},), (ids(2, 11),))
    make("norms", Norms(), (image(3, 4, 6),), batch, (image(2, 4, 6),), decompose=True)
    make("grouped", Grouped(), (image(3, 5, 8),), ({0: Dim.AUTO, 1: Dim.AUTO},), (image(2, 6, 8),))
    make("shapes", Shapes(), (image(3, 7), image(3)), ({0: Dim.AUTO, 1: Dim.AUTO}, {0: Dim.AUTO}), (image(2, 10), image(2)))
    make("layouts", Layouts(), (image(3, 8), image(3, 3, 5, 5)), ({0: BATCH}, {0: BATCH}),
         (image(4, 8), image(4, 3, 5, 5)))
    make("gru", Recurrent(), (image(3, 4, 6),), batch, (image(2, 4, 6),))
    make("unsupported", Unsupported(), (image(3, 4, 4),), batch)
    make("stale_view", StaleView(), (image(3, 4),), batch)
    make("stale_result", StaleResult(), (image(3, 4),), batch)
    make("stale_operand", StaleOperand(), (image(3, 4),), batch)
    make("stale_item", StaleItem(), (image(3, 4),), batch)
    make("counter", Counter(), (image(3, 4),), batch)
    torch.manual_seed(8)
    rows = torch.randn(3, 4)
    make("branches", Branches(), (rows - rows.mean() - 0.5,), ({0: Dim.AUTO},), (image(6, 4) + 1,))
    make("loops", Loops(), (image(3, 4),), batch, (image(5, 4) * 4,))
    places = torch.tensor([2, 0, 1]), torch.tensor([1, -1, 2])
    make("indexing", Indexing(), (image(3, 4, 5), *places), ({0: Dim.AUTO}, None, None), (image(4, 4, 5), *places))
    make("instances", Instances(), (image(3, 3, 4, 4),), batch, (image(2, 3, 4, 4),), decompose=True)
    make("functions", Functions(), (image(3, 4, 6, 6),), batch, (image(2, 4, 6, 6),))
    make("precise", Precise(), (image(3, 4),), batch, (image(2, 4),))
    make("parts", Parts(), (image(3, 4, 6),), batch, (image(2, 4, 6),))
    tokens = lambda *sizes: torch.randint(0, 16, sizes)
    bags = Bags(), (tokens(3, 5), torch.tensor([0, 4, 4, 9])), ({0: BATCH}, None), (tokens(2, 5), torch.tensor([0, 1, 6, 6]))
    make("bags", *bags)
    make("bags_core", *bags, decompose=True)
    make("cells", Cells(), (image(3, 6),), batch, (image(2, 6),))
    make("core", Functions(), (image(3, 4, 6, 6),), batch, (image(2, 4, 6, 6),), decompose=True)


if __name__ == "__main__":
    main()
