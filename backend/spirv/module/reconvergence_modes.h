// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/spirv/spirv.h"

#include <cstdint>
#include <set>
#include <span>
#include <string>

namespace weft::spirv {

/// The execution modes of a module's compute entry point that say where invocations are together
/// again: MaximallyReconvergesKHR and SubgroupUniformControlFlowKHR.  The front end reads them, and
/// NIR does not hold both.
std::set<SpvExecutionMode> reconvergence_modes(std::span<const uint32_t> spirv,
                                               const std::string &entry_point);

/// The extension that such a mode belongs to.
const char *extension_of(SpvExecutionMode);

} // namespace weft::spirv
