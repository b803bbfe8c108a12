// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/reconvergence_modes.h"

#include "nir_passes/front_end/spirv_words.h"

#include <optional>

namespace weft::spirv {

std::set<SpvExecutionMode> reconvergence_modes(std::span<const uint32_t> words,
                                               const std::string &entry_point)
{
   std::set<SpvExecutionMode> modes;
   /* SPIR-V 2.4: entry points precede their execution modes. */
   std::optional<uint32_t> function;
   for (const auto &[opcode, operands] : Instructions(words)) {
      if (opcode == SpvOpFunction)
         break;
      if (opcode == SpvOpEntryPoint && operands.size() >= 3 &&
          operands[0] == SpvExecutionModelGLCompute &&
          literal_string(operands.subspan(2)) == entry_point)
         function = operands[1];
      if (opcode == SpvOpExecutionMode && operands.size() >= 2 && operands[0] == function &&
          extension_of(SpvExecutionMode(operands[1])))
         modes.insert(SpvExecutionMode(operands[1]));
   }
   return modes;
}

const char *extension_of(SpvExecutionMode mode)
{
   switch (mode) {
   case SpvExecutionModeMaximallyReconvergesKHR:
      return "SPV_KHR_maximal_reconvergence";
   case SpvExecutionModeSubgroupUniformControlFlowKHR:
      return "SPV_KHR_subgroup_uniform_control_flow";
   default:
      return nullptr;
   }
}

} // namespace weft::spirv
