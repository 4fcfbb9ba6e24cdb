// Gathers the sums of all workers at worker 0, and writes them to and reads them from a checkpoint.
#include "session/residual_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>

namespace plait::session {

namespace {

constexpr const char* kKey = "residual_sums";

bool nothing(const run::ResidualSums& sums) { return sums.difference == 0 && sums.other == 0; }

void add(run::ResidualSums& total, const run::ResidualSums& sums) {
  total.difference += sums.difference;
  total.other += sums.other;
}

}  // namespace

ResidualBook::ResidualBook(const plan::Network& network, transport::Group& control,
                           run::Worker& worker)
    : network_(network),
      control_(control),
      worker_(worker),
      any_(std::ranges::any_of(network.blocks, &plan::NetworkBlock::is_difference)),
      last_(network.blocks.size()) {}

/// Worker by worker, all blocks of each.
std::vector<run::ResidualSums> ResidualBook::all_sums() {
  const std::vector<run::ResidualSums>& mine = worker_.residuals();
  std::vector<run::ResidualSums> all(mine.size() * static_cast<std::size_t>(control_.size()));
  control_.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  return all;
}

std::vector<run::Residual> ResidualBook::take() {
  if (!any_) return {};
  const std::vector<run::ResidualSums> all = all_sums();
  const std::size_t count = worker_.residuals().size();
  worker_.residuals().assign(count, {});
  std::vector<run::ResidualSums> sums(count);
  for (std::size_t i = 0; i < all.size(); ++i) add(sums[i % count], all[i]);
  const auto empty = [](const run::ResidualSums& one) { return one.other == 0; };
  if (!std::ranges::all_of(sums, empty)) last_ = sums;
  return std::ranges::all_of(last_, nothing) ? std::vector<run::Residual>{}
                                             : run::residuals(network_, last_);
}

void ResidualBook::gather() {
  if (!any_) return;
  const std::vector<run::ResidualSums> all = all_sums();
  if (control_.rank() != 0) return;
  entries_.clear();
  workers_ = control_.size();
  const std::size_t count = last_.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (nothing(all[i])) continue;
    entries_.push_back({static_cast<int>(i / count), static_cast<int>(i % count), all[i]});
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!nothing(last_[i])) entries_.push_back({-1, static_cast<int>(i), last_[i]});
  }
}

void ResidualBook::write(checkpoint::RunState& state) const {
  if (!any_) return;
  std::string& text = state.extra[kKey];
  text = std::to_string(workers_);
  for (const Entry& entry : entries_) {  // doubles with all their bits
    text += fmt::format(" {} {} {:a} {:a}", entry.worker, entry.block, entry.sums.difference,
                        entry.sums.other);
  }
}

void ResidualBook::read(const checkpoint::RunState& state) {
  const auto found = state.extra.find(kKey);
  if (found == state.extra.end()) return;
  std::istringstream words(found->second);
  words >> workers_;
  Entry entry;
  std::string difference, other;
  while (words >> entry.worker >> entry.block >> difference >> other) {
    entry.sums = {std::strtod(difference.c_str(), nullptr), std::strtod(other.c_str(), nullptr)};
    if (entry.block >= 0 && entry.block < static_cast<int>(last_.size())) entries_.push_back(entry);
  }
}

void ResidualBook::share() {
  if (!any_) return;
  std::array<std::int64_t, 2> head{workers_, static_cast<std::int64_t>(entries_.size())};
  control_.broadcast(std::as_writable_bytes(std::span(head)), 0);
  entries_.resize(static_cast<std::size_t>(head[1]));
  control_.broadcast(std::as_writable_bytes(std::span(entries_)), 0);
  const bool same = head[0] == control_.size();
  for (const Entry& entry : entries_) {
    const auto block = static_cast<std::size_t>(entry.block);
    if (entry.worker < 0) {
      last_[block] = entry.sums;
    } else if (control_.rank() == (same ? entry.worker : 0)) {
      add(worker_.residuals()[block], entry.sums);
    }
  }
}

}  // namespace plait::session
