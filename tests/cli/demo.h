// The embedded model and its images, as arguments of the program.
#pragma once

#include <cstdlib>
#include <string>

#include "cli/program.h"

namespace quench {

inline std::string demo_file(const std::string& name) {
  return std::string(std::getenv("QUENCH_TEST_DATA")) + "/../../examples/demo/" + name;
}

inline std::string demo_model() { return demo_file("fashion_cnn.onnx"); }

inline std::string demo_data(int offset, int count) {
  return "idx:" + demo_file("images.gz") + "?labels=" + demo_file("labels.gz") +
         "&norm=mnist&offset=" + std::to_string(offset) + "&limit=" + std::to_string(count);
}

// The program ended with 1, an error the user can fix, and said this.
inline void expect_refused(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " in\n" << outcome.err;
}

}  // namespace quench
