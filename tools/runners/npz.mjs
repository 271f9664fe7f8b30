// NumPy's .npz for Node: what quench writes and reads (stored, not compressed; C order, little-endian).
import fs from "node:fs";
import zlib from "node:zlib";

// ONNX Runtime's name, NumPy's, and the array that holds it.
const kTypes = [
  ["float32", "<f4", Float32Array], ["float64", "<f8", Float64Array], ["uint8", "|u1", Uint8Array],
  ["int8", "|i1", Int8Array], ["uint16", "<u2", Uint16Array], ["int16", "<i2", Int16Array],
  ["int32", "<i4", Int32Array], ["int64", "<i8", BigInt64Array], ["bool", "|b1", Uint8Array]];

function readNpy(bytes, name) {
  const start = bytes[6] === 1 ? 10 : 12;  // versions 1 and 2 differ in the size of this number
  const length = bytes[6] === 1 ? bytes.readUInt16LE(8) : bytes.readUInt32LE(8);
  const header = bytes.toString("latin1", start, start + length);
  const descr = /'descr':\s*'([^']+)'/.exec(header)[1];
  const known = kTypes.find((one) => one[1] === descr);
  if (!known || /'fortran_order':\s*True/.test(header)) throw new Error(`'${name}' is an array of '${header}'`);
  const shape = /'shape':\s*\(([^)]*)\)/.exec(header)[1].split(",").filter((n) => n.trim()).map(Number);
  const body = bytes.subarray(start + length);
  const copy = body.buffer.slice(body.byteOffset, body.byteOffset + body.length);  // aligned
  return { type: known[0], shape, data: new known[2](copy) };
}

export function readNpz(path) {
  const bytes = fs.readFileSync(path), arrays = {};
  let end = bytes.length - 22;
  while (bytes.readUInt32LE(end) !== 0x06054b50) --end;  // the end of the directory; a comment may follow it
  let at = bytes.readUInt32LE(end + 16);
  for (let i = 0; i < bytes.readUInt16LE(end + 10); ++i) {
    const method = bytes.readUInt16LE(at + 10), size = bytes.readUInt32LE(at + 20), local = bytes.readUInt32LE(at + 42);
    const name = bytes.toString("utf8", at + 46, at + 46 + bytes.readUInt16LE(at + 28));
    const data = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const stored = bytes.subarray(data, data + size);
    const plain = method === 0 ? stored : zlib.inflateRawSync(stored);
    arrays[name.replace(/\.npy$/, "")] = readNpy(plain, name);
    at += 46 + bytes.readUInt16LE(at + 28) + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return arrays;
}

function npy({ type, shape, data }) {
  const known = kTypes.find((one) => one[0] === type);
  if (!known) throw new Error(`NumPy has no type '${type}'`);
  const list = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  let header = `{'descr': '${known[1]}', 'fortran_order': False, 'shape': (${list}), }`;
  header = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + "\n";
  const head = Buffer.alloc(10);
  head.write("\x93NUMPY\x01\x00", "latin1");
  head.writeUInt16LE(header.length, 8);
  return Buffer.concat([head, Buffer.from(header, "latin1"), Buffer.from(data.buffer, data.byteOffset, data.byteLength)]);
}

const kCrc = Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; ++k) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});

function crc32(bytes) {
  let crc = 0xffffffff;
  for (let i = 0; i < bytes.length; ++i) crc = kCrc[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

// The fields that a local header and an entry of the directory have in common.
function fields(crc, size, nameLength) {
  const head = Buffer.alloc(26);
  head.writeUInt16LE(20, 0);
  head.writeUInt16LE(0x800, 2);  // names are UTF-8
  head.writeUInt16LE(0x21, 8);   // 1 January 1980
  head.writeUInt32LE(crc, 10);
  head.writeUInt32LE(size, 14);
  head.writeUInt32LE(size, 18);
  head.writeUInt16LE(nameLength, 22);
  return head;
}

export function writeNpz(path, arrays) {
  const parts = [], directory = [];
  let at = 0;
  for (const [key, array] of Object.entries(arrays)) {
    const name = Buffer.from(key + ".npy"), bytes = npy(array), same = fields(crc32(bytes), bytes.length, name.length);
    parts.push(Buffer.from("PK\x03\x04", "latin1"), same, name, bytes);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    directory.push(Buffer.from("PK\x01\x02\x14\x00", "latin1"), same, rest, name);
    at += 30 + name.length + bytes.length;
  }
  const listed = Buffer.concat(directory), end = Buffer.alloc(22), count = Object.keys(arrays).length;
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(at, 16);
  fs.writeFileSync(path, Buffer.concat([...parts, listed, end]));
}
