// The paths that the REST interface answers: TF Serving's, and those of health, metrics and the page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/models/model_versions.h"

namespace tenon::server {

enum class RouteKind : uint8_t {
  kNone,      // no such path
  kPage,      // /
  kHealth,    // /healthz: the server lives
  kReady,     // /readyz: each model answers, and the server does not end
  kMetrics,   // /metrics, /monitoring/prometheus/metrics
  kModels,    // /v1/models
  kStatus,    // /v1/models/M[/versions/V|/labels/L]
  kMetadata,  // .. /metadata
  kClasses,   // .. /classes: Tenon's own
  kPredict,   // .. :predict
  kClassify,  // .. :classify
  kRegress,   // .. :regress
};

struct Route {
  RouteKind kind = RouteKind::kNone;
  std::string model = {};
  VersionChoice version = {};

  bool predicts() const { return kind >= RouteKind::kPredict; }
  // Without a token, as those who ask have none: health, and the page, which has no secret.
  bool is_open() const { return kind >= RouteKind::kPage && kind <= RouteKind::kReady; }
};

// `target` may have a query, which says nothing, and %XX.
Route route_of(std::string_view target);

}  // namespace tenon::server
