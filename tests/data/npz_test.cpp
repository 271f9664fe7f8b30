// tests/data/npy holds files that NumPy made (make.py there).
#include "quench/npz.h"

#include <ATen/ATen.h>

#include "data/files.h"
#include "data/npy.h"

namespace quench {
namespace {

std::string reading(const std::string& path) {
  return message_of([&] { read_npz(path); });
}

at::Tensor expected_values(const std::string& type) {
  const at::Tensor values = at::arange(6, at::kLong).view({2, 3}) - (type[0] == 'u' ? 0 : 2);
  const bool is_complex = type.starts_with("complex");
  return is_complex ? at::complex(values.to(at::kDouble), values.to(at::kDouble) * 0.5) : values.to(at::kDouble);
}

TEST(ReadNpz, ReadsEveryTypeOrderAndEndianness) {
  const auto arrays = read_npz(test_data("npy/types.npz"));
  EXPECT_EQ(arrays.size(), 3U + 14 + 11 + 14);
  for (const char* type : {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                           "float", "double", "complex64", "complex128"}) {
    for (const char* form : {"", "_big", "_fortran"}) {
      const auto at = arrays.find(std::string(type) + form);
      if (at == arrays.end()) continue;
      SCOPED_TRACE(at->first);
      EXPECT_EQ(at->second.dtype(), dtype_from_name(type));
      const at::Tensor& found = at->second.tensor();
      EXPECT_TRUE(found.is_contiguous());
      at::Tensor expected = expected_values(type);
      if (std::string(type) == "bool") expected = expected.ne(0).to(at::kDouble);
      EXPECT_TRUE(found.to(expected.scalar_type()).equal(expected)) << found;
    }
  }
  EXPECT_EQ(arrays.at("scalar").tensor().dim(), 0);
  EXPECT_EQ(arrays.at("scalar").tensor().item<float>(), 1.5F);
  EXPECT_EQ(arrays.at("empty").tensor().sizes(), (std::vector<std::int64_t>{0, 3}));
}

TEST(ReadNpz, ReadsDeflatedZipsAndEveryVersion) {
  const auto arrays = read_npz(test_data("npy/deflated.npz"));
  EXPECT_TRUE(arrays.at("a").tensor().equal(at::zeros({64, 64})));
  EXPECT_TRUE(arrays.at("b").tensor().equal(at::arange(5, at::kLong)));
  for (const char* name : {"npy/plain.npy", "npy/version2.npy", "npy/version3.npy"}) {
    EXPECT_TRUE(read_npz(test_data(name)).at("array").tensor().equal(at::arange(4, at::kFloat))) << name;
  }
}

TEST(ReadNpz, RefusesTypesWithoutATensorForm) {
  EXPECT_CONTAINS(reading(test_data("npy/objects.npy")), "nothing in a pickle is ever executed");
  EXPECT_CONTAINS(reading(test_data("npy/text.npy")), "its type '<U1' is text");
  EXPECT_CONTAINS(reading(test_data("npy/records.npy")), "it holds records");
  EXPECT_CONTAINS(reading(test_data("npy/dates.npy")), "dates or durations");
  EXPECT_CONTAINS(reading(test_data("npy/void.npy")), "raw bytes");
}

// An .npy of version 1 with this dictionary.
std::string npy(const std::string& dictionary, const std::string& data = "") {
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(dictionary.size()) + '\0' + dictionary + data;
}

TEST(ReadNpz, RefusesBrokenArrays) {
  const TempFolder folder;
  const auto of = [&](const std::string& bytes) { return reading(folder.write("a.npy", bytes)); };
  EXPECT_CONTAINS(reading(folder.path("none.npz")), "there is no such file\n  while reading '");
  EXPECT_CONTAINS(reading(folder.path()), "it is a folder");
  EXPECT_CONTAINS(of(""), "it is empty");
  EXPECT_CONTAINS(of("hello"), "neither an .npy nor an .npz file");
  EXPECT_CONTAINS(of("\x93NUM"), "fewer than the header");
  EXPECT_CONTAINS(of("\x93NUMPY\x09\x01xxxx"), "its format version is 9; 1 to 3 are read");
  EXPECT_CONTAINS(of("\x93NUMPY\x02\x01\xff\xff\xff\xff"), "its header claims 4294967295 bytes");
  EXPECT_CONTAINS(of(std::string("\x93NUMPY\x01\x01\x40\x00{", 11)), "its header claims 64 bytes, 1 are left");
  EXPECT_CONTAINS(of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "1234")),
                  "take 12 bytes, but 4 are there");
  EXPECT_CONTAINS(of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "12345678")),
                  "take 4 bytes, but 8 are there");
  EXPECT_CONTAINS(of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }")),
                  "more than any file can hold");
  EXPECT_CONTAINS(of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 99999999999, 99999999999), }")),
                  "more than any file can hold");
  EXPECT_CONTAINS(of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }")),
                  "a dimension too large");
  EXPECT_CONTAINS(of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }")),
                  "something that is not a size");
  EXPECT_CONTAINS(of(npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }")), "neither True nor False");
  EXPECT_CONTAINS(of(npy("{'descr': '<f4', 'shape': (1,), }")), "lacks descr, fortran_order or shape");
  EXPECT_CONTAINS(of(npy("{'descr': '<f4")), "a string without an end");
  EXPECT_CONTAINS(of(npy("{'descr': '<f16', 'fortran_order': False, 'shape': (), }")), "without a tensor form");
  EXPECT_CONTAINS(of(npy("{'dtype': '<f4'}")), "unknown key 'dtype'");
  EXPECT_CONTAINS(of(npy("{} import os")), "goes on after the '}'");
}

TEST(ReadNpz, RefusesBrokenZips) {
  const TempFolder folder;
  const std::string good = contents_of(test_data("npy/deflated.npz"));
  const auto of = [&](const std::string& bytes) { return reading(folder.write("a.npz", bytes)); };
  EXPECT_CONTAINS(of(good.substr(0, good.size() / 2)), "not a valid zip file");
  EXPECT_CONTAINS(of("PK\3\4"), "not a valid zip file");
  std::string damaged = good;
  for (std::size_t i = 60; i < 90; ++i) damaged[i] = static_cast<char>(~damaged[i]);
  EXPECT_CONTAINS(of(damaged), "in its array 'a'");
  std::string wrong_sum = contents_of(test_data("npy/types.npz"));
  const std::size_t at = wrong_sum.find("'<f4'");  // a stored entry: one byte of its data changes
  wrong_sum[at + 130] = static_cast<char>(wrong_sum[at + 130] ^ 1);
  EXPECT_CONTAINS(of(wrong_sum), "it is damaged: CRC error");
  std::string foreign = good;
  foreign.replace(foreign.find("a.npy"), 5, "a.txt");
  foreign.replace(foreign.rfind("a.npy"), 5, "a.txt");
  EXPECT_CONTAINS(of(foreign), "entry 'a.txt' of the zip is not an array");
}

TEST(ReadNpz, RefusesAZipThatClaimsToUnpackToTooMuch) {
  const TempFolder folder;
  std::string bytes = contents_of(test_data("npy/deflated.npz"));
  const std::size_t entry = bytes.find("PK\1\2");  // the first entry of the central directory
  bytes.replace(entry + 24, 4, "\xf0\xff\xff\x7f");
  EXPECT_CONTAINS(reading(folder.write("a.npz", bytes)), "which no compression can do");
}

TEST(WriteNpz, WritesTheVeryBytesThatNumPyWrites) {
  EXPECT_EQ(npy_header(at::arange(4, at::kFloat)), contents_of(test_data("npy/plain.npy")).substr(0, 128));
  const std::string types = contents_of(test_data("npy/types.npz"));
  for (const at::Tensor& tensor : {at::ones({2, 3}, at::kBool), at::ones({2, 3}, at::kHalf), at::ones({}, at::kFloat),
                                   at::zeros({0, 3}, at::kFloat), at::ones({1}, at::kLong)}) {
    EXPECT_CONTAINS(types, npy_header(tensor));
  }
}

TEST(WriteNpz, GivesBackWhatWasWritten) {
  const TempFolder folder;
  const std::string path = folder.path("a.npz");
  const std::map<std::string, RtValue> arrays = {{"/conv/Conv_output_0", at::randn({3, 4})},
                                                 {"u", at::full({2}, 65535, at::kUInt16)},
                                                 {"t", at::arange(6).view({2, 3}).t()},
                                                 {"s", at::scalar_tensor(2.5)},
                                                 {"e", at::empty({0})}};
  for (const NpzCompression compression : {NpzCompression::kStored, NpzCompression::kDeflate}) {
    write_npz(path, arrays, compression);
    const auto found = read_npz(path);
    ASSERT_EQ(found.size(), arrays.size());
    for (const auto& [name, value] : arrays) {
      EXPECT_EQ(found.at(name).dtype(), value.dtype());
      EXPECT_TRUE(found.at(name).tensor().equal(value.tensor())) << name;
    }
    const std::string bytes = contents_of(path);
    write_npz(path, arrays, compression);
    EXPECT_EQ(contents_of(path), bytes);
  }
}

TEST(WriteNpz, RefusesWhatNumPyHasNot) {
  const TempFolder folder;
  const std::string path = folder.path("a.npz");
  const auto writing = [&](const RtValue& value) { return message_of([&] { write_npz(path, {{"v", value}}); }); };
  EXPECT_CONTAINS(writing(at::ones({1}, at::kBFloat16)), "NumPy has no type for bfloat16; cast it to float first");
  EXPECT_CONTAINS(writing(RtValue(at::ones({1}, at::kChar), DType::kInt4)), "cast it to int8 first");
  EXPECT_CONTAINS(writing(RtValue(at::ones({1}, at::kByte), DType::kUint4)), "cast it to uint8 first");
  EXPECT_CONTAINS(writing(RtValue()), "it is nothing; an .npz file holds only tensors\n  in the array 'v'");
  EXPECT_CONTAINS(message_of([&] { write_npz(path, {}); }), "there are no arrays to write");
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_CONTAINS(message_of([&] { write_npz(folder.path("no/a.npz"), {{"v", at::ones({1})}}); }), "does not exist");
}

}  // namespace
}  // namespace quench
