// Load: what is counted, and from when.
#include "server/load/load.h"

#include <thread>

#include "server/http/http_server.h"
#include "server/load/response_reader.h"
#include "unit/server/fake_model.h"

namespace tenon::server {
namespace {

// Answers each n-th request with 503, the others with 200.
class Counting : public HttpHandler {
 public:
  explicit Counting(int refused_each) : refused_each_(refused_each) {}
  std::optional<HttpResponse> refuse(const RequestHead&) override { return std::nullopt; }
  std::optional<HttpResponse> handle(HttpRequest&& request, Respond) override {
    bodies_ += request.body == "{}";
    const int n = ++asked_;
    return HttpResponse{refused_each_ > 0 && n % refused_each_ == 0 ? 503 : 200, "{}"};
  }
  int asked() const { return asked_; }
  int bodies() const { return bodies_; }

 private:
  const int refused_each_;
  std::atomic<int> asked_ = 0, bodies_ = 0;
};

struct Serving {
  explicit Serving(int refused_each = 0) : handler(refused_each) {
    HttpOptions options;
    options.port = 0;
    server = HttpServer::start(options, &handler, &metrics).take();
  }
  LoadOptions load(double rate) const {
    return {.port = server->port(),
            .request = "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}",
            .rate = rate,
            .seconds = 0.2,
            .warm_seconds = 0.1,
            .connections = 3};
  }
  Metrics metrics;
  Counting handler;
  std::unique_ptr<HttpServer> server;
};

TEST(Load, AnOpenLoopAsksAtItsRateHoweverLongAnswersTake) {
  Serving serving;
  const LoadResult result = run_load(serving.load(500)).take();
  EXPECT_NEAR(static_cast<double>(result.asked), 100, 1);  // 0.2 s
  EXPECT_EQ(static_cast<int64_t>(result.latencies.size()), result.asked);
  EXPECT_NEAR(serving.handler.asked(), 150, 2);  // those of the warm-up too
  EXPECT_EQ(serving.handler.bodies(), serving.handler.asked());
  EXPECT_LE(result.percentile(50), result.percentile(99));
  EXPECT_EQ(result.percentile(100), result.latencies.back());
}

TEST(Load, AClosedLoopAsksAsAnswersCome) {
  Serving serving;
  const LoadResult result = run_load(serving.load(0)).take();
  EXPECT_GE(result.asked, 1);
  EXPECT_GE(serving.handler.asked(), result.asked);  // those of the warm-up too
  EXPECT_EQ(static_cast<int64_t>(result.latencies.size()), result.asked);
}

TEST(Load, CountsWhatIsRefusedApart) {
  Serving serving(4);
  const LoadResult result = run_load(serving.load(400)).take();
  EXPECT_NEAR(static_cast<double>(result.codes.at(503)), static_cast<double>(result.asked) / 4, 1);
  EXPECT_EQ(static_cast<int64_t>(result.latencies.size()), result.codes.at(200));
}

TEST(Load, SaysThatNobodyListens) {
  Serving serving;
  const LoadOptions options = serving.load(10);
  serving.server.reset();
  EXPECT_NE(run_load(options).status().message().find("cannot connect to 127.0.0.1:"), std::string::npos);
  EXPECT_EQ(run_load({.host = "nowhere"}).status().message(), "'nowhere' is no address");
}

TEST(LoadResult, HasPercentilesByTheNearestRank) {
  const LoadResult result{.seconds = 2, .latencies = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, .codes = {}};
  EXPECT_EQ(result.percentile(50), 5);
  EXPECT_EQ(result.percentile(90), 9);
  EXPECT_EQ(result.percentile(99), 10);
  EXPECT_EQ(result.percentile(0), 1);
  EXPECT_EQ(result.mean(), 5.5);
  EXPECT_EQ(result.answers_per_second(), 5);
  EXPECT_EQ(LoadResult().percentile(50), 0);
}

TEST(ResponseReader, FindsTheEndWhereverBytesAreCut) {
  const std::string answer =
      "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\ncontent-LENGTH:  5\r\nConnection: Close\r\n\r\nhello";
  for (size_t cut = 0; cut < answer.size(); ++cut) {
    ResponseReader reader;
    EXPECT_TRUE(reader.take(answer.substr(0, cut))) << cut;
    EXPECT_FALSE(reader.complete()) << cut;
    EXPECT_TRUE(reader.take(answer.substr(cut)));
    EXPECT_TRUE(reader.complete());
    EXPECT_EQ(reader.code(), 503);
    EXPECT_TRUE(reader.closes());
  }
}

TEST(ResponseReader, RefusesWhatIsNoSuchAnswer) {
  for (const char* bytes :
       {"SSH-2.0\r\n\r\n", "HTTP/1.1 abc\r\nContent-Length: 1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"}) {
    ResponseReader reader;
    EXPECT_FALSE(reader.take(bytes)) << bytes;
  }
  ResponseReader reader;
  EXPECT_FALSE(reader.take(std::string(70000, 'a')));
}

}  // namespace
}  // namespace tenon::server
