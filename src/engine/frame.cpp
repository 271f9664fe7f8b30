#include <ATen/ATen.h>

#include <chrono>
#include <cstdlib>

#include "engine/program.h"
#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::size_t kPage = 4096;

DType dtype_of_layout(const DnnlLayout& layout) {
  switch (layout.get_data_type()) {
    case dnnl::memory::data_type::u8: return DType::kUint8;
    case dnnl::memory::data_type::s8: return DType::kInt8;
    case dnnl::memory::data_type::s32: return DType::kInt32;
    default: return DType::kFloat;
  }
}

std::byte* allocate(std::size_t bytes) {
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kPage, rounded));
  QUENCH_CHECK(memory, "no memory for ", rounded, " bytes of activations");
  return memory;
}

void release(std::byte* memory) { std::free(memory); }

at::Tensor copy_of(const DnnlLayout& layout, void* data) {
  const at::Tensor view = at::from_blob(data, layout.get_dims(), strides_of(layout),
                                        at::TensorOptions().dtype(scalar_type_of(dtype_of_layout(layout))));
  return view.clone(at::MemoryFormat::Contiguous);
}

}  // namespace

Frame::Frame(const TaskList& program, const Graph& graph)
    : values(static_cast<std::size_t>(program.values)),
      arguments(program.steps.size()),
      stream(onednn_cpu()),
      executor(graph),
      program_(program),
      arena_(allocate(program.arena_bytes), release),
      data_(program.slots.size(), nullptr) {
  for (std::size_t i = 0; i < program.slots.size(); ++i)
    if (program.slots[i].offset >= 0) place(static_cast<int>(i), arena_.get() + program.slots[i].offset);
  for (const auto& step : program.steps) step->bind(*this);
}

Frame::~Frame() = default;

// With all slots that are other views of it.
void Frame::place(int slot, std::byte* at) {
  data_[static_cast<std::size_t>(slot)] = at;
  for (std::size_t i = 0; i < program_.slots.size(); ++i)
    if (program_.slots[i].alias_of == slot) place(static_cast<int>(i), at + program_.slots[i].shift);
}

std::vector<RtValue> Frame::run(const std::vector<RtValue>& inputs, std::vector<double>* seconds) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (program_.input_slots[i] >= 0)
      place(program_.input_slots[i], static_cast<std::byte*>(inputs[i].tensor().data_ptr()));
    if (program_.input_values[i] >= 0) values[static_cast<std::size_t>(program_.input_values[i])] = inputs[i];
  }
  for (const auto& step : program_.steps) {
    const auto start = std::chrono::steady_clock::now();
    with_context([&] { return concat("at node '", step->name.node, "' (", step->name.op, ")"); },
                 [&] { step->run(*this); });
    if (seconds)
      (*seconds)[static_cast<std::size_t>(step->index)] +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::vector<RtValue> outputs;
  for (const Place& place : program_.outputs) {
    if (place.value >= 0) {
      outputs.push_back(values[static_cast<std::size_t>(place.value)]);
    } else {
      outputs.emplace_back(copy_of(program_.slots[static_cast<std::size_t>(place.slot)].layout, data(place.slot)));
    }
  }
  std::fill(values.begin(), values.end(), RtValue());
  return outputs;
}

}  // namespace quench
