// Reading JSON that may be anything: every value is asked for with what it must be, and a wrong one
// is a UserError with the document's name and the field's. Inside this room only.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace plait::plan {

using Json = nlohmann::ordered_json;

/// Whole numbers a field may have.
struct Limits {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

/// One value of a document with its way there: "workers[1].tasks[3].block". Document and place
/// outlive it.
class JsonField {
 public:
  JsonField(const Json& json, std::string_view place) : json_(json), place_(place) {}

  /// Opens with the document's name and the field's.
  [[noreturn]] void refuse(std::string_view what) const;

  bool has(const char* key) const;
  /// The value of an object that must be there.
  JsonField at(const char* key) const;
  /// Of a list with at most `most` entries.
  std::vector<JsonField> list(std::size_t most) const;

  std::int64_t number(const Limits& limits) const;
  int small(const Limits& limits) const { return static_cast<int>(number(limits)); }
  std::vector<std::int64_t> numbers(std::size_t most, const Limits& limits) const;
  template <class Int>
  std::vector<Int> numbers_as(std::size_t most, const Limits& limits) const {
    const std::vector<std::int64_t> wide = numbers(most, limits);
    return {wide.begin(), wide.end()};
  }
  double real(double least, double most) const;
  bool flag() const;
  std::string text() const;
  /// One of these, by its name_of().
  template <class Enum>
  Enum word(std::initializer_list<Enum> all) const {
    const std::string word = text();
    std::string names;
    for (const Enum one : all) {
      if (word == name_of(one)) return one;
      names += (names.empty() ? "" : ", ") + std::string(name_of(one));
    }
    unknown(word, names);
  }

  /// The same of fields that may be left out.
  int small_or(const char* key, int usual, const Limits& limits) const {
    return has(key) ? at(key).small(limits) : usual;
  }
  bool flag_or(const char* key, bool usual) const { return has(key) ? at(key).flag() : usual; }

 private:
  JsonField(const Json& json, std::string_view place, std::string path)
      : json_(json), place_(place), path_(std::move(path)) {}
  void check_list(std::size_t most) const;
  JsonField entry(std::size_t i) const;
  [[noreturn]] void unknown(const std::string& word, const std::string& names) const;
  std::string shown() const;

  const Json& json_;
  std::string_view place_;
  std::string path_{};
};

}  // namespace plait::plan
