// Reads TensorBoard's event files, written from their description and not from our writer: every
// CRC bit by bit, every field by its number.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace plait::run::event_file {

struct Event {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string version;
  std::map<std::string, float> scalars;
  std::optional<std::uint64_t> session_status;
};

/// One bit at a time, the polynomial 0x1EDC6F41 turned round.
inline std::uint32_t plain_crc(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? (crc >> 1) ^ 0x82F63B78U : crc >> 1;
  }
  return ~crc;
}

class Bytes {
 public:
  explicit Bytes(std::string_view text) : text_(text) {}
  bool empty() const { return text_.empty(); }
  std::string_view take(std::size_t count) {
    if (count > text_.size()) throw std::runtime_error("the file ends too early");
    const std::string_view part = text_.substr(0, count);
    text_.remove_prefix(count);
    return part;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = number<unsigned char>();
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    throw std::runtime_error("a number without an end");
  }

 private:
  std::string_view text_;
};

/// field -> its values: varints as numbers, everything else as bytes.
struct Field {
  std::uint64_t key = 0;
  std::uint64_t number = 0;
  std::string_view bytes = {};
};

inline std::vector<Field> fields(std::string_view text) {
  std::vector<Field> all;
  for (Bytes bytes(text); !bytes.empty();) {
    const std::uint64_t key = bytes.varint();
    Field field{.key = key >> 3};
    switch (key & 7) {
      case 0: field.number = bytes.varint(); break;
      case 1: field.bytes = bytes.take(8); break;
      case 2: field.bytes = bytes.take(bytes.varint()); break;
      case 5: field.bytes = bytes.take(4); break;
      default: throw std::runtime_error("an unknown wire type");
    }
    all.push_back(field);
  }
  return all;
}

inline void read_summary(std::string_view text, Event& event) {
  for (const Field& value : fields(text)) {
    if (value.key != 1) throw std::runtime_error("a summary with something else than values");
    std::string tag;
    float simple = 0;
    for (const Field& part : fields(value.bytes)) {
      if (part.key == 1) tag = part.bytes;
      if (part.key == 2) std::memcpy(&simple, part.bytes.data(), sizeof(simple));
    }
    event.scalars[tag] = simple;
  }
}

inline Event read_event(std::string_view text) {
  Event event;
  for (const Field& field : fields(text)) {
    switch (field.key) {
      case 1: std::memcpy(&event.wall_time, field.bytes.data(), sizeof(double)); break;
      case 2: event.step = static_cast<std::int64_t>(field.number); break;
      case 3: event.version = field.bytes; break;
      case 5: read_summary(field.bytes, event); break;
      case 7: event.session_status = fields(field.bytes).at(0).number; break;
      default: throw std::runtime_error("an unknown field of Event");
    }
  }
  return event;
}

/// Throws where a CRC is wrong.
inline std::vector<Event> read(std::string_view file) {
  const auto check = [](std::string_view bytes, std::uint32_t masked) {
    const std::uint32_t turned = masked - 0xA282EAD8U;
    if (((turned << 15) | (turned >> 17)) != plain_crc(bytes)) throw std::runtime_error("bad CRC");
  };
  std::vector<Event> events;
  for (Bytes bytes(file); !bytes.empty();) {
    const std::string_view length = bytes.take(8);
    check(length, bytes.number<std::uint32_t>());
    const std::string_view data = bytes.take(Bytes(length).number<std::uint64_t>());
    check(data, bytes.number<std::uint32_t>());
    events.push_back(read_event(data));
  }
  return events;
}

}  // namespace plait::run::event_file
