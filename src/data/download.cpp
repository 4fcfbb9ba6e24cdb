// One transfer with libcurl: range requests that continue a part, limits on size and stalls, and
// which errors are worth another try.
#include "data/download.hpp"

#include <curl/curl.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string_view>

#include "base/error.hpp"

namespace plait::data {

namespace {

struct CurlDeleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FileDeleter {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using CurlHandle = std::unique_ptr<CURL, CurlDeleter>;
using FileHandle = std::unique_ptr<std::FILE, FileDeleter>;

constexpr long kOk = 200;
constexpr long kPartialContent = 206;
constexpr long kRangeNotSatisfiable = 416;

/// What the callbacks of one transfer share.
struct Transfer {
  CURL* curl = nullptr;
  std::filesystem::path path;
  const TransferOptions* options = nullptr;
  /// Bytes in the file before the transfer, and now.
  std::int64_t offset = 0;
  std::int64_t written = 0;
  /// First byte the server says it sends (Content-Range).
  std::int64_t range_start = -1;
  FileHandle file;
  std::string problem;
  bool refused = false;

  /// At the first body byte: continue behind the offset, or start over when the whole file comes.
  bool open() {
    long code = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    const bool appends = code == kPartialContent && offset > 0 && range_start == offset;
    if (code == kPartialContent && !appends) {
      problem = fmt::format("the server sent bytes from {} instead of {}", range_start, offset);
      return false;
    }
    if (!appends) offset = 0;
    written = offset;
    file.reset(std::fopen(path.c_str(), appends ? "ab" : "wb"));
    if (!file) {
      refused = true;
      problem = fmt::format("cannot write {}", path.string());
    }
    return file != nullptr;
  }
};

long response_code(CURL* curl) {
  long code = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
  return code;
}

std::size_t on_header(char* data, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string line(data, size);
  // "Content-Range: bytes FIRST-LAST/TOTAL"; a redirect's headers begin with a new status line.
  if (line.starts_with("HTTP/")) transfer.range_start = -1;
  long long first = 0;
  if (curl_strnequal(line.c_str(), "content-range:", 14) != 0 &&
      std::sscanf(line.c_str() + 14, " bytes %lld-", &first) == 1) {
    transfer.range_start = first;
  }
  return size;
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const long code = response_code(transfer.curl);
  if (code != kOk && code != kPartialContent) return size;  // The body of an error page.
  if (!transfer.file && !transfer.open()) return 0;
  if (transfer.written + static_cast<std::int64_t>(size) > transfer.options->max_bytes) {
    transfer.refused = true;
    transfer.problem =
        fmt::format("more than the {} bytes expected at most", transfer.options->max_bytes);
    return 0;
  }
  if (std::fwrite(data, 1, size, transfer.file.get()) != size) {
    transfer.refused = true;
    transfer.problem = fmt::format("cannot write {}; is the disk full?", transfer.path.string());
    return 0;
  }
  transfer.written += static_cast<std::int64_t>(size);
  return size;
}

int on_progress(void* user, curl_off_t total, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.file && transfer.options->progress) {
    transfer.options->progress(transfer.written, total > 0 ? transfer.offset + total : 0);
  }
  return 0;
}

void configure(Transfer& transfer, const std::string& url) {
  CURL* curl = transfer.curl;
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "plait");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, long{transfer.options->connect_timeout_seconds});
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, long{transfer.options->stall_seconds});
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  // Not CURLOPT_RESUME_FROM: that fails when the server ignores the range, we start over instead.
  if (transfer.offset > 0) {
    curl_easy_setopt(curl, CURLOPT_RANGE, fmt::format("{}-", transfer.offset).c_str());
  }
}

bool worth_another_try(CURLcode code) {
  return code != CURLE_UNSUPPORTED_PROTOCOL && code != CURLE_URL_MALFORMAT &&
         code != CURLE_COULDNT_RESOLVE_HOST && code != CURLE_PEER_FAILED_VERIFICATION;
}

}  // namespace

TransferResult download(const std::string& url, const std::filesystem::path& file,
                        const TransferOptions& options) {
  using Status = TransferResult::Status;
  const CurlHandle curl(curl_easy_init());
  if (!curl) fail("libcurl cannot be initialised");
  std::array<char, CURL_ERROR_SIZE> detail{};
  std::error_code error;
  Transfer transfer;
  transfer.curl = curl.get();
  transfer.path = file;
  transfer.options = &options;
  transfer.offset = std::filesystem::exists(file, error)
                        ? static_cast<std::int64_t>(std::filesystem::file_size(file, error))
                        : 0;
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, detail.data());
  configure(transfer, url);
  const CURLcode code = curl_easy_perform(curl.get());

  const bool flushed = !transfer.file || std::fflush(transfer.file.get()) == 0;
  transfer.file.reset();
  const bool resumed = transfer.offset > 0;
  if (!transfer.problem.empty()) {
    // A wrong range would go wrong again: the next attempt starts from nothing.
    if (!transfer.refused) std::filesystem::remove(file, error);
    return {transfer.refused ? Status::refused : Status::retry, resumed, transfer.problem};
  }
  if (code != CURLE_OK) {
    const std::string_view reason = detail[0] != 0 ? detail.data() : curl_easy_strerror(code);
    return {worth_another_try(code) ? Status::retry : Status::refused, resumed,
            fmt::format("{} (after {} bytes)", reason, transfer.written)};
  }
  const long status = response_code(curl.get());
  if (status == kRangeNotSatisfiable && resumed) {
    std::filesystem::remove(file, error);
    return {Status::retry, resumed,
            fmt::format("the server has no bytes behind {}", transfer.offset)};
  }
  if (status != kOk && status != kPartialContent) {
    return {status >= 500 || status == 429 ? Status::retry : Status::refused, resumed,
            fmt::format("the server answered {}", status)};
  }
  if (!flushed) return {Status::refused, resumed, fmt::format("cannot write {}", file.string())};
  if (!transfer.path.empty() && !std::filesystem::exists(file, error)) {
    return {Status::refused, resumed, "the server sent an empty file"};
  }
  return {.status = Status::done, .resumed = resumed};
}

}  // namespace plait::data
