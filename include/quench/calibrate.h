// Calibration: runs data through a graph whose quantizers observe, then sets the scales that the observers found.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/quantized_model.h"

namespace at {
class Tensor;
}

namespace quench {

class Processes;

// Watches the float network beside the observers, which saves a pass. Threads show it values, those of one name in
// order.
class FloatWatcher {
 public:
  virtual ~FloatWatcher() = default;
  virtual std::vector<std::string> values() const = 0;
  // Ahead of each batch: its first `items` rows are items of the data, the others copies. Several full ones may follow.
  virtual void begin_batch(std::int64_t items, std::int64_t rows) = 0;
  virtual void see(const std::string& value, const at::Tensor& x) = 0;
};

struct CalibrationOptions {
  std::int64_t batch = 0;     // of observers that average over batches; 0: the model's own where it is fixed, else 32
  std::int64_t batches = 0;   // at most this many batches; 0: all of the data
  int workers = 1;            // decoding threads
  bool on_quantized = false;  // later layers see already quantized inputs (mmrazor's loop), else float ones
  bool skip_broken = false;
  std::string device = "cpu";
  std::string statistics;           // a folder: what the observers saw is kept there, or taken from there if it fits
  FloatWatcher* watcher = nullptr;  // shown all of the data or none of it: CalibrationRecord::watched
  // Each reads its share of the data, and their statistics are merged: every one ends with the scales of a process that
  // read all of it. Null: this one alone.
  const Processes* processes = nullptr;
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

// What calibration found for one quantizer.
struct QuantizerRecord {
  std::string value;
  Role role = Role::kActivation;
  std::string scheme, observer;
  QParams params;
};

struct CalibrationRecord {
  std::int64_t items = 0, batches = 0;
  std::int64_t batch = 0;                   // items that went through the network at once
  bool filled = false;                      // the last batch is padded with copies of an item, which do not count
  double seconds = 0.0;                     // all of it
  double model_seconds = 0.0;               // inside the model, observers included
  bool watched = false;                     // the watcher saw every item, as a pass of its own would have shown it
  bool reused = false;                      // the statistics came from a folder: no pass over the data
  std::vector<QuantizerRecord> quantizers;  // in order of the graph; those that share are not repeated
  std::vector<std::string> raised;          // weights whose scale was raised so that the int32 bias fits, with channels
  std::vector<std::string> skipped;         // broken items
  std::vector<std::string> notes;           // what the user should know about the observers
};

// One pass over the data for all activations; weights are observed without data. Leaves every quantizer calibrated,
// with `quantize` on and `observe` off. Throws if a quantizer saw nothing, naming it.
CalibrationRecord calibrate(QuantizedModel& model, const Dataset& data, const CalibrationOptions& options = {});

}  // namespace quench
