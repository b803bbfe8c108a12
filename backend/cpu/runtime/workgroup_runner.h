// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Runs workgroups on one thread, one after the other. If the program has barriers, its kernel
/// usually is a SteppedKernel (abi.h): every subgroup runs its next step, until all have ended.
/// Other programs with barriers run in fibers.
///
/// The fibers of a workgroup form a ring. A barrier switches to the next fiber of the ring; a
/// finished fiber leaves it. So between two barriers every fiber runs once, in order, and when the
/// first fiber returns from a barrier all have arrived. Fibers persist: after a workgroup each
/// waits in its loop for the next one.
///
///     caller ──► fiber 0 ──► fiber 1 ──► … ──► fiber n-1 ──┐  (to the caller once empty)
///                   ▲──────────────────────────────────────┘

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
#include <span>
#include <vector>

namespace weft::cpu {

/// A subgroup that a kernel left (abi.h). In a program with barriers, it stands for all subgroups
/// of its workgroup.
struct LeftSubgroup {
   std::array<uint32_t, 3> workgroup_id;
   uint32_t subgroup;
};

/// Threads take at most this many units at once.
constexpr uint64_t max_chunk = 64;

/// A running dispatch; threads take chunks of its units. A unit is a workgroup, or one of the
/// subgroups that another program left.
struct Job {
   Kernel kernel;
   const ProgramInfo *info; ///< contains the sizes of the memory that each thread reserves
   const DispatchState *state;
   uint32_t subgroups;
   uint32_t joined;      ///< neighbouring workgroups along x that are one below (join_workgroups.h)
   uint32_t frame_bytes; ///< of a SteppedKernel, else 0
   bool fibers;          ///< one fiber per subgroup, for other programs with barriers
   std::array<uint32_t, 3> groups;
   std::span<const LeftSubgroup> left; ///< the units; empty: workgroups
   uint64_t total;                     ///< units
   uint32_t order;                     ///< seed of a random order (run_order.h); 0: ascending
   uint64_t chunk;                     ///< units taken at once
   /// The first workgroup that never began, because the kernel left too many subgroups; `total`:
   /// all began.
   uint64_t rest;
   alignas(64) std::atomic<uint64_t> next; ///< the first unit that no thread has taken

   /// A left subgroup then stands for all of its workgroup.
   bool shares_barriers() const { return fibers || frame_bytes; }
};

/// Whether each subgroup of a program's workgroups needs a fiber.
bool needs_fibers(const ProgramInfo &);

class WorkgroupRunner final : private WorkgroupState {
public:
   WorkgroupRunner();
   ~WorkgroupRunner();

   /// Reserves memory for a program's workgroups; false if there is none.
   bool reserve(const ProgramInfo &);

   /// Runs chunks of the job until none is left. Call reserve() for the job's program first.
   void run(Job &);

   /// The subgroups that the kernel left in run(); the executor takes them.
   std::vector<LeftSubgroup> left;

private:
   /// A suspended stack: jump_fcontext's handle.
   using Context = void *;

   struct Fiber {
      Context context;
      uint32_t previous, next; ///< in the ring
      void *fake_stack;        ///< AddressSanitizer's
      void *shadow;            ///< ThreadSanitizer's
   };

   static void barrier_entry(WorkgroupState *);
   static void begin_fiber(Fiber &, const FiberStacks &, uint32_t number);
   /// The body of every fiber.
   void fiber_loop();
   friend struct FiberEntry;

   /// Suspends the running fiber `from` and resumes `to` (caller_slot: the thread's own stack).
   void switch_fiber(uint32_t from, uint32_t to);
   /// The first action on a stack after a switch to it.
   void arrive(Context from_context, void *fake_stack);
   void run_chunks();
   void run_workgroups(uint64_t first, uint64_t last);
   void run_workgroup();
   void run_left(const LeftSubgroup &);
   void run_subgroup(uint32_t subgroup);
   void run_steps();
   void leave_workgroup();
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
   uint32_t caller_slot = 0; ///< the last element of `fibers` stands for the thread's own stack
   Fiber *fibers = nullptr;  ///< fibers of the set in use
   const FiberStacks *stacks = nullptr;

   /// Fibers with their stacks. A program runs on the smallest set that is large enough.
   struct FiberSet {
      FiberStacks stacks;
      std::vector<Fiber> fibers;
      uint64_t last_use;

      FiberSet(FiberStacks stacks, uint64_t use);
      ~FiberSet();
   };
   std::list<FiberSet> sets;
   uint64_t uses = 0; ///< calls of reserve()

   uint8_t *frames = nullptr;   ///< of all subgroups, behind the shared memory
   std::vector<uint32_t> steps; ///< each subgroup's next one

   std::vector<uint32_t> permutation; ///< of a workgroup's subgroups, in random order
   uint64_t workgroup_number = 0;     ///< of the current workgroup

   struct Free {
      void operator()(uint8_t *memory) const { std::free(memory); }
   };
   std::unique_ptr<uint8_t, Free> shared_memory;
   size_t shared_bytes = 0;
   uint64_t shared_last_use = 0; ///< of a large part of it; counts as `uses`

   // The thread's own stack, for AddressSanitizer.
   [[maybe_unused]] const void *caller_bottom = nullptr;
   [[maybe_unused]] size_t caller_size = 0;
};

} // namespace weft::cpu
