// CRC-32C, the few protobuf fields, and file names that sort in order of time.
#include "session/tensorboard.hpp"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>

#include "base/error.hpp"

namespace plait::session {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
    table[i] = crc;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

/// Turned and shifted, so that the CRC of bytes that hold CRCs is as good as any.
std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

/// A protobuf message under way.
class Message {
 public:
  Message& whole(int field, std::uint64_t value) {
    key(field, 0);
    varint(value);
    return *this;
  }
  Message& real64(int field, double value) {
    key(field, 1);
    text_ += raw(value);
    return *this;
  }
  Message& real32(int field, float value) {
    key(field, 5);
    text_ += raw(value);
    return *this;
  }
  Message& bytes(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void key(int field, int wire) { varint(static_cast<std::uint64_t>(field << 3 | wire)); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>((value & 0x7f) | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

// Fields of event.proto and summary.proto.
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr int kSummaryValue = 1, kTag = 1, kSimpleValue = 2, kStatus = 1;
constexpr std::uint64_t kSessionStart = 1;

Message event(std::int64_t step) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  Message message;
  message.real64(kWallTime, now.count());
  if (step != 0) message.whole(kStep, static_cast<std::uint64_t>(step));
  return message;
}

/// `alone`: there is no other. TensorBoard reads the files of a folder in the order of their names:
/// the number after "tfevents." grows from file to file, even when they begin in the same second.
fs::path new_file(const fs::path& folder, bool& alone) {
  const std::string begin = "events.out.tfevents.";
  alone = true;
  std::int64_t number = std::chrono::duration_cast<std::chrono::seconds>(
                            std::chrono::system_clock::now().time_since_epoch())
                            .count();
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begin)) continue;
    alone = false;
    number = std::max<std::int64_t>(number, std::atoll(name.c_str() + begin.size()) + 1);
  }
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return folder / fmt::format("{}{:010}.{}", begin, number, host.data());
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  }
  return ~crc;
}

Tensorboard::Tensorboard(const fs::path& folder, std::int64_t after_step) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) user_error("cannot make {}: {}", folder.string(), error.message());
  bool alone = true;
  path_ = new_file(folder, alone);
  file_.open(path_, std::ios::binary);
  record(event(0).bytes(kFileVersion, "brain.Event:2").text());
  if (!alone) {
    Message start;
    start.whole(kStatus, kSessionStart);
    record(event(after_step + 1).bytes(kSessionLog, start.text()).text());
  }
  file_.flush();
}

void Tensorboard::write(const std::vector<Scalar>& scalars, std::int64_t step) {
  Message summary;
  for (const Scalar& scalar : scalars) {
    Message value;
    value.bytes(kTag, scalar.name).real32(kSimpleValue, static_cast<float>(scalar.value));
    summary.bytes(kSummaryValue, value.text());
  }
  record(event(step).bytes(kSummary, summary.text()).text());
  file_.flush();
  if (!file_) fail("{}: cannot write; is the disk full?", path_.string());
}

void Tensorboard::record(const std::string& event) {
  const std::string length = raw(static_cast<std::uint64_t>(event.size()));
  file_ << length << raw(masked_crc(length)) << event << raw(masked_crc(event));
  if (!file_) fail("{}: cannot write; is the disk full?", path_.string());
}

}  // namespace plait::session
