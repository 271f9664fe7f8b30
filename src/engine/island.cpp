#include "engine/island.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "engine/turns.h"

namespace quench {
namespace {

at::ScalarType scalar_type(const DnnlLayout& layout) {
  switch (layout.get_data_type()) {
    case dnnl::memory::data_type::u8: return at::kByte;
    case dnnl::memory::data_type::s8: return at::kChar;
    case dnnl::memory::data_type::s32: return at::kInt;
    default: return at::kFloat;
  }
}

}  // namespace

void IslandStep::run(Frame& frame) const {
  NamedValues feeds;
  std::vector<at::Tensor> lent;
  for (const auto& [name, source] : inputs_) {
    if (source.place.value >= 0) {
      feeds[name] = frame.values[static_cast<std::size_t>(source.place.value)];
      continue;
    }
    lent.push_back(at::from_blob(frame.data(source.place.slot), source.layout.get_dims(), strides_of(source.layout),
                                 scalar_type(source.layout)));
    feeds[name] = RtValue(lent.back());
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : outputs_) names.push_back(name);
  NamedValues results = frame.executor.run(feeds, names);
  for (const auto& [name, value] : outputs_) {
    RtValue& result = results.at(name);
    // An operator may return a view of its input, which lies in the arena and will be written over.
    const bool is_view = std::any_of(lent.begin(), lent.end(), [&](const at::Tensor& tensor) {
      return result.is_tensor() && result.tensor().is_alias_of(tensor);
    });
    frame.values[static_cast<std::size_t>(value)] = is_view ? RtValue(result.tensor().clone(), result.dtype()) : result;
  }
}

void WatchStep::run(Frame& frame) const {
  const Turn turn(frame.turns, &watch_, frame.batch);
  if (!turn.has_come()) return;
  if (place_.slot < 0) return watch_.see(frame.values[static_cast<std::size_t>(place_.value)].tensor());
  void* data = frame.data(place_.slot);
  const Sizes sizes = layout_.get_dims();
  if (!is_blocked(layout_)) return watch_.see(at::from_blob(data, sizes, strides_of(layout_), scalar_type(layout_)));
  std::int64_t each = 1;
  for (std::size_t d = 1; d < sizes.size(); ++d) each *= sizes[d];
  watch_.see(at::from_blob(data, {sizes[0], each}, scalar_type(layout_)));
}

void ImportStep::run(Frame& frame) const {
  const at::Tensor tensor = frame.values[static_cast<std::size_t>(value_)].tensor().contiguous();
  std::memcpy(frame.data(slot_), tensor.data_ptr(), tensor.nbytes());
}

}  // namespace quench
