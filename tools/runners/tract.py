#!/usr/bin/env python3
"""Runs a model in tract: tract.py MODEL INPUTS.npz OUTPUTS.npz."""
import os, sys
sys.path.pop(0)  # this folder: its files have the names of the packages
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import runner

runner.avoid_cpu_quirks()
try:
    import tract
except ImportError:
    runner.missing("tract")
import onnx, tempfile


def make_scalars(graph):
    """tract takes ONNX literally: the value of a Pad is a scalar. Some models have a one-element vector there."""
    values = {node.input[2] for node in graph.node if node.op_type == "Pad" and len(node.input) > 2}
    for tensor in graph.initializer:
        if tensor.name in values and list(tensor.dims) == [1]:
            del tensor.dims[:]


def load(path, shapes, first):
    model, batch = runner.with_batch(path, shapes, first)
    make_scalars(model.graph)
    outputs = [value.name for value in model.graph.output]  # tract itself names nodes, not tensors
    inputs = runner.input_names(path)  # taken by position
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        onnx.save(model, file.name)
        runnable = tract.onnx().load(file.name).into_model().into_runnable()

    def run(feeds, names):
        found = runnable.run([feeds[name] for name in inputs])
        return {name: array.to_numpy() for name, array in zip(outputs, found) if names is None or name in names}
    return batch, run


runner.main(load)
