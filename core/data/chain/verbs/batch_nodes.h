// Several elements as one.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "data/chain/chain_node.h"

namespace tenon {

// What fills the elements of a batch up to one size. An axis of size -1 gets the longest of the batch.
struct Padding {
  std::map<std::string, std::vector<int64_t>> shapes;
  std::map<std::string, double> values;
  int64_t unknown_axis = -1;  // not -1: of each axis of size -1, which nothing may exceed

  // The elements stacked along a new first axis. Throws Error where they do not fit together.
  Element stack(std::vector<Element> elements) const;
  // What an element of this type is padded to; -1 where the batch decides.
  std::vector<int64_t> padded(const std::string& name, const Type& type) const;
  // Throws Error where there is more than fits.
  void copy(const std::string& name, const Array& from, const Shape& to_shape, std::byte* to) const;
};

// Elements of one type, stacked along a new first axis.
Element stack_elements(std::vector<Element> elements);

// A verb whose elements are batches of parts of its input.
class BatchNode : public VerbNode {
 public:
  using VerbNode::VerbNode;
  Element value(const ElementRef& ref) const override;
  std::string where(const ElementRef& ref) const override { return from_->where(ref.held->parts.at(0)); }
  int64_t rows(const ElementRef& ref) const override { return static_cast<int64_t>(ref.held->parts.size()); }

  // Makes a part of a batch in a row of it. Throws Error.
  void fill_row(const ElementRef& part, size_t bucket, std::span<const FeatureSpec> specs, Slots& out) const;
  virtual Element part_value(const ElementRef& part) const { return value_at(*from_, part); }
  std::string row_where(const ElementRef& part) const { return from_->where(part); }
  virtual int64_t most_rows() const = 0;
  virtual bool drops_remainder() const = 0;
  // Batches of the same number have rows of one size, known before they are made.
  virtual std::vector<int64_t> bucket_rows() const { return {}; }
  virtual const Padding* padding(size_t /*bucket*/) const { return nullptr; }
  static size_t bucket_of(const ElementRef& ref) { return static_cast<size_t>(ref.index); }

 protected:
  ElementRef batch_of(std::vector<ElementRef> parts, size_t bucket = 0) const;
};

}  // namespace tenon
