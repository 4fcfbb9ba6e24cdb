// Socket: a TCP socket that is closed with its object, and what a lifeline needs of it.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace plait::transport {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// An address of a network interface, as getifaddrs has it.
struct Address {
  sockaddr_storage storage{};
  std::uint32_t length = 0;
  bool operator==(const Address& other) const;
};

/// Of this machine: not 127/8, ::1 and link-local ones, unless there are no others.
std::vector<Address> own_addresses();

struct Listener {
  Socket socket;
  std::uint16_t port = 0;
};
/// On all interfaces and a free port; an empty socket where that cannot be had.
Listener listen_anywhere();
/// Empty when no peer has connected after `seconds`.
Socket accept_within(const Socket& listener, double seconds);
Socket connect_within(Address address, std::uint16_t port, double seconds);

/// Whether all bytes came within `seconds`.
bool read_within(const Socket& socket, std::span<std::byte> bytes, double seconds);
bool write_all(const Socket& socket, std::span<const std::byte> bytes);

/// The kernel asks the other machine now and then; without answers for `seconds` reading fails.
void keep_alive(const Socket& socket, double seconds);

}  // namespace plait::transport
