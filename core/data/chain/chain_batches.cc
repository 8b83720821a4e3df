#include "data/chain/chain_batches.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/caught.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr uint64_t kUncounted = uint64_t{1} << 40;  // examples of an epoch, where nobody knows how many there are
constexpr uint64_t kForEver = uint64_t{1} << 62;

class ChainSource : public Source {
 public:
  ChainSource(std::shared_ptr<const ChainBatches> batches, std::vector<FeatureSpec> specs, BucketTable buckets)
      : batches_(std::move(batches)), specs_(std::move(specs)), buckets_(std::move(buckets)) {}

  Status fill(const PlannedRow& row, Slots& out) const override {
    return caught([&]() -> Status {
      PlannedBatch& batch = *row.batch;
      if (!batches_->by_row) return copy_row(batch, row.ref.record, out);
      const size_t bucket = BatchNode::bucket_of(batch.ref);
      const std::vector<FeatureSpec>& specs = buckets_.empty() ? specs_ : buckets_.specs.at(bucket);
      batches_->by_row->fill_row(batch.ref.held->parts.at(row.ref.record), bucket, specs, out);
      return {};
    });
  }
  std::string where(const PlannedRow& row) const override {
    const ElementRef& batch = row.batch->ref;
    return batches_->by_row ? batches_->by_row->row_where(batch.held->parts.at(row.ref.record))
                            : batches_->node->where(batch);
  }
  std::vector<uint32_t> counts() const override { return {}; }
  int64_t bytes_per_example() const override { return 32 << 10; }
  bool rows_together() const override { return !batches_->by_row; }
  std::vector<std::string> lost() const override { return lost_below(*batches_->node); }

 private:
  Status copy_row(PlannedBatch& batch, size_t row, Slots& out) const {
    std::call_once(batch.once, [&] {
      batch.whole = placed(*batches_->node, batch.ref, [&] { return batches_->node->shared_value(batch.ref); });
    });
    const Element& whole = *batch.whole;
    if (whole.size() != specs_.size())
      return invalid("a batch has ", whole.size(), " features, the first one has ", specs_.size());
    for (size_t i = 0; i < specs_.size(); ++i) {
      const auto found = whole.find(specs_[i].name);
      if (found == whole.end()) return invalid("a batch has no feature '", specs_[i].name, "', the first one has");
      const auto to = out.get<std::byte>(i);
      const Array& array = found->second;
      if (array.dtype() != specs_[i].type.dtype || array.bytes().size() < (row + 1) * to.size() ||
          array.shape().rank() < 1 || array.bytes().size() != static_cast<size_t>(array.dim(0)) * to.size())
        return invalid("feature '", specs_[i].name, "' of a batch is ", array.type().str(), ", expected rows of ",
                       specs_[i].type.str(), " as in the first one");
      std::memcpy(to.data(), array.bytes().data() + row * to.size(), to.size());
    }
    return {};
  }
  static std::vector<std::string> lost_below(const ChainNode& node) {
    std::vector<std::string> all = node.lost();
    for (const Node& input : node.inputs())
      for (std::string& text : lost_below(*input)) all.push_back(std::move(text));
    return all;
  }

  std::shared_ptr<const ChainBatches> batches_;
  std::vector<FeatureSpec> specs_;
  BucketTable buckets_;
};

// The verb that makes the batches; null where another follows that makes values of them.
const BatchNode* batch_verb(const ChainNode& node) { return dynamic_cast<const BatchNode*>(&value_node(node)); }

// Any verb that does, however far below.
const BatchNode* batch_verb_below(const ChainNode& node) {
  if (const auto* found = dynamic_cast<const BatchNode*>(&node)) return found;
  for (const Node& input : node.inputs())
    if (const BatchNode* found = batch_verb_below(*input)) return found;
  return nullptr;
}

std::string left_out_below(const ChainNode& node) {
  std::string out = node.left_out();
  for (const Node& input : node.inputs())
    if (out.empty()) out = left_out_below(*input);
  return out;
}

ElementRef first_of(const ChainNode& node) {
  ElementRef ref;
  if (node.open(0, nullptr)->next(ref)) return ref;
  const std::string why = left_out_below(node);
  fail("the data have no elements", why.empty() ? "" : "; ", why);
  return ref;
}

bool has_static_rows(const BatchNode& batch, const Element& row) {
  if (!batch.padding(0) || !batch.bucket_rows().empty()) return true;
  for (const auto& [name, array] : row) {
    const std::vector<int64_t> dims = batch.padding(0)->padded(name, array.type());
    if (std::count(dims.begin(), dims.end(), -1) > 0) return false;
  }
  return true;
}

std::vector<FeatureSpec> row_specs(const BatchNode& batch, size_t bucket, const Element& row) {
  std::vector<FeatureSpec> specs;
  for (const auto& [name, array] : row) {
    const Padding* padding = batch.padding(bucket);
    specs.push_back({name, {array.dtype(), padding ? Shape(padding->padded(name, array.type())) : array.shape()}});
  }
  return specs;
}

std::vector<size_t> bytes_of(const std::vector<FeatureSpec>& specs) {
  std::vector<size_t> bytes;
  for (const FeatureSpec& spec : specs) bytes.push_back(static_cast<size_t>(spec.type.bytes()));
  return bytes;
}

// The features of the elements of whole batches, without the first axis.
std::vector<FeatureSpec> specs_of_whole(const Element& batch) {
  std::vector<FeatureSpec> specs;
  for (const auto& [name, array] : batch) {
    if (array.shape().rank() < 1) fail("feature '", name, "' of a batch is a scalar, expected a row an example");
    specs.push_back({name, {array.dtype(), Shape(array.shape().dims().subspan(1))}});
  }
  return specs;
}

void check_specs(const std::vector<FeatureSpec>& specs) {
  if (specs.empty()) fail("the elements have no features");
  if (specs.size() > kMaxFeatures) fail("at most ", kMaxFeatures, " features, found ", specs.size());
  for (const FeatureSpec& spec : specs)
    if (spec.type.shape.elements() <= 0) fail("feature '", spec.name, "' has no elements: ", spec.type.str());
}

void set_prefetch(const ChainNode& node, InputOptions* options) {
  for (const ChainNode* at = &node; at; at = at->same_value())
    if (const auto* prefetch = dynamic_cast<const PrefetchNode*>(at)) {
      options->prefetch = static_cast<int>(std::max<int64_t>(prefetch->buffer_size(), 0));
      options->ram_budget = prefetch->ram_budget();
      return;
    }
}

// Rows of an epoch.
uint64_t count_rows(const ChainNode& node, int64_t batch_rows, bool* counted) {
  const int64_t batches = node.cardinality();
  *counted = batches >= 0;
  if (batches == kInfiniteCardinality) return kForEver;
  if (batches == kUnknownCardinality) return kUncounted;
  const ChainNode* at = &node;  // below verbs that let all batches through
  while (!dynamic_cast<const BatchNode*>(at) && at->inputs().size() == 1 && at->inputs()[0]->cardinality() == batches)
    at = at->inputs()[0].get();
  const auto* batch = dynamic_cast<const BatchNode*>(at);
  const int64_t parts = batch && !batch->drops_remainder() ? batch->inputs()[0]->cardinality() : -1;
  return static_cast<uint64_t>(parts >= 0 ? parts : batches * batch_rows);
}

// Rows of the last bucket's shape whose memory any batch fits into: its own, or more where shorter buckets have so many rows.
int64_t rows_for_all(const BucketTable& buckets) {
  const int64_t multiple =
      std::accumulate(buckets.rows.begin(), buckets.rows.end(), int64_t{0}, std::gcd<int64_t, int64_t>);
  const std::vector<size_t>& last = buckets.bytes.back();
  int64_t most = buckets.rows.back();
  for (size_t b = 0; b < buckets.rows.size(); ++b)
    for (size_t feature = 0; feature < last.size(); ++feature) {
      const int64_t bytes = buckets.rows[b] * static_cast<int64_t>(buckets.bytes[b][feature]);
      most = std::max(most, (bytes - 1) / static_cast<int64_t>(last[feature]) + 1);
    }
  return (most + multiple - 1) / multiple * multiple;
}

void describe_rows(const BatchNode& batch, Dataset::Impl* impl) {
  const Node from = batch.inputs()[0];
  const Element row = value_at(*from, first_of(*from));
  const std::vector<int64_t> rows = batch.bucket_rows();
  if (!has_static_rows(batch, row))
    fail(
        "padded_batch gives batches of many sizes; expected padded_shapes, or bucket_by_sequence_length with "
        "pad_to_bucket_boundary");
  for (size_t bucket = 0; bucket < rows.size(); ++bucket) {
    impl->buckets.rows.push_back(rows[bucket]);
    impl->buckets.specs.push_back(row_specs(batch, bucket, row));
    impl->buckets.bytes.push_back(bytes_of(impl->buckets.specs.back()));
    check_specs(impl->buckets.specs.back());
  }
  impl->specs = rows.empty() ? row_specs(batch, 0, row) : impl->buckets.specs.back();
  impl->options.batch_size = rows.empty() ? batch.most_rows() : rows_for_all(impl->buckets);
  if (!rows.empty()) {
    impl->options.buckets.boundaries.assign(rows.size(), 0);
    impl->options.buckets.rows_divide_by =
        std::accumulate(rows.begin(), rows.end(), int64_t{0}, std::gcd<int64_t, int64_t>);
  }
  impl->options.drop_remainder = batch.drops_remainder();
}

void describe_whole(const ChainNode& node, Dataset::Impl* impl) {
  const BatchNode* batch = batch_verb_below(node);
  if (!batch) fail("the data are not in batches: batch() is missing");
  impl->specs = specs_of_whole(value_at(node, first_of(node)));
  impl->options.batch_size = batch->most_rows();
  impl->options.drop_remainder = batch->drops_remainder();
}

}  // namespace

std::shared_ptr<const Dataset::Impl> seal_chain(const Node& node) {
  auto impl = std::make_shared<Dataset::Impl>();
  const BatchNode* by_row = batch_verb(*node);
  if (by_row)
    describe_rows(*by_row, impl.get());
  else
    describe_whole(*node, impl.get());
  check_specs(impl->specs);
  impl->bytes = bytes_of(impl->specs);
  impl->options.repeat = node->cardinality() == kInfiniteCardinality;
  set_prefetch(*node, &impl->options);
  impl->size = count_rows(*node, impl->options.batch_size, &impl->counted);
  impl->fingerprint = node->fingerprint();
  impl->data_fingerprint = node->data_fingerprint();
  impl->batches = std::make_shared<const ChainBatches>(ChainBatches{node, by_row});
  impl->source = std::make_unique<ChainSource>(impl->batches, impl->specs, impl->buckets);
  return impl;
}

}  // namespace tenon
