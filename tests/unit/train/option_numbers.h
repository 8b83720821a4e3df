// What becomes of numbers that nobody means in a field of options: each is refused by a line that names the field, or taken.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/layers.h"
#include "tenon/learning_rates.h"
#include "tenon/status.h"

namespace tenon::option_numbers {

template <class Field>
struct NumberOf {
  using type = std::conditional_t<std::is_arithmetic_v<Field>, Field,
                                  std::conditional_t<std::is_same_v<Field, Extent>, int64_t, double>>;
};
template <class T>
struct NumberOf<std::optional<T>> : NumberOf<T> {};

template <class N>
std::vector<std::pair<std::string, N>> numbers() {
  using Limits = std::numeric_limits<N>;
  std::vector<std::pair<std::string, N>> out;
  if constexpr (std::is_signed_v<N>) out.emplace_back("negative", static_cast<N>(-1));
  out.emplace_back("zero", N{0});
  out.emplace_back("huge", Limits::max());
  if constexpr (std::is_floating_point_v<N>) {
    out.emplace_back("infinite", Limits::infinity());
    out.emplace_back("nan", Limits::quiet_NaN());
  }
  return out;
}

template <class Use>
Status outcome(const Use& use) {
  try {
    if constexpr (std::is_same_v<std::invoke_result_t<Use>, Status>)
      return use();
    else
      return static_cast<void>(use()), Status();
  } catch (const Error& e) {
    return e.status();
  }
}

// The words of those that are refused.
template <class N, class Try>
std::string refused(const std::string& field, const Try& attempt) {
  std::string out;
  for (const auto& [word, value] : numbers<N>()) {
    const Status status = attempt(value);
    if (status.ok()) continue;
    out += (out.empty() ? "" : " ") + word;
    EXPECT_NE(status.message().find(field), std::string::npos) << word << ": " << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << word << ": " << status.message();
  }
  return out;
}

// Which numbers of `base`.field are refused where `use` is done with it, called o. The message has `named` in it.
#define TENON_EXPECT_REFUSED_AS(named, base, field, expected, ...)                                                 \
  EXPECT_EQ(expected, (::tenon::option_numbers::refused<                                                           \
                          typename ::tenon::option_numbers::NumberOf<std::decay_t<decltype((base).field)>>::type>( \
                          named,                                                                                   \
                          [&](auto number) {                                                                       \
                            auto o = base;                                                                         \
                            o.field = number;                                                                      \
                            return ::tenon::option_numbers::outcome([&] { return __VA_ARGS__; });                  \
                          })))                                                                                     \
      << #base "." #field
#define TENON_EXPECT_REFUSED(base, field, expected, ...) \
  TENON_EXPECT_REFUSED_AS(#field, base, field, expected, __VA_ARGS__)

}  // namespace tenon::option_numbers
