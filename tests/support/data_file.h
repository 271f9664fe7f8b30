// Real models and data, which lie beside the checkout if available.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace quench {

// In $QUENCH_DATA, else in ../shared/data beside the checkout. "" if it does not exist.
inline std::string data_file(const std::string& name) {
  const char* given = std::getenv("QUENCH_DATA");
  const char* tests = std::getenv("QUENCH_TEST_DATA");
  const std::filesystem::path folder =
      given ? std::filesystem::path(given)
            : std::filesystem::path(tests ? tests : "tests/data") / "../../../shared/data";
  const std::filesystem::path path = (folder / name).lexically_normal();  // tests/data itself need not exist
  return std::filesystem::exists(path) ? path.string() : "";
}

}  // namespace quench
