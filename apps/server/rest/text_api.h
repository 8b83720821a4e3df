// Answers of models of text: whole, or as a stream of events.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "server/http/message.h"
#include "server/text/text_queue.h"

namespace tenon::server {

class TextApi {
 public:
  // By the model's name.
  using Models = std::map<std::string, std::unique_ptr<TextQueue>, std::less<>>;
  TextApi(Models models, std::chrono::milliseconds request_timeout)
      : models_(std::move(models)), request_timeout_(request_timeout) {}

  bool has(std::string_view model) const { return models_.contains(model); }
  std::vector<std::string> names() const;
  // As HttpHandler::handle. REQUIRED: there is the model.
  std::optional<HttpResponse> predict(const std::string& model, HttpRequest&& request, Respond respond) const;

 private:
  HttpResponse stream(TextQueue& queue, std::string line) const;
  Models models_;
  std::chrono::milliseconds request_timeout_;
};

}  // namespace tenon::server
