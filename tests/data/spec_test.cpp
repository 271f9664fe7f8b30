#include <ATen/ATen.h>

#include "data/files.h"
#include "quench/data.h"

namespace quench {
namespace {

TEST(Spec, SplitsKindPathAndOptions) {
  const DatasetSpec spec = parse_spec("idx:a/b.gz?labels=c.gz&norm=mnist");
  EXPECT_EQ(spec, (DatasetSpec{"idx", "a/b.gz", {{"labels", "c.gz"}, {"norm", "mnist"}}}));
  EXPECT_EQ(parse_spec("npz:x.npz"), (DatasetSpec{"npz", "x.npz", {}}));
}

TEST(Spec, SurvivesTheTextForm) {
  for (const char* text :
       {"npz:x.npz", "idx:a?labels=b&norm=mnist", "npz:what?.npz?", "npz:what?.npz?limit=3", "npz:C:/x.npz?limit=3"}) {
    EXPECT_EQ(to_string(parse_spec(text)), text);
  }
  EXPECT_CONTAINS(message_of([] { to_string({"npz", "x", {{"input", "a&b"}}}); }), "holds a '?' or '&'");
}

TEST(Spec, TakesABareFolderForImages) {
  const TempFolder folder;
  EXPECT_EQ(parse_spec(folder.path() + "?norm=none"), (DatasetSpec{"images", folder.path(), {{"norm", "none"}}}));
}

TEST(Spec, SaysWhatIsWrongWithIt) {
  EXPECT_CONTAINS(message_of([] { parse_spec("no/such/place"); }), "write KIND:PATH with one of cifar10, i");
  EXPECT_CONTAINS(message_of([] { parse_spec("npz:"); }), "has no path; write npz:PATH");
  EXPECT_CONTAINS(message_of([] { parse_spec("npz:x?limit"); }), "'limit' is not of the form key=value");
  EXPECT_CONTAINS(message_of([] { parse_spec("npz:x?limit=1&limit=2"); }),
                  "'limit' is given twice\n  in the data 'npz:x?limit=1&limit=2'");
}

TEST(Spec, ReadsOptionValues) {
  const DatasetSpec spec{"npz", "x", {{"n", "12"}, {"bad", "1x"}, {"list", "0.5,-1e-2"}, {"none", ""}}};
  EXPECT_EQ(integer_option(spec, "n", 1), 12);
  EXPECT_EQ(integer_option(spec, "absent", 1), std::nullopt);
  EXPECT_EQ(numbers_option(spec, "list"), (std::vector<double>{0.5, -0.01}));
  EXPECT_CONTAINS(message_of([&] { integer_option(spec, "bad", 1); }), "bad=1x is not an integer of at least 1");
  EXPECT_CONTAINS(message_of([&] { integer_option(spec, "n", 13); }), "n=12 is not an integer of at least 13");
  EXPECT_CONTAINS(message_of([&] { numbers_option(spec, "bad"); }), "is not a list of numbers");
  EXPECT_CONTAINS(message_of([&] { text_option(spec, "none"); }), "none= has no value");
}

TEST(OpenDataset, NamesTheNearestKindAndOption) {
  EXPECT_CONTAINS(message_of([] { open_dataset("cifar:x?norm=none"); }),
                  "unknown kind of data 'cifar'; did you mean 'cifar10'?");
  const std::string message = message_of([] { open_dataset("cifar10:x?norms=none"); });
  EXPECT_CONTAINS(message, "unknown option 'norms' of 'cifar10:'; did you mean 'norm'?");
  EXPECT_CONTAINS(message, "in the data 'cifar10:x'");
}

TEST(OpenDataset, TakesThePartThatLimitAndOffsetAskFor) {
  const TempFolder folder;
  const std::string path = folder.write("t.u16", std::string("\1\0\2\0\3\0\4\0\5\0\6\0", 12));
  const auto part = open_dataset("tokens:" + path + "?len=2&offset=1&limit=1");
  ASSERT_EQ(part->size(), 1);
  EXPECT_EQ(part->get(0).inputs.tensor()[0].item<std::int64_t>(), 3);
  EXPECT_EQ(part->task(), Task::kNextToken);
  EXPECT_EQ(open_dataset("tokens:" + path + "?len=2&limit=100")->size(), 3);
  EXPECT_CONTAINS(message_of([&] { open_dataset("tokens:" + path + "?len=2&offset=3"); }),
                  "offset=3 leaves nothing of 3 items");
  EXPECT_CONTAINS(message_of([&] { open_dataset("tokens:" + path + "?len=2&limit=0"); }), "limit=0 is not an integer");
}

class Twins : public Dataset {
 public:
  std::int64_t size() const override { return 2; }
  Sample get(std::int64_t index) const override { return {at::full({1}, index), index, "twin"}; }
  Task task() const override { return Task::kClassify; }
};
std::unique_ptr<Dataset> open_twins(const DatasetSpec&, const InputHint&) { return std::make_unique<Twins>(); }
QUENCH_REGISTER_DATASET("twins", open_twins, "two items", "colour")

TEST(OpenDataset, OpensAKindFromElsewhere) {
  EXPECT_EQ(open_dataset("twins:any?colour=red")->size(), 2);
  EXPECT_CONTAINS(message_of([] { open_dataset("twins:any?color=red"); }), "did you mean 'colour'?");
}

}  // namespace
}  // namespace quench
