// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "backend/spirv/module/module_builder.h"

#include "compiler/nir/nir.h"

namespace weft::spirv {

class Translator;

/// A block with an array of 32-bit words.
class PushConstants {
public:
   explicit PushConstants(Translator &);

   void emit_load(nir_intrinsic_instr *);

private:
   Translator &t;
   ModuleBuilder &m;
   Id variable = 0;
   unsigned first_word = 0; ///< the word index of the block's first word
};

} // namespace weft::spirv
