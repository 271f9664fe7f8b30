#include "quench/heads.h"

#include <ATen/ATen.h>

#include "quench/error.h"
#include "quench/registry.h"

namespace quench {
namespace {

using Tensors = std::vector<at::Tensor>;

// [batch, classes] of what may have further axes of size 1.
at::Tensor class_rows(const char* head, const Tensors& outputs) {
  const bool rows =
      !outputs.empty() && outputs[0].dim() >= 2 && outputs[0].numel() == outputs[0].size(0) * outputs[0].size(1);
  QUENCH_CHECK(rows, "the head '", head, "' takes logits of [batch, classes] as the first output",
               outputs.empty() ? "" : concat(", not ", outputs[0].sizes()), ": set one of your own");
  return outputs[0].flatten(1).to(at::kFloat);
}

Tensors predict(const Tensors& outputs, const Tensors&) { return {class_rows("predict", outputs).softmax(1)}; }

Tensors loss(const Tensors& outputs, const Tensors& targets) {
  const at::Tensor rows = class_rows("loss", outputs);
  QUENCH_CHECK(targets.size() == 1, "the head 'loss' needs one tensor of targets, the classes' numbers, not ",
               targets.size());
  const at::Tensor& labels = targets[0];
  QUENCH_CHECK(labels.dim() == 1 && labels.size(0) == rows.size(0) && labels.scalar_type() == at::kLong,
               "the head 'loss' needs a class number (int64) for each of ", rows.size(0), " items, not ",
               labels.scalar_type(), " of ", labels.sizes());
  return {at::cross_entropy_loss(rows, labels.to(rows.device()))};
}

}  // namespace

Heads::Heads() {
  heads_["tensor"] = [](const Tensors& outputs, const Tensors&) { return outputs; };
  heads_["predict"] = predict;
  heads_["loss"] = loss;
}

void Heads::set(const std::string& name, Head head) {
  QUENCH_CHECK(!name.empty() && head, "a head needs a name and a function");
  heads_[name] = std::move(head);
}

std::vector<std::string> Heads::names() const {
  std::vector<std::string> all;
  for (const auto& [name, head] : heads_) all.push_back(name);
  return all;
}

Tensors Heads::apply(const std::string& name, const Tensors& outputs, const Tensors& targets) const {
  const auto found = heads_.find(name);
  if (found == heads_.end()) fail_unknown_name("head", name, names());
  return found->second(outputs, targets);
}

}  // namespace quench
