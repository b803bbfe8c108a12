// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// NIR's options for the back ends.

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Options for a back end that emits LLVM IR: instructions that NIR must lower, and fusions that it
/// should make.
extern const nir_shader_compiler_options llvm_compiler_options;

/// Options for a back end that emits SPIR-V for another compiler: no lowering that hides patterns
/// which that compiler would recognize.
extern const nir_shader_compiler_options spirv_compiler_options;

} // namespace weft
