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
import onnx


def load(path, shapes):
    graph = onnx.load(path, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    outputs = [value.name for value in graph.output]  # tract itself names nodes, not tensors
    dim = inputs[0].type.tensor_type.shape.dim[0]
    batch = dim.dim_value if dim.HasField("dim_value") else shapes[inputs[0].name][0]
    model = tract.onnx().load(path)
    types = {onnx.TensorProto.FLOAT: "f32", onnx.TensorProto.INT64: "i64", onnx.TensorProto.INT32: "i32"}
    for i, value in enumerate(inputs):
        sizes = [batch, *shapes[value.name][1:]]
        model.set_input_fact(i, ",".join(map(str, sizes)) + "," + types[value.type.tensor_type.elem_type])
    runnable = model.into_model().into_runnable()

    def run(feeds, names):
        found = runnable.run([feeds[value.name] for value in inputs])
        return {name: array.to_numpy() for name, array in zip(outputs, found) if names is None or name in names}
    return batch, run


runner.main(load)
