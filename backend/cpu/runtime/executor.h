// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Runs programs over all CPUs that the process may use.

#pragma once

#include "backend/cpu/compiler.h"

#include <array>
#include <memory>

namespace weft::cpu {

/// A pool of threads, one per CPU of the process's affinity mask (or fewer, if asked); the calling
/// thread is one of them while it dispatches.  The subgroups of a workgroup run as fibers on one
/// thread, so a barrier is a switch of stacks: no lock, no heap.
class Executor {
public:
   explicit Executor(uint32_t threads = 0); ///< 0: all that the process may use
   ~Executor();
   Executor(const Executor &) = delete;
   Executor &operator=(const Executor &) = delete;

   /// Runs workgroups (0,0,0) up to `groups`, each shifted by state.base_workgroup; returns when
   /// all are done. One dispatch at a time; false if there was no memory for a workgroup's stacks or
   /// shared memory, and nothing ran.
   bool dispatch(const Program &, const DispatchState &state, std::array<uint32_t, 3> groups);

   uint32_t threads() const;

private:
   struct Impl;
   std::unique_ptr<Impl> impl;
};

} // namespace weft::cpu
