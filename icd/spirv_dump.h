// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// WEFT_DUMP_SPIRV: saves the application's shaders for weftc.

#pragma once

#include "backend/cpu/compiler.h"

namespace weft {

/// Writes NAME.spv to the folder, and NAME.args with the options that make weftc compile it the
/// same way. NAME is a hash of both files' contents. Errors are reported on stderr.
void dump_spirv(const std::string &folder, const ShaderSource &, const cpu::CompileOptions &);

} // namespace weft
