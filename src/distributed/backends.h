// What carries tensors between processes: c10d's backends, made for a group.
#pragma once

#include <memory>

#include "quench/distributed.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace quench {

// Connects to all others.
std::shared_ptr<c10d::Backend> gloo_backend(c10d::Store& store, const ProcessPlace& place);
// For tensors on the GPU with this number. Null where this build has no NCCL, and where processes share a GPU.
std::shared_ptr<c10d::Backend> nccl_backend(c10d::Store& store, const ProcessPlace& place, int device);

}  // namespace quench
