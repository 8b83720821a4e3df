#include "server/json/base64.h"

#include <array>
#include <cstdint>

namespace tenon::server {
namespace {

constexpr uint8_t kNone = 255;

constexpr std::array<uint8_t, 256> make_values() {
  std::array<uint8_t, 256> values{};
  for (uint8_t& v : values) v = kNone;
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < kAlphabet.size(); ++i) values[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  values['-'] = values['+'];
  values['_'] = values['/'];
  return values;
}
constexpr std::array<uint8_t, 256> kValues = make_values();

}  // namespace

std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::vector<std::byte> out;
  out.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const uint8_t value = kValues[static_cast<uint8_t>(c)];
    if (value == kNone) return std::nullopt;
    bits = bits << 6 | value;
    if ((count += 6) < 8) continue;
    count -= 8;
    out.push_back(static_cast<std::byte>(bits >> count));
  }
  return out;
}

std::string to_base64(std::string_view bytes) {
  constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t word = 0;
    for (size_t i = 0; i < 3; ++i)
      word = word << 8 | (at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i) out += at + i <= bytes.size() ? kDigits[word >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

}  // namespace tenon::server
