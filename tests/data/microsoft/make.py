#!/usr/bin/env python3
"""Makes ops.onnx, a model of ONNX Runtime's own operators (domain com.microsoft) side by side, each with its own output,
and ops.npz: the inputs, and what ONNX Runtime computes, by name.

For maintainers; the tests only read the files. Needs tools/test-venv:
    $(tools/test-venv) tests/data/microsoft/make.py
"""
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).resolve().parent
RANDOM = np.random.default_rng(7)
DOMAIN = "com.microsoft"
nodes, inputs, outputs, constants, feeds = [], [], [], [], {}


def real(*sizes, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, sizes).astype(np.float32)


def codes(*sizes, kind=np.uint8):
    info = np.iinfo(kind)
    return RANDOM.integers(info.min, info.max + 1, sizes).astype(kind)


def fed(name, array):
    feeds[name] = array
    inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
    return name


def constant(array):
    name = f"c{len(constants)}"
    constants.append(numpy_helper.from_array(np.asarray(array), name))
    return name


def scale(value):
    return constant(np.float32(value))


def zero(value, kind=np.uint8):
    return constant(kind(value))


def case(name, op, operands, results=1, kind=TensorProto.FLOAT, domain=DOMAIN, wanted=(0,), **attributes):
    names = [name if i == 0 else f"{name}.{i}" for i in range(results)]
    nodes.append(helper.make_node(op, operands, [n if i in wanted else "" for i, n in enumerate(names)], name=f"node_{name}",
                                  domain=domain, **attributes))
    outputs.extend(helper.make_tensor_value_info(names[i], kind, None) for i in wanted)


def float_operators():
    x, rows = fed("x", real(2, 5, 8)), fed("rows", real(5, 8))
    case("gelu", "Gelu", [x])
    case("bias_gelu", "BiasGelu", [x, constant(real(8))])
    case("fast_gelu", "FastGelu", [x])
    case("fast_gelu_bias", "FastGelu", [x, constant(real(8))])
    case("quick_gelu", "QuickGelu", [x], alpha=1.5)
    skip, gamma, beta, bias = constant(real(2, 5, 8)), constant(real(8)), constant(real(8)), constant(real(8))
    case("skip_layer_norm", "SkipLayerNormalization", [x, skip, gamma, beta], epsilon=1e-5)
    case("skip_layer_norm_sum", "SkipLayerNormalization", [x, skip, gamma, beta, bias], 4, wanted=(0, 3), epsilon=1e-3)
    case("skip_rms_norm", "SkipSimplifiedLayerNormalization", [x, skip, gamma], epsilon=1e-5)
    case("skip_rms_norm_sum", "SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], 4, wanted=(0, 3), epsilon=1e-3)
    case("rms_norm", "SimplifiedLayerNormalization", [x, gamma], domain="", epsilon=1e-5, axis=-1)
    case("fused_gemm", "FusedGemm", [rows, constant(real(3, 8)), constant(real(3))], transB=1, alpha=0.5,
         activation="LeakyRelu", activation_alpha=0.2)
    case("fused_gemm_relu", "FusedGemm", [rows, constant(real(8, 3))], activation="Relu")
    case("fused_mat_mul", "FusedMatMul", [x, constant(real(3, 8))], transB=1, alpha=0.25)
    case("fused_mat_mul_left", "FusedMatMul", [x, constant(real(2, 5, 3))], transA=1)
    heads = fed("heads", real(5, 3, 8))
    case("fused_mat_mul_batch", "FusedMatMul", [heads, constant(real(3, 8, 4))], transBatchA=1)
    case("fused_mat_mul_both", "FusedMatMul", [heads, constant(real(3, 5, 4))], transA=1, transBatchA=1, alpha=2.0)
    image, kernel, offset = fed("image", real(2, 3, 6, 6)), constant(real(4, 3, 3, 3)), constant(real(4))
    for activation, parameters in [("Relu", []), ("Sigmoid", []), ("Tanh", []), ("LeakyRelu", [0.1]), ("Clip", [-1.0, 3.0]),
                                   ("HardSigmoid", [0.2, 0.4])]:
        extra = {"activation_params": parameters} if parameters else {}
        case(f"fused_conv_{activation}", "FusedConv", [image, kernel, offset], activation=activation, pads=[1, 1, 1, 1],
             strides=[2, 2], **extra)
    case("fused_conv_sum", "FusedConv", [image, kernel, offset, constant(real(2, 4, 4, 4))], activation="Relu")


def float_and_codes():
    x = "x"
    weight, weight_scale = constant(codes(8, 6, kind=np.int8)), constant(real(6, low=0.01, high=0.02))
    case("dynamic_mat_mul", "DynamicQuantizeMatMul", [x, weight, scale(0.02)])
    case("dynamic_mat_mul_bias", "DynamicQuantizeMatMul",
         [x, weight, weight_scale, constant(np.zeros(6, np.int8)), constant(real(6))])
    a = fed("codes", codes(2, 5, 8))
    case("integer_to_float", "MatMulIntegerToFloat", [a, weight, scale(0.03), weight_scale, zero(120)])
    case("integer_to_float_bias", "MatMulIntegerToFloat",
         [a, constant(codes(8, 6)), scale(0.03), scale(0.02), zero(120), zero(99), constant(real(6))])
    for kind, number in [(np.uint16, TensorProto.UINT16), (np.int16, TensorProto.INT16), (np.uint8, TensorProto.UINT8)]:
        offset = 30000 if kind == np.uint16 else 7
        case(f"quantize_{kind.__name__}", "QuantizeLinear", [x, scale(0.0001 if kind != np.uint8 else 0.02), zero(offset, kind)],
             kind=number)
        case(f"dequantize_{kind.__name__}", "DequantizeLinear",
             [constant(codes(4, 6, kind=kind)), scale(0.01), zero(offset, kind)])
    case("dequantize_axis", "DequantizeLinear",
         [constant(codes(3, 4, kind=np.int8)), constant(real(3, low=0.1, high=0.2)), constant(codes(3, kind=np.int8))], axis=0)


def code_operators():
    rows = fed("row_codes", codes(5, 8))
    b, bias = constant(codes(3, 8, kind=np.int8)), constant(RANDOM.integers(-2000, 2000, 3).astype(np.int32))
    a = [rows, scale(0.03), zero(120)]
    per_column = [b, constant(real(3, low=0.01, high=0.02)), constant(np.zeros(3, np.int8))]
    case("gemm_float", "QGemm", a + per_column + [bias], transB=1)
    case("gemm_float_alpha", "QGemm", a + [constant(codes(8, 3)), scale(0.02), zero(99), bias], alpha=0.5)
    case("gemm_codes_alpha", "QGemm", a + per_column + [bias, scale(0.1), zero(128)], transB=1, alpha=0.5, kind=TensorProto.UINT8)
    x = fed("more_codes", codes(4, 6, 8))
    case("softmax", "QLinearSoftmax", [x, scale(0.05), zero(128), scale(1 / 256), zero(0)], kind=TensorProto.UINT8, axis=-1,
         opset=13)
    case("softmax_middle", "QLinearSoftmax", [x, scale(0.05), zero(128), scale(1 / 256), zero(0)], kind=TensorProto.UINT8,
         axis=1, opset=13)
    case("softmax_old", "QLinearSoftmax", [x, scale(0.02), zero(100), scale(1 / 1024), zero(0)], kind=TensorProto.UINT8, axis=1,
         opset=11)
    condition = constant(RANDOM.integers(0, 2, (4, 1, 8)).astype(bool))
    case("where", "QLinearWhere", [condition, x, scale(0.05), zero(128), constant(codes(6, 8)), scale(0.03), zero(20), scale(0.06),
                                   zero(110)], kind=TensorProto.UINT8)


def recurrent():
    x = fed("time", real(6, 1, 5))
    for name, sizes in (("lstm", (2,)), ("lstm_columns", (2, 16))):
        weights = [constant(codes(2, rows, 16, kind=np.int8)) for rows in (5, 4)]
        scales = [constant(real(*sizes, low=0.002, high=0.005)) for _ in weights]
        zeros = [constant(np.zeros(sizes, np.int8)) for _ in weights]
        case(name, "DynamicQuantizeLSTM", [x, *weights, constant(real(2, 32)), "", "", "", "", scales[0], zeros[0], scales[1],
                                           zeros[1]], 3, wanted=(0, 1, 2), hidden_size=4, direction="bidirectional")


def few_bits():
    left = fed("left", real(4, 40, low=-1.0, high=1.0))
    for bits in (2, 4, 8):
        size = {"K": 40, "N": 5, "bits": bits, "block_size": 16}
        weight, scales = constant(codes(5, 3, 16 * bits // 8)), constant(real(15, low=0.01, high=0.1))
        case(f"nbits_{bits}", "MatMulNBits", [left, weight, scales], **size)
        zeros = constant(codes(5 * ((3 * bits + 7) // 8)))
        case(f"nbits_{bits}_zeros", "MatMulNBits", [left, weight, scales, zeros], **size)
    groups = constant(RANDOM.integers(0, 3, 40).astype(np.int32))
    case("nbits_4_groups", "MatMulNBits", [left, constant(codes(5, 3, 8)), constant(real(15, low=0.01, high=0.1)), "", groups],
         K=40, N=5, bits=4, block_size=16)


def main():
    for part in (float_operators, float_and_codes, code_operators, few_bits, recurrent):
        part()
    graph = helper.make_graph(nodes, "microsoft", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = session.run(None, feeds)
    onnx.save(model, FOLDER / "ops.onnx")
    arrays = {f"in/{name}": array for name, array in feeds.items()}
    arrays.update({f"out/{one.name}": array for one, array in zip(session.get_outputs(), found)})
    np.savez_compressed(FOLDER / "ops.npz", **arrays)


if __name__ == "__main__":
    main()
