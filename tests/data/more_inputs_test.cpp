#include "data/more_inputs.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "data/feed.h"
#include "data/files.h"
#include "data/multi_input.h"
#include "quench/executor.h"
#include "quench/npz.h"

namespace quench {
namespace {

std::string opened(const std::string& spec, const Graph& graph) {
  return message_of([&] { open_dataset(spec, graph)->get(0); });
}

TEST(NpzData, GivesOneArrayPerInput) {
  const TempFolder folder;
  const Graph graph = three_inputs();
  NamedValues arrays = three_arrays(5);
  arrays["labels"] = at::arange(5);
  write_npz(folder.path("a.npz"), arrays);
  const auto data = open_dataset("npz:" + folder.path("a.npz") + "?shared=size", graph);
  ASSERT_EQ(data->size(), 5);
  EXPECT_EQ(data->task(), Task::kClassify);
  EXPECT_EQ(data->get(3).label, 3);
  EXPECT_TRUE(data->get(3).inputs.at("mask").tensor().equal(arrays.at("mask").tensor()[3]));
  EXPECT_FALSE(data->get(3).inputs.values().contains("size"));
  EXPECT_TRUE(data->shared().at("size").tensor().equal(arrays.at("size").tensor()));
  EXPECT_CONTAINS(opened("npz:" + folder.path("a.npz"), graph),
                  "the arrays hold different numbers of items (their first axis): 'mask' 5, 'size' 2; name one that is "
                  "the same for "
                  "all items with shared=size");
  EXPECT_CONTAINS(opened("npz:" + folder.path("a.npz") + "?shared=size,sizes", graph),
                  "shared=sizes: there is no array");
}

// 'y' holds labels, unless the model has an input of that name.
TEST(NpzData, LooksAtTheModelsNames) {
  const TempFolder folder;
  write_npz(folder.path("a.npz"),
            {{"x", at::ones({2, 3})}, {"y", at::ones({2, 3}, at::kLong)}, {"scale", at::ones({})}});
  Graph graph;
  for (const char* name : {"x", "y", "scale"}) graph.add_input(name, TypeInfo::tensor(DType::kFloat));
  const auto data = open_dataset("npz:" + folder.path("a.npz"), graph);
  EXPECT_EQ(data->task(), Task::kNone);
  EXPECT_TRUE(data->get(0).inputs.values().contains("y"));
  EXPECT_TRUE(data->shared().contains("scale")) << "without an axis there are no items in it";
}

TEST(NpzData, AFolderHoldsOneFilePerItem) {
  const TempFolder folder;
  const NamedValues arrays = three_arrays(3);
  for (std::int64_t i = 0; i < 3; ++i)
    write_npz(folder.path("item" + std::to_string(2 - i) + ".npz"),
              {{"x", arrays.at("x").tensor()[i]}, {"mask", arrays.at("mask").tensor()[i]}, {"y", at::tensor({i})}});
  folder.write("notes.txt", "not an item");
  const auto data = open_dataset("npz:" + folder.path(""), three_inputs());
  ASSERT_EQ(data->size(), 3);
  EXPECT_EQ(data->get(0).name, "item0.npz");
  EXPECT_EQ(data->get(0).label, 2);
  EXPECT_TRUE(data->get(0).inputs.at("x").tensor().equal(arrays.at("x").tensor()[2]));
  const TempFolder empty;
  EXPECT_CONTAINS(opened("npz:" + empty.path(""), three_inputs()), "there is no .npz or .npy file in the folder");
}

TEST(MoreInputs, AsAndWithCompleteDataOfOneInput) {
  const TempFolder folder;
  const Graph graph = three_inputs();
  const NamedValues arrays = three_arrays(4);
  write_npz(folder.path("x.npz"), {{"x", arrays.at("x")}});
  write_npz(folder.path("more.npz"), {{"mask", arrays.at("mask")}, {"size", arrays.at("size")}});
  const std::string spec = "npz:" + folder.path("x.npz") + "?as=x&shared=size&with=" + folder.path("more.npz");
  const auto data = open_dataset(spec + "&offset=1&limit=2", graph);
  ASSERT_EQ(data->size(), 2);
  EXPECT_TRUE(data->get(0).inputs.at("mask").tensor().equal(arrays.at("mask").tensor()[1]));
  EXPECT_TRUE(data->get(0).inputs.at("x").tensor().equal(arrays.at("x").tensor()[1]));
  EXPECT_TRUE(data->shared().contains("size"));
  EXPECT_CONTAINS(opened("npz:" + folder.path("x.npz") + "?as=xx", graph),
                  "unknown input 'xx' of the model (as=); did you mean 'x'?");
  write_npz(folder.path("short.npz"), {{"mask", arrays.at("mask").tensor().slice(0, 0, 3)}});
  EXPECT_CONTAINS(opened("npz:" + folder.path("x.npz") + "?as=x&with=" + folder.path("short.npz"), graph),
                  "there are 4 items, but arrays of 3");
}

TEST(Tokens, GiveAMaskAsASecondInput) {
  const TempFolder folder;
  const std::string file = folder.write("t.u16", std::string("\1\0\5\0\1\0\6\0\7\0", 10));
  const auto data = open_dataset("tokens:" + file + "?bos=1&len=3&pad=9&ids=input_ids&mask=attention_mask");
  EXPECT_EQ(data->token_input(), "input_ids");
  EXPECT_TRUE(data->get(0).inputs.at("input_ids").tensor().equal(at::tensor({1, 5, 9}, at::kLong)));
  EXPECT_TRUE(data->get(0).inputs.at("attention_mask").tensor().equal(at::tensor({1, 1, 0}, at::kLong)));
  EXPECT_CONTAINS(message_of([&] { open_dataset("tokens:" + file + "?bos=1&len=3&mask=m"); }), "ids=NAME");
}

TEST(Feedback, AnItemsStateIsWhatTheItemBeforeGave) {
  const TempFolder folder;
  const Graph graph = recurrent();
  const at::Tensor x = at::arange(10, at::kFloat).reshape({5, 2}) / 7;
  write_npz(folder.path("x.npz"), {{"x", x}});
  const std::string spec = "npz:" + folder.path("x.npz") + "?feedback=h_in:h_out";
  const auto states_of = [&](const std::string& text, std::int64_t batch) {
    const auto data = open_dataset(text, graph);
    FeedOptions options;
    options.batch = batch;
    Feed feed(graph, *data, options);
    std::vector<at::Tensor> states;
    while (const auto fed = feed.next()) states.push_back(fed->inputs.at("h_in").tensor());
    return at::cat(states);
  };
  Executor executor(graph);
  at::Tensor state = at::zeros({1, 3});
  const at::Tensor found = states_of(spec, 1);
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(found[i].equal(state[0])) << i;
    state = executor.run({x.narrow(0, i, 1), state})[1].tensor();
  }
  EXPECT_TRUE(states_of(spec, 3).equal(found)) << "states are data: items can be fed together";
  const at::Tensor restarted = states_of(spec + "&sequence=2", 1);
  EXPECT_TRUE(restarted[2].equal(at::zeros({3})));
  EXPECT_TRUE(restarted[1].equal(found[1]));
  write_npz(folder.path("h.npz"), {{"x", x}, {"h_in", at::ones({5, 3})}});
  EXPECT_TRUE(states_of("npz:" + folder.path("h.npz") + "?feedback=h_in:h_out", 1)[0].equal(at::ones({3})))
      << "the first state is the data's own";
}

TEST(Feedback, NamesMustBeTheModels) {
  const TempFolder folder;
  const Graph graph = recurrent();
  write_npz(folder.path("x.npz"), {{"x", at::ones({2, 2})}});
  const std::string spec = "npz:" + folder.path("x.npz");
  EXPECT_CONTAINS(opened(spec + "?feedback=h_in", graph), "option feedback=h_in is not a list of INPUT:OUTPUT");
  EXPECT_CONTAINS(opened(spec + "?feedback=hin:h_out", graph), "did you mean 'h_in'?");
  EXPECT_CONTAINS(opened(spec + "?sequence=3", graph), "sequence= is for feedback=");
  const auto data = open_dataset(spec + "?feedback=h_in:state", graph);
  EXPECT_CONTAINS(message_of([&] { Feed(graph, *data, {}); }),
                  "the model has no output 'state'; it gives 'y', 'h_out'");
  const Graph fixed = recurrent(4);
  EXPECT_CONTAINS(message_of([&] { Feed(fixed, *open_dataset(spec + "?feedback=h_in:h_out", fixed), {}); }),
                  "the model's batch is fixed at 4");
}

}  // namespace
}  // namespace quench
