// Which process this is, from what launchers put into the environment.
#include <charconv>
#include <cstdlib>

#include "quench/distributed.h"
#include "quench/error.h"

namespace quench {
namespace {

// The variables of one launcher.
struct Launcher {
  const char* name;
  const char *rank, *size, *local_rank;
  bool size_alone_means_nothing;  // salloc sets the size for programs that srun did not start
};

// A launcher may have been started by one further down, whose variables then describe the launcher.
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", false},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", false},
    {"mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", false},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", true},
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
  if (!has_rank && (!has_size || launcher.size_alone_means_nothing)) return false;
  QUENCH_CHECK(has_rank && has_size, has_rank ? launcher.rank : launcher.size, " is set, but ",
               has_rank ? launcher.size : launcher.rank, " is not: ", launcher.name,
               " sets both for several processes, and one process alone needs neither");
  return true;
}

// Where they meet; every launcher leaves it to these two variables, and torchrun sets them itself.
void find_meeting_point(const Launcher& launcher, const Environment& environment, ProcessPlace& place) {
  for (const char* variable : {"MASTER_ADDR", "MASTER_PORT"})
    QUENCH_CHECK(environment(variable).value_or("") != "", launcher.size, " says that there are ", place.size,
                 " processes, but ", variable, " is not set: set MASTER_ADDR to the machine of rank 0 and MASTER_PORT ",
                 "to a free port there; for one process alone, unset ", launcher.rank, " and ", launcher.size);
  place.address = *environment("MASTER_ADDR");
  place.port = number_of(environment, "MASTER_PORT", 1, kMostPorts);
  place.launcher_hosts = environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  place.attempt = environment("TORCHELASTIC_RESTART_COUNT").value_or("");
}

ProcessPlace place_by(const Launcher& launcher, const Environment& environment) {
  ProcessPlace place;
  place.size = number_of(environment, launcher.size, 1, kMostProcesses);
  place.rank = number_of(environment, launcher.rank, 0, kMostProcesses);
  QUENCH_CHECK(place.rank < place.size, launcher.rank, " is ", place.rank, ", but ", launcher.size, " is ", place.size,
               ": ranks go from 0 to ", place.size - 1);
  // Without it they are taken to be on one machine.
  place.local_rank = place.rank;
  if (environment(launcher.local_rank)) {
    place.local_rank = number_of(environment, launcher.local_rank, 0, kMostProcesses);
    QUENCH_CHECK(place.local_rank < place.size, launcher.local_rank, " is ", place.local_rank, ", but ", launcher.size,
                 " is ", place.size, ": ranks on a machine go from 0 to ", place.size - 1, " at most");
  }
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
