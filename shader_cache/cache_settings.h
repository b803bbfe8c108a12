// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The environment variables of the shader cache, which driver and layer share. docs/settings.md
/// documents them for users.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct CacheSettings {
   /// weft_shader_cache in WEFT_SHADER_CACHE_DIR, else in XDG_CACHE_HOME, else in HOME's .cache.
   /// Empty (no cache) if none of them is set, or if WEFT_SHADER_CACHE_DISABLE is.
   std::string folder;
   uint64_t limit = uint64_t(1) << 30; ///< WEFT_SHADER_CACHE_MAX_SIZE, in bytes
};

/// `lookup` works like getenv; errors are appended to `problems`.
CacheSettings parse_cache_settings(const char *(*lookup)(const char *name),
                                   std::vector<std::string> &problems);

} // namespace weft
