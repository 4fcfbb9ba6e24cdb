// One connection of the HTTP server: a request that arrives in pieces, an answer that leaves in
// pieces.
#pragma once

#include <chrono>
#include <string>

#include "report/http_server.hpp"

namespace plait {

/// The path of "GET /path HTTP/1.1 ..." (or HEAD), without what follows a '?'; or what is wrong
/// with it.
struct HttpRequest {
  std::string path{};
  std::string host{};      ///< without the port
  bool head_only = false;  ///< HEAD: everything but the body is wanted
  int refused = 0;         ///< a status: 400, 405; 0: none
};
/// `head` ends with an empty line.
HttpRequest parse_request(const std::string& head);

/// Status line, headers and, unless only those are wanted, body.
std::string http_text(const HttpAnswer& answer, bool head_only = false);

class HttpConnection {
 public:
  /// Owns the socket, which must not block.
  explicit HttpConnection(int socket);
  ~HttpConnection();
  HttpConnection(HttpConnection&& other) noexcept;
  HttpConnection& operator=(HttpConnection&& other) noexcept;

  int socket() const { return socket_; }
  bool writes() const { return !answer_.empty(); }
  bool overdue() const { return std::chrono::steady_clock::now() > deadline_; }

  /// Reads or writes what can be; `answer` makes the answer of a request. False: it is over.
  template <class Answer>
  bool go_on(const Answer& answer) {
    if (!writes()) {
      if (!read_some()) return false;
      if (!complete()) return true;
      answer_ = answer(request_);
    }
    return write_some();
  }

 private:
  bool read_some();
  bool write_some();
  bool complete() const;

  int socket_;
  std::string request_;
  std::string answer_;
  std::size_t sent_ = 0;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace plait
