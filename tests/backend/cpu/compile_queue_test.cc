// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/specialize/compile_queue.h"

#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace weft::cpu {
namespace {

class FakeProgram final : public Program {
public:
   const ProgramInfo &info() const override { return nothing; }
   Kernel kernel() const override { return nullptr; }
   std::vector<std::byte> serialize() const override { return {std::byte(1), std::byte(2)}; }

private:
   const ProgramInfo nothing = {};
};

FutureProgram make(std::function<ProgramResult()> work, DiskCache *cache = nullptr,
                   const CacheKey &key = {})
{
   const auto promise = std::make_shared<ProgramPromise>();
   const FutureProgram program = promise->get_future().share();
   make_program(promise, cache, key, std::move(work));
   return program;
}

TEST(CompileQueue, KeepsPromises)
{
   const auto program = std::make_shared<const FakeProgram>();
   EXPECT_EQ(*make([&] { return ProgramResult(program); }).get(), program);
   EXPECT_EQ(make([] { return ProgramResult(Error{"no code"}); }).get().error().message, "no code");
}

TEST(CompileQueue, ExceptionsAreErrors)
{
   const FutureProgram failed =
      make([]() -> ProgramResult { throw std::runtime_error("no memory"); });
   EXPECT_EQ(failed.get().error().message, "no memory");
}

TEST(CompileQueue, TheCacheGetsProgramsAndNoErrors)
{
   test::ScratchFolder folder;
   DiskCache cache(folder.path / "cache", 1 << 20);
   const CacheKey good = {1}, bad = {2};
   make([] { return ProgramResult(std::make_shared<const FakeProgram>()); }, &cache, good).get();
   make([] { return ProgramResult(Error{"no code"}); }, &cache, bad).get();
   EXPECT_EQ(cache.read(good), (std::vector<std::byte>{std::byte(1), std::byte(2)}));
   EXPECT_FALSE(cache.read(bad));
}

TEST(CompileQueue, RunsWorkMeanwhile)
{
   std::promise<void> done;
   start_meanwhile([&] { done.set_value(); });
   EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

/// More tasks than run at once.
TEST(CompileQueue, RunsAllTasks)
{
   std::vector<FutureProgram> programs;
   for (int i = 0; i < 100; i++)
      programs.push_back(make([i] { return ProgramResult(Error{std::to_string(i)}); }));
   for (int i = 0; i < 100; i++)
      EXPECT_EQ(programs[i].get().error().message, std::to_string(i));
}

TEST(CompileQueue, LargeStacksReturnResults)
{
   EXPECT_EQ(*on_large_stack([] { return Result<int>(7); }), 7);
   EXPECT_EQ(on_large_stack([] { return Result<int>(Error{"seven"}); }).error().message, "seven");
}

} // namespace
} // namespace weft::cpu
