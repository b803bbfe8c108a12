// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "shader_cache/cache_key.h"

#include "threads/until_unload.h"
#include "util/build_id.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

namespace weft {

KeyBuilder::KeyBuilder(std::string_view kind)
{
   // Threads may use it while the process exits.
   static const auto &build =
      until_unload(new std::string(build_name(reinterpret_cast<const void *>(&build_name))));
   _mesa_blake3_init(&hasher);
   add(kind);
   add(build);
}

CacheKey KeyBuilder::finish()
{
   CacheKey key;
   _mesa_blake3_final(&hasher, key.data());
   return key;
}

std::string build_name(const void *address)
{
   if (const build_id_note *note = build_id_find_nhdr_for_addr(address))
      return {reinterpret_cast<const char *>(build_id_data(note)), build_id_length(note)};
   Dl_info info;
   struct stat file;
   if (dladdr(address, &info) && info.dli_fname && stat(info.dli_fname, &file) == 0)
      return std::to_string(file.st_mtim.tv_sec) + "." + std::to_string(file.st_mtim.tv_nsec) +
             "." + std::to_string(file.st_size);
   // A random name, which no other process has: keys with it are valid in this process only. Not
   // std::random_device: some builds of libstdc++ need glibc 2.36 for it.
   uint64_t random = 0;
   if (getentropy(&random, sizeof(random)) != 0)
      random = uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
   return "unknown " + std::to_string(random) + " " + std::to_string(getpid());
}

} // namespace weft
