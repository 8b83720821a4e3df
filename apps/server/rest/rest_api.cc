#include "server/rest/rest_api.h"

#include <new>
#include <utility>

#include "server/json/rest_answers.h"
#include "server/rest/metadata.h"

namespace tenon::server {
namespace {

constexpr int kRetrySeconds = 1;

// A prediction on its way. The thread of the connection makes its answer.
class Prediction : public Answer {
 public:
  Prediction(RouteKind kind, std::shared_ptr<LoadedVersion> version)
      : kind_(kind), start_(Clock::now()), version_(std::move(version)) {}

  const LoadedVersion& version() const { return *version_; }
  Batcher& batcher() { return version_->batcher; }
  void set_request(ParsedRequest&& request) {
    signature_ = request.signature;
    format_ = request.format;
    rows_ = request.rows;
  }
  void set_result(Result<Arrays> result) { result_ = std::move(result); }

  HttpResponse make() override {
    HttpResponse response = made();
    count(response.status);
    return response;
  }
  void count(int status) const {
    version_->metrics->count_request(status, std::chrono::duration<double>(Clock::now() - start_).count());
  }

 private:
  HttpResponse made() {
    if (!result_.ok()) return error_of(result_.status());
    const ServedModel& model = version_->batcher.model();
    if (kind_ == RouteKind::kPredict) return {200, predict_answer(model, *signature_, format_, *result_, rows_)};
    return {200, kind_ == RouteKind::kClassify ? classify_answer(model, *signature_, *result_)
                                               : regress_answer(*signature_, *result_)};
  }

  const RouteKind kind_;
  const Clock::time_point start_;
  const std::shared_ptr<LoadedVersion> version_;
  const ServingSignature* signature_ = nullptr;
  RequestFormat format_ = RequestFormat::kRows;
  int64_t rows_ = 0;
  Result<Arrays> result_ = Status(Code::kInternal, "no result");
};

// Gives a Prediction away that others have, too.
class SharedAnswer : public Answer {
 public:
  explicit SharedAnswer(std::shared_ptr<Answer> answer) : answer_(std::move(answer)) {}
  HttpResponse make() override { return answer_->make(); }

 private:
  std::shared_ptr<Answer> answer_;
};

RequestMethod method_of(RouteKind kind) {
  if (kind == RouteKind::kClassify) return RequestMethod::kClassify;
  return kind == RouteKind::kRegress ? RequestMethod::kRegress : RequestMethod::kPredict;
}

HttpResponse text_response(int status, const char* text) { return {status, text, "text/plain; charset=utf-8"}; }

}  // namespace

int http_status(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return 200;
    case Code::kInvalid:
      return 400;
    case Code::kUnavailable:
    case Code::kOutOfMemory:
      return 503;
    case Code::kTimeout:
      return 504;
    case Code::kInterrupted:  // who asked has gone
      return 499;
    case Code::kUnsupported:
      return 501;
    default:
      return 500;
  }
}

HttpResponse error_response(int status, std::string_view message) { return {status, error_answer(message)}; }

HttpResponse error_of(const Status& status) {
  HttpResponse response = error_response(http_status(status), status.message());
  if (response.status == 503) response.retry_after = kRetrySeconds;
  return response;
}

HttpResponse too_busy() {
  HttpResponse response = error_response(429, "the queue of the model is full");
  response.retry_after = kRetrySeconds;
  return response;
}

RestApi::RestApi(const ServedModels* models, Metrics* metrics, RestOptions options, const TextApi* texts)
    : models_(models), metrics_(metrics), texts_(texts), options_(std::move(options)) {}

std::optional<HttpResponse> RestApi::refuse(const RequestHead& head) try {
  const Route route = route_of(head.target);
  if (!route.is_open() && !options_.tokens.allow(head.authorization))
    return error_response(401, "expected Authorization: Bearer with a token of the server");
  const std::string asked = std::string(head.method) + " " + std::string(head.target);
  if (route.kind == RouteKind::kNone) return error_response(404, "Malformed request: " + asked);
  const bool reads = head.method == "GET" || head.method == "HEAD";
  if (route.predicts() ? head.method != "POST" : !reads) {
    HttpResponse response = error_response(405, "Malformed request: " + asked);
    response.allow = route.predicts() ? "POST" : "GET, HEAD";
    return response;
  }
  if (head.content_coding == ContentCoding::kOther)
    return error_response(
        415, "Content-Encoding: " + std::string(head.content_encoding) + " is not taken: expected gzip, or none");
  if (!route.predicts() || is_text(route.model)) return std::nullopt;
  if (!models_->find(route.model))
    return error_response(404, "Servable not found for request: Latest(" + route.model + ")");
  return std::nullopt;
} catch (const std::bad_alloc&) {
  return error_response(503, "out of memory");
}

std::optional<HttpResponse> RestApi::handle(HttpRequest&& request, Respond respond) try {
  const Route route = route_of(request.target);
  if (route.predicts() && is_text(route.model)) return texts_->predict(route, std::move(request), std::move(respond));
  if (route.predicts()) return predict(route, std::move(request), std::move(respond));
  return get(route);
} catch (const std::bad_alloc&) {
  return error_response(503, "out of memory");
} catch (const std::exception& e) {
  return error_response(500, e.what());
}

HttpResponse RestApi::get(const Route& route) const {
  switch (route.kind) {
    case RouteKind::kPage:
      return {200, std::string(kPage), "text/html; charset=utf-8"};
    case RouteKind::kHealth:
      return text_response(200, "ok\n");
    case RouteKind::kReady:
      if (ending_) return text_response(503, "ending\n");
      return models_->ready() ? text_response(200, "ok\n") : text_response(503, "a model has no version\n");
    case RouteKind::kMetrics:
      return {200, metrics_->text(), "text/plain; version=0.0.4; charset=utf-8"};
    case RouteKind::kModels:
      return {200, models_answer(*models_, texts_ ? texts_->names() : std::vector<std::string>())};
    default:
      return models_get(route);
  }
}

HttpResponse RestApi::models_get(const Route& route) const {
  if (is_text(route.model)) {
    if (!is_text_version(route.version)) return error_response(404, no_text_version(route.model).message());
    if (route.kind == RouteKind::kMetadata) return {200, text_metadata_answer(route.model)};
    if (route.kind == RouteKind::kStatus) return {200, text_status_answer()};
  }
  const std::shared_ptr<ModelVersions> model = models_->find(route.model);
  if (!model) return error_response(404, "Could not find any versions of model " + route.model);
  std::optional<int64_t> number = route.version.number;
  Result<std::string> text = Status(Code::kInternal, "no answer");
  if (route.kind != RouteKind::kStatus || !route.version.label.empty()) {
    const auto version = models_->find(route.model, route.version);
    if (!version.ok()) return error_response(404, version.status().message());
    if (route.kind == RouteKind::kMetadata) return {200, metadata_answer(route.model, **version)};
    if (route.kind == RouteKind::kClasses) text = classes_answer(**version);
    number = (*version)->number;
  }
  if (route.kind == RouteKind::kStatus) text = status_answer(*model, number);
  return text.ok() ? HttpResponse{200, std::move(*text)} : error_response(404, text.status().message());
}

std::optional<HttpResponse> RestApi::predict(const Route& route, HttpRequest&& request, Respond respond) {
  auto version = models_->find(route.model, route.version);
  if (!version.ok()) return error_response(404, version.status().message());
  const auto prediction = std::make_shared<Prediction>(route.kind, std::move(*version));
  if (prediction->batcher().full()) return prediction->count(429), too_busy();  // before work goes into it
  Result<ParsedRequest> parsed =
      parse_request(&request.body, method_of(route.kind), prediction->batcher().model(), options_.limits);
  std::string().swap(request.body);
  if (!parsed.ok()) {
    prediction->count(http_status(parsed.status()));
    return error_of(parsed.status());
  }
  BatchRequest batch;
  batch.signature = parsed->signature;
  batch.inputs = std::move(parsed->inputs);
  batch.rows = parsed->rows;
  batch.deadline = Clock::now() + options_.request_timeout;
  batch.done = [prediction, respond = std::move(respond)](Result<Arrays> result) {
    prediction->set_result(std::move(result));
    respond(std::make_unique<SharedAnswer>(prediction));
  };
  prediction->set_request(std::move(*parsed));
  if (!prediction->batcher().submit(std::move(batch))) return prediction->count(429), too_busy();
  return std::nullopt;
}

}  // namespace tenon::server
