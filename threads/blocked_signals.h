// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The signal mask of the threads that driver and layer start.

#pragma once

#include <csignal>

namespace weft {

/// While it lives, the calling thread, and so every thread that it starts, takes no signal that is
/// sent to the process: those are for the application's own threads.  What an instruction raises
/// stays open, since the thread that ran it is the only one that can take it: tools write-protect
/// mapped memory and learn of accesses by SIGSEGV, and with it blocked the kernel ends the process.
class BlockedSignals {
public:
   BlockedSignals();
   ~BlockedSignals();
   BlockedSignals(const BlockedSignals &) = delete;
   BlockedSignals &operator=(const BlockedSignals &) = delete;

private:
   sigset_t before;
};

} // namespace weft
