// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/promised_programs.h"

#include "backend/cpu/specialize/compile_queue.h"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

namespace weft::cpu {

namespace {

/// More dispatches, or dispatches with more facts, wait for the passes: the copies take memory.
constexpr size_t most_early = 256, most_early_bytes = 16 * 1024;

size_t size_of(const DispatchFacts &facts)
{
   size_t size = facts.push_constants.size();
   for (const std::span<const std::byte> set : facts.sets)
      size += set.size();
   return size;
}

} // namespace

PromisedPrograms::Early::Early(const DispatchFacts &original)
    : bytes(size_of(original)), facts(original), program(choice.get_future().share())
{
   size_t used = 0;
   const auto copy = [&](std::span<const std::byte> &fact) {
      const std::span<std::byte> own = std::span(bytes).subspan(used, fact.size());
      std::ranges::copy(fact, own.begin());
      used += fact.size();
      fact = own;
   };
   copy(facts.push_constants);
   for (std::span<const std::byte> &set : facts.sets)
      copy(set);
}

void PromisedPrograms::fulfil(std::shared_ptr<Programs> programs) noexcept
{
   owned = std::move(programs);
   {
      const std::lock_guard lock(mutex);
      made.store(owned.get(), std::memory_order_release);
   }
   made.notify_all();
   for (Early &dispatch : early) {
      const FutureProgram *program = &without_memory;
      try {
         program = &owned->program_for(dispatch.facts);
      } catch (const std::exception &) {
      }
      dispatch.choice.set_value(program);
      dispatch.bytes = {};
   }
}

Programs &PromisedPrograms::promised() const
{
   made.wait(nullptr, std::memory_order_acquire);
   return *made.load(std::memory_order_acquire);
}

const FutureProgram &PromisedPrograms::program_for(const DispatchFacts &facts)
{
   if (!made.load(std::memory_order_acquire) && size_of(facts) <= most_early_bytes) {
      const std::lock_guard lock(mutex);
      if (!made.load(std::memory_order_relaxed) && early.size() < most_early)
         return early.emplace_back(facts).program;
   }
   return promised().program_for(facts);
}

std::shared_ptr<Programs> promise_programs(const ProgramInfo &info,
                                           std::function<Result<std::shared_ptr<Programs>>()> make)
{
   const auto promised = std::make_shared<PromisedPrograms>();
   const auto made_or_error = [info, make = std::move(make)]() -> std::shared_ptr<Programs> {
      Result<std::shared_ptr<Programs>> made = Error{};
      try {
         made = make();
      } catch (const std::exception &e) {
         made = Error{e.what()};
      }
      return made ? *made : std::make_shared<OneProgram>(info, made.error());
   };
   start_work([=](bool may_run) {
      promised->fulfil(may_run ? made_or_error()
                               : std::make_shared<OneProgram>(info, Error{process_is_ending}));
   });
   return promised;
}

} // namespace weft::cpu
