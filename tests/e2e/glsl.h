// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compute shaders written by the tests as they run: text templates, and GLSL to SPIR-V in process.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace weft::e2e {

using Words = std::map<std::string, std::string>;

/// Replaces every $NAME (capitals, digits, underscores) by its word; an unknown name is a
/// std::logic_error.
std::string expand(const std::string &text, const Words &words);

/// #version and all extensions of the tests' shaders. The device needs an extension's feature only
/// if the shader uses its types.
extern const char *const glsl_header;

/// GLSL has no matrices of doubles; SPIR-V does. compile_glsl() therefore compiles
/// coopmat<float64_t, …> as if it were float, and widens every float of the module, so the source
/// cannot use single floats as well. In the same way int16_t and uint16_t stand for
/// coopmat<int64_t, …> and coopmat<uint64_t, …>; constants of 64 bits have to fit into 16. Returns
/// the reason why this source cannot be expressed, or an empty text.
std::string inexpressible(const std::string &source);

/// The supported glslang knows neither bfloat16 nor float8. For compile_glsl() the words
/// bfloat16_t, floate4m3_t and floate5m2_t become integers of the same size, with the sign of the
/// integers beside them. The source must have no other use for these integers. In the module they
/// become floats of an encoding, and their conversions become conversions of floats. Only whole
/// numbers can be constants.

/// Compiles for Vulkan 1.3; throws std::runtime_error with the numbered source.  With the
/// environment variable WEFT_DUMP_GLSL=FOLDER every source is also written there, named after the
/// running test.
std::vector<uint32_t> compile_glsl(const std::string &source);

} // namespace weft::e2e
