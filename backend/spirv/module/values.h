// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The representation of NIR's values in SPIR-V.

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

/// The target of a memory access.
struct Pointer {
   Id id;
   SpvStorageClass storage;
   unsigned access = 0; ///< gl_access_qualifier of the variable, for shared memory
};

} // namespace weft::spirv
