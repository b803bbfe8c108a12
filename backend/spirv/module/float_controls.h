// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "backend/spirv/module/module_builder.h"

namespace weft::spirv {

class Translator;

/// The execution modes of SPV_KHR_float_controls.
class FloatControls {
public:
   /// An instruction of this size (16, 32 or 64) keeps signed zeros, infinities and NaNs.
   void preserve(unsigned bits) { preserved |= bits; }
   /// Of the entry point, once all its instructions are there.
   void declare(Translator &, Id function);

private:
   unsigned preserved = 0; ///< sizes, 16 | 32 | 64
};

} // namespace weft::spirv
