// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Operations of matrices for programs of tests: all kinds of component types.

#pragma once

#include "nir_passes/matrix_support.h"

#include <vector>

namespace weft::fuzz {

inline const std::vector<MatrixOperation> operations = {
   {8, 8, 8, ComponentType::f16, ComponentType::f16, ComponentType::f16, ComponentType::f16, false},
   {8, 8, 8, ComponentType::f16, ComponentType::f16, ComponentType::f32, ComponentType::f32, false},
   {8, 8, 32, ComponentType::s8, ComponentType::u8, ComponentType::s32, ComponentType::s32, true},
   {8, 8, 8, ComponentType::bf16, ComponentType::bf16, ComponentType::bf16, ComponentType::bf16,
    false},
   {8, 8, 8, ComponentType::e4m3, ComponentType::e5m2, ComponentType::f32, ComponentType::f32,
    false},
   {8, 8, 8, ComponentType::s16, ComponentType::s16, ComponentType::s16, ComponentType::s16, false},
   {8, 8, 8, ComponentType::s64, ComponentType::u64, ComponentType::s64, ComponentType::s64, true},
};

} // namespace weft::fuzz
