// Small ONNX models, made message by message, for tests of the reader and the writer.
#pragma once

#include <gtest/gtest.h>
#include <quench_onnx.pb.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "quench/error.h"
#include "quench/import.h"

namespace quench {

using quench_onnx::AttributeProto;
using quench_onnx::FunctionProto;
using quench_onnx::GraphProto;
using quench_onnx::ModelProto;
using quench_onnx::NodeProto;
using quench_onnx::TensorProto;

inline void set_type(quench_onnx::ValueInfoProto& info, const std::string& name, int dtype,
                     const std::vector<std::int64_t>& dims) {
  info.set_name(name);
  auto* tensor = info.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(dtype);
  auto* shape = tensor->mutable_shape();
  for (const std::int64_t dim : dims) shape->add_dim()->set_dim_value(dim);
}

inline NodeProto& add_node(google::protobuf::RepeatedPtrField<NodeProto>& nodes, const std::string& op,
                           const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  NodeProto& node = *nodes.Add();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

inline NodeProto& add_node(GraphProto& graph, const std::string& op, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs) {
  return add_node(*graph.mutable_node(), op, inputs, outputs);
}

inline AttributeProto& add_attribute(NodeProto& node, const std::string& name,
                                     quench_onnx::AttributeProto_AttributeType type) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

inline void fill_floats(TensorProto& tensor, const std::string& name, const std::vector<std::int64_t>& dims,
                        const std::vector<float>& values) {
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::FLOAT);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  for (const float value : values) tensor.add_float_data(value);
}

inline ModelProto empty_model(std::int64_t opset = 21) {
  ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("g");
  return model;
}

// x -> Relu -> y, float [2, 3]
inline ModelProto relu_model(std::int64_t opset = 21) {
  ModelProto model = empty_model(opset);
  GraphProto& graph = *model.mutable_graph();
  set_type(*graph.add_input(), "x", TensorProto::FLOAT, {2, 3});
  set_type(*graph.add_output(), "y", TensorProto::FLOAT, {2, 3});
  add_node(graph, "Relu", {"x"}, {"y"});
  return model;
}

inline Graph import(const ModelProto& model, const std::string& folder = "") {
  return import_onnx_bytes(model.SerializeAsString(), folder);
}

inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline std::string import_error(const ModelProto& model, const std::string& folder = "") {
  return error_of([&] { import(model, folder); });
}

// A folder of its own for each test, gone afterwards.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "quench_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string path(const std::string& name = "") const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

// Where the real models are; "" if they are not available.
inline std::string data_folder() {
  if (const char* folder = std::getenv("QUENCH_DATA")) return folder;
  const char* tests = std::getenv("QUENCH_TEST_DATA");
  for (std::filesystem::path at = tests ? tests : "."; at.has_relative_path(); at = at.parent_path())
    if (std::filesystem::exists(at / "shared" / "data" / "models")) return (at / "shared" / "data").string();
  return "";
}

}  // namespace quench
