// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What the layer knows of a Vulkan object, by its handle.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace weft::layer {

/// The loader's dispatch table is the first word of every dispatchable object.  Physical devices
/// share their instance's, queues and command buffers their device's.
inline const void *dispatch_key(const void *dispatchable)
{
   return *static_cast<const void *const *>(dispatchable);
}

/// Thread-safe.  A pointer that find() gave stays valid until take(): Vulkan does not let an
/// application use an object while it destroys it.
template <typename Key, typename T>
class Registry {
public:
   T *find(Key key) const
   {
      if (empty())
         return nullptr;
      std::shared_lock lock(mutex);
      auto it = entries.find(key);
      return it == entries.end() ? nullptr : it->second.get();
   }

   /// May throw std::bad_alloc, and has not changed anything then.
   T *add(Key key, std::unique_ptr<T> value)
   {
      std::unique_lock lock(mutex);
      T *added = (entries[key] = std::move(value)).get();
      count = entries.size();
      return added;
   }

   std::unique_ptr<T> take(Key key)
   {
      if (empty())
         return nullptr;
      std::unique_lock lock(mutex);
      auto node = entries.extract(key);
      count = entries.size();
      return node ? std::move(node.mapped()) : nullptr;
   }

   bool empty() const { return count.load(std::memory_order_acquire) == 0; }

private:
   mutable std::shared_mutex mutex;
   std::unordered_map<Key, std::unique_ptr<T>> entries;
   std::atomic<size_t> count = 0; ///< spares programs without matrices the lock
};

} // namespace weft::layer
