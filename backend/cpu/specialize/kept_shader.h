// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A shader between NIR's passes and the translation, as bytes: a tenth of its memory as NIR.
///
/// The payload of its file, and of a program's whose guards leave (program_file.h), is
///
///    robust_buffer_access | expressions | branches | NIR
///    | for each program: a byte for each decision | file of the program
///
/// Each list begins with the number of its members.

#pragma once

#include "backend/cpu/jit/program_file.h"
#include "backend/cpu/specialize/shader_variants.h"
#include "nir_passes/shader.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace weft::cpu {

struct KeptShader {
   ProgramInfo info;
   const CpuFeatures *cpu;
   bool robust_buffer_access;
   BranchConditions conditions;
   std::vector<std::byte> nir;
};

/// Empty if there is no memory for it.
std::vector<std::byte> pack_nir(const nir_shader *);
Shader unpack_nir(const KeptShader &);

/// A shader's file. Waits for its programs and leaves out a program whose compilation failed. Empty
/// if there is no memory for it.
std::vector<std::byte> write_shader(const KeptShader &, const ShaderVariants::Programs &,
                                    FileKind = FileKind::shader);

struct StoredShader {
   std::shared_ptr<const KeptShader> shader;
   ShaderVariants::Programs programs;
};

/// Reads the payload of a shader's file, for this CPU.
Result<StoredShader> read_shader_payload(const ProgramInfo &, std::span<const std::byte> payload,
                                         const CpuFeatures &);

} // namespace weft::cpu
