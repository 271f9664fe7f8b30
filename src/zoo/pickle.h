// A reader for the pickles that torch.save writes for tensors: plain data, and the few globals that
// rebuild a tensor. It builds a tree; it never calls or imports anything. Whatever else a pickle may ask
// for is refused by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quench {

struct PickleValue {
  enum class Kind : std::uint8_t {
    kNone,
    kBool,
    kInt,
    kFloat,
    kString,
    kTuple,
    kList,
    kDict,     // items: key, value, key, value ...
    kGlobal,   // text: "torch.FloatStorage"
    kStorage,  // text: its key in the archive; number: elements; items: [global]
    kTensor,   // number: offset; items: [storage, sizes, strides] or [..., dtype global]
    kCodes,    // a quantized tensor; items: [tensor, its parameters]
  };

  Kind kind = Kind::kNone;
  std::int64_t number = 0;
  double real = 0.0;
  std::string text = {};
  std::vector<int> items = {};  // indices into PickleTree::values
};

// Values refer to each other by index, so shared and cyclic ones cost nothing and cannot leak.
struct PickleTree {
  std::vector<PickleValue> values;
  int root = 0;
  std::size_t end = 0;  // of the pickle in the bytes given

  const PickleValue& at(int index) const { return values[static_cast<std::size_t>(index)]; }
};

const char* name_of(PickleValue::Kind kind);  // "a list", for messages

// Throws, with the position, at the first thing that is not allowed or incomplete.
PickleTree read_pickle(std::string_view bytes);

}  // namespace quench
