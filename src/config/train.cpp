// Training as configs say it: the keys are those of qat/train_fields.h.
#include "qat/train_fields.h"

#include <limits>

#include "config/aliases.h"
#include "config/parts.h"
#include "config/yaml_writer.h"
#include "qat/optimizer.h"
#include "qat/schedule.h"
#include "quench/metric.h"
#include "quench/train_loop.h"

namespace quench {
namespace {

class Reader {
 public:
  explicit Reader(MapReader map) { maps_.push_back(std::move(map)); }

  void operator()(const char* key, std::string& field) { set(field, map().text(key)); }
  void operator()(const char* key, bool& field) { set(field, map().flag(key)); }
  void operator()(const char* key, double& field) { set(field, map().number(key)); }
  void operator()(const char* key, int& field) {
    const auto given = map().integer(key, -1);
    if (given && *given > std::numeric_limits<int>::max())
      fail_at(*map().find(key), "'", map().path_of(key), "' is too large");
    set(field, given);
  }
  void operator()(const char* key, std::int64_t& field) { set(field, map().integer(key, 0)); }
  void operator()(const char* key, Options& field) {
    if (const auto given = map().options(key))
      for (const auto& [name, value] : given->values()) field.set(name, value);
  }
  void operator()(const char* key, std::optional<double>& field) {
    if (const auto given = map().number(key)) field = given;
  }
  void operator()(const char* key, std::vector<double>& field) {
    if (const Tree* list = found_list(key)) {
      field.clear();
      for (const Tree& item : list->items) field.push_back(number_of(item, map().path_of(key)));
    }
  }
  void operator()(const char* key, std::vector<std::pair<int, int>>& field) {
    const Tree* list = found_list(key);
    if (!list) return;
    field.clear();
    for (const Tree& pair : list->items) {
      if (!pair.is_list() || pair.items.size() != 2)
        fail_at(pair, "'", map().path_of(key), "' must be a list of pairs: [[epoch, interval], ...]");
      field.emplace_back(integer_of(pair.items[0], key, 0), integer_of(pair.items[1], key, 1));
    }
  }
  void enter(const char* key) {
    static const Tree nothing = [] {
      Tree empty;
      empty.kind = Tree::Kind::kMap;
      return empty;
    }();
    std::optional<MapReader> inner = map().map(key);
    maps_.push_back(inner ? std::move(*inner) : MapReader(nothing, map().path_of(key)));
  }
  void leave() {
    map().finish();
    maps_.pop_back();
  }

 private:
  MapReader& map() { return maps_.back(); }
  template <typename T, typename U>
  static void set(T& field, const std::optional<U>& given) {
    if (given) field = static_cast<T>(*given);
  }
  const Tree* found_list(const char* key) {
    const Tree* list = map().find(key);
    if (list && !list->is_list()) fail_at(*list, "'", map().path_of(key), "' must be a list");
    return list;
  }
  std::vector<MapReader> maps_;
};

class Writer {
 public:
  explicit Writer(YamlWriter& out) : out_(out) {}
  void operator()(const char* key, const std::string& field) { out_.put_text(key, field); }
  void operator()(const char* key, const std::optional<double>& field) { out_.put_some(key, field); }
  void operator()(const char* key, const std::vector<double>& field) { out_.put_some(key, field); }
  void operator()(const char* key, const Options& field) { out_.put_some(key, field); }
  void operator()(const char* key, const std::vector<std::pair<int, int>>& field) {
    std::vector<std::vector<int>> pairs;
    for (const auto& [from, interval] : field) pairs.push_back({from, interval});
    out_.put_some(key, pairs);
  }
  template <typename T>
  void operator()(const char* key, const T& field) {
    out_.put(key, field);
  }
  void enter(const char* key) { out_.begin(key, true); }
  void leave() { out_.end(); }

 private:
  YamlWriter& out_;
};

// The deepest entry that there is on the way. Of a map that overrides made, its own place is the first one's.
const Tree& entry_of(const Tree& map, std::initializer_list<const char*> path) {
  const Tree* at = &map;
  for (const char* key : path)
    if (const Tree* next = at->find(key))
      at = next;
    else
      break;
  return *at;
}

// Names that nothing has, each at its own place.
void check_names(const TrainOptions& options, const Tree& tree) {
  at_place(entry_of(tree, {"optimizer", "name"}), [&] { check_optimizer_name(options.optimizer.name); });
  at_place(entry_of(tree, {"schedule", "name"}), [&] { check_schedule_name(options.schedule.name); });
  at_place(entry_of(tree, {"metric"}), [&] {
    if (!options.metric.empty()) make_metric(parse_metric(options.metric));
  });
}

}  // namespace

void set_train_loop(TrainOptions& options, const Tree& place, const std::string& name, const Options& given) {
  at_place(place, [&] {
    options.loop = train_loop_name(name);
    options.loop_options = checked_loop_options(options.loop, given);
    return 0;
  });
}

void read_train(MapReader map, JobConfig& job) {
  TrainOptions options = job.train.value_or(TrainOptions());
  // Options of the loop that was named before are not another one's.
  if (const auto loop = map.text("loop")) {
    const std::string name = at_place(*map.find("loop"), [&] { return train_loop_name(*loop); });
    if (name != options.loop) options.loop_options = {};
  }
  Reader reader(map);
  visit_train_options(options, reader);
  reader.leave();
  set_train_loop(options, entry_of(map.tree(), {"loop_options"}), options.loop, options.loop_options);
  check_names(options, map.tree());
  at_place(map.tree(), [&] {
    check_train_options(options);
    return 0;
  });
  job.train = options;
}

void write_train(YamlWriter& out, const TrainOptions& options) {
  Writer writer(out);
  out.begin("train");
  visit_train_options(options, writer);
  out.end();
}

}  // namespace quench
