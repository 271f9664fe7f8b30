#include "ops/integer_layer.h"

#include <ATen/ATen.h>

#include <map>

#include "quench/error.h"

namespace quench {
namespace {

IntegerWindow integer_window(const Node& node) {
  return {node.get_ints("strides", {}), node.get_ints("pads", {}), node.get_ints("dilations", {})};
}

Pool pool_of(const Node& node) {
  return {node.require_ints("kernel_shape"), integer_window(node), node.get_int("ceil_mode", 0) != 0,
          node.get_int("count_include_pad", 0) != 0};
}

at::Tensor conv(const IntegerCall& call) {
  return integer_conv(call.in[0], call.in[1], call.bias, integer_window(call.node), call.node.get_int("group", 1),
                      call.y);
}
at::Tensor conv_transpose(const IntegerCall& call) {
  const TransposedWindow window{integer_window(call.node), call.node.get_ints("output_padding", {})};
  return integer_conv_transpose(call.in[0], call.in[1], call.bias, window, call.node.get_int("group", 1), call.y);
}
at::Tensor gemm(const IntegerCall& call) {
  return integer_gemm(call.in[0], call.in[1], call.bias,
                      {call.node.get_int("transA", 0) != 0, call.node.get_int("transB", 0) != 0}, call.y);
}
at::Tensor matmul(const IntegerCall& call) { return integer_matmul(call.in[0], call.in[1], call.bias, call.y); }
at::Tensor add(const IntegerCall& call) { return integer_add(call.in[0], call.in[1], call.y); }
at::Tensor mul(const IntegerCall& call) { return integer_mul(call.in[0], call.in[1], call.y); }
at::Tensor concat_codes(const IntegerCall& call) {
  return integer_concat(call.in, call.node.require_int("axis"), call.y);
}
at::Tensor average(const IntegerCall& call) { return integer_average_pool(call.in[0], pool_of(call.node), call.y); }
at::Tensor global_average(const IntegerCall& call) { return integer_global_average_pool(call.in[0], call.y); }

struct Entry {
  std::size_t operands;  // at least
  at::Tensor (*compute)(const IntegerCall&);
};

const Entry* find_entry(const std::string& op) {
  static const std::map<std::string, Entry> entries = {{"Conv", {2, conv}},
                                                       {"ConvTranspose", {2, conv_transpose}},
                                                       {"Gemm", {2, gemm}},
                                                       {"MatMul", {2, matmul}},
                                                       {"Add", {2, add}},
                                                       {"Mul", {2, mul}},
                                                       {"Concat", {1, concat_codes}},
                                                       {"AveragePool", {1, average}},
                                                       {"GlobalAveragePool", {1, global_average}}};
  const auto found = entries.find(op);
  return found == entries.end() ? nullptr : &found->second;
}

}  // namespace

bool has_integer_op(const std::string& op) { return find_entry(op) != nullptr; }

at::Tensor compute_on_codes(const std::string& op, const IntegerCall& call) {
  const Entry* entry = find_entry(op);
  QUENCH_CHECK(entry, call.node.where(), ": '", op, "' has no form on codes");
  QUENCH_CHECK(call.in.size() >= entry->operands, call.node.where(), ": ", call.in.size(), " operands where at least ",
               entry->operands, " are expected");
  return entry->compute(call);
}

}  // namespace quench
