// docs_snippets PAGE:LINE runs a C++ block of a page; docs_snippets --models FOLDER writes the models that pages use.
#include "docs/snippets.h"

#include <map>

#include "quench/export.h"
#include "quench/state_dict.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"

namespace {

std::map<std::string, void (*)()>& snippets() {
  static std::map<std::string, void (*)()> all;
  return all;
}

void write_models(const std::string& folder) {
  const auto net = quench::make_zoo_model("resnet20_cifar");
  net->eval();
  const quench::Graph graph = quench::from_module(net, {at::rand({1, 3, 32, 32})});
  for (const char* name : {"/model.onnx", "/resnet20.onnx"}) quench::export_onnx(graph, folder + name);
  quench::write_safetensors(folder + "/resnet20.pth", quench::state_of(*net));
}

int run(const std::string& what, const std::string& folder) {
  if (what == "--models") {
    write_models(folder);
    return 0;
  }
  const auto found = snippets().find(what);
  if (found == snippets().end()) {
    std::cerr << "no block " << what << "; is docs_snippets older than the page?\n";
    return 1;
  }
  found->second();
  return 0;
}

}  // namespace

int add_snippet(const char* where, void (*run)()) {
  snippets()[where] = run;
  return 0;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
