// A small convolutional network trained on cpu.so: the same bits on any number of threads, and no memory taken while
// steps run.
#include <cstring>
#include <map>
#include <optional>

#include "compile/rewrite.h"
#include "integration/device_allocations.h"
#include "integration/device_testing.h"
#include "tenon/layers.h"
#include "tenon/losses.h"
#include "tenon/optimizers.h"

namespace tenon::device_testing {
namespace {

constexpr int kBatch = 16, kCall = 10;

void build_cnn(Graph& graph) {
  const Tensor image(&graph, graph.add_input({DType::kF32, {kBatch, 14, 14, 1}}, Role::kFeed, "image"));
  const Tensor label(&graph, graph.add_input({DType::kI32, {kBatch}}, Role::kFeed, "label"));
  Tensor x = max_pool2d(conv2d(image, {.filters = 16, .kernel = 3, .padding = same, .activation = relu}), 2);
  x = batch_normalization(conv2d(x, {.filters = 24, .kernel = 3}), {.activation = relu});
  // As many units as make cpu.so consume the gradient in the update.
  x = dropout(dense(flatten(x), {.units = 1024, .activation = relu}), 0.25);
  const Tensor loss = sparse_categorical_crossentropy(label, dense(x, {.units = 10}), {.from_logits = true});
  minimize(Adam(1e-2), loss);
  graph.results.push_back({loss.id(), ResultMode::kEach, -1, false, "loss"});
  add_state_results(graph);
}

// First values without a random number: slots and counters 0, scales and variances 1.
op_testing::Feed first_value(const Graph& graph, const GraphInput& input, int seed) {
  const Type& type = graph.type(input.value);
  const bool weight = input.name.find("kernel") != std::string::npos && input.name.find("Adam") == std::string::npos;
  if (weight) return random_feed(type.dtype, type.shape, seed, -0.2, 0.2);
  const bool one = input.name.ends_with("gamma") || input.name.ends_with("variance");
  return repeated(type.dtype, type.shape, {one ? 1.0 : 0.0});
}

class Training : public tenon::Feed {
 public:
  explicit Training(std::shared_ptr<Device> device) : device_(std::move(device)) {
    Graph graph;
    build_cnn(graph);
    ProgramOptions options;
    options.max_iterations = kCall;
    executable_.emplace(must(compile(graph, device_, options)));
    queue_ = must(device_->create_queue());
    launch_.emplace(executable_->make_launch());
    const Graph& g = executable_->graph;
    for (size_t i = 0; i < g.inputs.size(); ++i) add_input(i);
    for (size_t r = 0; r < g.results.size(); ++r) add_result(r);
  }

  // `calls` times kCall steps, each with the next of three batches.
  void train(int calls) {
    for (int c = 0; c < calls; ++c) done_ += *queue_.run(*launch_, kCall, this);
  }
  uint64_t done() const { return done_; }

  Doubles losses() {
    std::vector<float> rows(kCall);
    EXPECT_TRUE(queue_.read(losses_, rows.data(), kCall * sizeof(float)).ok());
    return {rows.begin(), rows.end()};
  }

  // All states, in order.
  std::string state() {
    std::string all;
    for (const Buffer& b : states_) {
      std::string bytes(static_cast<size_t>(b.type().bytes()), '\0');
      EXPECT_TRUE(queue_.read(b, bytes.data(), bytes.size()).ok());
      all += bytes;
    }
    return all;
  }

  bool next(uint64_t, std::span<Buffer*> feeds) override {
    for (size_t f = 0; f < feeds.size(); ++f) feeds[f] = &batches_[f][step_ % 3];
    ++step_;
    return true;
  }
  void release(uint64_t) override {}

 private:
  template <class T>
  static T must(Result<T> result) {
    if (!result.ok()) throw std::runtime_error(result.status().message());
    return std::move(*result);
  }

  Buffer filled(const op_testing::Feed& values) {
    Buffer buffer = must(device_->allocate(values.type, true));
    reference::Tensor t = reference::zeros(static_cast<int32_t>(values.type.dtype), values.type.shape.vec());
    if (is_float(values.type.dtype))
      t.f = values.values;
    else
      t.i.assign(values.values.begin(), values.values.end());
    const std::vector<uint8_t> bytes = reference::to_bytes(t);
    std::memcpy(buffer.host(), bytes.data(), bytes.size());
    return buffer;
  }

  void add_input(size_t i) {
    const GraphInput& input = executable_->graph.inputs[i];
    const Type& type = executable_->graph.type(input.value);
    if (input.role == Role::kScalar) {
      for (int k = 0; k < kCall; ++k) {
        if (is_float(type.dtype))
          launch_->set_scalar(k, executable_->slot[i], input.scalar);  // the learning rate
        else
          launch_->set_scalar(k, executable_->slot[i], int64_t{7});  // the seed
      }
    } else if (input.role == Role::kFeed) {
      batches_.emplace_back();
      for (int k = 0; k < 3; ++k)
        batches_.back().push_back(
            filled(random_feed(type.dtype, type.shape, 100 + k, 0, input.name == "label" ? 10 : 1)));
    } else {
      states_.push_back(filled(first_value(executable_->graph, input, static_cast<int>(i))));
      state_of_input_[i] = states_.size() - 1;
      launch_->set_input(executable_->slot[i], states_.back());
    }
  }

  void add_result(size_t r) {
    const Output& out = executable_->graph.results[r];
    if (out.alias >= 0)
      return launch_->set_result(static_cast<int>(r), states_[state_of_input_.at(static_cast<size_t>(out.alias))]);
    losses_ = must(device_->allocate({DType::kF32, {kCall}}));
    launch_->set_result(static_cast<int>(r), losses_);
  }

  std::shared_ptr<Device> device_;
  std::optional<Executable> executable_;
  std::optional<Launch> launch_;
  Queue queue_;
  std::vector<Buffer> states_;
  std::map<size_t, size_t> state_of_input_;
  std::vector<std::vector<Buffer>> batches_;
  Buffer losses_;
  uint64_t step_ = 0, done_ = 0;
};

TEST(Training, LearnsAndHasTheSameBitsOnOneTwoAndThreeThreads) {
  Training one(cpu_of_threads(1));
  one.train(1);
  const double first = one.losses()[0];
  one.train(3);
  EXPECT_LT(one.losses()[kCall - 1], first / 2);
  for (int threads : {2, 3}) {
    Training more(cpu_of_threads(threads));
    more.train(4);
    EXPECT_EQ(more.losses(), one.losses()) << threads << " threads";
    EXPECT_TRUE(more.state() == one.state()) << threads << " threads";
  }
}

TEST(Training, TakesNoMemoryInAHundredSteps) {
  if (!counts_allocations()) GTEST_SKIP() << "the sanitizer has malloc";
  for (const std::shared_ptr<Device>& device : {cpu(), cpu_of_threads(2)}) {
    const uint64_t before = allocations();
    Training training(device);
    EXPECT_GT(allocations(), before) << "the count does not see what compiling takes";
    training.train(1);
    const uint64_t in_use = device->bytes_in_use(), start = allocations();
    training.train(10);
    EXPECT_EQ(allocations() - start, 0u);
    EXPECT_EQ(device->bytes_in_use(), in_use);
    EXPECT_EQ(training.done(), 110u);
  }
}

}  // namespace
}  // namespace tenon::device_testing
