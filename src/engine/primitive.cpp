#include "engine/builder.h"

namespace quench {

PrimitiveStep::PrimitiveStep(dnnl::primitive primitive, std::vector<std::pair<int, int>> slots,
                             std::vector<std::pair<int, dnnl::memory>> constants, const Builder& builder)
    : primitive_(std::move(primitive)), slots_(std::move(slots)), constants_(std::move(constants)) {
  for (const auto& [argument, slot] : slots_) layouts_.push_back(builder.layout(slot));
}

void PrimitiveStep::bind(Frame& frame) const {
  auto& arguments = frame.arguments[static_cast<std::size_t>(index)];
  for (std::size_t i = 0; i < slots_.size(); ++i)
    arguments[slots_[i].first] = dnnl::memory(layouts_[i], onednn_cpu(), frame.data(slots_[i].second));
  for (const auto& [argument, memory] : constants_) arguments[argument] = memory;
}

void PrimitiveStep::run(Frame& frame) const {
  auto& arguments = frame.arguments[static_cast<std::size_t>(index)];
  // The memory of the graph's inputs is another one in each run.
  for (const auto& [argument, slot] : slots_)
    if (arguments[argument].get_data_handle() != frame.data(slot))
      arguments[argument].set_data_handle(frame.data(slot));
  primitive_.execute(frame.stream, arguments);
}

dnnl::primitive_attr attributes_with(const dnnl::post_ops& post_ops) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_post_ops(post_ops);
  return attributes;
}

void add_primitive(Builder& builder, const Node& node, const dnnl::primitive_desc_base& description,
                   const dnnl::primitive& primitive, PrimitiveCall call) {
  std::vector<std::pair<int, int>> slots = call.reads;
  const bool reorders = description.get_kind() == dnnl::primitive::kind::reorder;
  slots.emplace_back(reorders ? DNNL_ARG_TO : DNNL_ARG_DST, call.output);
  const DnnlLayout scratch = description.scratchpad_desc();
  std::vector<int> reads, writes = {call.output};
  for (const auto& [argument, slot] : call.reads) reads.push_back(slot);
  if (scratch.get_size() > 0) {
    writes.push_back(builder.add_slot(scratch));
    slots.emplace_back(DNNL_ARG_SCRATCHPAD, writes.back());
  }
  builder.add_step(std::make_unique<PrimitiveStep>(primitive, std::move(slots), std::move(call.constants), builder),
                   node, description.impl_info_str(), reads, writes);
}

}  // namespace quench
