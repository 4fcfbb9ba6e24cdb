// A very small HTTP server on 127.0.0.1 for tests of downloads: one file, and the ways a server
// fails.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "data/bytes.hpp"

namespace plait::data::test {

struct ServerBehaviour {
  Bytes content;
  bool ranges = true;
  int status = 200;
  /// So many responses break off after `cut_after` body bytes.
  int cuts = 0;
  std::size_t cut_after = 0;
  /// Answers a range request with bytes from here on, whatever was asked.
  long wrong_range = -1;
  /// Sends the headers and then nothing.
  bool stalls = false;
};

class HttpServer {
 public:
  explicit HttpServer(ServerBehaviour behaviour) : behaviour_(std::move(behaviour)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        listen(listener_, 8) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      throw std::runtime_error("test server cannot listen");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() {
    stop_ = true;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url(const std::string& file) const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + file;
  }
  /// The first byte asked for by each request so far; -1 without a range.
  std::vector<long> ranges() const {
    const std::lock_guard lock(mutex_);
    return ranges_;
  }

 private:
  void serve() {
    while (!stop_) {
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) return;
      answer(client);
      shutdown(client, SHUT_WR);
      close(client);
    }
  }

  static std::string read_request(int client) {
    std::string request;
    char buffer[4096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = recv(client, buffer, sizeof(buffer), 0);
      if (got <= 0) break;
      request.append(buffer, static_cast<std::size_t>(got));
    }
    return request;
  }

  static void send_all(int client, const void* data, std::size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t sent = send(client, at, size, MSG_NOSIGNAL);
      if (sent <= 0) return;
      at += sent;
      size -= static_cast<std::size_t>(sent);
    }
  }

  void answer(int client) {
    const std::string request = read_request(client);
    const std::size_t at = request.find("Range: bytes=");
    long first = at == std::string::npos ? -1 : std::atol(request.c_str() + at + 13);
    {
      const std::lock_guard lock(mutex_);
      ranges_.push_back(first);
    }
    const long size = static_cast<long>(behaviour_.content.size());
    int status = behaviour_.status;
    std::string extra;
    if (status == 200 && first >= 0 && behaviour_.ranges) {
      if (behaviour_.wrong_range >= 0) first = behaviour_.wrong_range;
      status = first < size ? 206 : 416;
      extra = "Content-Range: bytes " + std::to_string(first) + "-" + std::to_string(size - 1) +
              "/" + std::to_string(size) + "\r\n";
    }
    Bytes body = behaviour_.content;
    if (status == 206) body.erase(body.begin(), body.begin() + first);
    if (status >= 400) body.assign(20, 'x');
    const std::string head = "HTTP/1.1 " + std::to_string(status) +
                             " Answer\r\nContent-Length: " + std::to_string(body.size()) +
                             "\r\nConnection: close\r\n" + extra + "\r\n";
    send_all(client, head.data(), head.size());
    if (behaviour_.stalls) {
      while (!stop_ && recv(client, &status, 1, MSG_DONTWAIT) != 0) usleep(10000);
      return;
    }
    if (behaviour_.cuts > 0) {
      --behaviour_.cuts;
      body.resize(std::min(body.size(), behaviour_.cut_after));
    }
    send_all(client, body.data(), body.size());
  }

  ServerBehaviour behaviour_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::vector<long> ranges_;
  std::thread thread_;
};

}  // namespace plait::data::test
