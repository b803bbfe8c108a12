// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Process-wide state without a destructor: threads may still use the driver while exit() runs. The
/// object is part of the library, so unloading leaks nothing if the object holds no memory by then.

#pragma once

#include <cstddef>
#include <new>

namespace weft {

template <typename T>
class NeverDestroyed {
public:
   template <typename... Args>
   explicit NeverDestroyed(Args... args)
   {
      new (bytes) T(args...);
   }

   T &get() { return *std::launder(reinterpret_cast<T *>(bytes)); }

private:
   alignas(T) std::byte bytes[sizeof(T)];
};

} // namespace weft
