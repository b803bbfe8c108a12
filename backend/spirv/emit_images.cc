// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/translator.h"

namespace weft::spirv {

bool Translator::emit_image(nir_intrinsic_instr *)
{
   return false;
}

void Translator::emit_texture(nir_tex_instr *)
{
   fail("sampled images are not supported");
}

} // namespace weft::spirv
