// What every version of every operator of ONNX's own domain takes: the compiled truth, made from the
// schemas of the `onnx` package by tools/make-op-versions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quench/dtype.h"

namespace quench {

extern const std::int64_t kNewestOpset;  // that the table knows

// One line per operator: "Clip 6 1-1 1-1 max=1,min=0 c02 c02 | 11 1-3 1-1 - c02,c02,c02 c02"; of each version:
// the opset that it came with, how many inputs and outputs (no upper end: any number), attributes with
// their defaults, then the types of each input and output as a set of bits in the order of DType (hex;
// bit 31: sequences and the like; the last one holds for all further). Or "10 deprecated".
extern const char* const kOpVersionsTable;

struct OpVersion {
  std::int64_t since = 0;
  bool deprecated = false;
  int min_inputs = 0, max_inputs = 0, min_outputs = 0, max_outputs = 0;
  std::map<std::string, std::optional<std::string>> attributes;  // with the default, where there is one
  std::vector<std::uint32_t> input_types, output_types;

  bool takes_input(int slot, DType dtype) const { return takes(input_types, slot, dtype); }
  bool takes_output(int index, DType dtype) const { return takes(output_types, index, dtype); }

 private:
  static bool takes(const std::vector<std::uint32_t>& types, int slot, DType dtype);
};

// In order of version; null for what is not an operator of ONNX's own domain.
const std::vector<OpVersion>* versions_of(const std::string& op);
// The one in effect at an opset; null when there is none yet, or none any more.
const OpVersion* version_at(const std::vector<OpVersion>& versions, std::int64_t opset);

}  // namespace quench
