"""Runs single quantized operators in ONNX Runtime: qlinear_ops.py FOLDER.

FOLDER/cases.json is a list of {"name", "op", "domain", "attributes", "inputs", "output"}; an input is {"type", "shape",
"file"} with raw values; "fed" ones are inputs of the model, the others initializers. Writes FOLDER/NAME.out, raw.
"""
import json, pathlib, sys
import numpy as np, onnx, onnxruntime
from onnx import helper, numpy_helper

folder = pathlib.Path(sys.argv[1])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
for case in json.loads((folder / "cases.json").read_text()):
    names, values, constants, feeds = [], [], [], {}
    for i, entry in enumerate(case["inputs"]):
        array = np.fromfile(folder / entry["file"], entry["type"]).reshape(entry["shape"])
        names.append(f"in{i}")
        if entry["fed"]:
            values.append(helper.make_tensor_value_info(names[-1], helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
            feeds[names[-1]] = array
        else:
            constants.append(numpy_helper.from_array(array, names[-1]))
    node = helper.make_node(case["op"], names, ["out"], domain=case["domain"], **(case["attributes"] or {}))
    output = helper.make_tensor_value_info("out", helper.np_dtype_to_tensor_dtype(np.dtype(case["output"])), None)
    graph = helper.make_graph([node], "case", values, [output], constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    session.run(None, feeds)[0].tofile(folder / f"{case['name']}.out")
