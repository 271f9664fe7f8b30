"""Runs of quench that the pages of the tests and of the pictures are about."""
import pathlib, subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = "idx:examples/demo/images.gz?labels=examples/demo/labels.gz&norm=mnist"


def call(*command):
    done = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def demo(quench, out, *more):
    """The demo's network, calibrated on 200 images."""
    call(quench, "--quiet", "quantize", "examples/demo/fashion_cnn.onnx", "--platform", "onnxruntime", "--calib", f"{DEMO}&limit=200",
         "--eval", f"{DEMO}&offset=200", "-o", out, "--force", "--report", *more)


def verify_and_measure(quench, out):
    """The demo in ONNX Runtime and in integers; both go into its page."""
    call("tools/test-venv")
    call(quench, "--quiet", "verify", out / "deploy", "--data", f"{DEMO}&offset=200", "--layers")
    call(quench, "--quiet", "bench", out / "fashion_cnn.quench.onnx", "--engine", "integer", "--batch", 32, "--seconds", 1)
    call(quench, "report", out)


def demo_in_4_bits(quench, out):
    """With rounding that is learned for a moment: it has curves."""
    call(quench, "--quiet", "quantize", "examples/demo/fashion_cnn.onnx", "--platform", "academic", "--bits", "w4a4", "--set",
         "defaults.weight={observer: mse, fake_quant: fixed}", "--set", "defaults.activation={observer: mse, fake_quant: fixed}", "--method",
         "adaround", "--set", "method.max_count=100", "--calib", f"{DEMO}&limit=64", "--eval", f"{DEMO}&offset=200", "-o", out, "--force", "--report")


def demo_in_2_bits(quench, out):
    """Little is left of its accuracy."""
    call(quench, "--quiet", "quantize", "examples/demo/fashion_cnn.onnx", "--platform", "academic", "--bits", "w2a3", "--set",
         "defaults.weight={observer: mse, fake_quant: fixed}", "--set", "defaults.activation={observer: mse, fake_quant: fixed}", "--calib",
         f"{DEMO}&limit=64", "--eval", f"{DEMO}&offset=200", "-o", out, "--force", "--report")


def big(quench, folder):
    """1,000 nodes: FOLDER/big."""
    python = call("tools/test-venv").strip()
    call(python, pathlib.Path(__file__).with_name("big_model.py"), folder)
    call(quench, "--quiet", "quantize", folder / "big.onnx", "--platform", "onnxruntime", "--calib", f"npz:{folder / 'big.npz'}", "-o",
         folder / "big", "--force", "--report", "--no-deploy", "--profile", "2")
