// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "shader_cache/cache_settings.h"

#include <charconv>
#include <filesystem>
#include <string_view>

namespace weft {

namespace {

/// Parses a size in bytes; 0 if it is invalid. As in Mesa's variable, a number without a unit means
/// gigabytes.
uint64_t parse_size(std::string_view text)
{
   uint64_t number = 0;
   const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
   if (error != std::errc() || number > uint64_t(1) << 30)
      return 0;
   const std::string_view unit(end, size_t(text.data() + text.size() - end));
   if (unit.empty() || unit == "G" || unit == "g")
      return number << 30;
   if (unit == "M" || unit == "m")
      return number << 20;
   return unit == "K" || unit == "k" ? number << 10 : 0;
}

} // namespace

CacheSettings parse_cache_settings(const char *(*lookup)(const char *name),
                                   std::vector<std::string> &problems)
{
   CacheSettings s;
   const auto value_of = [&](const char *name) {
      const char *value = lookup(name);
      return std::string(value ? value : "");
   };
   const auto complain = [&](const char *name, const std::string &value, const char *expected) {
      problems.push_back(std::string(name) + "=" + value + ": expected " + expected);
   };

   if (const std::string text = value_of("WEFT_SHADER_CACHE_MAX_SIZE"); !text.empty()) {
      if (const uint64_t size = parse_size(text))
         s.limit = size;
      else
         complain("WEFT_SHADER_CACHE_MAX_SIZE", text,
                  "a number of gigabytes, or one with K, M or G");
   }
   const std::string off = value_of("WEFT_SHADER_CACHE_DISABLE");
   if (off == "1" || off == "true")
      return s;
   if (!off.empty() && off != "0" && off != "false")
      complain("WEFT_SHADER_CACHE_DISABLE", off, "true or false");

   constexpr const char *name = "weft_shader_cache";
   const std::filesystem::path chosen = value_of("WEFT_SHADER_CACHE_DIR"),
                               caches = value_of("XDG_CACHE_HOME"), home = value_of("HOME");
   std::error_code error;
   // A relative XDG_CACHE_HOME is ignored (XDG Base Directory Specification).
   if (!chosen.empty())
      s.folder = std::filesystem::absolute(chosen / name, error);
   else if (caches.is_absolute())
      s.folder = caches / name;
   else if (home.is_absolute())
      s.folder = home / ".cache" / name;
   return s;
}

} // namespace weft
