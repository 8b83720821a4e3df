// Reads tests/golden/*.csv: published numbers of TensorFlow and Keras, the inputs described in each first line.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace tenon::golden {

using Numbers = std::vector<double>;
using Row = std::map<std::string, std::string>;  // by the header's names
using Arguments = std::map<std::string, std::string>;

inline std::vector<std::string> split_fields(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

// The rows of a file; none is a failure of the test.
inline std::vector<Row> rows(const std::string& name) {
  std::ifstream file(std::string(TENON_GOLDEN) + "/" + name);
  std::string line;
  std::vector<std::string> header;
  std::vector<Row> out;
  std::getline(file, line);  // the inputs
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = split_fields(line);
    if (header.empty()) {
      header = fields;
      continue;
    }
    Row row;
    for (size_t i = 0; i < fields.size() && i < header.size(); ++i) row[header[i]] = fields[i];
    out.push_back(std::move(row));
  }
  EXPECT_FALSE(out.empty()) << name;
  return out;
}

// "0.5 -1" -> {0.5, -1}
inline Numbers numbers(const std::string& text) {
  std::istringstream in(text);
  Numbers out;
  for (std::string word; in >> word;) out.push_back(std::stod(word));
  return out;
}

// "2x3x4", "(3,3,16,1)", "[1,2]" -> the integers
inline std::vector<int64_t> integers(const std::string& text) {
  std::vector<int64_t> out;
  std::string digits;
  for (char c : text + "x") {
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '-')
      digits += c;
    else if (!digits.empty())
      out.push_back(std::stoll(digits)), digits.clear();
  }
  return out;
}

inline std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" '"), last = text.find_last_not_of(" '");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// "0.1, momentum=0.9, weight=[1,2]" -> {"0": "0.1", "momentum": "0.9", "weight": "[1,2]"}
inline Arguments arguments(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (char c : text) {
    quoted ^= c == '\'';
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    if (c == ',' && depth == 0 && !quoted)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  Arguments out;
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('='), bracket = parts[i].find('(');
    const bool named = equals != std::string::npos && equals < bracket;
    const std::string value = trimmed(named ? parts[i].substr(equals + 1) : parts[i]);
    if (!value.empty()) out[named ? trimmed(parts[i].substr(0, equals)) : std::to_string(i)] = value;
  }
  return out;
}

inline double number(const Arguments& a, const std::string& name, double missing) {
  const auto it = a.find(name);
  return it == a.end() ? missing : std::stod(it->second);
}
inline bool flag(const Arguments& a, const std::string& name) {
  const auto it = a.find(name);
  return it != a.end() && it->second == "True";
}

// "[[1],[0],[3]]" -> {1, 0, 3}
inline Numbers listed(std::string text) {
  for (char& c : text)
    if (c == '[' || c == ']' || c == ',') c = ' ';
  return numbers(text);
}

// Within `tolerance`, relative to what is expected and absolute below 1.
inline void expect_near(const Numbers& actual, const Numbers& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance * std::max(1.0, std::fabs(expected[i]))) << "element " << i;
}

}  // namespace tenon::golden
