#include "quench/reconstruct.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "graph/tensor_types.h"
#include "quench/executor.h"
#include "quench/ptq_method.h"
#include "reconstruct/nets.h"
#include "support/expect_error.h"

namespace quench {
namespace {

ReconstructOptions quick(const std::string& method, double iterations = 300) {
  ReconstructOptions options;
  options.method = method;
  options.options = Options{{"max_count", iterations}, {"batch", 16.0}, {"lr", 1e-2}};
  if (method == "networkwise") options.options.set("joint_count", iterations);
  return options;
}

// All constants equal, bit for bit.
void expect_same(const Graph& one, const Graph& other) {
  for (const Value* constant : one.constants())
    EXPECT_TRUE(bit_equal(constant->tensor(), other.value(constant->name()).tensor())) << constant->name();
}

double output_error(const QuantizedModel& model, const Dataset& data) {
  const Batch batch = *Loader(data, {.batch_size = data.size()}).next();
  const NamedValues inputs = bind_inputs(model.graph, batch);
  const Graph plain = residual_net();
  const std::string quantized = model.graph.outputs()[0]->name(), wanted = plain.outputs()[0]->name();
  return (Executor(model.graph).run(inputs, {quantized}).at(quantized).tensor() -
          Executor(plain).run(inputs, {wanted}).at(wanted).tensor())
      .square()
      .mean()
      .item<double>();
}

class EveryMethod : public testing::TestWithParam<const char*> {};

TEST_P(EveryMethod, BringsTheOutputCloserAndLeavesWeightsOnTheirGrids) {
  const auto data = random_images(64);
  QuantizedModel model = calibrated_net(*data);
  const double before = output_error(model, *data);
  const ReconstructionRecord record = reconstruct(model, *data, quick(GetParam()));
  EXPECT_LT(output_error(model, *data), 0.8 * before);
  EXPECT_EQ(model.stage, ModelStage::kReconstructed);
  EXPECT_EQ(record.items, 64);
  for (const UnitRecord& unit : record.units) {
    if (unit.name != "stem.conv") EXPECT_LT(unit.error_after, unit.error_before) << unit.name;  // it has 8 bits
    EXPECT_EQ(unit.iterations, 300);
  }
  EXPECT_GT(record.units[1].moved, 0.01);
  for (const Node* node : quantizers_of(model.graph)) {
    EXPECT_EQ(fake_quant_spec(*node).algorithm, "fixed");
    if (fake_quant_spec(*node).role != Role::kWeight) continue;
    const at::Tensor weight = node->input(0)->tensor();
    EXPECT_TRUE(weight.equal(fake_quant_of(*node)->quantize(weight, fake_quant_tensors(*node), {}))) << node->name();
  }
}

TEST_P(EveryMethod, GivesTheSameBitsWhereverItsCachesLie) {
  const auto data = random_images(40);
  QuantizedModel one = calibrated_net(*data), other = calibrated_net(*data);
  ReconstructOptions options = quick(GetParam(), 20);
  reconstruct(one, *data, options);
  options.options.set("max_memory", 1e-5);
  const ReconstructionRecord spilled = reconstruct(other, *data, options);
  EXPECT_GT(spilled.spilled_bytes, 0);
  EXPECT_LE(spilled.memory_bytes, static_cast<std::int64_t>(1e-5 * (1 << 30)));
  expect_same(one.graph, other.graph);
}

// Caches of two bytes a number teach nearly the same.
TEST(Reconstruct, LearnsFromCachesOfHalfTheSize) {
  const auto data = random_images(32);
  QuantizedModel full = calibrated_net(*data), half = calibrated_net(*data);
  ReconstructOptions options = quick("brecq", 100);
  const ReconstructionRecord wanted = reconstruct(full, *data, options);
  options.options.set("half", 1.0);
  const ReconstructionRecord given = reconstruct(half, *data, options);
  EXPECT_LT(given.memory_bytes, 0.6 * static_cast<double>(wanted.memory_bytes));
  for (int i = 1; i < 3; ++i) {  // the blocks
    EXPECT_LT(given.units[i].error_after, given.units[i].error_before) << i;
    EXPECT_NEAR(given.units[i].error_after, wanted.units[i].error_after, 0.2 * wanted.units[i].error_before) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod,
                         testing::Values("adaround", "brecq", "qdrop", "blockwise", "networkwise"));

TEST(Reconstruct, ScalesOfActivationsLearnInBrecqAndStayInAdaRound) {
  const auto data = random_images(32);
  const QuantizedModel model = calibrated_net(*data);
  const auto moved = [&](const std::string& method) {
    QuantizedModel learned = model;
    ReconstructOptions options = quick(method, 50);
    options.options.set("scale_lr", 1e-2);
    reconstruct(learned, *data, options);
    int count = 0;
    for (const Node* node : quantizers_of(model.graph))
      if (fake_quant_spec(*node).role == Role::kActivation)
        count += !node->input(1)->tensor().equal(learned.graph.value(node->input(1)->name()).tensor());
    return count;
  };
  EXPECT_EQ(moved("adaround"), 0);
  EXPECT_GT(moved("brecq"), 3);  // the first unit may stay as it was
}

TEST(Reconstruct, LeavesTheModelAloneWhenItFails) {
  const auto data = random_images(8);
  QuantizedModel model = calibrated_net(*data);
  const QuantizedModel before(model.graph.clone(), model.plan, model.stage);
  ReconstructOptions options = quick("qdrop", 3);
  options.unit_done = [](const UnitRecord&, std::size_t index, std::size_t) {
    if (index == 2) fail("interrupted");
  };
  EXPECT_ERROR(reconstruct(model, *data, options), "interrupted", "in the unit 'block0'");
  EXPECT_EQ(model.stage, ModelStage::kCalibrated);
  expect_same(model.graph, before.graph);
}

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "quench_reconstruct_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Rates that are far too high make every unit worse: then it stays what nearest rounding gives, also when it is
// resumed.
TEST_P(EveryMethod, AUnitThatBecomesWorseStaysAsItWas) {
  const Scratch scratch;
  const auto data = random_images(16);
  QuantizedModel model = calibrated_net(*data), resumed = calibrated_net(*data);
  const Graph before = model.graph.clone();
  ReconstructOptions options = quick(GetParam(), 5);
  options.checkpoint = scratch.path();
  for (const char* rate : {"lr", "scale_lr", "weight_scale_lr", "bias_lr"}) options.options.set(rate, 100.0);
  const ReconstructionRecord record = reconstruct(model, *data, options);
  for (const UnitRecord& unit : record.units) {
    EXPECT_EQ(unit.error_after, unit.error_before) << unit.name;
    EXPECT_EQ(unit.note, UnitRecord::kNotKept) << unit.name;
    EXPECT_EQ(unit.moved, 0) << unit.name;
  }
  for (const Node* node : quantizers_of(model.graph)) {
    const Node& old = *before.find_node(node->name());
    const FakeQuantTensors tensors = fake_quant_tensors(old);
    EXPECT_TRUE(bit_equal(node->input(1)->tensor(), tensors.scale())) << node->name();
    if (fake_quant_spec(old).role != Role::kWeight) continue;
    const at::Tensor nearest = fake_quant_of(old)->quantize(old.input(0)->tensor(), tensors, {});
    EXPECT_TRUE(bit_equal(node->input(0)->tensor(), nearest)) << node->name();
  }
  reconstruct(resumed, *data, options);
  expect_same(resumed.graph, model.graph);
}

TEST(Reconstruct, AnInterruptedRunGoesOnToTheSameBits) {
  const Scratch folder;
  const auto data = random_images(24);
  QuantizedModel whole = calibrated_net(*data), resumed = calibrated_net(*data);
  reconstruct(whole, *data, quick("qdrop", 30));
  ReconstructOptions options = quick("qdrop", 30);
  options.checkpoint = folder.path();
  options.unit_done = [](const UnitRecord&, std::size_t index, std::size_t) {
    if (index == 2) fail("interrupted");
  };
  EXPECT_ERROR(reconstruct(resumed, *data, options), "interrupted");
  options.unit_done = {};
  const ReconstructionRecord record = reconstruct(resumed, *data, options);
  EXPECT_TRUE(record.units[0].resumed && record.units[1].resumed);
  EXPECT_FALSE(record.units[2].resumed);
  EXPECT_LT(record.units[1].error_after, record.units[1].error_before);
  expect_same(whole.graph, resumed.graph);

  QuantizedModel other = calibrated_net(*data);
  options.unit_done = [&](const UnitRecord&, std::size_t, std::size_t) {
    EXPECT_ERROR(reconstruct(other, *data, options), "another process is working in '" + folder.path());
  };
  reconstruct(resumed = calibrated_net(*data), *data, options);
  options.unit_done = {};
  options.seed = 1;
  EXPECT_ERROR(reconstruct(other, *data, options), "units of another job", "seed");
}

TEST(Reconstruct, FixedBatchesAndOddNumbersOfItems) {
  const auto data = random_images(11);
  QuantizedModel model = prepare_by_platform(residual_net(4), "academic", few_bits(3));
  calibrate(model, *data);
  const ReconstructionRecord record = reconstruct(model, *data, quick("qdrop", 5));
  EXPECT_EQ(record.items, 8);  // the rest would be padded with copies
  QuantizedModel any = calibrated_net(*data);
  EXPECT_EQ(reconstruct(any, *data, quick("brecq", 5)).items, 11);
}

Graph ending_in(const std::string& op, Dim batch = Dim::symbol("N")) {
  Graph graph = residual_net(batch);
  Value& logits = *graph.outputs()[0];
  graph.clear_outputs();
  Node& node = graph.add(op, "end", {&logits});
  if (op == "ArgMax") node.attrs["axis"] = std::int64_t{1};
  if (op == "Reshape") graph.set_input(node, 1, &graph.add_constant("shape", at::tensor({320, -1}, at::kLong)));
  if (op == "ReduceMean") graph.set_input(node, 1, &graph.add_constant("axes", at::tensor({0}, at::kLong)));
  graph.add_output(node.output());
  infer_shapes(graph);
  return graph;
}

// What cannot be compared item by item ends no unit that learns.
TEST(Reconstruct, NetworksThatEndInClassesOrMeansLearnUpToThere) {
  const auto data = random_images(12);
  for (const char* op : {"ArgMax", "ReduceMean"}) {
    QuantizedModel model = prepare_by_platform(ending_in(op), "academic", few_bits(3));
    calibrate(model, *data);
    const ReconstructionRecord record = reconstruct(model, *data, quick("qdrop", 5));
    ASSERT_EQ(record.units.size(), 4U) << op;
    EXPECT_EQ(record.units.back().layers, std::vector<std::string>{"head"}) << op;
  }
}

// A Reshape that spells the batch out takes no other one, also where a unit looks whether it has converged.
TEST(Reconstruct, EndsEarlyWithALargeFixedBatchToo) {
  const auto data = random_images(320);
  QuantizedModel model = prepare_by_platform(ending_in("Reshape", 320), "academic", few_bits(3));
  calibrate(model, *data);
  ReconstructOptions options = quick("qdrop", 60);
  options.options.set("early_stop", 1.0);
  options.options.set("warm_up", 0.0);
  options.options.set("units", std::string("head"));
  EXPECT_EQ(reconstruct(model, *data, options).items, 320);
}

// NaN is no error of 0.
TEST(Reconstruct, RefusesANetworkThatGivesNan) {
  const auto data = random_images(8);
  QuantizedModel model = calibrated_net(*data);
  at::Tensor(model.graph.value("block1.conv2.bias").tensor())[0].fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_ERROR(reconstruct(model, *data, quick("adaround", 2)), "the float network gives NaN",
               "in the unit 'block1.conv2'");
}

TEST(Reconstruct, SaysWhatCannotBe) {
  const auto data = random_images(8);
  QuantizedModel model = calibrated_net(*data);
  EXPECT_ERROR(reconstruct(model, *data, quick("adaraund")), "unknown reconstruction method 'adaraund'", "adaround");
  ReconstructOptions options = quick("qdrop");
  options.options.set("prop", 0.5);
  EXPECT_ERROR(reconstruct(model, *data, options), "method 'qdrop'", "'prop'", "prob");
  options = quick("qdrop");
  options.options.set("prob", 1.5);
  EXPECT_ERROR(reconstruct(model, *data, options), "'prob' must lie between 0 and 1");
  options = quick("qdrop");
  options.options.set("b_range", std::string("20"));
  EXPECT_ERROR(reconstruct(model, *data, options), "'b_range' must be two numbers");
  for (const char* count : {"max_count", "joint_count", "batch"}) {
    options = quick("qdrop");
    options.options.set(count, 1.5);
    EXPECT_ERROR(reconstruct(model, *data, options), concat("'", count, "' must be a whole number, not 1.5"));
  }
  for (const char* name : {"bf16", "half", "keep_gpu", "capture", "early_stop"}) {
    options = quick("qdrop");
    options.options.set(name, 2.0);
    EXPECT_ERROR(reconstruct(model, *data, options), concat("'", name, "' must be 0 or 1, not 2"));
  }
  options = quick("qdrop");
  options.options.set("units", std::string(","));
  EXPECT_ERROR(reconstruct(model, *data, options), "'units' names no layer");
  EXPECT_ERROR(find_units(ending_in("ArgMax"), {"block", {"end"}}), "has a layer that could learn ('end')");
  options = quick("qdrop");
  options.options.set("exclude_node_prefix", std::string("blok"));
  EXPECT_ERROR(reconstruct(model, *data, options), "unknown layer prefix 'blok' in 'exclude_node_prefix'");
  QuantizedModel prepared = prepare_by_platform(residual_net(), "academic", few_bits(3));
  EXPECT_ERROR(reconstruct(prepared, *data, quick("qdrop")), "calibrate it first");
  reconstruct(model, *data, quick("qdrop", 2));
  EXPECT_ERROR(reconstruct(model, *data, quick("qdrop")), "the model is reconstructed already");
}

TEST(Reconstruct, ExcludedLayersLearnNothing) {
  const auto data = random_images(16);
  QuantizedModel model = calibrated_net(*data);
  const Graph before = model.graph.clone();
  ReconstructOptions options = quick("networkwise", 10);
  options.options.set("exclude_node_prefix", std::string("block0.conv1, stem"));
  const ReconstructionRecord record = reconstruct(model, *data, options);
  const auto stays = [&](const std::string& name) {
    return before.value(name).tensor().equal(model.graph.value(name).tensor());
  };
  EXPECT_TRUE(stays("block0.conv1.weight"));
  EXPECT_TRUE(stays("block0.conv1.bias"));
  EXPECT_FALSE(stays("block0.conv2.bias"));
  EXPECT_NE(record.units[1].note.find("'block0.conv1' learns nothing: it is excluded"), std::string::npos);
}

// Nearly all that can be gained, with fewer iterations.
TEST(Reconstruct, EarlyStopEndsUnitsThatGainNothing) {
  const auto data = random_images(16);
  QuantizedModel early = calibrated_net(*data), whole = calibrated_net(*data);
  ReconstructOptions options = quick("adaround", 5000);
  const ReconstructionRecord all = reconstruct(whole, *data, options);
  options.options.set("early_stop", 1.0);
  const ReconstructionRecord record = reconstruct(early, *data, options);
  double gained = 0, gained_by_all = 0, iterations = 0;
  for (std::size_t i = 0; i < record.units.size(); ++i) {
    iterations += static_cast<double>(record.units[i].iterations) / 5000 / static_cast<double>(record.units.size());
    gained += record.units[i].error_before - record.units[i].error_after;
    gained_by_all += all.units[i].error_before - all.units[i].error_after;
    EXPECT_GE(record.units[i].iterations, 0.2 * 5000 + 1000);  // the warm-up, and four looks
  }
  EXPECT_LT(iterations, 0.9);
  EXPECT_GT(gained, 0.95 * gained_by_all);
}

// A method of a user's own: what a unit's weights are is halved, then rounded by their quantizers.
void halve(UnitWork& work, UnitRecord& record) {
  for (const Node* node : work.weights()) {
    const at::Tensor half = node->input(0)->tensor() / 2;
    work.replace(node->output(), half);
    const at::Tensor rows = work.draw(0);
    EXPECT_EQ(work.run(work.quantized_inputs(rows), 0).sizes(), work.target(rows).sizes());
    work.commit(*node->input(0), half);
  }
  record.iterations = static_cast<std::int64_t>(work.options().number("times"));
}
QUENCH_REGISTER_PTQ_METHOD("halve", halve, "halves weights", {{"times", 1.0, "how often"}}, "layer")

TEST(Reconstruct, TakesMethodsOfUsers) {
  const auto data = random_images(8);
  QuantizedModel model = calibrated_net(*data, 8);
  const at::Tensor before = model.graph.value("block1.conv2.weight").tensor().clone();
  ReconstructOptions options;
  options.method = "halve";
  const ReconstructionRecord record = reconstruct(model, *data, options);
  EXPECT_EQ(record.units.size(), 6U);
  EXPECT_EQ(record.units[0].iterations, 1);
  EXPECT_GT(record.units[0].moved, 0.5);  // most codes are another number's half
  const at::Tensor after = model.graph.value("block1.conv2.weight").tensor();
  EXPECT_LT((after - before / 2).abs().max().item<double>(), 0.01);
  EXPECT_FALSE(after.equal(before / 2));  // on the grid
}

TEST(Reconstruct, TakesWhatWasLearnedWhereNothingIsKept) {
  const auto data = random_images(16);
  QuantizedModel model = calibrated_net(*data);
  ReconstructOptions options = quick("brecq", 5);
  options.options.set("lr", 100.0);
  options.keep_better = false;
  double grown = 0;
  for (const UnitRecord& unit : reconstruct(model, *data, options).units) {
    grown += unit.error_after - unit.error_before;
    EXPECT_EQ(unit.note, "") << unit.name;
  }
  EXPECT_GT(grown, 0);
}

TEST(Reconstruct, NamesWhatHasNoEffect) {
  const auto data = random_images(11);
  const auto notes_of = [&](const std::string& method, const Options& given, Dim batch = Dim::symbol("N")) {
    QuantizedModel model = prepare_by_platform(residual_net(batch), "academic", few_bits(4));
    calibrate(model, *data);
    ReconstructOptions options = quick(method, 2);
    for (const auto& [name, value] : given.values()) options.options.set(name, value);
    return reconstruct(model, *data, options).notes;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(notes_of("adaround", Options{{"scale_lr", 0.5}}),
            Names{"'scale_lr' has no effect on 'adaround' with these options"});
  EXPECT_EQ(notes_of("blockwise", Options{{"warm_up", 0.5}, {"weight", 3.0}}),
            Names{"'warm_up', 'weight' have no effect on 'blockwise' with these options"});
  EXPECT_EQ(notes_of("qdrop",
                     Options{{"joint_lr", 0.5}, {"units", std::string("block0")}, {"pattern", std::string("layer")}}),
            (Names{"'joint_lr', 'pattern' have no effect on 'qdrop' with these options"}));
  EXPECT_EQ(notes_of("qdrop", Options{{"joint_lr", 0.5}, {"joint_count", 1.0}}), Names{});
  EXPECT_EQ(notes_of("brecq", Options{{"batch", 4.0}}, Dim(4)),
            Names{"the last 3 of 11 items are not learned from: the model fixes its batch at 4"});
  EXPECT_EQ(notes_of("brecq", Options{{"batch", 2.0}}, Dim(4)),
            (Names{"a step takes 4 items: the model fixes its batch at 4",
                   "the last 3 of 11 items are not learned from: the model fixes its batch at 4"}));
  EXPECT_EQ(notes_of("brecq", Options{{"batch", 8.0}}, Dim(1)), Names{});  // eight runs
}

// A step has as many items as it is told: it runs several times, and learns what an open batch would. Sums are added in
// another order: now and then a code of the smallest unit's eighty is another one, which is worth a few percent of it.
TEST(Reconstruct, ASmallFixedBatchRunsSeveralTimesPerStep) {
  const auto data = random_images(16);
  for (const double joint : {0.0, 10.0}) {
    std::vector<ReconstructionRecord> records;
    for (const Dim& batch : {Dim::symbol("N"), Dim(1), Dim(4)}) {
      QuantizedModel model = prepare_by_platform(residual_net(batch), "academic", few_bits(4));
      calibrate(model, *data);
      ReconstructOptions options = quick("brecq", 60);
      options.options.set("batch", 8.0);
      options.options.set("joint_count", joint);
      records.push_back(reconstruct(model, *data, options));
    }
    for (const ReconstructionRecord& one : records)
      for (std::size_t i = 0; i < one.units.size(); ++i) {
        const UnitRecord &unit = one.units[i], &open = records[0].units[i];
        EXPECT_LE(unit.error_after, unit.error_before) << unit.name;
        EXPECT_NEAR(unit.error_after, open.error_after, 0.1 * open.error_before) << unit.name;
      }
  }
}

// It asks on the whole network for what only units have.
void ask_behind(UnitWork& network, UnitRecord&) { network.prediction(network.draw(0)); }
void learn_nothing(UnitWork&, UnitRecord&) {}
QUENCH_REGISTER_PTQ_METHOD("ask_behind", learn_nothing, "asks", {}, "layer", nullptr, ask_behind)

TEST(Reconstruct, NothingLiesBehindTheWholeNetwork) {
  const auto data = random_images(8);
  QuantizedModel model = calibrated_net(*data, 8);
  ReconstructOptions options;
  options.method = "ask_behind";
  EXPECT_ERROR(reconstruct(model, *data, options), "nothing lies behind the whole network");
}

TEST(SaveValues, GivesInputsAndOutputsOfABlockOverTheWholeData) {
  const auto data = random_images(40);
  const Graph graph = residual_net();
  const auto saved = save_values(graph, *data, {"stem.relu", "block0.relu2"});
  const Batch all = *Loader(*data, {.batch_size = 40}).next();
  const NamedValues wanted = Executor(graph).run(bind_inputs(graph, all), {"stem.relu", "block0.relu2"});
  for (const auto& [name, value] : wanted) EXPECT_TRUE(at::allclose(saved.at(name), value.tensor(), 1e-5, 1e-5));
  const Unit block = find_unit(graph, "block0");
  EXPECT_EQ(block.inputs, std::vector<std::string>{"stem.relu"});
  EXPECT_EQ(block.outputs, std::vector<std::string>{"block0.relu2"});
}

// Once they were joined along whatever axis came first; eight channels of eight items look like rows.
TEST(SaveValues, RefusesWhatHasNoRowPerItem) {
  Graph graph = residual_net();
  Node& swapped = graph.add("Transpose", "swapped", {&graph.value("stem.relu")});
  swapped.attrs["perm"] = std::vector<std::int64_t>{1, 0, 2, 3};
  graph.add_output(swapped.output());
  infer_shapes(graph);
  EXPECT_ERROR(
      save_values(graph, *random_images(40), {"swapped"}),
      "'swapped' cannot be stacked over items: its first axis does not count them (it is [8, 32, 8, 8] for 32 items)");
  EXPECT_ERROR(save_values(graph, *random_images(8), {"swapped"}), "it is [8, 8, 8, 8] for 8 items");
}

}  // namespace
}  // namespace quench
