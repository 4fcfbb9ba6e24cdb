// Promises about sums: the bits of a serial sum in rank order, on every member and transport.
#pragma once

#include <algorithm>
#include <limits>

#include "transport/contract_tools.hpp"

namespace plait::transport::contract {

inline void sums_have_the_bits_of_a_serial_sum(Group& group) {
  for (const Wire wire : {Wire::f32, Wire::bf16}) {
    for (const std::size_t n : {0, 1, 2, 15, 16, 17, 31, 63, 64, 65, 1000, 4097, 40001, 100003}) {
      std::vector<float> values = contribution(group.rank(), n, n);
      group.all_reduce(values, wire);
      require_equal_bits(values, serial_sum(group.size(), n, n, wire),
                         fmt::format("all_reduce of {} {}", n, name_of(wire)));
    }
  }
}

/// Recorded once, so that both transports and all machines are held to the same bits.
inline void sums_have_the_recorded_hash(Group& group) {
  const char* recorded[2][4] = {
      {"4aef17064b52148b", "56019e5281649268", "d0b43ca9a523a255", "c657c1381fd0135f"},
      {"4aef17064b52148b", "134f95917a225e80", "b3197dea1bb57f42", "67e6582ab06ef72e"}};
  if (group.size() > 4) return;
  for (const Wire wire : {Wire::f32, Wire::bf16}) {
    std::vector<float> values = contribution(group.rank(), 5000, 42);
    group.all_reduce(values, wire);
    const std::string seen = hash_of(values);
    const char* expected = recorded[wire == Wire::bf16 ? 1 : 0][group.size() - 1];
    require(seen == expected, "{} over {} members has the hash {}, not {}", name_of(wire),
            group.size(), seen, expected);
  }
}

/// Cuts `values` after every count of `cuts`; empty pieces are allowed.
inline std::vector<std::span<float>> cut(std::span<float> values, std::vector<std::size_t> cuts) {
  std::vector<std::span<float>> pieces;
  for (const std::size_t count : cuts) {
    pieces.push_back(values.first(count));
    values = values.subspan(count);
  }
  pieces.push_back(values);
  return pieces;
}

/// Every member cuts elsewhere.
inline void values_may_lie_in_pieces(Group& group) {
  for (const Wire wire : {Wire::f32, Wire::bf16}) {
    for (const std::size_t n : {7, 100, 5003, 40001}) {
      std::vector<float> values = contribution(group.rank(), n, n + 1);
      const auto first = static_cast<std::size_t>(group.rank() % 3);
      Reduction reduction(group, cut(values, {first, 0, n / 3, n / 2}), wire, 8);
      reduction.start();
      reduction.sum();
      reduction.finish();
      require_equal_bits(values, serial_sum(group.size(), n, n + 1, wire),
                         fmt::format("{} values in pieces, {}", n, name_of(wire)));
    }
  }
}

/// Started 0..4, summed and finished in other orders; then all of them once more.
inline void several_reductions_in_flight(Group& group) {
  constexpr int kReductions = 5;
  const auto size = [](int i) { return static_cast<std::size_t>(1000 + 777 * i); };
  const auto wire = [](int i) { return i % 2 == 0 ? Wire::f32 : Wire::bf16; };
  std::vector<std::vector<float>> values;
  for (int i = 0; i < kReductions; ++i) values.emplace_back(size(i));
  std::vector<Reduction> reductions;
  for (int i = 0; i < kReductions; ++i) {
    reductions.emplace_back(group, std::vector{std::span(values[i])}, wire(i), 100 + i);
  }
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kReductions; ++i) {
      const std::vector<float> fresh = contribution(group.rank(), size(i), i + 10 * round);
      std::copy(fresh.begin(), fresh.end(), values[i].begin());
    }
    for (Reduction& reduction : reductions) reduction.start();
    for (const int i : {3, 0, 4, 1, 2}) reductions[i].sum();
    for (const int i : {2, 4, 3, 0, 1}) {
      reductions[i].finish();
      require_equal_bits(values[i], serial_sum(group.size(), size(i), i + 10 * round, wire(i)),
                         fmt::format("reduction {} of round {}", i, round));
      require(reductions[i].waited() >= 0, "waited {}", reductions[i].waited());
    }
  }
}

/// ready() alone must become true before sum() and before finish(), if the others do their part.
inline void ready_says_when_nobody_waits(Group& group) {
  std::vector<float> values = contribution(group.rank(), 5000, 3);
  Reduction reduction(group, {values}, Wire::f32, 12);
  reduction.start();
  const Stopwatch watch;
  while (!reduction.ready()) require(watch.seconds() < 60, "shards do not come");
  reduction.sum();
  while (!reduction.ready()) require(watch.seconds() < 60, "results do not come");
  reduction.finish();
  require(reduction.waited() == 0, "waited {} s though it was ready", reduction.waited());
  require_equal_bits(values, serial_sum(group.size(), 5000, 3, Wire::f32), "polled");
  require(!thrown<Failure>([&] { reduction.sum(); }).empty(), "");
}

inline void not_a_number_passes_through(Group& group) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  // A signalling-like NaN whose upper half alone would read as infinity.
  const auto hidden = std::bit_cast<float>(0x7f800001U);
  for (const Wire wire : {Wire::f32, Wire::bf16}) {
    std::vector<float> values(200, 1);
    if (group.rank() == 0) {
      values[3] = std::numeric_limits<float>::quiet_NaN();
      values[70] = kInf;
      values[199] = -kInf;
      values[100] = hidden;
    }
    if (group.rank() == group.size() - 1) values[71] = kInf;
    group.all_reduce(values, wire);
    require(std::isnan(values[3]) && std::isnan(values[100]), "NaN became {} and {}", values[3],
            values[100]);
    require(values[70] == kInf && values[71] == kInf && values[199] == -kInf, "infinities");
    require(values[0] == static_cast<float>(group.size()), "sum {}", values[0]);
  }
}

inline void a_group_of_one_changes_nothing(Group& group) {
  const std::unique_ptr<Group> alone = group.split(group.rank(), 0);
  const std::vector<float> before = contribution(group.rank(), 100, 1);
  std::vector<float> values = before;
  alone->all_reduce(values, Wire::bf16);
  require_equal_bits(values, before, "a group of one");
  require(alone->traffic().messages == 0, "{} messages to nobody", alone->traffic().messages);
}

inline std::vector<Case> reduction_cases() {
  return {{"SumsHaveTheBitsOfASerialSum", sums_have_the_bits_of_a_serial_sum},
          {"SumsHaveTheRecordedHash", sums_have_the_recorded_hash},
          {"ValuesMayLieInPieces", values_may_lie_in_pieces},
          {"SeveralReductionsInFlight", several_reductions_in_flight},
          {"ReadySaysWhenNobodyWaits", ready_says_when_nobody_waits},
          {"NotANumberPassesThrough", not_a_number_passes_through},
          {"AGroupOfOneChangesNothing", a_group_of_one_changes_nothing}};
}

}  // namespace plait::transport::contract
