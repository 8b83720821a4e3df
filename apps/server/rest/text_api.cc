#include "server/rest/text_api.h"

#include "server/json/rest_answers.h"
#include "server/rest/rest_api.h"
#include "server/text/text_requests.h"

namespace tenon::server {
namespace {

class MadeAnswer : public Answer {
 public:
  explicit MadeAnswer(HttpResponse response) : response_(std::move(response)) {}
  HttpResponse make() override { return std::move(response_); }

 private:
  HttpResponse response_;
};

// Counts a request from here on.
class Counted {
 public:
  explicit Counted(const TextBatcher& batcher) : metrics_(batcher.metrics()) {}
  void end(int status) const {
    metrics_.count_request(status, std::chrono::duration<double>(Clock::now() - start_).count());
  }

 private:
  VersionMetrics& metrics_;
  const Clock::time_point start_ = Clock::now();
};

// What of a text is sent: all that grew, up to the end of a character.
class Growing {
 public:
  explicit Growing(std::shared_ptr<PartSink> sink) : sink_(std::move(sink)) {}
  bool take(std::string_view so_far) {
    if (so_far.size() <= sent_) return sink_->open();
    size_t end = so_far.size();
    while (end > sent_ && end < so_far.size() && (static_cast<unsigned char>(so_far[end]) & 0xc0) == 0x80) --end;
    const std::string_view fresh = so_far.substr(sent_, end - sent_);
    sent_ = end;
    return sink_->send(text_event(fresh));
  }
  void end(const Status& status) {
    sink_->send(status.ok() ? done_event() : error_event(status.message()));
    sink_->end();
  }

 private:
  std::shared_ptr<PartSink> sink_;
  size_t sent_ = 0;
};

}  // namespace

bool is_text_version(const VersionChoice& choice) {
  return choice.label.empty() && choice.number.value_or(kTextVersion) == kTextVersion;
}

Status no_text_version(const std::string& model) {
  return Status(Code::kUnavailable, "the model of text " + model + " has version 1 alone, and no labels");
}

std::vector<std::string> TextApi::names() const {
  std::vector<std::string> out;
  for (const auto& entry : *models_) out.push_back(entry.first);
  return out;
}

HttpResponse TextApi::stream(TextBatcher& batcher, std::string line) const {
  HttpResponse response{200, {}, "text/event-stream"};
  response.parts = [&batcher, line = std::move(line), timeout = request_timeout_](std::shared_ptr<PartSink> sink) {
    const auto growing = std::make_shared<Growing>(sink);
    TextRequest request{{line}, Clock::now() + timeout, [sink] { return !sink->open(); }};
    request.takes = [growing](std::string_view so_far) { return growing->take(so_far); };
    request.ended = [growing, counted = Counted(batcher)](const Status& status) {
      counted.end(http_status(status));
      growing->end(status);
    };
    if (batcher.submit(std::move(request))) return;
    Counted(batcher).end(429);
    growing->end(Status(Code::kUnavailable, "the queue of the model is full"));
  };
  return response;
}

std::optional<HttpResponse> TextApi::predict(const Route& route, HttpRequest&& request, Respond respond) const {
  if (!is_text_version(route.version)) return error_response(404, no_text_version(route.model).message());
  if (route.kind != RouteKind::kPredict)
    return error_response(400, "the model " + route.model + " writes texts: expected :predict");
  TextBatcher& batcher = *models_->find(route.model)->second;
  const Counted counted(batcher);
  if (batcher.full()) return counted.end(429), too_busy();  // before work goes into it
  Result<ParsedText> parsed = parse_text_request(&request.body, batcher.max_queued_lines());
  if (parsed.ok() && parsed->stream && !batcher.streams())
    parsed = Status(Code::kInvalid, "the model " + route.model + " cannot stream");
  if (!parsed.ok()) return counted.end(http_status(parsed.status())), error_of(parsed.status());
  if (parsed->stream) return stream(batcher, std::move(parsed->lines[0]));
  TextRequest text{std::move(parsed->lines), Clock::now() + request_timeout_, std::move(request.gone)};
  text.done = [counted, columns = parsed->columns, respond = std::move(respond)](Result<Lines> texts) {
    HttpResponse response = texts.ok() ? HttpResponse{200, text_answer(*texts, columns)} : error_of(texts.status());
    counted.end(response.status);
    respond(std::make_unique<MadeAnswer>(std::move(response)));
  };
  if (batcher.submit(std::move(text))) return std::nullopt;
  return counted.end(429), too_busy();
}

}  // namespace tenon::server
