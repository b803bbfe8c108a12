// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A shader's programs, compiled or pending, as an object of the runtime's pipeline cache:
/// reference-counted, found by cpu::cache_key(), written to and read from VkPipelineCache data.

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_pipeline_cache.h"

#include "backend/cpu/compiler.h"

#include <memory>

namespace weft {

struct ProgramObject {
   vk_pipeline_cache_object cache;
   CacheKey key;
   std::shared_ptr<cpu::Programs> programs;
};

/// Null without host memory.
ProgramObject *create_program_object(vk_device *, const CacheKey &, std::shared_ptr<cpu::Programs>);

/// Returns the object with this key, with a reference for the caller, or null. The cache may be
/// null.
ProgramObject *lookup_program(vk_pipeline_cache *, const CacheKey &);
/// Moves the caller's reference to the cache and returns a reference to the object that the cache
/// now holds. The cache may be null.
ProgramObject *cache_program(vk_pipeline_cache *, ProgramObject *);
void release_program(vk_device *, ProgramObject *);

} // namespace weft
