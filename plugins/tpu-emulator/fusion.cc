#include "fusion.h"

#include <algorithm>

namespace tpu {
namespace {

constexpr size_t kManyReaders = 6;  // so many and a value is written

bool takes_producers_in(PieceKind kind) { return kind != PieceKind::kCollective && kind != PieceKind::kMove; }

class Fusion {
 public:
  explicit Fusion(const StepGraph& program)
      : program_(program), n_(program.pieces.size()), carrier_(n_, -1), roots_(n_), absorbed_(n_, 0) {}

  std::vector<FusedKernel> run() {
    for (size_t i = 0; i < n_; ++i) find_carrier(static_cast<int>(i));
    for (size_t i = n_; i-- > 0;) decide(static_cast<int>(i));
    for (size_t i = 0; i < n_; ++i)
      if (!absorbed_[i]) build(static_cast<int>(i));
    ride();
    kernels_.erase(
        std::remove_if(kernels_.begin(), kernels_.end(), [](const FusedKernel& k) { return k.pieces.empty(); }),
        kernels_.end());
    return std::move(kernels_);
  }

 private:
  const Piece& piece(int i) const { return program_.pieces[static_cast<size_t>(i)]; }
  int producer(uint32_t value) const { return program_.producer[value]; }
  int64_t elements(uint32_t value) const { return program_.graph.value(value).elements(); }

  // Whether the kernel of `i` begins with a product whose result only it reads: carrier_[i] is what makes its operand.
  void find_carrier(int i) {
    if (piece(i).kind != PieceKind::kElementwise || piece(i).out.empty()) return;
    for (uint32_t value : piece(i).in) {
      const int from = producer(value);
      if (from < 0 || program_.consumers[value].size() != 1 || program_.is_result[value]) continue;
      if (elements(value) != elements(piece(i).out[0])) continue;
      if (piece(from).kind == PieceKind::kMatrix || carrier_[static_cast<size_t>(from)] >= 0)
        carrier_[static_cast<size_t>(i)] = from;
    }
  }

  // The kernels that read what `i` makes: those of its readers, or of theirs when the readers go into them.
  bool find_readers(int i, std::vector<int>& readers) const {
    for (uint32_t value : piece(i).out) {
      if (program_.is_result[value]) return false;
      for (int reader : program_.consumers[value]) {
        if (absorbed_[static_cast<size_t>(reader)]) {
          const std::vector<int>& theirs = roots_[static_cast<size_t>(reader)];
          readers.insert(readers.end(), theirs.begin(), theirs.end());
        } else {
          if (!takes_producers_in(piece(reader).kind)) return false;
          readers.push_back(reader);
        }
        if (readers.size() > 4 * kManyReaders) return false;
      }
    }
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    return !readers.empty() && readers.size() < kManyReaders;
  }

  // Pieces are decided from the last to the first: whether `i` is computed inside its readers.
  void decide(int i) {
    const size_t at = static_cast<size_t>(i);
    if (absorbed_[at]) return absorb_carrier(i);  // into the epilogue that reads it
    roots_[at] = {i};
    if (piece(i).kind != PieceKind::kElementwise) return;
    std::vector<int> readers;
    if (!find_readers(i, readers) || (piece(i).dear && readers.size() > 1)) return absorb_carrier(i);
    double read = 0, written = 0, carried = 0;
    for (uint32_t value : piece(i).in) read += static_cast<double>(program_.bytes(value));
    for (uint32_t value : piece(i).out) written += static_cast<double>(program_.bytes(value));
    if (carrier_[at] >= 0)
      for (uint32_t value : piece(carrier_[at]).out) carried += static_cast<double>(program_.bytes(value));
    const double n = static_cast<double>(readers.size());
    const double inside = carried + n * read;                       // each reader reads the operands
    const double apart = (read - carried) + written + n * written;  // it alone reads them
    if (carrier_[at] >= 0 ? inside < apart : (inside <= apart || n == 1)) {
      absorbed_[at] = 1;
      roots_[at] = readers;
    } else {
      absorb_carrier(i);
    }
  }

  void absorb_carrier(int i) {
    const int from = carrier_[static_cast<size_t>(i)];
    if (from < 0) return;
    absorbed_[static_cast<size_t>(from)] = 1;
    roots_[static_cast<size_t>(from)] = roots_[static_cast<size_t>(i)];
  }

  void build(int root) {
    FusedKernel kernel;
    kernel.root = root;
    collect(root, kernel);
    std::sort(kernel.pieces.begin(), kernel.pieces.end());
    kernel.writes = piece(root).out;
    for (int i : kernel.pieces) visited_[static_cast<size_t>(i)] = 0;
    once(kernel.reads);
    kernels_.push_back(std::move(kernel));
  }

  void collect(int root, FusedKernel& kernel) {
    visited_.resize(n_, 0);
    std::vector<int> open = {root};
    visited_[static_cast<size_t>(root)] = 1;
    while (!open.empty()) {
      const int i = open.back();
      open.pop_back();
      kernel.pieces.push_back(i);
      for (uint32_t value : piece(i).in) {
        const int from = producer(value);
        if (from < 0 || !absorbed_[static_cast<size_t>(from)]) {
          kernel.reads.push_back(value);
        } else if (!visited_[static_cast<size_t>(from)]) {
          visited_[static_cast<size_t>(from)] = 1;
          open.push_back(from);
        }
      }
    }
  }

  // Sums over what a product or its epilogue has just made join that kernel, if all else that they read is there by then.
  void ride() {
    std::vector<int> kernel_of(program_.base.size(), -1);
    for (size_t k = 0; k < kernels_.size(); ++k)
      for (uint32_t value : kernels_[k].writes) kernel_of[value] = static_cast<int>(k);
    for (size_t k = 0; k < kernels_.size(); ++k) {
      FusedKernel& kernel = kernels_[k];
      if (piece(kernel.root).kind != PieceKind::kReduce) continue;
      uint32_t largest = TENON_NONE;
      int last = -1;  // of the kernels that it waits for
      for (uint32_t value : kernel.reads) {
        if (largest == TENON_NONE || program_.bytes(value) > program_.bytes(largest)) largest = value;
        last = std::max(last, kernel_of[value]);
      }
      for (uint32_t value : kernel.reads)  // of equal ones, the latest
        if (program_.bytes(value) == program_.bytes(largest) && kernel_of[value] > kernel_of[largest]) largest = value;
      if (largest == TENON_NONE || kernel_of[largest] < 0 || kernel_of[largest] != last) continue;
      FusedKernel& host = kernels_[static_cast<size_t>(last)];
      const bool product = std::any_of(host.pieces.begin(), host.pieces.end(),
                                       [&](int i) { return piece(i).kind == PieceKind::kMatrix; });
      if (product) merge(kernel, host, last, kernel_of);
    }
  }

  void merge(FusedKernel& from, FusedKernel& host, int host_index, std::vector<int>& kernel_of) {
    for (uint32_t value : from.reads)
      if (kernel_of[value] != host_index) host.reads.push_back(value);
    once(host.reads);
    host.writes.insert(host.writes.end(), from.writes.begin(), from.writes.end());
    host.pieces.insert(host.pieces.end(), from.pieces.begin(), from.pieces.end());
    std::sort(host.pieces.begin(), host.pieces.end());
    host.pieces.erase(std::unique(host.pieces.begin(), host.pieces.end()), host.pieces.end());
    for (uint32_t value : from.writes) kernel_of[value] = host_index;
    from = FusedKernel();
  }

  static void once(std::vector<uint32_t>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }

  const StepGraph& program_;
  size_t n_;
  std::vector<int> carrier_;             // -1: none
  std::vector<std::vector<int>> roots_;  // of the kernels that a piece is in
  std::vector<char> absorbed_;           // computed inside its readers, nothing of it written
  std::vector<char> visited_;
  std::vector<FusedKernel> kernels_;
};

}  // namespace

std::vector<FusedKernel> fuse(const StepGraph& program) { return Fusion(program).run(); }

}  // namespace tpu
