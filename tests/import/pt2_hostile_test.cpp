// Malformed torch.export archives: every one ends in an Error that says what is wrong.
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "import/pt2/program.h"
#include "import/pt2_files.h"

namespace quench {
namespace {

constexpr const char *kWeights = "model_weights_config.json", *kProgram = "models/model.json";

void expect_error(const Pt2Copy& copy, const std::string& part) {
  const std::string message = copy.error();
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_NE(message.find("while importing"), std::string::npos) << message;
}

TEST(Pt2Hostile, BrokenJson) {
  Pt2Copy cut("conv_net");
  cut.program().resize(cut.program().size() / 2);
  expect_error(cut, "not valid JSON");
  Pt2Copy deep("conv_net");
  deep.program() = std::string(100000, '[');
  expect_error(deep, "nested more than 64 levels");
  Pt2Copy list("conv_net");
  list.program() = "[]";
  expect_error(list, "not a JSON object");
  Pt2Copy bytes("conv_net");
  bytes.program()[1] = '\xFF';
  expect_error(bytes, "not valid JSON");
}

TEST(Pt2Hostile, VersionsAndForms) {
  expect_error(Pt2Copy("conv_net").change(R"("major":8)", R"("major":9)"), "schema 9; schema 8 is read");
  expect_error(Pt2Copy("conv_net").change("byteorder", "little", "big"), "not little-endian");
  Pt2Copy old("conv_net");
  old.members = {{.name = "serialized_exported_program.json", .data = "{}"}};
  expect_error(old, "before torch 2.9");
  Pt2Copy compiled("conv_net");
  compiled.members = {{.name = "a/archive_format", .data = "pt2"}, {.name = "a/data/aotinductor/x.so", .data = ""}};
  expect_error(compiled, "AOTInductor");
  Pt2Copy two("conv_net");
  ZipMember second = two.at(kProgram);
  second.name.replace(second.name.find("model.json"), 10, "again.json");
  two.members.push_back(second);
  expect_error(two, "holds 2 programs");
}

TEST(Pt2Hostile, Weights) {
  Pt2Copy gone("conv_net");
  gone.at("data/weights/weight_0").name = "elsewhere";
  expect_error(gone, "no member");
  Pt2Copy shorter("conv_net");
  shorter.at("data/weights/weight_0").data.resize(8);
  expect_error(shorter, "reaches beyond the 8 bytes");
  expect_error(Pt2Copy("conv_net").change(kWeights, R"("strides": [{"as_int": 27})", R"("strides": [{"as_int": 28})"),
               "reaches beyond");
  expect_error(Pt2Copy("conv_net")
                   .change(kWeights, R"("strides": [{"as_int": 27})", R"("strides": [{"as_int": 9223372036854775807})"),
               "reaches beyond");
  expect_error(Pt2Copy("conv_net").change(kWeights, R"("strides": [{"as_int": 27})", R"("strides": [{"as_int": -27})"),
               "must be fixed and not negative");
  expect_error(
      Pt2Copy("conv_net").change(kWeights, R"("storage_offset": {"as_int": 0})", R"("storage_offset": {"as_int": 1})"),
      "reaches beyond");
  expect_error(Pt2Copy("conv_net").change(kWeights, R"("use_pickle": false)", R"("use_pickle": true)"), "is pickled");
  expect_error(Pt2Copy("conv_net").change(kWeights, R"("features.0.weight")", R"("nobody.weight")"),
               "holds no weight 'features.0.weight'");
  expect_error(Pt2Copy("conv_net").change(kWeights, R"("dtype": 7)", R"("dtype": 77)"), "type number 77");
}

TEST(Pt2Hostile, WeightsThatRepeatTheirBytes) {
  Pt2Copy copy("conv_net");
  copy.change(kWeights, R"("sizes": [{"as_int": 8}, {"as_int": 3}, {"as_int": 3}, {"as_int": 3}])",
              R"("sizes": [{"as_int": 1048576}, {"as_int": 1048576}, {"as_int": 3}, {"as_int": 3}])");
  copy.change(kWeights, R"("strides": [{"as_int": 27}, {"as_int": 9})", R"("strides": [{"as_int": 0}, {"as_int": 0})");
  expect_error(copy, "repeats its 864 bytes");
}

TEST(Pt2Hostile, ProgramsThatDoNotHoldTogether) {
  expect_error(Pt2Copy("conv_net").change(R"("as_tensor":{"name":"relu_"})", R"("as_tensor":{"name":"nobody"})"),
               "'nobody'");
  expect_error(Pt2Copy("conv_net").change(R"("conv2d":{"dtype":7)", R"("conv2d":{"dtype":5)"),
               "says that 'conv2d' is int64");
  expect_error(Pt2Copy("conv_net").change(R"("as_int":2)", R"("as_int":"two")"), "not an integer");
  expect_error(Pt2Copy("conv_net").change(R"("tensor_values")", R"("tensor_valuez")"), "has no 'tensor_values'");
  expect_error(Pt2Copy("conv_net").change(R"("user_input":)", R"("token":)"), "kind 'token'");
  expect_error(Pt2Copy("shapes").change(R"("as_name":"floordiv")", R"("as_name":"nobody")"),
               "uses the number 'floordiv'");
  expect_error(
      Pt2Copy("grouped").change(R"("submod_1","graph":{"inputs":[)", R"("submod_1","graph":{"inputs":[{"as_int":1},)"),
      "is called with");
}

// A program of this many calls inside this many nested torch.no_grad().
std::string wrapped_program(int depth, int calls) {
  std::string nodes;
  for (int i = 0; i < calls; ++i)
    nodes += concat(i == 0 ? "" : ",", R"({"target":"torch.ops.aten.relu.default","name":"n)", i,
                    R"(","inputs":[{"name":"self","arg":{"as_tensor":{"name":"x"}}}],)",
                    R"("outputs":[{"as_tensor":{"name":")", i + 1 == calls ? "y" : concat("v", i), R"("}}]})");
  const auto graph_of = [](const std::string& inside) {
    return concat(R"({"inputs":[{"as_tensor":{"name":"x"}}],"outputs":[{"as_tensor":{"name":"y"}}],"nodes":[)", inside,
                  R"(],"tensor_values":{}})");
  };
  for (int i = 0; i < depth; ++i)
    nodes = concat(R"({"target":"torch.ops.higher_order.wrap_with_set_grad_enabled","name":"w","inputs":[)",
                   R"({"name":"","arg":{"as_bool":false}},{"name":"","arg":{"as_graph":{"name":"g","graph":)",
                   graph_of(nodes), R"(}}},{"name":"","arg":{"as_tensor":{"name":"x"}}}],)",
                   R"("outputs":[{"as_tensor":{"name":"y"}}]})");
  return concat(R"({"schema_version":{"major":8},"graph_module":{"graph":)", graph_of(nodes),
                R"(,"signature":{"input_specs":[],"output_specs":[]}}})");
}

// Seven nested graphs, as deep as JSON is read, take no longer to read than one: not 2^7 / 2 times as long. The
// limit leaves room for a machine that is busy.
TEST(Pt2Hostile, GraphsInsideEachOtherAreReadOnce) {
  constexpr int kCalls = 1000;
  const auto time_of = [&](int depth) {
    const std::string text = wrapped_program(depth, kCalls);
    const std::clock_t start = std::clock();
    EXPECT_EQ(read_pt2_program(text, "test").nodes.size(), std::size_t{kCalls});
    return static_cast<double>(std::clock() - start);
  };
  EXPECT_LT(time_of(7), 16 * time_of(1));
}

// Any other change of a program's text either leaves a program or ends in an Error: never in another exception.
TEST(Pt2Hostile, ManySmallChanges) {
  std::mt19937 random(5);  // NOLINT: the same changes every time
  const std::vector<std::string> words = {
      "0",     "-1",   "2147483648", "9223372036854775807", "1e400", "null", "true", "[]", "{}", "\"x\"", "\"\"",
      "[[1]]", "-0.5", "64"};
  for (const std::string name : {"conv_net", "shapes", "attention", "grouped", "branches", "loops", "indexing"}) {
    const Pt2Copy original(name);
    int refused = 0;
    for (int i = 0; i < 150; ++i) {
      Pt2Copy copy = original;
      std::string& text = random() % 4 ? copy.program() : copy.at(kWeights).data;
      const std::size_t colon = text.find(':', random() % text.size());
      if (colon == std::string::npos) continue;
      const std::size_t end = std::min(text.find_first_of(",}]", colon), text.size());
      text.replace(colon + 1, end - colon - 1, words[random() % words.size()]);
      refused += copy.error().empty() ? 0 : 1;
    }
    EXPECT_GT(refused, 50) << name;
  }
}

}  // namespace
}  // namespace quench
