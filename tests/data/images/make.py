"""Makes the pictures of this folder, and expected.npz: what Pillow decodes, resizes and converts them to.
python3 make.py, with NumPy and Pillow; the files here are of Pillow 11.1. (Pillow 13 sometimes resizes columns
before rows, which moves a byte by one here and there.)"""
import pathlib, struct, zlib
import numpy as np
from PIL import Image

here = pathlib.Path(__file__).resolve().parent
height, width = 37, 53
y, x = np.mgrid[0:height, 0:width]
noise = np.random.default_rng(1).integers(-20, 20, (height, width, 3))
waves = np.stack([128 + 100 * np.sin(x / 7 + y / 5), 4.7 * x, 255 - 6.5 * y], axis=2)
pixels = np.clip(waves + noise, 0, 255).astype(np.uint8)
rgb = Image.fromarray(pixels)

rgb.save(here / "rgb.jpg", quality=85)  # chroma at half the size both ways
rgb.save(here / "rgb444.jpg", quality=95, subsampling=0)
rgb.save(here / "rgb422.jpg", quality=80, subsampling=1)
rgb.save(here / "progressive.jpg", quality=85, progressive=True)
rgb.convert("L").save(here / "grey.jpg", quality=85)
rgb.convert("CMYK").save(here / "cmyk.jpg", quality=85)
rgb.save(here / "rgb.png")
rgb.convert("L").save(here / "grey.png")
rgb.convert("P").save(here / "palette.png")
rgb.convert("P").save(here / "palette_clear.png", transparency=3)
rgb.convert("1").save(here / "bits.png")
rgb.convert("RGBA").save(here / "alpha.png")
clear = rgb.convert("RGBA")
clear.putalpha(Image.fromarray((x * 4).astype(np.uint8)))
clear.save(here / "alpha.png")
clear.convert("LA").save(here / "grey_alpha.png")
Image.fromarray((pixels[:, :, 0].astype(np.uint16) << 8) + 99).save(here / "grey16.png")



def write_png(name, passes, bits, interlaced):  # the two forms that Pillow does not write; RGB
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + row.tobytes() for part in passes for row in part if row.size)
    header = struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, interlaced)
    (here / name).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


write_png("rgb16.png", [(pixels.astype(np.uint16) * 256 + 200).astype(">u2")], 16, 0)
adam7 = [(0, 8, 0, 8), (0, 8, 4, 8), (4, 8, 0, 4), (0, 4, 2, 4), (2, 4, 0, 2), (0, 2, 1, 2), (1, 2, 0, 1)]
write_png("interlaced.png", [pixels[a::b, c::d] for a, b, c, d in adam7], 8, 1)

expected = {}
for path in sorted(here.glob("*.jpg")) + sorted(here.glob("*.png")):
    name = path.name
    if name == "grey16.png":  # Pillow's own conversion clips instead; the high byte is meant
        expected[name] = np.repeat(pixels[:, :, :1], 3, axis=2)
    else:
        expected[name] = np.asarray(Image.open(path).convert("RGB"))
expected["luma"] = np.asarray(rgb.convert("L"))
for h, w in [(16, 23), (37, 20), (11, 53), (80, 100), (37, 54), (1, 1), (5, 200)]:
    expected[f"resize_{h}x{w}"] = np.asarray(rgb.resize((w, h), Image.BILINEAR))
expected["resize_grey_16x23"] = np.asarray(rgb.convert("L").resize((23, 16), Image.BILINEAR))


def center_crop(image, size):  # as torchvision.transforms.functional.center_crop
    h, w = image.shape[:2]
    left, top = max(size - w, 0) // 2, max(size - h, 0) // 2
    right, bottom = (max(size - w, 0) + 1) // 2, (max(size - h, 0) + 1) // 2
    image = np.pad(image, ((top, bottom), (left, right), (0, 0)))
    h, w = image.shape[:2]
    top, left = int(round((h - size) / 2.0)), int(round((w - size) / 2.0))
    return image[top:top + size, left:left + size]


for size in (20, 21, 37, 40, 45, 60):
    expected[f"crop_{size}"] = center_crop(pixels, size)
for size in (14, 28):  # short side 256/224 of the size, then the middle: "images:...?size=N"
    short = size * 256 // 224
    small = rgb.resize((int(short * width / height), short), Image.BILINEAR)
    expected[f"size_{size}"] = center_crop(np.asarray(small), size)
np.savez_compressed(here / "expected.npz", **expected)
