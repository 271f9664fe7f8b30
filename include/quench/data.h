// Data sets by a short spec ("cifar10:FILE?norm=imagenet&limit=1024"), and batches of them, decoded in
// the background. docs/data.md lists the kinds and their options.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quench/rt_value.h"

namespace quench {

struct Sample {
  RtValue input;            // without a batch dimension
  std::int64_t label = -1;  // -1: none
  std::string name;         // file name or index, for messages and predictions
};

enum class Task : std::uint8_t { kClassify, kNextToken, kNone };

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  virtual Sample get(std::int64_t index) const = 0;  // called from several threads; throws for a broken item
  virtual Task task() const = 0;
  virtual std::int64_t pad_token() const { return -1; }  // kNextToken: not scored
};

// What the model says of its input: the readers resize to it and check against it. -1: not known.
struct InputHint {
  std::int64_t channels = -1, height = -1, width = -1, length = -1;
};

// Throws for an unknown kind or option (with the nearest), a missing file, a missing norm=.
std::unique_ptr<Dataset> open_dataset(const std::string& spec, const InputHint& hint = {});

struct Batch {
  RtValue inputs;  // stacked along dimension 0
  std::vector<std::int64_t> labels;
  std::vector<std::string> names;
  std::vector<std::int64_t> indices;  // in the data set
};

struct LoadOptions {
  std::int64_t batch_size = 32;
  bool shuffle = false;
  std::uint64_t seed = 0;    // of the shuffle: same seed, same order
  int workers = 1;           // decoding threads; 0: in the caller's
  bool skip_broken = false;  // a broken item is named and left out, else it is an error
};

// Batches in order, made ahead of time by background threads. The data set must outlive it.
class Loader {
 public:
  Loader(const Dataset& dataset, LoadOptions options);
  ~Loader();
  std::optional<Batch> next();                      // nothing at the end
  const std::vector<std::string>& skipped() const;  // one message per item left out
 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quench
