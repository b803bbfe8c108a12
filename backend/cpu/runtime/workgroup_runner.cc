// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/workgroup_runner.h"

#include <boost/context/detail/fcontext.hpp>

#include <immintrin.h>

#include <algorithm>
#include <new>

#if WEFT_ASAN
#include <sanitizer/common_interface_defs.h>
#elif WEFT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace weft::cpu {

namespace {

namespace context = boost::context::detail;

/// For what generated code calls and for signal handlers, whose frames hold all vector and matrix
/// registers.
constexpr size_t stack_margin = WEFT_ASAN || WEFT_TSAN ? 256 << 10 : 48 << 10;

/// Round to nearest, denormals kept, no traps: what shaders expect, whatever the application has
/// set.
constexpr unsigned default_mxcsr = 0x1f80;

} // namespace

/// Where a new fiber begins; a type, so that it can be a friend.
struct FiberEntry {
   static void run(context::transfer_t transfer)
   {
      auto *runner = static_cast<WorkgroupRunner *>(transfer.data);
      runner->arrive(transfer.fctx, nullptr);
      _mm_setcsr(default_mxcsr);
      runner->fiber_loop();
   }
};

WorkgroupRunner::WorkgroupRunner() : WorkgroupState{}
{
   barrier = barrier_entry;
}

WorkgroupRunner::~WorkgroupRunner()
{
   forget_fibers();
}

bool WorkgroupRunner::reserve(const ProgramInfo &info)
{
   if (!shared_memory || info.shared_bytes > shared_bytes) {
      const size_t bytes = (std::max<size_t>(info.shared_bytes, 1) + 63) / 64 * 64;
      shared_memory.reset(static_cast<uint8_t *>(std::aligned_alloc(64, bytes)));
      shared_bytes = shared_memory ? bytes : 0;
      if (!shared_memory)
         return false;
   }
   shared = shared_memory.get();

   const uint32_t count = info.uses_barrier ? info.subgroups : 1;
   bool changed;
   if (!stacks.reserve(count, info.stack_bytes + stack_margin, changed)) {
      forget_fibers();
      return false;
   }
   // As many fibers as there are stacks, which may be more than this program needs.
   try {
      if (changed)
         make_fibers(std::max<uint32_t>(count, fibers.empty() ? 0 : fibers.size() - 1));
   } catch (const std::bad_alloc &) {
      return false;
   }
   return true;
}

void WorkgroupRunner::make_fibers(uint32_t count)
{
   forget_fibers();
   fibers.assign(count + 1, Fiber{});
   caller_slot = count;
   for (uint32_t i = 0; i < count; i++) {
      fibers[i].context = context::make_fcontext(stacks.top(i), stacks.size(i), FiberEntry::run);
#if WEFT_TSAN
      fibers[i].shadow = __tsan_create_fiber(0);
#endif
   }
}

void WorkgroupRunner::forget_fibers()
{
#if WEFT_TSAN
   for (uint32_t i = 0; i + 1 < fibers.size(); i++)
      __tsan_destroy_fiber(fibers[i].shadow);
#endif
   fibers.clear();
}

void WorkgroupRunner::run(Job &new_job)
{
   job = &new_job;
   // All fibers run on this thread, within this call.
   const TileConfiguration tiles(job->info->needs_tile_configuration);
   if (job->fibers) {
      run_chunks();
   } else {
      // Everything in one fiber: it has the stack that the program needs.
      make_ring(1);
      switch_fiber(caller_slot, 0);
   }
   job = nullptr;
}

void WorkgroupRunner::fiber_loop()
{
   for (;;) {
      if (job->fibers)
         job->kernel(job->state, this, current);
      else
         run_chunks();
      leave_ring();
   }
}

void WorkgroupRunner::run_chunks()
{
   for (;;) {
      const uint64_t first = job->next.fetch_add(job->chunk, std::memory_order_relaxed);
      if (first >= job->total)
         return;
      const uint64_t last = std::min(first + job->chunk, job->total);
      move_to(first);
      for (uint64_t i = first; i < last; i++) {
         run_workgroup();
         move_to_next();
      }
   }
}

void WorkgroupRunner::run_workgroup()
{
   if (job->fibers) {
      make_ring(job->subgroups);
      switch_fiber(caller_slot, 0);
   } else {
      for (uint32_t subgroup = 0; subgroup < job->subgroups; subgroup++)
         job->kernel(job->state, this, subgroup);
   }
}

void WorkgroupRunner::move_to(uint64_t workgroup)
{
   const uint32_t *base = job->state->base_workgroup;
   workgroup_id[0] = base[0] + uint32_t(workgroup % job->groups[0]);
   workgroup /= job->groups[0];
   workgroup_id[1] = base[1] + uint32_t(workgroup % job->groups[1]);
   workgroup_id[2] = base[2] + uint32_t(workgroup / job->groups[1]);
}

/// One number at a time, and nothing but what changes.  Were the numbers kept without the base, the
/// compiler would load two at once to add it, which waits for the store of the one that changed, and
/// all before it, to leave the CPU's queue: workgroups could not overlap.
void WorkgroupRunner::move_to_next()
{
   const uint32_t *base = job->state->base_workgroup;
   for (uint32_t axis = 0; axis < 2; axis++) {
      if (++workgroup_id[axis] - base[axis] < job->groups[axis])
         return;
      workgroup_id[axis] = base[axis];
   }
   workgroup_id[2]++;
}

void WorkgroupRunner::make_ring(uint32_t count)
{
   for (uint32_t i = 0; i < count; i++) {
      fibers[i].previous = i ? i - 1 : count - 1;
      fibers[i].next = i + 1 < count ? i + 1 : 0;
   }
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
      __sanitizer_start_switch_fiber(&fibers[from].fake_stack, stacks.top(to) - stacks.size(to),
                                     stacks.size(to));
#endif
#if WEFT_TSAN
   // The thread's own stack is left here and comes back here: this is where it is known.
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
