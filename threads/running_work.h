// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Work that the end of the process, or the removal of this library from it, waits for.

#pragma once

namespace weft {

/// Compilers keep tables in objects of static storage, which exit() and dlclose() destroy while
/// other threads go on.  While a RunningWork lives, both wait before they destroy any object that
/// is older than the latest end of such work.  Once they have begun, no work starts any more.
///
/// So work may only make objects of static storage where none of it has ended yet: LLVM's are made
/// by prepare_code_generation().  A test looks for others.
///
/// A child of fork() has none of the parent's threads, and does not wait for their work.
class RunningWork {
public:
   RunningWork();
   ~RunningWork();
   RunningWork(const RunningWork &) = delete;
   RunningWork &operator=(const RunningWork &) = delete;

   /// False: the process is ending, and the work must not be done.
   explicit operator bool() const { return granted; }

private:
   const bool granted;
};

/// The function that is called once the running work is over, before any object is destroyed; there
/// is one. It ends the threads that were to do more work.  It may be called several times, and by a
/// child of fork().  Null: none.
void call_at_end_of_work(void (*function)());

/// Waits for the running work as exit() does, and lets no work start any more.
void end_running_work();

} // namespace weft
