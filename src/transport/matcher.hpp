// Matcher: pairs messages with the receives that ask for them. Equal labels pair in the order in
// which they came, on both sides. It moves no bytes and locks nothing.
#pragma once

#include <map>
#include <optional>

#include "transport/carrier.hpp"

namespace plait::transport {

template <class Message, class Receive>
class Matcher {
 public:
  /// The oldest receive that asks for `label`; nothing, and the message is kept, if none does.
  std::optional<Receive> arrive(const Label& label, Message message) {
    return pair(receives_, messages_, label, std::move(message));
  }
  /// The oldest message with this label; nothing, and the receive is kept, if there is none.
  std::optional<Message> expect(const Label& label, Receive receive) {
    return pair(messages_, receives_, label, std::move(receive));
  }
  void forget(const Label& label, const Message& message) { erase(messages_, label, message); }
  void forget(const Label& label, const Receive& receive) { erase(receives_, label, receive); }
  bool expects_nothing() const { return receives_.empty(); }

 private:
  // A multimap keeps equal keys in the order of their insertion; lower_bound is the oldest.
  template <class Mine>
  using Kept = std::multimap<Label, Mine>;

  template <class Other, class Mine>
  static std::optional<Other> pair(Kept<Other>& others, Kept<Mine>& mine, const Label& label,
                                   Mine item) {
    const auto found = others.lower_bound(label);
    if (found == others.end() || found->first != label) {
      mine.emplace(label, std::move(item));
      return std::nullopt;
    }
    std::optional<Other> other(std::move(found->second));
    others.erase(found);
    return other;
  }

  template <class Item>
  static void erase(Kept<Item>& kept, const Label& label, const Item& item) {
    const auto [begin, end] = kept.equal_range(label);
    for (auto at = begin; at != end; ++at) {
      if (at->second == item) {
        kept.erase(at);
        return;
      }
    }
  }

  Kept<Message> messages_;
  Kept<Receive> receives_;
};

}  // namespace plait::transport
