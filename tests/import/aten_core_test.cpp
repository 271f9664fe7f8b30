// The core operators of ATen, to which torch.export decomposes any program, as LibTorch tags them: each is in the
// table, or is listed here with the reason why not.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "import/aten/aten.h"
#include "import/aten/graph.h"

namespace quench {
namespace {

const std::map<std::string, std::string> kMissing = {
    {"_fft_c2r", "complex numbers"},
    {"_fft_r2c", "complex numbers"},
    {"_pdist_forward", "distances of all pairs, without a matrix"},
    {"rand", "random"},
    {"randn", "random"},
    {"randperm", "random"},
    {"resize", "the memory of a tensor"},
};

// Read where the program computes with sizes (pt2/calls.cpp), not by the table.
const std::set<std::string> kNumbers = {"_local_scalar_dense", "sym_is_contiguous", "sym_numel", "sym_size",
                                        "sym_storage_offset",  "sym_stride"};

std::set<std::string> core_operators() {
  std::set<std::string> names;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (!name.name.starts_with("aten::")) continue;
    const auto op = c10::Dispatcher::singleton().findOp(name);
    if (op && op->hasTag(at::Tag::core)) names.insert(plain_kind(name.name));
  }
  return names;
}

TEST(AtenCore, EveryOperatorIsInTheTableOrHasAReason) {
  const std::set<std::string> core = core_operators();
  EXPECT_GT(core.size(), 150U);
  int known = 0, training = 0;
  for (const std::string& name : core) {
    const bool is_known = AtenRegistry::instance().find(name) || kNumbers.contains(name);
    known += is_known ? 1 : 0;
    training += name.ends_with("_backward") ? 1 : 0;
    EXPECT_NE(is_known, kMissing.contains(name) || name.ends_with("_backward")) << name;
  }
  std::cout << "core operators of ATen: " << core.size() << ", known " << known << ", of training " << training
            << ", missing";
  for (const auto& [name, reason] : kMissing) {
    EXPECT_TRUE(core.contains(name)) << name << " is not a core operator";
    std::cout << " " << name << " (" << reason << ")";
  }
  std::cout << "\n";
}

}  // namespace
}  // namespace quench
