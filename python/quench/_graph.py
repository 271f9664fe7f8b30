"""Whatever a user has as a model -> a graph of the library."""
from __future__ import annotations

import collections
import os
import tempfile
from typing import Any, Optional, Sequence

import torch

from . import _C


def graph_of(model: Any, example_inputs: Optional[Sequence[torch.Tensor]] = None,
             input_shapes: Sequence[str] = ()) -> tuple[_C.Graph, str]:
    """The graph and a name for it."""
    if isinstance(model, (str, os.PathLike)):
        return _C.open_file(os.fspath(model), list(input_shapes)), os.fspath(model)
    if isinstance(model, torch.export.ExportedProgram):
        return _of_program(model), "model"
    if isinstance(model, torch.nn.Module):
        return _of_program(_exported(model, example_inputs)), type(model).__name__
    if isinstance(model, bytes):
        return _C.open_onnx(model), "model"
    if hasattr(model, "SerializeToString"):  # onnx.ModelProto, without importing onnx
        return _C.open_onnx(model.SerializeToString()), getattr(getattr(model, "graph", None), "name", "") or "model"
    raise TypeError("the model must be a path, an onnx.ModelProto (or its bytes), a torch.export.ExportedProgram or a "
                    f"torch.nn.Module, not {type(model).__name__}")


def _exported(module: torch.nn.Module, example_inputs: Optional[Sequence[torch.Tensor]]) -> torch.export.ExportedProgram:
    """In evaluation mode, for any batch size where the module allows it."""
    if example_inputs is None:
        raise TypeError("a torch.nn.Module needs example_inputs=(tensor, ...), a batch that it can be run on")
    if isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    examples, batch = _with_batch(tuple(example_inputs))
    modes = [(part, part.training) for part in module.modules()]  # parts may have been set apart: a frozen BatchNorm
    module.eval()
    try:
        shapes = tuple({0: torch.export.Dim.AUTO} if x.dim() > 0 and x.size(0) == batch else None for x in examples)
        return torch.export.export(module, examples, dynamic_shapes=shapes)
    finally:
        for part, training in modes:
            part.training = training


def _with_batch(examples: tuple[torch.Tensor, ...]) -> tuple[tuple[torch.Tensor, ...], int]:
    """The examples and their batch size: the most frequent first size but 1. torch.export takes 1 for a size that never changes,
    so examples that all have it are doubled."""
    sizes = [x.size(0) for x in examples if x.dim() > 0]
    larger = [size for size in sizes if size != 1]
    if larger or not sizes:
        return examples, collections.Counter(larger).most_common(1)[0][0] if larger else 0
    return tuple(torch.cat([x, x]) if x.dim() > 0 else x for x in examples), 2


def _of_program(program: torch.export.ExportedProgram) -> _C.Graph:
    with tempfile.TemporaryDirectory(prefix="quench-") as folder:
        path = os.path.join(folder, "model.pt2")
        torch.export.save(program, path)
        return _C.open_file(path, [])
