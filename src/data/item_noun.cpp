#include "data/item_noun.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "quench/error.h"

namespace quench {
namespace {

constexpr std::int64_t kTried = 4;  // the first ones may be broken

bool is_picture(const InputValues& inputs) {
  if (inputs.values().size() != 1 || !inputs.only().is_tensor()) return false;
  const at::Tensor& tensor = inputs.tensor();
  return tensor.is_floating_point() && tensor.dim() == 3 && (tensor.size(0) == 1 || tensor.size(0) == 3);
}

}  // namespace

std::string item_noun(const Dataset& data) {
  if (data.task() == Task::kNextToken) return "text";
  for (std::int64_t i = 0; i < std::min(data.size(), kTried); ++i) try {
      return is_picture(data.get(i).inputs) ? "image" : "item";
    } catch (const Error&) {  // whoever reads it in earnest says what is wrong with it
    }
  return "item";
}

}  // namespace quench
