#include "server/http/tokens.h"

#include <strings.h>

#include "tenon/text_file.h"

namespace tenon::server {
namespace {

constexpr size_t kLeastToken = 16;
constexpr std::string_view kScheme = "bearer ";

// Looks at all of both, whatever they are.
bool same(std::string_view a, std::string_view b) {
  volatile unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i)
    difference = difference | static_cast<unsigned char>(a[i] ^ b[b.empty() ? 0 : i % b.size()]);
  return difference == 0;
}

}  // namespace

Result<Tokens> Tokens::read(const std::string& path) {
  TENON_ASSIGN(const std::vector<std::string> lines, read_text_lines(path));
  Tokens out;
  for (const std::string& line : lines) {
    if (line.starts_with("#")) continue;
    if (line.size() < kLeastToken || line.find_first_of(" \t") != line.npos)
      return Status(Code::kInvalid, "'" + path + "': a token has " + std::to_string(line.size()) +
                                        " characters, expected at least " + std::to_string(kLeastToken) +
                                        " and no blank");
    out.tokens_.push_back(line);
  }
  if (out.tokens_.empty()) return Status(Code::kInvalid, "'" + path + "' has no token");
  return out;
}

bool Tokens::allow(std::string_view authorization) const {
  if (tokens_.empty()) return true;
  if (authorization.size() <= kScheme.size() ||
      ::strncasecmp(authorization.data(), kScheme.data(), kScheme.size()) != 0)
    return false;
  authorization.remove_prefix(kScheme.size());
  bool found = false;
  for (const std::string& token : tokens_) found |= same(authorization, token);
  return found;
}

}  // namespace tenon::server
