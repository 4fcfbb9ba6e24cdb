// Sets up the connections (addresses and a secret are exchanged over MPI first) and polls them
// without blocking.
#include "transport/lifeline.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>

#include "base/clock.hpp"

namespace plait::transport {

namespace {

constexpr std::size_t kMostAddresses = 16;
constexpr double kConnectSeconds = 2;  ///< for one address
constexpr double kAcceptSeconds = 5;   ///< for all that say they have connected
constexpr std::byte kFarewell{'b'};

/// Where the first node listens, and the secret that tells ours from strangers.
struct Invitation {
  std::array<Address, kMostAddresses> addresses{};
  std::int32_t count = 0;
  std::uint16_t port = 0;
  std::array<std::uint32_t, 4> token{};
};

/// What comes first on a connection.
struct Hello {
  std::array<std::uint32_t, 4> token{};
  std::int32_t member = 0;
};

using HostName = std::array<char, 64>;

HostName host_name() {
  HostName name{};
  gethostname(name.data(), name.size() - 1);
  return name;
}

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

/// The first member of every node.
std::vector<int> leaders_of(Group& group) {
  std::vector<int> leaders;
  for (int member = 0; member < group.size(); ++member) {
    const auto same = [&](int leader) { return group.node(leader) == group.node(member); };
    if (std::ranges::none_of(leaders, same)) leaders.push_back(member);
  }
  return leaders;
}

/// Addresses that are this machine's own as well (a bridge of containers) come last.
Socket connect_to(const Invitation& invitation) {
  const std::vector<Address> own = own_addresses();
  std::vector<Address> all(invitation.addresses.begin(),
                           invitation.addresses.begin() + invitation.count);
  std::ranges::stable_partition(
      all, [&](const Address& a) { return std::ranges::find(own, a) == own.end(); });
  for (const Address& address : all) {
    Socket socket = connect_within(address, invitation.port, kConnectSeconds);
    if (socket) return socket;
  }
  return Socket();
}

}  // namespace

Lifeline::Lifeline(Group& control, double silence_seconds) : silence_seconds_(silence_seconds) {
  const std::vector<int> leaders = leaders_of(control);
  if (leaders.size() < 2) return;
  if (control.rank() == 0) {
    listen_for(control, leaders);
  } else {
    connect_to_first(control, leaders);
  }
  // One after the other, as the first to speak ends the job. Where the peer was alone on its node,
  // shorter than the second that mpirun waits before it kills all; else so long that the others of
  // that node, who know more, end the job first.
  const auto place = std::ranges::find(leaders, control.rank()) - leaders.begin();
  const double turn = 0.05 * static_cast<double>(std::min<std::ptrdiff_t>(place, 10));
  for (Peer& peer : peers_) {
    if (silence_seconds_ > 0) keep_alive(peer.socket, silence_seconds_);
    int beside = -1;
    for (int member = 0; member < control.size(); ++member) {
      if (control.node(member) == control.node(peer.member)) ++beside;
    }
    peer.grace_seconds = (beside == 0 ? 0.6 : 3.0) + turn;
  }
}

/// Both sides: invitation, connections, who has one, whose was accepted, names of the hosts.
void Lifeline::listen_for(Group& control, const std::vector<int>& leaders) {
  Invitation invitation;
  const Listener listener = listen_anywhere();
  if (listener.socket) {
    const std::vector<Address> own = own_addresses();
    invitation.count = static_cast<std::int32_t>(std::min(own.size(), kMostAddresses));
    std::copy_n(own.begin(), invitation.count, invitation.addresses.begin());
    invitation.port = listener.port;
    std::random_device random;
    for (std::uint32_t& word : invitation.token) word = random();
  }
  control.broadcast(bytes_of(invitation), 0);
  const char none = 0;
  std::vector<char> connected(static_cast<std::size_t>(control.size()));
  control.all_gather(std::as_bytes(std::span(&none, 1)),
                     std::as_writable_bytes(std::span(connected)));
  std::vector<char> accepted(connected.size());
  const double deadline = now_seconds() + kAcceptSeconds;
  for (auto open = std::ranges::count(connected, 1); open > 0 && now_seconds() < deadline;) {
    Socket socket = accept_within(listener.socket, deadline - now_seconds());
    Hello hello;
    if (!socket || !read_within(socket, bytes_of(hello), 1) || hello.token != invitation.token) {
      continue;  // a stranger
    }
    if (std::ranges::find(leaders, hello.member) == leaders.end()) continue;
    accepted[static_cast<std::size_t>(hello.member)] = 1;
    peers_.push_back({.member = hello.member, .host = {}, .socket = std::move(socket)});
    --open;
  }
  control.broadcast(std::as_writable_bytes(std::span(accepted)), 0);
  const HostName name = host_name();
  std::vector<HostName> names(connected.size());
  control.all_gather(std::as_bytes(std::span(&name, 1)), std::as_writable_bytes(std::span(names)));
  for (Peer& peer : peers_) peer.host = names[static_cast<std::size_t>(peer.member)].data();
}

void Lifeline::connect_to_first(Group& control, const std::vector<int>& leaders) {
  Invitation invitation;
  control.broadcast(bytes_of(invitation), 0);
  Socket socket;
  char connected = 0;
  if (std::ranges::find(leaders, control.rank()) != leaders.end()) {
    socket = connect_to(invitation);
    const Hello hello{.token = invitation.token, .member = control.rank()};
    connected = socket && write_all(socket, std::as_bytes(std::span(&hello, 1))) ? 1 : 0;
  }
  std::vector<char> all(static_cast<std::size_t>(control.size()));
  control.all_gather(std::as_bytes(std::span(&connected, 1)),
                     std::as_writable_bytes(std::span(all)));
  control.broadcast(std::as_writable_bytes(std::span(all)), 0);
  const HostName name = host_name();
  std::vector<HostName> names(all.size());
  control.all_gather(std::as_bytes(std::span(&name, 1)), std::as_writable_bytes(std::span(names)));
  if (all[static_cast<std::size_t>(control.rank())] == 1) {
    peers_.push_back({.member = 0, .host = names.front().data(), .socket = std::move(socket)});
  }
}

void Lifeline::farewell() {
  for (const Peer& peer : peers_) {
    if (!peer.left) write_all(peer.socket, std::span(&kFarewell, 1));
  }
  peers_.clear();
  loss_.clear();
}

void Lifeline::look() {
  for (Peer& peer : peers_) {
    if (peer.left) continue;
    std::byte word{};
    const ssize_t count = recv(peer.socket.fd(), &word, 1, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) continue;
    if (count == 1) {
      peer.left = true;
      continue;
    }
    const bool silent = count < 0 && errno != ECONNRESET;
    loss_ = fmt::format("worker {} on {} is gone: {}", peer.member, peer.host,
                        silent ? fmt::format("the machine has not answered for {:.0f} s ({})",
                                             silence_seconds_, std::strerror(errno))
                               : "its process has ended (the connection was closed)");
    say_it_at_ = now_seconds() + peer.grace_seconds;
    return;
  }
}

std::string Lifeline::lost() {
  if (loss_.empty()) look();
  return !loss_.empty() && now_seconds() >= say_it_at_ ? loss_ : "";
}

}  // namespace plait::transport
