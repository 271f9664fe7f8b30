"""The README's story from Python: a float model and images, to an int8 file that ONNX Runtime executes; then training.

    python examples/python/quickstart.py        (pip install quench onnxruntime)
"""
import gzip
import pathlib
import tempfile

import numpy
import torch
from torch.utils.data import DataLoader, TensorDataset

import quench

demo = pathlib.Path(__file__).resolve().parent.parent / "demo"


def images() -> TensorDataset:
    """A thousand of Fashion-MNIST."""
    pixels = numpy.frombuffer(gzip.open(demo / "images.gz").read(), numpy.uint8, offset=16).reshape(-1, 1, 28, 28)
    labels = numpy.frombuffer(gzip.open(demo / "labels.gz").read(), numpy.uint8, offset=8)
    normal = (pixels / 255 - 0.1307) / 0.3081
    return TensorDataset(torch.tensor(normal, dtype=torch.float32), torch.tensor(labels, dtype=torch.int64))


def main() -> None:
    data = images()
    calib = DataLoader(torch.utils.data.Subset(data, range(200)), batch_size=50)
    test = DataLoader(torch.utils.data.Subset(data, range(200, 1000)), batch_size=100)

    # Quantized for ONNX Runtime: planned, calibrated, corrected, compared with float.
    result = quench.quantize(demo / "fashion_cnn.onnx", calib, platform="onnxruntime", eval_data=test)
    print(result.summary())
    print(result.plan["fc.weight"])

    # Files for the runtime, and whether it computes what was simulated.
    with tempfile.TemporaryDirectory() as folder:
        files = result.deploy(pathlib.Path(folder) / "files")
        print(files)
        print(quench.verify(files.folder, test))

    # A module with gradients through its quantizers, and a loop of one's own.
    module = result.module().train()
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-3)
    for x, y in calib:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(module(x), y)
        loss.backward()
        optimizer.step()
    trained = module.eval().model()
    print("trained:", trained.evaluate(test))


if __name__ == "__main__":
    main()
