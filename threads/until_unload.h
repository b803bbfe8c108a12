// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Objects that survive exit(), because other threads may still use them, and that dlclose()
/// destroys.

#pragma once

namespace weft {

/// Makes dlclose() of this library call function(object) after the running work has ended, for the
/// latest object first. exit() does not call it.
void call_at_unload(void (*function)(void *), void *object);

/// Keeps an object from `new` until dlclose().
template <typename T>
T &until_unload(T *object)
{
   call_at_unload([](void *kept) { delete static_cast<T *>(kept); }, object);
   return *object;
}

} // namespace weft
