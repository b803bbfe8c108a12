// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Types of the driver's own cooperative matrices (SPV_KHR_cooperative_matrix).

#pragma once

#include "backend/spirv/module/values.h"

#include "compiler/nir/nir.h"

namespace weft::spirv {

class Translator;

Id matrix_type(Translator &, const glsl_type *matrix);
/// Unlike all other types here, matrices distinguish signed from unsigned integers.
Id matrix_component_type(Translator &, const glsl_type *matrix);
/// The kind of a component as a value: integer or real.
Kind component_kind(const glsl_type *matrix);

} // namespace weft::spirv
