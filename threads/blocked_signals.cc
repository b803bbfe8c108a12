// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "threads/blocked_signals.h"

#include <pthread.h>

#include <initializer_list>

namespace weft {

BlockedSignals::BlockedSignals()
{
   sigset_t blocked;
   sigfillset(&blocked);
   for (const int raised : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
      sigdelset(&blocked, raised);
   pthread_sigmask(SIG_SETMASK, &blocked, &before);
}

BlockedSignals::~BlockedSignals()
{
   pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace weft
