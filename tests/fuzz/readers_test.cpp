// The seeds and findings of the fuzzers (tests/data/fuzz) through their readers, in every build: each is read or
// refused by an Error. Then some changes of each seed, by the fuzzers' own mutators.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/target.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const std::string& target) {
  const fs::path data = std::getenv("QUENCH_TEST_DATA");
  std::vector<fs::path> folders = {data / "fuzz" / target};
  if (target == "pt2") folders.push_back(data / "pt2");
  if (target == "npz") folders.push_back(data / "npy");
  if (target == "image") folders.push_back(data / "images");
  if (target == "onnx") folders.push_back(data / "../../examples/demo");
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.is_regular_file() && entry.path().extension() != ".py") files.push_back(entry.path());
  }
  return files;
}

Bytes bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Whether it was read; false if refused; anything else thrown fails the test.
bool reads(const FuzzTarget& target, const Bytes& bytes) {
  try {
    target.read(bytes);
    return true;
  } catch (const Error&) {
    return false;
  }
}

class FuzzedReader : public testing::TestWithParam<std::string> {
 protected:
  const FuzzTarget& target() const { return FuzzTargets::instance().get(GetParam()); }
};

TEST_P(FuzzedReader, TakesSeedsAndFindings) {
  int read = 0;
  for (const fs::path& path : files_of(GetParam())) {
    SCOPED_TRACE(path.filename().string());
    bool good = false;
    EXPECT_NO_THROW(good = reads(target(), bytes_of(path)));
    read += good ? 1 : 0;
  }
  EXPECT_GT(read, 0) << "no seed is a whole file";
}

TEST_P(FuzzedReader, TakesChangedFiles) {
  Random random(7);
  const MutateBytes flip = [&](Bytes& bytes) {
    if (!bytes.empty()) bytes[below(random, bytes.size())] ^= static_cast<std::uint8_t>(1 + random() % 255);
  };
  int by_structure = 0;
  for (const fs::path& path : files_of(GetParam())) {
    const Bytes seed = bytes_of(path);
    if (seed.size() > 1 << 16) continue;
    SCOPED_TRACE(path.filename().string());
    for (int i = 0; i < 20; ++i) {
      Bytes bytes = seed;
      const bool changed = target().mutate != nullptr && target().mutate(bytes, random, flip);
      by_structure += changed ? 1 : 0;
      if (!changed) flip(bytes);
      EXPECT_NO_THROW(reads(target(), bytes));
    }
  }
  EXPECT_EQ(by_structure > 0, target().mutate != nullptr);
}

INSTANTIATE_TEST_SUITE_P(All, FuzzedReader, testing::ValuesIn(FuzzTargets::instance().names()),
                         [](const auto& target) { return target.param; });

}  // namespace
}  // namespace quench
