#include "config/torch_types.h"

#include <algorithm>
#include <map>

#include "config/aliases.h"
#include "core/joined.h"
#include "quench/op.h"

namespace quench {
namespace {

using Names = std::vector<std::string>;

// By the last part of the name, in lower case, without underscores and the number of dimensions.
const std::map<std::string, Names>& table() {
  static const std::map<std::string, Names> types = {
      {"linear", {"Gemm", "MatMul"}},
      {"addmm", {"Gemm"}},
      {"add", {"Add"}},
      {"iadd", {"Add"}},
      {"sub", {"Sub"}},
      {"mul", {"Mul"}},
      {"imul", {"Mul"}},
      {"div", {"Div"}},
      {"truediv", {"Div"}},
      {"matmul", {"MatMul"}},
      {"bmm", {"MatMul"}},
      {"maxpool", {"MaxPool"}},
      {"avgpool", {"AveragePool"}},
      {"adaptiveavgpool", {"GlobalAveragePool", "AveragePool", "ReduceMean"}},
      {"adaptivemaxpool", {"GlobalMaxPool", "MaxPool"}},
      {"batchnorm", {"BatchNormalization"}},
      {"frozenbatchnorm", {"BatchNormalization"}},
      {"syncbatchnorm", {"BatchNormalization"}},
      {"layernorm", {"LayerNormalization"}},
      {"groupnorm", {"GroupNormalization"}},
      {"instancenorm", {"InstanceNormalization"}},
      {"prelu", {"PRelu"}},
      {"leakyrelu", {"LeakyRelu"}},
      {"relu", {"Relu"}},
      {"relu6", {"Clip"}},
      {"hardtanh", {"Clip"}},
      {"clamp", {"Clip"}},
      {"elu", {"Elu"}},
      {"gelu", {"Gelu"}},
      {"hardswish", {"HardSwish"}},
      {"hardsigmoid", {"HardSigmoid"}},
      {"sigmoid", {"Sigmoid"}},
      {"tanh", {"Tanh"}},
      {"softmax", {"Softmax"}},
      {"upsample", {"Resize"}},
      {"interpolate", {"Resize"}},
      {"flatten", {"Flatten", "Reshape"}},
      {"view", {"Reshape"}},
      {"reshape", {"Reshape"}},
      {"permute", {"Transpose"}},
      {"transpose", {"Transpose"}},
      {"squeeze", {"Squeeze"}},
      {"unsqueeze", {"Unsqueeze"}},
      {"cat", {"Concat"}},
      {"stack", {"Concat"}},
      {"chunk", {"Split"}},
      {"split", {"Split"}},
      {"pad", {"Pad"}},
      {"pixelshuffle", {"DepthToSpace"}},
      {"mean", {"ReduceMean"}},
      {"sum", {"ReduceSum"}},
      {"embedding", {"Gather"}},
      {"dropout", {"Dropout"}},
      {"identity", {"Identity"}},
      {"lstm", {"LSTM"}},
      {"gru", {"GRU"}},
  };
  return types;
}

std::string core_of(const std::string& torch_type) {
  std::string core;
  for (const unsigned char c : without_scope(torch_type))
    if (c != '_') core += static_cast<char>(std::tolower(c));
  for (const char* dims : {"1d", "2d", "3d"})
    if (core.ends_with(dims)) core.resize(core.size() - 2);
  // Fused modules (ConvBnReLU2d, LinearReLU ...) are their first member, which the others join.
  if (core.starts_with("convtranspose")) return "convtranspose";
  if (core.starts_with("conv")) return "conv";
  if (core.starts_with("linear")) return "linear";
  return core;
}

// An operator of a domain of its own, by its name alone: "models.ExampleMod" is "example.ExampleMod". "": none. Two
// domains may both have one: which is meant only the user knows.
std::string own_operator(const std::string& type) {
  Names found;
  for (const std::string& name : OpRegistry::instance().names())
    if (name.ends_with("." + without_scope(type))) found.push_back(name);
  QUENCH_CHECK(found.size() < 2, "'", type, "' may be any of several operators: ", joined_in_quotes(found),
               "; write the one that is meant, domain included");
  return found.empty() ? "" : found.front();
}

}  // namespace

Names operators_of(const std::string& torch_type) {
  if (OpRegistry::instance().find(torch_type)) return {torch_type};
  const std::string core = core_of(torch_type);
  if (core == "conv") return {"Conv"};
  if (core == "convtranspose") return {"ConvTranspose"};
  if (const auto at = table().find(core); at != table().end()) return at->second;
  if (std::string own = own_operator(torch_type); !own.empty()) return {std::move(own)};
  Names known = {"conv", "convtranspose"};
  for (const auto& [name, operators] : table()) known.push_back(name);
  const std::string nearest = nearest_name(core, known);
  fail("'", torch_type, "' is neither a module or function of torch with an operator of its own, nor an operator",
       nearest.empty() ? "" : concat("; did you mean '", nearest, "'?"),
       "; a layer of your own is an operator that a plug-in registers (QUENCH_REGISTER_OP of quench/op.h, 'plugins:')");
}

std::vector<Names> operator_chains_of(const std::string& torch_types, bool reversed) {
  Names types(1);
  for (const char c : torch_types) {
    const bool in_name = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':';
    if (in_name)
      types.back() += c;
    else if (!types.back().empty())
      types.emplace_back();
  }
  if (types.back().empty()) types.pop_back();
  if (reversed) std::reverse(types.begin(), types.end());
  QUENCH_CHECK(types.size() > 1, "'", torch_types,
               "' is not a chain of modules such as (torch.nn.Conv2d, torch.nn.ReLU)");
  std::vector<Names> chains(1);
  for (const std::string& type : types) {
    std::vector<Names> longer;
    for (const Names& chain : chains)
      for (const std::string& op : operators_of(type)) {
        longer.push_back(chain);
        longer.back().push_back(op);
      }
    QUENCH_CHECK(longer.size() <= 64, "'", torch_types, "' stands for more than 64 chains of operators");
    chains = std::move(longer);
  }
  return chains;
}

}  // namespace quench
