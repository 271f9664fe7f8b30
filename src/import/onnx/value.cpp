// Values of test cases: SequenceProto and OptionalProto are not in onnx.proto, so their few fields are
// taken from the wire here: 2 the kind of the elements, 3 tensors, 5 sequences, 7 optionals.
#include <ATen/ATen.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <quench_onnx.pb.h>

#include <fstream>
#include <sstream>

#include "import/onnx/tensor.h"
#include "quench/error.h"

namespace quench {
namespace {

using google::protobuf::internal::WireFormatLite;

constexpr int kKindField = 2;
constexpr int kMaxDepth = 32;

struct Fields {
  std::uint32_t kind = 0;
  std::vector<std::pair<int, std::string>> messages;  // field number, bytes
};

Fields parse_fields(const std::string& bytes) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  Fields fields;
  while (const std::uint32_t tag = stream.ReadTag()) {
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    bool read = true;
    if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      std::string message;
      read = WireFormatLite::ReadBytes(&stream, &message);
      fields.messages.emplace_back(number, std::move(message));
    } else if (number == kKindField) {
      read = stream.ReadVarint32(&fields.kind);
    } else {
      read = WireFormatLite::SkipField(&stream, tag);
    }
    QUENCH_CHECK(read, "the value is cut short");
  }
  QUENCH_CHECK(stream.ConsumedEntireMessage(), "the value is not a protobuf message");
  return fields;
}

RtValue tensor_value(const std::string& bytes) {
  quench_onnx::TensorProto proto;
  QUENCH_CHECK(proto.ParseFromString(bytes), "not a TensorProto");
  const TensorAttr tensor = decode_tensor(proto, ExternalData(""));
  return RtValue(*tensor.tensor, tensor.dtype);
}

RtValue parse_value(const std::string& bytes, const TypeInfo& type, int depth) {
  QUENCH_CHECK(depth < kMaxDepth, "the value is nested too deeply");
  if (type.is_tensor()) return tensor_value(bytes);
  QUENCH_CHECK(type.element, "the type ", type.text(), " does not say what it holds");
  const Fields fields = parse_fields(bytes);
  const int wanted = type.element->is_tensor() ? 3 : type.element->kind == TypeInfo::Kind::kSequence ? 5 : 7;
  std::vector<RtValue> elements;
  for (const auto& [number, message] : fields.messages)
    if (number == wanted) elements.push_back(parse_value(message, *type.element, depth + 1));
  if (type.kind == TypeInfo::Kind::kSequence) return RtValue::sequence(std::move(elements), *type.element);
  // An optional whose kind is undefined (0) is empty, even when a default element was written.
  return fields.kind == 0 || elements.empty() ? RtValue() : elements.front();
}

}  // namespace

RtValue read_onnx_value(const std::string& path, const TypeInfo& type) {
  return with_context([&] { return "while reading " + path; },
                      [&] {
                        std::ifstream file(path, std::ios::binary);
                        QUENCH_CHECK(file, "the file cannot be opened");
                        std::ostringstream bytes;
                        bytes << file.rdbuf();
                        return parse_value(bytes.str(), type, 0);
                      });
}

}  // namespace quench
