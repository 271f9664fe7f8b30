#include <ATen/ATen.h>

#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>

#include "distributed/backends.h"

namespace quench {
namespace {

using c10d::ProcessGroupGloo;

// As good as never: one process may work alone for hours, and who is dead the watchdog finds out.
constexpr std::chrono::hours kPatience{24 * 7};

bool is_this_machine(const std::string& address) {
  return address == "localhost" || address == "::1" || address.rfind("127.", 0) == 0;
}

// Gloo writes by writev(): at a connection whose other end has died that would end this process without a word.
void ignore_broken_pipes() {
  struct sigaction now{};
  ::sigaction(SIGPIPE, nullptr, &now);
  if (now.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

std::shared_ptr<c10d::Backend> gloo_backend(c10d::Store& store, const ProcessPlace& place) {
  ignore_broken_pipes();
  const auto shared = c10::intrusive_ptr<c10d::Store>::reclaim_copy(&store);
  const auto options = ProcessGroupGloo::Options::create(kPatience);
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");  // as PyTorch reads it
  options->devices.push_back(interface                        ? ProcessGroupGloo::createDeviceForInterface(interface)
                             : is_this_machine(place.address) ? ProcessGroupGloo::createDeviceForHostname(place.address)
                                                              : ProcessGroupGloo::createDefaultDevice());
  const auto backend = c10::make_intrusive<ProcessGroupGloo>(c10::make_intrusive<c10d::PrefixStore>("gloo", shared),
                                                             place.rank, place.size, options);
  return {backend.get(), [backend](c10d::Backend*) {}};
}

}  // namespace quench
