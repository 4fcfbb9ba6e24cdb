// A small HTTP server for a page of our own: GET and HEAD of a few paths, with bounded requests,
// connections and times. The caller never waits for a client. The protocol itself is cpp-httplib's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace plait::report {

struct HttpAnswer {
  std::string type = "text/html; charset=utf-8";
  std::string body{};
  int status = 200;
};

/// Called in threads of the server, one call at a time; nullopt: there is no such path.
using HttpHandler = std::function<std::optional<HttpAnswer>(const std::string& path)>;

class HttpServer {
 public:
  /// Port 0: any free port. UserError for an invalid address or a port in use.
  HttpServer(const std::string& address, int port, HttpHandler handler);
  ~HttpServer();  ///< closes all connections at once
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  /// "http://127.0.0.1:8080/".
  std::string url() const;

 private:
  class Listener;

  std::string address_;
  int port_ = 0;
  std::unique_ptr<Listener> listener_;
};

}  // namespace plait::report
