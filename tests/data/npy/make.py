"""Makes the .npy and .npz files of this folder with NumPy (2.x): python3 make.py"""
import io, pathlib, zipfile
import numpy as np

here = pathlib.Path(__file__).resolve().parent
values = np.arange(6).reshape(2, 3) - 2
types = dict(bool=np.bool_, int8="<i1", int16="<i2", int32="<i4", int64="<i8", float16="<f2", float="<f4", double="<f8",
             uint8="<u1", uint16="<u2", uint32="<u4", uint64="<u8", complex64="<c8", complex128="<c16")
arrays = {}
for name, code in types.items():
    base = values if name[0] != "u" else values + 2
    array = (base * (1 + 0.5j)).astype(code) if name.startswith("complex") else base.astype(code)
    arrays[name] = array
    if array.dtype.itemsize > 1:
        arrays[name + "_big"] = array.astype(array.dtype.newbyteorder(">"))
    arrays[name + "_fortran"] = np.asfortranarray(array)
arrays["scalar"] = np.float32(1.5)
arrays["empty"] = np.zeros((0, 3), np.float32)
arrays["one"] = np.array([7], np.int64)
np.savez(here / "types.npz", **arrays)
np.savez_compressed(here / "deflated.npz", a=np.zeros((64, 64), np.float32), b=np.arange(5))
np.save(here / "plain.npy", np.arange(4, dtype=np.float32))
for version in (2, 3):
    with open(here / f"version{version}.npy", "wb") as file:
        np.lib.format.write_array(file, np.arange(4, dtype=np.float32), version=(version, 0))
np.save(here / "objects.npy", np.array([{}, None], dtype=object), allow_pickle=True)
np.save(here / "text.npy", np.array(["a", "b"]))
np.save(here / "records.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
np.save(here / "dates.npy", np.array(["2020-01-01"], dtype="datetime64[D]"))
np.save(here / "void.npy", np.zeros(2, dtype="V2"))
