#include "verify/runner.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "core/joined.h"
#include "data/npy.h"
#include "quench/error.h"
#include "quench/npz.h"
#include "verify/process.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

// The folder of the scripts, relative to this library: in the source tree or beside the installation.
fs::path scripts_folder() {
  if (const char* given = std::getenv("QUENCH_RUNNERS")) return given;
  Dl_info library{};
  ::dladdr(reinterpret_cast<const void*>(&scripts_folder), &library);
  fs::path folder = fs::absolute(library.dli_fname).lexically_normal().parent_path();
  for (int up = 0; up < 4; ++up, folder = folder.parent_path())
    for (const char* place : {"tools/runners", "share/quench/runners"})
      if (fs::is_directory(folder / place)) return folder / place;
  fail("the scripts that run third-party runtimes were not found; say where they are (QUENCH_RUNNERS=DIR), or give ",
       "a command of your own (VerifyOptions::runner)");
}

// The script that makes the environment for runtimes, in the source tree and in the installation.
fs::path setup_script() { return scripts_folder().parent_path() / "test-venv"; }

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Where tools/test-venv makes it, by the rule that is written there.
fs::path environment_folder(const fs::path& scripts) {
  if (const std::string given = variable("QUENCH_VENV"); !given.empty()) return given;
  const fs::path root = scripts.parent_path().parent_path();
  if (fs::exists(root / "CMakeLists.txt")) return root / ".venv";
  const std::string data = variable("XDG_DATA_HOME");
  return (data.empty() ? fs::path(variable("HOME")) / ".local/share" : fs::path(data)) / "quench/venv";
}

// That environment's python if it exists, else the system's.
std::string python_for(const fs::path& scripts) {
  if (const char* given = std::getenv("QUENCH_PYTHON")) return given;
  const fs::path made = environment_folder(scripts) / "bin/python";
  return fs::exists(made) ? made.string() : "python3";
}

std::vector<std::string> script_command(const RuntimeEntry& runtime) {
  const fs::path scripts = scripts_folder();
  const fs::path script = scripts / runtime.script;
  QUENCH_CHECK(fs::exists(script), "the script '", script.string(), "' does not exist");
  const char* node = std::getenv("QUENCH_NODE");
  if (script.extension() == ".mjs") return {node ? node : "node", script.string()};
  return {python_for(scripts), script.string()};
}

std::string indented(const std::string& text) {
  std::string result;
  for (const char c : text.substr(0, text.find_last_not_of(" \n") + 1))
    result += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return result.empty() ? "" : ":\n    " + result;
}

}  // namespace

Runner::Runner(std::string description, std::vector<std::string> command, double timeout_seconds)
    : description_(std::move(description)), command_(std::move(command)), timeout_(timeout_seconds) {}

NamedValues Runner::run(const std::string& model, const NamedValues& inputs, ScratchFolder& folder,
                        const std::set<std::string>& shared) const {
  if (function_)
    return with_context([&] { return concat("in the runtime '", description_, "'"); },
                        [&] { return function_(model, inputs); });
  const std::string from = folder.file("inputs.npz"), to = folder.file("outputs.npz");
  fs::remove(to);
  write_npz(from, for_numpy(inputs));
  std::vector<std::string> command = command_;
  command.insert(command.end(), {model, from, to});
  if (!shared.empty()) command.insert(command.end(), {"--shared", joined(shared, ",")});
  const ProcessResult ended = with_context([&] { return concat("in the runner '", description_, "'", hint_); },
                                           [&] { return run_process(command, timeout_); });
  QUENCH_CHECK(ended.exit_code == 0 && !ended.timed_out, "the runner '", description_, "' ", ending_of(ended, timeout_),
               indented(ended.output));
  QUENCH_CHECK(fs::exists(to), "the runner '", description_, "' wrote no outputs", indented(ended.output));
  return with_context([&] { return concat("in what the runner '", description_, "' wrote"); },
                      [&] { return read_npz(to); });
}

Runner make_runner(const VerifyOptions& options) {
  if (!options.runner.empty())
    return {options.runner, {"/bin/sh", "-c", options.runner + " \"$@\"", "sh"}, options.timeout};
  const RuntimeEntry& runtime = RuntimeRegistry::instance().get(options.runtime);
  if (runtime.run) {
    Runner inside(options.runtime, {}, options.timeout);
    inside.function_ = runtime.run;
    return inside;
  }
  Runner runner(options.runtime, script_command(runtime), options.timeout);
  runner.hint_ = concat("; '", setup_script().string(), " ", options.runtime, "' creates an environment that has it");
  return runner;
}

}  // namespace quench
