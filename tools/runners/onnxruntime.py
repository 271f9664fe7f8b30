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


def load(path, shapes, first):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def run(feeds, names):
        names = names or [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, feeds)))
    batch = next((value.shape[0] for value in session.get_inputs() if value.name == first), None)
    return batch if isinstance(batch, int) else None, run


runner.main(load)
