// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Code that the validators of both final forms share.

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

#include <functional>
#include <string>

namespace weft {

/// Returns why an instruction is not in a form, or an empty string.
using Objection = std::function<std::string(nir_instr *)>;

/// Returns an Error for the shader's first instruction with an objection.
inline Result<bool> validate_instructions(nir_shader *nir, const Objection &objection)
{
   nir_foreach_block(block, nir_shader_get_entrypoint(nir)) {
      nir_foreach_instr(instr, block) {
         const std::string reason = objection(instr);
         if (!reason.empty())
            return Error{reason};
      }
   }
   return true;
}

/// Both forms have structured control flow.
inline std::string objection_to_jump(const nir_jump_instr *jump)
{
   return jump->type == nir_jump_break || jump->type == nir_jump_continue
             ? ""
             : "a jump other than break and continue is not supported";
}

} // namespace weft
