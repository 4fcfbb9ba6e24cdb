// The server answers what it has, refuses the rest, and outlives whatever clients do to it.
#include "report/http_server.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace plait::report {
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
  bool hears_within(std::chrono::milliseconds time) const {
    pollfd watched{socket_, POLLIN, 0};
    return poll(&watched, 1, static_cast<int>(time.count())) > 0;
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

TEST_F(Server, AnswersWholeWhateverEncodingOrRangesAreAskedFor) {
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nAccept-Encoding: gzip, br\r\nRange: bytes=1-2\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200"), EndsWith("\r\n\r\nhello")));
  std::string ranges = "Range: bytes=0-0";
  while (ranges.size() < 8000) ranges += ",0-0";
  ask("GET / HTTP/1.1\r\n" + ranges + "\r\n\r\n");
  ask("GET /" + std::string(8000, 'a') + " HTTP/1.1\r\n\r\n");
  ask("GET /?" + std::string(8000, '&') + " HTTP/1.1\r\n\r\n");
  expect_alive();
}

TEST_F(Server, SaysWhichMethodsThereAre) {
  for (const std::string method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"}) {
    EXPECT_THAT(ask(method + " / HTTP/1.1\r\n\r\n"),
                AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("Allow: GET, HEAD\r\n")));
  }
}

TEST_F(Server, HasBoundedConnections) {
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 32; ++i) silent.push_back(std::make_unique<Client>(server_.port()));
  const Client late(server_.port());
  late.say("GET / HTTP/1.1\r\n\r\n");
  EXPECT_FALSE(late.hears_within(std::chrono::milliseconds(300)));
  silent.pop_back();  // makes room
  EXPECT_THAT(late.hear(), EndsWith("hello"));
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

/// A server that answers everything with `size` bytes.
std::unique_ptr<HttpServer> server_of(std::size_t size) {
  return std::make_unique<HttpServer>("127.0.0.1", 0, [size](const std::string&) {
    return std::optional(HttpAnswer{.body = std::string(size, 'x')});
  });
}

TEST(ServerEnd, IsAtOnceWhateverClientsAreDoing) {
  auto server = server_of(64 << 20);
  const int port = server->port();
  const Client silent(port);
  const Client half(port);
  half.say("GET / HTTP/1.1\r\nHost: loc");
  const Client reads_nothing(port);
  reads_nothing.say("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(silent.connected());
  ASSERT_TRUE(reads_nothing.hears_within(std::chrono::seconds(30)));
  std::vector<std::unique_ptr<Client>> many;  // more than the server takes
  for (int i = 0; i < 33; ++i) many.push_back(std::make_unique<Client>(port));
  const Stopwatch watch;
  server.reset();
  EXPECT_LT(watch.seconds(), 5);  // a connection may last 10
  EXPECT_FALSE(Client(port).connected());
}

TEST(ServerEnd, MayComeRightAfterTheStart) {
  for (int i = 0; i < 50; ++i) server_of(1).reset();
}

TEST(ServerEnd, LeavesSignalsAsTheyWere) {
  struct sigaction before {};
  struct sigaction after {};
  sigaction(SIGPIPE, nullptr, &before);
  server_of(1).reset();
  sigaction(SIGPIPE, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

}  // namespace
}  // namespace plait::report
