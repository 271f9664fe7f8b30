// A graph in a few lines, for before-and-after tests: "y = Clip(x, {0}, -) axis=1" per node; constants are
// written as their elements, absent values as "-".
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "quench/error.h"
#include "quench/graph.h"
#include "support/message_of.h"

namespace quench {

inline std::string describe(const Value* value) {
  if (!value) return "-";
  if (!value->is_constant()) return value->name();
  const at::Tensor tensor = value->tensor().to(at::kDouble).flatten();
  std::string text = "{";
  for (std::int64_t i = 0; i < tensor.numel(); ++i) text += concat(i ? ", " : "", tensor[i].item<double>());
  return text + "}";
}

template <typename Item>
std::string describe_list(const std::vector<Item>& items) {
  std::string text;
  for (const Item& item : items) {
    if (!text.empty()) text += ", ";
    if constexpr (std::is_same_v<Item, Value*>) {
      text += describe(item);
    } else {
      text += concat(item);
    }
  }
  return text;
}

inline std::string describe(const Attr& attr) {
  if (const auto* number = std::get_if<std::int64_t>(&attr)) return concat(*number);
  if (const auto* number = std::get_if<double>(&attr)) return concat(*number);
  if (const auto* text = std::get_if<std::string>(&attr)) return *text;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attr)) return concat("[", describe_list(*list), "]");
  if (const auto* list = std::get_if<std::vector<double>>(&attr)) return concat("[", describe_list(*list), "]");
  return "...";
}

inline std::string describe(const Node& node) {
  std::string text = concat(describe_list(node.outputs()), " = ", node.op(), "(", describe_list(node.inputs()), ")");
  for (const auto& [key, attr] : node.attrs) text += concat(" ", key, "=", describe(attr));
  return text;
}

// One line per node; the lines joined by "; ".
inline std::string describe(const Graph& graph) {
  std::string text;
  for (const auto& node : graph.nodes()) text += concat(text.empty() ? "" : "; ", describe(*node));
  return text;
}

}  // namespace quench
