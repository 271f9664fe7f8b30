#!/usr/bin/env python3
"""Runs a model in ONNX Runtime on the CPU, with all its optimizations: onnxruntime.py MODEL INPUTS.npz OUTPUTS.npz."""
import os, sys
sys.path.pop(0)  # this folder: its files have the names of the packages
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import runner

runner.avoid_cpu_quirks()
try:
    import onnxruntime
except ImportError:
    runner.missing("onnxruntime")


BFLOAT16 = 16  # the number of the type in ONNX


def fed(array, kind):
    if kind == "tensor(bfloat16)":
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(runner.bfloat16_bits(array), BFLOAT16)
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


def given(value):
    if value.data_type() != "tensor(bfloat16)":
        return value.numpy()
    import ctypes, math, numpy
    shape = value.shape()
    memory = (ctypes.c_uint16 * math.prod(shape)).from_address(value.data_ptr())
    return runner.from_bfloat16_bits(numpy.ctypeslib.as_array(memory).reshape(shape))


def load(path, shapes, first):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    kinds = {value.name: value.type for value in [*session.get_inputs(), *session.get_outputs()]}

    def run(feeds, names):
        names = names or [output.name for output in session.get_outputs()]
        if "tensor(bfloat16)" not in kinds.values():
            return dict(zip(names, session.run(names, feeds)))
        values = {name: fed(array, kinds[name]) for name, array in feeds.items()}
        return {name: given(value) for name, value in zip(names, session.run_with_ort_values(names, values))}
    batch = next((value.shape[0] for value in session.get_inputs() if value.name == first), None)
    return batch if isinstance(batch, int) else None, run


runner.main(load)
