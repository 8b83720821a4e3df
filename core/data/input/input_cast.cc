// A Dataset whose features are of other types.
#include <algorithm>
#include <array>
#include <memory>

#include "base/array_dtype.h"
#include "base/strings.h"
#include "data/input/input_dataset.h"

namespace tenon {
namespace {

// Reads an example where there is room for it, and converts what is of another type.
class CastSource : public Source {
 public:
  CastSource(std::shared_ptr<const Dataset::Impl> from, const std::vector<FeatureSpec>& to) : from_(std::move(from)) {
    for (size_t i = 0; i < to.size(); ++i) {
      const DType is = from_->specs[i].type.dtype, becomes = to[i].type.dtype;
      if (is == becomes) continue;
      casts_.push_back({i, room_, is, becomes});
      room_ += (from_->bytes[i] + kAlignment - 1) / kAlignment * kAlignment;
    }
  }

  Status fill(const PlannedRow& row, Slots& out) const override {
    const std::unique_ptr<std::byte[]> room(new std::byte[room_]);
    std::array<void*, kMaxFeatures> rows;
    const size_t features = from_->specs.size();
    for (size_t i = 0; i < features; ++i) rows[i] = out.get<std::byte>(i).data();
    for (const Cast& c : casts_) rows[c.feature] = room.get() + c.at;
    Slots read({rows.data(), features}, from_->bytes);
    TENON_TRY(from_->source->fill(row, read));
    for (const Cast& c : casts_)
      convert_numbers(c.from, read.get<std::byte>(c.feature), c.to, out.get<std::byte>(c.feature).data());
    return {};
  }
  std::string where(const PlannedRow& row) const override { return from_->source->where(row); }
  std::vector<uint32_t> counts() const override { return from_->source->counts(); }
  int64_t bytes_per_example() const override { return from_->source->bytes_per_example(); }
  bool immediate() const override { return from_->source->immediate(); }
  bool rows_together() const override { return from_->source->rows_together(); }
  uint64_t fingerprint() const override { return from_->data_fingerprint; }
  std::vector<std::string> lost() const override { return from_->source->lost(); }

 private:
  static constexpr size_t kAlignment = alignof(std::max_align_t);
  struct Cast {
    size_t feature, at;  // where its example is read
    DType from, to;
  };
  std::shared_ptr<const Dataset::Impl> from_;
  std::vector<Cast> casts_;
  size_t room_ = 0;  // for what is converted of an example
};

}  // namespace

Dataset Dataset::cast(const std::map<std::string, DType>& dtypes) const {
  const std::shared_ptr<const Impl> from = sealed();
  if (!from->buckets.empty()) fail("cast: data with buckets of lengths keep their dtypes");
  auto impl = std::make_shared<Impl>(Impl{.options = from->options,
                                          .specs = from->specs,
                                          .bytes = from->bytes,
                                          .source = nullptr,
                                          .order = from->order,
                                          .size = from->size,
                                          .fingerprint = from->fingerprint,
                                          .data_fingerprint = from->data_fingerprint,
                                          .batches = from->batches,
                                          .counted = from->counted});
  for (const auto& [name, dtype] : dtypes) {
    const auto spec =
        std::find_if(impl->specs.begin(), impl->specs.end(), [&](const FeatureSpec& s) { return s.name == name; });
    if (spec == impl->specs.end()) fail("cast: the data have no feature '", name, "'");
    const Type is = spec->type;
    if (!is_float(dtype) && (!is_integer(dtype) || is_float(is.dtype)))
      fail("cast: feature '", name, "' is ", is.str(), ", and cannot become ", dtype_name(dtype));
    spec->type.dtype = dtype;
    impl->bytes[static_cast<size_t>(spec - impl->specs.begin())] = static_cast<size_t>(spec->type.bytes());
  }
  impl->source = std::make_unique<CastSource>(from, impl->specs);
  return Dataset(std::move(impl));
}

}  // namespace tenon
