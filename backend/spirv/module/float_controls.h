// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "backend/spirv/module/module_builder.h"

namespace weft::spirv {

class Translator;

/// The execution modes of SPV_KHR_float_controls.
class FloatControls {
public:
   /// Requires that instructions of this size (16, 32 or 64) preserve signed zeros, infinities and
   /// NaNs.
   void preserve(unsigned bits) { preserved |= bits; }
   /// Declares the modes of the entry point. Call it after all instructions are emitted.
   void declare(Translator &, Id function);

private:
   unsigned preserved = 0; ///< sizes, 16 | 32 | 64
};

} // namespace weft::spirv
