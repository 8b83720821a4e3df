// From JSON to the rows of one input's tensor. For requests.cc alone: it brings simdjson.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <string>
#include <vector>

#include "server/served_model.h"

namespace tenon::server {

class TensorReader {
 public:
  // `budget`: bytes that it may still take, shared by the readers of a request.
  TensorReader(const ServedModel& model, const ServingValue& input, int64_t* budget);

  const ServingValue& input() const { return *input_; }
  int64_t rows() const { return rows_; }
  // Adds a row: lists nested as the signature's shape says, of an image {"b64": ".."}.
  Status add(simdjson::dom::element value);
  // All rows, with at least one. Leaves none behind.
  Array take();

 private:
  template <class Values>
  Status add_numbers(const Values& values);
  Status add_nested(simdjson::dom::element value, int level);
  Status add_image(simdjson::dom::element value);

  const ServedModel* model_;
  const ServingValue* input_;
  int64_t* budget_;
  int64_t row_bytes_;
  int64_t rows_ = 0;
  std::vector<std::byte> bytes_;
  std::byte* next_ = nullptr;  // of the row that is added
};

// An element's text for messages, cut where it is long.
std::string json_text(simdjson::dom::element value);
// "Number", "Array", ..
const char* json_type_name(simdjson::dom::element value);

}  // namespace tenon::server
