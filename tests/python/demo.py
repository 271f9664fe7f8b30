"""The embedded model and images of examples/demo, as tensors; and a folder for each test."""
import gzip, pathlib, tempfile, unittest

import numpy
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "examples/demo/fashion_cnn.onnx")


def _bytes(name, header):
    return numpy.frombuffer(gzip.open(ROOT / "examples/demo" / name).read(), numpy.uint8, offset=header)


IMAGES = torch.from_numpy(((_bytes("images.gz", 16).reshape(-1, 1, 28, 28) / 255 - 0.1307) / 0.3081).astype(numpy.float32))
LABELS = torch.from_numpy(_bytes("labels.gz", 8).astype(numpy.int64))


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


def small_net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3, stride=2), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                               torch.nn.Flatten(), torch.nn.Linear(8 * 13 * 13, 10))
