// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Objects that exit() leaves alone, as other threads may still use them, and dlclose() destroys.

#pragma once

namespace weft {

/// Has dlclose() of this library call function(object) once the running work is over, for the
/// latest object first.  exit() calls nothing.
void call_at_unload(void (*function)(void *), void *object);

/// Keeps an object from `new` until then.
template <typename T>
T &until_unload(T *object)
{
   call_at_unload([](void *kept) { delete static_cast<T *>(kept); }, object);
   return *object;
}

} // namespace weft
