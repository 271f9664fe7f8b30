// safetensors: written and read back, and hostile headers refused.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>

#include "quench/error.h"
#include "quench/safetensors.h"
#include "support/expect_error.h"
#include "zoo/torch_bytes.h"

namespace quench {
namespace {

std::string with_header(const std::string& header, const std::string& data) {
  return little(static_cast<std::uint64_t>(header.size())) + header + data;
}

void expect_error(const std::string& bytes, const std::string& part) {
  const TempFile file(bytes, "w.safetensors");
  try {
    read_safetensors(file.path());
    FAIL() << "no error; wanted: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

const std::string kTwoFloats(8, '\0');

TEST(Safetensors, BytesAreThoseOfTheFile) {
  const TensorMap tensors = {{"a", at::arange(6).view({2, 3})}, {"nothing", at::empty({0})}};
  const TempFile file("", "w.safetensors");
  write_safetensors(file.path(), tensors, {{"format", "pt"}});
  std::ifstream in(file.path(), std::ios::binary);
  const std::string bytes = safetensors_bytes(tensors, {{"format", "pt"}});
  EXPECT_EQ(bytes, std::string(std::istreambuf_iterator<char>(in), {}));
  const TensorMap back = tensors_of_bytes(bytes);
  ASSERT_EQ(back.size(), 2U);
  EXPECT_TRUE(back.at("a").equal(tensors.at("a")));
  EXPECT_EQ(back.at("nothing").numel(), 0);
  EXPECT_ERROR(tensors_of_bytes(bytes.substr(0, bytes.size() - 1)), "the header describes 48 bytes");
}

TEST(Safetensors, GivesBackEveryTypeThatItKnows) {
  const at::Tensor values = at::arange(6).view({2, 3});
  TensorMap tensors;
  for (const at::ScalarType dtype :
       {at::kBool, at::kByte, at::kChar, at::kUInt16, at::kShort, at::kUInt32, at::kInt, at::kUInt64, at::kLong,
        at::kHalf, at::kBFloat16, at::kFloat, at::kDouble, at::kComplexFloat, at::kFloat8_e4m3fn, at::kFloat8_e4m3fnuz,
        at::kFloat8_e5m2, at::kFloat8_e5m2fnuz, at::kFloat8_e8m0fnu})
    tensors[c10::toString(dtype)] = values.to(dtype);
  tensors["a scalar"] = at::scalar_tensor(2.5);
  tensors["nothing"] = at::empty({0, 4});
  tensors["turned"] = at::rand({3, 5}).t();
  const TempFile file("", "w.safetensors");
  write_safetensors(file.path(), tensors, {{"format", "pt"}});
  const TensorMap read = read_safetensors(file.path());
  ASSERT_EQ(read.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(read.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_EQ(read.at(name).sizes(), tensor.sizes()) << name;
    const at::Tensor wanted = tensor.contiguous();
    EXPECT_EQ(0, std::memcmp(read.at(name).data_ptr(), wanted.data_ptr(), wanted.nbytes())) << name;
  }
}

TEST(Safetensors, ReadsAHandWrittenFile) {
  const TempFile file(
      with_header(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                  little(1.5F) + little(-2.0F)));
  EXPECT_TRUE(at::equal(read_safetensors(file.path()).at("b"), at::tensor({1.5F, -2.0F})));
}

TEST(Safetensors, RefusesHeadersThatLie) {
  expect_error("", "too few for a header");
  expect_error(little(std::uint64_t{1} << 60) + "{}", "its header claims 1152921504606846976 bytes");
  expect_error(with_header("[1]", ""), "the header is not a JSON object");
  expect_error(with_header("{\"a\":", ""), "the header is not a JSON object");
  expect_error(with_header(R"({"a":1})", ""), "its entry is not a JSON object");
  expect_error(with_header(R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})", kTwoFloats),
               "unknown safetensors dtype 'F33'; did you mean");
  expect_error(with_header(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", kTwoFloats),
               "its shape needs 12 bytes; its 'data_offsets' give it 8");
  expect_error(with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", kTwoFloats),
               "are not a begin and an end");
  expect_error(with_header(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", kTwoFloats),
               "its 'shape' holds -2, not a count");
  expect_error(with_header(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", kTwoFloats),
               "its shape is larger than memory");
}

TEST(Safetensors, RefusesDataThatDoesNotFitTheHeader) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  expect_error(with_header(header, kTwoFloats.substr(1)), "the header describes 8 bytes of data; the file has 7");
  expect_error(with_header(header, kTwoFloats + "x"), "the header describes 8 bytes of data; the file has 9");
  expect_error(with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                               "b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                           kTwoFloats),
               "tensor 'b' begins at byte 4 of the data; 8 was expected");
}

TEST(Safetensors, RefusesRepeatedNamesAndDeepHeaders) {
  const std::string entry = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  expect_error(with_header("{" + entry + "," + entry + "}", "0000"), "the header names 'a' twice");
  expect_error(with_header("{\"a\":" + std::string(100'000, '['), ""), "nested too deeply");
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const std::string bytes = with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", kTwoFloats);
  for (std::size_t length = 0; length < bytes.size(); ++length) expect_error(bytes.substr(0, length), "");
}

}  // namespace
}  // namespace quench
