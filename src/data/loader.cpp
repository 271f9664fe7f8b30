// Loader: threads that make whole batches ahead of the caller. A ring of slots, one per batch in flight,
// keeps them in order and bounds the memory.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <thread>

#include "data/make_batch.h"
#include "quench/data.h"

namespace quench {

struct Loader::State {
  State(const Dataset& source, const LoadOptions& load)
      : dataset(source), options(load), order(loading_order(source.size(), load)) {
    QUENCH_CHECK(options.batch_size > 0, "a batch size of ", options.batch_size, " is not above 0");
    QUENCH_CHECK(options.workers >= 0, options.workers, " loading threads are impossible");
    const auto items = static_cast<std::int64_t>(order.size());
    batches = items / options.batch_size + (!options.drop_last && items % options.batch_size != 0 ? 1 : 0);
    if (options.drop_last) order.resize(static_cast<std::size_t>(batches * options.batch_size));
    const auto threads = std::min<std::int64_t>(options.workers, batches);
    slots.resize(static_cast<std::size_t>(threads) + 1);
  }

  void start() {
    while (workers.size() + 1 < slots.size()) workers.emplace_back([this] { work(); });
  }

  ~State() {
    stop();
    for (std::thread& worker : workers) worker.join();
  }

  void stop() {
    const std::lock_guard lock(mutex);
    stopped = true;
    room.notify_all();
  }

  MadeBatch make(std::int64_t number) const {
    const auto begin = static_cast<std::size_t>(number * options.batch_size);
    const auto count = std::min(static_cast<std::size_t>(options.batch_size), order.size() - begin);
    return make_batch(dataset, std::span(order).subspan(begin, count), options.skip_broken, stopped);
  }

  struct Slot {
    bool ready = false;
    MadeBatch made;
    std::exception_ptr error;
  };
  Slot& slot_of(std::int64_t number) { return slots[static_cast<std::size_t>(number) % slots.size()]; }

  // Runs in each thread.
  void work() {
    for (;;) {
      std::int64_t number = 0;
      {
        std::unique_lock lock(mutex);
        room.wait(lock, [&] {
          return stopped || started == batches || started < delivered + static_cast<std::int64_t>(slots.size());
        });
        if (stopped || started == batches) return;
        number = started++;
      }
      Slot done;
      done.ready = true;
      try {
        done.made = make(number);
      } catch (...) {  // whatever it is, next() throws it to the caller
        done.error = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      slot_of(number) = std::move(done);
      made_one.notify_all();
    }
  }

  MadeBatch take() {
    if (workers.empty()) return make(delivered++);
    Slot taken;
    {
      std::unique_lock lock(mutex);
      Slot& slot = slot_of(delivered);
      made_one.wait(lock, [&] { return slot.ready; });
      taken = std::exchange(slot, Slot());
      ++delivered;
      room.notify_all();
    }
    if (taken.error) std::rethrow_exception(taken.error);
    return std::move(taken.made);
  }

  const Dataset& dataset;
  const LoadOptions options;
  std::vector<std::int64_t> order;
  std::int64_t batches = 0;
  std::vector<std::string> skipped;
  std::exception_ptr failure;  // once thrown, thrown again

  std::mutex mutex;
  std::condition_variable room, made_one;
  std::vector<Slot> slots;
  std::int64_t started = 0, delivered = 0;
  std::atomic<bool> stopped = false;
  std::vector<std::thread> workers;
};

Loader::Loader(const Dataset& dataset, LoadOptions options) : state_(std::make_unique<State>(dataset, options)) {
  state_->start();
}
Loader::~Loader() = default;

std::optional<Batch> Loader::next() {
  if (state_->failure) std::rethrow_exception(state_->failure);
  while (state_->delivered < state_->batches) {
    try {
      MadeBatch made = state_->take();
      state_->skipped.insert(state_->skipped.end(), made.skipped.begin(), made.skipped.end());
      if (!made.batch.indices.empty()) return std::move(made.batch);
    } catch (...) {  // kept for the next call, and the threads need not go on
      state_->failure = std::current_exception();
      state_->stop();
      throw;
    }
  }
  return std::nullopt;
}

std::int64_t Loader::size() const { return static_cast<std::int64_t>(state_->order.size()); }
const std::vector<std::string>& Loader::skipped() const { return state_->skipped; }

}  // namespace quench
