#include "qat/train_checkpoint.h"

#include <ATen/ATen.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/atomic_file.h"
#include "quench/distributed.h"
#include "quench/error.h"

namespace quench {
namespace {

using Json = nlohmann::json;
constexpr const char *kCheckpoint = "checkpoint.safetensors", *kBest = "best.safetensors";
constexpr const char* kRecord = "record";  // of a part without a name

std::string path_of(const std::string& folder, const char* file) {
  return (std::filesystem::path(folder) / file).string();
}

Json json_of(const std::optional<double>& number) { return number ? Json(*number) : Json(); }
std::optional<double> number_of(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

Json json_of(const TrainEpoch& one) {
  return {{"epoch", one.epoch},
          {"loss", one.loss},
          {"rate", one.rate},
          {"seconds", one.seconds},
          {"quantized", json_of(one.quantized)},
          {"float", json_of(one.in_float)}};
}

TrainEpoch epoch_of(const Json& json) {
  TrainEpoch one;
  one.epoch = json.at("epoch");
  one.loss = json.at("loss");
  one.rate = json.at("rate");
  one.seconds = json.at("seconds");
  one.quantized = number_of(json.at("quantized"));
  one.in_float = number_of(json.at("float"));
  return one;
}

Json json_of(const TrainState& state) {
  Json json = {{"key", state.key},
               {"step", state.step},
               {"items", state.items},
               {"epoch", state.epoch},
               {"items_in_epoch", state.items_in_epoch},
               {"loss_in_epoch", state.loss_in_epoch},
               {"seconds_in_epoch", state.seconds_in_epoch},
               {"norms_frozen", state.norms_frozen},
               {"flags", state.flags},
               {"start", json_of(state.start)},
               {"best_epoch", state.best_epoch},
               {"seconds", state.seconds},
               {"epochs", Json::array()}};
  for (const TrainEpoch& one : state.epochs) json["epochs"].push_back(json_of(one));
  return json;
}

TrainState state_of(const Json& json) {
  TrainState state;
  state.key = json.at("key");
  state.step = json.at("step");
  state.items = json.at("items");
  state.epoch = json.at("epoch");
  state.items_in_epoch = json.at("items_in_epoch");
  state.loss_in_epoch = json.at("loss_in_epoch");
  state.seconds_in_epoch = json.at("seconds_in_epoch");
  state.norms_frozen = json.at("norms_frozen");
  state.flags = json.at("flags");
  state.start = number_of(json.at("start"));
  state.best_epoch = json.at("best_epoch");
  state.seconds = json.at("seconds");
  for (const Json& one : json.at("epochs")) state.epochs.push_back(epoch_of(one));
  return state;
}

at::Tensor text_tensor(const std::string& text) {
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  std::copy(text.begin(), text.end(), bytes.data_ptr<std::uint8_t>());
  return bytes;
}

TensorMap on_host(const TensorMap& tensors) {
  TensorMap copies;
  for (const auto& [name, tensor] : tensors) copies.emplace(name, tensor.detach().cpu().contiguous());
  return copies;
}

// Nothing if there is none. The folder may be on the first one's machine alone.
std::optional<std::string> file_of_first(const std::string& path, const Processes& processes) {
  std::string bytes;
  if (processes.is_first()) {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
    QUENCH_CHECK(!std::filesystem::exists(path) || !bytes.empty(), "'", path, "' cannot be read, or is empty");
  }
  bytes = processes.broadcast(bytes);
  return bytes.empty() ? std::nullopt : std::optional(std::move(bytes));
}

}  // namespace

void write_checkpoint(const std::string& folder, const TrainState& state) {
  std::filesystem::create_directories(folder);
  TensorMap all;
  for (const auto& [part, tensors] : state.tensors)
    for (auto& [name, tensor] : on_host(tensors)) all.emplace(part + "/" + name, tensor);
  all.emplace(kRecord, text_tensor(json_of(state).dump()));
  write_safetensors(path_of(folder, kCheckpoint), all);
}

std::optional<TrainState> read_checkpoint(const std::string& folder, std::uint64_t key, const Processes& processes) {
  const std::string path = path_of(folder, kCheckpoint);
  const std::optional<std::string> bytes = file_of_first(path, processes);
  if (!bytes) return std::nullopt;
  TensorMap all = with_context([&] { return concat("remove '", path, "' to train from the start"); },
                               [&] { return tensors_of_bytes(*bytes); });
  const auto record = all.find(kRecord);
  QUENCH_CHECK(record != all.end(), "'", path, "' is not a checkpoint of a training run");
  const auto* text = record->second.const_data_ptr<std::uint8_t>();
  const Json json = Json::parse(text, text + record->second.numel(), nullptr, /*allow_exceptions=*/false);
  QUENCH_CHECK(json.is_object(), "'", path, "' is not a checkpoint of a training run");
  TrainState state = state_of(json);
  QUENCH_CHECK(state.key == key, "'", path,
               "' belongs to another training job (model, plan, data, options or seed differ): remove it, or give "
               "another output");
  all.erase(record);
  for (auto& [name, tensor] : all) {
    const std::size_t slash = name.find('/');
    state.tensors[name.substr(0, slash)].emplace(name.substr(slash + 1), tensor);
  }
  return state;
}

void remove_half_written(const std::string& folder) {
  for (const char* file : {kCheckpoint, kBest}) remove_left_partials(path_of(folder, file));
}

void write_best(const std::string& folder, const TensorMap& tensors) {
  std::filesystem::create_directories(folder);
  write_safetensors(path_of(folder, kBest), on_host(tensors));
}

TensorMap read_best(const std::string& folder, const Processes& processes) {
  const std::string path = path_of(folder, kBest);
  const std::optional<std::string> bytes = file_of_first(path, processes);
  QUENCH_CHECK(bytes, "'", path, "' is gone: it held the best epoch");
  return with_context([&] { return concat("in '", path, "'"); }, [&] { return tensors_of_bytes(*bytes); });
}

}  // namespace quench
