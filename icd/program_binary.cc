// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/program_binary.h"

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

namespace weft {

namespace {

/// The beginning of a binary; the bytes of the programs follow.
struct BinaryHeader {
   char magic[16] = "Weft's shader";
   std::array<std::byte, VK_UUID_SIZE> uuid = cpu::cache_uuid(); ///< shaderBinaryUUID
   uint64_t version = shader_binary_version;
   uint64_t size = 0; ///< of the whole binary
   CacheKey key = {}; ///< of the programs
   CacheKey hash = {};
};
static_assert(std::has_unique_object_representations_v<BinaryHeader>);

/// The hash of a binary: of the header without it, and of the programs' bytes.
CacheKey hash_of(BinaryHeader header, std::span<const std::byte> programs)
{
   header.hash = {};
   KeyBuilder builder("binary of a shader object");
   builder.add_bytes(std::as_bytes(std::span(&header, 1)));
   builder.add_bytes(programs);
   return builder.finish();
}

} // namespace

std::vector<std::byte> write_binary(const KeyedPrograms &shader)
{
   const std::vector<std::byte> programs = shader.programs->serialize();
   if (programs.empty())
      return {};
   BinaryHeader header = {.size = sizeof(header) + programs.size(), .key = shader.key};
   header.hash = hash_of(header, programs);
   std::vector<std::byte> binary(header.size);
   memcpy(binary.data(), &header, sizeof(header));
   memcpy(binary.data() + sizeof(header), programs.data(), programs.size());
   return binary;
}

Result<KeyedPrograms> read_binary(std::span<const std::byte> bytes, DiskCache *cache)
{
   BinaryHeader header;
   const BinaryHeader own;
   if (bytes.size() < sizeof(header))
      return Error{"the binary is truncated"};
   memcpy(&header, bytes.data(), sizeof(header));
   const std::span programs = bytes.subspan(sizeof(header));
   if (memcmp(header.magic, own.magic, sizeof(own.magic)) != 0 || header.uuid != own.uuid ||
       header.version > own.version)
      return Error{"the binary is of another driver or version"};
   if (header.size != bytes.size() || header.hash != hash_of(header, programs))
      return Error{"the binary is truncated or damaged"};
   auto loaded = cpu::deserialize_programs(programs, cache, header.key);
   if (!loaded)
      return loaded.error();
   return KeyedPrograms{header.key, std::move(*loaded)};
}

} // namespace weft
