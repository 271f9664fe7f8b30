// What a user is told about a config that cannot be read: what is wrong, where, and what would be right.
#include "config/jobs.h"

namespace quench {
namespace {

TEST(ConfigMessages, AnUnknownKeyComesWithTheNearestTheLineAndTheFile) {
  const std::string message = refused("version: 1\ndefaults:\n  weight:\n    obsrver: mse\n");
  EXPECT_CONTAINS(message, "unknown key 'obsrver' of 'defaults.weight'; did you mean 'observer'?");
  EXPECT_CONTAINS(message, "at line 4 of job.yaml");
  EXPECT_CONTAINS(refused("platfrom: tensorrt"), "unknown key 'platfrom'; did you mean 'platform'?");
  EXPECT_CONTAINS(refused("layers: [{match: a, wieght: {bits: 4}}]"),
                  "unknown key 'wieght' of 'layers.0'; did you mean");
  EXPECT_CONTAINS(refused("data: {calb: x}"), "did you mean 'calib'?");
  EXPECT_CONTAINS(refused("calibration: {batchs: 3}"), "did you mean 'batch");
  EXPECT_CONTAINS(refused("train: {epoch: 3}"), "did you mean 'epochs'?");
  EXPECT_CONTAINS(refused("deploy: {nam: 3}"), "did you mean 'name'?");
}

TEST(ConfigMessages, AWrongTypeIsNamedWithWhatWouldDo) {
  EXPECT_CONTAINS(refused("\ndefaults: {weight: {bits: eight}}"),
                  "'defaults.weight.bits' must be a whole number, at least 1, not 'eight'\n  at line 2 of job.yaml");
  EXPECT_CONTAINS(refused("defaults: {weight: {bits: 2.5}}"), "must be a whole number");
  EXPECT_CONTAINS(refused("defaults: {weight: {bits: 17}}"), "'defaults.weight.bits' must be 1 to 16");
  EXPECT_CONTAINS(refused("defaults: {weight: 8}"), "'defaults.weight' must be a map, not '8'");
  EXPECT_CONTAINS(refused("parity: maybe"), "'parity' must be true or false, not 'maybe'");
  EXPECT_CONTAINS(refused("defaults: {weight: {granularity: row}}"), "must be tensor | channel | group, not 'row'");
  EXPECT_CONTAINS(refused("bias_correction: quick"), "must be none | fast | sequential, not 'quick'");
  EXPECT_CONTAINS(refused("layers: {match: a}"), "'layers' must be a list of rules");
  EXPECT_CONTAINS(refused("excluded_ops: {a: 1}"), "'excluded_ops' must be a list of texts, not a map");
  EXPECT_CONTAINS(refused("fuse: [conv1, bn1]"), "'fuse' must be a list of lists of names");
  EXPECT_CONTAINS(refused("model: [a]"), "'model' must be a text, not a list");
  EXPECT_CONTAINS(refused("input_shape: [1, x]"), "'input_shape': 'x' is not a shape such as 1,3,224,224");
  EXPECT_CONTAINS(refused("input_shape: 1,0"), "'1,0' is not a shape");
  EXPECT_CONTAINS(refused("input_shape: 1,4:flaot"), "flaot");
  EXPECT_CONTAINS(refused("seed: -1"), "'seed' must be a whole number, at least 0, not '-1'");
  EXPECT_CONTAINS(refused("- a\n- b"), "'the config' must be a map, not a list");
}

TEST(ConfigMessages, NamesThatAreNotRegistered) {
  EXPECT_CONTAINS(refused("platform: tensorrrt"), "unknown platform 'tensorrrt'");
  EXPECT_CONTAINS(refused("\nplatform: tensorrrt"), "at line 2 of job.yaml");
  EXPECT_CONTAINS(refused("defaults: {weight: {observer: minmix}}"), "unknown observer 'minmix'");
  EXPECT_CONTAINS(refused("defaults: {weight: {fake_quant: lqs}}"),
                  "unknown fake quantizer 'lqs'; did you mean 'lsq'?");
  EXPECT_CONTAINS(refused("defaults: {weight: {observer: mse, observer_options: {q: 2}}}"),
                  "unknown option 'q' of observer 'mse'");
  EXPECT_CONTAINS(refused("defaults: {weight: {scheme: 'int8 symetric'}}"), "symetric");
  EXPECT_CONTAINS(refused("method: {name: adarund}"), "method 'adarund'; did you mean 'adaround'?");
  EXPECT_CONTAINS(refused("method: {name: qdrop, maxcount: 3}"), "did you mean 'max_count'?");
  EXPECT_CONTAINS(refused("method: {max_count: 3}"), "'method.name' is missing: adaround, brecq, qdrop");
}

TEST(ConfigMessages, RulesThatSayNothing) {
  EXPECT_CONTAINS(refused("layers: [{float: true}]"), "a rule needs 'match'");
  EXPECT_CONTAINS(refused("layers: [{match: a}]"), "the rule {match: a} says nothing");
}

TEST(ConfigMessages, DataSpecs) {
  EXPECT_CONTAINS(refused("data: {calib: {kind: cifar, path: x}}"),
                  "unknown kind of data 'cifar'; did you mean 'cifar10'?");
  EXPECT_CONTAINS(refused("data: {calib: {kind: cifar10, path: x, lmit: 3}}"), "did you mean 'limit'?");
  EXPECT_CONTAINS(refused("data: {calib: 'cifar10:x?lmit=3'}"), "did you mean 'limit'?");
  EXPECT_CONTAINS(refused("data: {calib: {knd: cifar10, path: x}}"),
                  "'data.calib.kind' is missing; is 'knd' meant for it?");
  EXPECT_CONTAINS(refused("\n\ndata: {calib: [a, b]}"), "or a map with 'kind' and 'path'\n  at line 3");
  EXPECT_CONTAINS(refused("data: {calib: {kind: npz, path: x, limit: }}"), "'data.calib.limit' must be a text");
  EXPECT_CONTAINS(refused("data: {calib: {kind: npz, path: x, limit: {a: 1}}}"), "'data.calib.limit' must be");
  EXPECT_CONTAINS(refused("data: {calib: {kind: npz, path: ''}}"), "'data.calib.path' has no value");
  EXPECT_CONTAINS(refused("data: {calib: no/such/place}"), "write KIND:PATH");
}

TEST(ConfigMessages, KeysGivenTwice) {
  EXPECT_CONTAINS(refused("seed: 1\nmodel: a\nseed: 2"),
                  "the key 'seed' is given twice; the first is at line 1 of job.yaml\n  at line 3 of job.yaml");
  EXPECT_CONTAINS(refused("{\"seed\": 1, \"seed\": 2}"), "the key 'seed' is given twice");
}

TEST(ConfigMessages, WhatIsNoConfig) {
  EXPECT_CONTAINS(refused(""), "the config is empty");
  EXPECT_CONTAINS(refused("a: [1, 2"), "neither YAML nor JSON");
  EXPECT_CONTAINS(refused("model: a\nseed: \"x\n"), "at line ");
  EXPECT_CONTAINS(refused("version: 2"), "the config has version 2; this quench reads version 1");
  EXPECT_CONTAINS(refused("a: 1\n---\nb: 2"), "more than one document");
  EXPECT_CONTAINS(refused("{[a]: 1}"), "a key must be a plain word");
  EXPECT_CONTAINS(refused("model: !!python/object:torch.nn.Linear {}"), "a Python object");
  EXPECT_CONTAINS(message_of([] { read_config("no/such.yaml"); }), "no/such.yaml");
}

TEST(ConfigMessages, FilesMadeToHurt) {
  EXPECT_CONTAINS(refused("fuse: " + std::string(100, '[') + std::string(100, ']')), "nests more than 64 deep");
  EXPECT_CONTAINS(refused("fuse: " + std::string(100000, '[')), "nests more than 64 deep");
  EXPECT_CONTAINS(refused("a: {<<: 3}"), "'<<' must be a map");
  std::string copies;  // every anchor keeps a copy of what is below it
  for (int i = 0; i < 50; ++i) copies += "&b" + std::to_string(i) + " [";
  for (int i = 0; i < 20000; ++i) copies += "x, ";
  copies += "x" + std::string(50, ']');
  EXPECT_CONTAINS(refused("a: " + copies), "values, aliases written out");
  EXPECT_CONTAINS(refused("a: &a [*a]"), "refers to the value it is part of");
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) laughs += ", " + before;
    laughs += "]\n";
  }
  EXPECT_CONTAINS(refused(laughs), "values, aliases written out");
}

TEST(ConfigMessages, UnbuiltStagesAreRefusedByName) {
  const JobConfig job = job_of("extra_qconfig_dict: {}\nconcrete_args: {a: 1}");
  EXPECT_CONTAINS(message_of([&] { refuse_unbuilt(job, JobStage::kTrace); }), "'concrete_args' at line 2 of job.yaml");
  EXPECT_EQ(message_of([&] { refuse_unbuilt(job, JobStage::kQuantize); }), "(no error)");
}

}  // namespace
}  // namespace quench
