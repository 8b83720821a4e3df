#include "plugins/tpu-emulator/machine/layout.h"

#include <gtest/gtest.h>

namespace {

tenon_value value(int32_t dtype, std::initializer_list<int64_t> dims) {
  tenon_value v{};
  v.dtype = dtype;
  for (int64_t d : dims) v.dims[v.rank++] = d;
  return v;
}

tpu::Layout row_major(int32_t dtype, std::initializer_list<int64_t> dims) {
  const tenon_value v = value(dtype, dims);
  return tpu::row_major_layout(tenon::plugin::ValueView(v));
}

tpu::Layout image(int32_t dtype, std::initializer_list<int64_t> dims) {
  const tenon_value v = value(dtype, dims);
  return tpu::image_layout(tenon::plugin::ValueView(v));
}

TEST(TpuLayout, PadsTheMinorDimensionTo128AndTheOneAboveTo8) {
  const tpu::Layout layout = row_major(TENON_F32, {3, 9, 130});
  EXPECT_EQ(layout.padded, (std::vector<int64_t>{3, 16, 256}));
  EXPECT_EQ(layout.bytes, 3u * 16 * 256 * 4);
  EXPECT_EQ(layout.dense_bytes, 3u * 9 * 130 * 4);
  EXPECT_EQ(layout.str(), "{2,1,0:T(8,128)}");
}

// The allocation of the published report of a program that ran out of memory: 1.00G unpadded, 32.00G.
TEST(TpuLayout, ExpandsAsThePublishedOutOfMemoryReportSays) {
  const tpu::Layout layout = row_major(TENON_I32, {8388608, 8, 4});
  EXPECT_EQ(layout.dense_bytes, uint64_t{1} << 30);
  EXPECT_EQ(layout.bytes, uint64_t{32} << 30);
  EXPECT_DOUBLE_EQ(layout.expansion(), 32.0);
}

TEST(TpuLayout, PadsAVectorToWholeLanesAndLeavesAScalar) {
  EXPECT_EQ(row_major(TENON_BF16, {130}).bytes, 256u * 2);
  EXPECT_EQ(row_major(TENON_F32, {}).bytes, 4u);
  EXPECT_EQ(row_major(TENON_F32, {}).str(), "{}");
}

// min(up(B,128) * up(C,8), up(B,8) * up(C,128)) for each pixel.
TEST(TpuLayout, LaysImagesWithBatchOrFeaturesMinorWhicheverPadsLess) {
  EXPECT_EQ(image(TENON_BF16, {128, 224, 224, 3}).bytes, 224u * 224 * 128 * 8 * 2);
  EXPECT_EQ(image(TENON_BF16, {128, 224, 224, 3}).str(), "{0,3,2,1:T(8,128)}");
  EXPECT_EQ(image(TENON_BF16, {16, 7, 7, 2048}).bytes, 7u * 7 * 16 * 2048 * 2);
  EXPECT_EQ(image(TENON_BF16, {16, 7, 7, 2048}).str(), "{3,0,2,1:T(8,128)}");
}

}  // namespace
