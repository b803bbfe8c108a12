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

/// The body of the shader's one function as text, without what varies or says nothing: comments,
/// the numbers of bytes in names, doubled blanks.
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
