// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/compiler.h"

#include <algorithm>

namespace weft::cpu {

bool has_workgroup_matrices(std::span<const uint32_t> spirv)
{
   constexpr size_t header_words = 5;
   constexpr uint32_t op_constant = 43, op_function = 54, op_type_cooperative_matrix = 4456;
   constexpr uint32_t workgroup = 2; // Scope
   std::vector<uint32_t> scopes;     // the constants that say so
   for (size_t at = header_words; at < spirv.size();) {
      const uint32_t count = spirv[at] >> 16, opcode = spirv[at] & 0xffff;
      // Nothing has been checked yet.
      if (count == 0 || count > spirv.size() - at || opcode == op_function)
         return false;
      if (opcode == op_constant && count == 4 && spirv[at + 3] == workgroup)
         scopes.push_back(spirv[at + 2]);
      if (opcode == op_type_cooperative_matrix && count > 3 &&
          std::ranges::find(scopes, spirv[at + 3]) != scopes.end())
         return true;
      at += count;
   }
   return false;
}

} // namespace weft::cpu
