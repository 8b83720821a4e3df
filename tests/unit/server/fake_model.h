// Models whose answers are known, and whose work a test holds back.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/served_model.h"

namespace tenon::server {

// Lets calls of a model through, one at a time or all.
class Gate {
 public:
  // By the model's thread.
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_ || allowed_ > 0; });
    if (!open_) --allowed_;
    --waiting_;
  }
  void close() {
    set([this] { open_ = false; });
  }
  void open() {
    set([this] { open_ = true; });
  }
  void allow(int calls) {
    set([&] { allowed_ += calls; });
  }
  void wait_for_call() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0 && allowed_ == 0; });
  }

 private:
  template <class F>
  void set(const F& f) {
    const std::lock_guard lock(mutex_);
    f();
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int allowed_ = 0, waiting_ = 0;
};

// What all calls of a model were, in order.
struct Calls {
  std::mutex mutex;
  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<float>> seen() {
    const std::lock_guard lock(mutex);
    return inputs;
  }
};

inline ServingValue tensor_value(const std::string& name, DType dtype, const Shape& shape) {
  return {.name = name, .kind = ServingValue::Kind::kTensor, .tensor = name, .type = {dtype, shape}};
}

// TF Serving's example: y = x / 2 + `plus`. Also the signatures "pair" (a f32[2] and b i32 -> sum f32, big i64), "file" (an
// image f32[2] whose values are the file's first two bytes -> class), "flag" (u8[2], bool -> the same), "classify" and "regress".
class HalfPlus : public ServedModel {
 public:
  explicit HalfPlus(float plus = 2, int64_t max_rows = 4) : plus_(plus), max_rows_(max_rows) {
    const ServingValue x = tensor_value("x", DType::kF32, {}), y = tensor_value("y", DType::kF32, {});
    signatures_ = {{"serving_default", "tensorflow/serving/predict", {x}, {y}},
                   {"pair",
                    "tensorflow/serving/predict",
                    {tensor_value("a", DType::kF32, {2}), tensor_value("b", DType::kI32, {})},
                    {tensor_value("sum", DType::kF32, {}), tensor_value("big", DType::kI64, {})}},
                   {"file",
                    "tensorflow/serving/predict",
                    {{"image_bytes", ServingValue::Kind::kImage, "image", {DType::kF32, {2}}}},
                    {{"class", ServingValue::Kind::kLabel, "classid", {DType::kI32, {}}}}},
                   {"flag",
                    "tensorflow/serving/predict",
                    {tensor_value("u", DType::kU8, {2}), tensor_value("f", DType::kBool, {})},
                    {tensor_value("u", DType::kU8, {2}), tensor_value("f", DType::kBool, {})}},
                   {"classify", "tensorflow/serving/classify", {x}, {tensor_value("scores", DType::kF32, {2})}},
                   {"regress", "tensorflow/serving/regress", {x}, {y}}};
  }
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  std::shared_ptr<Calls> calls = std::make_shared<Calls>();

  const std::vector<ServingSignature>& signatures() const override { return signatures_; }
  int64_t max_rows() const override { return max_rows_; }
  std::string label(int64_t id) const override { return id == 1 ? "daisy \"1\"" : "rose"; }
  Result<Array> image_row(std::span<const std::byte> file) const override {
    if (file.size() < 2) return Status(Code::kInvalid, "it is no image");
    return Array(std::vector<float>{static_cast<float>(file[0]), static_cast<float>(file[1])});
  }
  Result<Arrays> predict(std::string_view signature, const Arrays& in) override {
    gate->pass();
    if (signature == "pair") return pair(in);
    if (signature == "file")
      return Arrays{
          {"classid", Array(in.at("image").dim(0) == 1 ? std::vector<int32_t>{1} : std::vector<int32_t>{0, 1})}};
    if (signature == "flag") return in;
    const std::vector<float> x = in.at("x").to<float>();
    {
      const std::lock_guard lock(calls->mutex);
      calls->inputs.push_back(x);
    }
    std::vector<float> y, scores;
    for (const float v : x) {
      if (v == 666) return Status(Code::kInternal, "the device is gone");
      if (v == 667) throw std::runtime_error("thrown");
      y.push_back(v / 2 + plus_);
      scores.insert(scores.end(), {v, 1 - v});
    }
    if (signature == "classify") return Arrays{{"scores", Array(scores, {std::ssize(x), 2})}};
    return Arrays{{"y", Array(y)}};
  }

 private:
  static Arrays pair(const Arrays& in) {
    const std::vector<float> a = in.at("a").to<float>();
    const std::vector<int32_t> b = in.at("b").to<int32_t>();
    std::vector<float> sum;
    std::vector<int64_t> big;
    for (size_t i = 0; i < b.size(); ++i) {
      sum.push_back(a[2 * i] + a[2 * i + 1]);
      big.push_back(int64_t{b[i]} * 4294967296);
    }
    return {{"sum", Array(sum)}, {"big", Array(big)}};
  }

  float plus_;
  int64_t max_rows_;
  std::vector<ServingSignature> signatures_;
};

// A directory of its own, which goes with it.
class TestDirectory {
 public:
  TestDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "tenon_server_XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TestDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

 private:
  std::string path_;
};

// Version directories with a file "plus": HalfPlus of that number. Another text cannot be loaded.
inline Result<std::unique_ptr<ServedModel>> load_half_plus(const std::string& directory) {
  std::ifstream file(directory + "/plus");
  float plus = 0;
  if (!(file >> plus)) return Status(Code::kInvalid, "'" + directory + "' is damaged");
  return std::unique_ptr<ServedModel>(std::make_unique<HalfPlus>(plus));
}

}  // namespace tenon::server
