// Walks over boxes, held to an index for each element; and how threads share pieces of work.
#include "tenon/plugin/strided.h"

#include <gtest/gtest.h>

#include "tenon/plugin/kernel.h"

namespace tenon::plugin {
namespace {

using Two = std::array<int64_t, 2>;

// Where a walk goes, element by element.
std::vector<Two> walked(const Walk<2>& walk) {
  std::vector<Two> out;
  walk.rows([&](auto at, int64_t n, auto step) {
    for (int64_t i = 0; i < n; ++i) out.push_back({at[0] + i * step[0], at[1] + i * step[1]});
  });
  return out;
}

// The same by the indices of the box.
std::vector<Two> counted(const Dims& dims, const std::array<Dims, 2>& strides, Two start) {
  std::vector<Two> out;
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  for (int64_t e = 0; e < n; ++e) {
    Two at = start;
    int64_t left = e;
    for (size_t d = dims.size(); d-- > 0; left /= dims[d])
      for (size_t k = 0; k < 2; ++k) at[k] += left % dims[d] * strides[k][d];
    out.push_back(at);
  }
  return out;
}

struct Box {
  Dims dims;
  std::array<Dims, 2> strides;
  Two start;
  size_t axes;  // that are left
};

TEST(Walk, GoesWhereTheIndicesSayAndJoinsAxesWithoutAGap) {
  const Box boxes[] = {{{}, {Dims{}, Dims{}}, {5, 7}, 1},
                       {{1, 1}, {Dims{9, 9}, Dims{9, 9}}, {5, 7}, 1},
                       {{4}, {Dims{1}, Dims{-1}}, {0, 3}, 1},
                       {{2, 3, 4}, {Dims{12, 4, 1}, Dims{12, 4, 1}}, {0, 0}, 1},  // dense in both
                       {{2, 1, 4}, {Dims{4, 99, 1}, Dims{4, 77, 1}}, {1, 2}, 1},  // an axis of one is none
                       {{2, 3, 4}, {Dims{12, 4, 1}, Dims{1, 2, 6}}, {0, 0}, 3},   // transposed
                       {{2, 3, 4}, {Dims{12, 4, 1}, Dims{24, 8, 2}}, {0, 0}, 1},  // every second
                       {{2, 3, 4}, {Dims{12, 4, 1}, Dims{20, 4, 1}}, {0, 3}, 2},  // a gap in one of them
                       {{2, 3, 4}, {Dims{20, 4, 1}, Dims{12, 4, 1}}, {3, 0}, 2},  // and in the other
                       {{2, 2, 2}, {Dims{4, 2, 1}, Dims{2, 0, 1}}, {0, 0}, 3},    // the same rows again
                       {{2, 2}, {Dims{2, 1}, Dims{0, 0}}, {0, 4}, 1},             // the same element again
                       {{3, 2}, {Dims{2, 1}, Dims{-2, -1}}, {0, 5}, 1},           // backwards
                       {{3, 5}, {Dims{5, 1}, Dims{5, 1}}, {15, 15}, 1},           // begins where it would end
                       {{2, 3, 2, 2, 3, 2, 2, 3},
                        {Dims{432, 144, 72, 36, 12, 6, 3, 1}, Dims{1, 2, 6, 12, 24, 72, 144, 288}},
                        {0, 0},
                        8}};
  for (const Box& box : boxes) {
    SCOPED_TRACE(&box - boxes);
    const Walk<2> walk({box.dims.data(), box.dims.size()}, box.strides, box.start);
    EXPECT_EQ(walked(walk), counted(box.dims, box.strides, box.start));
    EXPECT_EQ(walk.axes().size(), box.axes);
  }
}

TEST(Call, SharesWorkWithoutAGapAndInWholeGrains) {
  for (const uint32_t threads : {1u, 2u, 3u, 7u})
    for (const int64_t n : {0, 1, 2, 7, 8, 9, 100, 4096, 4097})
      for (const int64_t grain : {1, 3, 8}) {
        int64_t all = 0, grains = 0;
        for (uint32_t t = 0; t < threads; ++t) {
          Call call;
          call.index = t;
          call.count = threads;
          const Slice s = call.share(n), g = call.share(n, grain);
          EXPECT_EQ(s.begin, all);
          all = s.end;
          EXPECT_LE(s.end - s.begin, (n + threads - 1) / threads);  // even
          EXPECT_LE(g.end, n);
          if (g.begin >= g.end) continue;  // nothing
          EXPECT_EQ(g.begin, grains);
          EXPECT_TRUE(g.end == n || g.end % grain == 0);
          EXPECT_LE(g.end - g.begin, ((n + grain - 1) / grain + threads - 1) / threads * grain);
          grains = g.end;
        }
        EXPECT_EQ(all, n);
        EXPECT_EQ(grains, n);
      }
}

}  // namespace
}  // namespace tenon::plugin
