// What a server needs of one version of a model: tests have their own, and other kinds of models can stand beside Servable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/exported_model.h"

namespace tenon::server {

class ServedModel {
 public:
  virtual ~ServedModel() = default;

  // These are thread safe.
  virtual const std::vector<ServingSignature>& signatures() const = 0;
  virtual int64_t max_rows() const = 0;  // of a call of predict()
  // What a call computes, whatever its rows: the next of these sizes, which increase up to max_rows(). None: as many as rows.
  virtual std::vector<int64_t> batch_sizes() const { return {}; }
  virtual std::string label(int64_t class_id) const = 0;
  // A row of the tensor that inputs of kind kImage stand for. kInvalid: it is no image.
  virtual Result<Array> image_row(std::span<const std::byte> file) const = 0;

  // The tensors of the signature's inputs, all with as many rows, 1 to max_rows(); the tensors of its outputs, with as many. One
  // thread at a time.
  virtual Result<Arrays> predict(std::string_view signature, const Arrays& inputs) = 0;
};

// Opens a version: a directory, or a file. Thread safe.
using ModelLoader = std::function<Result<std::unique_ptr<ServedModel>>(const std::string& path)>;

inline const ServingSignature* find_signature(const ServedModel& model, std::string_view key) {
  for (const ServingSignature& s : model.signatures())
    if (s.key == key) return &s;
  return nullptr;
}

}  // namespace tenon::server
