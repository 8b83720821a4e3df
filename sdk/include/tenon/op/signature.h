// The signature of an op, parsed from the text in its row:
//   "x:F w:F [bias:F] rest:A.. ; size:list strides:list=1 act:enum(act)=0 -> y mean [var]"
// Classes of dtypes: F floats, I i32 i64, N = F + I, B bool, A = N + B + u8, M = N + B. `[x]` may be absent, `x..`
// takes one or more. Types of attributes: i64 f64 bool dtype enum(NAME) bytes list. Behind '=' stands what absence
// means, of a list (which may be empty, too) the number for every axis; an attribute without it is there.
// tenon/op/enumerations.h has the numbers of `enum(NAME)`.
// C++17, header only. Views refer to the text.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tenon::op {

struct Signature {
  struct Operand {
    std::string_view name;
    char dtypes = 'A';
    bool optional = false;
    bool variadic = false;
  };
  struct Attribute {
    std::string_view name;
    std::string_view type;         // "enum" for any enum
    std::string_view enumeration;  // of an enum
    bool required = true;
    std::string_view missing;  // what absence means
  };
  struct Result {
    std::string_view name;
    bool optional = false;
  };
  std::vector<Operand> operands;
  std::vector<Attribute> attributes;
  std::vector<Result> results;

  const Attribute* attribute(std::string_view name) const {
    for (const Attribute& a : attributes)
      if (a.name == name) return &a;
    return nullptr;
  }
};

// Separated by blanks.
inline std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    const size_t start = text.find_first_not_of(' ');
    if (start == std::string_view::npos) return out;
    const size_t end = text.find(' ', start);
    out.push_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end);
  }
}

namespace detail {

// "[x]" -> "x", optional.
inline bool take_brackets(std::string_view& word) {
  if (word.front() != '[') return false;
  word = word.substr(1, word.size() - 2);
  return true;
}

inline Signature::Operand operand(std::string_view word) {
  Signature::Operand o;
  o.optional = take_brackets(word);
  const size_t colon = word.find(':');
  o.name = word.substr(0, colon);
  o.dtypes = word[colon + 1];
  o.variadic = word.substr(colon + 2) == "..";
  return o;
}

inline Signature::Attribute attribute(std::string_view word) {
  Signature::Attribute a;
  const size_t colon = word.find(':'), equals = word.find('=');
  a.name = word.substr(0, colon);
  a.type = word.substr(colon + 1, equals == std::string_view::npos ? equals : equals - colon - 1);
  if (const size_t open = a.type.find('('); open != std::string_view::npos) {
    a.enumeration = a.type.substr(open + 1, a.type.size() - open - 2);
    a.type = a.type.substr(0, open);
  }
  a.required = equals == std::string_view::npos;
  if (!a.required) a.missing = word.substr(equals + 1);
  return a;
}

}  // namespace detail

// REQUIRED: the text of a row.
inline Signature parse(std::string_view text) {
  const size_t arrow = text.find("->"), semicolon = text.find(';');
  const size_t head = semicolon < arrow ? semicolon : arrow;
  Signature s;
  for (const std::string_view w : words(text.substr(0, head))) s.operands.push_back(detail::operand(w));
  if (semicolon < arrow)
    for (const std::string_view w : words(text.substr(semicolon + 1, arrow - semicolon - 1)))
      s.attributes.push_back(detail::attribute(w));
  for (std::string_view w : words(text.substr(arrow + 2))) {
    const bool optional = detail::take_brackets(w);
    s.results.push_back({w, optional});
  }
  return s;
}

}  // namespace tenon::op
