// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The shaders of pipeline_kinds(), as GLSL and as a model of their results.
///
/// Every invocation computes a number and writes it to a storage buffer. The number depends on the
/// workgroup's place and count, the push constants, a word of each descriptor of the layout, and
/// the lengths of storage buffers. So a wrong descriptor, offset, range or constant shows in
/// memory.

#pragma once

#include "tests/commands/program.h"

#include <functional>

namespace weft::commands {

std::string to_glsl(const PipelineKind &);

/// An element of a binding; 0 for an inline block.
struct Place {
   uint32_t set, binding, element;
};

/// The inputs of one invocation. Words are counted from a buffer's or a block's beginning.
struct ShaderWorld {
   std::array<uint32_t, shader_push_words> push;
   std::array<uint32_t, 3> base, count; ///< of workgroups
   std::function<uint32_t(const Place &)> length;
   std::function<uint32_t(const Place &, uint32_t word, uint32_t invocation)> load;
   std::function<void(const Place &, uint32_t word, uint32_t value, uint32_t invocation)> store;
   std::function<void(const Place &, uint32_t word, uint32_t value, uint32_t invocation)> add;
   std::function<uint32_t(uint32_t word, uint32_t invocation)> load_reference;
   std::function<void(uint32_t word, uint32_t value, uint32_t invocation)> store_reference;
};
void run_shader(const PipelineKind &, const ShaderWorld &);

} // namespace weft::commands
