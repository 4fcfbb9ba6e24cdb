// The .safetensors format: round trips, the exact bytes, and refusal of every kind of broken file.
#include "checkpoint/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.hpp"
#include "temp_folder.hpp"

namespace plait::checkpoint {
namespace {

using testing::HasSubstr;

std::string with_header(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), 8);
  return file + header + std::string(data_bytes, '\0');
}

SafetensorsFile parse(const std::string& file) {
  return parse_safetensors(std::as_bytes(std::span(file)), "x.safetensors");
}

void expect_refused(const std::string& file, const std::vector<std::string>& parts) {
  try {
    parse(file);
    ADD_FAILURE() << "accepted: " << file.substr(0, 200);
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("x.safetensors"));
    for (const std::string& part : parts) EXPECT_THAT(error.what(), HasSubstr(part));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    EXPECT_LT(std::strlen(error.what()), 600u);
  }
}

void expect_header_refused(const std::string& header, std::size_t data_bytes,
                           const std::vector<std::string>& parts) {
  expect_refused(with_header(header, data_bytes), parts);
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

std::vector<NamedTensor> all_types() {
  std::vector<NamedTensor> tensors;
  for (const tensor::DType dtype : {tensor::DType::u8, tensor::DType::bf16, tensor::DType::f32,
                                    tensor::DType::i32, tensor::DType::i64}) {
    tensors.push_back(
        {std::string("of ") + tensor::name_of(dtype), tensor::Tensor(tensor::Shape{3, 5}, dtype)});
  }
  tensors.push_back({"scalar", tensor::Tensor(tensor::Shape{})});
  tensors.push_back({"empty", tensor::Tensor(tensor::Shape{0, 4})});
  tensors.push_back(
      {"quoted \"\\\n\x01 \xc3\xa9", tensor::Tensor(tensor::Shape{1}, tensor::DType::u8)});
  std::uint8_t next = 1;
  for (NamedTensor& named : tensors) {
    for (std::size_t i = 0; i < named.tensor.bytes(); ++i)
      named.tensor.data()[i] = std::byte{next++};
  }
  return tensors;
}

TEST(Safetensors, RoundTripOfEveryType) {
  const TempFolder folder;
  const auto path = folder.path() / "a.safetensors";
  const std::vector<NamedTensor> tensors = all_types();
  write_safetensors(path, tensors, {{"format", "pt"}, {"a \"key\"", "a\nvalue"}});
  Hash hash;
  const SafetensorsFile file = read_safetensors(path, &hash);
  EXPECT_EQ(file.metadata, (Metadata{{"format", "pt"}, {"a \"key\"", "a\nvalue"}}));
  ASSERT_EQ(file.tensors.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(file.tensors[i].name, tensors[i].name);
    const tensor::Tensor& tensor = file.at(tensors[i].name);
    EXPECT_EQ(tensor.desc(), tensors[i].tensor.desc());
    EXPECT_EQ(std::memcmp(tensor.data(), tensors[i].tensor.data(), tensor.bytes()), 0);
  }
  const std::string text = read_text(path);
  EXPECT_EQ(parse(text).tensors.size(), tensors.size());
  Hash whole;
  whole.add(text);
  EXPECT_EQ(hash.hex(), whole.hex());
  EXPECT_EQ(entries_in(folder.path()), 1u);
}

TEST(Safetensors, TheBytesOfTheFormat) {
  const TempFolder folder;
  const auto path = folder.path() / "a.safetensors";
  std::vector<NamedTensor> tensors{{"b", tensor::Tensor(tensor::Shape{2}, tensor::DType::u8)},
                                   {"a", tensor::Tensor(tensor::Shape{1, 1})}};
  tensors[0].tensor.data()[0] = std::byte{7};
  tensors[1].tensor.floats()[0] = 1;
  write_safetensors(path, tensors, {{"k", "v"}});
  // The wider type comes first in the data; the header keeps the order given, padded to 8.
  std::string header = R"({"__metadata__":{"k":"v"},)"
                       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},)"
                       R"("a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::string data("\x00\x00\x80\x3f\x07\x00", 6);
  EXPECT_EQ(read_text(path), with_header(header, 0) + data);

  write_safetensors(path, {});
  EXPECT_EQ(read_text(path), with_header("{}      ", 0));
  EXPECT_TRUE(read_safetensors(path).tensors.empty());
}

TEST(Safetensors, TakesAnyOrderAndSpaces) {
  const SafetensorsFile file = parse(with_header(
      "{\n\"z\" : {\"data_offsets\":[8, 9],\"shape\":[1],\"dtype\":\"U8\"},\"a\":" +
          entry("F32", "[2]", "[0,8]") + ",\"none\":" + entry("I64", "[0]", "[8,8]") + "}   ",
      9));
  EXPECT_EQ(file.tensors.at(0).name, "z");
  EXPECT_EQ(file.at("a").shape(), (tensor::Shape{2}));
  EXPECT_EQ(file.at("none").bytes(), 0u);
}

TEST(Safetensors, RefusesBrokenFrames) {
  expect_refused("", {"0 bytes"});
  expect_refused("1234567", {"7 bytes"});
  expect_refused(std::string(8, '\0'), {"does not begin with '{'"});
  expect_refused(std::string(8, '\xff') + "{}", {"18446744073709551615", "2 bytes follow"});
  expect_refused(with_header("{}", 0).substr(0, 9), {"header of 2 bytes", "1 bytes follow"});
  const std::uint64_t huge = 100'000'001;
  std::string file(reinterpret_cast<const char*>(&huge), 8);
  file.resize(8 + huge, ' ');
  expect_refused(file, {"100000001", "100000000"});
}

TEST(Safetensors, RefusesBrokenJson) {
  expect_header_refused("[]", 0, {"does not begin with '{'"});
  expect_header_refused("\xef\xbb\xbf{}", 0, {"does not begin with '{'"});
  expect_header_refused("{", 0, {"not valid JSON"});
  expect_header_refused("{} x", 0, {"not valid JSON"});
  expect_header_refused(std::string("{}\0\0", 4), 0, {"not valid JSON"});
  expect_header_refused("{\"\xff\":{}}", 0, {"not valid JSON"});
  expect_header_refused(R"({"a":1})", 0, {"'a'", "is 1 in the header"});
  expect_header_refused(R"({"a":-1})", 0, {"'a'", "-1"});
  expect_header_refused(R"({"a":[]})", 0, {"'a'", "array"});
  expect_header_refused(R"({"a":null,"a":null})", 0, {"'a'", "null"});
  expect_header_refused(R"({"a":1e999})", 0, {"not valid JSON"});
  expect_header_refused(R"({"__metadata__":{"k":1}})", 0, {"__metadata__", "'k'"});
  expect_header_refused(R"({"__metadata__":{"k":{}}})", 0, {"__metadata__", "'k'"});
  expect_header_refused(R"({"__metadata__":"x"})", 0, {"__metadata__"});
  expect_header_refused(R"({"__metadata__":{"k":"1","k":"2"}})", 0, {"'k' twice"});
  expect_header_refused(R"({"__metadata__":{},"__metadata__":{}})", 0, {"occurs twice"});
  expect_header_refused("{\"a\\nb\":1}", 0, {"'a\\x0ab'"});
  expect_header_refused("{\"" + std::string(5000, 'n') + "\":1}", 0, {"nnn...'"});
}

TEST(Safetensors, DeepNestingDoesNotBlowTheStack) {
  for (const char* open : {"[", "{\"a\":"}) {
    std::string header = "{\"a\":{\"shape\":";
    for (int i = 0; i < 1'000'000; ++i) header += open;
    expect_header_refused(header, 0, {"'a'"});
  }
}

TEST(Safetensors, RefusesBrokenEntries) {
  const auto refuse = [](const std::string& value, std::vector<std::string> parts) {
    parts.push_back("'t'");
    expect_header_refused("{\"t\":" + value + "}", 8, parts);
  };
  EXPECT_NO_THROW(parse(with_header("{\"t\":" + entry("F32", "[2]", "[0,8]") + "}", 8)));
  refuse(entry("F64", "[1]", "[0,8]"), {"dtype 'F64'", "BF16"});
  refuse(entry("f32", "[2]", "[0,8]"), {"dtype 'f32'"});
  refuse(entry("F32", "[3]", "[0,8]"), {"shape 3", "takes 12 bytes", "0 to 8 hold 8"});
  refuse(entry("F32", "[2]", "[8,0]"), {"ends at byte 0", "begins at byte 8"});
  refuse(entry("F32", "[2]", "[0]"), {"1 data_offsets"});
  refuse(entry("F32", "[2]", "[]"), {"0 data_offsets"});
  refuse(entry("F32", "[2]", "[0,8,8]"), {"data_offsets", "8"});
  refuse(entry("F32", "2", "[0,8]"), {"'shape'", "2"});
  refuse(entry("F32", "[-2]", "[0,8]"), {"'shape'", "-2"});
  refuse(entry("F32", "[2.0]", "[0,8]"), {"'shape'", "2.0"});
  refuse(entry("F32", "[\"2\"]", "[0,8]"), {"'shape'"});
  refuse(entry("F32", "[[2]]", "[0,8]"), {"'shape'", "array"});
  refuse(entry("F32", "[9223372036854775808]", "[0,8]"), {"9223372036854775808"});
  refuse(entry("F32", "[18446744073709551616]", "[0,8]"), {"18446744073709551616"});
  refuse(entry("U8", "[4294967296,4294967296,0]", "[0,0]"), {"too large"});
  refuse(entry("I64", "[2305843009213693953]", "[0,8]"), {"too large"});
  std::string ones = "[1";
  for (int i = 0; i < 40; ++i) ones += ",1";
  refuse(entry("I64", ones + "]", "[0,8]"), {"more than 32"});
  refuse(R"({"dtype":"F32","shape":[2]})", {"data_offsets"});
  refuse(R"({"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})", {"'dtype' twice"});
  refuse(R"({"shape":[],"shape":[2],"dtype":"F32","data_offsets":[0,8]})", {"'shape' twice"});
  refuse(R"({"data_offsets":[0,8],"data_offsets":[0,8]})", {"'data_offsets' twice"});
  refuse(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1})", {"'more'"});
  refuse(entry("U8", "[9]", "[0,9]"), {"ends at byte 9", "holds 8"});
  refuse(entry("U8", "[7]", "[1,8]"), {"begins at byte 1", "ends at 0"});
}

TEST(Safetensors, RefusesHolesOverlapsAndTwins) {
  const std::string first = "{\"a\":" + entry("U8", "[4]", "[0,4]");
  expect_header_refused(first + ",\"b\":" + entry("U8", "[3]", "[5,8]") + "}", 8, {"'b'", "5"});
  expect_header_refused(first + ",\"b\":" + entry("U8", "[5]", "[3,8]") + "}", 8, {"'b'", "3"});
  expect_header_refused(first + ",\"b\":" + entry("U8", "[4]", "[0,4]") + "}", 4, {"'b'"});
  expect_header_refused(first + ",\"b\":" + entry("U8", "[0]", "[2,2]") + "}", 4, {"'b'"});
  expect_header_refused(first + "}", 5, {"end at byte 4", "holds 5"});
  expect_header_refused("{}", 1, {"end at byte 0", "holds 1"});
  expect_header_refused(first + ",\"a\":" + entry("U8", "[4]", "[4,8]") + "}", 8,
                        {"'a' occurs twice"});
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const TempFolder folder;
  const auto path = folder.path() / "a.safetensors";
  write_safetensors(path, all_types(), {{"k", "v"}});
  const std::string whole = read_text(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(parse(whole.substr(0, length)), UserError) << length;
  }
  EXPECT_THROW(parse(whole + "x"), UserError);
}

TEST(Safetensors, NamesWhatIsNotThere) {
  const TempFolder folder;
  try {
    read_safetensors(folder.path() / "none.safetensors");
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("none.safetensors"));
    EXPECT_THAT(error.what(), HasSubstr("No such file"));
  }
  EXPECT_THROW(read_safetensors(folder.path()), UserError);
  const std::string file = with_header("{\"weight\":" + entry("U8", "[1]", "[0,1]") + "}", 1);
  try {
    parse(file).at("weigth");
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'weigth' (did you mean 'weight'?)"));
  }
}

TEST(Safetensors, DoesNotWriteWhatItWouldNotRead) {
  const std::vector<NamedTensor> twins{{"a", tensor::Tensor(tensor::Shape{1})},
                                       {"a", tensor::Tensor(tensor::Shape{1})}};
  EXPECT_THROW(SafetensorsWriter{twins}, Failure);
  const std::vector<NamedTensor> reserved{{"__metadata__", tensor::Tensor(tensor::Shape{1})}};
  EXPECT_THROW(SafetensorsWriter{reserved}, Failure);
  const std::vector<NamedTensor> blocked{
      {"a", tensor::Tensor(tensor::TensorDesc{tensor::Shape{1, 8, 2, 2}, tensor::DType::f32,
                                              tensor::Layout::blocked8})}};
  EXPECT_THROW(SafetensorsWriter{blocked}, Failure);
  const std::vector<NamedTensor> no_text{{"\xff", tensor::Tensor(tensor::Shape{1})}};
  EXPECT_THROW(SafetensorsWriter{no_text}, UserError);
}

}  // namespace
}  // namespace plait::checkpoint
