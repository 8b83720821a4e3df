// Verbs of a Dataset; expected orders are those of tf.data on the same input, or counted by hand.
#include <gtest/gtest.h>

#include <set>

#include "tenon/dataset.h"
#include "tenon/input.h"
#include "unit/data/chain_testing.h"
#include "unit/data/input_testing.h"

namespace tenon {
namespace {

// What a pipeline gives of an epoch, batch by batch.
std::vector<Numbers> batches_of(const Dataset& data, int threads = 2, PipelineState from = {}) {
  std::vector<std::vector<std::byte>> memory;
  std::vector<BatchSlot> slots(3);
  for (BatchSlot& slot : slots)
    for (const FeatureSpec& spec : data.specs()) {
      memory.emplace_back(static_cast<size_t>(spec.batch_type(data.options().batch_size).bytes()));
      slot.features.push_back(memory.back().data());
    }
  const auto pool = make_thread_pool(threads);
  const auto pipeline = InputPipeline::create(data, *pool, slots, from).take();
  std::vector<Numbers> out;
  for (Batch batch = pipeline->next().take(); !batch.end() && out.size() < 100; batch = pipeline->next().take()) {
    const auto* rows = static_cast<const int64_t*>(slots[static_cast<size_t>(batch.slot)].features[0]);
    out.emplace_back(rows, rows + batch.rows * data.specs()[0].type.shape.elements());
    pipeline->release(batch.slot);
  }
  return out;
}

Element plus(Element e, int64_t n) {
  return {{"x", Array(e.at("x").to<int64_t>().at(0) + n)}};
}

TEST(Chain, CountsLikeTfData) {
  EXPECT_EQ(flat(Dataset::range(0, 5)), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(flat(Dataset::range(1, 5, 2)), (Numbers{1, 3}));
  EXPECT_EQ(flat(Dataset::range(5, 1, -2)), (Numbers{5, 3}));
  EXPECT_EQ(flat(Dataset::range(0, 10).take(3)), (Numbers{0, 1, 2}));
  EXPECT_EQ(flat(Dataset::range(0, 10).skip(8)), (Numbers{8, 9}));
  EXPECT_EQ(flat(Dataset::range(0, 10).skip(20)), (Numbers{}));
  EXPECT_EQ(flat(Dataset::range(0, 10).shard(3, 1)), (Numbers{1, 4, 7}));
  EXPECT_EQ(flat(Dataset::range(0, 3).repeat(2)), (Numbers{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(flat(Dataset::range(0, 3).repeat().take(7)), (Numbers{0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(flat(Dataset::range(0, 2).concatenate(Dataset::range(7, 9))), (Numbers{0, 1, 7, 8}));
  EXPECT_EQ(Dataset::range(0, 10).shard(3, 1).cardinality(), 3);
  EXPECT_EQ(Dataset::range(0, 10).batch(4).cardinality(), 3);
  EXPECT_EQ(Dataset::range(0, 10).batch(4, true).cardinality(), 2);
  EXPECT_EQ(Dataset::range(0, 3).repeat().cardinality(), kInfiniteCardinality);
  EXPECT_EQ(Dataset::range(0, 3).filter([](const Element&) { return true; }).cardinality(), kUnknownCardinality);
}

TEST(Chain, MapsFiltersAndBatches) {
  const Dataset even = Dataset::range(0, 10).filter([](const Element& e) { return e.at("x").to<int64_t>()[0] % 2 == 0; });
  EXPECT_EQ(flat(even, 4), (Numbers{0, 2, 4, 6, 8}));
  const Dataset mapped = even.map([](Element e) { return plus(std::move(e), 100); });
  EXPECT_EQ(elements_of(mapped.batch(2), 3), (std::vector<Numbers>{{100, 102}, {104, 106}, {108}}));
  EXPECT_EQ(elements_of(mapped.batch(2, true)), (std::vector<Numbers>{{100, 102}, {104, 106}}));
  EXPECT_EQ(flat(mapped.batch(2).unbatch()), (Numbers{100, 102, 104, 106, 108}));
  EXPECT_EQ(elements_of(Dataset::range(0, 7).window(3, 2)), (std::vector<Numbers>{{0, 1, 2}, {2, 3, 4}, {4, 5, 6}, {6}}));
  EXPECT_EQ(elements_of(Dataset::range(0, 7).window(3, 1, 2, true)), (std::vector<Numbers>{{0, 2, 4}, {1, 3, 5}, {2, 4, 6}}));
}

TEST(Chain, InterleavesLikeTfData) {
  const auto three = [](const Element& e) {
    const int64_t x = e.at("x").to<int64_t>()[0];
    return Dataset::range(10 * x, 10 * x + 3);
  };
  EXPECT_EQ(flat(Dataset::range(1, 4).interleave(three, 2, 2)), (Numbers{10, 11, 20, 21, 12, 22, 30, 31, 32}));
  EXPECT_EQ(flat(Dataset::range(1, 3).flat_map(three)), (Numbers{10, 11, 12, 20, 21, 22}));
}

TEST(Chain, ShufflesEachEpochAnew) {
  const Dataset data = Dataset::range(0, 100).shuffle(30, {.seed = 5});
  const Numbers first = flat(data), second = flat(data, 1, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, flat(data, 4));
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 100u);
  for (size_t i = 0; i < first.size(); ++i) EXPECT_LT(first[i], static_cast<int64_t>(i) + 30);
  const Numbers twice = flat(data.repeat(2));
  EXPECT_EQ(Numbers(twice.begin(), twice.begin() + 100), first);
  EXPECT_EQ(Numbers(twice.begin() + 100, twice.end()), second);
  const Dataset fixed = Dataset::range(0, 100).shuffle(30, {.reshuffle_each_iteration = false});
  EXPECT_EQ(flat(fixed), flat(fixed, 1, 1));
}

TEST(Chain, PipelinesGiveWhatIteratorsGive) {
  const auto add = [](Element e) { return plus(std::move(e), 1000); };
  const Dataset rows = Dataset::range(0, 20).map(add).shuffle(7).batch(6);
  const Dataset whole = Dataset::range(0, 20).map(add).shuffle(7).batch(6).map([](Element e) { return e; });
  EXPECT_EQ(batches_of(rows), elements_of(rows));
  EXPECT_EQ(batches_of(whole, 1), elements_of(rows));
  EXPECT_EQ(batches_of(rows.repeat(2).take(7), 3).size(), 7u);
  EXPECT_EQ(rows.size(), 20);
  EXPECT_EQ(rows.prefetch(2).size(), 20);
  EXPECT_EQ(rows.batches(), 4);
}

TEST(Chain, GoesOnWhereAStreamStood) {
  const Dataset data = Dataset::range(0, 20).shuffle(7).repeat().batch(6);
  const std::vector<Numbers> all = batches_of(data);
  const std::vector<Numbers> rest = batches_of(data, 2, {18, data.fingerprint(), data.data_fingerprint()});
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ(rest[i], all[i + 3]) << i;
}

TEST(Chain, DrawsForEachEpochAnewButNotBelowACache) {
  const auto drawn = [](Element e, const Sample& sample) {
    e["x"] = Array(static_cast<int64_t>(sample.random().bits()));
    return e;
  };
  const Dataset data = Dataset::range(0, 10).map(drawn);
  EXPECT_NE(flat(data), flat(data, 1, 1));
  EXPECT_EQ(flat(data), flat(data, 4));
  const Dataset cached = data.cache();
  EXPECT_EQ(flat(cached), flat(cached, 1, 1));
  const Dataset twice = data.map(drawn);
  EXPECT_NE(flat(data), flat(twice));
}

TEST(Chain, CacheReadsOnce) {
  auto calls = std::make_shared<std::atomic<int>>(0);
  const Dataset data = Dataset::range(0, 10).map([calls](Element e) { return ++*calls, e; }).cache().repeat(3).batch(5);
  EXPECT_EQ(elements_of(data).size(), 6u);
  EXPECT_EQ(*calls, 10);
}

TEST(Chain, PadsToTheLongestOrTheShapeAsked) {
  const auto ones = [](Element e) {
    return Element{{"x", Array(std::vector<int64_t>(static_cast<size_t>(e.at("x").to<int64_t>()[0]), 1))}};
  };
  const Dataset ragged = Dataset::range(1, 5).map(ones);
  EXPECT_EQ(elements_of(ragged.padded_batch(2)), (std::vector<Numbers>{{1, 0, 1, 1}, {1, 1, 1, 0, 1, 1, 1, 1}}));
  const Dataset fixed = ragged.padded_batch(2, {.padded_shapes = {{"x", {5}}}, .padding_values = {{"x", -1}}});
  EXPECT_EQ(batches_of(fixed), elements_of(fixed));
  EXPECT_EQ(elements_of(fixed)[0], (Numbers{1, -1, -1, -1, -1, 1, 1, -1, -1, -1}));
  EXPECT_EQ(error_of([&] { elements_of(ragged.batch(2)); }),
            "example 0: batch: feature 'x' is i64[2], and i64[1] in the first element of the batch; padded_batch pads them");
  EXPECT_EQ(error_of([&] { ragged.padded_batch(2).specs(); }),
            "padded_batch gives batches of many sizes; expected padded_shapes, or bucket_by_sequence_length with "
            "pad_to_bucket_boundary");
}

TEST(Chain, BucketsByLength) {
  const auto ones = [](Element e) {
    return Element{{"x", Array(std::vector<int64_t>(static_cast<size_t>(e.at("x").to<int64_t>()[0]), 1))}};
  };
  const auto length = [](const Element& e) { return e.at("x").dim(0); };
  const Dataset data = Dataset::range(1, 8).map(ones).bucket_by_sequence_length(length, {3, 5}, {2, 2, 2});
  EXPECT_EQ(elements_of(data), (std::vector<Numbers>{{1, 0, 1, 1}, {1, 1, 1, 0, 1, 1, 1, 1},
                                                     {1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1}}));
  const Dataset bounded = Dataset::range(1, 5).map(ones).bucket_by_sequence_length(
      length, {4, 6}, {2, 1, 1}, {.pad_to_bucket_boundary = true});
  EXPECT_EQ(bounded.specs(0)[0].type.str(), "i64[3]");
  EXPECT_EQ(bounded.specs(1)[0].type.str(), "i64[5]");
  EXPECT_EQ(elements_of(bounded), (std::vector<Numbers>{{1, 0, 0, 1, 1, 0}, {1, 1, 1, 1, 0}, {1, 1, 1}}));
}

TEST(Chain, ErrorsNameThePlaceAndLoseNothingBefore) {
  const Dataset data = Dataset::range(0, 10).map([](Element e) {
    if (e.at("x").to<int64_t>()[0] == 7) throw Error(Status(Code::kInvalid, "seven is damaged"));
    return e;
  });
  EXPECT_EQ(error_of([&] { flat(data, 4); }), "example 7: seven is damaged");
  EXPECT_EQ(flat(data.ignore_errors(), 4), (Numbers{0, 1, 2, 3, 4, 5, 6, 8, 9}));
  EXPECT_EQ(error_of([&] { batches_of(data.batch(4)); }), "example 7: seven is damaged");
  EXPECT_EQ(error_of([&] { Dataset::range(0, 3).repeat(0).batch(2).specs(); }), "the data have no elements");
  EXPECT_EQ(error_of([&] { Dataset::range(0, 3).map([](Element e) { return e; }).specs(); }),
            "the data are not in batches: batch() is missing");
}

TEST(Chain, GeneratorsRunAnewForEachEpoch) {
  const auto begin = [] {
    return [i = int64_t{0}]() mutable -> std::optional<Element> {
      if (i == 4) return std::nullopt;
      return Element{{"x", Array(i++)}};
    };
  };
  const Dataset data = Dataset::from_generator(begin);
  EXPECT_EQ(flat(data.repeat(2)), (Numbers{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(batches_of(data.batch(3)), (std::vector<Numbers>{{0, 1, 2}, {3}}));
  EXPECT_EQ(data.batch(3).size(), kUnknownCardinality);
  EXPECT_EQ(error_of([&] { flat(Dataset::from_generator(begin, 5)); }),
            "from_generator: the generator gave 4 elements, expected the 5 of its cardinality");
}

TEST(Chain, ZipsAndSamples) {
  const Dataset named = Dataset::range(5, 9).map([](Element e) { return Element{{"y", e.at("x")}}; });
  const Dataset both = Dataset::zip({Dataset::range(0, 3), named});
  EXPECT_EQ(flat(both), (Numbers{0, 1, 2}));
  EXPECT_EQ((*both.begin()).at("y").to<int64_t>(), Numbers{5});
  EXPECT_EQ(error_of([&] { flat(Dataset::zip({Dataset::range(0, 3), Dataset::range(0, 3)})); }),
            "example 0: zip: two datasets have a feature 'x'");
  const Numbers mixed = flat(Dataset::sample_from_datasets({Dataset::range(0, 50), Dataset::range(100, 150)}, {0.5, 0.5}));
  EXPECT_EQ(mixed.size(), 100u);
  EXPECT_EQ(std::set<int64_t>(mixed.begin(), mixed.end()).size(), 100u);
}

}  // namespace
}  // namespace tenon
