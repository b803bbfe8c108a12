// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/runner/path.h"

#include <algorithm>
#include <ranges>

namespace weft::runner {

std::string name(const Path &path)
{
   std::string text = path.through_spirv ? "spirv-" : "";
   text += path.matrices == Matrices::tiles ? "tiles" : "registers";
   if (path.instruction_set) {
      const auto level = std::ranges::find(cpu::isa_levels(), *path.instruction_set,
                                           &cpu::IsaLevel::instruction_set);
      text += "/";
      text += level->word;
   }
   if (path.subgroup_size)
      text += "/w" + std::to_string(path.subgroup_size);
   if (!path.robust_access)
      text += "/unchecked";
   if (path.specialized)
      text += "/specialized";
   return text;
}

Result<Path> parse_path(std::string_view text)
{
   std::string levels;
   for (const cpu::IsaLevel &level : cpu::isa_levels())
      levels += "/" + std::string(level.word) + ", ";
   const Error error = {
      "the path '" + std::string(text) +
      "': expected tiles, registers, spirv-tiles or spirv-registers, and behind it any of " +
      levels + "/w8, /w16, /w32, /w64, /unchecked, /specialized"};
   Path path;
   std::string_view rest = text;
   const auto next = [&] {
      const std::string_view word = rest.substr(0, rest.find('/'));
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
      return word;
   };
   std::string_view kind = next();
   if (kind.starts_with("spirv-")) {
      path.through_spirv = true;
      kind.remove_prefix(6);
   }
   if (kind == "registers")
      path.matrices = Matrices::registers;
   else if (kind != "tiles")
      return error;
   while (!rest.empty()) {
      const std::string_view word = next();
      const auto level = std::ranges::find(cpu::isa_levels(), word, &cpu::IsaLevel::word);
      if (level != cpu::isa_levels().end())
         path.instruction_set = level->instruction_set;
      else if (word == "w8")
         path.subgroup_size = 8;
      else if (word == "w16")
         path.subgroup_size = 16;
      else if (word == "w32")
         path.subgroup_size = 32;
      else if (word == "w64")
         path.subgroup_size = 64;
      else if (word == "unchecked")
         path.robust_access = false;
      else if (word == "specialized")
         path.specialized = true;
      else
         return error;
   }
   return path;
}

std::vector<Path> all_paths(uint32_t subgroup_size, bool robust_access)
{
   std::vector<Path> paths;
   for (const cpu::IsaLevel &level : std::views::reverse(cpu::isa_levels())) {
      const cpu::InstructionSet isa = level.instruction_set;
      if (isa > cpu::host_features().instruction_set)
         continue;
      for (bool through_spirv : {false, true}) {
         for (Matrices matrices : {Matrices::tiles, Matrices::registers})
            paths.push_back({matrices, through_spirv, isa, subgroup_size, robust_access, false});
      }
   }
   return paths;
}

} // namespace weft::runner
