// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Runs programs on all CPUs that the process may use.

#pragma once

#include "backend/cpu/compiler.h"

#include <array>
#include <memory>

namespace weft::cpu {

/// WEFT_THREADS, or one thread per CPU that the process can use (usable_cpus.h).
uint32_t default_threads();
/// WEFT_ORDER, or 0: ascending order.
uint32_t default_order_seed();

/// A pool of threads; the calling thread takes part while it dispatches. The subgroups of a
/// workgroup run as fibers on one thread, so a barrier is a switch of stacks, without lock or heap.
class Executor {
public:
   /// 0 threads: default_threads(). A seed other than 0 shuffles workgroups, and the subgroups of
   /// each.
   explicit Executor(uint32_t threads = 0, uint32_t order_seed = default_order_seed());
   ~Executor();
   Executor(const Executor &) = delete;
   Executor &operator=(const Executor &) = delete;

   /// Runs workgroups (0,0,0) up to `groups`, each shifted by state.base_workgroup, and returns
   /// when all are done. Runs one dispatch at a time. Returns false without memory for a
   /// workgroup's stacks or shared memory, or for the code of a plain program; then some workgroups
   /// did not run.
   bool dispatch(const Program &, const DispatchState &state, std::array<uint32_t, 3> groups);

   uint32_t threads() const;

   /// Whether a dispatch is running whose workgroups need fewer threads than the process can use
   /// CPUs (usable_cpus.h). Any thread may call it.
   bool leaves_cpus_free() const;

private:
   struct Impl;
   std::unique_ptr<Impl> impl;
};

} // namespace weft::cpu
