// Observers: watch a tensor over any number of batches in constant memory, and then give the scales and
// zero points to quantize it with. One file each in src/observers/.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quench/options.h"
#include "quench/quant.h"
#include "quench/registry.h"

namespace at {
class Tensor;
}

namespace quench {

// Least and greatest of a tensor: one pair per scale, in the order of QScheme::scale_shape().
struct TensorRange {
  std::vector<float> min, max;
};

class Observer {
 public:
  explicit Observer(QScheme scheme) : scheme_(std::move(scheme)) {}
  virtual ~Observer() = default;

  // Looks at one batch: detached, taken as float32; an empty tensor is ignored, a NaN or an infinity is an
  // error. The shape may differ from batch to batch where the scales keep theirs.
  void observe(const at::Tensor& x);
  // From all that was seen; throws if nothing was and something is needed. Computed when asked for, not on
  // every batch.
  QParams qparams() const;
  bool seen() const { return batches_ > 0; }
  std::int64_t batches() const { return batches_; }
  const std::vector<std::int64_t>& scale_shape() const { return shape_; }  // of the data seen

  // Becomes the observer that saw both halves. Throws unless `other` is of the same kind, scheme and options.
  void merge(const Observer& other);
  void reset();

  // All statistics, by name; load() takes the shapes of the file.
  std::map<std::string, at::Tensor> state() const;
  void load(const std::map<std::string, at::Tensor>& state);

  const QScheme& scheme() const { return scheme_; }
  const std::string& kind() const { return kind_; }  // the registered name
  const Options& options() const { return options_; }
  bool refreshable() const { return refreshable_; }
  // Whether the result depends on how the data is cut into batches, and on their order; else on the set of values
  // alone.
  virtual bool by_batch() const { return false; }
  // In batches of `of` items only the first `items` count, the rest being padding of the last one; 0: all of them.
  // Items lie along the first axis; a tensor whose first axis is not a multiple of them is then left out, unless there
  // is nothing else.
  void count_items(std::int64_t items, std::int64_t of);

  // For training by several processes, of which each has a share of every batch: called after each share, an empty one
  // too, with the state ahead of it, to make this the observer that saw the whole batch. Null: batches are whole.
  using JoinShares = std::function<void(const std::map<std::string, at::Tensor>& before)>;
  void share_batches(JoinShares join) { join_shares_ = std::move(join); }

 protected:
  // Not empty, float32, finite; on whichever device the data is; any layout. `range` is that of x.
  virtual void add(const at::Tensor& x, const TensorRange& range) = 0;
  virtual QParams compute() const = 0;
  virtual void add_all(const Observer& other) = 0;  // the same kind, scheme and options; has seen something
  virtual void clear() = 0;
  virtual std::map<std::string, at::Tensor> save() const = 0;
  virtual void restore(const std::map<std::string, at::Tensor>& state) = 0;

  std::size_t entries() const;  // number of scales of the data seen

 private:
  void see(const at::Tensor& batch);
  void or_reset(const std::function<void()>& body);
  at::Tensor counted(const at::Tensor& x) const;
  friend std::unique_ptr<Observer> make_observer(const std::string&, const QScheme&, const Options&);
  QScheme scheme_;
  std::string kind_;
  Options options_;
  bool refreshable_ = false;
  bool needs_data_ = true;
  std::int64_t batches_ = 0;
  std::int64_t items_ = 0, of_ = 0;  // of count_items()
  std::vector<std::int64_t> shape_;
  JoinShares join_shares_;
};

struct ObserverEntry {
  static constexpr const char* kKind = "observer";
  std::unique_ptr<Observer> (*make)(const QScheme& scheme, const Options& options);  // options already checked
  std::vector<OptionInfo> options;
  bool per_channel = true;   // else only schemes per tensor are taken
  bool refreshable = false;  // may observe and quantize at once (QAT's moving average)
  bool needs_data = true;    // else qparams() answers before anything was observed
  bool affine = true;        // else only symmetric integer schemes are taken
  bool finds_scale = true;   // else what has it stays float
};
using ObserverRegistry = Registry<ObserverEntry>;

// What an entry's `make` usually is.
template <typename Kind>
std::unique_ptr<Observer> new_observer(const QScheme& scheme, const Options& options) {
  return std::make_unique<Kind>(scheme, options);
}

std::unique_ptr<Observer> make_observer(const std::string& name, const QScheme& scheme, const Options& options = {});

}  // namespace quench
