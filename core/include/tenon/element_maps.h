// Ready-made functions for Dataset::map. A wrong argument throws Error here, an element that does not fit where it is
// read; the message names the feature.
//
//   Dataset train = Dataset::from_records(files).map(parse_example({{"image", {DType::kU8}},
//                                                                   {"label", {.dtype = DType::kI32, .offset = 1}}}))
//                       .map(one_hot("label", 5));
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/element.h"
#include "tenon/subtokenizer.h"
#include "tenon/types.h"

namespace tenon {

// A feature of a tf.train.Example. Integers are read as any dtype, floats as a float, byte strings as u8: one byte
// string of any length without a shape (an encoded image, a text), or of as many bytes as the shape has.
struct ExampleFeature {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape = {};  // one axis may be -1: as many as there are
  std::string name = {};            // in the record; empty: the element's
  std::optional<double> fallback =
      {};  // where the record has no such feature, or no values: the shape is filled with it, an axis of -1 is 0
  int64_t offset = 0;  // subtracted from integers: 1 where labels count from 1
};
// Features of the bytes of a record, in their place; the element's other features stay.
ElementMap parse_example(std::map<std::string, ExampleFeature> features, std::string record = "record");

// An integer feature in [0, depth) becomes f32[..., depth], 1 at its place.
ElementMap one_hot(std::string feature, int64_t depth);

// Features of other dtypes: any to a float, rounded to nearest even; bytes, bools and integers to i32 or i64.
ElementMap cast_features(std::map<std::string, DType> dtypes);
ElementMap rename_features(std::map<std::string, std::string> names);  // {old, new}
ElementMap select_features(std::vector<std::string> names);            // all others are left out
ElementMap drop_features(std::vector<std::string> names);

// Text u8[..] to its subtokens, i32[n], with <EOS> behind them unless `ends` is false: in its place, or as `to`.
ElementMap subtokens(Subtokenizer words, std::string feature = "line", std::string to = "line", bool ends = true);

// Text u8[..] that is a number to a scalar of i32, i64, f32 or f64.
ElementMap text_to_number(std::string feature, DType dtype = DType::kF32);

}  // namespace tenon
