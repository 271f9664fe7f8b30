"""What the Python runners share: arguments, arrays, slices, and processor quirks. Protocol: docs/runners.md."""
import os, pathlib, platform, sys

SLICE = 32  # items at a time if the model leaves its batch open


def cpuid(leaf):
    """eax, ebx, ecx, edx, by a few bytes of machine code: Python has no such function."""
    import ctypes, mmap
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
#push rbx; mov eax, edi; xor ecx, ecx; cpuid; mov[rsi], eax; mov[rsi + 4], ebx...; pop rbx; ret
    code.write(bytes.fromhex("53 89f8 31c9 0fa2 8906 895e04 894e08 89560c 5b c3"))
    registers = (ctypes.c_uint32 * 4)()
    function = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_void_p)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    function(leaf, ctypes.addressof(registers))
    return list(registers)


def avoid_cpu_quirks():
    """Some virtual machines advertise AMX but hide its tile palette (leaf 1DH); oneDNN then dies with SIGILL."""
    if platform.machine() != "x86_64" or not (cpuid(7)[3] >> 24) & 1:
        return
    if cpuid(0)[0] < 0x1D or cpuid(0x1D)[0] == 0:
        os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")


def stop(message, code=1):
    print(message, file=sys.stderr)
    sys.exit(code)


def missing(package):
    setup = pathlib.Path(__file__).resolve().parent.parent / "test-venv"
    stop(f"the Python package '{package}' is not installed ({sys.executable}); '{setup} {package}' creates an "
         f"environment that has it, and QUENCH_PYTHON=.../bin/python names another one", 2)


def with_batch(path, shapes, first):
    """The model of `path` (of the package onnx) with its batch fixed, at its own or at that of `shapes`; and the batch
    (None if there is no input `first` whose first axis is one)."""
    import onnx
    model = onnx.load(path)
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in constants]
    symbols, batch = {}, None
    for value in inputs:
        dims = value.type.tensor_type.shape.dim
        if value.name == first:
            batch = dims[0].dim_value or shapes[first][0]
        for dim, size in zip(dims, shapes[value.name]):
            dim.dim_value = dim.dim_value or symbols.setdefault(dim.dim_param or id(dim), size)
    for value in [*model.graph.output, *model.graph.value_info]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in symbols:
                dim.dim_value = symbols[dim.dim_param]
    return model, batch


def print_time(run, items, seconds):
    """{"items": of one run, "seconds": of the fastest}"""
    import json, time
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    print(json.dumps({"items": items, "seconds": best}))


def write_npz(path, arrays):
    """As numpy.savez, which takes no array of the name 'file'."""
    import numpy, zipfile
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as entry:
                numpy.lib.format.write_array(entry, numpy.ascontiguousarray(array), allow_pickle=False)


def bfloat16_bits(array):
    """Of float32 numbers, to nearest with ties to even: NumPy has no bfloat16, so its arrays come as float32."""
    import numpy
    bits = numpy.ascontiguousarray(array, "float32").view("uint32")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("uint16")


def from_bfloat16_bits(bits):
    return (bits.astype("uint32") << 16).view("float32")


def input_names(path):
    """Of an ONNX file, in its order; for runtimes that take their inputs by position."""
    import onnx
    graph = onnx.load(path, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    return [value.name for value in graph.input if value.name not in constants]


def main(load):
    """`load(path, shapes, first)` gives (batch or None, run); run(feeds, names or None) gives {name: array} for one slice of
    the items. `shapes` are those of a slice; a runtime that compiles for them takes shapes[name][0] for its batch.
    `first` is an input whose first axis counts the items (None: there is none)."""
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("inputs")
    parser.add_argument("outputs")
    parser.add_argument("--tensors", help="outputs of the model, by name, separated by commas (default: all)")
    parser.add_argument("--shared", help="inputs that are fed whole with each slice, by name, separated by commas")
    parser.add_argument("--time", type=float, help="seconds to repeat the first slice for; prints the fastest run, as JSON")
    arguments = parser.parse_args()
    import numpy
    names = arguments.tensors.split(",") if arguments.tensors else None
    feeds = dict(numpy.load(arguments.inputs))
    shared = {name: feeds.pop(name) for name in (arguments.shared.split(",") if arguments.shared else [])}
    items = len(next(iter(feeds.values()))) if feeds else 1
    shapes = {name: (min(items, SLICE), *array.shape[1:]) for name, array in feeds.items()}
    shapes.update({name: array.shape for name, array in shared.items()})
    batch, run_all = load(arguments.model, shapes, next(iter(feeds), None))
    run = lambda part, names: run_all({**part, **shared}, names)
    if not feeds:  # no input has an axis of items: a single run
        return write_npz(arguments.outputs, run({}, names))
    parts = []
    for first in range(0, items, batch or SLICE):
        part = {name: array[first:first + (batch or SLICE)] for name, array in feeds.items()}
        count = len(next(iter(part.values())))
        fed = max(batch or 0, count)
        if count < fed:  # padded with the last item
            part = {name: numpy.concatenate([array, numpy.repeat(array[-1:], fed - count, 0)]) for name, array in part.items()}
        # The first axis of a tensor need not count items, but grows with them.
        parts.append({name: array[:len(array) * count // fed] for name, array in run(part, names).items()})
    for name in names or []:
        if name not in parts[0]:
            stop(f"the model has no output '{name}'; it has {', '.join(parts[0])}")
    if arguments.time:
        first = {name: array[:batch or SLICE] for name, array in feeds.items()}
        print_time(lambda: run(first, names), len(next(iter(first.values()))), arguments.time)
    write_npz(arguments.outputs, {name: numpy.concatenate([part[name] for part in parts]) for name in parts[0]})
