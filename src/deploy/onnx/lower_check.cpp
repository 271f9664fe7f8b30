#include "deploy/onnx/lower_check.h"

#include <cstdlib>
#include <functional>

#include "deploy/onnx/op_versions.h"
#include "quench/error.h"

namespace quench {
namespace {

using Versions = std::vector<OpVersion>;

// "; opset 18 does", "; no opset does"
std::string who_does(const Versions& versions, const std::function<bool(const OpVersion&)>& can) {
  for (const OpVersion& version : versions)
    if (!version.deprecated && can(version)) return concat("; opset ", version.since, " does");
  return "; no opset does";
}

bool says(const Attr& attr, const std::string& fallback) {
  if (const auto* number = std::get_if<std::int64_t>(&attr)) return std::to_string(*number) == fallback;
  if (const auto* text = std::get_if<std::string>(&attr)) return *text == fallback;
  if (const auto* number = std::get_if<double>(&attr))
    return static_cast<float>(*number) == std::strtof(fallback.c_str(), nullptr);
  return false;
}

// The default that a later version gives the attribute.
bool says_default(const std::string& name, const Attr& attr, const Versions& versions, const OpVersion& now) {
  for (const OpVersion& version : versions) {
    const auto at = version.attributes.find(name);
    if (version.since > now.since && at != version.attributes.end()) return at->second && says(attr, *at->second);
  }
  return false;
}

void check_attributes(Node& node, const Versions& versions, const OpVersion& now, std::int64_t opset) {
  for (auto at = node.attrs.begin(); at != node.attrs.end();) {
    const std::string& name = at->first;
    const bool is_ours = name.rfind("quench.", 0) == 0;  // the writer leaves these out
    if (!is_ours && !now.attributes.contains(name)) {
      QUENCH_CHECK(says_default(name, at->second, versions, now), node.where(), ": ", node.op(), " of opset ", opset,
                   " has no attribute '", name, "'",
                   who_does(versions, [&](const OpVersion& v) { return v.attributes.contains(name); }));
      at = node.attrs.erase(at);
    } else {
      ++at;
    }
  }
}

// Absent ones at the end are not written.
int written_inputs(const Node& node) {
  int count = static_cast<int>(node.inputs().size()) - node.captures;
  while (count > 0 && !node.input(count - 1)) --count;
  return count;
}

void check_counts(const Node& node, const Versions& versions, const OpVersion& now, std::int64_t opset) {
  const int inputs = written_inputs(node);
  const auto outputs = static_cast<int>(node.outputs().size());
  QUENCH_CHECK(inputs >= now.min_inputs && inputs <= now.max_inputs, node.where(), ": ", node.op(), " of opset ", opset,
               " does not take ", inputs, " inputs", who_does(versions, [&](const OpVersion& v) {
                 return inputs >= v.min_inputs && inputs <= v.max_inputs;
               }));
  QUENCH_CHECK(outputs <= now.max_outputs, node.where(), ": ", node.op(), " of opset ", opset, " does not give ",
               outputs, " outputs", who_does(versions, [&](const OpVersion& v) { return outputs <= v.max_outputs; }));
}

bool is_typed(const Value* value) { return value && value->type().is_tensor() && value->dtype() != DType::kUndefined; }

void check_types(const Node& node, const Versions& versions, const OpVersion& now, std::int64_t opset) {
  for (int slot = 0; slot < written_inputs(node); ++slot) {
    const Value* value = node.input(slot);
    if (!is_typed(value)) continue;
    QUENCH_CHECK(now.takes_input(slot, value->dtype()), node.where(), ": ", node.op(), " of opset ", opset,
                 " does not take ", name_of(value->dtype()), " for input ", slot, " ('", value->name(), "')",
                 who_does(versions, [&](const OpVersion& v) {
                   return slot < v.max_inputs && v.takes_input(slot, value->dtype());
                 }));
  }
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const Value* value = node.outputs()[i];
    if (!is_typed(value)) continue;
    const int index = static_cast<int>(i);
    QUENCH_CHECK(now.takes_output(index, value->dtype()), node.where(), ": ", node.op(), " of opset ", opset,
                 " does not give ", name_of(value->dtype()), " for output ", index, " ('", value->name(), "')",
                 who_does(versions, [&](const OpVersion& v) { return v.takes_output(index, value->dtype()); }));
  }
}

}  // namespace

void check_node(Node& node, std::int64_t opset) {
  if (node.op().find('.') != std::string::npos) return;
  const Versions* versions = versions_of(node.op());
  QUENCH_CHECK(versions, node.where(), ": ONNX has no operator '", node.op(), "'");
  const OpVersion* now = version_at(*versions, opset);
  QUENCH_CHECK(now, node.where(), ": opset ", opset, " has no operator ", node.op(),
               who_does(*versions, [&](const OpVersion&) { return true; }));
  check_attributes(node, *versions, *now, opset);
  check_counts(node, *versions, *now, opset);
  check_types(node, *versions, *now, opset);
}

}  // namespace quench
