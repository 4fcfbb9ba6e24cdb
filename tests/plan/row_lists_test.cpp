// Messages that carry some rows of a tensor: what they touch, how long they are, how they read, and
// what the check says about wrong ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>

#include "base/error.hpp"
#include "plan/check.hpp"
#include "plan/hand_made_rows.hpp"
#include "plan/json.hpp"
#include "plan/memory.hpp"
#include "plan/text.hpp"

namespace plait::plan {
namespace {

using hand_made::cut_by_rows;
using hand_made::message;
using hand_made::message_task;
using hand_made::position;
using hand_made::tasks_of;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kSend = TaskKind::send;
constexpr auto kReceive = TaskKind::receive;

TEST(RowLists, AGoodPlanPasses) { EXPECT_THAT(faults(cut_by_rows()), IsEmpty()); }

std::vector<std::string> words(const Task& task) {
  std::vector<std::string> list;
  for (const Access& access : accesses(cut_by_rows(), task)) {
    list.push_back(fmt::format("{} {} {}", access.writes ? "write" : "read",
                               name_of(access.value.role), access.value.index));
  }
  return list;
}

TEST(RowLists, Accesses) {
  Plan plan = cut_by_rows();
  EXPECT_THAT(words(message_task(plan, 1, kSend, Role::tensor)),
              ElementsAre("read tensor 2", "write sent_rows 0"));
  EXPECT_THAT(words(message_task(plan, 0, kReceive, Role::tensor)), ElementsAre("write tensor 4"));
  EXPECT_THAT(words(message_task(plan, 0, kSend, Role::diff)), ElementsAre("read diff 8"));
  Task back = message_task(plan, 0, kReceive, Role::diff);
  EXPECT_THAT(words(back), ElementsAre("write received_rows 1", "read diff 1", "write diff 1"));
  std::get<Receive>(back.what).adds = false;
  EXPECT_THAT(words(back), ElementsAre("write received_rows 1", "write diff 1"));
  EXPECT_THAT(words({.what = Forward{.block = 3}}),
              ElementsAre("read tensor 4", "read tensor 9", "read weights 3", "write tensor 3",
                          "write saved 3"));
}

TEST(RowLists, BytesAndWords) {
  Plan plan = cut_by_rows();
  const Task& forth = message_task(plan, 1, kSend, Role::tensor);
  EXPECT_EQ(wire_bytes(plan, 1, forth), 2 * 8 * 4);
  EXPECT_EQ(describe(plan, forth), "send of 2 rows of tensor 2 to worker 0");
  EXPECT_EQ(describe(plan, message_task(plan, 0, kReceive, Role::tensor)),
            "receive of tensor 4 from worker 1");
  EXPECT_EQ(describe(plan, message_task(plan, 0, kReceive, Role::diff)),
            "receive of 2 rows of the gradient of tensor 1 from worker 1");
}

/// The owner's tensor stays at home; what is picked from it has memory of its own, which is the
/// network's from the beginning of the step where it is received.
TEST(RowLists, PackedRowsHaveMemoryOfTheirOwn) {
  Plan plan = cut_by_rows();
  plan.row_lists[0] = {0, 1, 2, 4};
  plan.network.tensors[4] = 4;
  ASSERT_THAT(faults(plan), IsEmpty());
  const MemoryMap map =
      map_memory(plan, 1, [&](const Value& value) { return hand_made::value_bytes(plan, value); });
  const auto slot = [&](Role role, int index) {
    return map.slots.at(static_cast<std::size_t>(map.find({role, index, {}})));
  };
  const Slot sent = slot(Role::sent_rows, 0);
  EXPECT_EQ(sent.bytes, 4U * 8 * 4);
  EXPECT_FALSE(sent.shareable);
  const Slot received = slot(Role::received_rows, 0);
  EXPECT_EQ(received.bytes, 4U * 8 * 4);
  EXPECT_FALSE(received.shareable);
  EXPECT_EQ(received.begin, -1);
  EXPECT_GT(received.end, position(plan, 1, TaskKind::backward_weights, 5));
  EXPECT_TRUE(slot(Role::tensor, 2).shareable);
  EXPECT_TRUE(slot(Role::diff, 2).shareable);
  EXPECT_FALSE(slot(Role::tensor, 6).shareable);  // received as it is
  EXPECT_FALSE(slot(Role::diff, 6).shareable);    // sent as it is

  const std::int64_t before = estimate_memory(cut_by_rows(), 1);
  EXPECT_EQ(estimate_memory(plan, 1) - before, 2 * (4 - 2) * 8 * 4);
}

TEST(RowLists, JsonNamesThem) {
  const auto json = nlohmann::json::parse(to_json(cut_by_rows(), -1));
  EXPECT_EQ(json["row_lists"], (nlohmann::json{{1, 4}, {0, 2}, {0, 1}}));
  int with_list = 0;
  for (const auto& task : json["workers"][1]["tasks"]) with_list += task.contains("list") ? 1 : 0;
  EXPECT_EQ(with_list, 6);
  EXPECT_EQ(json["workers"][1]["tasks"][2]["kind"], "send");
  EXPECT_EQ(json["workers"][1]["tasks"][2]["list"], 0);
}

TEST(RowLists, TextNamesThem) {
  EXPECT_THAT(show(cut_by_rows()),
              AllOf(HasSubstr("send of 2 rows of tensor 2 to worker 0"),
                    HasSubstr("receive of 2 rows of the gradient of tensor 2 from worker 0"),
                    HasSubstr("b@0<1")));
}

struct BadList {
  std::string name;
  std::function<void(Plan&)> spoil;
  std::string says;
};

class RowListFault : public ::testing::TestWithParam<BadList> {};

TEST_P(RowListFault, IsFound) {
  Plan plan = cut_by_rows();
  GetParam().spoil(plan);
  EXPECT_THAT(faults(plan), Contains(HasSubstr(GetParam().says)));
  EXPECT_THROW(check_plan(plan), Failure);
}

bool& adds(Plan& plan, int worker) {
  return std::get<Receive>(message_task(plan, worker, kReceive, Role::diff).what).adds;
}

const BadList kListDamages[] = {
    {"OutOfRange", [](Plan& p) { message(p, 1, kSend, Role::tensor).list = 3; },
     "there is no row list 3 of a tensor, only 3"},
    {"OfSomethingElse",
     [](Plan& p) { message(p, 0, kSend, Role::diff).value = {.role = Role::saved, .index = 0}; },
     "there is no row list 2 of a tensor"},
    {"Descending",
     [](Plan& p) {
       p.row_lists[0] = {4, 1};
     },
     "row list 0 does not ascend from 0"},
    {"Twice",
     [](Plan& p) {
       p.row_lists[0] = {1, 1};
     },
     "row list 0 does not ascend from 0"},
    {"Negative",
     [](Plan& p) {
       p.row_lists[0] = {-1, 1};
     },
     "row list 0 does not ascend from 0"},
    {"Empty", [](Plan& p) { p.row_lists[0] = {}; }, "row list 0 does not ascend from 0"},
    {"ARowThatIsNotThere",
     [](Plan& p) {
       p.row_lists[0] = {1, 5};
     },
     "row list 0 has row 5, but tensor 2 only 5"},
    {"LongerThanItsTensor",
     [](Plan& p) {
       p.row_lists[0] = {1, 2, 4};
     },
     "row list 0 has 3 rows, but tensor 4 has 2"},
    {"ShorterThanItsTensor", [](Plan& p) { p.network.tensors[4] = 3; },
     "row list 0 has 2 rows, but tensor 4 has 3"},
    {"OtherListsOnBothSides", [](Plan& p) { message(p, 0, kReceive, Role::tensor).list = 1; },
     "worker 1 never sends it"},
    {"AddsToWhatNobodyWrote", [](Plan& p) { hand_made::erase(p, 0, TaskKind::forward, 2); },
     "reads tensor 9, which no task of this worker writes"},
    {"AddsTooEarly",
     [](Plan& p) {
       hand_made::move_to(p, 0, position(p, 0, TaskKind::forward, 2),
                          position(p, 0, TaskKind::forward, 3));
     },
     "reads tensor 9, which forward of b@0 (task 5) writes only later"},
    {"BeginsWhatIsThereAlready",
     [](Plan& p) {
       p.network.blocks[3].srcs = {4};
       p.network.blocks[3].dst = 9;
     },
     "writes tensor 9, which forward of b@0 (task 3) has written"},
    {"AGradientAddsToNothing", [](Plan& p) { adds(p, 1) = true; },
     "reads the gradient of tensor 5, which nothing has written before"},
    {"AGradientOverwritesAnother", [](Plan& p) { adds(p, 0) = false; },
     "writes the gradient of tensor 1, which backward_data of b@0"},
    {"NobodyReceives",
     [](Plan& p) {
       std::vector<Task>& tasks = tasks_of(p, 0);
       std::erase_if(tasks, [](const Task& t) {
         return is<Receive>(t) && message_of(t)->value.role == Role::diff;
       });
     },
     "worker 0 never receives it"},
};

INSTANTIATE_TEST_SUITE_P(All, RowListFault, ::testing::ValuesIn(kListDamages),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plait::plan
