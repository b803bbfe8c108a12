// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The commands of the fake driver, by their names.

#pragma once

#include "tests/layer/fake_driver.h"

#include <algorithm>
#include <span>

namespace weft::layer_test {

/// The one that lives.
extern FakeDriver *driver;

/// An object with the loader's part: its dispatch table.
struct Dispatchable {
   const void *table;
};

template <typename Handle>
uint64_t number(Handle handle)
{
   return uint64_t(handle);
}

template <typename Handle>
Handle handle_of(uint64_t number)
{
   return Handle(number);
}

template <typename T>
T *find(const void *chain, VkStructureType type)
{
   auto *s = static_cast<const VkBaseInStructure *>(chain);
   while (s && s->sType != type)
      s = s->pNext;
   return reinterpret_cast<T *>(const_cast<VkBaseInStructure *>(s));
}

template <typename T>
VkResult give(const std::vector<T> &from, uint32_t *count, T *to)
{
   if (!to) {
      *count = uint32_t(from.size());
      return VK_SUCCESS;
   }
   const uint32_t given = std::min(*count, uint32_t(from.size()));
   for (uint32_t i = 0; i < given; i++)
      to[i] = from[i];
   *count = given;
   return given < from.size() ? VK_INCOMPLETE : VK_SUCCESS;
}

/// The loader's tables, one of each level; only their addresses matter.
inline const int instance_table = 0;
inline const int device_tables[4] = {};

struct Command {
   const char *name;
   PFN_vkVoidFunction function;
   const char *extension; ///< the command exists only with this extension
};

#define COMMAND(name, function, ...)                                                               \
   Command                                                                                         \
   {                                                                                               \
      name, reinterpret_cast<PFN_vkVoidFunction>(function), ##__VA_ARGS__                          \
   }

std::span<const Command> instance_commands();
std::span<const Command> device_commands();

} // namespace weft::layer_test
