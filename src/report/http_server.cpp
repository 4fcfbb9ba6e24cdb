#include "report/http_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "report/http_connection.hpp"

namespace plait {

namespace {

constexpr std::size_t kMostConnections = 32;
constexpr int kTickMilliseconds = 1000;  // how often late clients are looked for

/// A name on which a page of another site could reach us unnoticed is none of ours.
bool is_local_name(const std::string& host) {
  return host.empty() || host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

struct Listening {
  int socket = -1;
  int port = 0;
};

int port_of(int socket) {
  sockaddr_storage place{};
  socklen_t size = sizeof(place);
  getsockname(socket, reinterpret_cast<sockaddr*>(&place), &size);
  return ntohs(place.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&place)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&place)->sin_port);
}

Listening listen_on(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    user_error("{} is no address of this machine; 127.0.0.1 is for this machine, 0.0.0.0 for all",
               address);
  }
  const int made = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool bound =
      made >= 0 && bind(made, found->ai_addr, found->ai_addrlen) == 0 && listen(made, 16) == 0;
  const int why = errno;
  freeaddrinfo(found);
  if (bound) return {.socket = made, .port = port_of(made)};
  if (made >= 0) close(made);
  if (why == EADDRINUSE) {
    user_error("port {} of {} is in use; choose another, or none to get a free one", port, address);
  }
  user_error("cannot listen on {} port {}: {}", address, port, std::strerror(why));
}

}  // namespace

HttpServer::HttpServer(const std::string& address, int port, HttpHandler handler)
    : address_(address), handler_(std::move(handler)) {
  const Listening made = listen_on(address, port);
  listener_ = made.socket;
  port_ = made.port;
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread([this] { serve(); });
}

HttpServer::~HttpServer() {
  eventfd_write(wake_, 1);
  thread_.join();
  close(wake_);
  close(listener_);
}

std::string HttpServer::url() const {
  const std::string host = address_ == "0.0.0.0" ? "127.0.0.1" : address_;
  return fmt::format("http://{}:{}/", host.find(':') == std::string::npos ? host : "[" + host + "]",
                     port_);
}

void HttpServer::serve() {
  const bool local = address_.starts_with("127.") || address_ == "::1";
  const auto answer = [&](const std::string& head) {
    try {
      const HttpRequest request = parse_request(head);
      if (request.refused != 0) return http_text({.body = "", .status = request.refused});
      if (local && !is_local_name(request.host)) return http_text({.body = "", .status = 403});
      if (const auto found = handler_(request.path)) return http_text(*found, request.head_only);
      return http_text({.type = "text/plain", .body = "no such page\n", .status = 404},
                       request.head_only);
    } catch (const std::exception&) {  // out of memory: the run goes on
      return http_text({.type = "text/plain", .body = "", .status = 503});
    }
  };
  std::vector<HttpConnection> connections;
  while (true) {
    std::vector<pollfd> watched{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
    if (connections.size() >= kMostConnections) watched[1].events = 0;
    for (const HttpConnection& one : connections) {
      watched.push_back({one.socket(), static_cast<short>(one.writes() ? POLLOUT : POLLIN), 0});
    }
    if (poll(watched.data(), watched.size(), kTickMilliseconds) < 0 && errno != EINTR) return;
    if (watched[0].revents != 0) return;
    std::vector<HttpConnection> kept;
    for (std::size_t i = 0; i < connections.size(); ++i) {
      HttpConnection& one = connections[i];
      if (one.overdue()) continue;
      if (watched[i + 2].revents == 0 || one.go_on(answer)) kept.push_back(std::move(one));
    }
    connections = std::move(kept);
    if ((watched[1].revents & POLLIN) == 0) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client >= 0) connections.emplace_back(client);
  }
}

}  // namespace plait
