#include "graph/replayed_run.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "kernels/device_copy.h"
#include "kernels/replay.h"
#include "quench/error.h"

namespace quench {
namespace {

// Each form keeps memory for all values of a run.
constexpr std::size_t kMostForms = 4;

std::string key_of(const NamedValues& feeds) {
  std::string key;
  for (const auto& [name, value] : feeds) key += concat(name, " ", value.type().text(), "\n");
  return key;
}

bool are_tensors(const NamedValues& feeds) {
  return std::all_of(feeds.begin(), feeds.end(), [](const auto& feed) { return feed.second.is_tensor(); });
}

}  // namespace

struct ReplayedRun::Form {
  Form(Executor& executor, const std::vector<std::string>& fetches, const NamedValues& feeds)
      : replay(executor.options().device, [this, &executor, &fetches] { results = executor.run(inputs, fetches); }) {
    const at::Device device(executor.options().device);
    for (const auto& [name, value] : feeds)
      inputs[name] = RtValue(at::empty_like(value.tensor(), value.tensor().options().device(device)), value.dtype());
  }
  NamedValues inputs, results;  // where the captured run reads and writes
  Replay replay;
};

ReplayedRun::ReplayedRun(Executor& executor, std::vector<std::string> fetches)
    : executor_(executor), fetches_(std::move(fetches)), upload_(std::make_unique<Upload>(executor.options().device)) {}
ReplayedRun::~ReplayedRun() = default;

NamedValues ReplayedRun::run(const NamedValues& feeds) {
  if (executor_.options().device == "cpu" || !are_tensors(feeds)) return executor_.run(feeds, fetches_);
  const std::string key = key_of(feeds);
  if (!forms_.contains(key) && forms_.size() >= kMostForms) return executor_.run(feeds, fetches_);
  std::unique_ptr<Form>& form = forms_[key];
  if (!form) form = std::make_unique<Form>(executor_, fetches_, feeds);
  for (const auto& [name, value] : feeds)
    at::Tensor(form->inputs.at(name).tensor()).copy_(upload_->copy(value.tensor()), /*non_blocking=*/true);
  form->replay.run();
  return form->results;
}

}  // namespace quench
