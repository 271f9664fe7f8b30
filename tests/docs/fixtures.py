"""What lies in a page's folder before its first block: small models and data under the names that pages use.

    model.onnx, resnet20.onnx           ResNet-20 for 32x32 images in 10 classes, random weights
    calib/, train/, val/                pictures, one folder per class
    data_batch_1.bin, test_batch.bin    CIFAR-10 files; held_out.bin; cifar10/ holds the training set
    x.npz                               arrays for `quench run`
    fashion.onnx, images.gz, labels.gz  the demo's, with labels
    examples, tools, bench, docs, tests the repository's; build: the build folder's parent
"""
import os, pathlib, random, struct, subprocess, zipfile, zlib


def _picture(rng, label):
    """32x32 pixels that depend on the class: a colour with a bar, and noise."""
    base = [rng.randrange(60) + 18 * ((label * k) % 10) for k in (1, 3, 7)]
    rows = []
    for y in range(32):
        rows.append(bytes(min(255, base[c] + rng.randrange(40) + (60 if x // 3 == label else 0))
                          for x in range(32) for c in range(3)))
    return rows


def _png(rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + r for r in rows)))
            + chunk(b"IEND", b""))


def _pictures(folder, rng, each):
    for label in range(10):
        (folder / f"class{label}").mkdir(parents=True)
        for i in range(each):
            (folder / f"class{label}" / f"{i}.png").write_bytes(_png(_picture(rng, label)))


def _cifar(path, rng, count):
    with open(path, "wb") as file:
        for i in range(count):
            pixels = b"".join(_picture(rng, i % 10))
            file.write(bytes([i % 10]) + pixels[0::3] + pixels[1::3] + pixels[2::3])


def _npz(path, arrays):
    """{name: (dims, type of struct, numbers)}"""
    with zipfile.ZipFile(path, "w") as archive:
        for name, (dims, kind, numbers) in arrays.items():
            text = f"{{'descr': '<{kind}', 'fortran_order': False, 'shape': ({', '.join(map(str, dims))},), }}"
            head = (text + " " * ((-len(text) - 11) % 64) + "\n").encode()
            codes = {"f4": "f", "i8": "q"}
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head
                             + struct.pack(f"<{len(numbers)}{codes[kind]}", *numbers))


def _data(folder):
    rng = random.Random(1)
    for name in ("calib", "train", "val"):
        _pictures(folder / name, rng, 3)
    (folder / "cifar10").mkdir()
    for name in ("data_batch_1.bin", "test_batch.bin", "held_out.bin", "cifar10/data_batch_1.bin",
                 "cifar10/data_batch_2.bin", "cifar10/test_batch.bin"):
        _cifar(folder / name, rng, 40)
    _npz(folder / "x.npz", {"input": ((2, 3, 32, 32), "f4", [rng.random() for _ in range(2 * 3072)])})


_made = {}  # program -> folder: they are the same for every page


def _shared(program, keep):
    if program not in _made:
        folder = keep / "fixtures"
        folder.mkdir()
        _data(folder)
        if program.exists():
            subprocess.run([program, "--models", folder], check=True)
        _made[program] = folder
    return _made[program]


def make(folder, root, build, program, keep):
    subprocess.run(["cp", "-r", f"{_shared(program, keep)}/.", folder], check=True)
    for name in ("examples", "tools", "bench", "docs", "tests"):
        (folder / name).symlink_to(root / name)
    for name, source in (("fashion.onnx", "fashion_cnn.onnx"), ("images.gz",) * 2, ("labels.gz",) * 2):
        (folder / name).symlink_to(root / "examples/demo" / source)
    (folder / "build").mkdir()
    (folder / "build/release").symlink_to(build)
    (folder / ".bin").mkdir()
    (folder / ".bin/quench").symlink_to(build / "quench")
    _board(folder, root)


def _board(folder, root):
    """A board that scp and ssh reach: /tmp there is a folder here, run-model is ONNX Runtime."""
    (folder / "board").mkdir()
    there = f"sed s,board:/tmp,{folder}/board,g"
    scripts = {"scp": f'cp $(echo "$@" | sed s/^-q// | {there})',
               "ssh": f'shift; set -- $(echo "$@" | sed s,/tmp,{folder}/board,g); shift\n'
                      f'{root}/.venv/bin/python {root}/tools/runners/onnxruntime.py "$@"'}
    for name, script in scripts.items():
        path = folder / ".bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
