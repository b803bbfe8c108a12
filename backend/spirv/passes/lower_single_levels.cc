// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/passes/lower_single_levels.h"

namespace weft::spirv {

bool has_single_level(const nir_tex_instr &tex)
{
   return tex.sampler_dim == GLSL_SAMPLER_DIM_BUF || tex.sampler_dim == GLSL_SAMPLER_DIM_MS;
}

bool lower_single_levels(nir_shader *nir)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   bool progress = false;
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_tex)
            continue;
         nir_tex_instr *tex = nir_instr_as_tex(instr);
         const int level = nir_tex_instr_src_index(tex, nir_tex_src_lod);
         if (level < 0 || !has_single_level(*tex))
            continue;
         nir_tex_instr_remove_src(tex, unsigned(level));
         progress = true;
      }
   }
   nir_metadata_preserve(impl, nir_metadata_all);
   return progress;
}

} // namespace weft::spirv
