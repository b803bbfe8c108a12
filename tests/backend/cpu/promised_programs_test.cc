// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/promised_programs.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

namespace weft::cpu {
namespace {

using namespace std::chrono_literals;

/// A workgroup of so many invocations.
ProgramInfo info_of(uint32_t invocations)
{
   ProgramInfo info = {};
   info.workgroup_size = {invocations, 1, 1};
   return info;
}

/// The text of the push constants and sets.
std::string text_of(const DispatchFacts &facts)
{
   const auto text = [](std::span<const std::byte> bytes) {
      return std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size());
   };
   std::string all = text(facts.push_constants);
   for (const std::span<const std::byte> set : facts.sets)
      all += "|" + text(set);
   return all + "|" + std::to_string(facts.num_workgroups[1]);
}

/// The "program" of each dispatch is an Error with the facts as its message.
class EchoPrograms final : public Programs {
public:
   const ProgramInfo &info() const override { return own_info; }
   const FutureProgram &program_for(const DispatchFacts &facts) override
   {
      const std::string text = text_of(facts);
      if (text.starts_with("no memory"))
         throw std::bad_alloc();
      const std::lock_guard lock(mutex);
      return programs.try_emplace(text, ready(Error{text})).first->second;
   }
   std::vector<std::byte> serialize() const override { return {std::byte(7)}; }

   const ProgramInfo own_info = info_of(5);
   std::mutex mutex;
   std::map<std::string, FutureProgram> programs;
};

/// Facts whose bytes the test may change afterwards.
struct Facts {
   explicit Facts(const std::string &push_constants, const std::string &set = "set")
       : push_constants(push_constants), set(set)
   {
      facts.push_constants = std::as_bytes(std::span(this->push_constants));
      facts.sets[2] = std::as_bytes(std::span(this->set));
      facts.num_workgroups = {1, 9, 1};
   }
   std::string push_constants, set;
   DispatchFacts facts;
};

TEST(PromisedPrograms, EarlyDispatchesGetTheirPrograms)
{
   PromisedPrograms promised;
   Facts first("one"), second("two", "other");
   const std::string first_text = text_of(first.facts), second_text = text_of(second.facts);
   const FutureProgram &of_first = promised.program_for(first.facts),
                       &of_second = promised.program_for(second.facts);
   EXPECT_FALSE(of_first.is_ready());
   first.push_constants.assign(3, '-');
   first.set.assign(3, '-');
   second.set.assign(5, '-');
   auto info = std::async(std::launch::async, [&] { return promised.info().workgroup_size[0]; });
   auto bytes = std::async(std::launch::async, [&] { return promised.serialize(); });

   promised.fulfil(std::make_shared<EchoPrograms>());
   EXPECT_TRUE(of_first.is_ready());
   EXPECT_EQ(of_first.get().error().message, first_text);
   EXPECT_EQ(of_second.get().error().message, second_text);
   EXPECT_EQ(info.get(), 5u);
   EXPECT_EQ(bytes.get(), std::vector(1, std::byte(7)));
   EXPECT_EQ(promised.program_for(Facts("three").facts).get().error().message,
             text_of(Facts("three").facts));
}

TEST(PromisedPrograms, ADispatchWithoutMemoryIsAnError)
{
   PromisedPrograms promised;
   const FutureProgram &bad = promised.program_for(Facts("no memory").facts),
                       &good = promised.program_for(Facts("memory").facts);
   promised.fulfil(std::make_shared<EchoPrograms>());
   EXPECT_EQ(bad.get().error().message, "no memory to choose a program");
   EXPECT_EQ(good.get().error().message, text_of(Facts("memory").facts));
}

/// The copies of facts must not take unbounded memory.
TEST(PromisedPrograms, ManyOrLargeDispatchesWait)
{
   for (const bool is_large : {false, true}) {
      PromisedPrograms promised;
      for (int i = 0; !is_large && i < 256; i++)
         EXPECT_FALSE(promised.program_for(Facts("x").facts).is_ready());
      Facts last("last", std::string(is_large ? 20'000 : 1, 's'));
      auto waits =
         std::async(std::launch::async, [&] { return &promised.program_for(last.facts); });
      EXPECT_EQ(waits.wait_for(20ms), std::future_status::timeout);
      promised.fulfil(std::make_shared<EchoPrograms>());
      EXPECT_EQ(waits.get()->get().error().message, text_of(last.facts));
   }
}

TEST(PromisedPrograms, AreMadeOnAnotherThread)
{
   std::promise<void> may_end;
   const auto programs = promise_programs(
      info_of(3), [&, here = std::this_thread::get_id()]() -> Result<std::shared_ptr<Programs>> {
         EXPECT_NE(std::this_thread::get_id(), here);
         may_end.get_future().wait();
         return std::shared_ptr<Programs>(std::make_shared<EchoPrograms>());
      });
   const FutureProgram &early = programs->program_for(Facts("one").facts);
   EXPECT_FALSE(early.is_ready());
   may_end.set_value();
   EXPECT_EQ(early.get().error().message, text_of(Facts("one").facts));
}

TEST(PromisedPrograms, AnErrorIsTheResultOfAllDispatches)
{
   using Made = Result<std::shared_ptr<Programs>>;
   const auto fails = [](const std::function<Made()> &make) {
      const auto programs = promise_programs(info_of(3), make);
      EXPECT_EQ(programs->info().workgroup_size[0], 3u);
      EXPECT_TRUE(programs->serialize().empty());
      return programs->program_for({}).get().error().message;
   };
   EXPECT_EQ(fails([] { return Made(Error{"no pass"}); }), "no pass");
   EXPECT_EQ(fails([]() -> Made { throw std::runtime_error("no memory"); }), "no memory");
}

} // namespace
} // namespace weft::cpu
