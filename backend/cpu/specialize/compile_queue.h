// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The threads that compile, as many as there are CPUs, while the application goes on. Their work
/// fails only without memory, at the end of the process, or by a bug: vkCreateComputePipelines has
/// reported all errors of the shader.

#pragma once

#include "backend/cpu/compiler.h"
#include "backend/cpu/specialize/shader_variants.h"
#include "threads/large_stack.h"

#include <functional>
#include <memory>
#include <optional>

namespace weft::cpu {

/// Creates LLVM's tables on a thread of its own during the NIR passes of a shader. The destructor
/// waits for the thread, because the application may call exit() next (running_work.h).
class TablesMeanwhile {
public:
   TablesMeanwhile();

private:
   std::optional<LargeStackThread> thread;
};

/// Calls `make` on another thread and fulfils the promise with its result. A program also goes into
/// the cache under the key; the cache may be null. Throws if there is no memory for the task; the
/// caller then fulfils the promise.
void make_program(const std::shared_ptr<ProgramPromise> &, DiskCache *, const CacheKey &,
                  std::function<ProgramResult()> make);

/// Calls `work` on another thread, or with false if the process is exiting. Throws if there is no
/// memory for the task.
void start_work(LargeStackThreads::Work);

/// Calls `work` on another thread if fewer programs are being compiled than there are CPUs. It must
/// not wait for other work: code that needs its result does it itself if it has not begun.
void start_meanwhile(std::function<void()> work) noexcept;

/// Calls `work` on a large stack and returns its result. An Error if the process is exiting.
template <typename Work>
auto on_large_stack(const Work &work) -> decltype(work())
{
   decltype(work()) result = Error{process_is_ending};
   (void)call_on_large_stack([&] { result = work(); });
   return result;
}

/// The same on the calling thread's own stack, for work without recursion: to read programs and to
/// link them. A process that finds a hundred programs in the cache starts no threads for them.
template <typename Work>
auto on_own_stack(const Work &work) -> decltype(work())
{
   decltype(work()) result = Error{process_is_ending};
   (void)call_in_environment([&] { result = work(); });
   return result;
}

} // namespace weft::cpu
