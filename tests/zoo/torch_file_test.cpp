// Files of torch.save: what is read, and what is refused with which words.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "quench/error.h"
#include "quench/state_dict.h"
#include "support/expect_error.h"
#include "zoo/torch_bytes.h"

namespace quench {
namespace {

using namespace pickled;
using Shape = std::vector<std::int64_t>;

std::string floats(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

// A .pt with one pickle and one storage "0" of six floats: 0, 1, 2, 3, 4, 5.
std::string torch_file(const std::string& pickle) {
  return zip_bytes({{"archive/data.pkl", pickle},
                    {"archive/byteorder", "little"},
                    {"archive/data/0", floats({0, 1, 2, 3, 4, 5})},
                    {"archive/version", "3\n"}});
}

std::string six() { return storage("FloatStorage", "0", 6); }

std::string error_of(const std::string& bytes) {
  const TempFile file(bytes);
  try {
    read_torch_file(file.path());
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("while reading the weights in"), std::string::npos) << error.what();
    return error.message();
  }
  return "no error";
}

std::string error_of_pickle(const std::string& pickle) { return error_of(torch_file(pickle)); }

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "the message is: " << text;
}

TEST(TorchFile, ReadsTensorsThatShareAStorage) {
  const TempFile file(
      torch_file(whole(dict({{"a", tensor(six(), 0, {2, 3}, {3, 1})}, {"b", tensor(six(), 1, {2}, {3})}}))));
  const TensorMap tensors = read_state_dict(file.path());
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_TRUE(at::equal(tensors.at("a"), at::arange(6, at::kFloat).view({2, 3})));
  EXPECT_TRUE(at::equal(tensors.at("b"), at::tensor({1.0F, 4.0F})));
  EXPECT_TRUE(tensors.at("a").storage().is_alias_of(tensors.at("b").storage()));
}

TEST(TorchFile, ReadsWhatLibTorchWrites) {
  c10::Dict<std::string, at::Tensor> state;
  state.insert("weight", at::randn({3, 4}));
  state.insert("half", at::randn({2}).to(at::kHalf));
  state.insert("counter", at::scalar_tensor(7, at::kLong));
  state.insert("view", at::arange(12, at::kInt).view({3, 4}).t());
  state.insert("flags", at::tensor({1, 0}).to(at::kBool));
  state.insert("none", at::empty({0, 3}));
  const std::vector<char> bytes = torch::jit::pickle_save(state);
  const TempFile file(std::string(bytes.begin(), bytes.end()));
  const TensorMap tensors = read_state_dict(file.path());
  ASSERT_EQ(tensors.size(), state.size());
  for (const auto& item : state) {
    const at::Tensor& read = tensors.at(item.key());
    EXPECT_EQ(read.scalar_type(), item.value().scalar_type()) << item.key();
    EXPECT_TRUE(at::equal(read, item.value())) << item.key();
  }
}

TEST(TorchFile, FindsTheStateDictInsideACheckpoint) {
  const std::string inner = dict({{"w", tensor(six(), 0, {6}, {1})}});
  for (const char* name : {"state_dict", "model_state_dict", "model"}) {
    const TempFile file(
        torch_file(whole(dict({{"epoch", integer(3)}, {name, inner}, {"best", "G" + std::string(8, '\0')}}))));
    EXPECT_EQ(read_torch_file(file.path()).at("w").numel(), 6) << name;
  }
}

TEST(TorchFile, ReadsAnOrderedDictWithMetadataAndParameters) {
  const std::string parameter =
      global("torch._utils", "_rebuild_parameter") +
      tuple({tensor(six(), 0, {3}, {1}), "\x88", global("collections", "OrderedDict") + ")R"}) + "R";
  const std::string state = global("collections", "OrderedDict") + ")Rq\x05(" + text("w") + parameter + "u" +
                            dict({{"_metadata", dict({})}}) + "b";
  const TempFile file(torch_file(whole(state)));
  EXPECT_TRUE(at::equal(read_torch_file(file.path()).at("w"), at::tensor({0.0F, 1.0F, 2.0F})));
}

TEST(TorchFile, ReadsTypesWithoutAStorageClassOfTheirOwn) {
  const std::string untyped =
      tuple({text("storage"), global("torch.storage", "UntypedStorage"), text("0"), text("cpu"), integer(24)}) + "Q";
  const std::string value = global("torch._utils", "_rebuild_tensor_v3") +
                            tuple({untyped, integer(0), sizes({12}), sizes({1}), "\x89",
                                   global("collections", "OrderedDict") + ")R", global("torch", "uint16")}) +
                            "R";
  const TempFile file(torch_file(whole(dict({{"w", value}}))));
  const at::Tensor tensor = read_torch_file(file.path()).at("w");
  EXPECT_EQ(tensor.scalar_type(), at::kUInt16);
  EXPECT_EQ(tensor.numel(), 12);
}

TEST(TorchFile, RefusesEveryGlobalThatIsNotOfATensorByName) {
  const std::string call = global("os", "system") + tuple({text("true")}) + "R";
  expect_part(error_of_pickle(whole(call)),
              "it refers to 'os.system'; only tensors and plain data are read, and nothing is executed");
  expect_part(error_of_pickle(whole(text("builtins") + text("eval") + "\x93")), "it refers to 'builtins.eval'");
  expect_part(error_of_pickle(whole(global("torch", "quint4x2"))), "'torch.quint4x2'");
}

TEST(TorchFile, RefusesOpcodesThatMakeObjects) {
  for (const char* opcode : {"\x81", "\x92", "i", "o", "P", "\x82"})
    expect_part(error_of_pickle(whole(opcode)), "is not one that a state dict needs");
}

TEST(TorchFile, RefusesCallsOfWhatIsNoFunction) {
  expect_part(error_of_pickle(whole(global("torch", "FloatStorage") + ")R")), "'torch.FloatStorage' cannot be called");
  expect_part(error_of_pickle(whole(integer(1) + ")R")), "a global was expected, an integer found");
}

TEST(TorchFile, RefusesATorchScriptArchive) {
  expect_part(error_of(zip_bytes({{"m/data.pkl", whole("}")}, {"m/constants.pkl", whole(")")}})),
              "TorchScript archive");
}

TEST(TorchFile, RefusesWhatIsNoStateDict) {
  expect_part(error_of_pickle(whole(tuple({integer(1)}))), "it holds a tuple; a state dict");
  expect_part(error_of_pickle(whole(dict({{"epoch", integer(1)}}))), "entry 'epoch' is an integer, not a tensor");
  expect_part(error_of(zip_bytes({{"readme.txt", "hello"}})), "a zip without a 'data.pkl'");
  expect_part(error_of("hello, world"), "it is not a zip archive");
  expect_part(error_of(""), "it is not a zip archive");
}

TEST(TorchFile, RefusesAFileThatIsNotThere) {
  EXPECT_ERROR(read_state_dict("/nonexistent/weights.pt"), "cannot open '/nonexistent/weights.pt'", "No such file");
  EXPECT_ERROR(read_torch_file("/nonexistent/weights.pt"), "cannot open '/nonexistent/weights.pt'", "No such file");
}

TEST(TorchFile, EveryTruncationIsAnError) {
  const std::string bytes = torch_file(whole(dict({{"a", tensor(six(), 0, {2, 3}, {3, 1})}})));
  for (std::size_t length = 0; length < bytes.size(); length += 7) {
    const TempFile file(bytes.substr(0, length));
    EXPECT_ERROR(read_torch_file(file.path()), "zip archive", file.path()) << length;
  }
}

TEST(TorchFile, EveryTruncatedPickleIsAnError) {
  const std::string pickle = whole(dict({{"a", tensor(six(), 0, {2, 3}, {3, 1})}}));
  for (std::size_t length = 0; length < pickle.size(); ++length)
    EXPECT_NE(error_of_pickle(pickle.substr(0, length)), "no error") << length;
}

TEST(TorchFile, DamagedDataIsAnError) {
  std::string bytes = torch_file(whole(dict({{"a", tensor(six(), 0, {6}, {1})}})));
  bytes[bytes.find(floats({4, 5}))] ^= 1;
  expect_part(error_of(bytes), "is damaged");
}

TEST(TorchFile, ShapesThatLeaveTheStorageAreRefused) {
  const std::vector<std::pair<Shape, Shape>> lies = {
      {{7}, {1}}, {{2, 3}, {4, 1}}, {{1'000'000'000'000}, {0}}, {{INT64_MAX, INT64_MAX}, {1, 1}}, {{2}, {INT64_MAX}}};
  for (const auto& [shape, strides] : lies)
    expect_part(error_of_pickle(whole(dict({{"a", tensor(six(), 0, shape, strides)}}))),
                "does not fit its storage of 6");
  expect_part(error_of_pickle(whole(dict({{"a", tensor(six(), 6, {1}, {1})}}))), "at offset 6 does not fit");
  expect_part(error_of_pickle(whole(dict({{"a", tensor(six(), -1, {1}, {1})}}))), "at offset -1 does not fit");
  expect_part(error_of_pickle(whole(dict({{"a", tensor(six(), 0, {-1}, {1})}}))),
              "a size or stride is an integer (-1)");
  expect_part(error_of_pickle(whole(dict({{"a", tensor(six(), 0, {1, 1}, {1})}}))), "it has 2 sizes and 1 strides");
}

TEST(TorchFile, StoragesThatLieAboutTheirSizeAreRefused) {
  const auto with = [](const std::string& bytes) { return whole(dict({{"a", tensor(bytes, 0, {1}, {1})}})); };
  expect_part(error_of_pickle(with(storage("FloatStorage", "0", 1'000'000'000'000))),
              "storage '0' claims 1000000000000 elements of 4 bytes; it has 24 bytes");
  expect_part(error_of_pickle(with(storage("FloatStorage", "0", -1))), "claims -1 elements");
  expect_part(error_of_pickle(with(storage("FloatStorage", "../version", 6))), "the archive has no member");
  expect_part(error_of(zip_bytes({{"a/data.pkl", with(six())}, {"a/data/0", floats({1}), 0, 1'000'000'000}})), "");
}

TEST(TorchFile, CompressedMembersAreRefused) {
  expect_part(error_of(zip_bytes({{"a/data.pkl", whole("}"), 8}})), "is compressed");
}

TEST(TorchFile, ABigEndianFileIsRefused) {
  expect_part(error_of(zip_bytes({{"a/data.pkl", whole("}")}, {"a/byteorder", "big"}})), "its byte order is 'big'");
}

TEST(Pickle, ADictThatHoldsItselfIsNoTensor) {
  expect_part(error_of_pickle(whole("}q\x01" + text("state_dict") + "h\x01s")), "entry 'state_dict' is a dict");
}

TEST(Pickle, DeepNestingCostsNoStack) {
  std::string deep(300'000, ']');
  deep += std::string(299'999, 'a');
  expect_part(error_of_pickle(whole(deep)), "it holds a list");
}

TEST(Pickle, TooManyValuesAreRefused) {
  expect_part(error_of_pickle(whole("(" + std::string(1'000'001, 'N') + "l")), "more than 1000000 values");
}

// A list that is copied again and again from the memo.
TEST(Pickle, MemoAbuseIsBounded) {
  std::string list = "](";
  for (int i = 0; i < 50'000; ++i) list += "NN\x86";
  list += "eq\x01";
  for (int i = 0; i < 100; ++i) list += global("collections", "OrderedDict") + "h\x01\x85R0";
  expect_part(error_of_pickle(whole(list)), "more than 2000000 items");
}

TEST(Pickle, StackAndMemoErrorsAreClear) {
  expect_part(error_of_pickle("\x80\x02."), "it takes a value from an empty stack");
  expect_part(error_of_pickle(whole("h\x07")), "memo entry 7 was never stored");
  expect_part(error_of_pickle(whole("t")), "there is no mark on the stack");
  expect_part(error_of_pickle(whole("}(" + text("a") + "u")), "a dict gets a key without a value");
  expect_part(error_of_pickle(whole("Na")), "it takes a value from an empty stack");
  expect_part(error_of_pickle("\x80\x01."), "protocol 1 is not supported");
  expect_part(error_of_pickle(whole("\x8a\x09")), "an integer of 9 bytes");
  expect_part(error_of_pickle(whole("X\xff\xff\xff\xff")), "a string of 4294967295 bytes");
}

TEST(StateDict, ReadsSafetensorsToo) {
  const TempFile file("", "w.safetensors");
  write_safetensors(file.path(), {{"a", at::ones({2})}});
  EXPECT_TRUE(read_state_dict(file.path()).at("a").equal(at::ones({2})));
}

TEST(StateDict, AFileOfAnotherKindIsRefused) {
  const TempFile file("this is no model at all");
  try {
    read_state_dict(file.path());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("neither a file of torch.save (.pt, .pth) nor a safetensors file"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace quench
