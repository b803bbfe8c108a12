// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A shader's programs, compiled or about to be, as the runtime's pipeline cache keeps it:
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

/// Null when host memory runs out.
ProgramObject *create_program_object(vk_device *, const CacheKey &, std::shared_ptr<cpu::Programs>);

/// The object of this key with a reference for the caller, or null.  The cache may be null.
ProgramObject *lookup_program(vk_pipeline_cache *, const CacheKey &);
/// Gives the caller's reference to the cache and returns one to the object that is in it now.  The
/// cache may be null.
ProgramObject *cache_program(vk_pipeline_cache *, ProgramObject *);
void release_program(vk_device *, ProgramObject *);

} // namespace weft
