// Non-blocking connect, accept, read and write with deadlines, for IPv4 and IPv6.
#include "transport/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/clock.hpp"

namespace plait::transport {

namespace {

/// Waits for `events`; false when `deadline` has passed.
bool ready(int fd, short events, double deadline) {
  while (true) {
    pollfd one{.fd = fd, .events = events, .revents = 0};
    const double left = std::max(0.0, deadline - now_seconds());
    const int count = poll(&one, 1, static_cast<int>(std::ceil(1e3 * left)));
    if (count > 0) return true;
    if (count == 0 || errno != EINTR) return false;
  }
}

bool is_local(const Address& address) {
  if (address.storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address.storage);
    const std::uint32_t bits = ntohl(v4.sin_addr.s_addr);
    return bits >> 24 == 127 || bits >> 16 == 0xa9fe;  // 127/8, 169.254/16
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
  return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) || IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr);
}

Address with_port(Address address, std::uint16_t port) {
  if (address.storage.ss_family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(address.storage).sin_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in6&>(address.storage).sin6_port = htons(port);
  }
  return address;
}

Listener listen_on(int family) {
  Listener listener{.socket = Socket(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  if (!listener.socket) return {};
  const int fd = listener.socket.fd();
  Address any;
  any.storage.ss_family = static_cast<sa_family_t>(family);  // zero: every interface, a free port
  any.length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  const int off = 0;
  if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  auto* address = reinterpret_cast<sockaddr*>(&any.storage);
  if (bind(fd, address, any.length) != 0 || listen(fd, 1024) != 0 ||
      getsockname(fd, address, &any.length) != 0) {
    return {};
  }
  listener.port = ntohs(family == AF_INET ? reinterpret_cast<sockaddr_in&>(any.storage).sin_port
                                          : reinterpret_cast<sockaddr_in6&>(any.storage).sin6_port);
  return listener;
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

bool Address::operator==(const Address& other) const {
  const Address a = with_port(*this, 0);
  const Address b = with_port(other, 0);
  return a.length == b.length && std::memcmp(&a.storage, &b.storage, a.length) == 0;
}

std::vector<Address> own_addresses() {
  std::vector<Address> far, near;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    Address address;
    address.length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&address.storage, one->ifa_addr, address.length);
    (is_local(address) ? near : far).push_back(address);
  }
  freeifaddrs(list);
  return far.empty() ? near : far;
}

Listener listen_anywhere() {
  Listener listener = listen_on(AF_INET6);
  return listener.socket ? std::move(listener) : listen_on(AF_INET);
}

Socket accept_within(const Socket& listener, double seconds) {
  if (!ready(listener.fd(), POLLIN, now_seconds() + seconds)) return Socket();
  return Socket(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

Socket connect_within(Address address, std::uint16_t port, double seconds) {
  const Address to = with_port(address, port);
  Socket socket(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return socket;
  const double deadline = now_seconds() + seconds;
  if (connect(socket.fd(), reinterpret_cast<const sockaddr*>(&to.storage), to.length) == 0) {
    return socket;
  }
  int error = errno;
  socklen_t size = sizeof error;
  if (error != EINPROGRESS || !ready(socket.fd(), POLLOUT, deadline)) return Socket();
  getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? std::move(socket) : Socket();
}

bool read_within(const Socket& socket, std::span<std::byte> bytes, double seconds) {
  const double deadline = now_seconds() + seconds;
  while (!bytes.empty()) {
    if (!ready(socket.fd(), POLLIN, deadline)) return false;
    const ssize_t count = recv(socket.fd(), bytes.data(), bytes.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

bool write_all(const Socket& socket, std::span<const std::byte> bytes) {
  const ssize_t count = send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return count == static_cast<ssize_t>(bytes.size());  // a few bytes always fit
}

void keep_alive(const Socket& socket, double seconds) {
  constexpr int kProbes = 4;
  const auto set = [&](int level, int name, int value) {
    setsockopt(socket.fd(), level, name, &value, sizeof value);
  };
  const int part = static_cast<int>(std::clamp(seconds / (kProbes + 1), 1.0, 30000.0));
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, part);
  set(IPPROTO_TCP, TCP_KEEPINTVL, part);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

}  // namespace plait::transport
