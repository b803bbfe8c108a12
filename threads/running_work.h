// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Work that exit(), or dlclose() of this library, waits for.

#pragma once

namespace weft {

/// Compilers keep tables in objects of static storage, which exit() and dlclose() destroy while
/// other threads still run. While a RunningWork lives, both wait before they destroy any object
/// that is older than the latest end of a RunningWork. Once they have begun, no work starts.
///
/// So work may create static objects only before the first work has ended:
/// prepare_code_generation() creates LLVM's. A test finds further tables.
///
/// A child of fork() lacks the parent's threads and does not wait for their work.
class RunningWork {
public:
   RunningWork();
   ~RunningWork();
   RunningWork(const RunningWork &) = delete;
   RunningWork &operator=(const RunningWork &) = delete;

   /// False: the process is exiting, and the work must not be done.
   explicit operator bool() const { return granted; }

private:
   const bool granted;
};

/// Sets the one function that is called after the running work has ended, before any object is
/// destroyed. It ends threads that wait for more work. It may be called repeatedly, and in a child
/// of fork(). Null: none.
void call_at_end_of_work(void (*function)());

/// Waits for the running work as exit() does, and prevents further work.
void end_running_work();

} // namespace weft
