// What a Dataset is inside: a source of examples at random, and the numbers that decide their order.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "data/input/input_buckets.h"
#include "data/input/input_order.h"
#include "tenon/input.h"

namespace tenon {

constexpr size_t kMaxFeatures = 64;  // of one dataset

struct PlannedBatch;  // of a chain: data/chain/chain_batches.h
struct ChainBatches;
class ChainNode;

// A row of a batch.
struct PlannedRow {
  RecordRef ref;  // of a chain: the row itself
  Sample sample;
  Status status;                  // why the row is missing
  PlannedBatch* batch = nullptr;  // of a chain: that it is a row of
};

// Examples at random. Thread safe and immutable.
class Source {
 public:
  virtual ~Source() = default;
  // Fills one row. Errors say which example, with its place.
  virtual Status fill(const PlannedRow& row, Slots& out) const = 0;
  // Copies a feature of many examples that lie in memory as they are, `bytes` each, which cannot fail. False: they do not.
  virtual bool copy(size_t /*feature*/, std::span<const PlannedRow> /*rows*/, char* /*to*/, size_t /*bytes*/) const {
    return false;
  }
  // Names one for messages: "FILE: record at offset N", "example N".
  virtual std::string where(const PlannedRow& row) const = 0;
  // The record itself; an error where an example is none.
  virtual Status look_at(const RecordRef& ref, const std::function<Status(std::string_view record)>& fn) const;
  // How many examples of each part there are.
  virtual std::vector<uint32_t> counts() const = 0;
  // About what an example costs to read, in bytes; decides how many one task makes.
  virtual int64_t bytes_per_example() const = 0;
  // Whether the rows of a batch are best made by one task.
  virtual bool rows_together() const { return false; }
  // Whether a small batch is made faster by the consumer itself than by asking the pool.
  virtual bool immediate() const { return false; }
  // Dataset::data_fingerprint().
  virtual uint64_t fingerprint() const { return 0; }
  // What indexing already had to leave out, a text for each file whose rest is lost.
  virtual std::vector<std::string> lost() const { return {}; }
};

struct Dataset::Impl {
  InputOptions options;
  std::vector<FeatureSpec> specs;
  std::vector<size_t> bytes;  // of one example of each feature
  std::unique_ptr<const Source> source;
  OrderOptions order;
  uint64_t size = 0;
  uint64_t fingerprint = 0, data_fingerprint = 0;
  BucketTable buckets = {};  // empty: none
  int64_t left_out = 0;      // by options.keep

  // A chain. What is above is that of another Impl, which is made when somebody asks.
  struct Sealing {
    std::once_flag once;
    std::shared_ptr<const Impl> impl;
  };
  std::shared_ptr<const ChainNode> node = nullptr;
  std::shared_ptr<Sealing> sealing = nullptr;
  // The Impl of a chain, whose size is not known where `counted` is false.
  std::shared_ptr<const ChainBatches> batches = nullptr;
  bool counted = true;
};

// The map function of Dataset::images and its specs.
Result<std::vector<FeatureSpec>> image_specs(const InputOptions& options);
class DecodedImages;
std::shared_ptr<DecodedImages> images_to_keep(const InputOptions& options);  // null: none are
MapFn image_map(const InputOptions& options, std::shared_ptr<DecodedImages> kept);

}  // namespace tenon
