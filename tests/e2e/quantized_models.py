"""Quantizes real models with ONNX Runtime's own tools in every form that they write, and runs them there.

    quantized_models.py DATA FOLDER

Writes FOLDER/MODEL.FORM.onnx and .npz: input, output (of ONNX Runtime, op by op), fused (with its optimizer on) and float
(of the model before). FORM is qoperator, qdq, qdq16 (16-bit activations), dynamic or optimized (float, as ONNX Runtime's
optimizer writes it). A file whose .npz is there is not made again.
"""
import pathlib, sys, tempfile
import numpy as np, onnx, onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

data, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
MEAN, STD = (np.array(v, "float32").reshape(1, 3, 1, 1) for v in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
LEVELS = ort.GraphOptimizationLevel


def cifar(count):
    rows = np.fromfile(data / "cifar10/test_batch.bin", "uint8").reshape(-1, 3073)[:count, 1:]
    return [(row.reshape(1, 3, 32, 32).astype("float32") / 255 - MEAN) / STD for row in rows]


def noise(count):  # pixels of a smooth random picture: images of the right statistics need a decoder
    random = np.random.default_rng(3)
    return [np.kron(random.normal(size=(1, 3, 14, 14)), np.ones((1, 1, 16, 16))).astype("float32") for _ in range(count)]


def stories(count):
    tokens = np.fromfile(data / "text/tinystories_tok512.u16", "uint16").astype("int64")
    return [tokens[i * 256:(i + 1) * 256].reshape(1, 256) for i in range(count)]


class Reader(CalibrationDataReader):
    def __init__(self, name, arrays):
        self.rest = iter([{name: array} for array in arrays])

    def get_next(self):
        return next(self.rest, None)


def run(path, name, x, level):
    options = ort.SessionOptions()
    options.graph_optimization_level, options.intra_op_num_threads = level, 1
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, {name: x})[0]


def optimize(source, target):
    options = ort.SessionOptions()
    options.graph_optimization_level = LEVELS.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    ort.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def quantize(form, source, target, name, arrays):
    static = {"weight_type": QuantType.QInt8, "per_channel": True}
    if form == "optimized":
        optimize(source, target)
    elif form == "dynamic":
        quantize_dynamic(source, target, weight_type=QuantType.QInt8)
    else:
        kind = QuantFormat.QOperator if form == "qoperator" else QuantFormat.QDQ
        activations = QuantType.QUInt16 if form == "qdq16" else QuantType.QUInt8
        extra = {"UseQDQContribOps": form == "qdq16"}  # the pairs of ONNX Runtime's own domain
        quantize_static(source, target, Reader(name, arrays), quant_format=kind, activation_type=activations,
                        extra_options=extra, **static)


def make(model, form, source, arrays):
    target, result = folder / f"{model}.{form}.onnx", folder / f"{model}.{form}.npz"
    if result.exists():
        return
    name, x = onnx.load(source).graph.input[0].name, np.concatenate(arrays[:2] if arrays[0].ndim == 4 else arrays[:1])
    quantize(form, source, target, name, arrays)
    level = {"output": LEVELS.ORT_DISABLE_ALL, "fused": LEVELS.ORT_ENABLE_ALL}
    found = {key: run(target, name, x, value) for key, value in level.items()}
    found["float"] = run(source, name, x, LEVELS.ORT_DISABLE_ALL)
    np.savez(result, input=x, **found)


for model, file, arrays in [("resnet20", "resnet20_cifar10_bn", cifar(32)), ("mobilenetv2", "mobilenetv2_imagenet", noise(4)),
                            ("stories260K", "stories260K_T256", stories(4))]:
    for form in ("qoperator", "qdq", "qdq16", "dynamic", "optimized"):
        make(model, form, data / f"models/{file}.onnx", arrays)
