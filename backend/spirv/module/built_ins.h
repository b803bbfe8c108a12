// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "backend/spirv/module/module_builder.h"

#include "compiler/nir/nir.h"

#include <map>

namespace weft::spirv {

class Translator;

/// Built-in inputs of 32-bit integers.
class BuiltIns {
public:
   void load(Translator &, nir_intrinsic_instr *, SpvBuiltIn);
   const std::map<SpvBuiltIn, Id> &all() const { return variables; }

private:
   std::map<SpvBuiltIn, Id> variables;
};

} // namespace weft::spirv
