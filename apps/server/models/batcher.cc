#include "server/models/batcher.h"

#include <algorithm>
#include <utility>

namespace tenon::server {
namespace {

constexpr double kLearning = 0.2;  // the share of a new time in what is known

Shape with_rows(const Shape& shape, int64_t rows) {
  Shape out = shape;
  out.set(0, rows);
  return out;
}

// Rows [begin, begin + count) of `from`, behind those that are there.
void append_rows(std::vector<std::byte>* to, const Array& from, int64_t begin, int64_t count) {
  const size_t row = from.bytes().size() / static_cast<size_t>(from.dim(0));
  const auto part = from.bytes().subspan(static_cast<size_t>(begin) * row, static_cast<size_t>(count) * row);
  to->insert(to->end(), part.begin(), part.end());
}

void append_outputs(Arrays* all, Arrays&& part) {
  for (auto& [name, array] : part) {
    const auto [at, first] = all->try_emplace(name, std::move(array));
    if (first) continue;
    const Type type{array.dtype(), with_rows(array.shape(), at->second.dim(0) + array.dim(0))};
    std::vector<std::byte> bytes = std::move(at->second).take_bytes();
    append_rows(&bytes, array, 0, array.dim(0));
    at->second = Array(type, std::move(bytes));
  }
}

class TensorJob : public Job {
 public:
  TensorJob(BatchRequest&& request, const ServedModel& model)
      : signature(*request.signature), inputs(std::move(request.inputs)), done_(std::move(request.done)) {
    group = static_cast<size_t>(&signature - model.signatures().data());
    rows = request.rows;
    deadline = request.deadline;
  }
  void answer() override { error.ok() ? done_(std::move(outputs)) : done_(error); }

  const ServingSignature& signature;
  Arrays inputs, outputs;

 private:
  std::function<void(Result<Arrays>)> done_;
};

TensorJob& tensors_of(const JobPart& part) { return static_cast<TensorJob&>(*part.job); }

// The parts' rows, one behind the other.
Arrays joined(std::span<const JobPart> parts, int64_t rows) {
  Arrays out;
  for (const auto& [name, array] : tensors_of(parts[0]).inputs) {
    std::vector<std::byte> bytes;
    bytes.reserve(array.bytes().size() / static_cast<size_t>(array.dim(0)) * static_cast<size_t>(rows));
    for (const JobPart& p : parts) append_rows(&bytes, tensors_of(p).inputs.at(name), p.job->taken, p.count);
    out.emplace(name, Array(Type{array.dtype(), with_rows(array.shape(), rows)}, std::move(bytes)));
  }
  return out;
}

}  // namespace

int64_t rows_worth(int64_t rows, const std::vector<int64_t>& sizes, const SizeSeconds& seconds) {
  const auto next = std::lower_bound(sizes.begin(), sizes.end(), rows);
  if (next == sizes.begin() || *next == rows) return rows;
  const int64_t less = *(next - 1);
  const auto all = seconds.find(*next), first = seconds.find(less),
             rest = seconds.find(*std::lower_bound(sizes.begin(), sizes.end(), rows - less));
  if (all == seconds.end() || first == seconds.end() || rest == seconds.end()) return rows;
  return all->second <= first->second + rest->second ? rows : less;
}

Batcher::Batcher(std::unique_ptr<ServedModel> model, const BatchOptions& options,
                 std::shared_ptr<VersionMetrics> metrics)
    : model_(std::move(model)),
      metrics_(metrics),
      sizes_(model_->batch_sizes()),
      queue_(this, model_->signatures().size(), options, metrics) {}

int64_t Batcher::rows_of(int64_t waiting) const {
  const int64_t rows = std::min(waiting, max_rows());
  return sizes_.empty() ? rows : rows_worth(rows, sizes_, seconds_);
}

// Signatures take about as long as each other: they differ in how inputs come.
void Batcher::learn(int64_t rows, double seconds) {
  const auto size = std::lower_bound(sizes_.begin(), sizes_.end(), rows);
  if (size == sizes_.end()) return;
  const auto [known, fresh] = seconds_.try_emplace(*size, seconds);
  if (!fresh) known->second += kLearning * (seconds - known->second);
}

bool Batcher::submit(BatchRequest&& request) {
  return queue_.submit(std::make_unique<TensorJob>(std::move(request), *model_));
}

void Batcher::work(std::span<JobPart> parts) {
  const TensorJob& first = tensors_of(parts[0]);
  const bool alone = parts.size() == 1;
  int64_t rows = 0;
  for (const JobPart& p : parts) rows += p.count;
  Result<Arrays> result = alone && rows == first.rows ? call(first.signature, first.inputs, rows)
                                                      : call(first.signature, joined(parts, rows), rows);
  int64_t row = 0;
  for (JobPart& part : parts) {
    const int64_t begin = std::exchange(row, row + part.count);
    if (!result.ok()) {
      part.job->error = result.status();
    } else if (alone) {
      append_outputs(&tensors_of(part).outputs, result.take());
    } else {
      Arrays own;
      for (const auto& [name, array] : *result) own.emplace(name, array.rows(begin, part.count));
      append_outputs(&tensors_of(part).outputs, std::move(own));
    }
  }
}

Result<Arrays> Batcher::call(const ServingSignature& signature, const Arrays& inputs, int64_t rows) {
  const Clock::time_point start = Clock::now();
  Result<Arrays> result = without_throwing([&] { return model_->predict(signature.key, inputs); });
  if (result.ok())
    for (const ServingValue& output : signature.outputs) {
      const auto it = result->find(output.tensor);
      if (it == result->end() || it->second.shape().rank() == 0 || it->second.dim(0) != rows)
        return Status(Code::kInternal, "the model gave no output '" + output.tensor + "' with a row an example");
    }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  metrics_->count_batch(rows, seconds);
  if (result.ok()) learn(rows, seconds);
  return result;
}

}  // namespace tenon::server
