#include "data/spec_yaml.h"

#include <yaml-cpp/yaml.h>

#include "data/files.h"

namespace quench {
namespace {

DatasetSpec read(const std::string& text) { return spec_from_yaml(YAML::Load(text)); }
std::string refused(const std::string& text) {
  return message_of([&] { read(text); });
}

TEST(SpecYaml, IsTheSameAsAStringAndAsAMap) {
  const DatasetSpec wanted = parse_spec("cifar10:a/b.bin?limit=1024&norm=imagenet");
  EXPECT_EQ(read("cifar10:a/b.bin?limit=1024&norm=imagenet"), wanted);
  EXPECT_EQ(read("\"cifar10:a/b.bin?limit=1024&norm=imagenet\""), wanted);
  EXPECT_EQ(read("{kind: cifar10, path: a/b.bin, limit: 1024, norm: imagenet}"), wanted);
  EXPECT_EQ(read("kind: cifar10\npath: a/b.bin\nnorm: imagenet\nlimit: 1024\n"), wanted);
}

TEST(SpecYaml, TakesListsOfNumbers) {
  EXPECT_EQ(read("{kind: idx, path: x, mean: [0.5, 0.25, 1], std: 0.5}"), parse_spec("idx:x?mean=0.5,0.25,1&std=0.5"));
}

TEST(SpecYaml, TakesPathsThatTheStringCannotHold) {
  EXPECT_EQ(read("{kind: npz, path: 'a?b&c:d'}"), (DatasetSpec{"npz", "a?b&c:d", {}}));
}

TEST(SpecYaml, NamesTheNearestKindAndKey) {
  EXPECT_CONTAINS(refused("{kind: cifar, path: x}"), "unknown kind of data 'cifar'; did you mean 'cifar10'?");
  EXPECT_CONTAINS(refused("{kind: cifar10, path: x, lmit: 3}"),
                  "unknown option of 'cifar10:' 'lmit'; did you mean 'limit'?");
  EXPECT_CONTAINS(refused("cifar10:x?lmit=3"), "unknown option of 'cifar10:' 'lmit'; did you mean 'limit'?");
  EXPECT_CONTAINS(refused("{knd: cifar10, path: x}"), "the data has no 'kind'; is 'knd' meant for it?");
  EXPECT_CONTAINS(refused("{kind: cifar10, limit: 3}"), "the data has no 'path'\n");
}

TEST(SpecYaml, SaysWhatIsWrongAndWhere) {
  EXPECT_CONTAINS(refused("\n\n[a, b]"), "or a map with 'kind' and 'path'\n  in line 3");
  EXPECT_CONTAINS(refused(""), "or a map with 'kind' and 'path'");
  EXPECT_CONTAINS(refused("{kind: npz, path: x, limit: 1, limit: 2}"), "'limit' is given twice");
  EXPECT_CONTAINS(refused("{kind: npz, path: x, limit: }"), "'limit' must be a text, a number or a list of them");
  EXPECT_CONTAINS(refused("{kind: npz, path: x, limit: {a: 1}}"), "'limit' must be a text, a number or a list of them");
  EXPECT_CONTAINS(refused("{kind: npz, path: x, limit: [[1]]}"), "the list 'limit' must hold texts or numbers only");
  EXPECT_CONTAINS(refused("{kind: npz, path: ''}"), "'path' has no value");
  EXPECT_CONTAINS(refused("{[a]: npz}"), "a key must be a plain word");
  EXPECT_CONTAINS(refused("no/such/place"), "write KIND:PATH");
}

}  // namespace
}  // namespace quench
