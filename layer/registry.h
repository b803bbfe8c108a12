// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The layer's data about Vulkan objects, by their handles.

#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace weft::layer {

/// The loader's dispatch table, the first word of every dispatchable object. Physical devices share
/// it with their instance, queues and command buffers with their device.
inline const void *dispatch_key(const void *dispatchable)
{
   return *static_cast<const void *const *>(dispatchable);
}

/// Thread-safe. A pointer from find() stays valid until take(): Vulkan forbids an application to
/// use an object while it destroys it. Drivers may give equal objects equal handles (Vulkan,
/// "Object Lifetime"), so the data stays until the last of them is taken.
template <typename Key, typename T>
class Registry {
public:
   T *find(Key key) const
   {
      if (empty())
         return nullptr;
      std::shared_lock lock(mutex);
      auto it = entries.find(key);
      return it == entries.end() ? nullptr : it->second.value.get();
   }

   /// May throw std::bad_alloc, without an effect.
   T *add(Key key, std::unique_ptr<T> value)
   {
      std::unique_lock lock(mutex);
      Entry &entry = entries[key];
      entry.objects++;
      if (!entry.value)
         entry.value = std::move(value);
      count = entries.size();
      return entry.value.get();
   }

   /// Null while other objects have this handle.
   std::unique_ptr<T> take(Key key)
   {
      if (empty())
         return nullptr;
      std::unique_lock lock(mutex);
      auto it = entries.find(key);
      if (it == entries.end() || --it->second.objects)
         return nullptr;
      std::unique_ptr<T> value = std::move(it->second.value);
      entries.erase(it);
      count = entries.size();
      return value;
   }

   bool empty() const { return count.load(std::memory_order_acquire) == 0; }

private:
   struct Entry {
      std::unique_ptr<T> value;
      size_t objects = 0;
   };

   mutable std::shared_mutex mutex;
   std::map<Key, Entry> entries;
   std::atomic<size_t> count = 0; ///< programs without matrices take no lock
};

/// A static object without a destructor: exit handlers of the application may use its Vulkan
/// objects after the handlers of this library.
template <typename T>
union Undestroyed {
   T value;
   Undestroyed() : value() {}
   ~Undestroyed() {}
};

} // namespace weft::layer
