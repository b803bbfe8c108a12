// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// --emit: a stage of the compiler as text, SVG or a module.

#pragma once

#include "nir_passes/result.h"
#include "nir_passes/shader_source.h"
#include "tools/weftc/arguments.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace weft::weftc {

/// The entry point and constants from the arguments; refers to both parameters.
ShaderSource source_of(const Arguments &, std::span<const uint32_t> words);

struct Emitted {
   std::string text; ///< or bytes; after an error, the output so far
   std::optional<Error> error = {};
};

Emitted emit_stage(const Arguments &, std::span<const uint32_t> words);

/// The path to the CPU that the arguments describe, for commands other than --run.
runner::Path compile_path(const Arguments &);

/// Compiles for the CPU, with all buffers that the shader declares.
Result<std::shared_ptr<const cpu::Program>>
compile_for_cpu(const Arguments &, std::span<const uint32_t> words, const runner::CompileOptions &);

/// Compiles as the layer does, for the driver that the arguments describe.
Result<std::vector<uint32_t>>
compile_for_driver(const Arguments &, std::span<const uint32_t> words,
                   const std::function<void(const char *phase, const std::string &text)> &dump,
                   PassControl *);

} // namespace weft::weftc
