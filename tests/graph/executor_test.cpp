// The executor's hooks and feeds, on graphs small enough to check by hand.
#include "quench/executor.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "quench/op.h"

namespace quench {
namespace {

// y = Identity(a), out = y * 2 + a * 3, a = Relu(x)
Graph with_identity() {
  return parse_graph(R"(graph "g" {
    input %x : float[1]
    const %two : float[1] = {2.0}
    const %three : float[1] = {3.0}
    %a = Relu "a" (%x) : float[1]
    %y = Identity "y" (%a) : float[1]
    %p = Mul "p" (%y, %two) : float[1]
    %q = Mul "q" (%a, %three) : float[1]
    %out = Add "out" (%p, %q) : float[1]
    output %out
  })");
}

// It keeps a reference: with a graph that is gone at the end of the line, it would read freed memory.
static_assert(std::is_constructible_v<Executor, const Graph&>);
static_assert(std::is_constructible_v<Executor, Graph&, ExecOptions>);
static_assert(!std::is_constructible_v<Executor, Graph>);
static_assert(!std::is_constructible_v<Executor, const Graph>);
static_assert(!std::is_constructible_v<Executor, Graph, ExecOptions>);

TEST(Executor, AGradientHookSeesItsOwnValueAlone) {
  const Graph graph = with_identity();
  Executor executor(graph, {.grad = true});
  float at_y = 0, at_a = 0;
  executor.on_gradient("y", [&](const Value&, at::Tensor& gradient) { at_y = gradient.item<float>(); });
  executor.on_gradient("a", [&](const Value&, at::Tensor& gradient) { at_a = gradient.item<float>(); });
  executor.run({RtValue(at::ones({1}))})[0].tensor().backward();
  EXPECT_EQ(at_y, 2.0F);
  EXPECT_EQ(at_a, 5.0F);
}

TEST(Executor, AHookReplacesAndStopsAndRemovesItself) {
  const Graph graph = with_identity();
  Executor executor(graph);
  int calls = 0, number = 0;
  number = executor.on_value("y", [&](const Value&, RtValue& value) {
    ++calls;
    value = RtValue(at::full({1}, 10.0F));
    executor.remove_hook(number);
    return Next::kContinue;
  });
  EXPECT_EQ(executor.run({RtValue(at::ones({1}))})[0].tensor().item<float>(), 23.0F);
  EXPECT_EQ(executor.run({RtValue(at::ones({1}))})[0].tensor().item<float>(), 5.0F);
  EXPECT_EQ(calls, 1);
  executor.on_node("p", [&](const Node&, std::vector<RtValue>&) { return Next::kStop; });
  EXPECT_TRUE(executor.run({RtValue(at::ones({1}))})[0].is_none());
}

TEST(Executor, AHookReplacesAConstant) {
  const Graph graph = with_identity();
  Executor executor(graph);
  executor.on_value("two", [](const Value&, RtValue& value) {
    value = RtValue(at::full({1}, 4.0F));
    return Next::kContinue;
  });
  EXPECT_EQ(executor.run({RtValue(at::ones({1}))})[0].tensor().item<float>(), 7.0F);
}

TEST(Executor, WhatIsFedIsNotMadeAgain) {
  const Graph graph = parse_graph(R"(graph "g" {
    input %x : float[2]
    %a, %b = Split "split" (%x) {num_outputs = 2} : float[1], float[1]
    %y = Add "y" (%a, %b) : float[1]
    output %y
  })");
  Executor executor(graph);
  const auto result = executor.run({{"x", at::tensor({1.0F, 2.0F})}, {"a", at::full({1}, 100.0F)}}, {"y"});
  EXPECT_EQ(result.at("y").tensor().item<float>(), 102.0F);
}

}  // namespace
}  // namespace quench
