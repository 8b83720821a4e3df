// Texts over connections that end before their answer.
#include "server/http/http_server.h"
#include "server/rest/rest_api.h"
#include "unit/server/fake_model.h"
#include "unit/server/raw_client.h"

namespace tenon::server {
namespace {

// Gives lines as they are; "for ever" has no end. The gate holds back each call.
class Echo : public TextModel {
 public:
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();

  int64_t max_lines() const override { return 1; }
  Result<Lines> write(const Lines& lines, int64_t /*first*/, const Interrupted& interrupted) override {
    gate->pass();
    while (lines[0] == "for ever")
      if (interrupted()) return Status(Code::kInterrupted, "nobody waits");
    return lines;
  }
};

class TextHttpTest : public ::testing::Test {
 protected:
  void start(std::chrono::milliseconds request_timeout = std::chrono::hours(1)) {
    auto model = std::make_unique<Echo>();
    gate = model->gate;
    texts["echo"] = std::make_unique<TextBatcher>(std::move(model), BatchOptions{}, metrics.version("echo", 1));
    models = ServedModels::open({}, load_half_plus, {}, &metrics, [](const std::string&) {}).take();
    text_api = std::make_unique<TextApi>(&texts, request_timeout);
    api = std::make_unique<RestApi>(models.get(), &metrics, RestOptions{}, text_api.get());
    server = HttpServer::start({.port = 0}, api.get(), &metrics).take();
  }
  ~TextHttpTest() override {
    if (gate) gate->open();
    if (server) server->stop();
    texts.clear();
  }
  // One that is being written for ever.
  std::unique_ptr<RawClient> client_of_endless() {
    gate->close();
    auto client = std::make_unique<RawClient>(server->port());
    client->send(request("for ever"));
    gate->wait_for_call();
    gate->open();
    return client;
  }
  static std::string request(const std::string& line) {
    return post("/v1/models/echo:predict", "{\"instances\": [\"" + line + "\"]}");
  }

  Metrics metrics;
  std::shared_ptr<Gate> gate;
  std::unique_ptr<HttpServer> server;  // ends after the models
  TextModels texts;
  std::unique_ptr<ServedModels> models;
  std::unique_ptr<TextApi> text_api;
  std::unique_ptr<RestApi> api;
};

TEST_F(TextHttpTest, AConnectionThatEndsEndsTheWriting) {
  start();
  client_of_endless().reset();
  EXPECT_EQ(RawClient(server->port()).ask(request("a")).body, "{\"predictions\":[\"a\"]}\n");
  EXPECT_NE(metrics.text().find("tenon_requests_total{model=\"echo\",version=\"1\",code=\"499\"} 1\n"),
            std::string::npos);
}

TEST_F(TextHttpTest, WhoSendsNoMoreIsAskedWhetherHeReadsAndAnswered) {
  start();
  gate->close();
  RawClient client(server->port());
  client.send(request("a"));
  client.end_sending();
  EXPECT_EQ(client.receive(false).status, 100);
  gate->open();
  RawResponse response = client.receive();
  while (response.status == 100) response = client.receive();
  EXPECT_EQ(response.body, "{\"predictions\":[\"a\"]}\n");
}

TEST_F(TextHttpTest, AnOldClientThatSendsNoMoreIsAnswered) {
  start();
  gate->close();
  RawClient client(server->port());
  const std::string body = "{\"instances\": [\"a\"]}";
  client.send("POST /v1/models/echo:predict HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
              body);
  client.end_sending();
  gate->wait_for_call();
  gate->open();
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(TextHttpTest, ATextWhoseTimeIsOverIsAnswered) {
  start(std::chrono::milliseconds(50));
  RawClient client(server->port());
  EXPECT_EQ(client.ask(request("for ever")).status, 504);
}

TEST_F(TextHttpTest, TheServersEndEndsTheWriting) {
  start();
  const auto client = client_of_endless();
  EXPECT_FALSE(server->drain({}, {}));
  server->stop();
  texts.clear();  // waits for it
}

}  // namespace
}  // namespace tenon::server
