#!/usr/bin/env python3
"""Runs a model in OpenVINO on the CPU: openvino.py MODEL INPUTS.npz OUTPUTS.npz."""
import os, sys
sys.path.pop(0)  # this folder: its files have the names of the packages
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import runner

runner.avoid_cpu_quirks()  # before the library reads the environment
try:
    import openvino
except ImportError:
    runner.missing("openvino")


def with_float32_borders(model):
    """NumPy has no bfloat16: such inputs are given, and such outputs read, as float32."""
    steps = openvino.preprocess.PrePostProcessor(model)
    for index, port in enumerate(model.inputs):
        if port.get_element_type() == openvino.Type.bf16:
            steps.input(index).tensor().set_element_type(openvino.Type.f32)
    for index, port in enumerate(model.outputs):
        if port.get_element_type() == openvino.Type.bf16:
            steps.output(index).tensor().set_element_type(openvino.Type.f32)
    return steps.build()


def load(path, shapes, first):
    core = openvino.Core()
    model = with_float32_borders(core.read_model(path))
    # Float layers in float: on newer processors the plug-in would take bfloat16.
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    # A tensor keeps every name that it had on the way; the one the file gives it may be any of them.
    outputs = {name: output for output in compiled.outputs for name in output.get_names()}
    wanted = [name for output in model.outputs for name in [output.get_any_name()]]

    def run(feeds, names):
        found = compiled(feeds)
        return {name: found[outputs[name]] for name in names or wanted if name in outputs}
    batch = model.input(first).get_partial_shape()[0] if first else None
    return batch.get_length() if batch is not None and batch.is_static else None, run


runner.main(load)
