// Answers of models of text: whole, or as a stream of events.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "server/http/message.h"
#include "server/rest/routes.h"
#include "server/text/text_batcher.h"

namespace tenon::server {

class TextApi {
 public:
  // `models` outlives it.
  TextApi(const TextModels* models, std::chrono::milliseconds request_timeout)
      : models_(models), request_timeout_(request_timeout) {}

  bool has(std::string_view model) const { return models_->contains(model); }
  std::vector<std::string> names() const;
  // As HttpHandler::handle. REQUIRED: there is the model.
  std::optional<HttpResponse> predict(const Route& route, HttpRequest&& request, Respond respond) const;

 private:
  HttpResponse stream(TextBatcher& batcher, std::string line) const;
  const TextModels* models_;
  const std::chrono::milliseconds request_timeout_;
};

// Whether it may be the one version that a model of text has; and what is said where it is not.
bool is_text_version(const VersionChoice& choice);
Status no_text_version(const std::string& model);

}  // namespace tenon::server
