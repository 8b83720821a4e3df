// Ready-made functions of elements, and what balances classes.
#include "tenon/element_maps.h"

#include <gtest/gtest.h>

#include "tenon/class_balance.h"
#include "tenon/dataset.h"
#include "tenon/example.h"
#include "unit/data/chain_testing.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

Element applied(const ElementMap& map, Element element) { return map.op()->apply(std::move(element), {}); }

Element record() {
  ExampleBuilder builder;
  builder.add_bytes("png", "abcdef");
  builder.add_int64("class", 3);
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6};
  builder.add_floats("weights", weights);
  builder.add_int64s("none", {});
  return {{"record", text_array(builder.finish())}, {"path", text_array("p")}};
}

TEST(ParseExample, MakesFeaturesOfARecord) {
  const Element e = applied(parse_example({{"image", {.dtype = DType::kU8, .name = "png"}},
                                           {"label", {.dtype = DType::kI32, .name = "class", .offset = 1}},
                                           {"weights", {DType::kBF16, {-1, 2}}},
                                           {"bytes", {DType::kU8, {2, 3}, "png"}},
                                           {"none", {.dtype = DType::kF32, .shape = {2}, .fallback = 0.5}},
                                           {"more", {.dtype = DType::kI64, .shape = {-1}, .fallback = 7}}}),
                            record());
  EXPECT_EQ(text_of(e.at("image")), "abcdef");
  EXPECT_EQ(to_text(e.at("label")), "i32[] 2");
  EXPECT_EQ(to_text(e.at("weights")), "bf16[3,2] 1 2 3 4 5 6");
  EXPECT_EQ(to_text(e.at("bytes")), "u8[2,3] 97 98 99 100 101 102");
  EXPECT_EQ(to_text(e.at("none")), "f32[2] 0.5 0.5");
  EXPECT_EQ(to_text(e.at("more")), "i64[0]");
  EXPECT_EQ(text_of(e.at("path")), "p");
  EXPECT_EQ(e.count("record"), 0u);
}

TEST(ParseExample, NamesWhatDoesNotFit) {
  const auto error = [](const std::string& name, const ExampleFeature& feature) {
    return error_of([&] { applied(parse_example({{name, feature}}), record()); });
  };
  EXPECT_EQ(error("label", {DType::kI32}), "the record has no feature 'label'; it has: png, class, weights, none");
  EXPECT_EQ(error("weights", {DType::kF32, {5}}), "feature 'weights': expected 5 floats, found 6");
  EXPECT_EQ(error("weights", {DType::kF32, {-1, 4}}), "feature 'weights': expected 4 times some floats, found 6");
  EXPECT_EQ(error("weights", {DType::kI32, {6}}), "feature 'weights': expected integers, found 6 floats");
  EXPECT_EQ(error("png", {DType::kF32}), "feature 'png': expected numbers, found 1 byte strings");
  EXPECT_EQ(error("class", {DType::kF32, {-1, -1}}),
            "parse_example: feature 'class' has several axes of size -1, expected one at most");
  EXPECT_EQ(error_of([] {
              applied(parse_example({{"x", {}}}), {{"record", text_array("\x0a\x7f")}});
            }).substr(0, 16),
            "tf.train.Example");
}

TEST(FeatureMaps, ChangeFeatures) {
  const Element e = {{"label", Array({int32_t{2}, int32_t{0}})}, {"x", Array(1.5f)}};
  EXPECT_EQ(to_text(applied(one_hot("label", 3), e).at("label")), "f32[2,3] 0 0 1 1 0 0");
  EXPECT_EQ(error_of([&] { applied(one_hot("label", 2), e); }), "one_hot: feature 'label' is 2, expected 0 to 1");
  EXPECT_EQ(error_of([&] { applied(one_hot("x", 2), e); }), "one_hot: feature 'x' is f32[], expected integers");
  EXPECT_EQ(error_of([&] { applied(one_hot("y", 2), e); }),
            "one_hot: the element has no feature 'y'; it has: label, x");
  EXPECT_EQ(to_text(applied(cast_features({{"label", DType::kF32}}), e).at("label")), "f32[2] 2 0");
  EXPECT_EQ(error_of([&] {
              applied(cast_features({{"x", DType::kI32}}), e);
            }),
            "cast_features: feature 'x' is f32[], and cannot become i32");
  const Element renamed = applied(rename_features({{"x", "label"}, {"label", "y"}}), e);
  EXPECT_EQ(to_text(renamed.at("label")), "f32[] 1.5");
  EXPECT_EQ(renamed.count("y"), 1u);
  EXPECT_EQ(error_of([&] {
              applied(rename_features({{"x", "label"}}), e);
            }),
            "rename_features: the element has a feature 'label' twice");
  EXPECT_EQ(applied(select_features({"x"}), e).size(), 1u);
  EXPECT_EQ(applied(drop_features({"x"}), e).count("x"), 0u);
  EXPECT_EQ(error_of([&] { applied(drop_features({"z"}), e); }),
            "drop_features: the element has no feature 'z'; it has: label, x");
}

TEST(FeatureMaps, ReadText) {
  const Element e = {{"line", text_array(" -7 ")}};
  EXPECT_EQ(to_text(applied(text_to_number("line", DType::kI64), e).at("line")), "i64[] -7");
  EXPECT_EQ(to_text(applied(text_to_number("line"), e).at("line")), "f32[] -7");
  EXPECT_EQ(error_of([] {
              applied(text_to_number("line"), {{"line", text_array("7 a")}});
            }),
            "text_to_number: feature 'line' is '7 a', expected a number of f32");
  std::vector<std::string> all = {"ab_"};
  for (const char c : std::string("ab_\\0123456789;<pad>EOSu")) {
    if (std::find(all.begin(), all.end(), std::string(1, c)) == all.end()) all.emplace_back(1, c);
  }
  const Subtokenizer words = Subtokenizer::from_subtokens(all).take();
  std::vector<int32_t> ids;
  check(words.encode("ab b", ids));
  const Element tokens = applied(subtokens(words, "line", "ids"), {{"line", text_array("ab b")}});
  std::vector<int32_t> found = tokens.at("ids").to<int32_t>();
  EXPECT_EQ(found.back(), Subtokenizer::kEos);
  found.pop_back();
  EXPECT_EQ(found, ids);
  EXPECT_EQ(applied(subtokens(words, "line", "line", false), {{"line", text_array("ab b")}}).at("line").to<int32_t>(),
            ids);
}

// Expected: sklearn.utils.class_weight.compute_class_weight("balanced", classes=[0, 1, 3], y=[0,0,0,0,1,1,3]).
TEST(ClassBalance, WeighsLikeScikitLearn) {
  const std::vector<int32_t> labels = {0, 0, 0, 0, 1, 1, 3};
  EXPECT_EQ(class_counts(labels), (std::vector<int64_t>{4, 2, 0, 1}));
  const std::map<int64_t, double> weights = class_weights(class_counts(labels, 5));
  EXPECT_EQ(weights.size(), 3u);
  EXPECT_NEAR(weights.at(0), 0.58333333, 1e-8);
  EXPECT_NEAR(weights.at(1), 1.16666667, 1e-8);
  EXPECT_NEAR(weights.at(3), 2.33333333, 1e-8);
  EXPECT_EQ(error_of([&] { class_counts(labels, 3); }), "class_counts: a label is 3, expected 0 to 2");
}

TEST(ClassBalance, SplitsEachClassAlike) {
  std::vector<int32_t> labels;
  for (int i = 0; i < 100; ++i) labels.push_back(i < 60 ? 0 : i < 90 ? 1 : 2);
  const SplitIndices split = stratified_split(labels, 0.2, 3);
  std::vector<int64_t> held(3), all = split.train;
  for (const int64_t i : split.held_out) ++held[static_cast<size_t>(labels[static_cast<size_t>(i)])];
  EXPECT_EQ(held, (std::vector<int64_t>{12, 6, 2}));
  all.insert(all.end(), split.held_out.begin(), split.held_out.end());
  std::sort(all.begin(), all.end());
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(all.at(static_cast<size_t>(i)), i);
  EXPECT_EQ(stratified_split(labels, 0.2, 3).held_out, split.held_out);
  EXPECT_NE(stratified_split(labels, 0.2, 4).held_out, split.held_out);
  EXPECT_EQ(stratified_split(std::vector<int32_t>{0, 0, 0, 1, 1}, 0.1).held_out.size(), 2u) << "one of each class";
  labels.push_back(3);
  EXPECT_EQ(error_of([&] { stratified_split(labels, 0.2); }),
            "stratified_split: class 3 has one example, expected at least two, one for either side");
  const SplitIndices kept = stratified_split(labels, 0.2, 3, SingleExamples::kTrain);
  EXPECT_EQ(kept.held_out, split.held_out) << "a class of one example takes none of the others'";
  EXPECT_EQ(kept.train.size(), split.train.size() + 1);
  EXPECT_EQ(kept.train.back(), std::ssize(labels) - 1);
  EXPECT_EQ(error_of([] { stratified_split(std::vector<int32_t>{0, 1, 2}, 0.5, 0, SingleExamples::kTrain); }),
            "stratified_split: every class has one example, expected one with at least two");
  EXPECT_EQ(error_of([&] { stratified_split(labels, 1.0); }),
            "stratified_split: fraction is 1, expected more than 0 and less than 1");
}

TEST(ClassBalance, SplitsADataset) {
  TemporaryDirectory directory;
  std::vector<std::string> paths;
  for (int i = 0; i < 10; ++i) paths.push_back(directory.write(std::to_string(i), ""));
  const Dataset data = Dataset::from_files(paths, {0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  const SplitDatasets split = stratified_split(data, 0.4);
  EXPECT_EQ(split.train.cardinality(), 6);
  EXPECT_EQ(class_counts(labels_of(split.train)), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(class_counts(labels_of(split.held_out)), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(error_of([&] { labels_of(data, "path"); }).substr(0, 27), "labels_of: feature 'path' i");
  EXPECT_EQ(error_of([&] { data.pick({10}); }), "pick: there is no place 10; the data have 10 elements");
}

TEST(FeatureMaps, PadText) {
  const Dataset data = Dataset::range(0, 2).map([](Element e) {
    return Element{{"t", text_array(e.at("x").item() > 0 ? "abc" : "d")}};
  });
  const Element batch = *data.padded_batch(2, {.padding_values = {{"t", 32}}}).begin();
  EXPECT_EQ(to_text(batch.at("t")), "u8[2,3] 100 32 32 97 98 99");
}

}  // namespace
}  // namespace tenon
