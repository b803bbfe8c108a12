// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/compiler.h"
#include "nir_passes/spirv_words.h"

#include "compiler/spirv/spirv.h"

#include <algorithm>

namespace weft::cpu {

bool has_workgroup_matrices(std::span<const uint32_t> spirv)
{
   constexpr uint32_t workgroup = 2; // Scope
   std::vector<uint32_t> scopes;     // the constants that say so
   for (const auto &[opcode, operands] : Instructions(spirv)) {
      if (opcode == SpvOpFunction)
         return false;
      if (opcode == SpvOpConstant && operands.size() == 3 && operands[2] == workgroup)
         scopes.push_back(operands[1]);
      if (opcode == SpvOpTypeCooperativeMatrixKHR && operands.size() > 2 &&
          std::ranges::find(scopes, operands[2]) != scopes.end())
         return true;
   }
   return false;
}

} // namespace weft::cpu
