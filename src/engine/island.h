// Steps that carry values between slots and the executor.
#pragma once

#include <map>

#include "engine/program.h"
#include "quench/engine.h"
#include "quench/rt_value.h"

namespace quench {

// One node, by the executor.
class IslandStep : public Task {
 public:
  struct Source {
    Place place;
    DnnlLayout layout;  // of a slot
  };
  using Inputs = std::map<std::string, Source>;
  IslandStep(Inputs inputs, std::vector<std::pair<std::string, int>> outputs)
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}
  void run(Frame& frame) const override;

 private:
  Inputs inputs_;
  std::vector<std::pair<std::string, int>> outputs_;  // name, place among the values
};

// What the executor has computed, into a slot of plain layout.
class ImportStep : public Task {
 public:
  ImportStep(int value, int slot) : value_(value), slot_(slot) {}
  void run(Frame& frame) const override;

 private:
  int value_, slot_;
};

// Shows a value to whoever watches it. What lies in blocks is shown as rows, one per item.
class WatchStep : public Task {
 public:
  WatchStep(const Watch& watch, Place place, DnnlLayout layout)
      : watch_(watch), place_(place), layout_(std::move(layout)) {}
  void run(Frame& frame) const override;

 private:
  const Watch& watch_;
  Place place_;
  DnnlLayout layout_;
};

class ConstantStep : public Task {
 public:
  ConstantStep(RtValue constant, int value) : constant_(std::move(constant)), value_(value) {}
  void run(Frame& frame) const override { frame.values[static_cast<std::size_t>(value_)] = constant_; }

 private:
  RtValue constant_;
  int value_;
};

}  // namespace quench
