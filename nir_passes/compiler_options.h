// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What NIR may leave to our back ends.

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// The instructions that NIR must not leave to a back end which emits LLVM IR, and the fusions it
/// should make.
extern const nir_shader_compiler_options llvm_compiler_options;

/// The same for one that emits SPIR-V for another compiler: nothing that hides what that compiler
/// would recognise.
extern const nir_shader_compiler_options spirv_compiler_options;

} // namespace weft
