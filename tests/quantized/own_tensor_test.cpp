#include "quantized/own_tensor.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "fake_quant/samples.h"
#include "support/expect_error.h"

namespace quench {
namespace {

TEST(OwnTensor, IsFoundByNameAndShared) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 3}));
  graph.add_output(graph.add("Relu", "relu", {&x}).output());
  const FakeQuantSpec spec = spec_of("pact", "uint8 affine tensor");
  Node& quantizer = insert_fake_quant(graph, graph.value("relu"), spec, {.quantize = true});
  const std::string name = params_of(spec).at(2).name;
  own_tensor(quantizer, name).detach().fill_(3.5);
  EXPECT_EQ(fake_quant_tensors(quantizer).own(0).item<float>(), 3.5F);
  EXPECT_ERROR(own_tensor(quantizer, "scale"), "'pact' has no tensor 'scale' of its own", "relu.fq");
}

}  // namespace
}  // namespace quench
