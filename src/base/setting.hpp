// Setting: one row of a table of settings. A struct of settings (a strategy's, the optimizer's, a
// training run's) has one such table beside it; flags, config files, help, bounds and refusals of
// settings that do not apply all follow from its rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace plait {

/// Both ends included, unless said otherwise.
struct Bounds {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool below_most = false;  ///< `most` itself is excluded
  bool limited() const { return least > -std::numeric_limits<double>::infinity(); }
};

template <class Owner>
using SettingMember = std::variant<std::string Owner::*, std::int64_t Owner::*,
                                   std::uint64_t Owner::*, double Owner::*, bool Owner::*>;

/// The default value is the member's own in a new Owner.
template <class Owner>
struct Setting {
  std::string_view key;  ///< "weight_decay"
  SettingMember<Owner> member;
  std::string_view group;  ///< heading in the help and in config.toml
  std::string_view value;  ///< what stands for the value in the help; "" for a switch
  std::string_view help;
  Bounds bounds{};             ///< of numbers; of texts: whole numbers are allowed too
  std::string_view choices{};  ///< of texts, with commas: "sync, async"; empty: any
  std::string_view used_by{};  ///< strategies, optimizers, ..., with commas; empty: all
  bool decides_bits = true;    ///< a resumed run must not change it
  bool decides_plan = true;    ///< of what a plan is made with: another value, another plan
};

/// UserError where the value of the setting `key` is out of its bounds or not among its choices.
void check_bounds(std::string_view key, double value, const Bounds& bounds);
void check_choice(std::string_view key, const std::string& value, std::string_view choices);
void check_number_or_choice(std::string_view key, const std::string& value, const Bounds& bounds,
                            std::string_view choices);
/// Of a text that is a whole number or a word: the number.
std::optional<std::int64_t> whole_number(std::string_view text);
/// The names of a list with commas.
std::vector<std::string> names_in(std::string_view list);

/// The values of `settings` against their rows.
template <class Owner>
void check_settings(const Owner& settings, std::span<const Setting<Owner>> rows) {
  for (const Setting<Owner>& row : rows) {
    std::visit(
        [&](auto member) {
          const auto& value = settings.*member;
          using MemberType = std::remove_cvref_t<decltype(value)>;
          if constexpr (std::is_same_v<MemberType, std::string>) {
            if (row.choices.empty()) return;
            if (row.bounds.limited()) {
              check_number_or_choice(row.key, value, row.bounds, row.choices);
            } else {
              check_choice(row.key, value, row.choices);
            }
          } else if constexpr (!std::is_same_v<MemberType, bool>) {
            check_bounds(row.key, static_cast<double>(value), row.bounds);
          }
        },
        row.member);
  }
}

/// UserError where a setting differs from its default and would be ignored: `used` is false of its
/// row. `chosen` is the value of the setting `chooser` ("optimizer") that decides it.
template <class Owner>
void check_used(const Owner& settings, std::span<const Setting<Owner>> rows,
                std::string_view chooser, const std::string& chosen, const auto& used) {
  const Owner usual;
  for (const Setting<Owner>& row : rows) {
    if (row.used_by.empty() || used(row)) continue;
    std::visit(
        [&](auto member) {
          if (settings.*member == usual.*member) return;
          const std::string value = fmt::format("{}", settings.*member);
          setting_error(row.key, row.value.empty() ? "" : value,
                        "is for `{}` {}; {} has no such option", chooser, row.used_by, chosen);
        },
        row.member);
  }
}

/// The same where `chosen` is among the users of a row or not.
template <class Owner>
void check_used(const Owner& settings, std::span<const Setting<Owner>> rows,
                std::string_view chooser, const std::string& chosen) {
  check_used(settings, rows, chooser, chosen, [&](const Setting<Owner>& row) {
    const std::vector<std::string> users = names_in(row.used_by);
    return std::ranges::find(users, chosen) != users.end();
  });
}

/// The row of a base class as one of a class derived from it.
template <class Derived, class Base>
Setting<Derived> inherited(const Setting<Base>& row) {
  const auto member = std::visit(
      [](auto of_base) {
        using MemberType = std::remove_cvref_t<decltype(std::declval<Base>().*of_base)>;
        return SettingMember<Derived>(static_cast<MemberType Derived::*>(of_base));
      },
      row.member);
  return {row.key,    member,      row.group,   row.value,        row.help,
          row.bounds, row.choices, row.used_by, row.decides_bits, row.decides_plan};
}

/// Appends the rows of a base class.
template <class Derived, class Base>
void inherit(std::vector<Setting<Derived>>& rows, std::span<const Setting<Base>> more) {
  for (const Setting<Base>& row : more) rows.push_back(inherited<Derived>(row));
}

}  // namespace plait
