// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The signal mask of the threads that driver and layer start.

#pragma once

#include <csignal>

namespace weft {

/// While it lives, the calling thread, and so every thread that it starts, blocks signals sent to
/// the process: the application's own threads receive them. Signals that an instruction raises stay
/// unblocked, because only the thread that executed it can handle them. For instance, tools
/// write-protect mapped memory and detect accesses by SIGSEGV; if that signal were blocked, the
/// kernel would end the process.
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
