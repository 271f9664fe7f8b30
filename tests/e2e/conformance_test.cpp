// Every case of ONNX's conformance suites. tests/data/conformance_*.txt list what is not supported, each with
// its reason; a case that fails and is not listed fails the test, and so does a listed one that passes.
//   QUENCH_CONFORMANCE_FOLDER=DIR e2e_test --gtest_filter=Conformance.AnyFolder   runs another folder of cases
//   QUENCH_CONFORMANCE_ONLY=TEXT                                                  only cases whose name has TEXT
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "e2e/conformance_case.h"
#include "quench/error.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// "suite/case  reason" a line.
std::map<std::string, std::string> read_expectations(const fs::path& path) {
  std::map<std::string, std::string> result;
  std::ifstream file(path);
  QUENCH_CHECK(file, "cannot read ", path.string());
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = line.find(' ');
    QUENCH_CHECK(space != std::string::npos, path.string(), ": no reason in '", line, "'");
    result[line.substr(0, space)] = line.substr(space + 1);
  }
  return result;
}

struct Count {
  int passed = 0, failed = 0, unsupported = 0;
};

Count run_suite(const fs::path& folder, const std::string& suite, const std::map<std::string, std::string>& listed) {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(folder))
    if (fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  Count count;
  const std::string only = variable("QUENCH_CONFORMANCE_ONLY");
  for (const fs::path& path : cases) {
    if (path.filename().string().find(only) == std::string::npos) continue;
    const std::string name = suite + "/" + path.filename().string();
    const std::string found = run_conformance_case(path.string());
    const bool is_listed = listed.contains(name);
    if (found.empty() && !is_listed) {
      ++count.passed;
    } else if (!found.empty() && is_listed) {
      ++count.unsupported;
    } else {
      ++count.failed;
      ADD_FAILURE() << name << " "
                    << (is_listed ? concat("passes now: take it off the list (", listed.at(name), ")") : found);
    }
  }
  std::cout << suite << ": " << count.passed << " passed, " << count.failed << " failed, " << count.unsupported
            << " not supported\n";
  return count;
}

fs::path test_data() { return variable("QUENCH_TEST_DATA"); }

fs::path shared_data() {
  const std::string given = variable("QUENCH_DATA");
  return given.empty() ? test_data() / ".." / ".." / ".." / "shared" / "data" : fs::path(given);
}

TEST(Conformance, DebianSuites) {
  const fs::path root = "/usr/share/libonnx-testdata/data";
  if (!fs::exists(root)) GTEST_SKIP() << "the package libonnx-testdata is not installed (" << root << " is missing)";
  const auto listed = read_expectations(test_data() / "conformance_debian.txt");
  for (const char* suite : {"simple", "pytorch-operator", "pytorch-converted", "node"})
    EXPECT_GT(run_suite(root / suite, suite, listed).passed, 0) << suite;
}

TEST(Conformance, NodeTestsOfOnnx123) {
  const fs::path archive = shared_data() / "conformance" / "node_tests_onnx_1.23dev.tar.gz";
  if (!fs::exists(archive)) GTEST_SKIP() << archive << " is missing; QUENCH_DATA names its folder's parent";
  const fs::path folder = fs::temp_directory_path() / concat("quench-conformance-", ::getpid());
  fs::create_directories(folder);
  const std::string command = concat("tar xzf '", archive.string(), "' -C '", folder.string(), "'");
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const auto listed = read_expectations(test_data() / "conformance_onnx_1.23dev.txt");
  EXPECT_GT(run_suite(folder / "onnx/backend/test/data/node", "node", listed).passed, 0);
  fs::remove_all(folder);
}

TEST(Conformance, AnyFolder) {
  const fs::path folder = variable("QUENCH_CONFORMANCE_FOLDER");
  if (folder.empty()) GTEST_SKIP() << "QUENCH_CONFORMANCE_FOLDER names no folder of cases";
  run_suite(folder, folder.filename().string(), {});
}

}  // namespace
}  // namespace quench
