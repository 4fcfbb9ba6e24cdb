// Fitting: the blocks that a strategy has added to a trained network learn to stand in for what is
// there, piece by piece, while everything of the model stays as it is.
#pragma once

#include <functional>

#include "data/dataset.hpp"
#include "plan/network.hpp"
#include "run/parameters.hpp"

namespace plait::session {

struct FitOptions {
  std::int64_t steps = 1000;
  std::int64_t batch = 64;
  int threads = 1;
  std::uint64_t seed = 1;
  double learning_rate = 1e-3;  ///< of Adam; falls to 0 in a straight line
  std::string source;           ///< of the weights, for messages
  std::function<void()> tick{};
  std::function<void(const std::string& line)> note{};
};

/// For every difference d = u - x of the network, v being the chain of the model's own blocks up to
/// there and g those from x to y of the sum y + F(d):
///   the block C that makes x of the input   ->  least |C(input) - v|^2
///   F                                       ->  least |F(v - x) - (g(v) - g(x))|^2
/// in the first and in the second half of the steps, with the model's running statistics. Gives all
/// weights of `network`, those of the model unchanged.
std::vector<checkpoint::NamedTensor> fit_added(const plan::Network& network,
                                               const std::vector<checkpoint::NamedTensor>& weights,
                                               const FitOptions& options,
                                               const data::DatasetPtr& data);

}  // namespace plait::session
