// load_state and state_of: a module's parameters and buffers from and to a map of names.
#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "quench/error.h"
#include "quench/registry.h"
#include "quench/state_dict.h"

namespace quench {
namespace {

constexpr std::string_view kDataParallel = "module.";

bool all_begin_with(const TensorMap& tensors, std::string_view prefix) {
  for (const auto& [name, tensor] : tensors) {
    if (!name.starts_with(prefix)) return false;
  }
  return !tensors.empty();
}

TensorMap without_prefix(const TensorMap& tensors, std::string_view prefix) {
  TensorMap result;
  for (const auto& [name, tensor] : tensors) result.emplace(name.substr(prefix.size()), tensor);
  return result;
}

std::vector<std::string> names_of(const TensorMap& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

// "missing 'a' (nearest: 'b'), 'c', and 3 more"
std::string list(const char* what, const std::vector<std::string>& names, const std::vector<std::string>& others) {
  constexpr std::size_t kListed = 8;
  std::string text = what;
  for (std::size_t i = 0; i < std::min(names.size(), kListed); ++i) {
    const std::string nearest = nearest_name(names[i], others);
    text += concat(i == 0 ? " '" : ", '", names[i], "'");
    if (!nearest.empty()) text += concat(" (nearest: '", nearest, "')");
  }
  if (names.size() > kListed) text += concat(", and ", names.size() - kListed, " more");
  return text;
}

void check_names(const StateReport& report, const TensorMap& given, const TensorMap& own) {
  std::vector<std::string> parts;
  if (!report.missing.empty()) parts.push_back(list("missing", report.missing, names_of(given)));
  if (!report.unexpected.empty()) parts.push_back(list("unexpected", report.unexpected, names_of(own)));
  if (parts.empty()) return;
  fail("the weights do not fit the module: ", parts[0], parts.size() > 1 ? "; " + parts[1] : "");
}

void check_tensor(const std::string& name, const at::Tensor& given, const at::Tensor& own) {
  QUENCH_CHECK(given.sizes() == own.sizes(), "'", name, "' has shape ", given.sizes(), " in the weights and ",
               own.sizes(), " in the module");
  QUENCH_CHECK(at::can_cast(given.scalar_type(), own.scalar_type()), "'", name, "' is ", given.scalar_type(),
               " in the weights and ", own.scalar_type(), " in the module");
}

}  // namespace

TensorMap state_of(const torch::nn::Module& module) {
  TensorMap state;
  for (const auto& item : module.named_parameters()) state.emplace(item.key(), item.value());
  for (const auto& item : module.named_buffers()) state.emplace(item.key(), item.value());
  return state;
}

StateReport load_state(torch::nn::Module& module, const TensorMap& tensors, const StateOptions& options) {
  const TensorMap own = state_of(module);
  const bool prefixed = all_begin_with(tensors, kDataParallel) && !all_begin_with(own, kDataParallel);
  const TensorMap given = prefixed ? without_prefix(tensors, kDataParallel) : tensors;
  StateReport report;
  for (const auto& [name, tensor] : own) {
    if (!given.contains(name) && !name.ends_with("num_batches_tracked")) report.missing.push_back(name);
  }
  for (const auto& [name, tensor] : given) {
    const auto at = own.find(name);
    if (at == own.end()) {
      report.unexpected.push_back(name);
    } else {
      check_tensor(name, tensor, at->second);
    }
  }
  if (options.strict) check_names(report, given, own);
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : given) {
    const auto at = own.find(name);
    if (at != own.end()) at::Tensor(at->second).copy_(tensor);
  }
  return report;
}

}  // namespace quench
