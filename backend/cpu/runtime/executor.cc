// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/executor.h"

#include "backend/cpu/options.h"
#include "backend/cpu/runtime/usable_cpus.h"
#include "backend/cpu/runtime/workgroup_runner.h"
#include "threads/blocked_signals.h"
#include "threads/host_cpu.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <exception>
#include <new>
#include <span>
#include <thread>
#include <vector>

namespace weft::cpu {

namespace {

/// Before it sleeps, a thread waits for the next dispatch for this many pauses, some 10
/// microseconds. An application that submits many small dispatches then does not pay for a wake-up
/// each time.
constexpr int spin_pauses = 256;

/// Threads get about this many chunks each, so that late threads still find work.
constexpr uint64_t chunks_per_thread = 16;

/// A program that leaves more than one in this number of subgroups is slower than its plain one.
constexpr uint64_t worthwhile_share = 4;

/// usable_cpus(), called only once: it reads files, and libstdc++ 12's paths crash when memory is
/// short.
uint32_t counted_cpus()
{
   static const uint32_t cpus = usable_cpus();
   return cpus;
}

/// Returns once `word` differs from `old`.
void wait_while(const std::atomic<uint32_t> &word, uint32_t old)
{
   for (int i = 0; i < spin_pauses; i++) {
      if (word.load(std::memory_order_acquire) != old)
         return;
      pause_thread();
   }
   while (word.load(std::memory_order_acquire) == old)
      word.wait(old, std::memory_order_acquire);
}

} // namespace

struct Executor::Impl {
   /// The bit of `gate` that lets threads join the job. The other bits count the threads that have
   /// joined and are not done.
   static constexpr uint32_t open = 1u << 31;

   Job job;
   std::atomic<uint32_t> gate = 0;
   std::atomic<uint32_t> generation = 0;      ///< of jobs; sleeping threads wait for a change
   std::atomic<uint32_t> threads_at_work = 0; ///< at most as many as the work can use
   std::atomic<bool> stopping = false;
   std::vector<std::thread> threads;
   /// [0] belongs to the dispatching thread.
   std::vector<std::unique_ptr<WorkgroupRunner>> runners;

   explicit Impl(uint32_t count);
   ~Impl();
   void work(WorkgroupRunner &);
   bool join();
   void leave();
   void run_job(bool alone);
   bool run_units(const Program &, std::span<const LeftSubgroup>, uint64_t first, uint64_t end);
   std::vector<LeftSubgroup> take_left();
   bool run_left(PlainProgram &);
};

Executor::Impl::Impl(uint32_t count)
{
   // Allocates before the first thread starts: an exception later would find threads running.
   for (uint32_t i = 0; i < count; i++)
      runners.push_back(std::make_unique<WorkgroupRunner>());
   threads.reserve(count);

   const BlockedSignals inherited;
   while (threads.size() + 1 < count) {
      WorkgroupRunner &runner = *runners[threads.size() + 1];
      try {
         threads.emplace_back([this, &runner] { work(runner); });
      } catch (const std::exception &) {
         // The system has no more threads, or no memory for one. The pool uses the threads it has.
         break;
      }
      pthread_setname_np(threads.back().native_handle(), "weft");
   }
   runners.resize(threads.size() + 1);
}

Executor::Impl::~Impl()
{
   stopping = true;
   generation.fetch_add(1, std::memory_order_release);
   generation.notify_all();
   for (std::thread &thread : threads)
      thread.join();
}

void Executor::Impl::work(WorkgroupRunner &runner)
{
   uint32_t seen = 0;
   for (;;) {
      wait_while(generation, seen);
      seen = generation.load(std::memory_order_acquire);
      if (stopping)
         return;
      if (join()) {
         // A thread without memory leaves the work to the other threads.
         if (runner.reserve(*job.info))
            runner.run(job);
         leave();
      }
   }
}

/// False for a thread that arrives after the job is done.
bool Executor::Impl::join()
{
   uint32_t value = gate.load(std::memory_order_relaxed);
   while (value & open) {
      if (gate.compare_exchange_weak(value, value + 1, std::memory_order_acquire))
         return true;
   }
   return false;
}

void Executor::Impl::leave()
{
   if (gate.fetch_sub(1, std::memory_order_release) == 1)
      gate.notify_one();
}

void Executor::Impl::run_job(bool alone)
{
   if (alone) {
      runners[0]->run(job);
      return;
   }
   gate.store(open, std::memory_order_release);
   generation.fetch_add(1, std::memory_order_release);
   generation.notify_all();
   runners[0]->run(job);
   uint32_t value = gate.fetch_and(~open, std::memory_order_acquire) & ~open;
   while (value) {
      wait_while(gate, value);
      value = gate.load(std::memory_order_acquire);
   }
}

/// Runs the units from a number on. False, and runs nothing, without memory.
bool Executor::Impl::run_units(const Program &program, std::span<const LeftSubgroup> left,
                               uint64_t first, uint64_t end)
{
   const ProgramInfo &info = program.info();
   if (!runners[0]->reserve(info))
      return false;
   const uint64_t units = end - first;
   job.kernel = program.kernel();
   job.info = &info;
   job.subgroups = info.subgroups;
   job.joined = info.joined_workgroups;
   job.frame_bytes = info.frame_bytes;
   job.fibers = needs_fibers(info);
   job.left = left;
   job.total = job.rest = end;
   job.chunk = std::clamp<uint64_t>(units / (runners.size() * chunks_per_thread), 1, max_chunk);
   job.next.store(first, std::memory_order_relaxed);
   const uint64_t chunks = (units + job.chunk - 1) / job.chunk;
   threads_at_work.store(std::min<uint64_t>(chunks, runners.size()), std::memory_order_relaxed);
   run_job(units == 1 || runners.size() == 1);
   threads_at_work.store(0, std::memory_order_relaxed);
   return true;
}

/// Empties the runners' lists. Empty without memory.
std::vector<LeftSubgroup> Executor::Impl::take_left()
{
   std::vector<LeftSubgroup> all;
   try {
      for (const auto &runner : runners)
         all.insert(all.end(), runner->left.begin(), runner->left.end());
   } catch (const std::bad_alloc &) {
      all.clear();
   }
   for (const auto &runner : runners)
      runner->left.clear();
   return all;
}

/// Runs the subgroups that the job's kernel left, and the workgroups that did not begin.
bool Executor::Impl::run_left(PlainProgram &plain)
{
   const auto has_left = [](const auto &runner) { return !runner->left.empty(); };
   if (std::ranges::none_of(runners, has_left))
      return true;
   const std::vector<LeftSubgroup> left = take_left();
   if (left.empty())
      return false;
   const uint64_t rest = job.rest, total = job.total;
   const uint64_t units_per_workgroup = job.shares_barriers() ? 1 : job.subgroups;
   if (left.size() * worthwhile_share > rest * units_per_workgroup)
      plain.is_preferred = true;
   const auto &program = plain.get().get(); // waits until its code is generated
   return program && run_units(**program, left, 0, left.size()) &&
          (rest == total || run_units(**program, {}, rest, total));
}

uint32_t default_threads()
{
   return options().threads ? options().threads : usable_cpus();
}

uint32_t default_order_seed()
{
   return options().order;
}

Executor::Executor(uint32_t threads, uint32_t order_seed)
{
   counted_cpus();
   impl = std::make_unique<Impl>(threads ? threads : default_threads());
   impl->job.order = order_seed;
}

Executor::~Executor() = default;

uint32_t Executor::threads() const
{
   return impl->runners.size();
}

bool Executor::leaves_cpus_free() const
{
   const uint32_t threads = impl->threads_at_work.load(std::memory_order_relaxed);
   return threads > 0 && threads < counted_cpus();
}

bool Executor::dispatch(const Program &program, const DispatchState &state,
                        std::array<uint32_t, 3> groups)
{
   const uint32_t joined = program.info().joined_workgroups;
   assert(groups[0] % joined == 0);
   groups[0] /= joined;
   const uint64_t total = uint64_t(groups[0]) * groups[1] * groups[2];
   if (!total)
      return true;
   impl->job.state = &state;
   impl->job.groups = groups;
   PlainProgram *plain = program.plain();
   if (!plain)
      return impl->run_units(program, {}, 0, total);
   if (!plain->is_preferred)
      return impl->run_units(program, {}, 0, total) && impl->run_left(*plain);
   const auto &preferred = plain->get().get();
   return preferred && impl->run_units(**preferred, {}, 0, total);
}

} // namespace weft::cpu
