// import_pt2: archive -> program and weights -> Graph.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "import/aten/graph.h"
#include "import/onnx/finish.h"
#include "import/pt2/archive.h"
#include "import/pt2/graph.h"
#include "import/pt2/program.h"
#include "import/pt2/weights.h"
#include "quench/error.h"
#include "quench/import.h"
#include "quench/op.h"

namespace quench {

Graph import_pt2(const std::string& path, const ImportOptions& options) {
  return with_context([&] { return "while importing " + path; },
                      [&] {
                        const c10::AutoGradMode no_grad(false);
                        const Pt2Archive archive(path);
                        const std::string member = concat("models/", archive.model(), ".json");
                        const Pt2Program program = read_pt2_program(archive.text(member), member);
                        Pt2Weights weights(archive);
                        Graph graph = graph_of_pt2(program, weights, options);
                        remove_unused(graph);
                        graph.source.format = "pt2";
                        graph.source.path = path;
                        graph.source.producer = "torch " + program.torch_version;
                        check_and_infer(graph, declared_types(graph), options);
                        return graph;
                      });
}

}  // namespace quench
