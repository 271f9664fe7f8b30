// Runs the `onnx` package's checker (from the test environment) on files.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace quench {

// Output and exit status of a shell command.
struct CommandResult {
  int status = 0;
  std::string output;
};

inline CommandResult run_command(const std::string& command) {
  CommandResult result;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer{};
  while (const std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    result.output.append(buffer.data(), count);
  result.status = pclose(pipe);
  return result;
}

// The python of tools/test-venv; "" if it is not available (then `why` says so).
inline std::string test_python(std::string& why) {
  const char* data = std::getenv("QUENCH_TEST_DATA");
  const std::filesystem::path root = data ? std::filesystem::path(data).parent_path().parent_path() : ".";
  const CommandResult made = run_command((root / "tools" / "test-venv").string());
  why = made.output;
  return made.status == 0 ? made.output.substr(0, made.output.find('\n')) : "";
}

// "" when the checker, with shape inference, finds nothing wrong with the files; else what it says. Files
// with operators of other domains are checked without shape inference.
inline std::string checker_complaints(const std::string& python, const std::string& folder) {
  const std::string script = folder + "/check.py";
  std::ofstream(script) << "import glob, onnx, sys\n"
                           "for path in sorted(glob.glob(sys.argv[1] + '/*.onnx')):\n"
                           "    model = onnx.load(path, load_external_data=False)\n"
                           "    full = all(o.domain in ('', 'ai.onnx') for o in model.opset_import)\n"
                           "    try: onnx.checker.check_model(path, full_check=full)\n"
                           "    except Exception as error: print(path, error)\n";
  return run_command(python + " " + script + " " + folder).output;
}

}  // namespace quench
