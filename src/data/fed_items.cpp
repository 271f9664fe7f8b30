#include "data/fed_items.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace quench {
namespace {

using IsBad = at::Tensor (*)(const at::Tensor&);

// Eight bits have few operators of their own.
at::Tensor widened(const at::Tensor& x) { return x.element_size() == 1 ? x.to(at::kFloat) : x; }

at::Tensor is_nan(const at::Tensor& x) { return x.isnan(); }
at::Tensor is_infinite(const at::Tensor& x) { return x.isinf(); }

// A sum is finite only if all that is in it is: seldom is there anything to look for.
bool may_hold_bad(const RtValue& value) {
  if (!value.is_tensor() || !value.tensor().is_floating_point() || value.tensor().dim() == 0) return false;
  return !widened(value.tensor()).sum().isfinite().item<bool>();
}

// "item 'a.npy' has NaN in its input 'x'", of the first one; "": there is none.
std::string first_bad(const Fed& fed, IsBad is_bad, const char* what) {
  for (const auto& [name, value] : fed.inputs) {
    if (!may_hold_bad(value)) continue;
    const at::Tensor bad = is_bad(widened(value.tensor())).reshape({value.tensor().size(0), -1}).any(1).nonzero();
    if (bad.numel() == 0) continue;
    if (fed.batch.shared.contains(name)) return concat("the input '", name, "', which all items share, has ", what);
    const auto row = std::min(bad[0].item<std::int64_t>(), fed.items - 1);
    return concat("item '", fed.batch.names.at(static_cast<std::size_t>(row)), "' has ", what, " in its input '", name,
                  "'");
  }
  return "";
}

}  // namespace

void check_no_nan(const Fed& fed) {
  if (const std::string text = first_bad(fed, is_nan, "NaN"); !text.empty()) throw Error(text);
}

std::string items_text(std::span<const Fed> batches) {
  std::vector<std::int64_t> indices;
  std::string bad;
  for (const Fed& fed : batches) {
    indices.insert(indices.end(), fed.batch.indices.begin(), fed.batch.indices.end());
    if (bad.empty()) bad = first_bad(fed, is_infinite, "an infinity");
  }
  if (indices.empty()) return "on no items";
  const auto [first, last] = std::minmax_element(indices.begin(), indices.end());
  const std::string which = *first == *last ? concat("on item ", *first) : concat("on items ", *first, " to ", *last);
  return bad.empty() ? which : concat(which, "; ", bad);
}

}  // namespace quench
