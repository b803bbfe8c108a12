// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/jit/program_file.h"

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/options.h"

#include <llvm-c/Core.h>
#include <llvm/Support/xxhash.h>

#include "shader_cache/cache_key.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

namespace weft::cpu {

namespace {

/// By FileKind.
constexpr char magics[][8] = {{'W', 'E', 'F', 'T', 'P', 'R', 'O', 'G'},
                              {'W', 'E', 'F', 'T', 'L', 'E', 'A', 'V'},
                              {'W', 'E', 'F', 'T', 'S', 'H', 'D', 'R'}};

struct Header {
   char magic[8];
   std::array<std::byte, 16> uuid;
   uint32_t workgroup_size[3];
   uint32_t subgroup_size, subgroups, joined_workgroups, shared_bytes, private_bytes, uses_barrier,
      reserved;
   uint64_t payload_bytes;
   uint64_t checksum;
};
static_assert(sizeof(Header) == 80 && std::is_trivially_copyable_v<Header>);

uint64_t checksum(Header header, std::span<const std::byte> payload)
{
   header.checksum = llvm::xxh3_64bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(payload.data()), payload.size()));
   return llvm::xxh3_64bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(&header), sizeof(header)));
}

} // namespace

std::array<std::byte, 16> cache_uuid()
{
   static const std::array<std::byte, 16> uuid = [] {
      const CpuFeatures &cpu = host_features();
      // LLVM is a shared library; its packages are updated without a new version number.
      const std::string key = build_name(reinterpret_cast<const void *>(&cache_uuid)) + "|" +
                              build_name(reinterpret_cast<const void *>(&LLVMGetVersion)) + "|" +
                              cpu.target.llvm_cpu + "|" + cpu.target.llvm_features + "|" +
                              cpu.brand + (options().has_debug("registers") ? "|registers" : "");
      const llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
         llvm::ArrayRef(reinterpret_cast<const uint8_t *>(key.data()), key.size()));
      std::array<std::byte, 16> bytes;
      std::memcpy(bytes.data(), &hash.low64, 8);
      std::memcpy(bytes.data() + 8, &hash.high64, 8);
      return bytes;
   }();
   return uuid;
}

std::vector<std::byte> write_program_file(FileKind kind, const ProgramInfo &info,
                                          std::span<const std::byte> payload)
{
   Header header = {};
   std::memcpy(header.magic, magics[size_t(kind)], sizeof(header.magic));
   header.uuid = cache_uuid();
   for (uint32_t i = 0; i < 3; i++)
      header.workgroup_size[i] = info.workgroup_size[i];
   header.subgroup_size = info.subgroup_size;
   header.subgroups = info.subgroups;
   header.joined_workgroups = info.joined_workgroups;
   header.shared_bytes = info.shared_bytes;
   header.private_bytes = info.private_bytes;
   header.uses_barrier = info.uses_barrier;
   header.payload_bytes = payload.size();
   header.checksum = checksum(header, payload);

   std::vector<std::byte> bytes(sizeof(header) + payload.size());
   std::memcpy(bytes.data(), &header, sizeof(header));
   std::copy(payload.begin(), payload.end(), bytes.begin() + sizeof(header));
   return bytes;
}

Result<ProgramFile> read_program_file(std::span<const std::byte> bytes)
{
   Header header;
   if (bytes.size() < sizeof(header))
      return Error{"compiled program: truncated"};
   std::memcpy(&header, bytes.data(), sizeof(header));
   const std::span<const std::byte> payload = bytes.subspan(sizeof(header));
   const auto magic = std::ranges::find_if(
      magics, [&](const char(&m)[8]) { return std::memcmp(header.magic, m, sizeof(m)) == 0; });
   if (magic == std::end(magics))
      return Error{"compiled program: not made by Weft"};
   if (header.uuid != cache_uuid())
      return Error{"compiled program: made by another version of Weft or for another CPU"};
   if (header.payload_bytes != payload.size())
      return Error{"compiled program: truncated"};
   if (header.checksum != checksum(header, payload))
      return Error{"compiled program: damaged"};

   ProgramFile file;
   file.kind = FileKind(magic - magics);
   for (uint32_t i = 0; i < 3; i++)
      file.info.workgroup_size[i] = header.workgroup_size[i];
   file.info.subgroup_size = header.subgroup_size;
   file.info.subgroups = header.subgroups;
   file.info.joined_workgroups = header.joined_workgroups;
   file.info.shared_bytes = header.shared_bytes;
   file.info.private_bytes = header.private_bytes;
   file.info.uses_barrier = header.uses_barrier != 0;
   file.payload.assign(payload.begin(), payload.end());
   return file;
}

} // namespace weft::cpu
