// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Commands that create several pipelines or shaders use several threads.

#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <functional>

namespace weft {

struct Device;

/// An application's allocator may be called only by the thread that called Vulkan (Vulkan, "Host
/// Memory").
bool may_use_threads(const Device *, const VkAllocationCallbacks *);

/// Calls `create(i)` for each i < count, on as many threads as can run at once. It must not throw.
void create_on_threads(size_t count, const std::function<void(size_t i)> &create);

} // namespace weft
