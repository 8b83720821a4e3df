// What is in a data set: read once, to its end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "survey/data_sets.h"
#include "survey/record_fields.h"
#include "tenon/pixels.h"

namespace tenon::runner {

struct ImageSizes {
  std::map<std::string, int64_t> formats = {};        // how many there are of "JPEG", ..
  std::pair<int, int> least = {0, 0}, most = {0, 0};  // width and height: the least and the most of either
  bool empty() const { return formats.empty(); }
  void add(const std::string& format, int width, int height);
};

struct SurveyedColumn {
  std::string name;
  bool numbers = true;
  double least = 0, most = 0, sum = 0;
};

struct SetSurvey {
  int64_t examples = 0;  // that can be read
  int64_t bytes = 0;
  std::vector<std::string> damaged = {};    // a line each: where, what
  std::map<int64_t, int64_t> classes = {};  // how many examples each has
  ImageSizes images = {};
  RecordFields fields = {};          // of records
  std::vector<SurveyedColumn> columns = {};  // of a table
  int64_t longest_line = 0;          // bytes, of text
};

// An image as it is shown.
struct ShownExample {
  PixelImage image = {};
  std::string name = {}, label = {};
};

// Decodes each image by the process's threads. Keeps the first `shown` images in *first.
SetSurvey survey_of(const DataSet& set, int64_t shown, std::vector<ShownExample>* first);

// "ship", or its number where the name is not known.
std::string class_name(const DataSet& set, int64_t label);

}  // namespace tenon::runner
