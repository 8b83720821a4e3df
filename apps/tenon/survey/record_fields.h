// What features the Examples of record files have.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tenon/example.h"

namespace tenon::runner {

class RecordFields {
 public:
  void add(const Example& example);
  bool empty() const { return fields_.empty(); }
  void print() const;        // a line each
  std::string json() const;  // a list

 private:
  struct Field {
    Feature::Kind kind = Feature::Kind::kNone;
    int64_t records = 0;
    size_t least = SIZE_MAX, most = 0;  // values in its list
    std::string first;                  // the first value that was seen
    int64_t low = INT64_MAX, high = INT64_MIN;
  };
  static void note(const Feature& f, Field& field);
  static std::string counts(const Field& f);

  std::map<std::string, Field> fields_;
};

}  // namespace tenon::runner
