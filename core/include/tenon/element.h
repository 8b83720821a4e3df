// Elements of a Dataset, and functions of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/array.h"
#include "tenon/status.h"
#include "tenon/types.h"

namespace tenon {

// One feature of an element: "image", f32[28,28,1]. A batch of it is [batch, ...shape], or [...shape, batch]
// when it is batch_minor.
struct FeatureSpec {
  std::string name = {};
  Type type = {};
  bool batch_minor = false;

  Type batch_type(int64_t batch) const;
};

// Numbers that depend on nothing but (seed, stream, sample): drawn from counters, never from a shared state.
class SampleRandom {
 public:
  SampleRandom(uint64_t seed, uint32_t stream, uint64_t sample) : seed_(seed), sample_(sample), stream_(stream) {}
  uint32_t bits();
  float uniform(float lower, float upper);  // [lower, upper)
  int below(int n);                         // 0 .. n-1. REQUIRED: n > 0

 private:
  uint64_t seed_;
  uint64_t sample_;
  uint32_t stream_;
  uint32_t used_ = 0;
  uint32_t words_[4];
};

// The example that a function is asked for.
struct Sample {
  uint64_t index = 0;  // its place at the source since the first epoch began: other numbers are drawn each time
  uint64_t epoch = 0;
  uint64_t seed = 0;
  bool training = false;

  SampleRandom random(uint32_t stream = 0) const { return {seed, stream + 16, index}; }
  // For the next of several functions that run as one: it draws other numbers.
  Sample further() const { return {index, epoch, seed + 0x9e3779b97f4a7c15, training}; }
};

// Where one example goes: for each feature, in the order of the specs, the memory of its row.
class Slots {
 public:
  Slots(std::span<void* const> rows, std::span<const size_t> bytes) : rows_(rows), bytes_(bytes) {}
  size_t size() const { return rows_.size(); }
  // The elements of one example. REQUIRED: feature < size(), T is the type that the spec names.
  template <class T>
  std::span<T> get(size_t feature) const {
    return {static_cast<T*>(rows_[feature]), bytes_[feature] / sizeof(T)};
  }

 private:
  std::span<void* const> rows_;
  std::span<const size_t> bytes_;
};

// An element is its features by name. Text, names of files and the bytes of a record are u8[n].
using Element = Arrays;

Array text_array(std::string_view text);        // u8[text.size()]
std::string_view text_of(const Array& array);  // of a u8[n], which it looks into. Throws Error for others

// What Dataset::map does to each element. Immutable; called from many threads at once; throws Error where an element is
// damaged. Most are made of a lambda (ElementMap); those of image_maps.h and element_maps.h are classes so that several
// can run as one.
class ElementOp {
 public:
  virtual ~ElementOp() = default;
  virtual std::string name() const = 0;  // with what it was made with, so that another one has another
  virtual Element apply(Element element, const Sample& sample) const = 0;
  virtual int maps() const { return 1; }  // how many functions this is
  // Whether the result depends on `sample`.
  virtual bool random() const { return false; }
  // This and then `next` in one, where that gives the same sooner; else null. `next` gets sample.further().
  virtual std::shared_ptr<const ElementOp> then(const std::shared_ptr<const ElementOp>& next) const;
  // The same as apply, straight into a row of these features; false: it cannot, and nothing was written.
  virtual bool fill(const Element& element, const Sample& sample, std::span<const FeatureSpec> specs, Slots& out) const;
};

// An ElementOp, or a function (Element) -> Element, or (Element, const Sample&) -> Element, which then counts as
// random.
class ElementMap {
 public:
  ElementMap(std::shared_ptr<const ElementOp> op) : op_(std::move(op)) {}  // NOLINT: implicit by design
  template <class Fn>
  requires(std::is_invocable_r_v<Element, const Fn&, Element> ||
           std::is_invocable_r_v<Element, const Fn&, Element, const Sample&>)
  ElementMap(Fn fn) {  // NOLINT: implicit by design
    if constexpr (std::is_invocable_r_v<Element, const Fn&, Element>)
      op_ = of_function([fn = std::move(fn)](Element e, const Sample&) { return fn(std::move(e)); }, false);
    else
      op_ = of_function(std::move(fn), true);
  }

  const std::shared_ptr<const ElementOp>& op() const { return op_; }

 private:
  static std::shared_ptr<const ElementOp> of_function(std::function<Element(Element, const Sample&)> fn, bool random);
  std::shared_ptr<const ElementOp> op_;
};

}  // namespace tenon
