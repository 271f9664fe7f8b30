// Which opsets and IR versions are read, and what is said about the others.
#include "import/onnx_files.h"

namespace quench {
namespace {

void expect_refused(const ModelProto& model, const std::string& text) {
  const std::string message = import_error(model);
  EXPECT_NE(message.find(text), std::string::npos) << "it says: " << message;
}

TEST(OnnxVersions, EveryOpsetUpTo28IsRead) {
  for (std::int64_t opset = 1; opset <= 28; ++opset) {
    const Graph graph = import_onnx_bytes(relu_model(opset).SerializeAsString());
    EXPECT_EQ(graph.source.opsets.at(""), opset);
    EXPECT_EQ(graph.outputs()[0]->type().text(), "float[2, 3]");
  }
  expect_refused(relu_model(0), "the model has opset 0; opsets 1 to 28 are read");
  expect_refused(relu_model(29), "the model has opset 29; opsets 1 to 28 are read");
  expect_refused(relu_model(-1), "the model has opset -1");
}

TEST(OnnxVersions, AModelMustSayItsOpset) {
  ModelProto model = relu_model();
  model.clear_opset_import();
  expect_refused(model, "the model does not say its opset");
  auto* import = model.add_opset_import();
  import->set_domain("com.example");
  import->set_version(1);
  expect_refused(model, "the model does not say its opset");
}

TEST(OnnxVersions, IrVersions3To14AreRead) {
  ModelProto model = relu_model();
  for (std::int64_t version = 3; version <= 14; ++version) {
    model.set_ir_version(version);
    EXPECT_EQ(import_onnx_bytes(model.SerializeAsString()).source.ir_version, version);
  }
  for (const std::int64_t version : {-1, 0, 2, 15}) {
    model.set_ir_version(version);
    expect_refused(model, concat("the model has IR version ", version, "; IR versions 3 to 14 are read"));
  }
  model.clear_ir_version();
  expect_refused(model, "the model does not say its IR version");
}

}  // namespace
}  // namespace quench
