// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Small shaders through the compiler, and searches in the text of the result.

#pragma once

#include "backend/spirv/compiler.h"
#include "tests/nir_passes/shaders.h"
#include "tests/spirv/assemble.h"

#include <string>
#include <vector>

namespace weft::test {

constexpr uint32_t spirv_versions[] = {0x00010300, 0x00010400, 0x00010500, 0x00010600};

spirv::CompileOptions options_for(const spirv::Driver &, uint32_t subgroup_size = 32);

/// The disassembled module, which has been found valid; or the compiler's error.
std::string compiled(const std::string &glsl, const spirv::Driver &driver = spirv::full_driver(),
                     uint32_t subgroup_size = 32);

/// The same of a shader in SPIR-V assembly, whose entry point is main.
std::string compiled_assembly(const std::string &text,
                              const spirv::Driver &driver = spirv::full_driver());

} // namespace weft::test
