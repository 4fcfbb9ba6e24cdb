// Machine: nodes with workers, and the links between them. A description, measured or pretended;
// nothing here looks at the real machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plait::plan {

/// One message takes latency + bytes / bytes_per_second.
struct Link {
  double bytes_per_second = 0;  ///< 0: takes no time
  double latency_seconds = 0;
  bool operator==(const Link&) const = default;
};

/// What is planned with where nobody says more: memory inside a node, 10 Gbit/s between nodes.
constexpr Link kUsualInside{.bytes_per_second = 10e9, .latency_seconds = 2e-6};
constexpr Link kUsualBetween{.bytes_per_second = 1.25e9, .latency_seconds = 20e-6};

/// Worker w lives on node w / workers_per_node. Every node has one way out and one way in that its
/// workers share; each carries one message at a time.
struct Machine {
  int nodes = 1;
  int workers_per_node = 1;
  Link inside{};                       ///< between two workers of a node
  Link between{};                      ///< of a node
  std::int64_t memory_per_worker = 0;  ///< bytes; 0: not known, not checked

  int workers() const { return nodes * workers_per_node; }
  int node_of(int worker) const { return worker / workers_per_node; }
  const Link& link(int from, int to) const {
    return node_of(from) == node_of(to) ? inside : between;
  }
  bool operator==(const Machine&) const = default;
};

/// UserError on zero nodes, zero workers, negative speeds, or more than 2^20 workers.
void check_machine(const Machine& machine);

/// "1Gbit/s,100us", "12.5GB/s,2us", "10Gbit/s": a rate (bit or B, with k, M, G, T) and if wanted a
/// latency (s, ms, us, ns). `name` (the flag) opens the message of a UserError.
Link parse_link(std::string_view text, const std::string& name);
std::string to_text(const Link& link);

}  // namespace plait::plan
