// The HTTP server on cpp-httplib, the only file that includes it. The library accepts connections,
// parses requests and writes answers; what it leaves unbounded is bounded here: the bytes of a
// request, the time of a connection, and the number of connections.
#include "report/http_server.hpp"

#include <fcntl.h>
// Without CPPHTTPLIB_OPENSSL_SUPPORT, although Debian's library is built with it: of the types used
// here only the end of httplib::Request differs, which this file neither creates nor reads.
#include <httplib.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <chrono>
#include <future>
#include <semaphore>
#include <vector>

#include "base/error.hpp"
#include "report/host_name.hpp"
#include "report/signal_guard.hpp"

namespace plait::report {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kMaxRequestBytes = 8192;
constexpr std::ptrdiff_t kMaxConnections = 32;
constexpr auto kMaxTime = 10s;      // of a connection: request and answer together
constexpr auto kLastWords = 500ms;  // of an answer when the server ends

/// A client's socket with a limit on the bytes read and on the time. `stop`, an eventfd, ends all
/// waiting for requests at once; answers that are being written have kLastWords to be taken, so
/// that a page hears of the end of a run.
class BoundedStream final : public httplib::Stream {
 public:
  BoundedStream(int socket, int stop) : socket_(socket), stop_(stop) {}

  bool is_readable() const override { return wait_for_input(); }
  bool is_writable() const override { return wait_for_output(); }

  ssize_t read(char* to, std::size_t size) override {
    if (begin_ == end_) {
      if (total_ >= kMaxRequestBytes || !wait_for_input()) return -1;
      const ssize_t count = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (count <= 0) return count;
      begin_ = 0;
      end_ = static_cast<std::size_t>(count);
      total_ += end_;
    }
    const std::size_t count = std::min(size, end_ - begin_);
    std::copy_n(buffer_.data() + begin_, count, to);
    begin_ += count;
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* from, std::size_t size) override {
    for (std::size_t sent = 0; sent < size;) {
      if (!wait_for_output()) return -1;
      const ssize_t count = send(socket_, from + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno != EAGAIN) return -1;
      if (count > 0) sent += static_cast<std::size_t>(count);
    }
    return static_cast<ssize_t>(size);
  }

  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  /// Until the socket has `event` or the server ends; 0 where neither comes in time.
  int wait_for(short event, std::array<pollfd, 2>& watched) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    if (left <= 0ms) return 0;
    watched = {pollfd{socket_, event, 0}, pollfd{stop_, POLLIN, 0}};
    return poll(watched.data(), watched.size(), static_cast<int>(left.count()));
  }
  bool wait_for_input() const {
    std::array<pollfd, 2> watched{};
    return wait_for(POLLIN, watched) > 0 && watched[1].revents == 0;
  }
  bool wait_for_output() const {
    std::array<pollfd, 2> watched{};
    if (wait_for(POLLOUT, watched) <= 0) return false;
    if (watched[0].revents != 0) return true;
    pollfd only{socket_, POLLOUT, 0};  // the server ends
    const std::chrono::milliseconds last = kLastWords;
    return poll(&only, 1, static_cast<int>(last.count())) > 0;
  }

  int socket_;
  int stop_;
  Clock::time_point deadline_ = Clock::now() + kMaxTime;
  std::array<char, 2048> buffer_{};
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t total_ = 0;  ///< bytes read so far
};

/// One thread per connection; nothing is accepted while there are kMaxConnections of them.
class BoundedQueue final : public httplib::TaskQueue {
 public:
  BoundedQueue() { running_.reserve(kMaxConnections + 1); }

  void enqueue(std::function<void()> connection) override {
    free_.acquire();
    std::erase_if(running_, [](const auto& one) { return one.wait_for(0s) != kTimeout; });
    const auto serve = [this, connection] {
      connection();
      free_.release();
    };
    try {
      running_.push_back(std::async(std::launch::async, serve));
    } catch (const std::system_error&) {  // no thread to be had
      serve();
    }
  }
  void shutdown() override { running_.clear(); }  // waits for all of them

 private:
  static constexpr auto kTimeout = std::future_status::timeout;

  std::counting_semaphore<kMaxConnections> free_{kMaxConnections};
  std::vector<std::future<void>> running_;
};

}  // namespace

class HttpServer::Listener final : private httplib::Server {
 public:
  Listener(const std::string& address, HttpHandler handler)
      : handler_(std::move(handler)), local_(address.starts_with("127.") || address == "::1") {
    set_socket_options([](socket_t socket) {  // the default, SO_REUSEPORT, shares a port in use
      const int on = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    });
    set_default_headers({{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}});
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      answer(request, response);
      return HandlerResponse::Handled;
    });
    new_task_queue = [] { return new BoundedQueue; };
  }

  ~Listener() override {
    stopping_ = true;
    eventfd_write(stop_, 1);
    if (listening_.valid()) {
      // stop() does nothing before the thread is in its loop.
      while (!is_running() && listening_.wait_for(1ms) == std::future_status::timeout) continue;
      stop();
      listening_.wait();
    }
    close(stop_);
  }

  /// The port; at an error -1, and errno says which.
  int bind_to(const std::string& address, int port) {
    const int flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    const int bound = port == 0 ? bind_to_any_port(address, flags)
                                : (bind_to_port(address, port, flags) ? port : -1);
    // The library's backlog of 5 drops a browser's burst of connections, which it repeats after 1
    // s.
    if (bound > 0) ::listen(svr_sock_, kMaxConnections);
    return bound;
  }

  void start() {
    listening_ = std::async(std::launch::async, [this] { listen_after_bind(); });
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    bool done = false;
    try {
      BoundedStream stream(socket, stop_);
      bool closed = false;
      done = process_request(stream, true, closed, [](httplib::Request& request) {
        request.headers.erase("Accept-Encoding");  // compressing would take time from training
        request.ranges.clear();
      });
    } catch (const std::exception&) {  // out of memory: this connection ends, the run goes on
    }
    shutdown(socket, SHUT_WR);
    close(socket);
    return done;
  }

  void answer(const httplib::Request& request, httplib::Response& response) {
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      response.status = 405;
    } else if (!request.path.starts_with('/')) {
      response.status = 400;
    } else if (local_ && !is_local_name(without_port(request.get_header_value("Host")))) {
      response.status = 403;
    } else {
      try {
        const std::lock_guard one_at_a_time(mutex_);
        if (stopping_) throw std::runtime_error("the server ends");
        const auto found = handler_(request.path);
        response.status = found ? found->status : 404;
        if (found) response.set_content(found->body, found->type);
        if (!found) response.set_content("no such page\n", "text/plain");
      } catch (const std::exception&) {  // out of memory, or the end: the run goes on
        response.status = 503;
      }
    }
  }

  HttpHandler handler_;
  bool local_;
  int stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::future<void> listening_;
};

HttpServer::HttpServer(const std::string& address, int port, HttpHandler handler)
    : address_(address) {
  if (!is_numeric_address(address)) {
    user_error("{} is not an IP address; use 127.0.0.1 for this machine only, 0.0.0.0 for all",
               address);
  }
  const SignalGuard guard;
  listener_ = std::make_unique<Listener>(address, std::move(handler));
  port_ = listener_->bind_to(address, port);
  if (port_ < 0 && errno == EADDRINUSE) {
    user_error("port {} of {} is in use; choose another, or none to get a free one", port, address);
  }
  if (port_ < 0) user_error("cannot listen on {} port {}: {}", address, port, std::strerror(errno));
  listener_->start();
}

HttpServer::~HttpServer() = default;

std::string HttpServer::url() const {
  const std::string host = address_ == "0.0.0.0" ? "127.0.0.1" : address_;
  return fmt::format("http://{}:{}/", host.find(':') == std::string::npos ? host : "[" + host + "]",
                     port_);
}

}  // namespace plait::report
