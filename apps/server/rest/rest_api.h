// What the server answers: TF Serving's REST interface (https://www.tensorflow.org/tfx/serving/api_rest), health, metrics, the page.
#pragma once

#include <atomic>
#include <chrono>

#include "server/http/message.h"
#include "server/http/tokens.h"
#include "server/json/requests.h"
#include "server/models/served_models.h"
#include "server/rest/routes.h"
#include "server/rest/text_api.h"

namespace tenon::server {

struct RestOptions {
  Tokens tokens = {};
  std::chrono::milliseconds request_timeout{30000};  // of what waits for a batch; then the answer is 504
  RequestLimits limits = {};
};

class RestApi : public HttpHandler {
 public:
  // `models`, `metrics` and `texts` outlive it; the last may be nullptr.
  RestApi(const ServedModels* models, Metrics* metrics, RestOptions options, const TextApi* texts = nullptr);

  std::optional<HttpResponse> refuse(const RequestHead& head) override;
  std::optional<HttpResponse> handle(HttpRequest&& request, Respond respond) override;
  // From now on /readyz answers 503.
  void end_ready() { ending_ = true; }

 private:
  HttpResponse get(const Route& route) const;
  HttpResponse models_get(const Route& route) const;
  std::optional<HttpResponse> predict(const Route& route, HttpRequest&& request, Respond respond);

  const ServedModels* models_;
  bool is_text(std::string_view model) const { return texts_ && texts_->has(model); }

  Metrics* metrics_;
  const TextApi* texts_;
  const RestOptions options_;
  std::atomic<bool> ending_ = false;
};

// The status that an error is answered with.
int http_status(const Status& status);
// {"error": ..}: of an error with that status, and Retry-After where it is worth it.
HttpResponse error_of(const Status& status);
HttpResponse error_response(int status, std::string_view message);
// 429: the queue of the model is full.
HttpResponse too_busy();

// The page at "/": one file of HTML.
extern const std::string_view kPage;

}  // namespace tenon::server
