#include "server/rest/routes.h"

#include <charconv>

namespace tenon::server {
namespace {

int hex_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// nullopt: a % without two digits, or a character that no name has.
std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || hex_of(text[i + 1]) < 0 || hex_of(text[i + 2]) < 0) return std::nullopt;
      c = static_cast<char>(hex_of(text[i + 1]) * 16 + hex_of(text[i + 2]));
      i += 2;
    }
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f || (c == '/' && text[i] != '/')) return std::nullopt;
    out += c;
  }
  return out;
}

// What stands before the next / of `rest`, which loses both.
std::string_view next_part(std::string_view* rest) {
  const size_t slash = rest->find('/');
  const std::string_view part = rest->substr(0, slash);
  *rest = slash == rest->npos ? std::string_view() : rest->substr(slash + 1);
  return part;
}

RouteKind kind_of_verb(std::string_view verb) {
  if (verb == "predict") return RouteKind::kPredict;
  if (verb == "classify") return RouteKind::kClassify;
  return verb == "regress" ? RouteKind::kRegress : RouteKind::kNone;
}

// Reads what follows "/v1/models/".
Route route_of_model(std::string_view rest) {
  Route route{RouteKind::kStatus};
  if (const size_t colon = rest.rfind(':'); colon != rest.npos) {
    route.kind = kind_of_verb(rest.substr(colon + 1));
    rest = rest.substr(0, colon);
  } else if (rest.ends_with("/metadata")) {
    route.kind = RouteKind::kMetadata;
    rest.remove_suffix(9);
  } else if (rest.ends_with("/classes")) {
    route.kind = RouteKind::kClasses;
    rest.remove_suffix(8);
  }
  route.model = next_part(&rest);
  if (route.model.empty()) return {};
  if (rest.empty()) return route;
  const std::string_view which = next_part(&rest);
  if (which == "versions") {
    int64_t number = -1;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (rest.empty() || error != std::errc() || end != rest.data() + rest.size() || number < 0) return {};
    route.version.number = number;
  } else if (which == "labels" && !rest.empty() && rest.find('/') == rest.npos) {
    route.version.label = rest;
  } else {
    return {};
  }
  return route;
}

}  // namespace

Route route_of(std::string_view target) {
  const std::optional<std::string> path = decoded(target.substr(0, target.find_first_of("?#")));
  if (!path) return {};
  if (*path == "/") return {RouteKind::kPage};
  if (*path == "/healthz") return {RouteKind::kHealth};
  if (*path == "/readyz") return {RouteKind::kReady};
  if (*path == "/metrics" || *path == "/monitoring/prometheus/metrics") return {RouteKind::kMetrics};
  if (*path == "/v1/models" || *path == "/v1/models/") return {RouteKind::kModels};
  constexpr std::string_view kModelPath = "/v1/models/";
  return path->starts_with(kModelPath) ? route_of_model(std::string_view(*path).substr(kModelPath.size())) : Route{};
}

}  // namespace tenon::server
