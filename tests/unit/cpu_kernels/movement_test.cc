#include <numeric>

#include "isa_test.h"

TENON_FAMILY_FIXTURE(Movement, add_movement)

namespace tenon::testing {
namespace {

template <class T>
std::vector<T> counting(int64_t n) {
  std::vector<T> v(static_cast<size_t>(n));
  std::iota(v.begin(), v.end(), T(1));
  return v;
}

// y[k] = x[map(k)] or fill where map is negative, for all k of dims.
template <class T, class F>
std::vector<T> naive(const Dims& dims, const std::vector<T>& x, T fill, F map) {
  std::vector<T> y;
  Dims k(dims.size(), 0);
  for (int64_t i = 0; i < product(dims); ++i) {
    const int64_t at = map(k);
    y.push_back(at < 0 ? fill : x[static_cast<size_t>(at)]);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++k[d] < dims[d]) break;
      k[d] = 0;
    }
  }
  return y;
}

int64_t flat(const Dims& dims, const Dims& k) {
  int64_t at = 0;
  for (size_t i = 0; i < dims.size(); ++i) at = at * dims[i] + k[i];
  return at;
}

template <class T>
void expect_transpose(const std::function<Results(size_t, const std::function<void(NodeRun&)>&)>& run, int32_t dtype,
                      const Dims& dims, const Dims& perm) {
  Dims to;
  for (int64_t p : perm) to.push_back(dims[static_cast<size_t>(p)]);
  const auto x = counting<T>(product(dims));
  const Results r =
      run(1, [&](NodeRun& n) { n.in(dtype, dims, x).out(dtype, to).op("transpose").attr_list("perm", perm); });
  EXPECT_EQ(r.get<T>(0), naive<T>(to, x, T(0), [&](const Dims& k) {
              Dims from(dims.size());
              for (size_t i = 0; i < perm.size(); ++i) from[static_cast<size_t>(perm[i])] = k[i];
              return flat(dims, from);
            }));
}

TEST_P(Movement, TransposeMovesEveryElementOfEverySize) {
  const auto go = [this](size_t n, const std::function<void(NodeRun&)>& f) { return run(n, f); };
  for (const auto& [dims, perm] :
       std::vector<std::pair<Dims, Dims>>{{{1}, {0}},
                                          {{1, 1}, {1, 0}},
                                          {{3, 5}, {1, 0}},
                                          {{37, 41}, {1, 0}},
                                          {{64, 96}, {1, 0}},
                                          {{130, 257}, {1, 0}},
                                          {{2, 33, 5, 64}, {0, 2, 1, 3}},
                                          {{2, 33, 5, 7}, {0, 2, 3, 1}},
                                          {{3, 40, 67}, {2, 0, 1}},
                                          {{3, 40, 67}, {2, 1, 0}},
                                          {{2, 1, 3, 2, 1, 2, 3, 2}, {7, 6, 5, 4, 3, 2, 1, 0}}}) {
    expect_transpose<uint8_t>(go, TENON_U8, dims, perm);
    expect_transpose<uint16_t>(go, TENON_BF16, dims, perm);
    expect_transpose<int32_t>(go, TENON_I32, dims, perm);
    expect_transpose<int64_t>(go, TENON_I64, dims, perm);
  }
}

TEST_P(Movement, BroadcastRepeatsAlongNewAndUnitDimensions) {
  struct Case {
    Dims x, y, dims;
  };
  for (const Case& c : std::vector<Case>{{{}, {5}, {}},
                                         {{}, {}, {}},
                                         {{3}, {4, 3}, {1}},
                                         {{3}, {3, 7}, {0}},
                                         {{17}, {300, 17, 5}, {1}},
                                         {{4, 1, 3}, {4, 9, 3}, {0, 1, 2}},
                                         {{1, 200}, {150, 200}, {0, 1}},
                                         {{2, 3}, {5, 2, 6, 3, 7}, {1, 3}}}) {
    const auto x = counting<int32_t>(product(c.x));
    const Results r = run(1, [&](NodeRun& n) {
      n.in(TENON_I32, c.x, x).out(TENON_I32, c.y).op("broadcast").attr_list("shape", c.y).attr_list("dims", c.dims);
    });
    EXPECT_EQ(r.get<int32_t>(0), naive<int32_t>(c.y, x, 0, [&](const Dims& k) {
                Dims from;
                for (size_t i = 0; i < c.x.size(); ++i)
                  from.push_back(c.x[i] == 1 ? 0 : k[static_cast<size_t>(c.dims[i])]);
                return flat(c.x, from);
              }));
  }
}

TEST_P(Movement, SliceTakesEveryStrideth) {
  struct Case {
    Dims x, start, limit, stride;
  };
  for (const Case& c : std::vector<Case>{{{7}, {0}, {7}, {1}},
                                         {{7}, {2}, {7}, {3}},
                                         {{5, 6}, {1, 2}, {4, 6}, {2, 1}},
                                         {{3, 50, 41, 5}, {1, 3, 1, 0}, {3, 49, 40, 5}, {1, 2, 2, 1}},
                                         {{9, 4000}, {4, 1}, {6, 3999}, {1, 1}}}) {
    Dims y;
    for (size_t i = 0; i < c.x.size(); ++i) y.push_back((c.limit[i] - c.start[i] + c.stride[i] - 1) / c.stride[i]);
    const auto x = counting<int32_t>(product(c.x));
    const Results r = run(1, [&](NodeRun& n) {
      n.in(TENON_I32, c.x, x)
          .out(TENON_I32, y)
          .op("slice")
          .attr_list("start", c.start)
          .attr_list("limit", c.limit)
          .attr_list("stride", c.stride);
    });
    EXPECT_EQ(r.get<int32_t>(0), naive<int32_t>(y, x, 0, [&](const Dims& k) {
                Dims from;
                for (size_t i = 0; i < k.size(); ++i) from.push_back(c.start[i] + k[i] * c.stride[i]);
                return flat(c.x, from);
              }));
  }
}

TEST_P(Movement, PadPutsTheValueAroundAndBetween) {
  struct Case {
    Dims x, low, high, interior;
  };
  for (const Case& c : std::vector<Case>{{{1}, {0}, {0}, {0}},
                                         {{3}, {2}, {1}, {0}},
                                         {{3}, {1}, {0}, {2}},
                                         {{2, 3}, {0, 0}, {0, 0}, {0, 0}},
                                         {{2, 3}, {1, 2}, {3, 0}, {1, 3}},
                                         {{2, 9, 7, 5}, {0, 1, 2, 0}, {0, 3, 1, 0}, {0, 0, 0, 0}},
                                         {{2, 9, 7, 5}, {0, 1, 2, 0}, {0, 3, 1, 0}, {0, 1, 1, 0}},
                                         {{4, 60, 80}, {0, 3, 3}, {1, 3, 3}, {0, 0, 0}}}) {
    Dims y;
    for (size_t i = 0; i < c.x.size(); ++i) y.push_back(c.low[i] + c.x[i] + (c.x[i] - 1) * c.interior[i] + c.high[i]);
    const auto x = counting<float>(product(c.x));
    const Results r = run(1, [&](NodeRun& n) {
      n.in(TENON_F32, c.x, x)
          .out(TENON_F32, y)
          .op("pad")
          .attr_list("low", c.low)
          .attr_list("high", c.high)
          .attr_list("interior", c.interior)
          .attr_f64("value", -1.5);
    });
    EXPECT_EQ(r.get(0), naive<float>(y, x, -1.5f, [&](const Dims& k) -> int64_t {
                Dims from;
                for (size_t i = 0; i < k.size(); ++i) {
                  const int64_t at = k[i] - c.low[i], step = c.interior[i] + 1;
                  if (at < 0 || at % step || at / step >= c.x[i]) return -1;
                  from.push_back(at / step);
                }
                return flat(c.x, from);
              }));
  }
}

TEST_P(Movement, PadValueIsRoundedOrTakenAsAnInteger) {
  const auto padded = [&](int32_t dtype, auto x, auto attribute) {
    return run(1, [&](NodeRun& n) {
      auto& b = n.in(dtype, {1}, std::vector{x}).out(dtype, {2}).op("pad").attr_list("low", {0}).attr_list("high", {1});
      attribute(b.attr_list("interior", {0}));
    });
  };
  using B = plugin::GraphBuilder;
  EXPECT_EQ(padded(TENON_BF16, uint16_t{7}, [](B& b) { b.attr_f64("value", 1.00390625); }).get<uint16_t>(0)[1], 0x3F80);
  EXPECT_EQ(padded(TENON_BF16, uint16_t{7}, [](B& b) { b.attr_f64("value", 1.01171875); }).get<uint16_t>(0)[1], 0x3F82);
  EXPECT_EQ(padded(TENON_F16, uint16_t{7}, [](B& b) { b.attr_f64("value", -2); }).get<uint16_t>(0)[1], 0xC000);
  EXPECT_EQ(padded(TENON_I64, int64_t{7}, [](B& b) { b.attr_i64("value", INT64_MIN); }).get<int64_t>(0)[1], INT64_MIN);
  EXPECT_EQ(padded(TENON_I32, 7, [](B& b) { b.attr_f64("value", -3); }).get<int32_t>(0)[1], -3);
  EXPECT_TRUE(std::isinf(padded(TENON_F64, 7.0, [](B& b) { b.attr_f64("value", -INFINITY); }).get<double>(0)[1]));
}

TEST_P(Movement, ConcatJoinsInOrder) {
  for (const Dims& parts : std::vector<Dims>{{1}, {2, 1, 4}, {64, 3, 200}}) {
    for (int64_t axis : {0, 1, 2}) {
      for (int64_t side : {1, 5, 40}) {
        Dims y = {side, side, 3};
        y[static_cast<size_t>(axis)] = std::accumulate(parts.begin(), parts.end(), int64_t{0});
        const auto want = counting<int32_t>(product(y));
        const Results r = run(1, [&](NodeRun& n) {
          int64_t at = 0;
          for (int64_t p : parts) {
            Dims x = y;
            x[static_cast<size_t>(axis)] = p;
            n.in(TENON_I32, x, naive<int32_t>(x, want, 0, [&](Dims k) {
                   k[static_cast<size_t>(axis)] += at;
                   return flat(y, k);
                 }));
            at += p;
          }
          n.out(TENON_I32, y).op("concat").attr_i64("axis", axis);
        });
        EXPECT_EQ(r.get<int32_t>(0), want);
      }
    }
  }
}

TEST_P(Movement, ReverseTurnsTheNamedAxes) {
  for (const Dims& axes : std::vector<Dims>{{}, {0}, {1}, {2}, {0, 2}, {0, 1, 2}}) {
    for (const Dims& dims : std::vector<Dims>{{1, 1, 1}, {2, 3, 5}, {7, 60, 50}}) {
      const auto x = counting<int32_t>(product(dims));
      const Results r = run(
          1, [&](NodeRun& n) { n.in(TENON_I32, dims, x).out(TENON_I32, dims).op("reverse").attr_list("axes", axes); });
      EXPECT_EQ(r.get<int32_t>(0), naive<int32_t>(dims, x, 0, [&](Dims k) {
                  for (int64_t a : axes)
                    k[static_cast<size_t>(a)] = dims[static_cast<size_t>(a)] - 1 - k[static_cast<size_t>(a)];
                  return flat(dims, k);
                }));
    }
  }
}

TEST_P(Movement, ReshapeKeepsOrderAndIotaCounts) {
  const auto x = counting<double>(30000);
  EXPECT_EQ(run(1,
                [&](NodeRun& n) {
                  n.in(TENON_F64, {300, 100}, x).out(TENON_F64, {30000}).op("reshape").attr_list("shape", {30000});
                })
                .get<double>(0),
            x);
  const auto iota = [&](int32_t dtype, const Dims& y, int64_t axis) {
    return run(1, [&](NodeRun& n) {
      n.out(dtype, y).op("iota").attr_list("shape", y).attr_i64("axis", axis).attr_dtype("dtype", dtype);
    });
  };
  EXPECT_EQ(iota(TENON_I64, {2, 3}, 0).get<int64_t>(0), (std::vector<int64_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(iota(TENON_F32, {2, 3}, 1).get(0), (Floats{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(iota(TENON_BF16, {300}, 0).get<uint16_t>(0)[257], 0x4380);  // 257 is between 256 and 258
}

// ---- gather, scatter ----

struct GatherCase {
  Dims x, i;
  int64_t axis, batch;
};
const std::vector<GatherCase> kGathers = {{{5}, {}, 0, 0},
                                          {{5}, {7}, 0, 0},
                                          {{1, 3}, {2, 2}, 0, 0},
                                          {{3, 11, 2}, {4}, 1, 0},
                                          {{3, 11, 2}, {3, 4}, 1, 1},
                                          {{2, 3, 11, 5}, {2, 6}, 2, 1},
                                          {{100, 64}, {17, 20}, 0, 0},
                                          {{40000}, {9000}, 0, 0},
                                          {{3, 70, 40}, {3, 200}, 1, 1}};

struct Plan {
  Dims y;
  int64_t b = 1, p = 1, n, j = 1, s = 1;
};
Plan plan(const GatherCase& c) {
  Plan g;
  const auto axis = static_cast<size_t>(c.axis), batch = static_cast<size_t>(c.batch);
  for (size_t d = 0; d < batch; ++d) g.b *= c.x[d];
  for (size_t d = batch; d < axis; ++d) g.p *= c.x[d];
  g.n = c.x[axis];
  for (size_t d = axis + 1; d < c.x.size(); ++d) g.s *= c.x[d];
  for (size_t d = batch; d < c.i.size(); ++d) g.j *= c.i[d];
  g.y.assign(c.x.begin(), c.x.begin() + c.axis);
  g.y.insert(g.y.end(), c.i.begin() + c.batch, c.i.end());
  g.y.insert(g.y.end(), c.x.begin() + c.axis + 1, c.x.end());
  return g;
}

// Calls f(element of y, element of x) in row-major order of y; x is -1 for an index outside.
template <class F>
void visit(const Plan& g, const Ints& index, F f) {
  int64_t at = 0;
  for (int64_t b = 0; b < g.b; ++b)
    for (int64_t p = 0; p < g.p; ++p)
      for (int64_t j = 0; j < g.j; ++j)
        for (int64_t s = 0; s < g.s; ++s, ++at) {
          const int64_t k = index[static_cast<size_t>(b * g.j + j)];
          f(static_cast<size_t>(at), k < 0 || k >= g.n ? -1 : ((b * g.p + p) * g.n + k) * g.s + s);
        }
}

TEST_P(Movement, GatherReadsZeroOutside) {
  for (const auto& c : kGathers) {
    const Plan g = plan(c);
    const Ints index = random_ints(product(c.i), -2, static_cast<int32_t>(g.n) + 1);
    const std::vector<int64_t> wide(index.begin(), index.end());
    const Floats x = random(product(c.x));
    Floats want(static_cast<size_t>(product(g.y)));
    visit(g, index, [&](size_t y, int64_t at) { want[y] = at < 0 ? 0 : x[static_cast<size_t>(at)]; });
    EXPECT_EQ(run(1,
                  [&](NodeRun& n) {
                    n.in(TENON_F32, c.x, x)
                        .in(TENON_I32, c.i, index)
                        .out(TENON_F32, g.y)
                        .op("gather")
                        .attr_i64("axis", c.axis)
                        .attr_i64("batch", c.batch);
                  })
                  .get(0),
              want);
    EXPECT_EQ(run(1,
                  [&](NodeRun& n) {
                    n.in(TENON_F32, c.x, x)
                        .in(TENON_I64, c.i, wide)
                        .out(TENON_F32, g.y)
                        .op("gather")
                        .attr_i64("axis", c.axis)
                        .attr_i64("batch", c.batch);
                  })
                  .get(0),
              want);
  }
}

TEST_P(Movement, ScatterAddsInRowMajorOrderAndSetKeepsTheLast) {
  for (const auto& c : kGathers) {
    const Plan g = plan(c);
    const Ints index = random_ints(product(c.i), -2, std::min(static_cast<int32_t>(g.n) + 1, 900));
    const Floats x = random(product(c.x)), u = random(product(g.y));
    for (int64_t kind : {TENON_SCATTER_ADD, TENON_SCATTER_SET}) {
      Floats want = x;
      visit(g, index, [&](size_t y, int64_t at) {
        if (at >= 0)
          want[static_cast<size_t>(at)] = u[y] + (kind == TENON_SCATTER_ADD ? want[static_cast<size_t>(at)] : 0);
      });
      EXPECT_EQ(run(1,
                    [&](NodeRun& n) {
                      n.in(TENON_F32, c.x, x)
                          .in(TENON_I32, c.i, index)
                          .in(TENON_F32, g.y, u)
                          .out(TENON_F32, c.x)
                          .op("scatter")
                          .attr_i64("axis", c.axis)
                          .attr_i64("batch", c.batch)
                          .attr_enum("kind", kind);
                    })
                    .get(0),
                want);
    }
  }
}

TEST_P(Movement, ScatterRoundsNarrowSumsOnceAndWrapsIntegers) {
  // 256 + 1 + 1 in bf16: rounding after each step would stay at 256.
  EXPECT_EQ(run(1,
                [&](NodeRun& n) {
                  n.in(TENON_BF16, {1}, std::vector<uint16_t>{0x4380})
                      .in(TENON_I32, {2}, Ints{0, 0})
                      .in(TENON_BF16, {2}, std::vector<uint16_t>{0x3F80, 0x3F80})
                      .out(TENON_BF16, {1})
                      .op("scatter")
                      .attr_i64("axis", 0)
                      .attr_i64("batch", 0)
                      .attr_enum("kind", TENON_SCATTER_ADD);
                })
                .get<uint16_t>(0),
            (std::vector<uint16_t>{0x4381}));
  EXPECT_EQ(run(1,
                [&](NodeRun& n) {
                  n.in(TENON_I32, {1}, Ints{INT32_MAX})
                      .in(TENON_I32, {1}, Ints{0})
                      .in(TENON_I32, {1}, Ints{1})
                      .out(TENON_I32, {1})
                      .op("scatter")
                      .attr_i64("axis", 0)
                      .attr_i64("batch", 0);
                })
                .get<int32_t>(0),
            (Ints{INT32_MIN}));
}

// ---- images ----

TEST_P(Movement, CropFlipReadsTheWindowAndZeroOutside) {
  const int64_t N = 5, H = 7, W = 6, C = 3, h = 9, w = 4;
  const auto x = counting<uint8_t>(N * H * W * C);
  const Ints top = {0, -2, 3, 100, INT32_MIN}, left = {0, 1, -3, 0, INT32_MAX};
  const std::vector<uint8_t> flip = {0, 1, 1, 0, 1};
  const Results r = run(1, [&](NodeRun& n) {
    n.in(TENON_U8, {N, H, W, C}, x)
        .in(TENON_I32, {N}, top)
        .in(TENON_I32, {N}, left)
        .in(TENON_BOOL, {N}, flip)
        .out(TENON_U8, {N, h, w, C})
        .op("crop_flip")
        .attr_i64("h", h)
        .attr_i64("w", w);
  });
  EXPECT_EQ(r.get<uint8_t>(0), naive<uint8_t>({N, h, w, C}, x, 0, [&](const Dims& k) -> int64_t {
              const auto n = static_cast<size_t>(k[0]);
              const int64_t row = top[n] + k[1], col = left[n] + (flip[n] ? w - 1 - k[2] : k[2]);
              return row < 0 || row >= H || col < 0 || col >= W ? -1 : flat({N, H, W, C}, {k[0], row, col, k[3]});
            }));
}

Floats resized(const std::function<Results(size_t, const std::function<void(NodeRun&)>&)>& run, const Floats& x,
               int64_t to, int64_t method, int64_t coords) {
  const int64_t n = static_cast<int64_t>(x.size());
  return run(1,
             [&](NodeRun& node) {
               node.in(TENON_F32, {1, 1, n, 1}, x)
                   .out(TENON_F32, {1, 1, to, 1})
                   .op("resize")
                   .attr_i64("h", 1)
                   .attr_i64("w", to)
                   .attr_enum("method", method)
                   .attr_enum("coords", coords);
             })
      .get(0);
}

TEST_P(Movement, ResizeFollowsTensorFlowsThreeCoordinateRules) {
  const auto go = [this](size_t n, const std::function<void(NodeRun&)>& f) { return run(n, f); };
  // tf.image.resize of [1, 3] to 4 (half pixel), compat.v1 resize_bilinear, and align_corners=True.
  expect_near(resized(go, {1, 3}, 4, TENON_RESIZE_BILINEAR, TENON_COORDS_HALF_PIXEL), Floats{1, 1.5, 2.5, 3}, 1e-6);
  expect_near(resized(go, {1, 3}, 4, TENON_RESIZE_BILINEAR, TENON_COORDS_LEGACY), Floats{1, 2, 3, 3}, 1e-6);
  expect_near(resized(go, {1, 4}, 4, TENON_RESIZE_BILINEAR, TENON_COORDS_ALIGN_CORNERS), Floats{1, 2, 3, 4}, 1e-6);
  expect_near(resized(go, {1, 2, 3, 4}, 2, TENON_RESIZE_BILINEAR, TENON_COORDS_HALF_PIXEL), Floats{1.5, 3.5}, 1e-6);
  expect_near(resized(go, {5}, 3, TENON_RESIZE_BILINEAR, TENON_COORDS_ALIGN_CORNERS), Floats{5, 5, 5}, 0);
  expect_near(resized(go, {1, 2, 3}, 1, TENON_RESIZE_NEAREST, TENON_COORDS_ALIGN_CORNERS), Floats{1}, 0);
  expect_near(resized(go, {1, 2, 3}, 6, TENON_RESIZE_NEAREST, TENON_COORDS_HALF_PIXEL), Floats{1, 1, 2, 2, 3, 3}, 0);
  expect_near(resized(go, {1, 2, 3, 4, 5}, 3, TENON_RESIZE_NEAREST, TENON_COORDS_LEGACY), Floats{1, 2, 4}, 0);
  expect_near(resized(go, {1, 2, 3, 4, 5}, 2, TENON_RESIZE_NEAREST, TENON_COORDS_ALIGN_CORNERS), Floats{1, 5}, 0);
}

TEST_P(Movement, ResizeTakesNarrowImagesOfManyChannels) {
  std::vector<uint16_t> x;
  for (int i = 0; i < 2 * 2 * 9; ++i) x.push_back(static_cast<uint16_t>(i < 18 ? 0x3F80 : 0x4000));  // rows 1 and 2
  const auto y = run(1, [&](NodeRun& n) {
                   n.in(TENON_BF16, {1, 2, 2, 9}, x)
                       .out(TENON_BF16, {1, 4, 2, 9})
                       .op("resize")
                       .attr_i64("h", 4)
                       .attr_i64("w", 2)
                       .attr_enum("method", TENON_RESIZE_BILINEAR)
                       .attr_enum("coords", TENON_COORDS_HALF_PIXEL);
                 }).get<uint16_t>(0);
  EXPECT_EQ(y[0], 0x3F80);
  EXPECT_EQ(y[18], 0x3FA0);  // 1.25
  EXPECT_EQ(y[71], 0x4000);
}

class AffineImage : public Movement {
 protected:
  Floats transform(const Floats& row, const Floats& theta, int64_t method, int64_t fill) {
    const int64_t n = static_cast<int64_t>(row.size());
    return run(1,
               [&](NodeRun& node) {
                 node.in(TENON_F32, {1, 1, n, 1}, row)
                     .in(TENON_F32, {1, 8}, theta)
                     .out(TENON_F32, {1, 1, n, 1})
                     .op("affine_image")
                     .attr_i64("h", 1)
                     .attr_i64("w", n)
                     .attr_enum("method", method)
                     .attr_enum("fill", fill);
               })
        .get(0);
  }
  static Floats shift(float by) { return {1, 0, by, 0, 1, 0, 0, 0}; }
};
INSTANTIATE_TEST_SUITE_P(Isa, AffineImage, ::testing::ValuesIn(isas()), [](const auto& info) { return info.param; });

TEST_P(AffineImage, IdentityAndShiftsFillAsKerasDocuments) {
  const Floats abcd = {1, 2, 3, 4};
  for (int64_t method : {TENON_RESIZE_NEAREST, TENON_RESIZE_BILINEAR}) {
    EXPECT_EQ(transform(abcd, shift(0), method, TENON_FILL_CONSTANT), abcd);
    EXPECT_EQ(transform(abcd, shift(-2), method, TENON_FILL_CONSTANT), (Floats{0, 0, 1, 2}));
    EXPECT_EQ(transform(abcd, shift(2), method, TENON_FILL_CONSTANT), (Floats{3, 4, 0, 0}));
    // (d c b a | a b c d | d c b a), (a a a a | a b c d | d d d d), (a b c d | a b c d | a b c d)
    EXPECT_EQ(transform(abcd, shift(-3), method, TENON_FILL_REFLECT), (Floats{3, 2, 1, 1}));
    EXPECT_EQ(transform(abcd, shift(2), method, TENON_FILL_REFLECT), (Floats{3, 4, 4, 3}));
    EXPECT_EQ(transform(abcd, shift(-2), method, TENON_FILL_NEAREST), (Floats{1, 1, 1, 2}));
    EXPECT_EQ(transform(abcd, shift(2), method, TENON_FILL_WRAP), (Floats{3, 4, 1, 2}));
    EXPECT_EQ(transform(abcd, shift(-2), method, TENON_FILL_WRAP), (Floats{3, 4, 1, 2}));
  }
  expect_near(transform(abcd, shift(0.25f), TENON_RESIZE_BILINEAR, TENON_FILL_CONSTANT), Floats{1.25f, 2.25f, 3.25f, 3}, 1e-6);
}

TEST_P(AffineImage, NarrowImagesMoveByAWideTheta) {
  const std::vector<uint16_t> x = {0x3F80, 0x4000, 0x4040};  // 1 2 3
  EXPECT_EQ(run(1,
                [&](NodeRun& n) {
                  n.in(TENON_BF16, {1, 1, 3, 1}, x)
                      .in(TENON_F32, {1, 8}, shift(0.5f))
                      .out(TENON_BF16, {1, 1, 3, 1})
                      .op("affine_image")
                      .attr_i64("h", 1)
                      .attr_i64("w", 3)
                      .attr_enum("method", TENON_RESIZE_BILINEAR)
                      .attr_enum("fill", TENON_FILL_NEAREST);
                })
                .get<uint16_t>(0),
            (std::vector<uint16_t>{0x3FC0, 0x4020, 0x4040}));
}

TEST_P(AffineImage, AProjectionOfZeroReadsNothing) {
  // k = 1 - c / 2 is 0 at c = 2.
  const Floats y = transform({1, 2, 3, 4}, {1, 0, 0, 0, 1, 0, -0.5f, 0}, TENON_RESIZE_NEAREST, TENON_FILL_CONSTANT);
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[2], 0);
}

}  // namespace
}  // namespace tenon::testing
