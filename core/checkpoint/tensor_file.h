// A file of named tensors in any format that Tenon reads, told by its name: safetensors (".safetensors", and the index of several), Keras's
// (".weights.h5", which is written too, ".keras" and Keras 2's ".h5"), PyTorch's (".pt", ".pth"); by its first bytes where the name says
// none; or else a TensorBundle, which is named by its prefix. Names that end as those of other formats do (".npz") are an error.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "checkpoint/forms/safetensors_shards.h"
#include "checkpoint/keras/keras_file.h"
#include "checkpoint/keras/keras_writer.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_bundle.h"
#include "checkpoint/torch/torch_file.h"
#include "checkpoint/weight_rules.h"

namespace tenon {

bool is_safetensors(std::string_view path);

// Movable; reading is thread safe.
class TensorFile {
 public:
  // A bundle is named by its prefix, its PREFIX.index, or the directory of which it is the newest.
  // `rules`: a file of them (weight_rules.h), by which its tensors have other names and axes; "": none.
  static Result<TensorFile> open(const std::string& path, const std::string& rules = {});
  explicit TensorFile(BundleReader reader);

  const std::string& path() const { return path_; }
  // By their names here. Those of numeric types that Tenon has.
  const std::map<std::string, Type, std::less<>>& tensors() const { return tensors_; }
  // The others, by name: "I16[2]", "partitioned f32[4]". A checkpoint's strings, which are notes, are passed over.
  using Unread = std::map<std::string, std::string, std::less<>>;
  const Unread& unread() const { return unread_; }
  // Whether it is a weight, and nothing that an optimizer or the course of training has beside them, as far as names say it.
  bool is_weight(std::string_view tensor) const;
  bool is_checkpoint() const { return std::holds_alternative<BundleReader>(reader_); }
  // Where Keras has the layers of its file, by the scopes of their names here; empty of other files, and with rules.
  const KerasPlaces& places() const { return places_; }
  // REQUIRED: out has the size of the tensor's type. NaN and infinity are refused. On an error `out` is unspecified.
  Status read(std::string_view name, std::span<std::byte> out) const;
  // Layers of Keras's whose weights the file does not name, and how many they have: "LAYER/0", "LAYER/1", .. in Keras's order.
  using ByPosition = std::map<std::string, size_t, std::less<>>;
  const ByPosition& by_position() const { return by_position_; }
  // Scopes of names that Keras's file does not say itself, by where Keras finds the layers (keras_writer.h).
  using Unnamed = std::map<std::string, std::string, std::less<>>;
  const Unnamed& unnamed() const { return unnamed_; }
  // Whether a Saver of TensorFlow 1 wrote it, as far as can be seen: there is neither a note of Tenon's nor a graph of objects.
  bool is_of_tensorflow1() const;
  // An i64 or i32 of one element; `missing` where there is no tensor of that name.
  Result<int64_t> scalar(std::string_view name, int64_t missing) const;

 private:
  explicit TensorFile(SafetensorsReader reader);
  explicit TensorFile(SafetensorsShards reader);
  explicit TensorFile(KerasFile reader);
  explicit TensorFile(TorchFile reader);
  static Result<TensorFile> open_as_it_is(const std::string& path);
  void take(const std::map<std::string, SafetensorsEntry, std::less<>>& entries);
  Status read_raw(std::string_view name, std::span<std::byte> out) const;
  Status read_ruled(const WeightRules::Taken& taken, std::span<std::byte> out) const;
  Status apply(const WeightRules& rules);

  std::string path_;
  std::map<std::string, Type, std::less<>> tensors_;
  Unread unread_;
  ByPosition by_position_;
  Unnamed unnamed_;
  KerasPlaces places_;
  std::map<std::string, WeightRules::Taken, std::less<>> taken_;  // by rules
  std::map<std::string, Type, std::less<>> types_there_;          // those of the file, where there are rules
  bool ruled_ = false;
  std::variant<SafetensorsReader, SafetensorsShards, KerasFile, TorchFile, BundleReader> reader_;
};

// Tensors that the file names by position alone, by the model's variables of these layers. `variables`: all of the model, in the order of
// their making, by the names that they have in files.
std::map<std::string, std::string> tensors_by_position(const TensorFile::ByPosition& layers,
                                                       const std::vector<std::string>& variables);

// The error of a tensor that a file has, and that is not read: TensorFile::unread().
Status unread_tensor(const std::string& path, const std::string& tensor, const std::string& type);

// "ok" when the file has a variable of that name and type, else one line that says what it has.
Status check_variable(const TensorFile& file, std::string_view name, const Type& type);

// The name in the file of what a variable begins with; "": it has none. Momentum() finds what TensorFlow 1 wrote under its own
// name; SGD, which keeps another number there, gets an error of it.
Result<std::string> name_in_file(const TensorFile& file, const std::string& variable);
// Adds a note to a file of all variables, by which it is known as Tenon's.
void note_writer(std::vector<TensorSource>& tensors);

// Whether none of a tensor's elements is infinity or NaN.
bool all_finite(DType dtype, std::span<const std::byte> bytes);

// The file, or both of a bundle, are there whole or not at all. `places`: where Keras looks for layers, in its file.
Status write_tensor_file(const std::string& path, std::vector<TensorSource> tensors, const KerasPlaces& places = {});

}  // namespace tenon
