// Reads the table of operator versions, once.
#include <algorithm>
#include <limits>
#include <sstream>

#include "deploy/onnx/op_versions.h"

namespace quench {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

// "1-3", "1-"
void read_counts(const std::string& text, int& least, int& most) {
  const auto dash = text.find('-');
  least = std::stoi(text.substr(0, dash));
  most = dash + 1 == text.size() ? std::numeric_limits<int>::max() : std::stoi(text.substr(dash + 1));
}

std::vector<std::uint32_t> read_types(const std::string& text) {
  std::vector<std::uint32_t> types;
  if (text == "-") return types;
  for (const std::string& part : split(text, ','))
    types.push_back(static_cast<std::uint32_t>(std::stoul(part, nullptr, 16)));
  return types;
}

// " 6 1-1 1-1 max=1,min=0 c02 c02 "
OpVersion read_version(const std::string& text) {
  std::istringstream in(text);
  OpVersion version;
  std::string inputs, outputs, attributes, input_types, output_types;
  in >> version.since >> inputs >> outputs >> attributes >> input_types >> output_types;
  version.deprecated = inputs == "deprecated";
  if (version.deprecated) return version;
  read_counts(inputs, version.min_inputs, version.max_inputs);
  read_counts(outputs, version.min_outputs, version.max_outputs);
  for (const std::string& attribute : split(attributes == "-" ? "" : attributes, ',')) {
    const auto equals = attribute.find('=');
    std::optional<std::string>& fallback = version.attributes[attribute.substr(0, equals)];
    if (equals != std::string::npos) fallback = attribute.substr(equals + 1);
  }
  version.input_types = read_types(input_types);
  version.output_types = read_types(output_types);
  return version;
}

std::map<std::string, std::vector<OpVersion>> read_table() {
  std::map<std::string, std::vector<OpVersion>> table;
  for (const std::string& line : split(kOpVersionsTable, '\n')) {
    const auto space = line.find(' ');
    if (space == std::string::npos) continue;
    std::vector<OpVersion>& versions = table[line.substr(0, space)];
    for (const std::string& text : split(line.substr(space), '|')) versions.push_back(read_version(text));
  }
  return table;
}

}  // namespace

bool OpVersion::takes(const std::vector<std::uint32_t>& types, int slot, DType dtype) {
  if (types.empty()) return false;
  const std::uint32_t set = types[std::min(static_cast<std::size_t>(slot), types.size() - 1)];
  return (set >> static_cast<unsigned>(dtype) & 1U) != 0;
}

const std::vector<OpVersion>* versions_of(const std::string& op) {
  static const std::map<std::string, std::vector<OpVersion>> table = read_table();
  const auto at = table.find(op);
  return at == table.end() ? nullptr : &at->second;
}

const OpVersion* version_at(const std::vector<OpVersion>& versions, std::int64_t opset) {
  const OpVersion* result = nullptr;
  for (const OpVersion& version : versions)
    if (version.since <= opset) result = &version;
  return result && !result->deprecated ? result : nullptr;
}

}  // namespace quench
