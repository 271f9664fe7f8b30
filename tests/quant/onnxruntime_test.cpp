// The mlas rule against ONNX Runtime itself, operator by operator, code by code. It holds where the processor adds
// u8 x s8 products in 32 bits (VNNI): without, ONNX Runtime saturates them, so only 7-bit weights are used there.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "deploy/onnx_checker.h"
#include "quant/integer_cases.h"
#include "quench/error.h"

namespace quench {
namespace {

using Json = nlohmann::json;

// Collects operators with the codes that quench expects of them, then runs them all in one process.
class Cases {
 public:
  explicit Cases(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
  }

  struct Input {
    at::Tensor tensor;
    bool fed = false;
  };
  void add(const std::string& what, const std::string& op, Json attributes, const std::vector<Input>& inputs,
           const at::Tensor& expected) {
    const std::string name = concat("case", expected_.size());
    Json list = Json::array();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string file = concat(name, ".in", i);
      const at::Tensor t = inputs[i].tensor.contiguous();
      std::ofstream(folder_ / file, std::ios::binary).write(static_cast<const char*>(t.const_data_ptr()), t.nbytes());
      list.push_back({{"type", type_name(t)}, {"shape", t.sizes().vec()}, {"file", file}, {"fed", inputs[i].fed}});
    }
    const bool standard = op == "QLinearConv" || op == "QLinearMatMul";
    cases_.push_back({{"name", name},
                      {"op", op},
                      {"domain", standard ? "" : "com.microsoft"},
                      {"attributes", std::move(attributes)},
                      {"inputs", list},
                      {"output", type_name(expected)}});
    expected_.push_back({what, expected.contiguous()});
  }

  // Codes that differ, by operator.
  void compare(const std::string& python) const {
    std::ofstream(folder_ / "cases.json") << cases_.dump();
    const char* data = std::getenv("QUENCH_TEST_DATA");
    const std::filesystem::path tests = data != nullptr ? std::filesystem::path(data).parent_path() : "tests";
    const std::filesystem::path script = tests / "quant" / "qlinear_ops.py";
    const CommandResult run = run_command(python + " " + script.string() + " " + folder_.string());
    ASSERT_EQ(run.status, 0) << run.output;
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> counts;
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      const auto& [what, codes] = expected_[i];
      at::Tensor found = at::empty_like(codes);
      std::ifstream in(folder_ / concat("case", i, ".out"), std::ios::binary);
      in.read(static_cast<char*>(found.mutable_data_ptr()), static_cast<std::streamsize>(found.nbytes()));
      ASSERT_EQ(in.gcount(), static_cast<std::streamsize>(found.nbytes())) << what;
      counts[what].first += (found != codes).sum().item<std::int64_t>();
      counts[what].second += codes.numel();
    }
    for (const auto& [what, count] : counts) {
      EXPECT_EQ(count.first, 0) << what;
      std::cout << "  " << what << ": " << count.first << " of " << count.second << " codes differ\n";
    }
  }

 private:
  static std::string type_name(const at::Tensor& t) {
    switch (t.scalar_type()) {
      case at::kByte: return "uint8";
      case at::kChar: return "int8";
      case at::kInt: return "int32";
      default: return "float32";
    }
  }
  std::filesystem::path folder_;
  Json cases_ = Json::array();
  std::vector<std::pair<std::string, at::Tensor>> expected_;
};

float random_float(double low, double high) {
  return static_cast<float>(low + (high - low) * at::rand({}, at::kDouble).item<double>());
}

int random_int(int low, int high) { return at::randint(low, high, {1}).item<int>(); }

// Every other one of small rationals, which make ties and near-ties of every kind.
QType random_type(const char* scheme, bool rational, float factor = 1.0F) {
  const QScheme parsed = QScheme::parse(scheme);
  const float scale = rational ? static_cast<float>(random_int(1, 40)) / (static_cast<float>(random_int(1, 40)) * 64)
                               : random_float(0.005, 0.05);
  return {parsed, {{scale * factor}, {parsed.symmetric() ? 0 : random_int(parsed.qmin(), parsed.qmax() + 1)}}};
}

at::Tensor scale_of(const QType& type) {
  const at::Tensor all = at::tensor(at::ArrayRef<float>(type.params.scale));
  return type.scheme.per_tensor() ? all.squeeze(0) : all;
}

at::Tensor zero_of(const QType& type) {
  const at::Tensor all = store_codes(at::tensor(at::ArrayRef<std::int32_t>(type.params.zero_point)), type.scheme);
  return type.scheme.per_tensor() ? all.squeeze(0) : all;
}

constexpr const char* kU8 = "uint8 affine tensor";
const char* const kWeights = __builtin_cpu_supports("avx512vnni") ? "int8 symmetric" : "int7 symmetric";

void add_products(Cases& cases, bool rational) {
  const QType x = random_type(kU8, rational), y = random_type(kU8, rational, 8.0F);
  const QType w = channel_type(concat(kWeights, " channel:0").c_str(), 16, 0.003F);
  const at::Tensor xq = random_codes({1, 12, 14, 15}, x.scheme), bias = at::randint(-9000, 9000, {16}, at::kInt);
  for (const std::int64_t groups : {1, 4}) {
    const at::Tensor wq = random_codes({16, 12 / groups, 3, 3}, w.scheme);
    const IntegerWindow window{{1, 2}, {1, 0, 1, 2}, {1, 1}};
    cases.add(groups == 1 ? "Conv" : "Conv in groups", "QLinearConv",
              {{"pads", window.pads}, {"strides", window.strides}, {"group", groups}},
              {{xq, true},
               {scale_of(x)},
               {zero_of(x)},
               {wq},
               {scale_of(w)},
               {zero_of(w)},
               {scale_of(y)},
               {zero_of(y)},
               {bias}},
              integer_conv({xq, x}, {wq, w}, bias, window, groups, {y, {}, {}}));
  }
  const QType b = random_type(concat(kWeights, " tensor").c_str(), rational, 0.1F);
  const at::Tensor aq = random_codes({40, 64}, x.scheme), bq = random_codes({64, 48}, b.scheme);
  const at::Tensor c = at::randint(-9000, 9000, {48}, at::kInt);
  cases.add("MatMul", "QLinearMatMul", {},
            {{aq, true}, {scale_of(x)}, {zero_of(x)}, {bq}, {scale_of(b)}, {zero_of(b)}, {scale_of(y)}, {zero_of(y)}},
            integer_matmul({aq, x}, {bq, b}, {}, {y, {}, {}}));
  cases.add("Gemm", "QGemm", {{"transB", 1}},
            {{aq, true},
             {scale_of(x)},
             {zero_of(x)},
             {bq.t()},
             {scale_of(b)},
             {zero_of(b)},
             {c},
             {scale_of(y)},
             {zero_of(y)}},
            integer_gemm({aq, x}, {bq.t(), b}, c, {false, true}, {y, {}, {}}));
  const QType columns = channel_type(concat(kWeights, " channel:0").c_str(), 48, 0.003F);
  cases.add("Gemm per column", "QGemm", {{"transB", 1}},
            {{aq, true},
             {scale_of(x)},
             {zero_of(x)},
             {bq.t()},
             {scale_of(columns)},
             {zero_of(columns)},
             {c},
             {scale_of(y)},
             {zero_of(y)}},
            integer_gemm({aq, x}, {bq.t(), columns}, c, {false, true}, {y, {}, {}}));
}

void add_elementwise(Cases& cases, bool rational) {
  for (const char* scheme : {kU8, "int8 affine tensor"}) {
    const QType a = random_type(scheme, rational), b = random_type(scheme, rational), y = random_type(scheme, rational);
    const QType product = random_type(scheme, rational, 16.0F);
    const at::Tensor aq = random_codes({1, 8, 31, 33}, a.scheme), bq = random_codes({1, 8, 31, 33}, b.scheme);
    const auto inputs = [&](const QType& out) -> std::vector<Cases::Input> {
      return {{aq, true},    {scale_of(a)}, {zero_of(a)},    {bq, true},
              {scale_of(b)}, {zero_of(b)},  {scale_of(out)}, {zero_of(out)}};
    };
    cases.add("Add", "QLinearAdd", {}, inputs(y), integer_add({aq, a}, {bq, b}, {y, {}, {}}));
    cases.add("Mul", "QLinearMul", {}, inputs(product), integer_mul({aq, a}, {bq, b}, {product, {}, {}}));
    cases.add(
        "Concat", "QLinearConcat", {{"axis", 1}},
        {{scale_of(y)}, {zero_of(y)}, {aq, true}, {scale_of(a)}, {zero_of(a)}, {bq, true}, {scale_of(b)}, {zero_of(b)}},
        integer_concat({{aq, a}, {bq, b}}, 1, {y, {}, {}}));
  }
}

void add_pools(Cases& cases, bool rational) {
  const QType x = random_type(kU8, rational), y = random_type(kU8, rational);
  const at::Tensor xq = random_codes({2, 16, 9, 8}, x.scheme);
  const std::vector<Cases::Input> inputs = {{xq, true}, {scale_of(x)}, {zero_of(x)}, {scale_of(y)}, {zero_of(y)}};
  const Output out{y, {}, {}};
  for (const bool include : {false, true}) {
    const Pool pool{{3, 2}, {{2, 1}, {1, 1, 1, 1}, {}}, false, include};
    cases.add("AveragePool", "QLinearAveragePool",
              {{"kernel_shape", pool.kernel},
               {"strides", pool.window.strides},
               {"pads", pool.window.pads},
               {"count_include_pad", include ? 1 : 0}},
              inputs, integer_average_pool({xq, x}, pool, out));
  }
  const at::Tensor small = random_codes({8, 64, 3, 4}, x.scheme);
  const std::vector<Cases::Input> all = {{small, true}, inputs[1], inputs[2], inputs[3], inputs[4]};
  cases.add("AveragePool of everything", "QLinearAveragePool", {{"kernel_shape", {3, 4}}}, all,
            integer_average_pool({small, x}, {{3, 4}, {}}, out));
  cases.add("GlobalAveragePool", "QLinearGlobalAveragePool", {{"channels_last", 0}}, all,
            integer_global_average_pool({small, x}, out));
}

TEST(OnnxRuntime, ComputesTheSameCodesAsTheMlasRule) {
  std::string why;
  const std::string python = test_python(why);
  if (python.empty()) GTEST_SKIP() << why;
  at::manual_seed(1);
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / concat("quench_mlas_", getpid());
  Cases cases(folder);
  for (int i = 0; i < 16; ++i) {
    add_products(cases, i % 2 == 0);
    add_elementwise(cases, i % 2 == 0);
    add_pools(cases, i % 2 == 0);
  }
  cases.compare(python);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace quench
