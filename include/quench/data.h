// Data sets by a short spec ("cifar10:FILE?norm=imagenet&limit=1024"), and batches of them, decoded in
// the background. docs/data.md lists the kinds and their options. A kind is one file that registers a
// DatasetEntry; a plug-in may add more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quench/executor.h"
#include "quench/registry.h"

namespace quench {

// What an item or a batch gives a model: values by the names of its inputs, or one without a name, which any model with
// a single input takes.
class InputValues {
 public:
  InputValues() = default;
  InputValues(const at::Tensor& only);  // NOLINT: one value is the inputs of most models
  InputValues(RtValue only);            // NOLINT
  InputValues(NamedValues values);      // NOLINT

  const NamedValues& values() const { return values_; }  // the unnamed one is under ""
  bool has_names() const { return !values_.empty() && !values_.contains(""); }
  const RtValue& only() const;                       // throws if there are several
  const at::Tensor& tensor() const;                  // of the only one
  const RtValue& at(const std::string& name) const;  // throws if none has this name

 private:
  NamedValues values_;
};

// Where a picture lies in the input that was made of it: the picture's x is at x * scale_x + left there.
struct Placement {
  double scale_x = 1.0, scale_y = 1.0, left = 0.0, top = 0.0;
  std::int64_t height = 0, width = 0;  // of the picture as it is in its file; 0: not known
  bool operator==(const Placement& other) const = default;
};

struct Sample {
  InputValues inputs;        // without a batch dimension
  std::int64_t label = -1;   // -1: none
  std::string name = {};     // file name or index, for messages and predictions
  std::int64_t length = -1;  // kNextToken: how many tokens are real, the rest is padding
  NamedValues targets = {};  // what metrics hold outputs against where a class is not enough (quench/targets.h)
  Placement placement = {};
};

// kNextToken: position i of the input predicts position i + 1; scored are the `length` - 1 real targets.
enum class Task : std::uint8_t { kClassify, kNextToken, kNone };

// Recurrent state: the model's input of a name is its output of the other name for the item before. The first item of
// a sequence gets its own value of the input where the data has one, else zeros.
struct Feedback {
  std::map<std::string, std::string> states;  // input -> output
  std::int64_t sequence = 0;                  // items of each sequence; 0: all are one
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  virtual Sample get(std::int64_t index) const = 0;  // called from several threads; throws for a broken item
  virtual Task task() const = 0;
  virtual std::int64_t pad_token() const { return -1; }            // kNextToken: what pads short texts
  virtual std::vector<std::string> classes() const { return {}; }  // names by label; empty where not known
  // kClassify: of every item, where they are known without reading the items; else empty.
  virtual std::vector<std::int64_t> labels() const { return {}; }
  // kNextToken: under which name of Sample::inputs the tokens are.
  virtual std::string token_input() const { return ""; }
  // Inputs that are the same for every item, as the model takes them (with all of its dimensions), by name.
  virtual NamedValues shared() const { return {}; }
  virtual Feedback feedback() const { return {}; }
  virtual std::string target_kind() const { return ""; }  // of Sample::targets; "": there are none
};

// What the model says about the input that the data is for: readers resize to it and check against it. -1: not known.
struct InputHint {
  std::int64_t channels = -1, height = -1, width = -1, length = -1;
  std::vector<std::string> inputs = {};  // the names of all inputs of the model; empty: not known
};
// Of the input of this name; "": of the only one, or of the one that pictures (rank 4) and texts (rank 2) fit.
InputHint input_hint(const Graph& graph, const std::string& input = "");

// "kind:PATH?key=value&key=value". The kind ends at the first ':', the options begin after the last '?'.
struct DatasetSpec {
  std::string kind;
  std::string path;
  std::map<std::string, std::string> options;
  bool operator==(const DatasetSpec& other) const = default;
};

// A bare path of an existing folder means "images:". Throws if the text cannot be a spec; the kind and the
// options are checked by open_dataset.
DatasetSpec parse_spec(const std::string& text);
std::string to_string(const DatasetSpec& spec);  // parse_spec gives the same spec back

// For the readers of a kind; each throws for a value that cannot be read.
std::optional<std::string> text_option(const DatasetSpec& spec, const std::string& key);
std::optional<std::int64_t> integer_option(const DatasetSpec& spec, const std::string& key, std::int64_t minimum);
std::optional<std::vector<double>> numbers_option(const DatasetSpec& spec, const std::string& key);  // "0.5,0.5"

struct DatasetEntry {
  static constexpr const char* kKind = "kind of data";
  std::vector<std::string> options;  // beside those that every kind has (docs/data.md)
  std::unique_ptr<Dataset> (*open)(const DatasetSpec& spec, const InputHint& hint) = nullptr;
};
using DatasetRegistry = Registry<DatasetEntry>;

// Throws for an unknown kind or option (with the nearest), a missing file, a missing norm=. Errors carry
// "in the data 'SPEC'".
std::unique_ptr<Dataset> open_dataset(const DatasetSpec& spec, const InputHint& hint = {});
std::unique_ptr<Dataset> open_dataset(const std::string& spec, const InputHint& hint = {});
// For the inputs of this model.
std::unique_ptr<Dataset> open_dataset(const DatasetSpec& spec, const Graph& model);
std::unique_ptr<Dataset> open_dataset(const std::string& spec, const Graph& model);

// Data in memory: one tensor per item, without a batch dimension; labels (none, or one per item) make it a
// classification. Or whatever samples a function gives, which is called from several threads.
std::unique_ptr<Dataset> dataset_of(std::vector<at::Tensor> items, std::vector<std::int64_t> labels = {});
std::unique_ptr<Dataset> dataset_of(std::int64_t size, std::function<Sample(std::int64_t index)> get,
                                    Task task = Task::kNone);

struct Batch {
  InputValues inputs;  // each stacked along dimension 0
  NamedValues shared;  // as Dataset::shared
  std::vector<std::int64_t> labels;
  std::vector<std::string> names;
  std::vector<std::int64_t> indices;  // in the data set
  std::vector<std::int64_t> lengths;  // as Sample::length
  std::vector<NamedValues> targets;   // by item: their sizes may differ
  std::vector<Placement> placements;
  std::int64_t size() const { return static_cast<std::int64_t>(indices.size()); }
};

// A batch as the graph's inputs take it, by name; one value without a name is for the only input. Numbers are cast to
// the input's type (floats to floats, integers to integers if no value changes). Where the graph fixes its batch, the
// last item is repeated up to a multiple of that. An input that has the rank of one item (its first axis is not a
// batch) takes a batch of one. Throws for an input without data and for data without an input, by name.
NamedValues bind_inputs(const Graph& graph, const Batch& batch);

struct LoadOptions {
  std::int64_t batch_size = 32;
  bool shuffle = false;
  std::uint64_t seed = 0;    // of the shuffle: same seed, same order, on every machine
  std::int64_t offset = 0;   // begin with this item of the (shuffled) order: where a resumed run continues
  bool drop_last = false;    // drop the last batch if it is not full; of several parts, what not all have of it
  int workers = 1;           // decoding threads; 0: in the caller's
  bool skip_broken = false;  // a broken item is reported and left out (its batch is smaller), else it is an error
  int part = 0,
      parts = 1;  // of all batches only number `part`, `part` + `parts` ...: what one of several processes loads
};

// The order in which a Loader visits `size` items: 0, 1, 2 ... or a permutation that the seed alone decides.
std::vector<std::int64_t> loading_order(std::int64_t size, const LoadOptions& options);

// Batches in order, made ahead of time by background threads, a few at most. The data set must outlive it.
class Loader {
 public:
  Loader(const Dataset& dataset, LoadOptions options);
  Loader(const Dataset&& dataset, LoadOptions options) = delete;  // a temporary would be gone
  ~Loader();
  // Nothing at the end. Throws if an item is broken ("while reading 'NAME'"), and then again on each call.
  std::optional<Batch> next();
  std::int64_t size() const;                        // items that it will visit
  const std::vector<std::string>& skipped() const;  // one message per item left out so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quench

// QUENCH_REGISTER_DATASET("idx", open_idx, "an IDX file", "labels", "norm"): the last ones are the options
#define QUENCH_REGISTER_DATASET(name, function, summary, ...) \
  QUENCH_REGISTER_ITEM(::quench::DatasetEntry, name, summary, {{__VA_ARGS__}, function})
