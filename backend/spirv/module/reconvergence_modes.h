// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/spirv/spirv.h"

#include <cstdint>
#include <set>
#include <span>
#include <string>

namespace weft::spirv {

/// The execution modes about reconvergence that a module's compute entry point declares:
/// MaximallyReconvergesKHR and SubgroupUniformControlFlowKHR. The front end reads them, but NIR
/// cannot hold both.
std::set<SpvExecutionMode> reconvergence_modes(std::span<const uint32_t> spirv,
                                               const std::string &entry_point);

/// The extension that defines the mode.
const char *extension_of(SpvExecutionMode);

} // namespace weft::spirv
