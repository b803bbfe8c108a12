// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What the layer knows of a Vulkan object, by its handle.

#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace weft::layer {

/// The loader's dispatch table is the first word of every dispatchable object.  Physical devices
/// share their instance's, queues and command buffers their device's.
inline const void *dispatch_key(const void *dispatchable)
{
   return *static_cast<const void *const *>(dispatchable);
}

/// Thread-safe.  A pointer that find() gave stays valid until take(): Vulkan does not let an
/// application use an object while it destroys it.  Drivers may give equal objects equal handles
/// (Vulkan, "Object Lifetime"): what is known of one is kept until the last is taken.
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

   /// May throw std::bad_alloc, and has not changed anything then.
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

   /// Null while there are others of that handle.
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
   std::atomic<size_t> count = 0; ///< spares programs without matrices the lock
};

/// A static object that is never destroyed: exit handlers of the application may use its Vulkan
/// objects after those of this library were called.
template <typename T>
union Undestroyed {
   T value;
   Undestroyed() : value() {}
   ~Undestroyed() {}
};

} // namespace weft::layer
