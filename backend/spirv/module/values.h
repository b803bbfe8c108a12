// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What NIR's values are in SPIR-V.

#pragma once

#include "backend/spirv/module/module_builder.h"

#include <cstdint>

namespace weft::spirv {

enum class Kind : uint8_t { boolean, integer, real };

/// One component of a NIR value.
struct Scalar {
   Id id = 0;
   Kind kind = Kind::integer;
};

/// Where a memory access goes.
struct Pointer {
   Id id;
   SpvStorageClass storage;
   unsigned access = 0; ///< gl_access_qualifier of the variable, for shared memory
};

} // namespace weft::spirv
