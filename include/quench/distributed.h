// Several processes that work on one job, over LibTorch's c10d: Gloo on the CPU, NCCL on GPUs. torchrun, mpirun or srun
// starts them and says by environment variables who is who (docs/distributed.md). One process alone opens no socket,
// and every operation on its tensors leaves them as they are.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace at {
class Tensor;
}

namespace quench {

class Group;
class Observer;

// Where this process stands among those that were started together.
struct ProcessPlace {
  int rank = 0, size = 1;
  int local_rank = 0;           // on its machine: the GPU that it takes
  std::string address;          // of the machine of rank 0
  int port = 0;                 // where the processes find each other
  bool launcher_hosts = false;  // the launcher (torchrun) listens at that port, else rank 0 does
  std::string attempt = {};     // told apart from earlier ones of the same launcher

  bool is_first() const { return rank == 0; }
};

using Environment = std::function<std::optional<std::string>(const std::string& variable)>;

// From the variables of torchrun, Open MPI, PMI or Slurm, in this order; without any, one process alone. Throws for
// variables that are incomplete or contradict each other, and says what is missing.
ProcessPlace place_of_process();
ProcessPlace place_of_process(const Environment& environment);

struct ProcessOptions {
  double join_seconds = 300.0;  // how long to wait for the others at start
  int silence_seconds = 5;      // one that gives no sign of life for so long is dead
  std::string advice = {};      // ends the message of a process that stops because another one did
  double notice_seconds = 5.0;  // after so long at the start, `waiting` is told for whom it waits
  std::function<void(const std::string& message)> waiting = {};
  // Called, from a thread of its own, when another process is dead. The default prints the message and ends this
  // process with exit code 1 (130 if the other one was interrupted): what waits for the dead one in a collective
  // operation could not be woken in another way.
  std::function<void(const std::string& message)> stop = {};
};

// The processes of a job. All of them must call the same operations in the same order.
class Processes {
 public:
  Processes();  // one process alone
  // Waits for the others. Throws if they do not come in time, naming those that are missing. From then on the program
  // ignores SIGPIPE, unless it handles it.
  explicit Processes(const ProcessPlace& place, const ProcessOptions& options = {});
  // An exception on its way through here tells the others that this process failed. The one that hosts the meeting
  // point waits for the others to end.
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int rank() const { return place_.rank; }
  int size() const { return place_.size; }
  bool is_first() const { return place_.is_first(); }
  bool are_several() const { return place_.size > 1; }
  int device_index() const { return place_.local_rank; }

  // Over all processes, in place; every process ends with the same bits. The order in which Gloo adds is fixed, but is
  // that of the ranks only for two processes (docs/distributed.md).
  void sum(at::Tensor& tensor) const;
  void mean(at::Tensor& tensor) const;
  void max(at::Tensor& tensor) const;
  void broadcast(at::Tensor& tensor) const;                                      // the first one's, to all
  std::string broadcast(const std::string& bytes) const;                         // the first one's
  std::vector<std::string> gather(const std::string& bytes) const;               // everyone's, by rank
  std::vector<std::string> gather(const std::vector<std::string>& texts) const;  // everyone's, one after the other
  void barrier() const;
  void agree_to_stop() const;  // a barrier: an exception that ends a process after it is no failure to the others
  // Begins to add a contiguous tensor up, in place. What is returned waits until it is done; the tensor must live on
  // until then.
  std::function<void()> start_sum(at::Tensor& tensor) const;

 private:
  ProcessPlace place_;
  std::unique_ptr<Group> group_;  // null for one process
};

// Each observer becomes the one that saw the data of all processes: their statistics are merged, in order of the ranks.
// The same observers must be given everywhere.
void merge_observers(const Processes& processes, const std::vector<Observer*>& observers);
// Each becomes that of the first process.
void copy_first_observers(const Processes& processes, const std::vector<Observer*>& observers);

// For training, which observes while it goes on: observers that were alike (their states then are `before`) and of
// which each has seen its process's share of one batch since become those that saw the whole batch. Refreshable ones
// alone.
void join_shares(const Processes& processes, const std::vector<Observer*>& observers,
                 const std::vector<std::map<std::string, at::Tensor>>& before);

// Averages gradients over all processes while backward runs: as soon as the gradients of a bucket (about 1 MB) are
// there, adding them up begins. The first step finds out in which order they come.
//
//   AveragedGradients gradients(processes, parameters);
//   gradients.begin();      // ahead of the last backward of a step: earlier ones only accumulate
//   loss.backward();
//   gradients.finish();     // every parameter's grad() is the mean over the processes
//
// A gradient that did not come in some process counts as zero; one that came in none stays undefined.
class AveragedGradients {
 public:
  // Leaves that require gradients, in the same order everywhere. Both must outlive it.
  AveragedGradients(const Processes& processes, std::vector<at::Tensor> parameters, std::size_t bucket_bytes = 1 << 20);
  ~AveragedGradients();
  AveragedGradients(const AveragedGradients&) = delete;
  AveragedGradients& operator=(const AveragedGradients&) = delete;

  void begin();
  void finish();
  std::size_t buckets() const;  // known after the first step

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quench
