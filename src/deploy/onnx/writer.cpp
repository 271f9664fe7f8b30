// export_onnx: a copy of the graph, lowered to the opset, as messages, into a file.
#include <ATen/ATen.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <quench_onnx.pb.h>

#include <array>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>

#include "core/atomic_file.h"
#include "deploy/onnx/encode.h"
#include "deploy/onnx/graph.h"
#include "deploy/onnx/lower.h"
#include "quench/error.h"
#include "quench/export.h"

namespace quench {
namespace {

namespace fs = std::filesystem;
using quench_onnx::ModelProto;
using quench_onnx::TensorProto;

constexpr std::int64_t kOldestOpset = 7, kNewestOpset = 28;
constexpr std::int64_t kSmallTensor = 1024;  // bytes; stays in the model even when others go beside it
constexpr std::int64_t kAlignment = 4096;    // of external tensors, so that they can be mapped

// The IR version of the first ONNX release that had the opset; for opsets below 13 that of 13 (an IR below 4
// would want every initializer among the inputs too).
std::int64_t ir_version_of(std::int64_t opset) {
  struct Row {
    std::int64_t opset, ir_version;
  };
  static constexpr std::array<Row, 8> kFirst = {
      {{13, 7}, {15, 8}, {19, 9}, {21, 10}, {23, 11}, {24, 12}, {25, 13}, {28, 14}}};
  std::int64_t version = kFirst.front().ir_version;
  for (const Row& row : kFirst)
    if (opset >= row.opset) version = row.ir_version;
  return version;
}

void add_opsets(const Graph& graph, std::int64_t opset, ModelProto& model) {
  std::set<std::string> domains = domains_of(graph);
  domains.insert("");
  domains.erase(kVendorDomain);
  for (const std::string& domain : domains) {
    auto* import = model.add_opset_import();
    import->set_domain(domain);
    const auto known = graph.source.opsets.find(domain);
    import->set_version(domain.empty() ? opset : known != graph.source.opsets.end() ? known->second : 1);
  }
}

void encode_model(const Graph& graph, std::int64_t opset, const StoreTensor& store, ModelProto& model) {
  QUENCH_CHECK(opset >= kOldestOpset && opset <= kNewestOpset, "opset ", opset, " is not written; ", kOldestOpset,
               " to ", kNewestOpset, " are");
  Graph lowered = graph;
  lower_graph(lowered, opset);
  model.set_ir_version(ir_version_of(opset));
  model.set_producer_name("quench");
  model.set_producer_version(QUENCH_VERSION);
  model.set_doc_string(graph.doc);
  add_opsets(lowered, opset, model);
  for (const auto& [key, value] : graph.metadata) {
    auto* entry = model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  encode_graph(lowered, store, *model.mutable_graph());
}

std::int64_t total_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Value* value : graph.constants()) bytes += file_size(value->tensor(), value->dtype());
  for (const auto& node : graph.nodes())
    for (const auto& [key, attr] : node->attrs)
      if (const auto* body = std::get_if<GraphPtr>(&attr); body && *body) bytes += total_bytes(**body);
  return bytes;
}

// Tensors beside the model: one after another in PATH.data.
class ExternalWriter {
 public:
  explicit ExternalWriter(const std::string& path) : location_(fs::path(path).filename().string()), file_(path) {}

  void store(const at::Tensor& tensor, DType dtype, TensorProto& proto) {
    if (file_size(tensor, dtype) < kSmallTensor) return encode_tensor(tensor, dtype, proto);
    encode_header(tensor, dtype, proto);
    const std::string bytes = file_bytes(tensor, dtype);
    const std::int64_t padding = (kAlignment - offset_ % kAlignment) % kAlignment;
    file_.write(std::string(static_cast<std::size_t>(padding), '\0'));
    file_.write(bytes);
    offset_ += padding;
    proto.set_data_location(quench_onnx::TensorProto_DataLocation_EXTERNAL);
    add_entry(proto, "location", location_);
    add_entry(proto, "offset", std::to_string(offset_));
    add_entry(proto, "length", std::to_string(bytes.size()));
    offset_ += static_cast<std::int64_t>(bytes.size());
  }
  void commit() { file_.commit(); }

 private:
  static void add_entry(TensorProto& proto, const std::string& key, const std::string& value) {
    auto* entry = proto.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }

  std::string location_;
  AtomicFile file_;
  std::int64_t offset_ = 0;
};

void check_size(const ModelProto& model) {
  QUENCH_CHECK(model.ByteSizeLong() < static_cast<std::size_t>(std::numeric_limits<int>::max()), "the model takes ",
               model.ByteSizeLong(),
               " bytes; protobuf's limit is 2 GB (a lower external_threshold puts the tensors beside the file)");
}

// Lets protobuf write into an AtomicFile without a copy of the whole. Protobuf cannot be thrown through,
// so an error is kept until it has returned.
class FileSink : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit FileSink(AtomicFile& file) : file_(file) {}
  bool Write(const void* bytes, int count) override {
    try {
      file_.write(bytes, static_cast<std::size_t>(count));
    } catch (...) {
      error_ = std::current_exception();
    }
    return !error_;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  AtomicFile& file_;
  std::exception_ptr error_;
};

void serialize(const ModelProto& model, AtomicFile& file) {
  FileSink sink(file);
  google::protobuf::io::CopyingOutputStreamAdaptor stream(&sink);
  const bool written = model.SerializeToZeroCopyStream(&stream) && stream.Flush();
  sink.rethrow();
  QUENCH_CHECK(written, "the model cannot be written");
}

}  // namespace

void export_onnx(const Graph& graph, const std::string& path, const ExportOptions& options) {
  const auto write = [&] {
    std::optional<ExternalWriter> external;
    if (total_bytes(graph) > options.external_threshold) external.emplace(path + ".data");
    const StoreTensor store = [&](const at::Tensor& tensor, DType dtype, TensorProto& proto) {
      external ? external->store(tensor, dtype, proto) : encode_tensor(tensor, dtype, proto);
    };
    ModelProto model;
    encode_model(graph, options.opset, store, model);
    check_size(model);
    AtomicFile file(path);
    serialize(model, file);
    if (external) external->commit();
    file.commit();
  };
  with_context([&] { return "while writing " + path; }, write);
}

std::string export_onnx_bytes(const Graph& graph, const ExportOptions& options) {
  ModelProto model;
  encode_model(graph, options.opset, encode_tensor, model);
  check_size(model);
  return model.SerializeAsString();
}

}  // namespace quench
