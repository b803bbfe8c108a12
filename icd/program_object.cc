// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/program_object.h"

#include "icd/compute_shader.h"
#include "icd/device.h"

#include "vk_alloc.h"
#include "vk_device.h"

#include "util/blob.h"

#include <cstring>
#include <new>
#include <span>

namespace weft {
namespace {

ProgramObject *from_cache_object(vk_pipeline_cache_object *object)
{
   return reinterpret_cast<ProgramObject *>(object);
}

bool serialize(vk_pipeline_cache_object *object, blob *out)
{
   try {
      const std::vector<std::byte> bytes = from_cache_object(object)->programs->serialize();
      if (bytes.empty())
         return false;
      // A full blob of fixed size records that here; the runtime turns it into VK_INCOMPLETE.
      blob_write_bytes(out, bytes.data(), bytes.size());
      return true;
   } catch (const std::bad_alloc &) {
      return false;
   }
}

vk_pipeline_cache_object *deserialize(vk_pipeline_cache *cache, const void *key, size_t key_size,
                                      blob_reader *in)
{
   size_t size = in->end - in->current;
   const void *bytes = blob_read_bytes(in, size);
   CacheKey program_key;
   if (key_size != program_key.size() || !bytes)
      return nullptr;
   memcpy(program_key.data(), key, key_size);

   auto *device = reinterpret_cast<Device *>(cache->base.device);
   auto programs = cpu::deserialize_programs(std::span(static_cast<const std::byte *>(bytes), size),
                                             program_cache(device), program_key);
   if (!programs)
      return nullptr;
   ProgramObject *object =
      create_program_object(cache->base.device, program_key, std::move(*programs));
   return object ? &object->cache : nullptr;
}

void destroy(vk_device *device, vk_pipeline_cache_object *cache_object)
{
   ProgramObject *object = from_cache_object(cache_object);
   object->~ProgramObject();
   vk_free(&device->alloc, object);
}

const vk_pipeline_cache_object_ops program_ops = {
   .serialize = serialize,
   .deserialize = deserialize,
   .destroy = destroy,
};

} // namespace

ProgramObject *create_program_object(vk_device *device, const CacheKey &key,
                                     std::shared_ptr<cpu::Programs> programs)
{
   void *memory =
      vk_alloc(&device->alloc, sizeof(ProgramObject), 8, VK_SYSTEM_ALLOCATION_SCOPE_DEVICE);
   if (!memory)
      return nullptr;
   auto *object = new (memory) ProgramObject();
   object->key = key;
   object->programs = std::move(programs);
   vk_pipeline_cache_object_init(device, &object->cache, &program_ops, object->key.data(),
                                 object->key.size());
   return object;
}

ProgramObject *lookup_program(vk_pipeline_cache *cache, const CacheKey &key)
{
   if (!cache)
      return nullptr;
   bool hit;
   vk_pipeline_cache_object *object =
      vk_pipeline_cache_lookup_object(cache, key.data(), key.size(), &program_ops, &hit);
   return object ? from_cache_object(object) : nullptr;
}

ProgramObject *cache_program(vk_pipeline_cache *cache, ProgramObject *object)
{
   return cache ? from_cache_object(vk_pipeline_cache_add_object(cache, &object->cache)) : object;
}

void release_program(vk_device *device, ProgramObject *object)
{
   vk_pipeline_cache_object_unref(device, &object->cache);
}

} // namespace weft
