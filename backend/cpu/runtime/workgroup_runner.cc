// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/workgroup_runner.h"

#include "backend/cpu/runtime/run_order.h"

#include "threads/host_cpu.h"

#include <boost/context/detail/fcontext.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#if WEFT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif WEFT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace weft::cpu {

namespace {

namespace context = boost::context::detail;

/// Frees stacks and shared memory that this many dispatches have not used.
constexpr uint64_t keep_unused = 256;

/// Two programs share memory if it is at most this many times the need of one of them.
constexpr size_t worthwhile_growth = 4;

/// A thread whose workgroups left this number of subgroups ends the job: the plain program runs the
/// rest.
constexpr size_t many_left = 64;

/// Room for functions that generated code calls, and for signal handlers, whose frames hold all
/// vector and matrix registers.
constexpr size_t stack_margin = WEFT_ASAN || WEFT_TSAN ? 256 << 10 : 48 << 10;

/// Written bytes before and behind the shared memory. A vector with inactive lanes may start before
/// the first element or end behind the last one. If these lanes lie on a page that does not exist,
/// the CPU repeats the access in microcode, which takes 200 to 700 ns on Zen 4.
constexpr size_t shared_margin = 4096;
static_assert(shared_margin % max_frame_alignment == 0);

size_t align_memory(size_t bytes)
{
   return (bytes + max_frame_alignment - 1) / max_frame_alignment * max_frame_alignment;
}

} // namespace

/// The entry point of a new fiber; a struct, so that it can be a friend.
struct FiberEntry {
   static void run(context::transfer_t transfer)
   {
      auto *runner = static_cast<WorkgroupRunner *>(transfer.data);
      runner->arrive(transfer.fctx, nullptr);
      set_default_float_mode();
      runner->fiber_loop();
   }
};

bool needs_fibers(const ProgramInfo &info)
{
   return info.uses_barrier && info.subgroups > 1 && !info.frame_bytes;
}

WorkgroupRunner::WorkgroupRunner() : WorkgroupState{}
{
   barrier = barrier_entry;
}

WorkgroupRunner::~WorkgroupRunner() = default;

void WorkgroupRunner::begin_fiber(Fiber &fiber, const FiberStacks &stacks, uint32_t i)
{
   fiber.context = context::make_fcontext(stacks.top(i), stacks.size(i), FiberEntry::run);
#if WEFT_ASAN
   // Of the frames on an abandoned stack.
   __asan_unpoison_memory_region(stacks.top(i) - stacks.size(i), stacks.size(i));
#elif WEFT_TSAN
   if (fiber.shadow)
      __tsan_destroy_fiber(fiber.shadow);
   fiber.shadow = __tsan_create_fiber(0);
#endif
}

WorkgroupRunner::FiberSet::FiberSet(FiberStacks stacks_of_fibers, uint64_t use)
    : stacks(std::move(stacks_of_fibers)), fibers(stacks.count() + 1), last_use(use)
{
   for (uint32_t i = 0; i < stacks.count(); i++)
      begin_fiber(fibers[i], stacks, i);
}

WorkgroupRunner::FiberSet::~FiberSet()
{
#if WEFT_TSAN
   for (uint32_t i = 0; i < stacks.count(); i++)
      __tsan_destroy_fiber(fibers[i].shadow);
#endif
}

bool WorkgroupRunner::reserve(const ProgramInfo &info)
{
   uses++;
   std::erase_if(sets, [&](const FiberSet &set) { return uses - set.last_use > keep_unused; });
   try {
      const size_t own = align_memory(info.shared_bytes);
      if (!reserve_shared(own + size_t(info.subgroups) * info.frame_bytes) ||
          !reserve_fibers(needs_fibers(info) ? info.subgroups : 1, info.stack_bytes + stack_margin))
         return false;
      frames = shared + own;
      permutation.resize(info.subgroups);
      steps.resize(info.subgroups);
      left.reserve(many_left + max_chunk * (info.uses_barrier ? 1 : info.subgroups));
      return true;
   } catch (const std::bad_alloc &) {
      return false;
   }
}

bool WorkgroupRunner::reserve_shared(size_t bytes)
{
   bytes = align_memory(std::max<size_t>(bytes, 1));
   if (bytes * worthwhile_growth >= shared_bytes)
      shared_last_use = uses;
   if (bytes > shared_bytes || uses - shared_last_use > keep_unused) {
      shared_memory.reset(static_cast<uint8_t *>(
         std::aligned_alloc(max_frame_alignment, shared_margin + bytes + shared_margin)));
      shared_bytes = 0;
      if (!shared_memory)
         return false;
      shared_bytes = bytes;
      shared_last_use = uses;
      for (uint8_t *margin : {shared_memory.get(), shared_memory.get() + shared_margin + bytes}) {
         std::memset(margin, 0, shared_margin);
#if WEFT_ASAN
         // Only generated code, which AddressSanitizer does not check, may read it.
         ASAN_POISON_MEMORY_REGION(margin, shared_margin);
#endif
      }
   }
   shared = shared_memory.get() + shared_margin;
   return true;
}

bool WorkgroupRunner::reserve_fibers(uint32_t count, size_t stack_bytes)
{
   FiberSet *best = nullptr;
   for (FiberSet &set : sets) {
      if (set.stacks.hold(count, stack_bytes) &&
          (!best || set.stacks.mapped() < best->stacks.mapped()))
         best = &set;
   }
   if (!best) {
      if (!add_fibers(count, stack_bytes))
         return false;
      best = &sets.back();
   }
   // A use by a program that needs only a small part does not keep the set alive.
   if (FiberStacks::mapped(count, stack_bytes) * worthwhile_growth >= best->stacks.mapped())
      best->last_use = uses;
   stacks = &best->stacks;
   fibers = best->fibers.data();
   caller_slot = best->stacks.count();
   return true;
}

/// Adds a set as sets.back(). Replaces a set that is not much smaller, if the new one can serve
/// both.
bool WorkgroupRunner::add_fibers(uint32_t count, size_t stack_bytes)
{
   const size_t wanted = FiberStacks::mapped(count, stack_bytes);
   FiberStacks made;
   for (auto set = sets.begin(); set != sets.end(); ++set) {
      const uint32_t joint_count = std::max(count, set->stacks.count());
      const size_t joint_bytes = std::max(stack_bytes, set->stacks.usable_bytes());
      if (FiberStacks::mapped(joint_count, joint_bytes) / worthwhile_growth > wanted)
         continue;
      sets.erase(set);
      if (made.allocate(joint_count, joint_bytes)) {
         sets.emplace_back(std::move(made), uses);
         return true;
      }
      break;
   }
   if (!made.allocate(count, stack_bytes)) {
      sets.clear();
      if (!made.allocate(count, stack_bytes))
         return false;
   }
   sets.emplace_back(std::move(made), uses);
   return true;
}

void WorkgroupRunner::run(Job &new_job)
{
   job = &new_job;
   // All fibers run on this thread, within this call.
   const TileConfiguration tiles(job->info->needs_tile_configuration);
   if (job->fibers) {
      run_chunks();
   } else {
      // All workgroups run in one fiber, because its stack has the size that the program needs.
      fibers[0].previous = fibers[0].next = 0;
      switch_fiber(caller_slot, 0);
   }
   job = nullptr;
}

void WorkgroupRunner::fiber_loop()
{
   for (;;) {
      if (!job->fibers)
         run_chunks();
      else if (!job->kernel(job->state, this, current))
         leave_workgroup();
      leave_ring();
   }
}

/// The other subgroups wait at a barrier or have not begun: their fibers begin anew.
void WorkgroupRunner::leave_workgroup()
{
   Fiber &self = fibers[current];
   for (uint32_t i = self.next; i != current; i = fibers[i].next)
      begin_fiber(fibers[i], *stacks, i);
   self.previous = self.next = current;
   left.push_back({std::to_array(workgroup_id), current});
}

void WorkgroupRunner::run_chunks()
{
   for (;;) {
      const uint64_t first = job->next.fetch_add(job->chunk, std::memory_order_relaxed);
      if (first >= job->total)
         return;
      const uint64_t last = std::min(first + job->chunk, job->total);
      if (job->left.empty())
         run_workgroups(first, last);
      else
         std::ranges::for_each(job->left.subspan(first, last - first),
                               [&](const LeftSubgroup &subgroup) { run_left(subgroup); });
      if (left.size() >= many_left) {
         const uint64_t rest = job->next.exchange(job->total, std::memory_order_relaxed);
         if (rest < job->total)
            job->rest = rest;
      }
   }
}

void WorkgroupRunner::run_workgroups(uint64_t first, uint64_t last)
{
   if (job->order) {
      for (uint64_t i = first; i < last; i++) {
         workgroup_number = shuffled_workgroup(job->order, i, job->total);
         move_to(workgroup_number);
         run_workgroup();
      }
      return;
   }
   move_to(first);
   for (uint64_t i = first; i < last; i++) {
      run_workgroup();
      move_to_next();
   }
}

void WorkgroupRunner::run_left(const LeftSubgroup &subgroup)
{
   std::ranges::copy(subgroup.workgroup_id, workgroup_id);
   if (job->shares_barriers())
      run_workgroup();
   else
      run_subgroup(subgroup.subgroup);
}

void WorkgroupRunner::run_subgroup(uint32_t subgroup)
{
   if (!job->kernel(job->state, this, subgroup))
      left.push_back({std::to_array(workgroup_id), subgroup});
}

/// Runs one step of each subgroup, then the next one of each. All reach the same barriers, unless a
/// subgroup has ended before.
void WorkgroupRunner::run_steps()
{
   const auto kernel = reinterpret_cast<SteppedKernel>(reinterpret_cast<void (*)()>(job->kernel));
   if (job->order)
      shuffle_subgroups(permutation, job->order, workgroup_number);
   std::ranges::fill(steps, 0);
   for (bool all_ended = false; !all_ended;) {
      all_ended = true;
      for (uint32_t i = 0; i < job->subgroups; i++) {
         const uint32_t subgroup = job->order ? permutation[i] : i;
         uint32_t &step = steps[subgroup];
         if (step == last_step)
            continue;
         step =
            kernel(job->state, this, subgroup, frames + size_t(subgroup) * job->frame_bytes, step);
         if (step == left_step) {
            left.push_back({std::to_array(workgroup_id), subgroup});
            return;
         }
         all_ended &= step == last_step;
      }
   }
}

void WorkgroupRunner::run_workgroup()
{
   if (job->fibers) {
      switch_fiber(caller_slot, make_ring(job->subgroups));
   } else if (job->frame_bytes) {
      run_steps();
   } else if (job->order) {
      shuffle_subgroups(permutation, job->order, workgroup_number);
      for (const uint32_t subgroup : permutation)
         run_subgroup(subgroup);
   } else {
      for (uint32_t subgroup = 0; subgroup < job->subgroups; subgroup++)
         run_subgroup(subgroup);
   }
}

void WorkgroupRunner::move_to(uint64_t workgroup)
{
   const uint32_t *base = job->state->base_workgroup;
   workgroup_id[0] = base[0] + uint32_t(workgroup % job->groups[0]) * job->joined;
   workgroup /= job->groups[0];
   workgroup_id[1] = base[1] + uint32_t(workgroup % job->groups[1]);
   workgroup_id[2] = base[2] + uint32_t(workgroup / job->groups[1]);
}

/// Updates only the numbers that change, one at a time. If the ids were kept without the base, the
/// compiler would load two at once to add it. That load waits until the store of the changed one,
/// and all stores before it, leave the store queue: workgroups could not overlap.
void WorkgroupRunner::move_to_next()
{
   const uint32_t *base = job->state->base_workgroup;
   workgroup_id[0] += job->joined;
   if (workgroup_id[0] - base[0] < job->groups[0] * job->joined)
      return;
   workgroup_id[0] = base[0];
   if (++workgroup_id[1] - base[1] < job->groups[1])
      return;
   workgroup_id[1] = base[1];
   workgroup_id[2]++;
}

uint32_t WorkgroupRunner::make_ring(uint32_t count)
{
   if (job->order) {
      shuffle_subgroups(permutation, job->order, workgroup_number);
      for (uint32_t i = 0; i < count; i++) {
         fibers[permutation[i]].previous = permutation[i ? i - 1 : count - 1];
         fibers[permutation[i]].next = permutation[i + 1 < count ? i + 1 : 0];
      }
      return permutation[0];
   }
   for (uint32_t i = 0; i < count; i++) {
      fibers[i].previous = i ? i - 1 : count - 1;
      fibers[i].next = i + 1 < count ? i + 1 : 0;
   }
   return 0;
}

void WorkgroupRunner::leave_ring()
{
   const uint32_t self = current;
   const Fiber &fiber = fibers[self];
   fibers[fiber.previous].next = fiber.next;
   fibers[fiber.next].previous = fiber.previous;
   switch_fiber(self, fiber.next != self ? fiber.next : caller_slot);
}

void WorkgroupRunner::barrier_entry(WorkgroupState *state)
{
   auto *runner = static_cast<WorkgroupRunner *>(state);
   const uint32_t self = runner->current, next = runner->fibers[self].next;
   if (next != self)
      runner->switch_fiber(self, next);
}

void WorkgroupRunner::switch_fiber(uint32_t from, uint32_t to)
{
   current = to;
   switched_from = from;
#if WEFT_ASAN
   if (to == caller_slot)
      __sanitizer_start_switch_fiber(&fibers[from].fake_stack, caller_bottom, caller_size);
   else
      __sanitizer_start_switch_fiber(&fibers[from].fake_stack, stacks->top(to) - stacks->size(to),
                                     stacks->size(to));
#endif
#if WEFT_TSAN
   // A thread's own fiber is known only here, where the thread leaves its stack and returns to it.
   if (from == caller_slot)
      fibers[from].shadow = __tsan_get_current_fiber();
   __tsan_switch_to_fiber(fibers[to].shadow, 0);
#endif
   const context::transfer_t transfer = context::jump_fcontext(fibers[to].context, this);
   arrive(transfer.fctx, fibers[from].fake_stack);
}

void WorkgroupRunner::arrive(Context from_context, void *fake_stack)
{
#if WEFT_ASAN
   const void *bottom = nullptr;
   size_t size = 0;
   __sanitizer_finish_switch_fiber(fake_stack, &bottom, &size);
   if (switched_from == caller_slot) {
      caller_bottom = bottom;
      caller_size = size;
   }
#else
   static_cast<void>(fake_stack);
#endif
   fibers[switched_from].context = from_context;
}

} // namespace weft::cpu
