// Every encoding of a tensor in an ONNX file.
#include "import/onnx/tensor.h"

#include <ATen/ATen.h>

#include <cstring>

#include "graph/tensor_types.h"
#include "import/onnx_files.h"

namespace quench {
namespace {

TensorProto header(int dtype, const std::vector<std::int64_t>& dims) {
  TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(dtype);
  for (const std::int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

at::Tensor decode(const TensorProto& proto) { return *decode_tensor(proto, ExternalData("")).tensor; }
std::string decode_error(const TensorProto& proto, const std::string& folder = "") {
  return error_of([&] { decode_tensor(proto, ExternalData(folder)); });
}

// The elements' bits, whatever the type.
std::vector<std::uint64_t> bits_in(const at::Tensor& tensor) {
  std::vector<std::uint64_t> result;
  const auto* bytes = static_cast<const char*>(tensor.const_data_ptr());
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes + i * static_cast<std::int64_t>(tensor.element_size()), tensor.element_size());
    result.push_back(bits);
  }
  return result;
}

TEST(OnnxTensor, ReadsRawBytesOfEveryPlainType) {
  for (int number = 1; number < kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (dtype == DType::kString || bits_of(dtype) < 8 || bits_of(dtype) > 64) continue;
    TensorProto proto = header(number, {2});
    std::string raw;
    for (int i = 0; i < 2 * bits_of(dtype) / 8; ++i) raw += static_cast<char>(dtype == DType::kBool ? i : 17 * i + 1);
    proto.set_raw_data(raw);
    const TensorAttr read = decode_tensor(proto, ExternalData(""));
    EXPECT_EQ(read.dtype, dtype);
    EXPECT_EQ(read.tensor->scalar_type(), scalar_type_of(dtype));
    EXPECT_EQ(std::memcmp(read.tensor->const_data_ptr(), raw.data(), raw.size()), 0) << name_of(dtype);
  }
}

TEST(OnnxTensor, NormalizesBools) {
  TensorProto proto = header(TensorProto::BOOL, {3});
  proto.set_raw_data(std::string("\x00\x02\xff", 3));
  EXPECT_EQ(bits_in(decode(proto)), (std::vector<std::uint64_t>{0, 1, 1}));
}

TEST(OnnxTensor, ReadsTypedFields) {
  TensorProto floats = header(TensorProto::FLOAT, {2});
  floats.add_float_data(1.5F);
  floats.add_float_data(-2);
  EXPECT_TRUE(bit_equal(decode(floats), at::tensor({1.5F, -2.0F})));
  TensorProto doubles = header(TensorProto::DOUBLE, {});
  doubles.add_double_data(0.1);
  EXPECT_TRUE(bit_equal(decode(doubles), at::scalar_tensor(0.1, at::kDouble)));
  TensorProto longs = header(TensorProto::INT64, {1});
  longs.add_int64_data(-5);
  EXPECT_TRUE(bit_equal(decode(longs), integer_tensor({-5})));
  TensorProto unsigned_longs = header(TensorProto::UINT64, {1});
  unsigned_longs.add_uint64_data(~std::uint64_t{0});
  EXPECT_EQ(bits_in(decode(unsigned_longs)), (std::vector<std::uint64_t>{~std::uint64_t{0}}));
  TensorProto words = header(TensorProto::UINT32, {1});
  words.add_uint64_data(4'000'000'000U);
  EXPECT_EQ(bits_in(decode(words)), (std::vector<std::uint64_t>{4'000'000'000U}));
  TensorProto complex = header(TensorProto::COMPLEX64, {1});
  complex.add_float_data(3);
  complex.add_float_data(4);
  EXPECT_EQ(at::abs(decode(complex)).item<float>(), 5);
  TensorProto wide = header(TensorProto::COMPLEX128, {1});
  wide.add_double_data(3);
  wide.add_double_data(4);
  EXPECT_EQ(at::abs(decode(wide)).item<double>(), 5);
}

TEST(OnnxTensor, ReadsNarrowTypesFromInt32Data) {
  struct Case {
    int dtype;
    int number;
    std::uint64_t bits;
  };
  const std::vector<Case> cases = {{TensorProto::INT32, -2, 0xfffffffe},    {TensorProto::INT16, -2, 0xfffe},
                                   {TensorProto::INT8, -2, 0xfe},           {TensorProto::UINT16, 65535, 0xffff},
                                   {TensorProto::UINT8, 255, 0xff},         {TensorProto::BOOL, 1, 1},
                                   {TensorProto::FLOAT16, 0x3c00, 0x3c00},  {TensorProto::BFLOAT16, 0xbf80, 0xbf80},
                                   {TensorProto::FLOAT8E4M3FN, 0x38, 0x38}, {TensorProto::FLOAT8E4M3FNUZ, 0x40, 0x40},
                                   {TensorProto::FLOAT8E5M2, 0x3c, 0x3c},   {TensorProto::FLOAT8E5M2FNUZ, 0x40, 0x40},
                                   {TensorProto::FLOAT8E8M0, 127, 127}};
  for (const Case& each : cases) {
    TensorProto proto = header(each.dtype, {1});
    proto.add_int32_data(each.number);
    EXPECT_EQ(bits_in(decode(proto)), (std::vector<std::uint64_t>{each.bits})) << each.dtype;
  }
  TensorProto half = header(TensorProto::FLOAT16, {1});
  half.add_int32_data(0x3c00);
  EXPECT_EQ(decode(half).item<float>(), 1.0F);
}

TEST(OnnxTensor, UnpacksCodesOfLessThanAByte) {
  const std::string raw("\x1f\x08", 2);  // nibbles f 1 8
  const auto codes = [&](int dtype, std::int64_t count, bool typed) {
    TensorProto proto = header(dtype, {count});
    if (!typed) proto.set_raw_data(raw);
    for (const char byte : typed ? raw : "") proto.add_int32_data(static_cast<std::uint8_t>(byte));
    return integers_of(decode(proto));
  };
  for (const bool typed : {false, true}) {
    EXPECT_EQ(codes(TensorProto::UINT4, 3, typed), (std::vector<std::int64_t>{15, 1, 8}));
    EXPECT_EQ(codes(TensorProto::INT4, 3, typed), (std::vector<std::int64_t>{-1, 1, -8}));
    EXPECT_EQ(codes(TensorProto::FLOAT4E2M1, 3, typed), (std::vector<std::int64_t>{15, 1, 8}));
    EXPECT_EQ(codes(TensorProto::UINT2, 6, typed), (std::vector<std::int64_t>{3, 3, 1, 0, 0, 2}));
    EXPECT_EQ(codes(TensorProto::INT2, 6, typed), (std::vector<std::int64_t>{-1, -1, 1, 0, 0, -2}));
  }
}

TEST(OnnxTensor, ReadsExternalData) {
  const TempFolder folder;
  const std::vector<float> numbers = {1, 2, 3};
  folder.write("w.bin", "xxxx" + std::string(reinterpret_cast<const char*>(numbers.data()), 12));
  TensorProto proto = header(TensorProto::FLOAT, {3});
  proto.set_data_location(quench_onnx::TensorProto_DataLocation_EXTERNAL);
  const auto entry = [&](const std::string& key, const std::string& value) {
    proto.add_external_data()->set_key(key);
    proto.mutable_external_data(proto.external_data_size() - 1)->set_value(value);
  };
  entry("location", "w.bin");
  entry("offset", "4");
  const TensorAttr read = decode_tensor(proto, ExternalData(folder.path()));
  EXPECT_TRUE(bit_equal(*read.tensor, at::tensor({1.0F, 2.0F, 3.0F})));
  entry("length", "12");
  EXPECT_EQ(decode_error(proto, folder.path()), "");
  proto.mutable_external_data(2)->set_value("8");
  EXPECT_NE(decode_error(proto, folder.path()).find("needs 12 bytes, but its external data has length 8"),
            std::string::npos);
}

TEST(OnnxTensor, MakesSparseTensorsDense) {
  quench_onnx::SparseTensorProto proto;
  fill_floats(*proto.mutable_values(), "s", {2}, {5, 7});
  proto.add_dims(2);
  proto.add_dims(3);
  TensorProto& indices = *proto.mutable_indices();
  indices = header(TensorProto::INT64, {2});
  indices.add_int64_data(1);
  indices.add_int64_data(5);
  const at::Tensor expected = at::tensor({0.0F, 5.0F, 0.0F, 0.0F, 0.0F, 7.0F}).reshape({2, 3});
  EXPECT_TRUE(bit_equal(*decode_sparse_tensor(proto, ExternalData("")).tensor, expected));
  indices = header(TensorProto::INT64, {2, 2});
  for (const int index : {0, 1, 1, 2}) indices.add_int64_data(index);
  EXPECT_TRUE(bit_equal(*decode_sparse_tensor(proto, ExternalData("")).tensor, expected));
  indices.set_int64_data(3, 3);
  EXPECT_NE(error_of([&] { decode_sparse_tensor(proto, ExternalData("")); }).find("outside its dims"),
            std::string::npos);
  proto.set_dims(0, std::int64_t{1} << 40);
  EXPECT_NE(error_of([&] { decode_sparse_tensor(proto, ExternalData("")); }).find("cannot be made dense"),
            std::string::npos);
}

TEST(OnnxTensor, RefusesDataThatDoesNotFitTheDims) {
  TensorProto raw = header(TensorProto::FLOAT, {2, 3});
  raw.set_raw_data("12345678");
  EXPECT_NE(decode_error(raw).find("float[2, 3] needs 24 bytes of raw data, found 8"), std::string::npos);
  EXPECT_NE(decode_error(raw).find("in tensor 't'"), std::string::npos);
  TensorProto typed = header(TensorProto::INT8, {4});
  typed.add_int32_data(1);
  EXPECT_NE(decode_error(typed).find("int8[4] needs 4 numbers, found 1"), std::string::npos);
  TensorProto wide = header(TensorProto::INT8, {1});
  wide.add_int32_data(300);
  EXPECT_NE(decode_error(wide).find("300 does not fit int8"), std::string::npos);
  TensorProto other = header(TensorProto::FLOAT, {1});
  other.add_int32_data(1);
  EXPECT_NE(decode_error(other).find("needs 1 numbers, found 0"), std::string::npos);
  TensorProto twice = header(TensorProto::FLOAT, {1});
  twice.add_float_data(1);
  twice.set_raw_data("1234");
  EXPECT_NE(decode_error(twice).find("more than one way"), std::string::npos);
  EXPECT_NE(decode_error(header(TensorProto::STRING, {1})).find("string tensors are not supported"), std::string::npos);
  EXPECT_EQ(decode(header(TensorProto::FLOAT, {0, 7})).numel(), 0);
}

TEST(OnnxTensor, RefusesImpossibleDimsWithoutAllocating) {
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_NE(decode_error(header(TensorProto::FLOAT, {-3})).find("negative"), std::string::npos);
  EXPECT_NE(decode_error(header(TensorProto::FLOAT, {huge, huge})).find("more than a tensor can hold"),
            std::string::npos);
  EXPECT_NE(decode_error(header(TensorProto::FLOAT, {0, huge, huge})).find("more than a tensor can hold"),
            std::string::npos);
  EXPECT_NE(decode_error(header(TensorProto::FLOAT, {1 << 20, 1 << 20})).find("bytes of raw data, found 0"),
            std::string::npos);
  EXPECT_NE(decode_error(header(TensorProto::FLOAT, std::vector<std::int64_t>(1000, 1))).find("rank 1000"),
            std::string::npos);
  EXPECT_NE(decode_error(header(99, {1})).find("element type 99"), std::string::npos);
  EXPECT_NE(decode_error(header(0, {1})).find("element type 0"), std::string::npos);
}

// Length-delimited field `number` of a message.
std::string field(int number, const std::string& bytes) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) + bytes;
}

TEST(OnnxTensor, ReadsValuesOfTestCases) {
  const TempFolder folder;
  TensorProto tensor;
  fill_floats(tensor, "a", {2}, {1, 2});
  const TypeInfo type = TypeInfo::tensor(DType::kFloat);
  const std::string bytes = tensor.SerializeAsString();
  EXPECT_TRUE(bit_equal(read_onnx_value(folder.write("t", bytes), type).tensor(), at::tensor({1.0F, 2.0F})));
  const std::string sequence = "\x10\x01" + field(3, bytes) + field(3, bytes);
  EXPECT_EQ(read_onnx_value(folder.write("s", sequence), TypeInfo::sequence(type)).elements().size(), 2U);
  const std::string full = "\x10\x01" + field(3, bytes), empty = std::string("\x10\x00", 2);
  EXPECT_TRUE(read_onnx_value(folder.write("o", full), TypeInfo::optional(type)).is_tensor());
  EXPECT_TRUE(read_onnx_value(folder.write("e", empty), TypeInfo::optional(type)).is_none());
  const std::string nested = "\x10\x03" + field(5, sequence);
  EXPECT_TRUE(read_onnx_value(folder.write("n", nested), TypeInfo::optional(TypeInfo::sequence(type))).is_sequence());
  EXPECT_NE(error_of([&] { read_onnx_value(folder.write("c", sequence.substr(0, 9)), TypeInfo::sequence(type)); }), "");
  EXPECT_NE(error_of([&] { read_onnx_value(folder.path("none"), type); }).find("cannot be opened"), std::string::npos);
}

}  // namespace
}  // namespace quench
