// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/runner/path.h"

namespace weft::runner {

std::string name(const Path &path)
{
   std::string text = path.through_spirv ? "spirv-" : "";
   text += path.matrices == Matrices::tiles ? "tiles" : "registers";
   if (path.instruction_set)
      text += *path.instruction_set == cpu::InstructionSet::avx512 ? "/avx512" : "/avx2";
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
   const Error error = {
      "the path '" + std::string(text) +
      "': expected tiles, registers, spirv-tiles or spirv-registers, and behind "
      "it any of /avx2, /avx512, /w8, /w16, /w32, /w64, /unchecked, /specialized"};
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
      if (word == "avx2")
         path.instruction_set = cpu::InstructionSet::avx2;
      else if (word == "avx512")
         path.instruction_set = cpu::InstructionSet::avx512;
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
   const bool has_avx512 = cpu::host_features().instruction_set >= cpu::InstructionSet::avx512;
   std::vector<Path> paths;
   for (cpu::InstructionSet isa : {cpu::InstructionSet::avx512, cpu::InstructionSet::avx2}) {
      if (isa == cpu::InstructionSet::avx512 && !has_avx512)
         continue;
      for (bool through_spirv : {false, true}) {
         for (Matrices matrices : {Matrices::tiles, Matrices::registers})
            paths.push_back({matrices, through_spirv, isa, subgroup_size, robust_access, false});
      }
   }
   return paths;
}

} // namespace weft::runner
