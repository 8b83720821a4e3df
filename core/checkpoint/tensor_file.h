// A file of named tensors in either format that Tenon writes: safetensors, where its name ends with ".safetensors", or else a
// TensorBundle, which is named by its prefix. Names that end as those of other formats do (".keras", ".h5") are an error.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_bundle.h"

namespace tenon {

bool is_safetensors(std::string_view path);

// Movable; reading is thread safe.
class TensorFile {
 public:
  // A bundle is named by its prefix, its PREFIX.index, or the directory of which it is the newest.
  static Result<TensorFile> open(const std::string& path);
  explicit TensorFile(BundleReader reader);

  const std::string& path() const { return path_; }
  // Those of numeric types that Tenon has; strings and partitioned variables are passed over.
  const std::map<std::string, Type, std::less<>>& tensors() const { return tensors_; }
  // REQUIRED: out has the size of the tensor's type. NaN and infinity are refused. On an error `out` is unspecified.
  Status read(std::string_view name, std::span<std::byte> out) const;
  // Whether a Saver of TensorFlow 1 wrote it, as far as can be seen: there is neither a note of Tenon's nor a graph of objects.
  bool is_of_tensorflow1() const;
  // An i64 or i32 of one element; `missing` where there is no tensor of that name.
  Result<int64_t> scalar(std::string_view name, int64_t missing) const;

 private:
  TensorFile(std::string path, SafetensorsReader reader);

  std::string path_;
  std::map<std::string, Type, std::less<>> tensors_;
  std::variant<SafetensorsReader, BundleReader> reader_;
};

// "ok" when the file has a variable of that name and type, else one line that says what it has.
Status check_variable(const TensorFile& file, std::string_view name, const Type& type);

// The name in the file of what a variable begins with; "": it has none. Momentum() finds what TensorFlow 1 wrote under its own
// name; SGD, which keeps another number there, gets an error of it.
Result<std::string> name_in_file(const TensorFile& file, const std::string& variable);
// Adds a note to a file of all variables, by which it is known as Tenon's.
void note_writer(std::vector<TensorSource>& tensors);

// Whether none of a tensor's elements is infinity or NaN.
bool all_finite(DType dtype, std::span<const std::byte> bytes);

// The file, or both of a bundle, are there whole or not at all.
Status write_tensor_file(const std::string& path, std::vector<TensorSource> tensors);

}  // namespace tenon
