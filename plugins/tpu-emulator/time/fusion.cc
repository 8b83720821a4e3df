#include "time/fusion.h"

#include <algorithm>

namespace tpu {
namespace {

constexpr double kSmallPart = 1.0 / 16;  // of a large operand: not worth a thought
constexpr double kBytesPerOp = 1.0 / 6;  // that HBM moves while the vector unit does one operation, on v2 and v3
constexpr size_t kManyReaders = 6;       // so many and a value is written

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
    merge_sums();
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

  double width(uint32_t value) const {
    return static_cast<double>(std::max<int64_t>(tenon::plugin::dtype_bytes(program_.graph.value(value).dtype()), 1));
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
    if (!find_readers(i, readers)) return absorb_carrier(i);
    double read = 0, written = 0, carried = 0;
    for (uint32_t value : piece(i).in) read += static_cast<double>(program_.bytes(value));
    for (uint32_t value : piece(i).out) written += static_cast<double>(program_.bytes(value));
    if (carrier_[at] >= 0)
      for (uint32_t value : piece(carrier_[at]).out) carried += static_cast<double>(program_.bytes(value));
    const double work = kBytesPerOp * piece(i).vector_ops * written / width(piece(i).out[0]);
    const double n = paying_readers(readers);
    // Each reader reads the operands and does the work; or this piece alone does, and each reads what it wrote.
    const double inside = carried + n * read + static_cast<double>(readers.size()) * work;
    const double apart = (read - carried) + (1 + kSmallPart) * (1 + n) * written + work;
    if (carrier_[at] >= 0 ? inside < apart : (inside <= apart || readers.size() == 1)) {
      absorbed_[at] = 1;
      roots_[at] = readers;
    } else {
      absorb_carrier(i);
    }
  }

  // Sums ride on products that read the same, if there are any.
  double paying_readers(const std::vector<int>& readers) const {
    const auto products =
        std::count_if(readers.begin(), readers.end(), [&](int i) { return piece(i).kind == PieceKind::kMatrix; });
    const auto sums =
        std::count_if(readers.begin(), readers.end(), [&](int i) { return piece(i).kind == PieceKind::kReduce; });
    return static_cast<double>(static_cast<std::ptrdiff_t>(readers.size()) - (products > 0 ? sums : 0));
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

  bool has_product(const FusedKernel& kernel) const {
    return std::any_of(kernel.pieces.begin(), kernel.pieces.end(),
                       [&](int i) { return piece(i).kind == PieceKind::kMatrix; });
  }

  // Sums ride on a kernel with a product: the one that makes what they add up, or else one that reads it too.
  void merge_sums() {
    kernel_of_.assign(program_.base.size(), -1);
    readers_.resize(program_.base.size());
    for (size_t k = 0; k < kernels_.size(); ++k) {
      for (uint32_t value : kernels_[k].writes) kernel_of_[value] = static_cast<int>(k);
      for (uint32_t value : kernels_[k].reads) readers_[value].push_back(static_cast<int>(k));
    }
    for (size_t k = 0; k < kernels_.size(); ++k) {
      if (piece(kernels_[k].root).kind != PieceKind::kReduce || kernels_[k].reads.empty()) continue;
      int host = maker(kernels_[k]);
      if (host < 0) host = fellow(kernels_[k]);
      if (host >= 0) merge(kernels_[k], kernels_[static_cast<size_t>(host)], host);
    }
  }

  // The last of the kernels that `kernel` waits for; -1: none.
  int last_wait(const FusedKernel& kernel) const {
    int last = -1;
    for (uint32_t value : kernel.reads) last = std::max(last, kernel_of_[value]);
    return last;
  }

  uint64_t largest_read(const FusedKernel& kernel) const {
    uint64_t bytes = 0;
    for (uint32_t value : kernel.reads) bytes = std::max(bytes, program_.bytes(value));
    return bytes;
  }

  // The kernel that makes one of the largest operands, if all others are there by then; -1: none.
  int maker(const FusedKernel& kernel) const {
    const int last = last_wait(kernel);
    if (last < 0 || !has_product(kernels_[static_cast<size_t>(last)])) return -1;
    const uint64_t large = largest_read(kernel);
    const bool makes_large = std::any_of(kernel.reads.begin(), kernel.reads.end(), [&](uint32_t value) {
      return kernel_of_[value] == last && program_.bytes(value) == large;
    });
    return makes_large ? last : -1;
  }

  // A kernel that reads all large operands too, when all are there and before the sums are needed; -1: none.
  int fellow(const FusedKernel& kernel) const {
    const uint64_t large = largest_read(kernel);
    const auto is_large = [&](uint32_t value) {
      return static_cast<double>(program_.bytes(value)) > kSmallPart * static_cast<double>(large);
    };
    int needed = static_cast<int>(kernels_.size());  // by this kernel
    for (uint32_t value : kernel.writes)
      for (int reader : readers_[value]) needed = std::min(needed, reader);
    const auto first = std::find_if(kernel.reads.begin(), kernel.reads.end(), is_large);
    if (first == kernel.reads.end()) return -1;
    const int last = last_wait(kernel);
    for (int candidate : readers_[*first]) {
      const FusedKernel& other = kernels_[static_cast<size_t>(candidate)];
      if (candidate <= last || candidate >= needed || other.pieces.empty() || !has_product(other)) continue;
      if (std::all_of(kernel.reads.begin(), kernel.reads.end(), [&](uint32_t value) {
            return !is_large(value) || std::binary_search(other.reads.begin(), other.reads.end(), value);
          }))
        return candidate;
    }
    return -1;
  }

  void merge(FusedKernel& from, FusedKernel& host, int host_index) {
    for (uint32_t value : from.reads)
      if (kernel_of_[value] != host_index) host.reads.push_back(value);
    once(host.reads);
    host.writes.insert(host.writes.end(), from.writes.begin(), from.writes.end());
    host.pieces.insert(host.pieces.end(), from.pieces.begin(), from.pieces.end());
    std::sort(host.pieces.begin(), host.pieces.end());
    host.pieces.erase(std::unique(host.pieces.begin(), host.pieces.end()), host.pieces.end());
    for (uint32_t value : from.writes) kernel_of_[value] = host_index;
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
  std::vector<int> kernel_of_;             // that writes a value; -1: none
  std::vector<std::vector<int>> readers_;  // kernels, of a value
};

}  // namespace

std::vector<FusedKernel> fuse(const StepGraph& program) { return Fusion(program).run(); }

}  // namespace tpu
