// A Dataset whose features are converted as they are read.
#include <gtest/gtest.h>

#include "unit/data/input_testing.h"

namespace tenon {
namespace {

Dataset bytes_and_doubles(const InputOptions& options) {
  std::vector<uint8_t> bytes;
  std::vector<double> doubles;
  for (int i = 0; i < 10; ++i) {
    bytes.push_back(static_cast<uint8_t>(250 + i % 6));
    doubles.push_back(0.1 * i);
  }
  return Dataset::from_arrays({{"bytes", Array(bytes)}, {"doubles", Array(doubles)}}, options);
}

// The rows of a feature in the order of an epoch.
template <class T>
std::vector<T> rows_of(const Dataset& data, size_t feature) {
  std::vector<std::vector<std::byte>> memory;
  BatchSlot slot;
  for (const FeatureSpec& spec : data.specs())
    memory.emplace_back(static_cast<size_t>(spec.batch_type(data.options().batch_size).bytes()));
  for (auto& m : memory) slot.features.push_back(m.data());
  const auto pool = make_thread_pool(1);
  const auto pipeline = InputPipeline::create(data, *pool, {slot}).take();
  std::vector<T> out;
  for (Batch batch = pipeline->next().take(); !batch.end(); batch = pipeline->next().take()) {
    const T* rows = reinterpret_cast<const T*>(memory[feature].data());
    out.insert(out.end(), rows, rows + batch.rows);
    pipeline->release(batch.slot);
  }
  return out;
}

TEST(Cast, ConvertsNumbersAndKeepsTheirOrder) {
  const Dataset data = bytes_and_doubles({.batch_size = 4, .training = true, .seed = 3});
  const Dataset cast = data.cast({{"bytes", DType::kF32}, {"doubles", DType::kF32}});
  const std::vector<uint8_t> bytes = rows_of<uint8_t>(data, 0);
  const std::vector<double> doubles = rows_of<double>(data, 1);
  EXPECT_EQ(rows_of<float>(cast, 0), std::vector<float>(bytes.begin(), bytes.end()));
  EXPECT_EQ(rows_of<float>(cast, 1), std::vector<float>(doubles.begin(), doubles.end()));
  EXPECT_EQ(rows_of<int32_t>(data.cast({{"bytes", DType::kI32}}), 0), std::vector<int32_t>(bytes.begin(), bytes.end()));
  EXPECT_EQ(cast.fingerprint(), data.fingerprint());
  EXPECT_EQ(cast.data_fingerprint(), data.data_fingerprint());
}

TEST(Cast, IsDoneTwice) {
  const Dataset data = bytes_and_doubles({.batch_size = 4});
  const Dataset twice = data.cast({{"bytes", DType::kI32}}).cast({{"bytes", DType::kF64}});
  EXPECT_EQ(rows_of<double>(twice, 0)[5], 255);
  EXPECT_EQ(rows_of<double>(twice, 1)[3], 0.1 * 3);
}

TEST(Cast, RefusesWhatLosesNumbers) {
  const Dataset data = bytes_and_doubles({.batch_size = 4});
  const auto error = [&](const std::map<std::string, DType>& dtypes) {
    try {
      data.cast(dtypes);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error({{"pixels", DType::kF32}}), "cast: the data have no feature 'pixels'");
  EXPECT_EQ(error({{"doubles", DType::kI32}}), "cast: feature 'doubles' is f64[], and cannot become i32");
  EXPECT_EQ(error({{"bytes", DType::kBool}}), "cast: feature 'bytes' is u8[], and cannot become bool");
}

}  // namespace
}  // namespace tenon
