// The weights of Keras's files: .weights.h5, .keras, and the .h5 of Keras 2, by the names of Tenon's variables. What belongs to an
// optimizer or to a metric is passed over. Movable; reading is thread safe.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/keras/hdf5_file.h"
#include "checkpoint/keras/keras_names.h"
#include "checkpoint/keras/keras_writer.h"

namespace tenon {

bool is_keras_file(std::string_view path);     // by its name
bool is_keras_weights(std::string_view path);  // ".weights.h5", which is written too

class KerasFile {
 public:
  static Result<KerasFile> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::map<std::string, const Hdf5Dataset*, std::less<>>& tensors() const { return tensors_; }
  // Layers whose weights could not be named, and how many they have: these are "LAYER/0", "LAYER/1", in Keras's order.
  const std::map<std::string, size_t, std::less<>>& by_position() const { return by_position_; }
  // What a file of before Keras 3.9 does not name: layers' scopes here, by the ways to them, "layers/conv2d_3".
  const std::map<std::string, std::string, std::less<>>& unnamed() const { return unnamed_; }
  // Where layers lie in a file of Keras 3, by their scopes here.
  const KerasPlaces& places() const { return places_; }
  Status read(std::string_view name, std::span<std::byte> out) const;

 private:
  explicit KerasFile(Hdf5File file) : file_(std::move(file)) {}
  Status name_all(const std::string& config);
  Status name_legacy(const std::string& root);
  Status name_objects(const std::string& config);
  Status take_object(const std::string& object, std::map<int64_t, const Hdf5Dataset*>& weights);
  std::string scope_of(const std::vector<std::string>& parts);
  std::vector<std::string> names(const std::string& object, const std::string& attribute) const;
  Status add(const std::string& name, const Hdf5Dataset* dataset);

  Hdf5File file_;
  std::map<std::string, const Hdf5Dataset*, std::less<>> tensors_;  // datasets stay where they are when this moves
  std::map<std::string, size_t, std::less<>> by_position_;
  std::map<std::string, std::string, std::less<>> unnamed_;
  KerasPlaces places_;
  std::map<std::string, KerasLayer> layers_;
};

}  // namespace tenon
