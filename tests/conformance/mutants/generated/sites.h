// What generated mutants are made of. Every copied source includes this; each site asks its byte whether it is itself now,
// or changed by one of its modes. In a control run the bytes also record which sites a test reaches, and which of their
// modes would have given another value there: a test in which a mode never does runs as it does without.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>

// Bit m stands for mode m: those that a site has, and those that it has where a test shows a value that they change.
struct MutantModes {
  unsigned all, shown = 0;
};

#ifdef TENON_CHOSEN  // an expression of `site`: changed for good, to see whether the compiler makes the same of it
constexpr int mutant_mode(int site, MutantModes modes) {
  const int mode = TENON_CHOSEN;
  return (modes.all | modes.shown) >> mode & 1 ? mode : 0;
}
template <class F>
constexpr int mutant_mode(int site, MutantModes modes, F) {
  return mutant_mode(site, modes);
}
#else
extern unsigned char mutant_site_state[];
extern bool mutant_sites_record;
// The mode in which the site is changed now, or 0.
int mutant_site_mode(int site, MutantModes modes) noexcept;
void mutant_site_record(int site, MutantModes modes, unsigned changed) noexcept;

// The mode now, or 0; for modes that may change something whenever they are reached.
inline int mutant_mode(int site, MutantModes modes) {
  return __builtin_expect(mutant_site_state[site], 0) ? mutant_site_mode(site, modes) : 0;
}
// changed(): which modes change the value here.
template <class F>
inline int mutant_mode(int site, MutantModes modes, F changed) {
  if (!__builtin_expect(mutant_site_state[site], 0)) return 0;
  if (!mutant_sites_record) return mutant_site_mode(site, modes);
  mutant_site_record(site, modes, changed());
  return 0;
}
#endif
inline bool mutant_on(int site) { return mutant_mode(site, {2}) == 1; }

template <class T>
constexpr bool kTenonFloat = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T>
constexpr bool kTenonInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
constexpr bool kTenonWide = kTenonFloat<T> || (kTenonInteger<T> && sizeof(T) == 8);

// Which modes give another value than is written, to the bit; value(m) is that of mode m.
template <class V>
[[gnu::noinline, gnu::cold]] unsigned mutant_changed(unsigned modes, const V& value) {
  const auto is = value(0);
  unsigned out = 0;
  for (int m = 1; m < 8; ++m) {
    if (!(modes >> m & 1)) continue;
    const auto other = value(m);
    if (std::memcmp(&other, &is, sizeof is) != 0) out |= 1u << m;
  }
  return out;
}
// The value in the mode that is chosen.
template <class V>
inline auto mutant_pick(int site, MutantModes modes, V value) {
  return value(mutant_mode(site, modes, [&] { return mutant_changed(modes.all | modes.shown, value); }));
}

// x as a type of half the width has it.
template <class T>
T mutant_narrow(T x) {
  if constexpr (std::is_same_v<T, double>)
    return static_cast<float>(x);
  else if constexpr (std::is_same_v<T, float>) {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    bits &= 0xFFFF0000u;
    std::memcpy(&x, &bits, 4);
    return x;
  } else if constexpr (kTenonInteger<T> && sizeof(T) == 8)
    return static_cast<T>(static_cast<std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>>(x));
  else
    return x;
}
// x as the float of its width has it: an i64 loses what a double cannot hold.
template <class T>
T mutant_as_float(T x) {
  if constexpr (kTenonInteger<T> && sizeof(T) == 8)
    return static_cast<T>(static_cast<double>(x));
  else if constexpr (kTenonInteger<T> && sizeof(T) == 4)
    return static_cast<T>(static_cast<float>(x));
  else
    return mutant_narrow(x);
}

// ---- binary operators: `a + b` becomes `a + TenonOp{site} + b`, which keeps precedence and order ----

struct TenonOp {
  int site;
};

#define TENON_HOLDER(Name, op)                        \
  template <class A>                                  \
  struct Name {                                       \
    const A& a;                                       \
    int site;                                         \
  };                                                  \
  template <class A>                                  \
  inline Name<A> operator op(const A& a, TenonOp o) { \
    return {a, o.site};                               \
  }

// Modes of arithmetic: 1 another operator, 2 the left operand alone, 3 a narrower result, 4 (products) a zero on the left
// stays zero, 5 the right operand alone.
#define TENON_ARITHMETIC(Name, op, other, extra)                                                     \
  TENON_HOLDER(Name, op)                                                                             \
  template <class A, class B>                                                                        \
  inline auto operator op(Name<A> h, const B& b) {                                                   \
    using R = std::decay_t<decltype(h.a op b)>;                                                      \
    if constexpr (std::is_arithmetic_v<A> && std::is_arithmetic_v<B>) {                              \
      constexpr MutantModes modes{2 | 4 | 32 | (kTenonFloat<R> ? extra : 0), kTenonWide<R> ? 8 : 0}; \
      return mutant_pick(h.site, modes, [&](int mode) -> R {                                         \
        switch (mode) {                                                                              \
          case 1:                                                                                    \
            return static_cast<R>(other);                                                            \
          case 2:                                                                                    \
            return static_cast<R>(h.a);                                                              \
          case 3:                                                                                    \
            return mutant_narrow(static_cast<R>(h.a op b));                                          \
          case 4:                                                                                    \
            return h.a == A(0) ? R(0) : static_cast<R>(h.a op b);                                    \
          case 5:                                                                                    \
            return static_cast<R>(b);                                                                \
          default:                                                                                   \
            return static_cast<R>(h.a op b);                                                         \
        }                                                                                            \
      });                                                                                            \
    } else {                                                                                         \
      return h.a op b;                                                                               \
    }                                                                                                \
  }
TENON_ARITHMETIC(TenonAdd, +, h.a - b, 0)
TENON_ARITHMETIC(TenonSub, -, h.a + b, 0)
TENON_ARITHMETIC(TenonMul, *, h.a + b, 16)
TENON_ARITHMETIC(TenonDiv, /, h.a* b, 0)
#undef TENON_ARITHMETIC

// 1 another operator, 2 the left operand alone.
#define TENON_BITS(Name, op, other)                          \
  TENON_HOLDER(Name, op)                                     \
  template <class A, class B>                                \
  inline auto operator op(Name<A> h, const B& b) {           \
    using R = std::decay_t<decltype(h.a op b)>;              \
    return mutant_pick(h.site, {2 | 4}, [&](int mode) -> R { \
      switch (mode) {                                        \
        case 1:                                              \
          return static_cast<R>(other);                      \
        case 2:                                              \
          return static_cast<R>(h.a);                        \
        default:                                             \
          return static_cast<R>(h.a op b);                   \
      }                                                      \
    });                                                      \
  }
TENON_BITS(TenonMod, %, h.a / b)
TENON_BITS(TenonAnd, &, h.a | b)
TENON_BITS(TenonOr, |, h.a& b)
TENON_BITS(TenonXor, ^, h.a | b)
TENON_BITS(TenonShl, <<, h.a >> b)
TENON_BITS(TenonShr, >>, h.a << b)
#undef TENON_BITS

// 1 the bound moved by one or the equality turned round, 2 true, 3 false, 4 narrower operands, 5 (of order) as if all were
// ordered: what it says of NaN turned round.
#define TENON_COMPARISON(Name, op, other, five, turned)                                                           \
  TENON_HOLDER(Name, op)                                                                                          \
  template <class A, class B>                                                                                     \
  inline bool operator op(Name<A> h, const B& b) {                                                                \
    constexpr bool wide = std::is_arithmetic_v<A> && std::is_arithmetic_v<B> && (kTenonWide<A> || kTenonWide<B>); \
    constexpr bool nan = std::is_floating_point_v<A> && std::is_floating_point_v<B>;                              \
    constexpr MutantModes modes{2 | 4 | 8 | (nan ? five : 0), wide ? 16 : 0};                                     \
    return mutant_pick(h.site, modes, [&](int mode) -> bool {                                                     \
      switch (mode) {                                                                                             \
        case 1:                                                                                                   \
          return h.a other b;                                                                                     \
        case 2:                                                                                                   \
          return true;                                                                                            \
        case 3:                                                                                                   \
          return false;                                                                                           \
        case 4:                                                                                                   \
          if constexpr (wide) return mutant_as_float(h.a) op mutant_as_float(b);                                  \
          return h.a op b;                                                                                        \
        case 5:                                                                                                   \
          return turned;                                                                                          \
        default:                                                                                                  \
          return h.a op b;                                                                                        \
      }                                                                                                           \
    });                                                                                                           \
  }
TENON_COMPARISON(TenonLt, <, <=, 32, !(h.a >= b))
TENON_COMPARISON(TenonLe, <=, <, 32, !(h.a > b))
TENON_COMPARISON(TenonGt, >, >=, 32, !(h.a <= b))
TENON_COMPARISON(TenonGe, >=, >, 32, !(h.a < b))
TENON_COMPARISON(TenonEq, ==, !=, 0, h.a == b)
TENON_COMPARISON(TenonNe, !=, ==, 0, h.a != b)
#undef TENON_COMPARISON
#undef TENON_HOLDER

// ---- values ----

// A literal: 1 one more (twice), 2 one less (a little more), of bool the other.
template <class T>
inline T mutant_literal(int site, T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return mutant_on(site) ? !x : x;
  } else if constexpr (std::is_floating_point_v<T>) {
    const int mode = mutant_mode(site, {2 | 4});
    return mode == 1 ? (x == T(0) ? T(1) : x * T(2)) : mode == 2 ? (x == T(0) ? -x : x * T(1.001)) : x;
  } else {
    const int mode = mutant_mode(site, {2 | 4});
    return mode == 1 ? x + 1 : mode == 2 ? x - 1 : x;
  }
}

// An index, an argument, what is returned: 1 one more (of bool: the other), 2 one less, 3 narrower. What has a place keeps
// it, as it may be returned by reference.
template <class T, std::enable_if_t<std::is_arithmetic_v<std::decay_t<T>>, int> = 0>
inline std::conditional_t<std::is_lvalue_reference_v<T>, const std::decay_t<T>&, std::decay_t<T>> mutant_value(int site,
                                                                                                               T&& x) {
  using V = std::decay_t<T>;
  constexpr MutantModes modes{std::is_same_v<V, bool> ? 2 : kTenonFloat<V> ? 0 : 2 | 4, kTenonWide<V> ? 8 : 0};
  const int mode = mutant_mode(site, modes, [&] { return modes.all | (mutant_narrow<V>(x) != x ? modes.shown : 0); });
  if (mode == 0) return x;
  static thread_local V changed;
  if constexpr (std::is_same_v<V, bool>)
    changed = !x;
  else
    changed = static_cast<V>(mode == 1 ? x + 1 : mode == 2 ? x - 1 : static_cast<V>(mutant_narrow(static_cast<V>(x))));
  return changed;
}

// 1 the other one of two arguments that could be mixed up.
template <class T>
inline const T& mutant_other(int site, const T& is, const T& other) {
  const auto changed = [&] {
    if constexpr (std::is_arithmetic_v<T> || std::is_pointer_v<T> || std::is_enum_v<T>)
      return std::memcmp(&is, &other, sizeof is) != 0 ? 2u : 0u;
    return 2u;
  };
  return mutant_mode(site, {2}, changed) == 1 ? other : is;
}

// A condition: 1 true, 2 false.
template <class T>
inline bool mutant_condition(int site, const T& x) {
  return mutant_pick(site, {2 | 4}, [&](int mode) {
    return mode == 1 ? true : mode == 2 ? false : static_cast<bool>(x);
  });
}

// 1 the other of min and max, 2 the first, 3 the second.
template <class T>
inline T mutant_min(int site, const T& a, const T& b) {
  return mutant_pick(site, {2 | 4 | 8}, [&](int mode) -> T {
    return mode == 1 ? std::max<T>(a, b) : mode == 2 ? a : mode == 3 ? b : std::min<T>(a, b);
  });
}
template <class T>
inline T mutant_max(int site, const T& a, const T& b) {
  return mutant_pick(site, {2 | 4 | 8}, [&](int mode) -> T {
    return mode == 1 ? std::min<T>(a, b) : mode == 2 ? a : mode == 3 ? b : std::max<T>(a, b);
  });
}

// 1 a lock that keeps nobody out.
template <class M>
M& mutant_lock(int site, M& mutex) {
  static thread_local M own[8];
  static thread_local unsigned next = 0;
  return mutant_on(site) ? own[next++ % 8] : mutex;
}
