// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The driver's own cooperative matrices (SPV_KHR_cooperative_matrix) as types.

#pragma once

#include "backend/spirv/module/values.h"

#include "compiler/nir/nir.h"

namespace weft::spirv {

class Translator;

Id matrix_type(Translator &, const glsl_type *matrix);
/// Matrices tell signed integers from unsigned ones, as nothing else here does.
Id matrix_component_type(Translator &, const glsl_type *matrix);
/// What a component is as a value: integer or real.
Kind component_kind(const glsl_type *matrix);

} // namespace weft::spirv
