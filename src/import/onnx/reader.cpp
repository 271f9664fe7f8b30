// import_onnx: the file's bytes -> messages -> Graph in the file's versions -> the one dialect, with
// types inferred and checked.
#include <ATen/ATen.h>
#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <quench_onnx.pb.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

#include "import/onnx/fake_quantize.h"
#include "import/onnx/finish.h"
#include "import/onnx/functions.h"
#include "import/onnx/graph.h"
#include "import/onnx/vendor_quantizers.h"
#include "import/upgrade/upgrade.h"
#include "plugin/recorded_plugins.h"
#include "quench/error.h"
#include "quench/import.h"

namespace quench {
namespace {

namespace fs = std::filesystem;
using quench_onnx::ModelProto;

constexpr std::int64_t kOldestOpset = 1, kNewestOpset = 28;
constexpr std::int64_t kOldestIr = 3, kNewestIr = 14;  // of ONNX 1.0, the first that names opsets, and of opset 28

void parse(google::protobuf::io::ZeroCopyInputStream& bytes, ModelProto& model) {
  google::protobuf::io::CodedInputStream stream(&bytes);
  stream.SetTotalBytesLimit(std::numeric_limits<int>::max());
  const bool parsed = model.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
  QUENCH_CHECK(parsed, "not an ONNX model, or cut short, or nested too deeply: its protobuf cannot be parsed");
  QUENCH_CHECK(model.has_graph(), "not an ONNX model: it holds no graph");
}

std::map<std::string, std::int64_t> opsets_of(const ModelProto& model) {
  std::map<std::string, std::int64_t> opsets;
  for (const auto& import : model.opset_import())
    opsets[import.domain() == "ai.onnx" ? "" : import.domain()] = import.version();
  return opsets;
}

void check_opset(const std::map<std::string, std::int64_t>& opsets) {
  const auto at = opsets.find("");
  QUENCH_CHECK(at != opsets.end(), "the model does not say its opset (opset_import without the domain ai.onnx)");
  QUENCH_CHECK(at->second >= kOldestOpset && at->second <= kNewestOpset, "the model has opset ", at->second,
               "; opsets ", kOldestOpset, " to ", kNewestOpset, " are read");
}

void check_ir_version(const ModelProto& model) {
  QUENCH_CHECK(model.has_ir_version(), "the model does not say its IR version");
  QUENCH_CHECK(model.ir_version() >= kOldestIr && model.ir_version() <= kNewestIr, "the model has IR version ",
               model.ir_version(), "; IR versions ", kOldestIr, " to ", kNewestIr, " are read");
}

// A file of our own: docs/formats.md.
void check_format(const Graph& graph) {
  const auto at = graph.metadata.find("quench.format");
  QUENCH_CHECK(at == graph.metadata.end() || at->second == "1", "a quench model file of format '", at->second,
               "'; this version of quench reads format 1");
}

Graph import_message(ModelProto& model, const ExternalData& external, const ImportOptions& options) {
  check_ir_version(model);
  std::map<std::string, std::int64_t> opsets = opsets_of(model);
  inline_functions(model, opsets);
  check_opset(opsets);
  Graph graph = build_graph(*model.mutable_graph(), external);
  if (!model.doc_string().empty()) graph.doc = model.doc_string();
  for (const auto& entry : model.metadata_props()) graph.metadata[entry.key()] = entry.value();
  graph.source.format = "onnx";
  graph.source.producer = model.producer_name();
  if (!model.producer_version().empty()) graph.source.producer += " " + model.producer_version();
  graph.source.ir_version = model.ir_version();
  graph.source.opsets = opsets;
  check_format(graph);
  const DeclaredTypes declared = declared_types(graph);
  upgrade_graph(graph, opsets);
  hinting_at_plugins(graph.metadata, [&] {
    read_fake_quantize(graph);
    read_vendor_quantizers(graph);
    finish_import(graph, declared, options);
  });
  return graph;
}

// Closes the file however parsing ends.
struct OpenFile {
  explicit OpenFile(const std::string& path) : descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    QUENCH_CHECK(descriptor >= 0, "the file cannot be opened: ", std::strerror(errno));
  }
  ~OpenFile() { close(descriptor); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor;
};

}  // namespace

Graph import_onnx_bytes(std::string_view bytes, const std::string& folder, const ImportOptions& options) {
  QUENCH_CHECK(bytes.size() < static_cast<std::size_t>(std::numeric_limits<int>::max()), "a model of ", bytes.size(),
               " bytes; protobuf's limit is 2 GB; larger models keep their tensors as external data");
  ModelProto model;
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  parse(stream, model);
  return import_message(model, ExternalData(folder), options);
}

Graph import_onnx(const std::string& path, const ImportOptions& options) {
  return with_context(
      [&] { return "while importing " + path; },
      [&] {
        const OpenFile file(path);
        std::error_code error;
        QUENCH_CHECK(!fs::is_directory(path, error), "this is a folder, not a model file");
        QUENCH_CHECK(!fs::is_regular_file(path, error) ||
                         fs::file_size(path) < static_cast<std::uintmax_t>(std::numeric_limits<int>::max()),
                     "larger than 2 GB; such models keep their tensors as external data");
        QUENCH_CHECK(!fs::is_regular_file(path, error) || fs::file_size(path) > 0, "the file is empty");
        ModelProto model;
        google::protobuf::io::FileInputStream stream(file.descriptor, 1 << 20);
        parse(stream, model);
        const fs::path folder = fs::path(path).parent_path();
        Graph graph = import_message(model, ExternalData(folder.empty() ? "." : folder.string()), options);
        graph.source.path = path;
        return graph;
      });
}

}  // namespace quench
