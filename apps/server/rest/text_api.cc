#include "server/rest/text_api.h"

#include "server/json/answers.h"
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

std::vector<std::string> TextApi::names() const {
  std::vector<std::string> out;
  for (const auto& entry : models_) out.push_back(entry.first);
  return out;
}

HttpResponse TextApi::stream(TextQueue& queue, std::string line) const {
  HttpResponse response{200, {}, "text/event-stream"};
  response.parts = [&queue, line = std::move(line), timeout = request_timeout_](std::shared_ptr<PartSink> sink) {
    const auto growing = std::make_shared<Growing>(std::move(sink));
    TextRequest request{{line}, std::chrono::steady_clock::now() + timeout};
    request.takes = [growing](std::string_view so_far) { return growing->take(so_far); };
    request.ended = [growing](const Status& status) { growing->end(status); };
    if (!queue.submit(std::move(request))) growing->end(Status(Code::kUnavailable, "the queue of the model is full"));
  };
  return response;
}

std::optional<HttpResponse> TextApi::predict(const std::string& model, HttpRequest&& request, Respond respond) const {
  TextQueue& queue = *models_.at(model);
  Result<ParsedText> parsed = parse_text_request(&request.body, queue.max_lines());
  if (!parsed.ok()) return error_response(http_status(parsed.status()), parsed.status().message());
  if (parsed->stream && !queue.streams()) return error_response(400, "the model " + model + " cannot stream");
  if (parsed->stream && queue.full()) return too_busy();
  if (parsed->stream) return stream(queue, std::move(parsed->lines[0]));
  TextRequest text{std::move(parsed->lines), std::chrono::steady_clock::now() + request_timeout_};
  text.done = [columns = parsed->columns, respond = std::move(respond)](Result<std::vector<std::string>> texts) {
    respond(std::make_unique<MadeAnswer>(texts.ok()
                                             ? HttpResponse{200, text_answer(*texts, columns)}
                                             : error_response(http_status(texts.status()), texts.status().message())));
  };
  if (queue.submit(std::move(text))) return std::nullopt;
  return too_busy();
}

}  // namespace tenon::server
