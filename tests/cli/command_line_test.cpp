// Words to verbs and arguments, and the help.
#include "cli/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "cli/help.hpp"
#include "cli/picture.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;

Verb program() {
  const Verb show{.name = "show",
                  .about = "Shows.",
                  .examples = {"a", "b"},
                  .options = {{.name = "SPEC", .value = "", .help = "what", .required = true}},
                  .run = [](const Arguments&) { return 0; }};
  return {
      .name = "prog",
      .about = "A program.",
      .examples = {"prog train", "prog data show x"},
      .verbs = {
          {.name = "train",
           .about = "Trains.",
           .examples = {"prog train --lr 1"},
           .options = {{.name = "--lr", .value = "X", .help = "rate", .standard = "0.1"},
                       {.name = "--init", .value = "FILE", .help = "weights"},
                       {.name = "--fast", .value = "", .help = "speed"},
                       {.name = "--scale", .value = "", .help = "scale it", .standard = "true"}}},
          {.name = "data", .about = "Data.", .examples = {}, .verbs = {show}}}};
}

struct Parsed {
  std::map<std::string, std::string> values;
  std::string verb;
};

Parsed parse(const std::vector<std::string>& words) {
  const Verb verb = program();
  const Command command = parse_command_line(verb, words);
  Parsed parsed;
  for (const char* name : {"--lr", "--init", "--fast", "--scale", "SPEC"}) {
    const std::string* value = command.arguments.find(name);
    if (value != nullptr) parsed.values[name] = *value;
  }
  parsed.verb = command.path.back()->name;
  return parsed;
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing thrown";
}

using Values = std::map<std::string, std::string>;

TEST(CommandLine, ValuesMayBeNegativeOrEmpty) {
  EXPECT_EQ(parse({"train", "--lr", "-0.1"}).values, (Values{{"--lr", "-0.1"}}));
  EXPECT_EQ(parse({"train", "--lr=-inf"}).values, (Values{{"--lr", "-inf"}}));
  EXPECT_EQ(parse({"train", "--lr", "-x"}).values, (Values{{"--lr", "-x"}}));
  EXPECT_EQ(parse({"train", "--init", "", "--lr", "1"}).values,
            (Values{{"--init", ""}, {"--lr", "1"}}));
  EXPECT_EQ(parse({"train", "--init=", "--lr", "1"}).values,
            (Values{{"--init", ""}, {"--lr", "1"}}));
  EXPECT_EQ(parse({"train", "--init", "[a,b]{c}=d"}).values, (Values{{"--init", "[a,b]{c}=d"}}));
}

TEST(CommandLine, AFlagIsGivenOnce) {
  EXPECT_EQ(refusal({"train", "--lr", "1", "--lr", "2"}),
            "--lr is given 2 times (1, 2); leave one");
  EXPECT_EQ(refusal({"train", "--lr", "1", "--lr=1", "--lr", "1"}),
            "--lr is given 3 times (1, 1, 1); leave one");
  EXPECT_EQ(refusal({"train", "--init", "a", "--lr", "1", "--init", ""}),
            "--init is given 2 times (a, ); leave one");
  EXPECT_THAT(refusal({"train", "--fast", "--no-fast"}), HasSubstr("--fast is given 2 times"));
}

TEST(CommandLine, Switches) {
  EXPECT_EQ(parse({"train", "--fast"}).values, (Values{{"--fast", "true"}}));
  EXPECT_EQ(parse({"train", "--no-fast"}).values, (Values{{"--fast", "false"}}));
  EXPECT_EQ(parse({"train", "--fast", "--fast"}).values, (Values{{"--fast", "true"}}));
  EXPECT_EQ(parse({"train", "--fast=false"}).values, (Values{{"--fast", "false"}}));
}

TEST(CommandLine, VerbsOfVerbs) {
  const Parsed parsed = parse({"data", "show", "mnist:x"});
  EXPECT_EQ(parsed.verb, "show");
  EXPECT_EQ(parsed.values, (Values{{"SPEC", "mnist:x"}}));
}

TEST(CommandLine, UnknownWordsComeWithTheNearest) {
  EXPECT_EQ(refusal({"trian"}),
            "unknown verb 'trian' (did you mean 'train'?); prog has: train, data");
  EXPECT_EQ(refusal({"train", "--innit", "x"}),
            "unknown flag '--innit' (did you mean '--init'?); prog train --help lists them");
  EXPECT_EQ(refusal({"train", "--innit=x"}),
            "unknown flag '--innit' (did you mean '--init'?); prog train --help lists them");
  EXPECT_THAT(refusal({"train", "-lr", "1"}), HasSubstr("(did you mean '--lr'?)"));
  EXPECT_THAT(refusal({"train", "more"}),
              HasSubstr("'more' is one argument too many for prog train"));
  EXPECT_THAT(refusal({"data", "shwo"}), HasSubstr("(did you mean 'show'?); prog data has: show"));
}

TEST(CommandLine, MissingValues) {
  EXPECT_EQ(refusal({"train", "--lr"}), "--lr needs a value: --lr X");
  EXPECT_EQ(refusal({"train", "--lr", "--fast"}),
            "--lr needs a value: --lr X (next came the flag --fast)");
  EXPECT_THAT(refusal({"data", "show"}), HasSubstr("prog data show needs SPEC"));
  EXPECT_EQ(refusal({"train", "--fast=perhaps"}), "--fast needs true or false but is 'perhaps'");
  EXPECT_THAT(refusal({"train", "--no-fast=perhaps"}), HasSubstr("perhaps"));
}

TEST(CommandLine, HelpIsForTheVerbAsked) {
  const Verb verb = program();
  const Command command = parse_command_line(verb, {"train", "--lr", "1", "--help"});
  ASSERT_TRUE(command.help);
  const std::string text = help_text(command.path);
  EXPECT_THAT(text, HasSubstr("Usage: prog train [FLAGS]"));
  EXPECT_THAT(text, HasSubstr("--lr X       rate [0.1]"));
  EXPECT_THAT(text, HasSubstr("--no-scale   do not scale it"));
  EXPECT_THAT(text, HasSubstr("prog train --lr 1"));
}

TEST(Picture, TwoRowsPerCharacter) {
  const std::vector<float> image{0, 1, 0, 1, 0, 0};  // 3 x 2
  EXPECT_EQ(picture(image, {1, 3, 2}, false), (std::vector<std::string>{" @", "  "}));
  const std::vector<float> flat(4, 7.0F);
  EXPECT_EQ(picture(flat, {1, 2, 2}, true), (std::vector<std::string>{"  "}));
}

}  // namespace
}  // namespace plait::cli
