// A small HTTP server for a page of our own: GET of a few paths, one thread, few connections,
// bounded requests. Whoever calls it never waits for a client, and no client can make it do more
// than answer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace plait {

struct HttpAnswer {
  std::string type = "text/html; charset=utf-8";
  std::string body{};
  int status = 200;
};

/// Called in the server's thread; nullopt: there is no such path.
using HttpHandler = std::function<std::optional<HttpAnswer>(const std::string& path)>;

class HttpServer {
 public:
  /// Port 0: any that is free. UserError where the address is none or the port is taken.
  HttpServer(const std::string& address, int port, HttpHandler handler);
  ~HttpServer();  ///< ends all connections
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  /// "http://127.0.0.1:8080/".
  std::string url() const;

 private:
  void serve();

  std::string address_;
  int port_ = 0;
  HttpHandler handler_;
  int listener_ = -1;
  int wake_ = -1;
  std::thread thread_;
};

}  // namespace plait
