#!/usr/bin/env python3
"""Compiles a model with Apache TVM for the CPU and runs it: tvm.py MODEL INPUTS.npz OUTPUTS.npz."""
import os, sys
sys.path.pop(0)  # this folder: its files have the names of the packages
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import runner

runner.avoid_cpu_quirks()
try:
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
except ImportError:
    runner.missing("tvm")
import onnx


def load(path, shapes):
    model = onnx.load(path)
    outputs = [value.name for value in model.graph.output]
    dim = model.graph.input[0].type.tensor_type.shape.dim[0]
    batch = dim.dim_value if dim.HasField("dim_value") else next(iter(shapes.values()))[0]
    module = from_onnx(model, {name: [batch, *shape[1:]] for name, shape in shapes.items()}, keep_params_in_input=False)
    module = relax.get_pipeline("zero")(relax.transform.LegalizeOps()(module))
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())

    def run(feeds, names):
        found = machine["main"](*[tvm.runtime.tensor(array) for array in feeds.values()])
        found = list(found) if len(outputs) > 1 else [found]
        return {name: array.numpy() for name, array in zip(outputs, found) if names is None or name in names}
    return batch, run


runner.main(load)
