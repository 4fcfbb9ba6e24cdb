// The server answers what it has, refuses the rest, and outlives whatever clients do to it.
#include "report/http_server.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "base/error.hpp"
#include "report/http_connection.hpp"

namespace plait {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A connection of a client's; closed with it.
class Client {
 public:
  explicit Client(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, "127.0.0.1", &place.sin_addr);
    const timeval patience{30, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&place), sizeof(place)) == 0;
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  void say(const std::string& text) const {
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t count = send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<std::size_t>(count);
    }
  }
  std::string hear() const {
    std::string all;
    std::vector<char> buffer(1 << 16);
    for (ssize_t count = 0; (count = recv(socket_, buffer.data(), buffer.size(), 0)) > 0;) {
      all.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return all;
  }

 private:
  int socket_;
  bool connected_ = false;
};

class Server : public ::testing::Test {
 protected:
  std::string ask(const std::string& request) const {
    const Client client(server_.port());
    client.say(request);
    return client.hear();
  }
  void expect_alive() const {
    EXPECT_THAT(ask("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), EndsWith("\r\n\r\nhello"));
  }

  std::string large_ = std::string(8 << 20, 'x');
  HttpServer server_{"127.0.0.1", 0, [this](const std::string& path) -> std::optional<HttpAnswer> {
                       if (path == "/") return HttpAnswer{.body = "hello"};
                       if (path == "/large") return HttpAnswer{.body = large_};
                       if (path == "/throws") throw std::bad_alloc();
                       return std::nullopt;
                     }};
};

TEST_F(Server, AnswersWhatItHas) {
  const std::string answer = ask("GET /?x=1 HTTP/1.1\r\nhost: 127.0.0.1:80\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(answer, EndsWith("hello"));
  EXPECT_EQ(server_.url(), "http://127.0.0.1:" + std::to_string(server_.port()) + "/");
  EXPECT_THAT(ask("GET /large HTTP/1.0\r\n\r\n"), EndsWith("\r\n\r\n" + large_));
}

TEST_F(Server, RefusesTheRest) {
  EXPECT_THAT(ask("GET /../etc/passwd HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(ask("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(ask("GET http://x/ HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask("rubbish\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask("GET / FTP\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(
      ask("HEAD / HTTP/1.1\r\n\r\n"),
      AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Content-Length: 5\r\n"), EndsWith("\r\n\r\n")));
  EXPECT_THAT(ask("HEAD /none HTTP/1.1\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 404"), EndsWith("\r\n\r\n")));
  EXPECT_THAT(ask("\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask("GET /throws HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 503"));
  expect_alive();
}

TEST_F(Server, ForThisMachineIsNotThereUnderOtherNames) {
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nHost: localhost:9\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nHOST:[::1]:9\r\n\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Server, TakesNoEndlessRequest) {
  const Client client(server_.port());
  client.say("GET /" + std::string(100'000, 'a'));
  client.hear();  // a refusal, or the connection is gone
  expect_alive();
}

TEST_F(Server, OutlivesClientsThatSaySomethingStrangeOrNothing) {
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(std::make_unique<Client>(server_.port()));
  for (int i = 0; i < 20; ++i) {
    const Client client(server_.port());
    client.say("GET /large HTTP/1.1\r\n\r\n");  // and leaves without the answer
  }
  std::uint32_t noise = 7;
  for (int i = 0; i < 50; ++i) {
    std::string bytes;
    for (int k = 0; k < 300; ++k) {
      noise = noise * 1664525 + 1013904223;
      bytes += static_cast<char>(noise >> 24);
    }
    ask(bytes + "\r\n\r\n");
  }
  ask(std::string("GET /\0 HTTP/1.1\r\n\r\n", 20));
  expect_alive();
}

TEST_F(Server, SaysThatAPortIsTaken) {
  try {
    const HttpServer other("127.0.0.1", server_.port(), {});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("is in use; choose another"));
  }
  EXPECT_THROW(HttpServer("not an address", 0, {}), UserError);
  EXPECT_THROW(HttpServer("203.0.113.1", 0, {}), UserError);
}

TEST(ServerEnd, IsAtOnceWhateverClientsAreDoing) {
  auto server = std::make_unique<HttpServer>(
      "127.0.0.1", 0, [](const std::string&) { return std::optional(HttpAnswer{}); });
  const int port = server->port();
  const Client waits(port);
  ASSERT_TRUE(waits.connected());
  server.reset();
  EXPECT_FALSE(Client(port).connected());
}

TEST(ParseRequest, HeadIsGetWithoutABody) {
  const HttpRequest request = parse_request("HEAD /a HTTP/1.1\r\n\r\n");
  EXPECT_EQ(request.refused, 0);
  EXPECT_EQ(request.path, "/a");
  EXPECT_TRUE(request.head_only);
  EXPECT_FALSE(parse_request("GET /a HTTP/1.1\r\n\r\n").head_only);
}

TEST(ParseRequest, TakesPathAndHost) {
  const HttpRequest request = parse_request("GET /a?b HTTP/1.1\r\nX: y\r\nHost:  h:1\r\n\r\n");
  EXPECT_EQ(request.refused, 0);
  EXPECT_EQ(request.path, "/a");
  EXPECT_EQ(request.host, "h");
  EXPECT_EQ(parse_request("GET / HTTP/1.1\r\nHost").host, "");
  EXPECT_EQ(parse_request("").refused, 400);
  EXPECT_EQ(parse_request("GET ").refused, 400);
}

}  // namespace
}  // namespace plait
