#include "data/bind_inputs.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "data/batch_size.h"
#include "data/feed.h"
#include "data/files.h"
#include "data/multi_input.h"
#include "quench/executor.h"
#include "quench/npz.h"

namespace quench {
namespace {

Batch batch_of(const NamedValues& inputs, const NamedValues& shared = {}) {
  Batch batch;
  batch.inputs = inputs;
  batch.shared = shared;
  return batch;
}

TEST(BindInputs, BindsByNameAndTheOnlyOneWithoutAName) {
  NamedValues arrays = three_arrays(5);
  const NamedValues shared = {{"size", arrays.extract("size").mapped()}};
  const NamedValues bound = bind_inputs(three_inputs(), batch_of(arrays, shared));
  ASSERT_EQ(bound.size(), 3U);
  EXPECT_TRUE(bound.at("x").tensor().equal(arrays.at("x").tensor()));
  EXPECT_TRUE(bound.at("size").tensor().equal(at::tensor({0.5F, 0.25F})));
  Graph one;
  one.add_output(one.add_input("pixels", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 2})));
  Batch unnamed;
  unnamed.inputs = at::ones({3, 2});
  EXPECT_EQ(bind_inputs(one, unnamed).at("pixels").tensor().size(0), 3);
}

TEST(BindInputs, SaysWhichInputLacksDataAndWhichDataFitsNone) {
  NamedValues arrays = three_arrays(2);
  const NamedValues shared = {{"size", arrays.extract("size").mapped()}};
  const auto message = [&](const NamedValues& given, const NamedValues& same) {
    return message_of([&] { bind_inputs(three_inputs(), batch_of(given, same)); });
  };
  EXPECT_CONTAINS(message(arrays, {}), "the model's input 'size' (float[2]) has no data; the data gives 'mask', 'x'");
  NamedValues misspelt = arrays;
  misspelt["masks"] = misspelt.extract("mask").mapped();
  EXPECT_CONTAINS(message(misspelt, shared), "the model's input 'mask' (int64[N, 6]) has no data");
  EXPECT_CONTAINS(message(misspelt, shared), "the nearest is 'masks'");
  NamedValues more = arrays;
  more["other"] = at::ones({2});
  EXPECT_CONTAINS(message(more, shared), "the data's 'other' (float[2]) fits no input of the model, which takes 'x' (");
  EXPECT_CONTAINS(message(arrays, {{"sizes", at::ones({2})}}), "the data's 'sizes' (float[2]) fits no input");
  Batch unnamed;
  unnamed.inputs = at::ones({2, 6});
  EXPECT_CONTAINS(message_of([&] { bind_inputs(three_inputs(), unnamed); }),
                  "the data gives one value without a name, but the model has 3 inputs to fill");
}

TEST(BindInputs, CastsFloatsToFloatsAndIntegersWhereNoneChanges) {
  Graph graph;
  graph.add_input("ids", TypeInfo::tensor(DType::kInt32, {Dim::symbol("N"), 2}));
  graph.add_input("half", TypeInfo::tensor(DType::kFloat16, {Dim::symbol("N")}));
  const NamedValues given = {{"ids", at::tensor({1, 2}, at::kLong).view({1, 2})}, {"half", at::tensor({0.1F})}};
  const NamedValues bound = bind_inputs(graph, batch_of(given));
  EXPECT_EQ(bound.at("ids").dtype(), DType::kInt32);
  EXPECT_EQ(bound.at("half").tensor().scalar_type(), at::kHalf);
  NamedValues large = given;
  large["ids"] = at::full({1, 2}, std::int64_t{1} << 40);
  EXPECT_CONTAINS(message_of([&] { bind_inputs(graph, batch_of(large)); }),
                  "the data for the input 'ids' is int64 and holds numbers that int32 does not");
}

TEST(BindInputs, FillsUpWhatTheModelFixes) {
  NamedValues arrays = three_arrays(5);
  const NamedValues shared = {{"size", arrays.extract("size").mapped()}};
  const NamedValues bound = bind_inputs(three_inputs(4), batch_of(arrays, shared));
  EXPECT_EQ(bound.at("x").tensor().size(0), 8);
  EXPECT_TRUE(bound.at("mask").tensor()[7].equal(arrays.at("mask").tensor()[4]));
  EXPECT_EQ(bound.at("size").tensor().size(0), 2) << "the same for all items: nothing to fill up";
}

// An input whose first axis is no batch takes an item whole, one at a time.
TEST(BindInputs, AnItemOfTheInputsRankIsFedWhole) {
  Graph graph;
  graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 2}));
  graph.add_input("state", TypeInfo::tensor(DType::kFloat, {3, Dim::symbol("N"), 2}));
  graph.add_output(graph.value("x"));
  const auto data = dataset_of(
      4, [](std::int64_t) -> Sample { return {NamedValues{{"x", at::ones({2})}, {"state", at::ones({3, 1, 2})}}}; });
  EXPECT_EQ(choose_batch(graph, data.get(), 0), 1);
  EXPECT_CONTAINS(message_of([&] { choose_batch(graph, data.get(), 8); }), "fixed at 1");
  Feed feed(graph, *data, {});
  int batches = 0;
  while (const auto fed = feed.next()) {
    EXPECT_EQ(fed->inputs.at("state").tensor().sizes(), (std::vector<std::int64_t>{3, 1, 2}));
    EXPECT_EQ(fed->inputs.at("x").tensor().sizes(), (std::vector<std::int64_t>{1, 2}));
    ++batches;
  }
  EXPECT_EQ(batches, 4);
  NamedValues two = {{"x", at::ones({2, 2})}, {"state", at::ones({2, 3, 1, 2})}};
  EXPECT_CONTAINS(message_of([&] { bind_inputs(graph, batch_of(two)); }), "use a batch of 1");
}

TEST(ChooseBatch, LooksAtTheInputsThatItemsAreStackedFor) {
  const TempFolder folder;
  write_npz(folder.path("a.npz"), three_arrays(6));
  const std::string spec = "npz:" + folder.path("a.npz") + "?shared=size";
  const Graph open = three_inputs(), fixed = three_inputs(4);
  EXPECT_EQ(choose_batch(open, open_dataset(spec, open).get(), 0), 32);
  EXPECT_EQ(choose_batch(open, open_dataset(spec, open).get(), 5), 5);
  EXPECT_EQ(choose_batch(open, nullptr, 0, 8), 8);
  EXPECT_EQ(choose_batch(fixed, open_dataset(spec, fixed).get(), 0), 4);
  EXPECT_CONTAINS(message_of([&] { choose_batch(fixed, open_dataset(spec, fixed).get(), 5); }),
                  "the model's batch dimension is fixed at 4; a batch of 5 cannot be fed");
  Graph two;
  two.add_output(two.add_input("a", TypeInfo::tensor(DType::kFloat, {2, 3})));
  two.add_input("b", TypeInfo::tensor(DType::kFloat, {4, 3}));
  const auto data =
      dataset_of(1, [](std::int64_t) -> Sample { return {NamedValues{{"a", at::ones({3})}, {"b", at::ones({3})}}}; });
  EXPECT_CONTAINS(message_of([&] { choose_batch(two, data.get(), 0); }), "the model's inputs fix different batches");
}

TEST(Feed, SaysHowManyRowsOnlyFillUp) {
  const Graph graph = three_inputs(4);
  const TempFolder folder;
  write_npz(folder.path("a.npz"), three_arrays(6));
  const auto data = open_dataset("npz:" + folder.path("a.npz") + "?shared=size", graph);
  Feed feed(graph, *data, {});
  const auto first = feed.next(), last = feed.next();
  EXPECT_EQ(first->items, 4);
  EXPECT_EQ(last->items, 2);
  EXPECT_EQ(last->rows, 4);
  EXPECT_EQ(last->inputs.at("x").tensor().size(0), 4);
  EXPECT_FALSE(feed.next());
}

}  // namespace
}  // namespace quench
