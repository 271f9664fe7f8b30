// Which process this is, from what launchers put into the environment.
#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "core/hash.h"
#include "quench/distributed.h"
#include "quench/error.h"

namespace quench {
namespace {

// The variables of one launcher.
struct Launcher {
  const char* name;
  const char *rank, *size, *local_rank;
  bool half_means_nothing;  // others set one of the two
};

// A launcher may have been started by one further down, whose variables then describe the launcher. Slurm's number is
// that of the step, which srun alone sets: in the script of sbatch and the shell of salloc SLURM_NTASKS is how many the
// job may start.
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", false},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", false},
    {"mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", false},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", true},
};

constexpr int kMostProcesses = 1 << 20, kMostPorts = 65535;

int number_of(const Environment& environment, const char* variable, int least, int most) {
  const std::string text = environment(variable).value_or("");
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  QUENCH_CHECK(error == std::errc() && stopped == end && number >= least && number <= most, variable, " is '", text,
               "', not a whole number from ", least, " to ", most);
  return number;
}

bool started_by(const Launcher& launcher, const Environment& environment) {
  const bool has_rank = environment(launcher.rank).has_value(), has_size = environment(launcher.size).has_value();
  if (!has_rank && !has_size) return false;
  if (launcher.half_means_nothing && !(has_rank && has_size)) return false;
  QUENCH_CHECK(has_rank && has_size, has_rank ? launcher.rank : launcher.size, " is set, but ",
               has_rank ? launcher.size : launcher.rank, " is not: ", launcher.name,
               " sets both for several processes, and one process alone needs neither");
  return true;
}

// The machine of rank 0 and what tells this start from all others, where a launcher says so.
struct Start {
  std::string machine, identity;
};

std::string text_of(const Environment& environment, const char* variable) { return environment(variable).value_or(""); }

// Of Slurm's lists, as in "node[03-05,9],other": node03.
std::string first_machine(const std::string& list) {
  std::string name;
  for (std::size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] != '[') {
      name += list[at];
      continue;
    }
    const std::size_t end = std::min(list.find(']', at), list.size());
    name += list.substr(at + 1, std::min(list.find_first_of("-,]", at), end) - at - 1);
    at = end;
  }
  return name;
}

// Also where srun starts processes for another launcher's variables: PMI's, or RANK that a script has set.
bool is_task_of_srun(const Environment& environment, const ProcessPlace& place) {
  return text_of(environment, "SLURM_PROCID") == std::to_string(place.rank) &&
         text_of(environment, "SLURM_STEP_NUM_TASKS") == std::to_string(place.size);
}

Start start_of(const Environment& environment, const ProcessPlace& place) {
  const auto text = [&](const char* variable) { return text_of(environment, variable); };
  if (is_task_of_srun(environment, place))
    return {first_machine(text("SLURM_STEP_NODELIST")), concat(text("SLURM_JOB_ID"), ".", text("SLURM_STEP_ID"))};
  const bool on_one = text("OMPI_COMM_WORLD_LOCAL_SIZE") == std::to_string(place.size);
  return on_one ? Start{"127.0.0.1", text("PMIX_NAMESPACE")} : Start{};
}

// Below those that systems hand out to whoever asks for any.
int port_of(const std::string& identity) {
  constexpr std::uint64_t kFirst = 20000, kCount = 12000;
  return static_cast<int>(kFirst + stable_hash(identity) % kCount);
}

// Where they meet. torchrun sets both variables itself.
void find_meeting_point(const Launcher& launcher, const Environment& environment, ProcessPlace& place) {
  const Start start = start_of(environment, place);
  const bool is_known = start.machine != "" && start.identity != "";
  for (const char* variable : {"MASTER_ADDR", "MASTER_PORT"})
    QUENCH_CHECK(is_known || text_of(environment, variable) != "", launcher.size, " says that there are ", place.size,
                 " processes, but ", variable, " is not set: set MASTER_ADDR to the machine of rank 0 and MASTER_PORT ",
                 "to a free port there; for one process alone, unset ", launcher.rank, " and ", launcher.size);
  const std::string address = text_of(environment, "MASTER_ADDR");
  place.address = address.empty() ? start.machine : address;
  place.port = text_of(environment, "MASTER_PORT").empty() ? port_of(start.identity)
                                                           : number_of(environment, "MASTER_PORT", 1, kMostPorts);
  place.launcher_hosts = text_of(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  const std::string restarts = text_of(environment, "TORCHELASTIC_RESTART_COUNT");
  place.attempt = restarts.empty() ? start.identity : restarts;  // what is said in another start is not for this one
}

// Without it they are taken to be on one machine.
void find_local_rank(const Launcher& launcher, const Environment& environment, ProcessPlace& place) {
  place.local_rank = place.rank;
  const bool is_slurms = !environment(launcher.local_rank) && is_task_of_srun(environment, place);
  const char* variable = is_slurms ? "SLURM_LOCALID" : launcher.local_rank;
  if (!environment(variable)) return;
  place.local_rank = number_of(environment, variable, 0, kMostProcesses);
  QUENCH_CHECK(place.local_rank < place.size, variable, " is ", place.local_rank, ", but ", launcher.size, " is ",
               place.size, ": ranks on a machine go from 0 to ", place.size - 1, " at most");
}

ProcessPlace place_by(const Launcher& launcher, const Environment& environment) {
  ProcessPlace place;
  place.size = number_of(environment, launcher.size, 1, kMostProcesses);
  place.rank = number_of(environment, launcher.rank, 0, kMostProcesses);
  QUENCH_CHECK(place.rank < place.size, launcher.rank, " is ", place.rank, ", but ", launcher.size, " is ", place.size,
               ": ranks go from 0 to ", place.size - 1);
  find_local_rank(launcher, environment, place);
  if (place.size > 1) find_meeting_point(launcher, environment, place);
  return place;
}

}  // namespace

ProcessPlace place_of_process(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers)
    if (started_by(launcher, environment)) return place_by(launcher, environment);
  return {};
}

ProcessPlace place_of_process() {
  return place_of_process([](const std::string& variable) -> std::optional<std::string> {
    const char* text = std::getenv(variable.c_str());
    return text ? std::optional<std::string>(text) : std::nullopt;
  });
}

}  // namespace quench
