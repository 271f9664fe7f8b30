// Every operator in the hands of a hostile file: absent inputs, absent outputs, attributes of wrong
// types. Shape functions meet all of these on import; an error is fine, a crash is not.
#include <ATen/ATen.h>

#include <sys/wait.h>

#include "import/onnx_files.h"
#include "quench/op.h"

namespace quench {
namespace {

NodeProto& add_op(ModelProto& model, const std::string& op) {
  const std::size_t dot = op.rfind('.');
  NodeProto& node = add_node(*model.mutable_graph(), dot == std::string::npos ? op : op.substr(dot + 1), {}, {});
  if (dot != std::string::npos) node.set_domain(op.substr(0, dot));
  node.set_name("n");
  return node;
}

void import_without_crash(const ModelProto& model) {
  error_of([&] { import_onnx_bytes(model.SerializeAsString()); });
}

// In a process of its own, so that a crash is a failure that names the operator.
void expect_survives(const std::string& op, const std::function<void()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    action();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << op << " ends the process";
}

// Inputs of several types beside float "x" [2, 3]: an integer vector, a scalar, an unknown.
ModelProto base_model() {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  set_type(*graph.add_input(), "ints", TensorProto::INT64, {2});
  set_type(*graph.add_input(), "scalar", TensorProto::FLOAT, {});
  graph.add_input()->set_name("unknown");
  graph.add_input()->set_name("list");
  graph.mutable_input(4)->mutable_type()->mutable_sequence_type()->mutable_elem_type();
  TensorProto& axes = *graph.add_initializer();
  axes.set_name("axes");
  axes.set_data_type(TensorProto::INT64);
  axes.add_dims(2);
  axes.add_int64_data(-9);
  axes.add_int64_data(std::int64_t{1} << 62);
  return model;
}

void try_inputs_and_outputs(const std::string& op) {
  for (const std::string input : {"x", "ints", "scalar", "unknown", "list", "axes", ""}) {
    for (int inputs = 0; inputs <= 4; ++inputs) {
      for (int outputs = 0; outputs <= 2; ++outputs) {
        ModelProto model = base_model();
        NodeProto& node = add_op(model, op);
        for (int i = 0; i < inputs; ++i) node.add_input(i == 0 && inputs > 2 ? "x" : input);
        for (int i = 0; i < outputs; ++i) node.add_output(i == 0 && inputs == 3 ? "" : concat("o", i));
        import_without_crash(model);
      }
    }
  }
}

TEST(HostileOperators, SurviveAnyInputsAndOutputs) {
  for (const std::string& op : OpRegistry::instance().names()) expect_survives(op, [&] { try_inputs_and_outputs(op); });
}

void try_attributes(const std::string& op) {
  const std::vector<std::string> names = {"axis",       "axes",        "perm",      "kernel_shape", "strides",
                                          "pads",       "group",       "dilations", "to",           "keepdims",
                                          "block_size", "blocksize",   "body",      "then_branch",  "auto_pad",
                                          "equation",   "hidden_size", "split"};
  for (const std::int64_t number : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1} << 62}) {
    for (int kind = 0; kind < 3; ++kind) {
      ModelProto model = base_model();
      NodeProto& node = add_op(model, op);
      for (const char* input : {"x", "x", "x"}) node.add_input(input);
      node.add_output("o");
      for (const std::string& name : names) {
        if (kind == 0) add_attribute(node, name, AttributeProto::INT).set_i(number);
        if (kind == 1) add_attribute(node, name, AttributeProto::INTS).add_ints(number);
        if (kind == 2) add_attribute(node, name, AttributeProto::STRING).set_s("?");
      }
      import_without_crash(model);
    }
  }
}

TEST(HostileOperators, SurviveWrongAttributes) {
  for (const std::string& op : OpRegistry::instance().names()) expect_survives(op, [&] { try_attributes(op); });
}

}  // namespace
}  // namespace quench
