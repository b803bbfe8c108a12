// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// A specialization constant: its SpecId and the bytes of its value (1, 2, 4 or 8; a bool has 4).
struct SpecConstant {
   uint32_t id;
   std::span<const std::byte> value;
};

/// One compute entry point of a SPIR-V module, specialized.
struct ShaderSource {
   std::span<const uint32_t> spirv;
   std::string entry_point;
   std::vector<SpecConstant> spec_constants;
};

} // namespace weft
