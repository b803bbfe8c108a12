// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The front end: one compute entry point of a SPIR-V module as NIR with cmat_* intrinsics.

#pragma once

#include "nir_passes/result.h"
#include "nir_passes/shader.h"
#include "nir_passes/target.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// A specialization constant: its SpecId and the bytes of its value (1, 2, 4 or 8; a bool has 4).
struct SpecializationConstant {
   uint32_t id;
   std::span<const std::byte> value;
};

struct SpirvModule {
   std::span<const uint32_t> words;
   std::string entry_point;
   std::vector<SpecializationConstant> constants;
};

/// Accepts the capabilities of a Vulkan 1.3 compute device.  Translates, then inlines everything
/// into the entry point: one function, no variable initializers, no unused interface variables.
/// Matrices are function_temp variables (as are the Private ones). Whatever the words are, this
/// returns: what the front end rejects is an Error with its message.
Result<Shader> spirv_to_nir(const SpirvModule &, const Target &, const PassObserver & = {});

} // namespace weft
