// What a pickle's opcodes work on: the bytes, the stack with its marks, the memo, and the values made so
// far. Everything is bounded; there is no recursion.
#pragma once

#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "quench/error.h"
#include "zoo/pickle.h"

namespace quench {

class PickleMachine {
 public:
  explicit PickleMachine(std::string_view bytes) : bytes_(bytes) {}

 protected:
  using Kind = PickleValue::Kind;
  // A tensor takes about twenty values: enough for fifty thousand of them.
  static constexpr std::size_t kMaxValues = 1'000'000;
  static constexpr std::size_t kMaxTextBytes = 65'536;

  template <typename... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail("at byte ", opcode_at_, " of the pickle: ", parts...);
  }

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - position_)
      refuse("it ends too early: ", count, " bytes expected, ", bytes_.size() - position_, " left");
    const std::string_view part = bytes_.substr(position_, count);
    position_ += count;
    return part;
  }

  template <typename T>
  T number() {  // little-endian, as this machine is
    static_assert(std::endian::native == std::endian::little);
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }

  std::string line() {
    const std::size_t end = bytes_.find('\n', position_);
    if (end == std::string_view::npos || end - position_ > kMaxTextBytes) refuse("a name has no end");
    const std::string result(take(end - position_));
    take(1);
    return result;
  }

  int add(PickleValue value) {
    if (tree_.values.size() >= kMaxValues) refuse("more than ", kMaxValues, " values");
    tree_.values.push_back(std::move(value));
    return static_cast<int>(tree_.values.size()) - 1;
  }

  void push(int index) {
    if (stack_.size() >= kMaxValues) refuse("more than ", kMaxValues, " values on the stack");
    stack_.push_back(index);
  }
  void push_new(PickleValue value) { push(add(std::move(value))); }

  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }  // nothing below is reachable

  int pop() {
    if (stack_.size() <= floor()) refuse("it takes a value from an empty stack");
    const int index = stack_.back();
    stack_.pop_back();
    return index;
  }

  std::vector<int> pop_to_mark() {
    if (marks_.empty()) refuse("there is no mark on the stack");
    std::vector<int> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }

  PickleValue& top(Kind kind) {
    if (stack_.size() <= floor()) refuse("it takes a value from an empty stack");
    PickleValue& value = tree_.values[static_cast<std::size_t>(stack_.back())];
    if (value.kind != kind) refuse(name_of(kind), " was expected, ", name_of(value.kind), " found");
    return value;
  }

  const PickleValue& expect(int index, Kind kind) const {
    const PickleValue& value = tree_.at(index);
    if (value.kind != kind) refuse(name_of(kind), " was expected, ", name_of(value.kind), " found");
    return value;
  }

  void extend(Kind kind, const std::vector<int>& added) {
    charge(added.size());
    PickleValue& container = top(kind);
    container.items.insert(container.items.end(), added.begin(), added.end());
  }

  // A memo entry can be used again and again: what copies items pays for them.
  void charge(std::size_t items) {
    items_ += items;
    if (items_ > 2 * kMaxValues) refuse("more than ", 2 * kMaxValues, " items in lists and dicts");
  }

  void remember(std::uint32_t key) {
    if (memo_.size() >= kMaxValues) refuse("more than ", kMaxValues, " memo entries");
    const int index = pop();
    push(index);
    memo_[key] = index;
  }

  void recall(std::uint32_t key) {
    const auto at = memo_.find(key);
    if (at == memo_.end()) refuse("memo entry ", key, " was never stored");
    push(at->second);
  }

  std::string_view bytes_;
  std::size_t position_ = 0, opcode_at_ = 0;
  std::size_t items_ = 0;
  PickleTree tree_;
  std::vector<int> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, int> memo_;
};

}  // namespace quench
