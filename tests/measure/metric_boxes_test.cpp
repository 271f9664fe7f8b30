#include "measure/metrics/boxes.h"

#include "measure/metric_items.h"
#include "support/expect_error.h"

namespace quench {
namespace {

MetricItem item_with_boxes(const at::Tensor& boxes, const at::Tensor& scores, const at::Tensor& labels) {
  MetricItem item;
  item.name = "item";
  item.outputs = {{"boxes", boxes}, {"scores", scores}, {"labels", labels}};
  item.inputs[""] = at::zeros({3, 100, 200});  // height 100, width 200
  return item;
}

BoxLayout layout(const std::string& options) {
  return BoxLayout(parse_metric("map" + (options.empty() ? "" : ":" + options)).options);
}

void expect_box(const Box& box, std::array<double, 4> wanted) {
  EXPECT_NEAR(box.left, wanted[0], 1e-9);
  EXPECT_NEAR(box.top, wanted[1], 1e-9);
  EXPECT_NEAR(box.right, wanted[2], 1e-9);
  EXPECT_NEAR(box.bottom, wanted[3], 1e-9);
}

TEST(BoxLayout, ReadsEachFormat) {
  const MetricItem item =
      item_with_boxes(at::tensor({10, 20, 30, 40}).view({1, 4}), at::tensor({0.5}), at::tensor({7}));
  const std::vector<Detection> found = layout("").detections(item);
  ASSERT_EQ(found.size(), 1U);
  expect_box(found[0].box, {10, 20, 30, 40});
  EXPECT_EQ(found[0].score, 0.5);
  EXPECT_EQ(found[0].category, 7);
  expect_box(layout("format=xywh").detections(item)[0].box, {10, 20, 40, 60});
  expect_box(layout("format=cxcywh").detections(item)[0].box, {-5, 0, 25, 40});
}

TEST(BoxLayout, BringsBoxesBackToThePicture) {
  MetricItem item = item_with_boxes(at::tensor({0.25, 0.1, 0.5, 0.9}).view({1, 4}), at::tensor({0.5}), at::tensor({7}));
  item.placement = {0.5, 0.25, 10, 20};
  expect_box(layout("normalized=1").detections(item)[0].box,
             {(50 - 10) / 0.5, (10 - 20) / 0.25, (100 - 10) / 0.5, (90 - 20) / 0.25});
  expect_box(layout("space=picture").detections(item)[0].box, {0.25, 0.1, 0.5, 0.9});
}

TEST(BoxLayout, ReadsOneOutputWithEverything) {
  MetricItem item;
  item.name = "item";
  item.outputs["dets"] = at::tensor({1.0F, 2.0F, 3.0F, 4.0F, 0.75F, 5.0F}).view({1, 1, 6});
  const Detection found = layout("detections=dets").detections(item)[0];
  expect_box(found.box, {1, 2, 3, 4});
  EXPECT_EQ(found.score, 0.75);
  EXPECT_EQ(found.category, 5);
  item.outputs["dets"] = at::empty({0, 6});
  EXPECT_TRUE(layout("detections=dets").detections(item).empty());
}

TEST(BoxLayout, MapsIndicesToIds) {
  MetricItem item = item_with_boxes(at::zeros({3, 4}), at::ones({3}), at::tensor({1, 2, 4}));
  item.targets["categories"] = at::tensor({1, 3, 90}, at::kLong);
  const std::vector<Detection> found = layout("label=index,offset=-1").detections(item);
  EXPECT_EQ(found[0].category, 1);
  EXPECT_EQ(found[1].category, 3);
  EXPECT_LT(found[2].category, 0);  // the data has three categories
}

TEST(BoxLayout, SaysWhatDoesNotFit) {
  EXPECT_ERROR(layout("format=xyzw"), "unknown value 'xyzw' of 'format'");
  EXPECT_ERROR(layout("").detections(item_with_boxes(at::zeros({4, 3}), at::ones({3}), at::ones({3}))),
               "the output 'boxes' for item 'item' has the shape [4, 3]; a last axis of 4 was expected");
  EXPECT_ERROR(layout("").detections(item_with_boxes(at::zeros({2, 4}), at::ones({3}), at::ones({2}))),
               "item 'item' has 2 boxes, 3 scores and 2 labels");
  EXPECT_ERROR(layout("").detections(item_with_boxes(at::zeros({1, 4}), at::full({1}, NAN), at::ones({1}))),
               "the model gives NaN for item 'item'");
  EXPECT_ERROR(layout("").detections(item_with_boxes(at::zeros({1, 4}), at::ones({1}), at::full({1}, 1.5))),
               "the model's labels for item 'item' must be whole numbers, but one is 1.5");
}

TEST(TrueBoxes, AreRefusedWhereTheyDoNotFit) {
  MetricItem item;
  item.name = "item";
  item.targets = {{"boxes", at::tensor({0, 0, 4, 5, 1, 1, 0, 2}).view({2, 4})}, {"labels", at::tensor({3, 0})}};
  EXPECT_ERROR(true_boxes(item), "true box 1 of item 'item' is [1, 1, 0, 2]: left, top, right and bottom");
  item.targets["boxes"] = at::tensor({4, 5, 0, 0}).view({1, 4});
  item.targets["labels"] = at::tensor({3});
  EXPECT_ERROR(true_boxes(item), "true box 0 of item 'item' is [4, 5, 0, 0]");
  item.targets["labels"] = at::tensor({0.5F});
  EXPECT_ERROR(true_boxes(item), "the true labels of item 'item' must be whole numbers, but one is 0.5");
}

TEST(TrueBoxes, TakeWhatTheTargetsHave) {
  MetricItem item;
  item.name = "item";
  item.targets = {{"boxes", at::tensor({0, 0, 4, 5, 1, 1, 2, 2}).view({2, 4})}, {"labels", at::tensor({3, -1})}};
  const std::vector<TrueBox> plain = true_boxes(item);
  ASSERT_EQ(plain.size(), 1U);  // a negative label pads
  EXPECT_EQ(plain[0].area, 20);
  EXPECT_FALSE(plain[0].crowd);
  item.targets["areas"] = at::tensor({12.5, 1.0});
  item.targets["crowd"] = at::tensor({1, 0});
  EXPECT_EQ(true_boxes(item)[0].area, 12.5);
  EXPECT_TRUE(true_boxes(item)[0].crowd);
  item.targets.erase("boxes");
  EXPECT_ERROR(true_boxes(item), "item 'item' has no target 'boxes': boxes come with targets=coco:FILE");
}

}  // namespace
}  // namespace quench
