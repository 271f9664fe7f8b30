#include "distributed/group.h"

#include <ATen/ATen.h>
#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "core/joined.h"
#include "distributed/backends.h"
#include "distributed/late_notice.h"
#include "distributed/watchdog.h"
#include "quench/error.h"

namespace quench {
namespace {

using StorePtr = c10::intrusive_ptr<c10d::Store>;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

// While it lives LibTorch logs nothing, unless the user wants it: c10d prints what it throws, with a stack each time.
class QuietLog {
 public:
  QuietLog() {
    constexpr int kFatal = 3;
    if (!std::getenv("TORCH_CPP_LOG_LEVEL")) FLAGS_caffe2_log_level = kFatal;
  }
  ~QuietLog() { FLAGS_caffe2_log_level = before_; }

 private:
  const int before_ = FLAGS_caffe2_log_level;
};

std::string meeting_point_of(const ProcessPlace& place) { return concat(place.address, ":", place.port); }
std::string listener_at(const ProcessPlace& place) { return place.launcher_hosts ? "the launcher" : "rank 0"; }

void say(const ProcessOptions& options, const std::string& what) {
  if (options.waiting) options.waiting(concat(what, ", for ", options.join_seconds, " s at most"));
}

StorePtr connect(const ProcessPlace& place, const ProcessOptions& options, bool hosts) {
  c10d::TCPStoreOptions how;
  how.port = static_cast<std::uint16_t>(place.port);
  how.isServer = hosts;
  how.waitWorkers = false;
  how.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(options.join_seconds * 1000));
  try {
    const LateNotice late(options.notice_seconds, [&] {
      say(options, concat("waiting for an answer at ", meeting_point_of(place), " (MASTER_ADDR, MASTER_PORT), where ",
                          listener_at(place), " should listen"));
    });
    const auto store = c10::make_intrusive<c10d::TCPStore>(place.address, how);
    return c10::make_intrusive<c10d::PrefixStore>(concat("quench/", place.size, "/", place.attempt), store);
  } catch (const std::exception& error) {
    QUENCH_CHECK(!hosts, "rank 0 cannot listen at port ", place.port, " (MASTER_PORT): ", plain_message(error));
    fail("no answer from ", meeting_point_of(place), " (MASTER_ADDR, MASTER_PORT) within ", options.join_seconds,
         " s: ", listener_at(place), " should listen there");
  }
}

// A launcher's store outlives what it starts: a script may run several commands one after the other.
std::string number_of_run(c10d::Store& store, const ProcessPlace& place) {
  return place.launcher_hosts ? concat("run", store.add(concat("runs/", place.rank), 1)) : "run";
}

StorePtr within(const std::string& run, const StorePtr& store) {
  return c10::make_intrusive<c10d::PrefixStore>(run, store);
}

// Two jobs that were given one meeting point would take each other's words for their own.
void take_place(c10d::Store& store, const ProcessPlace& place) {
  QUENCH_CHECK(store.add(concat("taken/", place.rank), 1) == 1, "there is another ",
               name_of_process(place.rank, place.size), " at ", meeting_point_of(place),
               ": does another job use this MASTER_PORT?");
}

std::vector<std::string> missing_ranks(c10d::Store& store, int size) {
  std::vector<std::string> missing;
  for (int rank = 0; rank < size; ++rank)
    if (!store.check({sign_of(rank)})) missing.push_back(std::to_string(rank));
  return missing;
}

bool all_come_within(c10d::Store& store, int size, double seconds) {
  std::vector<std::string> signs;
  for (int rank = 0; rank < size; ++rank) signs.push_back(sign_of(rank));
  try {
    store.wait(signs, std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// The first process says for whom all wait; while it is missing itself, all do.
void wait_for_all(c10d::Store& store, const ProcessPlace& place, const ProcessOptions& options) {
  const double at_first = std::min(options.notice_seconds, options.join_seconds);
  if (all_come_within(store, place.size, at_first)) return;
  std::vector<std::string> missing = missing_ranks(store, place.size);
  if (missing.empty()) return;  // the last one has come just now
  const bool is_first_here = place.is_first() || missing[0] == "0";
  const double rest = options.join_seconds - at_first;
  if (rest > 0 && is_first_here)
    say(options, concat("waiting at ", meeting_point_of(place), " for ", missing.size(), " of ", place.size,
                        " processes: rank ", joined(missing)));
  if (rest > 0 && all_come_within(store, place.size, rest)) return;
  missing = missing_ranks(store, place.size);
  QUENCH_CHECK(missing.empty(), "of ", place.size, " processes, these did not arrive within ", options.join_seconds,
               " s: rank ", joined(missing));
}

std::shared_ptr<c10d::Store> kept(const StorePtr& store) {
  return {store.get(), [store](c10d::Store*) {}};
}

}  // namespace

struct Group::State {
  State(const ProcessPlace& here, const ProcessOptions& options)
      : place(here),
        meeting_point(connect(place, options, place.is_first() && !place.launcher_hosts)),
        run(number_of_run(*meeting_point, place)),
        store(within(run, meeting_point)) {
    take_place(*store, place);
    // Connected before the first sign: from then on the others expect more of them.
    const StorePtr of_watchdog = within(run, connect(place, options, false));
    give_first_sign(*store, place);
    wait_for_all(*store, place, options);
    watchdog = std::make_unique<Watchdog>(kept(of_watchdog), place, options);
    guarded([&] { gloo = gloo_backend(*store, place); });
  }

  // When another process dies, what we do with it fails in words of its own; the watchdog soon knows who it was.
  template <typename Action>
  auto guarded(const Action& action) -> decltype(action()) {
    try {
      return action();
    } catch (const std::exception& error) {
      watchdog->set_failed();
      const std::string verdict = watchdog->wait_for_verdict();
      QUENCH_CHECK(verdict.empty(), verdict);
      fail("the connection to the other processes broke: ", plain_message(error));
    }
  }

  // NCCL's takes tensors on a GPU, one for each process; where there is none they go through the CPU.
  c10d::Backend* backend_of(const at::Tensor& tensor) {
    if (!tensor.is_cuda()) return gloo.get();
    if (!tried_nccl) guarded([&] { nccl = nccl_backend(*store, place, tensor.get_device()); });
    tried_nccl = true;
    return nccl.get();
  }

  const QuietLog quiet;
  const ProcessPlace place;
  const StorePtr meeting_point;
  const std::string run;
  const StorePtr store;  // of this run
  const int exceptions = std::uncaught_exceptions();
  std::shared_ptr<c10d::Backend> gloo, nccl;
  bool tried_nccl = false;
  std::unique_ptr<Watchdog> watchdog;
};

Group::Group(const ProcessPlace& place, const ProcessOptions& options)
    : state_(std::make_unique<State>(place, options)) {}

Group::~Group() {
  if (std::uncaught_exceptions() > state_->exceptions) state_->watchdog->set_failed();
  // Before the watchdog waits for the others: one that still waits for us must notice.
  state_->gloo.reset();
  state_->nccl.reset();
}

std::function<void()> Group::start_reduce(at::Tensor& tensor, Reduction how) {
  State& state = *state_;
  c10d::Backend* backend = state.backend_of(tensor);
  c10d::AllreduceOptions options;
  options.reduceOp = how == Reduction::kSum ? c10d::ReduceOp::SUM : c10d::ReduceOp::MAX;
  const auto start = [&state, options](c10d::Backend& with, const at::Tensor& what) {
    std::vector<at::Tensor> tensors = {what};
    return state.guarded([&] { return with.allreduce(tensors, options); });
  };
  if (backend) {
    const WorkPtr work = start(*backend, tensor);
    return [&state, work] { state.guarded([&] { work->wait(); }); };
  }
  const at::Tensor copy = tensor.cpu();
  const WorkPtr work = start(*state.gloo, copy);
  return [&state, work, copy, tensor] {
    state.guarded([&] { work->wait(); });
    tensor.copy_(copy);
  };
}

void Group::reduce(at::Tensor& tensor, Reduction how) {
  at::Tensor whole = tensor.detach().contiguous();
  start_reduce(whole, how)();
  if (!whole.is_alias_of(tensor)) tensor.detach().copy_(whole);
}

void Group::broadcast(at::Tensor& tensor) {
  c10d::Backend* backend = state_->backend_of(tensor);
  const at::Tensor there = tensor.detach().contiguous(), whole = backend ? there : there.cpu();
  std::vector<at::Tensor> tensors = {whole};
  state_->guarded([&] { (backend ? *backend : *state_->gloo).broadcast(tensors)->wait(); });
  if (!whole.is_alias_of(tensor)) tensor.detach().copy_(whole);
}

// Gloo gathers equal sizes: first the lengths, then all padded to the longest.
std::vector<std::string> Group::gather(const std::string& bytes) {
  const auto gathered = [&](const at::Tensor& mine) {
    std::vector<std::vector<at::Tensor>> all(1);
    for (int rank = 0; rank < state_->place.size; ++rank) all[0].push_back(at::empty_like(mine));
    std::vector<at::Tensor> input = {mine};
    state_->guarded([&] { state_->gloo->allgather(all, input)->wait(); });
    return all[0];
  };
  std::int64_t longest = 1;
  std::vector<std::int64_t> lengths;
  for (const at::Tensor& one : gathered(at::full({1}, static_cast<std::int64_t>(bytes.size()), at::kLong))) {
    lengths.push_back(one.item<std::int64_t>());
    longest = std::max(longest, lengths.back());
  }
  const at::Tensor padded = at::zeros({longest}, at::kByte);
  std::memcpy(padded.data_ptr(), bytes.data(), bytes.size());
  const std::vector<at::Tensor> all = gathered(padded);
  std::vector<std::string> result;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    result.emplace_back(static_cast<const char*>(all[rank].data_ptr()), static_cast<std::size_t>(lengths[rank]));
  return result;
}

void Group::agree_to_stop() {
  barrier();
  state_->watchdog->set_agreed();
}

void Group::barrier() {
  state_->guarded([&] { state_->gloo->barrier()->wait(); });
}

}  // namespace quench
