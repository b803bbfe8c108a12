// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What WEFT_DUMP_SPIRV asks for: the shaders that programs bring, for weftc.

#pragma once

#include "backend/cpu/compiler.h"

namespace weft {

/// Writes NAME.spv into the folder, and NAME.args with the options that make weftc compile it the
/// same way.  NAME is made of both files' contents.  Failures are reported on stderr.
void dump_spirv(const std::string &folder, const ShaderSource &, const cpu::CompileOptions &);

} // namespace weft
