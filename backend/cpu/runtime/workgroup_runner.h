// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Runs workgroups on one thread, one after the other: their subgroups are fibers if they meet at barriers.
///
/// The fibers of a workgroup form a ring.  A barrier switches to the next fiber of the ring, a fiber that is done leaves
/// it.  So between two barriers every fiber runs once, in order, and when the first one comes out of a barrier all have
/// arrived.  Fibers live on: after a workgroup each waits in its loop for the next one.
///
///      caller ──► fiber 0 ──► fiber 1 ──► … ──► fiber n-1 ──┐     (to the caller once the ring is empty)
///                    ▲──────────────────────────────────────┘

#pragma once

#include "backend/cpu/abi.h"
#include "backend/cpu/compiler.h"
#include "backend/cpu/kernels/tile_configuration.h"
#include "backend/cpu/runtime/fiber_stacks.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <list>
#include <memory>
#include <vector>

namespace weft::cpu {

/// A dispatch under way; threads take chunks of workgroups from it.
struct Job {
   Kernel kernel;
   const ProgramInfo *info; ///< for each thread to get memory by
   const DispatchState *state;
   uint32_t subgroups;
   bool fibers; ///< a fiber per subgroup, as the program has barriers
   std::array<uint32_t, 3> groups;
   uint64_t total;                         ///< workgroups
   uint32_t order;                         ///< seed of a random order (run_order.h); 0: in turn
   uint64_t chunk;                         ///< workgroups taken at once
   alignas(64) std::atomic<uint64_t> next; ///< the first workgroup that nobody has taken
};

class WorkgroupRunner final : private WorkgroupState {
public:
   WorkgroupRunner();
   ~WorkgroupRunner();

   /// Gets memory for a program's workgroups; false if there is none.
   bool reserve(const ProgramInfo &);

   /// Runs chunks of the job until none is left.  After reserve() for the job's program.
   void run(Job &);

private:
   /// jump_fcontext's handle of a suspended stack.
   using Context = void *;

   struct Fiber {
      Context context;
      uint32_t previous, next; ///< in the ring
      void *fake_stack;        ///< AddressSanitizer's
      void *shadow;            ///< ThreadSanitizer's
   };

   static void barrier_entry(WorkgroupState *);
   /// The body of every fiber.
   void fiber_loop();
   friend struct FiberEntry;

   /// Suspends the running fiber `from`, runs `to` (caller_slot: the thread's own stack).
   void switch_fiber(uint32_t from, uint32_t to);
   /// What a stack does first when it has been switched to.
   void arrive(Context from_context, void *fake_stack);
   void run_chunks();
   void run_workgroup();
   bool reserve_shared(size_t bytes);
   bool reserve_fibers(uint32_t count, size_t stack_bytes);
   bool add_fibers(uint32_t count, size_t stack_bytes);
   /// Returns the first fiber of the ring.
   uint32_t make_ring(uint32_t count);
   void leave_ring();
   void move_to(uint64_t workgroup);
   void move_to_next();

   Job *job = nullptr;
   uint32_t current = 0; ///< the running fiber
   uint32_t switched_from = 0;
   uint32_t caller_slot = 0; ///< fibers' last element stands for the thread's own stack
   Fiber *fibers = nullptr;  ///< of the set in use
   const FiberStacks *stacks = nullptr;

   /// Fibers with their stacks.  A program runs on the smallest set that is large enough.
   struct FiberSet {
      FiberStacks stacks;
      std::vector<Fiber> fibers;
      uint64_t last_use;

      FiberSet(FiberStacks stacks, uint64_t use);
      ~FiberSet();
   };
   std::list<FiberSet> sets;
   uint64_t uses = 0; ///< calls of reserve()

   std::vector<uint32_t> permutation; ///< of the subgroups of a workgroup, where a seed decides
   uint64_t workgroup_number = 0;     ///< of the workgroup that runs

   struct Free {
      void operator()(uint8_t *memory) const { std::free(memory); }
   };
   std::unique_ptr<uint8_t, Free> shared_memory;
   size_t shared_bytes = 0;
   uint64_t shared_last_use = 0; ///< of a good part of it

   // The thread's own stack, for AddressSanitizer.
   [[maybe_unused]] const void *caller_bottom = nullptr;
   [[maybe_unused]] size_t caller_size = 0;
};

} // namespace weft::cpu
