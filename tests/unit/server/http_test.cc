// The server on a port, with bytes as clients of any kind send them.
#include "server/http/http_server.h"

#include <zlib.h>

#include <random>

#include "server/rest/rest_api.h"
#include "unit/server/fake_model.h"
#include "unit/server/raw_client.h"

namespace tenon::server {
namespace {

constexpr const char* kPredict = "/v1/models/half:predict";
constexpr const char* kBody = R"({"instances": [1.0, 2.0, 5.0]})";
constexpr const char* kAnswer = "{\"predictions\":[2.5,3.0,4.5]}\n";

bool is_refusal(int status) { return status == 400 || status == 413 || status == 505; }

class HttpTest : public ::testing::Test {
 protected:
  void start(HttpOptions http = {}, RestOptions rest = {}, BatchOptions batching = {}) {
    directory.write("1/plus", "2");
    const ModelLoader loader = [this](const std::string& path) {
      auto model = load_half_plus(path);
      gate = static_cast<HalfPlus&>(**model).gate;
      return model;
    };
    models = ServedModels::open({{.name = "half", .base_path = directory.path(), .labels = {{"good", 1}}}}, loader,
                                batching, &metrics, [](const std::string&) {})
                 .take();
    api = std::make_unique<RestApi>(models.get(), &metrics, std::move(rest));
    http.port = 0;
    server = HttpServer::start(http, api.get(), &metrics).take();
    port = server->port();
  }
  ~HttpTest() override {
    if (gate) gate->open();
    if (server) server->stop();
    models.reset();
  }
  void expect_good() {
    RawClient client(port);
    const RawResponse response = client.ask(post(kPredict, kBody));
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, kAnswer);
  }
  int status_of(const std::string& bytes) {
    RawClient client(port);
    client.send(bytes);
    client.end_sending();
    return client.receive().status;
  }

  TestDirectory directory;
  Metrics metrics;
  std::shared_ptr<Gate> gate;
  std::unique_ptr<HttpServer> server;  // ends after the models
  std::unique_ptr<ServedModels> models;
  std::unique_ptr<RestApi> api;
  int port = 0;
};

TEST_F(HttpTest, PredictionsComeOverOneConnection) {
  start();
  RawClient client(port);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.ask(post(kPredict, kBody)).body, kAnswer);
  EXPECT_EQ(client.ask(post("/v1/models/half/versions/1:predict", kBody)).body, kAnswer);
  EXPECT_EQ(client.ask(post("/v1/models/half/labels/good:predict", kBody)).body, kAnswer);
  EXPECT_EQ(client.ask(post("/v1/models/h%61lf:predict?query=1", kBody)).body, kAnswer);
  EXPECT_NE(client.ask(get("/v1/models/half")).body.find("\"version\":\"1\",\"state\":\"AVAILABLE\""),
            std::string::npos);
  EXPECT_EQ(client.ask(get("/v1/models/half/versions/1")).status, 200);
  EXPECT_NE(client.ask(get("/v1/models/half/metadata")).body.find("\"serving_default\""), std::string::npos);
  EXPECT_EQ(metrics.connections, 1);
}

TEST_F(HttpTest, RequestsSentAheadAreAnsweredInOrder) {
  start();
  RawClient client(port);
  std::string all;
  for (int i = 0; i < 50; ++i)
    all += i % 3 == 2 ? get("/healthz") : post(kPredict, "{\"instances\": [" + std::to_string(i) + ".0]}");
  client.send(all);
  for (int i = 0; i < 50; ++i) {
    const std::string number = std::to_string(i / 2 + 2) + (i % 2 ? ".5" : ".0");
    EXPECT_EQ(client.receive().body, i % 3 == 2 ? "ok\n" : "{\"predictions\":[" + number + "]}\n");
  }
}

TEST_F(HttpTest, BytesMayComeOneByOne) {
  start();
  RawClient client(port);
  const std::string chunked = std::string("POST ") + kPredict +
                              " HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                              "10;name=value\r\n{\"instances\": [1\r\n1\r\n]\r\n1\r\n}\r\n0\r\nTrailer: x\r\n\r\n";
  for (const std::string& request : {post(kPredict, kBody), chunked}) {
    for (const char c : request) client.send({&c, 1});
    EXPECT_EQ(client.receive().status, 200);
  }
}

// By zlib, as clients do.
std::string gzipped(const std::string& text) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

TEST_F(HttpTest, CompressedBodiesAreUnpackedWithinTheLimit) {
  constexpr const char* kField = "Content-Encoding: gzip\r\n";
  start({.max_body_bytes = 100000});
  RawClient client(port);
  EXPECT_EQ(client.ask(post(kPredict, gzipped(kBody), kField)).body, kAnswer);
  EXPECT_EQ(client.ask(post(kPredict, gzipped("{\"instances\":") + gzipped("[1.0,2.0,5.0]}"), kField)).body, kAnswer);
  const std::string blanks = kBody + std::string(100000 - std::string(kBody).size(), ' ');
  EXPECT_EQ(client.ask(post(kPredict, gzipped(blanks), kField)).body, kAnswer);
  const std::string good = gzipped(kBody);
  for (const std::string& damaged : {std::string("{}"), good.substr(0, good.size() - 1), good + "x"}) {
    const RawResponse answer = client.ask(post(kPredict, damaged, kField));
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(answer.body.find("the body is no gzip"), std::string::npos);
  }
  EXPECT_EQ(client.ask(post(kPredict, kBody, "Content-Encoding: br\r\n")).status, 415);
  EXPECT_EQ(RawClient(port).ask(post(kPredict, good, "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n")).status,
            415);
  EXPECT_EQ(client.ask(post(kPredict, gzipped(blanks + " "), kField)).status, 413);
  const std::string bomb = gzipped(std::string(50 << 20, ' '));
  ASSERT_LT(bomb.size(), 100000u);
  EXPECT_EQ(RawClient(port).ask(post(kPredict, bomb, kField)).status, 413);
  expect_good();
  EXPECT_EQ(metrics.body_bytes, 0);
}

TEST_F(HttpTest, ABodyIsAskedForWhereTheClientWaits) {
  start({.max_body_bytes = 1000});
  RawClient client(port);
  const std::string head = std::string("POST ") + kPredict + " HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n";
  client.send(head + "Content-Length: 30\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  EXPECT_EQ(client.ask(kBody).body, kAnswer);
  RawClient large(port);
  EXPECT_EQ(large.ask(head + "Content-Length: 3000\r\n\r\n").status, 413);
  EXPECT_TRUE(large.ended());
  RawClient other(port);
  EXPECT_EQ(other.ask("POST /nowhere HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 30\r\n\r\n").status,
            404);
  EXPECT_TRUE(other.ended());
}

TEST_F(HttpTest, HeadHasNoBody) {
  start();
  RawClient client(port);
  client.send("HEAD /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
  const RawResponse response = client.receive(false);
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.head.find("Content-Length: 3\r\n"), std::string::npos);
  EXPECT_EQ(client.ask(get("/healthz")).body, "ok\n");
}

TEST_F(HttpTest, OldClientsAreAnsweredAndTheConnectionEnds) {
  start();
  RawClient client(port);
  EXPECT_EQ(client.ask("GET /healthz HTTP/1.0\r\n\r\n").body, "ok\n");
  EXPECT_TRUE(client.ended());
  RawClient keeps(port);
  EXPECT_EQ(keeps.ask("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").body, "ok\n");
  EXPECT_EQ(keeps.ask("GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").body, "ok\n");
  EXPECT_TRUE(keeps.ended());
}

TEST_F(HttpTest, MistakesHaveTheirStatus) {
  start({.max_body_bytes = 1000});
  RawClient client(port);
  EXPECT_EQ(client.ask(get("/nowhere")).status, 404);
  EXPECT_EQ(client.ask(get("/v1/models/other")).status, 404);
  EXPECT_EQ(client.ask(get("/v1/models/half/versions/7")).body,
            "{\"error\":\"Could not find version 7 of model half\"}\n");
  EXPECT_EQ(client.ask(get("/v1/models/half/versions/x")).status, 404);
  EXPECT_EQ(client.ask(post("/v1/models/half/versions/7:predict", kBody)).body,
            "{\"error\":\"Servable not found for request: Specific(half, 7)\"}\n");
  EXPECT_EQ(client.ask(get("/v1/models/half/labels/bad")).status, 404);
  EXPECT_EQ(client.ask(get("/%")).status, 404);
  const RawResponse wrong = client.ask(get(kPredict));
  EXPECT_EQ(wrong.status, 405);
  EXPECT_NE(wrong.head.find("Allow: POST\r\n"), std::string::npos);
  EXPECT_EQ(client.ask("DELETE /healthz HTTP/1.1\r\nHost: h\r\n\r\n").status, 405);
  EXPECT_EQ(client.ask(post(kPredict, "{}")).status, 400);
  EXPECT_EQ(client.ask(post(kPredict, "")).status, 400);
  EXPECT_EQ(client.ask(get("/healthz")).status, 200) << "the connection goes on after them";
  EXPECT_EQ(status_of(post(kPredict, kBody, "Content-Encoding: br\r\n")), 415);
  EXPECT_EQ(status_of(post(kPredict, std::string(1001, ' '))), 413);
  EXPECT_EQ(status_of(post(kPredict, "", "Expect: more\r\n")), 417);
  EXPECT_EQ(status_of(get("/healthz", "Field: " + std::string(20000, 'x') + "\r\n")), 431);
  EXPECT_EQ(status_of("GET /healthz HTTP/3.0\r\nHost: h\r\n\r\n"), 505);
  expect_good();
}

// What two servers would read as different requests.
TEST_F(HttpTest, SmugglingIsRefused) {
  start();
  const std::string line = std::string("POST ") + kPredict + " HTTP/1.1\r\n";
  for (const std::string rest : {
           "Host: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "Host: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
           "Host: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
           "Host: h\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
           "Host: h\r\nContent-Length: 5, 5\r\n\r\nhello",
           "Host: h\r\nContent-Length: +5\r\n\r\nhello",
           "Host: h\r\nContent-Length: -5\r\n\r\nhello",
           "Host: h\r\nContent-Length: 0x5\r\n\r\nhello",
           "Host: h\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
           "Host: h\r\nContent-Length : 5\r\n\r\nhello",
           "Host: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
           "Host: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
           "Host: h\r\nTransfer-Encoding: identity\r\n\r\n",
           "Host: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "Host: h\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
           "Host: h\r\nTransfer-Encoding: \x0b"
           "chunked\r\n\r\n0\r\n\r\n",
           "Host: h\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
           "Host: h\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
           "Host: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n",
           "Host: h\r\nHost: g\r\n\r\n",
           "\r\n",
           "Host: h\nContent-Length: 5\n\nhello",
           "Host: h\r\nFie ld: x\r\n\r\n",
           "Host: h\r\nField: a\x01"
           "b\r\n\r\n",
           "Host: h\r\n: x\r\n\r\n",
       }) {
    RawClient client(port);
    client.send(line + rest);
    const int status = client.receive().status;
    EXPECT_TRUE(is_refusal(status)) << status << " for " << rest;
    EXPECT_TRUE(client.ended()) << rest;
  }
  RawClient old(port);
  EXPECT_EQ(old.ask("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").status, 400);
  for (const char* const start :
       {"GET http://h/healthz HTTP/1.1", "CONNECT h:80 HTTP/1.1", "GET healthz HTTP/1.1", "OPTIONS * HTTP/1.1",
        "GET  /healthz HTTP/1.1", "GET /healthz", "\x16\x03\x01\x02", "GET /heal\x01thz HTTP/1.1"})
    EXPECT_TRUE(is_refusal(status_of(std::string(start) + "\r\nHost: h\r\n\r\n"))) << start;
  expect_good();
}

// A good request with bytes changed, left out, repeated and added: each is answered or ends, none is 5xx, and good ones go on.
TEST_F(HttpTest, DamagedRequestsEndInAnAnswerOrNothing) {
  start();
  std::mt19937 random(11);
  const std::string good = post(kPredict, kBody, "Connection: close\r\n");
  const auto place = [&](size_t size) { return std::uniform_int_distribution<size_t>(0, size - 1)(random); };
  int bad = 0;
  for (int i = 0; i < 400; ++i) {
    std::string bytes = good;
    for (size_t changes = 1 + place(3); changes > 0 && !bytes.empty(); --changes) {
      const size_t at = place(bytes.size());
      switch (place(4)) {
        case 0:
          bytes[at] = static_cast<char>(place(256));
          break;
        case 1:
          bytes.erase(at, place(8));
          break;
        case 2:
          bytes.insert(at, bytes.substr(place(bytes.size()), place(40)));
          break;
        default:
          bytes.resize(at);
      }
    }
    const int status = status_of(bytes);
    EXPECT_TRUE(status < 500 || status == 505) << status << ": " << bytes;
    bad += status >= 400;
    if (i % 50 == 0) expect_good();
  }
  EXPECT_GT(bad, 200);
  expect_good();
  EXPECT_EQ(metrics.body_bytes, 0);
}

TEST_F(HttpTest, HeadsOfChunksThatDoNotEndAreRefused) {
  start();
  const std::string head =
      std::string("POST ") + kPredict + " HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(status_of(head + "1;" + std::string(100000, 'x')), 431);
  EXPECT_EQ(status_of(head + "0\r\nTrailer: " + std::string(100000, 'x')), 431);
}

TEST_F(HttpTest, SlowRequestsAre408AndIdleConnectionsEnd) {
  start({.idle_time = std::chrono::milliseconds(1)});
  RawClient slow(port), body(port), idle(port);
  slow.send("GET /heal");
  body.send("POST " + std::string(kPredict) + " HTTP/1.1\r\nHost: h\r\nContent-Length: 30\r\n\r\n{");
  EXPECT_EQ(slow.receive().status, 408);
  EXPECT_EQ(body.receive().status, 408);
  EXPECT_TRUE(idle.ended());
}

TEST_F(HttpTest, ConnectionsAndBodiesHaveTheirNumber) {
  start({.max_all_body_bytes = 100, .max_connections = 2});
  RawClient a(port), b(port);
  EXPECT_EQ(a.ask(get("/healthz")).status, 200);
  EXPECT_EQ(b.ask(get("/healthz")).status, 200);
  {
    RawClient c(port);
    const RawResponse response = c.receive();
    EXPECT_EQ(response.status, 503);
    EXPECT_NE(response.head.find("Retry-After: 1\r\n"), std::string::npos);
    EXPECT_TRUE(c.ended());
  }
  EXPECT_EQ(a.ask(post(kPredict, std::string(200, ' '))).status, 503);
  EXPECT_TRUE(a.ended());
  EXPECT_EQ(b.ask(post(kPredict, kBody)).body, kAnswer);
}

TEST_F(HttpTest, AFullQueueIs429WithRetryAfterAndHealthAnswers) {
  start({}, {}, {.max_queued_rows = 1});
  gate->close();
  RawClient a(port), b(port), c(port);
  a.send(post(kPredict, kBody));
  gate->wait_for_call();
  b.send(post(kPredict, kBody));
  const auto version = models->find("half")->find({}).take();
  while (!version->batcher.full()) std::this_thread::yield();
  const RawResponse refused = c.ask(post(kPredict, kBody));
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.head.find("Retry-After: 1\r\n"), std::string::npos);
  EXPECT_EQ(c.ask(get("/healthz")).status, 200);
  gate->open();
  EXPECT_EQ(a.receive().body, kAnswer);
  EXPECT_EQ(b.receive().body, kAnswer);
  const std::string text = c.ask(get("/monitoring/prometheus/metrics")).body;
  EXPECT_NE(text.find("tenon_requests_total{model=\"half\",version=\"1\",code=\"200\"} 2\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("tenon_requests_total{model=\"half\",version=\"1\",code=\"429\"} 1\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find(":tensorflow:serving:request_count{model_name=\"half\",version=\"1\",code=\"429\",status="
                      "\"RESOURCE_EXHAUSTED\"} 1\n"),
            std::string::npos);
  EXPECT_NE(text.find("tenon_batch_rows_bucket{model=\"half\",version=\"1\",le=\"4\"} 2\n"), std::string::npos);
}

TEST_F(HttpTest, ALateAnswerIs504) {
  start({}, {.request_timeout = std::chrono::milliseconds(0)});
  gate->close();
  RawClient a(port), b(port);
  a.send(post(kPredict, kBody));
  b.send(post(kPredict, kBody));
  gate->open();
  const int first = a.receive().status, second = b.receive().status;
  EXPECT_TRUE(first == 504 || first == 200);
  EXPECT_TRUE(second == 504 || second == 200);
}

TEST_F(HttpTest, TokensAreAskedForExceptByHealthAndThePage) {
  directory.write("tokens", "# people\n0123456789abcdef\nanother-token-of-ours\n");
  start({}, {.tokens = Tokens::read(directory.path() + "/tokens").take()});
  RawClient client(port);
  for (const char* const open : {"/healthz", "/readyz", "/"}) EXPECT_EQ(client.ask(get(open)).status, 200) << open;
  for (const char* const closed : {"/metrics", "/v1/models", "/v1/models/half", "/nowhere"}) {
    const RawResponse response = client.ask(get(closed));
    EXPECT_EQ(response.status, 401) << closed;
    EXPECT_NE(response.head.find("WWW-Authenticate: Bearer\r\n"), std::string::npos);
  }
  for (const char* const wrong : {"Bearer 0123456789abcdeg", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0",
                                  "Bearer ", "Basic 0123456789abcdef", "0123456789abcdef"})
    EXPECT_EQ(status_of(post(kPredict, kBody, std::string("Authorization: ") + wrong + "\r\n")), 401) << wrong;
  EXPECT_EQ(client.ask(post(kPredict, kBody, "Authorization: Bearer 0123456789abcdef\r\n")).body, kAnswer);
  EXPECT_EQ(client.ask(post(kPredict, kBody, "authorization: bearer another-token-of-ours\r\n")).body, kAnswer);
  directory.write("tokens", "short\n");
  EXPECT_FALSE(Tokens::read(directory.path() + "/tokens").ok());
  directory.write("tokens", "# none\n");
  EXPECT_FALSE(Tokens::read(directory.path() + "/tokens").ok());
}

TEST_F(HttpTest, DrainingAnswersWhatWasAccepted) {
  start();
  gate->close();
  RawClient working(port), idle(port), half(port);
  working.send(post(kPredict, kBody));
  gate->wait_for_call();
  EXPECT_EQ(idle.ask(get("/readyz")).status, 200);
  const std::string request = post(kPredict, kBody);
  half.send(request.substr(0, 60));
  while (metrics.connections < 3) std::this_thread::yield();
  api->end_ready();
  EXPECT_EQ(idle.ask(get("/readyz")).status, 503);
  EXPECT_EQ(idle.ask(get("/healthz")).status, 200);
  bool all = false;
  std::thread draining([&] { all = server->drain(std::chrono::milliseconds(0), std::chrono::minutes(1)); });
  EXPECT_TRUE(idle.ended());
  half.send(request.substr(60));
  gate->open();
  const RawResponse last = working.receive();
  EXPECT_EQ(last.body, kAnswer);
  EXPECT_NE(last.head.find("Connection: close\r\n"), std::string::npos);
  EXPECT_EQ(half.receive().body, kAnswer);
  draining.join();
  EXPECT_TRUE(all);
}

TEST_F(HttpTest, APortThatIsTakenIsAnError) {
  start();
  const auto second = HttpServer::start({.port = port}, api.get(), &metrics);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(), "127.0.0.1 port " + std::to_string(port) + ": Address already in use");
  EXPECT_FALSE(HttpServer::start({.host = "nowhere"}, api.get(), &metrics).ok());
}

}  // namespace
}  // namespace tenon::server
