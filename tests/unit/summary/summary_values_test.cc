// What TensorBoard's own functions make of the same data: tests/fixtures/make_summaries.py.
#include <fstream>
#include <sstream>

#include "tenon/summary.h"
#include "unit/data/temporary_directory.h"
#include "unit/summary/event_testing.h"

namespace tenon {
namespace {

using callback_testing::only_file;
using callback_testing::SummaryValue;
using callback_testing::values_of;

struct FixtureRow {
  std::string kind, size, data, predictions, weights, expected;
};

std::vector<FixtureRow> fixture(const std::string& kind) {
  std::ifstream file(std::string(TENON_GOLDEN) + "/../fixtures/summaries.csv");
  std::vector<FixtureRow> out;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    FixtureRow row;
    for (std::string* field : {&row.kind, &row.size, &row.data, &row.predictions, &row.weights, &row.expected})
      std::getline(fields, *field, ',');
    if (row.kind == kind) out.push_back(row);
  }
  return out;
}

std::vector<double> numbers(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<double>(in), {}};
}

std::string hex(const std::string& bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

// Writes one summary and gives it as it lies in the file.
template <class Write>
SummaryValue written(const Write& write) {
  const TemporaryDirectory directory;
  SummaryWriter writer(directory.path());
  write(writer);
  const std::vector<SummaryValue> values = values_of(only_file(directory.path()));
  EXPECT_EQ(values.size(), 1u);
  return values.at(0);
}

TEST(SummaryValues, HistogramsHaveTensorBoardsBuckets) {
  const std::vector<FixtureRow> rows = fixture("histogram");
  ASSERT_EQ(rows.size(), 5u);
  for (const FixtureRow& row : rows) {
    const int64_t buckets = std::stoll(row.size);
    const SummaryValue value = written(
        [&](SummaryWriter& writer) { writer.histogram("h", Array(numbers(row.data)), 3, {.buckets = buckets}); });
    EXPECT_EQ(value.shape, (std::vector<int64_t>{buckets, 3}));
    const std::vector<double> expected = numbers(row.expected);
    ASSERT_EQ(value.numbers.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(value.numbers[i], expected[i], 1e-12) << row.data;
  }
}

TEST(SummaryValues, HistogramsLeaveOutWhatIsNotFinite) {
  const float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  const SummaryValue value = written([&](SummaryWriter& writer) {
    writer.histogram("h", Array({kNaN, 1.0f, 3.0f, -kInf, kInf}), 0, {.buckets = 2});
  });
  EXPECT_EQ(value.numbers, (std::vector<double>{1, 2, 1, 2, 3, 1}));
}

TEST(SummaryValues, PrCurvesAreTensorBoards) {
  std::vector<FixtureRow> rows = fixture("pr_curve_f64");
  for (const FixtureRow& row : fixture("pr_curve_f32")) rows.push_back(row);
  ASSERT_EQ(rows.size(), 8u);
  for (const FixtureRow& row : rows) {
    const std::vector<double> predictions = numbers(row.predictions);
    const Array given = row.kind == "pr_curve_f32" ? Array(std::vector<float>(predictions.begin(), predictions.end()))
                                                   : Array(predictions);
    PrCurveSummaryOptions options{.num_thresholds = std::stoll(row.size)};
    if (!row.weights.empty()) options.weights = Array(numbers(row.weights));
    const SummaryValue value =
        written([&](SummaryWriter& writer) { writer.pr_curve("c", Array(numbers(row.data)), given, 3, options); });
    EXPECT_EQ(value.tag, "c/pr_curves");
    EXPECT_EQ(value.shape, (std::vector<int64_t>{6, options.num_thresholds}));
    const std::vector<double> expected = numbers(row.expected);
    ASSERT_EQ(value.numbers.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(value.numbers[i], expected[i]) << row.data << " at " << i;
  }
}

TEST(SummaryValues, MetadataAreTensorBoardsByteByByte) {
  const std::vector<FixtureRow> rows = fixture("metadata");
  ASSERT_EQ(rows.size(), 5u);
  for (const FixtureRow& row : rows) {
    const SummaryValue value = written([&](SummaryWriter& writer) {
      const std::string what = "what it is";
      if (row.data == "scalars") writer.scalar("s", 1, 0, {what});
      if (row.data == "histograms") writer.histogram("s", Array({1.0f}), 0, {.description = what});
      if (row.data == "images") writer.image("s", Array(Type{DType::kF32, {1, 2, 2, 3}}), 0, {.description = what});
      if (row.data == "text") writer.text("s", "x", 0, {what});
      if (row.data == "pr_curves")
        writer.pr_curve("c", Array({true}), Array({0.5f}), 0, {.num_thresholds = 7, .description = what});
    });
    EXPECT_EQ(hex(value.metadata), row.expected) << row.data;
  }
}

TEST(SummaryValues, MistakesNameTheSummary) {
  const TemporaryDirectory directory;
  SummaryWriter writer(directory.path());
  const auto error = [&](auto write) -> std::string {
    try {
      write();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error([&] { writer.image("i", Array({1.0f}), 0); }),
            "image summary 'i' is f32[1], expected floats or u8 [images, height, width, 1 to 4 channels]");
  EXPECT_EQ(error([&] { writer.histogram("h", Array({1.0f}), 0, {.buckets = 0}); }),
            "histogram summary 'h': buckets is 0, expected 1 or more");
  EXPECT_EQ(error([&] {
              writer.pr_curve("c", Array({true}), Array({0.5f, 1.0f}), 0);
            }),
            "PR curve 'c': labels are bool[1], expected as many numbers as predictions, 2");
  EXPECT_EQ(error([&] { writer.pr_curve("c", Array({true}), Array({0.5f}), 0, {.num_thresholds = 1}); }),
            "PR curve 'c': num_thresholds is 1, expected 2 or more");
  EXPECT_EQ(error([&] { SummaryWriter(""); }), "SummaryWriter: logdir is '', expected a directory");
}

}  // namespace
}  // namespace tenon
