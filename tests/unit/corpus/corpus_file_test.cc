// The file: what is written is read, and damage is an error.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

#include "conformance/corpus/corpus.h"
#include "corpus/corpus.h"

namespace tenon::conformance {
namespace {

using corpus::op_case;
using corpus::uniform;
using corpus::values;
using Bytes = std::vector<uint8_t>;

// A primitive, a composite of two results, and a case with all that a case can have.
std::vector<Case> few() {
  std::vector<Case> cases;
  cases.push_back(op_case(
      {"add", "f32[7]", {uniform(DType::kF32, {7}, 1), values(DType::kF32, {7}, {1, -2.5})}, [](const Tensors& x) {
         return Tensors{add(x[0], x[1])};
       }}));
  cases.push_back(op_case({"softmax_cross_entropy",
                           "f32[5,3]",
                           {uniform(DType::kF32, {5, 3}, 1), uniform(DType::kI32, {5}, 2, 0, 3)},
                           [](const Tensors& x) {
                             const CrossEntropy r = softmax_cross_entropy_per_example(x[0], x[1]);
                             return Tensors{r.loss, r.lse};
                           }}));
  Case& last = cases.back();
  last.kind = Case::kGradient;
  last.selects = last.catalogue = true;
  last.order = 1.5;
  last.steps = 7;
  last.inputs[1].each_step = true;
  last.forward = plugin::adopt(*last.lowered.graph(), last.lowered.graph()->data);
  return cases;
}

Bytes unpacked(const Bytes& gzip) {
  z_stream s{};
  inflateInit2(&s, 31);
  Bytes out(1 << 22);
  s.next_in = const_cast<uint8_t*>(gzip.data());
  s.avail_in = static_cast<uInt>(gzip.size());
  s.next_out = out.data();
  s.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&s, Z_FINISH), Z_STREAM_END);
  out.resize(s.total_out);
  inflateEnd(&s);
  return out;
}

Bytes packed(const Bytes& bytes) {
  z_stream s{};
  deflateInit2(&s, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
  Bytes out(deflateBound(&s, bytes.size()));
  s.next_in = const_cast<uint8_t*>(bytes.data());
  s.avail_in = static_cast<uInt>(bytes.size());
  s.next_out = out.data();
  s.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&s, Z_FINISH), Z_STREAM_END);
  out.resize(s.total_out);
  deflateEnd(&s);
  return out;
}

// The message of the error, which names this file; empty when the bytes are read.
std::string error_of(const Bytes& bytes) {
  try {
    read_corpus(bytes.data(), bytes.size());
  } catch (const std::runtime_error& e) {
    EXPECT_EQ(std::string(e.what()).find("corpus: "), 0u) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    return e.what();
  }
  return "";
}

TEST(CorpusFile, IsReadAsItWasWritten) {
  const std::vector<Case> cases = few();
  const Bytes bytes = write_corpus(cases);
  const std::vector<Case> read = read_corpus(bytes.data(), bytes.size());
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(write_corpus(read), bytes);
  const Case &a = cases[1], &b = read[1];
  EXPECT_EQ(b.kind, Case::kGradient);
  EXPECT_EQ(b.op, "softmax_cross_entropy");
  EXPECT_EQ(b.name, "f32[5,3]");
  EXPECT_TRUE(b.selects && b.catalogue);
  EXPECT_EQ(b.order, 1.5);
  EXPECT_EQ(b.steps, 7u);
  EXPECT_EQ(b.min_memory, 0u);
  ASSERT_EQ(b.inputs.size(), 2u);
  EXPECT_TRUE(b.inputs[1].each_step && !b.inputs[0].each_step);
  EXPECT_EQ(b.inputs[1].high, 3);
  EXPECT_EQ(read[0].inputs[1].values, (std::vector<double>{1, -2.5}));
  ASSERT_EQ(b.decompositions.size(), 1u);
  for (const auto& [x, y] : {std::pair{&a.whole, &b.whole},
                             {&a.lowered, &b.lowered},
                             {&a.forward, &b.forward},
                             {&a.decompositions[0].graph, &b.decompositions[0].graph}}) {
    ASSERT_EQ(x->bytes().size(), y->bytes().size());
    EXPECT_EQ(std::memcmp(x->bytes().data(), y->bytes().data(), x->bytes().size()), 0);
    tenon_graph g = *x->graph(), h = *y->graph();
    g.data = h.data = nullptr;
    EXPECT_EQ(std::memcmp(&g, &h, sizeof g), 0);
  }
}

TEST(CorpusFile, IsTheOneThatTheProgramCarries) {
  const Bytes bytes = write_corpus(corpus::all_cases());
  EXPECT_TRUE(write_corpus(built_in_corpus()) == bytes);
  EXPECT_LT(bytes.size(), 3u << 20);
}

TEST(CorpusFile, IsAnErrorWhenItIsCutOff) {
  const Bytes bytes = write_corpus(few());
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_NE(error_of(Bytes(bytes.begin(), bytes.begin() + static_cast<long>(n))), "") << n;
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_NE(error_of(longer), "");
  const Bytes inside = unpacked(bytes);
  for (size_t n = 0; n < inside.size(); n += 7)
    EXPECT_NE(error_of(packed(Bytes(inside.begin(), inside.begin() + static_cast<long>(n)))), "") << n;
}

TEST(CorpusFile, IsAnErrorOrTheSameWhenABitIsFlipped) {
  const Bytes bytes = write_corpus(few());
  for (size_t bit = 0; bit < 8 * bytes.size(); bit += 3) {
    Bytes flipped = bytes;
    flipped[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    if (!error_of(flipped).empty()) continue;  // the rest is gzip's time and system
    EXPECT_EQ(write_corpus(read_corpus(flipped.data(), flipped.size())), bytes) << bit;
  }
}

// Behind gzip's checksum: whatever is read has graphs that may be read, and evaluated or refused.
TEST(CorpusFile, IsSafeWhateverStandsInIt) {
  const Bytes inside = unpacked(write_corpus(few()));
  std::mt19937 random(1);
  int read = 0, refused = 0;
  for (int k = 0; k < 3000; ++k) {
    Bytes changed = inside;
    const size_t at = random() % changed.size();
    if (k % 2)
      changed[at] ^= static_cast<uint8_t>(1 << random() % 8);
    else
      changed[at] = static_cast<uint8_t>(random());
    const Bytes bytes = packed(changed);
    if (!error_of(bytes).empty()) {
      ++refused;
      continue;
    }
    ++read;
    for (const Case& c : read_corpus(bytes.data(), bytes.size())) case_size(c);
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(read, 300);
}

TEST(CorpusFile, SaysWhatIsWrongAndWhere) {
  Bytes inside = unpacked(write_corpus(few()));
  Bytes other = inside;
  other[0] ^= 1;
  EXPECT_EQ(error_of(packed(other)), "corpus: byte 0 unpacked: is no corpus");
  other = inside;
  other[8] = 99;
  EXPECT_EQ(error_of(packed(other)).find("corpus: byte 8 unpacked: version 99, expected "), 0u);
  inside.push_back(0);
  EXPECT_NE(error_of(packed(inside)).find("1 bytes too many"), std::string::npos);
}

// The published splitmix64: seed 0 begins with these.
TEST(Fill, IsSplitmix64) {
  Fill fill;
  fill.kind = Fill::kUniform;
  fill.high = 1;
  const std::vector<double> u = make_tensor(TENON_F64, {3}, fill).f;
  EXPECT_EQ(u[0], static_cast<double>(0xE220A8397B1DCDAFull >> 11) * 0x1p-53);
  EXPECT_EQ(u[1], static_cast<double>(0x6E789E6AA1B965F4ull >> 11) * 0x1p-53);
  EXPECT_EQ(u[2], static_cast<double>(0x06C45D188009454Full >> 11) * 0x1p-53);
}

TEST(Fill, RoundsSaturatesAndRepeats) {
  Fill fill;
  fill.values = {1e20, -3.7, std::nan("")};
  EXPECT_EQ(make_tensor(TENON_I32, {4}, fill).i, (std::vector<int64_t>{2147483647, -3, 0, 2147483647}));
  EXPECT_EQ(make_tensor(TENON_U8, {2}, fill).i, (std::vector<int64_t>{255, 0}));
  EXPECT_EQ(make_tensor(TENON_I64, {1}, fill).i, (std::vector<int64_t>{INT64_MAX}));
  EXPECT_EQ(make_tensor(TENON_BOOL, {2}, fill).i, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(make_tensor(TENON_BF16, {2}, fill).f[1], -3.703125);
  EXPECT_TRUE(std::isinf(make_tensor(TENON_F16, {1}, fill).f[0]));
  fill.each_step = true;
  EXPECT_EQ(make_tensor(TENON_I32, {2}, fill, 1).i, (std::vector<int64_t>{0, 2147483647}));
  fill.values.clear();
  EXPECT_THROW(make_tensor(TENON_F32, {2}, fill), std::runtime_error);
}

TEST(Fill, GivesTheSameBytesInParts) {
  Fill fill;
  fill.kind = Fill::kUniform;
  fill.low = -300, fill.high = 300, fill.seed = 5;
  for (int32_t dtype : {TENON_F32, TENON_BF16, TENON_I64, TENON_U8, TENON_BOOL}) {
    const Bytes whole = reference::to_bytes(make_tensor(dtype, {10000}, fill));
    Bytes parts(whole.size());
    const uint64_t width = static_cast<uint64_t>(plugin::dtype_bytes(dtype));
    for (const auto& [first, count] : {std::pair<uint64_t, uint64_t>{0, 1}, {1, 4999}, {5000, 5000}})
      make_bytes(dtype, fill, first, count, parts.data() + first * width);
    EXPECT_EQ(parts, whole);
  }
}

}  // namespace
}  // namespace tenon::conformance
