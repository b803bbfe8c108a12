// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weft_run/installation.h"

#include <elf.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace weft::weft_run {

namespace fs = std::filesystem;

namespace {

/// The "library_path" of a manifest of a driver or layer.
std::optional<std::string> library_of(const fs::path &manifest)
{
   std::ifstream file(manifest);
   const auto json = nlohmann::json::parse(file, nullptr, false);
   for (const char *kind : {"ICD", "layer"}) {
      if (!json.is_object() || !json.contains(kind) || !json[kind].is_object())
         continue;
      const auto path = json[kind].find("library_path");
      if (path != json[kind].end() && path->is_string())
         return path->get<std::string>();
   }
   return std::nullopt;
}

/// Whether the library ends before its section table, the last part of a linker's output. Loading
/// it would cause a bus error.
bool is_cut_off(const fs::path &library)
{
   std::ifstream file(library, std::ios::binary);
   Elf64_Ehdr header;
   if (!file.read(reinterpret_cast<char *>(&header), sizeof(header)))
      return file.eof();
   std::error_code error;
   return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
          fs::file_size(library, error) <
             header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize;
}

/// Resolves the path as loaders do: relative to the manifest, unless it is a name for the dynamic
/// linker.
std::string find_problem(const fs::path &manifest)
{
   const std::optional<std::string> library = library_of(manifest);
   if (!library)
      return manifest.string() + " names no library";
   if (library->find('/') == std::string::npos)
      return {};
   const fs::path path = manifest.parent_path() / *library;
   std::error_code error;
   const std::string names = manifest.string() + " names " + path.lexically_normal().string();
   if (!fs::exists(path, error))
      return names + ", which is not there";
   return is_cut_off(path) ? names + ", which is cut off: unpack or install it again" : "";
}

/// The first file in the folders whose name has this beginning and end.
Manifest find_manifest(const std::string &what, std::string_view begin, std::string_view end,
                       std::initializer_list<fs::path> folders)
{
   std::string searched;
   for (const fs::path &folder : folders) {
      std::vector<fs::path> found;
      std::error_code error;
      for (fs::directory_iterator it(folder, error), last; !error && it != last;
           it.increment(error)) {
         const std::string name = it->path().filename().string();
         if (name.starts_with(begin) && name.ends_with(end))
            found.push_back(it->path().lexically_normal());
      }
      if (!found.empty()) {
         const fs::path path = *std::ranges::min_element(found);
         return {path, find_problem(path)};
      }
      searched += (searched.empty() ? "" : " or ") + folder.lexically_normal().string();
   }
   return {{}, "no manifest of the " + what + " in " + searched};
}

} // namespace

fs::path own_folder()
{
   std::error_code error;
   return fs::read_symlink("/proc/self/exe", error).parent_path();
}

Installation find_installation(const fs::path &folder)
{
   const fs::path shared = folder / "../share/vulkan", build = folder / "../..";
   return {
      find_manifest("driver", "weft_icd.", ".json", {shared / "icd.d", build / "icd"}),
      find_manifest("layer", "VkLayer_weft_cooperative_matrix", ".json",
                    {shared / "explicit_layer.d", shared / "implicit_layer.d",
                     build / "layer/explicit_layer.d"}),
   };
}

} // namespace weft::weft_run
