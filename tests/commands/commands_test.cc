// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The generator, the model and the shrinker, without Vulkan.

#include "tests/commands/generate.h"
#include "tests/commands/print.h"
#include "tests/commands/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::commands {
namespace {

/// A case with two buffers, two sets of one layout, and a primary and a secondary command buffer.
/// Pipeline 0 writes to binding 1.
Case small_case()
{
   Case c;
   c.seed = 1;
   c.buffers = {{0, 0, 256}, {0, 512, 256}};
   c.sets = {{0, 1}, {0, 1}};
   c.layouts = {pipeline_kinds()[0].layout};
   c.command_buffers = {{0, false}, {0, true}};
   c.steps = {UpdateSets{{{0, {0, 0, {{0, 0, whole}, {1, 0, whole}}, {}}}}, {}, false}};
   return c;
}

PushConstants all_words(uint32_t first_write = 0)
{
   PushConstants push = {0, 0, {}, {}, false};
   push.words.assign(shader_push_words, 0);
   push.words[1] = first_write;
   push.words[3] = 7;
   return push;
}

std::vector<Command> one_dispatch(uint32_t first_write = 0)
{
   return {BindPipeline{0}, BindSets{0, 0, {0}, {}, false}, all_words(first_write),
           Dispatch{{}, {1, 1, 1}, false}};
}

Submit submission(std::vector<uint32_t> buffers, uint32_t fence = none)
{
   return {{{{}, std::move(buffers), {}}}, fence, false};
}

/// The first reason why the model refuses a case; empty if it accepts the case.
std::string refusal(const Case &c)
{
   const Interpretation result = interpret(c);
   return result.refusals.empty() ? "" : result.refusals[0].why;
}

void record_and_run(Case &c, std::vector<Command> commands)
{
   c.steps.push_back(Record{0, false, false, std::move(commands)});
   c.steps.push_back(submission({0}));
   c.steps.push_back(WaitIdle{false});
   c.steps.push_back(CheckMemory{});
}

uint32_t word_at(const Interpretation &result, uint32_t offset)
{
   uint32_t word;
   memcpy(&word, &result.steps.back().bytes[offset], 4);
   return word;
}

TEST(CommandsModel, ADispatchWritesWhatTheShaderComputes)
{
   Case c = small_case();
   record_and_run(c, one_dispatch(3));
   const Interpretation result = interpret(c);
   ASSERT_TRUE(result.refusals.empty()) << result.refusals[0].why;
   EXPECT_EQ(result.dispatches, 1u);
   // Computes the result by hand: salt × factor and one workgroup in each dimension; six zeros; the
   // word that is read, and the lengths of both buffers.
   uint32_t read = 0;
   for (uint32_t i = 0; i < 4; i++)
      read |= uint32_t(poison(1, 0, i)) << (8 * i);
   uint32_t v = 7 * 31 + 3 + 5 + 7;
   for (int i = 0; i < 6; i++)
      v *= 33;
   v = v * 33 + read;
   v = v * 33 + 64;
   v = v * 33 + 64;
   EXPECT_EQ(word_at(result, 512 + 12), v);
   EXPECT_EQ(uint8_t(word_at(result, 512)), poison(1, 0, 512));
}

TEST(CommandsModel, TransfersAreExact)
{
   Case c = small_case();
   c.buffers[1].size = 254;
   c.steps.clear();
   record_and_run(c, {FillBuffer{1, 8, whole, 0x01020304}, UpdateBuffer{0, 4, {5, 6}},
                      CopyBuffer{0, 1, {{4, 101, 3}}, true}});
   const Interpretation result = interpret(c);
   ASSERT_TRUE(result.refusals.empty()) << result.refusals[0].why;
   EXPECT_EQ(word_at(result, 4), 5u);
   EXPECT_EQ(word_at(result, 512 + 248), 0x01020304u);
   EXPECT_EQ(uint8_t(word_at(result, 512 + 252)), poison(1, 0, 512 + 252));
   EXPECT_EQ(word_at(result, 512 + 100), 0x00000504u);
}

TEST(CommandsModel, RefusesWhatVulkanForbids)
{
   const auto refused = [](std::vector<Command> commands) {
      Case c = small_case();
      record_and_run(c, std::move(commands));
      return refusal(c);
   };
   EXPECT_EQ(refused(one_dispatch()), "");
   std::vector<Command> commands = one_dispatch();
   commands.erase(commands.begin() + 1);
   EXPECT_EQ(refused(commands), "a set is not bound");
   commands = one_dispatch();
   commands.erase(commands.begin() + 2);
   EXPECT_EQ(refused(commands), "push constants are not defined");
   commands = one_dispatch();
   commands[1] = BindSets{0, 0, {1}, {}, false};
   EXPECT_EQ(refused(commands), "an undefined descriptor");
   EXPECT_EQ(refused({FillBuffer{0, 252, 8, 0}}), "out of the buffer");
   EXPECT_EQ(refused({CopyBuffer{0, 0, {{0, 8, 9}}, false}}), "regions overlap");
   EXPECT_EQ(refused({WriteTimestamp{0, 0, false}, WriteTimestamp{0, 0, false}}),
             "the query was not reset");
   EXPECT_EQ(refused({WaitEvents{{1}}}), "waits for ever");
   EXPECT_EQ(refused({CopyQueries{0, 0, 1, 0, 0, 8, query_wait}}), "waits for ever");
   EXPECT_EQ(refused({PushDescriptors{0, 0, {}, false, false}}), "no push set");
}

TEST(CommandsModel, RefusesRaces)
{
   Case c = small_case();
   // Both bindings are the same buffer: invocations read other invocations' results.
   c.steps = {UpdateSets{{{0, {0, 0, {{0, 0, whole}, {0, 0, whole}}, {}}}}, {}, false}};
   record_and_run(c, one_dispatch());
   EXPECT_EQ(refusal(c), "a word is written twice, or read, in one dispatch");
}

TEST(CommandsModel, AnUpdateOfABoundSetInvalidates)
{
   Case c = small_case();
   c.steps.push_back(Record{0, false, false, one_dispatch()});
   c.steps.push_back(c.steps[0]);
   c.steps.push_back(submission({0}));
   EXPECT_EQ(refusal(c), "the buffer is not executable");
}

TEST(CommandsModel, AnotherLayoutDisturbsSets)
{
   Case c = small_case();
   // Pipeline 8 has a pair and a push set; layout 1 is compatible for neither.
   c.layouts = {pipeline_kinds()[8].layout, {{6, 0}, 0}};
   std::vector<Command> commands = {BindPipeline{8}, BindSets{0, 0, {0}, {}, false}, all_words(),
                                    PushDescriptors{0,
                                                    1,
                                                    {{0, 0, {{0, 0, whole}, {0, 0, whole}}, {}},
                                                     {1, 1, {{0, 0, whole}}, {}},
                                                     {3, 0, {{0, 0, 64}}, {}}},
                                                    false,
                                                    false},
                                    Dispatch{{}, {1, 1, 1}, false}};
   Case good = c;
   record_and_run(good, commands);
   EXPECT_EQ(refusal(good), "");
   commands.insert(commands.begin() + 4, BindSets{1, 1, {0}, {}, false});
   record_and_run(c, commands);
   EXPECT_EQ(refusal(c), "a set is not bound");
}

TEST(CommandsModel, AQueryIsReadWhenItsResetIsOver)
{
   Case c = small_case();
   const ReadQueries read = {0, 0, 1, 8, query_64 | query_wait};
   c.steps = {Record{0, false, true, {ResetQueries{0, 0, 1}, WriteTimestamp{0, 0, false}}},
              submission({0}), WaitIdle{false}, submission({0}), read};
   EXPECT_EQ(refusal(c), "the query may not be reset yet");
   c.steps[3] = WaitIdle{false};
   EXPECT_EQ(refusal(c), "");
}

TEST(CommandsModel, TheQueueWaitsForTheHost)
{
   Case c = small_case();
   Submit submit = submission({}, 0);
   submit.batches[0].waits = {{0, 2}, {2, 1}};
   c.steps = {submit,
              ReadFence{0},
              SignalTimeline{{0, 2}},
              ReadFence{0},
              SignalTimeline{{2, 1}},
              ReadFence{0},
              WaitFences{{0}, false, Patience::much},
              ReadFence{0}};
   const Interpretation result = interpret(c);
   ASSERT_TRUE(result.refusals.empty()) << result.refusals[0].why;
   EXPECT_EQ(result.steps[1].outcome, Outcome::no);
   EXPECT_EQ(result.steps[3].outcome, Outcome::no);
   EXPECT_EQ(result.steps[5].outcome, Outcome::either);
   EXPECT_EQ(result.steps[7].outcome, Outcome::yes);
   c.steps.erase(c.steps.begin() + 4);
   EXPECT_EQ(refusal(c), "waits for ever");
   // The missing part is added.
   c.steps.push_back(WaitIdle{true});
   EXPECT_TRUE(make_valid(c).idle_at_end);
   EXPECT_NE(to_text(c).find("vkSignalSemaphore timeline 2 at 1"), std::string::npos);
}

TEST(CommandsGenerator, OneSeedOneCase)
{
   EXPECT_EQ(to_text(generate(11).c), to_text(generate(11).c));
   EXPECT_NE(to_text(generate(11).c), to_text(generate(12).c));
}

TEST(CommandsGenerator, CasesAreValidAndHaveEverything)
{
   std::array<uint32_t, std::variant_size_v<Command>> commands = {};
   std::array<uint32_t, std::variant_size_v<Step>> steps = {};
   std::vector<uint32_t> pipelines(pipeline_kinds().size());
   uint32_t dispatches = 0, blocked = 0;
   for (uint64_t seed = 0; seed < 400; seed++) {
      const GeneratedCase g = generate(seed);
      const Interpretation again = interpret(g.c);
      ASSERT_TRUE(again.refusals.empty()) << "seed " << seed << ": " << again.refusals[0].why;
      ASSERT_TRUE(again.idle_at_end) << "seed " << seed;
      dispatches += again.dispatches;
      for (size_t i = 0; i < g.c.steps.size(); i++) {
         const Step &step = g.c.steps[i];
         steps[step.index()]++;
         blocked +=
            std::holds_alternative<ReadFence>(step) && again.steps[i].outcome == Outcome::no;
         const Record *record = std::get_if<Record>(&step);
         for (size_t k = 0; record && k < record->commands.size(); k++) {
            commands[record->commands[k].index()]++;
            if (const auto *bind = std::get_if<BindPipeline>(&record->commands[k]))
               pipelines[bind->pipeline]++;
         }
      }
   }
   for (size_t i = 0; i < commands.size(); i++)
      EXPECT_GT(commands[i], 20u) << "command " << i;
   for (size_t i = 0; i < steps.size(); i++)
      EXPECT_GT(steps[i], 20u) << "step " << i;
   for (size_t i = 0; i < pipelines.size(); i++)
      EXPECT_GT(pipelines[i], 10u) << "pipeline " << i;
   EXPECT_GT(dispatches, 1000u);
   EXPECT_GT(blocked, 20u);
}

TEST(CommandsShrinker, LeavesWhatFails)
{
   const auto has_timestamp = [](const Case &c, const Interpretation &) {
      return std::ranges::any_of(c.steps, [](const Step &step) {
         const Record *record = std::get_if<Record>(&step);
         return record && std::ranges::any_of(record->commands, [](const Command &command) {
                   return std::holds_alternative<WriteTimestamp>(command);
                });
      });
   };
   uint64_t seed = 0;
   while (!has_timestamp(generate(seed).c, {}))
      seed++;
   const Case small = shrink(generate(seed).c, has_timestamp, std::chrono::seconds(60));
   EXPECT_TRUE(has_timestamp(small, {}));
   EXPECT_TRUE(interpret(small).refusals.empty());
   EXPECT_LE(size(small).steps, 2u) << to_text(small);
   EXPECT_EQ(size(small).commands, 1u) << to_text(small);
}

} // namespace
} // namespace weft::commands
