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


def load(path, shapes, first):
    model, batch = runner.with_batch(path, shapes, first)
    outputs = [value.name for value in model.graph.output]
    inputs = runner.input_names(path)  # taken by position
    module = from_onnx(model, keep_params_in_input=False)
    machine = relax.VirtualMachine(tvm.compile(relax.get_pipeline("zero")(module), target="llvm"), tvm.cpu())

    def run(feeds, names):
        found = machine["main"](*[tvm.runtime.tensor(array) for array in (feeds[name] for name in inputs)])
        found = list(found) if len(outputs) > 1 else [found]
        return {name: array.numpy() for name, array in zip(outputs, found) if names is None or name in names}
    return batch, run


runner.main(load)
