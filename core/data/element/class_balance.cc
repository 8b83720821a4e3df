#include "tenon/class_balance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/strings.h"
#include "data/random_bits.h"

namespace tenon {
namespace {

constexpr uint32_t kSplitStream = 6;

// How many of each class are held out: its share rounded down, and one more for those that lost most, as far as the sum asks. Of classes
// with one example none, which is no loss.
std::vector<int64_t> shares(std::span<const int64_t> counts, double fraction) {
  int64_t all = 0;
  std::vector<int64_t> out;
  std::vector<std::pair<double, size_t>> lost;
  for (size_t c = 0; c < counts.size(); ++c) {
    const double share = fraction * static_cast<double>(counts[c]);
    out.push_back(static_cast<int64_t>(share));
    if (counts[c] < 2) continue;
    lost.emplace_back(static_cast<double>(out[c]) - share, c);
    all += counts[c];
  }
  std::stable_sort(lost.begin(), lost.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  int64_t missing =
      std::llround(fraction * static_cast<double>(all)) - std::accumulate(out.begin(), out.end(), int64_t{0});
  for (const auto& [how_much, c] : lost)
    if (missing-- > 0) ++out[c];
  for (size_t c = 0; c < counts.size(); ++c)
    if (counts[c] > 1) out[c] = std::clamp<int64_t>(out[c], 1, counts[c] - 1);
  return out;
}

}  // namespace

std::vector<int64_t> class_counts(std::span<const int32_t> labels, int64_t classes) {
  std::vector<int64_t> out(static_cast<size_t>(classes));
  for (const int32_t label : labels) {
    if (label < 0 || (classes > 0 && label >= classes))
      fail("class_counts: a label is ", label, ", expected ", classes > 0 ? cat("0 to ", classes - 1) : "0 or more");
    if (static_cast<size_t>(label) >= out.size()) out.resize(static_cast<size_t>(label) + 1);
    ++out[static_cast<size_t>(label)];
  }
  return out;
}

std::map<int64_t, double> class_weights(std::span<const int64_t> counts) {
  double all = 0, classes = 0;
  for (const int64_t count : counts) {
    if (count < 0) fail("class_weights: a class has ", count, " examples");
    all += static_cast<double>(count);
    classes += count > 0;
  }
  std::map<int64_t, double> out;
  for (size_t c = 0; c < counts.size(); ++c)
    if (counts[c] > 0) out[static_cast<int64_t>(c)] = all / (classes * static_cast<double>(counts[c]));
  return out;
}

SplitIndices stratified_split(std::span<const int32_t> labels, double fraction, uint64_t seed, SingleExamples single) {
  if (!(fraction > 0 && fraction < 1))
    fail("stratified_split: fraction is ", fraction, ", expected more than 0 and less than 1");
  const std::vector<int64_t> counts = class_counts(labels);
  for (size_t c = 0; c < counts.size(); ++c)
    if (counts[c] == 1 && single == SingleExamples::kRefuse)
      fail("stratified_split: class ", c, " has one example, expected at least two, one for either side");
  const std::vector<int64_t> held = shares(counts, fraction);
  std::vector<std::vector<int64_t>> of_class(counts.size());
  for (size_t i = 0; i < labels.size(); ++i)
    of_class[static_cast<size_t>(labels[i])].push_back(static_cast<int64_t>(i));
  SplitIndices out;
  for (size_t c = 0; c < counts.size(); ++c) {
    std::vector<int64_t>& all = of_class[c];
    for (size_t i = 0; i < static_cast<size_t>(held[c]); ++i)
      std::swap(all[i], all[i + scale_bits(philox_bits64(seed, kSplitStream, c, i), all.size() - i)]);
    const auto cut = all.begin() + static_cast<std::ptrdiff_t>(held[c]);
    out.held_out.insert(out.held_out.end(), all.begin(), cut);
    out.train.insert(out.train.end(), cut, all.end());
  }
  if (out.held_out.empty() && !labels.empty())
    fail("stratified_split: every class has one example, expected one with at least two");
  std::sort(out.train.begin(), out.train.end());
  std::sort(out.held_out.begin(), out.held_out.end());
  return out;
}

std::vector<int32_t> labels_of(const Dataset& data, const std::string& feature) {
  std::vector<int32_t> out;
  for (const Element& element : data) {
    const auto found = element.find(feature);
    if (found == element.end()) fail("labels_of: the elements have no feature '", feature, "'");
    if (is_float(found->second.dtype()) || found->second.elements() != 1)
      fail("labels_of: feature '", feature, "' is ", found->second.type().str(), ", expected one integer");
    out.push_back(found->second.to<int32_t>()[0]);
  }
  return out;
}

SplitDatasets stratified_split(const Dataset& data, double fraction, const std::string& feature, uint64_t seed,
                               SingleExamples single) {
  if (data.cardinality() == kInfiniteCardinality) fail("stratified_split: the data repeat for ever");
  SplitIndices split = stratified_split(labels_of(data, feature), fraction, seed, single);
  return {data.pick(std::move(split.train)), data.pick(std::move(split.held_out))};
}

}  // namespace tenon
