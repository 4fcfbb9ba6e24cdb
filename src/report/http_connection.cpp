#include "report/http_connection.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace plait {

namespace {

constexpr std::size_t kMostRequest = 8192;
constexpr auto kPatience = std::chrono::seconds(10);  // for request and answer together

std::string_view reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 503: return "Service Unavailable";
    default: return "Error";
  }
}

bool would_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/// The value of the header, "" without it. Names count whatever their case.
std::string header_of(const std::string& head, std::string_view name) {
  std::size_t at = head.find("\r\n");
  while (at != std::string::npos && at + 2 < head.size()) {
    at += 2;
    const std::size_t end = head.find("\r\n", at);
    const std::size_t colon = head.find(':', at);
    if (end == std::string::npos || end == at) break;
    bool equal = colon != std::string::npos && colon < end && colon - at == name.size();
    for (std::size_t i = 0; equal && i < name.size(); ++i) {
      const char c = head[at + i];
      equal = (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) == name[i];
    }
    if (equal) {
      const std::size_t first = head.find_first_not_of(" \t", colon + 1);
      return first == std::string::npos || first >= end ? "" : head.substr(first, end - first);
    }
    at = end;
  }
  return "";
}

/// "localhost:80" -> "localhost", "[::1]:80" -> "[::1]".
std::string without_port(const std::string& host) {
  const std::size_t bracket = host.find(']');
  const std::size_t colon = host.find(':', bracket == std::string::npos ? 0 : bracket);
  return host.substr(0, colon);
}

}  // namespace

HttpRequest parse_request(const std::string& head) {
  const std::string line = head.substr(0, head.find("\r\n"));
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string::npos ? first : line.find(' ', first + 1);
  if (second == std::string::npos || line.compare(second + 1, 7, "HTTP/1.") != 0 ||
      line[first + 1] != '/') {
    return {.refused = 400};
  }
  const bool head_only = line.compare(0, first, "HEAD") == 0;
  if (!head_only && line.compare(0, first, "GET") != 0) return {.refused = 405};
  const std::string target = line.substr(first + 1, second - first - 1);
  return {.path = target.substr(0, target.find('?')),
          .host = without_port(header_of(head, "host")),
          .head_only = head_only};
}

std::string http_text(const HttpAnswer& answer, bool head_only) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{}",
      answer.status, reason(answer.status), answer.type, answer.body.size(),
      head_only ? "" : answer.body);
}

HttpConnection::HttpConnection(int socket)
    : socket_(socket), deadline_(std::chrono::steady_clock::now() + kPatience) {}

HttpConnection::~HttpConnection() {
  if (socket_ >= 0) close(socket_);
}

HttpConnection::HttpConnection(HttpConnection&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      request_(std::move(other.request_)),
      answer_(std::move(other.answer_)),
      sent_(other.sent_),
      deadline_(other.deadline_) {}

HttpConnection& HttpConnection::operator=(HttpConnection&& other) noexcept {
  std::swap(socket_, other.socket_);
  request_ = std::move(other.request_);
  answer_ = std::move(other.answer_);
  sent_ = other.sent_;
  deadline_ = other.deadline_;
  return *this;
}

bool HttpConnection::complete() const {
  return request_.size() >= kMostRequest || request_.find("\r\n\r\n") != std::string::npos;
}

bool HttpConnection::read_some() {
  std::array<char, 2048> buffer{};
  const ssize_t count = recv(socket_, buffer.data(), buffer.size(), 0);
  if (count > 0) request_.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && would_wait());
}

bool HttpConnection::write_some() {
  const ssize_t count =
      send(socket_, answer_.data() + sent_, answer_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count > 0) sent_ += static_cast<std::size_t>(count);
  if (count < 0 && !would_wait()) return false;
  if (sent_ < answer_.size()) return true;
  // What the client still sends is not read: closing now could take the answer back from it.
  shutdown(socket_, SHUT_WR);
  return false;
}

}  // namespace plait
