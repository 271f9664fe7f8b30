#include "measure/gather_results.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "quench/error.h"

namespace quench {
namespace {

void append(std::string& bytes, const void* from, std::size_t count) {
  bytes.append(static_cast<const char*>(from), count);
}

void append_number(std::string& bytes, std::int64_t number) { append(bytes, &number, sizeof(number)); }

std::string packed(const MeasuredItem& item) {
  std::string bytes;
  append_number(bytes, item.index);
  append_number(bytes, static_cast<std::int64_t>(item.statistics.size()));
  for (const ItemStatistic& one : item.statistics) {
    append_number(bytes, static_cast<std::int64_t>(one.size()));
    append(bytes, one.data(), one.size() * sizeof(double));
  }
  return bytes + item.name;
}

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  void read(void* to, std::size_t count) {
    QUENCH_CHECK(count <= bytes_.size() - at_, "a process sent a broken result");
    if (count > 0) std::memcpy(to, bytes_.data() + at_, count);
    at_ += count;
  }
  std::int64_t number() {
    std::int64_t number = 0;
    read(&number, sizeof(number));
    return number;
  }
  std::string rest() const { return bytes_.substr(at_); }

 private:
  const std::string& bytes_;
  std::size_t at_ = 0;
};

MeasuredItem unpacked(const std::string& bytes) {
  Reader reader(bytes);
  MeasuredItem item;
  item.index = reader.number();
  item.statistics.resize(static_cast<std::size_t>(reader.number()));
  for (ItemStatistic& one : item.statistics) {
    one.resize(static_cast<std::size_t>(reader.number()));
    reader.read(one.data(), one.size() * sizeof(double));
  }
  item.name = reader.rest();
  return item;
}

}  // namespace

void gather_results(const Processes& processes, EvalResult& result, std::vector<MeasuredItem>& items) {
  if (!processes.are_several()) return;
  at::Tensor slowest = at::full({1}, result.model_seconds, at::kDouble);
  processes.max(slowest);
  result.model_seconds = slowest.item<double>();
  result.skipped = processes.gather(result.skipped);
  std::vector<std::string> own;
  for (const MeasuredItem& item : items) own.push_back(packed(item));
  items.clear();
  for (const std::string& one : processes.gather(own)) items.push_back(unpacked(one));
  std::sort(items.begin(), items.end(), [](const MeasuredItem& a, const MeasuredItem& b) { return a.index < b.index; });
}

}  // namespace quench
