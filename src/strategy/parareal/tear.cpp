// Finds the places where one tensor crosses, and balances the pieces by dynamic programming over
// their costs.
#include "strategy/parareal/tear.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "strategy/parareal/added_blocks.hpp"

namespace plait::strategy {

namespace {

constexpr std::string_view kEnter = ".enter";
constexpr std::string_view kCoarse = ".coarse";

double total(const cost::BlockSeconds& seconds) {
  return seconds.forward + seconds.backward_data + seconds.backward_weights + seconds.update;
}

/// Fewest seconds of the slowest piece, by dynamic programming over (pieces, first block of the
/// rest).
class Balance {
 public:
  Balance(const TornChain& chain, const cost::CostModel& cost, const TearOptions& options)
      : chain_(chain), options_(options), before_(1, 0.0) {
    for (int b = 0; b < chain.network().size(); ++b) {
      before_.push_back(before_.back() + total(cost.block(b, options.samples)));
    }
    enter_.resize(static_cast<std::size_t>(chain.head()), 0.0);
    for (const int place : chain.places()) {
      const tensor::Shape& image = chain.network().input;
      const plan::Network enter =
          added_network(enter_block(enter_name(chain.name(place)), image, chain.shape(place),
                                    chain.is_rectified(place)),
                        image);
      for (int b = 0; b < enter.size(); ++b) {
        enter_[static_cast<std::size_t>(place)] += total(cost.added(enter, b, options.samples));
      }
    }
  }

  Tearing best() {
    const std::vector<int> places = chain_.places();
    std::vector<int> starts{0};
    starts.insert(starts.end(), places.begin(), places.end());
    const auto count = starts.size();
    const auto pieces = static_cast<std::size_t>(options_.pieces);
    // most_[k][i]: of k + 1 pieces that begin with block starts[i] and go to the head.
    std::vector<std::vector<double>> most(pieces, std::vector<double>(count, kNever));
    std::vector<std::vector<std::size_t>> next(pieces, std::vector<std::size_t>(count, 0));
    for (std::size_t i = 0; i < count; ++i) most[0][i] = seconds(starts[i], chain_.head());
    for (std::size_t k = 1; k < pieces; ++k) {
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = i + 1; j < count; ++j) {
          const double slowest = std::max(seconds(starts[i], starts[j]), most[k - 1][j]);
          if (slowest < most[k][i]) {
            most[k][i] = slowest;
            next[k][i] = j;
          }
        }
      }
    }
    Tearing tearing{.first = {0}, .head = chain_.head(), .coarse = options_.coarse};
    if (most[pieces - 1][0] == kNever) return {.first = {}};
    std::size_t at = 0;
    for (std::size_t k = pieces - 1; k > 0; --k) {
      at = next[k][at];
      tearing.first.push_back(starts[at]);
    }
    return tearing;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  double sum(int first, int last) const {
    return before_[static_cast<std::size_t>(last)] - before_[static_cast<std::size_t>(first)];
  }
  double seconds(int first, int last) const {
    if (first > 0 && !coarse_fits(options_.coarse, chain_.shape(first), chain_.shape(last))) {
      return kNever;
    }
    const bool with_head = last == chain_.head() && options_.overlapped;
    return sum(first, last) + (first > 0 ? enter_[static_cast<std::size_t>(first)] : 0) +
           (with_head ? sum(last, chain_.network().size()) : 0);
  }

  const TornChain& chain_;
  TearOptions options_;
  std::vector<double> before_;  ///< seconds of all blocks before this one
  std::vector<double> enter_;   ///< seconds of the way from the image to this block
};

bool has_set(const std::vector<std::string>& names, int set) {
  const std::string mark = plan::state_name("", set) + ".";
  return std::ranges::any_of(
      names, [&](const std::string& name) { return name.find(mark) != std::string::npos; });
}

/// "'conv2' (16x14x14), 'fc1' (120)": where one tensor crosses.
std::string crossings(const TornChain& chain, const std::vector<int>& blocks) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> names;
  for (const int b : blocks) {
    if (names.size() == kMost) break;
    names.push_back(fmt::format("'{}' ({})", chain.name(b), chain.shape(b)));
  }
  const bool more = blocks.size() > kMost;
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more ? fmt::format(" and {} more", blocks.size() - kMost) : "");
}

/// Blocks before the head that one tensor leads to, without those that a piece may begin with.
std::vector<int> without_places(const TornChain& chain) {
  std::vector<int> without;
  const std::vector<int> places = chain.places();
  for (const int b : chain.borders()) {
    if (!std::ranges::binary_search(places, b)) without.push_back(b);
  }
  return without;
}

std::string wanted(const TearOptions& options) {
  return options.wanted.empty() ? fmt::format("`pieces` {}", options.pieces) : options.wanted;
}

std::string too_few_places(const TornChain& chain, const TearOptions& options) {
  const plan::Network& network = chain.network();
  const std::vector<int> places = chain.places();
  const std::string& head = chain.name(chain.head());
  if (chain.borders().empty()) {
    const std::string there =
        chain.head() == 0 ? "is none" : fmt::format("is '{}' only", chain.name(0));
    return fmt::format(
        "{}: {} cannot be torn, since every piece needs a block before the head, which begins with "
        "'{}', and there {}",
        wanted(options), network.name, head, there);
  }
  std::string text = fmt::format("{}, but {} can be torn into {} at most", wanted(options),
                                 network.name, places.size() + 1);
  if (!places.empty()) {
    text += fmt::format(": before its head '{}' a piece can begin with {}", head,
                        crossings(chain, places));
  }
  if (const std::vector<int> without = without_places(chain); !without.empty()) {
    text += fmt::format(
        "{}no coarse part leads from the input ({}) to the tensor(s) that cross before {}",
        places.empty() ? ": " : "; ", network.input, crossings(chain, without));
  }
  return text;
}

}  // namespace

std::string enter_name(const std::string& first_block) { return first_block + std::string(kEnter); }
std::string coarse_name(const std::string& first_block) {
  return first_block + std::string(kCoarse);
}

int most_pieces(const TornChain& chain, CoarseKind kind) {
  std::vector<int> starts{0};
  for (const int place : chain.places()) starts.push_back(place);
  const auto fits = [&](int first, int last) {
    return first == 0 || coarse_fits(kind, chain.shape(first), chain.shape(last));
  };
  std::vector<int> most(starts.size(), 0);  // of pieces from this start to the head; 0: none
  for (std::size_t i = starts.size(); i-- > 0;) {
    if (fits(starts[i], chain.head())) most[i] = 1;
    for (std::size_t j = i + 1; j < starts.size(); ++j) {
      if (most[j] >= most[i] && most[j] > 0 && fits(starts[i], starts[j])) most[i] = most[j] + 1;
    }
  }
  return std::max(1, most.front());
}

std::optional<std::string> why_not_torn(const TornChain& chain, const cost::CostModel& cost,
                                        const TearOptions& options) {
  if (options.pieces > static_cast<int>(chain.places().size()) + 1) {
    return too_few_places(chain, options);
  }
  if (!Balance(chain, cost, options).best().first.empty()) return std::nullopt;
  return fmt::format(
      "{}, but `coarse` {} does not fit {} in {} pieces: {}", wanted(options),
      name_of(options.coarse), chain.network().name, options.pieces,
      options.coarse == CoarseKind::identity
          ? "the tensors before and behind every piece but the first must have one shape"
          : "a tensor would have to grow too much");
}

Tearing tear(const TornChain& chain, const cost::CostModel& cost, const TearOptions& options) {
  if (options.pieces < 1) setting_error("pieces", options.pieces, "must be at least 1");
  if (options.pieces <= static_cast<int>(chain.places().size()) + 1) {
    Tearing tearing = Balance(chain, cost, options).best();
    if (!tearing.first.empty()) return tearing;
  }
  const int most = most_pieces(chain, options.coarse);
  std::vector<std::string> ways;
  if (most > 1) ways.push_back(fmt::format("`pieces` {}", most));
  if (options.coarse == CoarseKind::identity) ways.emplace_back("`coarse` block");
  throw UserError::about("pieces", fmt::format("{}", options.pieces),
                         fmt::format("{}{}{}", *why_not_torn(chain, cost, options),
                                     ways.empty() ? "" : "; use ", fmt::join(ways, " or ")));
}

std::optional<Tearing> tearing_of(const TornChain& chain, const std::vector<std::string>& names) {
  const std::set<std::string> known(names.begin(), names.end());
  const auto has = [&](const std::string& prefix) {
    const auto found = known.lower_bound(prefix + ".");
    return found != known.end() && found->starts_with(prefix + ".");
  };
  Tearing tearing{.first = {0}, .head = chain.head(), .coarse = CoarseKind::identity};
  for (const int b : chain.borders()) {
    const std::string& name = chain.name(b);
    if (!has(enter_name(name))) continue;
    tearing.first.push_back(b);
    if (!has(coarse_name(name))) continue;
    const bool single = known.contains(coarse_name(name) + ".conv.weight") ||
                        known.contains(coarse_name(name) + ".linear.weight");
    tearing.coarse = single ? CoarseKind::conv : CoarseKind::block;
  }
  if (tearing.pieces() == 1) return std::nullopt;
  // Before the last of k sweeps there are k - 1 with statistics of their own.
  while (tearing.sweeps < tearing.pieces() && has_set(names, tearing.sweeps)) ++tearing.sweeps;
  return tearing;
}

}  // namespace plait::strategy
