// Mutated models through import, inspect and run: none may crash, hang or fill the memory. bench/mutation prints the
// counts.
//   bench_mutation COUNT SEED FOLDER FILE...      files that did harm are kept in FOLDER
// Each mutation runs in a child that is forked from this one, warm process, and is bounded: an allocation that would
// take its data over 2 GB fails, and so does a child that had more than 2 GB in memory or worked for more than 10 s.
// A child ends with 0 (the model ran), 1 (refused by an Error), 4 (refused for lack of memory), or it did harm.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "data/random_inputs.h"
#include "measure/model_summary.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/import.h"
#include "quench/pass.h"

namespace {

using namespace quench;
using Random = std::mt19937_64;

constexpr rlim_t kMemory = rlim_t{2} << 30;
constexpr unsigned kSeconds = 10;
constexpr std::size_t kLargestBase = 2 << 20;

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  QUENCH_CHECK(file, "cannot read ", path);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::size_t below(Random& random, std::size_t end) {
  return end == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
}

// A small accident somewhere: a byte, a bit, a number, a piece that is moved, doubled, left out or another file's.
void damage(std::string& bytes, const std::string& other, Random& random) {
  const std::size_t at = below(random, bytes.size());
  const std::size_t length = std::min(1 + below(random, 64), bytes.size() - at);
  static const std::string huge = "\xff\xff\xff\xff\x0f";  // a length or a number that is far too large
  switch (below(random, 9)) {
    case 0: bytes[at] = static_cast<char>(below(random, 256)); break;
    case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(random, 8))); break;
    case 2: bytes.replace(at, length, length, static_cast<char>(below(random, 2) * 255)); break;
    case 3: bytes.erase(at, length); break;
    case 4: bytes.insert(below(random, bytes.size()), bytes.substr(at, length)); break;
    case 5: bytes.replace(at, length, other.substr(below(random, other.size()), 1 + below(random, 64))); break;
    case 6: bytes.replace(at, std::min(huge.size(), bytes.size() - at), huge); break;
    case 7: bytes.resize(at); break;
    default: bytes[at] = static_cast<char>((bytes[at] + 1) & 0x7f);  // dims, types, versions, lengths
  }
}

// Half of the time a file of some size: in small ones nearly every byte is structure.
const std::string& any_of(const std::vector<std::string>& bases, Random& random) {
  const std::string* chosen = &bases[below(random, bases.size())];
  for (int tries = 0; tries < 40 && chosen->size() < 4096 && random() % 2 == 0; ++tries)
    chosen = &bases[below(random, bases.size())];
  return *chosen;
}

std::string mutated(const std::vector<std::string>& bases, Random& random) {
  std::string bytes = any_of(bases, random);
  const std::size_t accidents = 1 + below(random, 1 + below(random, 4));
  for (std::size_t i = 0; i < accidents && !bytes.empty(); ++i) damage(bytes, any_of(bases, random), random);
  return bytes;
}

void use_model(const std::string& bytes) {
  Graph graph = import_onnx_bytes(bytes);
  summarize(graph);
  run_passes(graph, cleanup_passes());
  for (Value* input : graph.inputs()) {
    TypeInfo type = input->type();
    if (!type.is_tensor() || !type.dims) continue;
    for (Dim& dim : *type.dims)
      if (!dim.is_number()) dim = Dim(1);
    input->set_type(type);
  }
  std::vector<std::string> outputs;
  for (const Value* output : graph.outputs()) outputs.push_back(output->name());
  Executor(graph).run(random_inputs(graph, 1), outputs);
}

[[noreturn]] void child(const std::string& bytes) {
  const rlimit memory{kMemory, kMemory};
  setrlimit(RLIMIT_DATA, &memory);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const rlimit cpu{kSeconds, kSeconds + 1};
  setrlimit(RLIMIT_CPU, &cpu);
  alarm(kSeconds * 4);  // wall-clock time, for code that waits instead of working; the machine may be busy
  int code = 0;
  try {
    use_model(bytes);
  } catch (const Error& error) {
    code = std::string_view(error.what()).find("memory") == std::string_view::npos ? 1 : 4;
  } catch (const std::exception&) {
    code = 2;
  }
  _exit(code);
}

std::string outcome_of(int status, const rusage& used) {
  if (rlim_t{1024} * static_cast<rlim_t>(used.ru_maxrss) > kMemory) return "HARM: more than 2 GB";
  if (WIFEXITED(status)) {
    switch (WEXITSTATUS(status)) {
      case 0: return "ran";
      case 1: return "refused";
      case 4: return "refused, for its memory";
      default: return "HARM: another exception";
    }
  }
  const int signal = WTERMSIG(status);
  if (signal == SIGXCPU || signal == SIGALRM || signal == SIGKILL) return "HARM: no end";
  return std::string("HARM: ") + strsignal(signal);
}

int run(std::int64_t count, std::uint64_t seed, const std::string& folder, const std::vector<std::string>& files) {
  std::vector<std::string> bases;
  for (const std::string& file : files) {
    std::string bytes = read_all(file);
    if (bytes.size() <= kLargestBase) bases.push_back(std::move(bytes));
  }
  QUENCH_CHECK(!bases.empty(), "no file below 2 MB was given");
  at::set_num_threads(1);  // threads do not survive a fork
  try {
    use_model(bases[0]);  // warm
  } catch (const Error& error) {
    std::fprintf(stderr, "note: the first file does not run: %s\n", error.what());
  }
  Random random(seed);
  std::map<std::string, std::int64_t> outcomes;
  const auto start = std::chrono::steady_clock::now();
  bool harmed = false;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string bytes = mutated(bases, random);
    const pid_t pid = fork();
    QUENCH_CHECK(pid >= 0, "cannot fork");
    if (pid == 0) child(bytes);
    int status = 0;
    rusage used{};
    wait4(pid, &status, 0, &used);
    const std::string outcome = outcome_of(status, used);
    ++outcomes[outcome];
    if (outcome.starts_with("HARM")) {
      harmed = true;
      std::filesystem::create_directories(folder);
      std::ofstream(folder + "/" + std::to_string(seed) + "_" + std::to_string(i) + ".onnx", std::ios::binary) << bytes;
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const auto& [outcome, times] : outcomes)
    std::printf("%-28s %lld\n", outcome.c_str(), static_cast<long long>(times));
  std::printf("of %lld from %zu files in %.0f s\n", static_cast<long long>(count), bases.size(), seconds);
  return harmed ? 3 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return std::fprintf(stderr, "usage: %s COUNT SEED FOLDER FILE...\n", argv[0]), 1;
  try {
    return run(std::stoll(argv[1]), std::stoull(argv[2]), argv[3], {argv + 4, argv + argc});
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
