// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "threads/until_unload.h"

#include "threads/running_work.h"

#include <atomic>
#include <memory>

namespace weft {

namespace {

struct Kept {
   void (*function)(void *);
   void *object;
   Kept *next;
};

// No destructors: exit() must leave these alone, too.
constinit std::atomic<Kept *> latest = nullptr;
constinit std::atomic<bool> exits = false;

/// exit() calls the destructors of objects before the libraries' own (ELF's DT_FINI_ARRAY).
/// dlclose() calls the libraries' first: the last of a library's own destroys its objects.
struct Exit {
   ~Exit() { exits = true; }
};
const Exit at_exit;

[[gnu::destructor]] void destroy_objects()
{
   if (exits)
      return;
   end_running_work();
   call_at_end_of_work(nullptr); // the function's objects are destroyed now
   for (Kept *next = latest.exchange(nullptr); next;) {
      const std::unique_ptr<Kept> kept(next);
      next = kept->next;
      kept->function(kept->object);
   }
}

} // namespace

void call_at_unload(void (*function)(void *), void *object)
{
   auto *kept = new Kept{function, object, latest};
   while (!latest.compare_exchange_weak(kept->next, kept))
      ;
}

} // namespace weft
