"""big_model.py FOLDER: a made-up network of 1,000 nodes (big.onnx) and 16 items for it (big.npz).

200 residual blocks; every tenth block reads the one five before it too, so that some edges are long. One name is what an attacker would choose.
"""
import pathlib, sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BLOCKS, CHANNELS, SIZE = 200, 8, 8
HOSTILE = "</script><img src=x onerror=alert(1)>"


def weight(rng, name):
    return numpy_helper.from_array((rng.standard_normal((CHANNELS, CHANNELS, 3, 3)) * 0.02).astype("float32"), name)


def conv(name, x, y):
    return helper.make_node("Conv", [x, f"{name}.weight"], [y], name=name, pads=[1, 1, 1, 1])


def network():
    rng, nodes, weights, ends = np.random.default_rng(0), [], [], ["input"]
    for i in range(BLOCKS):
        name, x, shortcut = f"block{i}", ends[-1], ends[-6] if i % 10 == 9 else ends[-1]
        second = HOSTILE if i == 100 else f"{name}.conv2"
        nodes += [conv(f"{name}.conv1", x, f"{name}.a"), helper.make_node("Relu", [f"{name}.a"], [f"{name}.b"], name=f"{name}.relu1"),
                  conv(second, f"{name}.b", f"{name}.c"), helper.make_node("Add", [f"{name}.c", shortcut], [f"{name}.d"], name=f"{name}.add"),
                  helper.make_node("Relu", [f"{name}.d"], [f"{name}.e"], name=f"{name}.relu2")]
        weights += [weight(rng, f"{name}.conv1.weight"), weight(rng, f"{second}.weight")]
        ends.append(f"{name}.e")
    shape = ["N", CHANNELS, SIZE, SIZE]
    graph = helper.make_graph(nodes, "big", [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(ends[-1], TensorProto.FLOAT, shape)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


folder = pathlib.Path(sys.argv[1])
onnx.save(network(), folder / "big.onnx")
np.savez(folder / "big.npz", input=np.random.default_rng(1).standard_normal((16, CHANNELS, SIZE, SIZE)).astype("float32"))
