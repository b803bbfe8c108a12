// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Targets, shaders and their text for the tests of NIR passes.

#pragma once

#include "nir_passes/stages.h"
#include "tests/e2e/glsl.h"

#include "compiler/nir/nir_builder.h"

#include <string>
#include <vector>

namespace weft::test {

/// 16x16x16 f16 -> f32, 8x8x8 f16 -> f16, and 16x16x32 s8 -> s32 with and without saturation.
std::vector<MatrixOperation> operations();
/// A back end that has these tiles, or none.
Target target(uint32_t subgroup_size, bool native_tiles);

/// A compute shader of GLSL, its entry point main.
struct Source {
   std::vector<uint32_t> spirv;
   std::vector<uint32_t> constant_values;
   std::vector<uint32_t> constant_ids;

   ShaderSource shader_source() const;
};

/// Adds the header and a workgroup of 64 invocations.
Source compile(const std::string &glsl);

/// The NIR of a shader with its matrices, before any of Weft's passes.
Shader translate(const std::string &glsl, Consumer, uint32_t subgroup_size);
/// Removes the rest of a lowering: constants, copies, dead variables and instructions.
void tidy(nir_shader *);
/// The text of a shader for a driver between lower_matrices()' passes, before lower_cmat, in which
/// the matrices are whole.
std::string before_lower_cmat(const Source &);

/// The body of the shader's one function as text, without its varying or empty parts: comments, the
/// numbers of bytes in names, doubled blanks.
std::string body(nir_shader *);
/// How often a part occurs in it.
unsigned count(const std::string &text, const std::string &part);
bool has(const std::string &text, const std::string &part);

/// A compute shader to build by hand.
struct Built {
   Built();
   TypeTable types;
   nir_builder b;
   Shader shader;
};

} // namespace weft::test
