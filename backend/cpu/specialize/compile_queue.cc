// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/specialize/compile_queue.h"

#include "backend/cpu/jit/jit.h"
#include "backend/cpu/prepare.h"
#include "backend/cpu/runtime/executor.h"

#include "threads/running_work.h"
#include "threads/until_unload.h"

#include <atomic>
#include <exception>
#include <mutex>

namespace weft::cpu {

namespace {

constinit std::atomic<bool> has_tables = false;

/// LLVM creates the tables of its code generator at their first use. This is that use, before any
/// program's code is generated (running_work.h).
void make_tables()
{
   static std::once_flag once;
   std::call_once(once, [] {
      prepare_code_generation();
      has_tables = true;
   });
}

LargeStackThreads &code_threads()
{
   // Survives exit(), because other threads may still use it then.
   static LargeStackThreads &threads = []() -> LargeStackThreads & {
      auto *made = new LargeStackThreads(default_threads());
      call_at_end_of_work([] { code_threads().finish(); });
      return until_unload(made);
   }();
   return threads;
}

} // namespace

TablesMeanwhile::TablesMeanwhile()
{
   if (!has_tables)
      thread.emplace(make_tables);
}

void make_program(const std::shared_ptr<ProgramPromise> &promise, DiskCache *cache,
                  const CacheKey &key, std::function<ProgramResult()> make)
{
   prepare_to_compile();
   const auto run = [cache, key, make = std::move(make)]() -> ProgramResult {
      try {
         make_tables();
         ProgramResult program = make();
         if (cache && program)
            cache->write(key, (*program)->serialize());
         return program;
      } catch (const std::exception &e) {
         return Error{e.what()};
      }
   };
   code_threads().start([promise, run](bool may_run) {
      promise->set_value(may_run ? run() : Error{process_is_ending});
   });
}

void start_work(LargeStackThreads::Work work)
{
   code_threads().start(std::move(work));
}

void start_meanwhile(std::function<void()> work) noexcept
{
   try {
      code_threads().start_if_idle([work = std::move(work)](bool may_run) {
         if (may_run)
            work();
      });
   } catch (const std::exception &) {
      // Without memory, the code that needs the work does it.
   }
}

void prepare_to_compile() noexcept
{
   try {
      const TablesMeanwhile tables;
   } catch (const std::exception &) {
      // Without memory, the first compilation creates the tables.
   }
}

void prepare_for_device(const DiskCache *cache) noexcept
{
   if (!cache || !cache->has_entries())
      prepare_to_compile();
}

} // namespace weft::cpu
