// Makes example_net.onnx: a small network for 28 x 28 grey images with the user's own operator in it.
//   make_model PLUGIN.so FILE.onnx
#include <ATen/ATen.h>

#include <iostream>

#include "quench/export.h"
#include "quench/graph.h"
#include "quench/op.h"
#include "quench/plugin.h"

namespace {

class Network {
 public:
  quench::Graph graph;

  quench::Value& weight(const std::string& name, const std::vector<std::int64_t>& shape, double deviation) {
    quench::Value& value = graph.add_constant(name, at::randn(shape) * deviation);
    value.set_parameter(true);
    return value;
  }
  quench::Value& conv(const std::string& name, quench::Value& x, std::int64_t from, std::int64_t to) {
    quench::Node& node = graph.add(
        "Conv", name, {&x, &weight(name + ".weight", {to, from, 3, 3}, 0.3), &weight(name + ".bias", {to}, 0.0)});
    node.attrs = {{"strides", std::vector<std::int64_t>{2, 2}}, {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
    return graph.add("Relu", name + ".relu", {&node.output()}).output();
  }
};

}  // namespace

int main(int, char** argv) {
  if (!argv[1] || !argv[2]) return std::cerr << "usage: make_model PLUGIN.so FILE.onnx\n", 1;
  quench::load_plugin(argv[1]);  // knows ExampleMod
  at::manual_seed(0);
  Network net;
  quench::Graph& graph = net.graph;
  quench::Value& image =
      graph.add_input("image", quench::TypeInfo::tensor(quench::DType::kFloat, {quench::Dim::symbol("N"), 1, 28, 28}));
  quench::Value* x = &net.conv("conv1", image, 1, 8);
  x = &graph.add("example.ExampleMod", "mod", {x, &net.weight("mod.weight", {8, 2}, 0.7)}).output();
  x = &graph.add("HardSwish", "swish", {x}).output();
  x = &net.conv("conv2", *x, 8, 16);
  x = &graph.add("Flatten", "flatten", {x}).output();
  quench::Node& fc = graph.add(
      "Gemm", "logits", {x, &net.weight("fc.weight", {10, 16 * 7 * 7}, 0.03), &net.weight("fc.bias", {10}, 0.0)});
  fc.attrs["transB"] = std::int64_t{1};
  graph.add_output(fc.output());
  quench::infer_shapes(graph);
  quench::export_onnx(graph, argv[2]);
}
