// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The shaders of pipeline_kinds(): as GLSL, and as what they compute.
///
/// Every invocation makes a number of its workgroup's place and count, of the push constants and of
/// a word of each descriptor that the layout has, the lengths of storage buffers included, and
/// writes it to a storage buffer.  So a descriptor, an offset, a range or a constant that is wrong
/// shows in memory.

#pragma once

#include "tests/commands/program.h"

#include <functional>

namespace weft::commands {

std::string to_glsl(const PipelineKind &);

/// Of a binding of a set, an element; where of an inline block, element is zero.
struct Place {
   uint32_t set, binding, element;
};

/// What one invocation sees of the world.  Words are counted from a buffer's or a block's
/// beginning.
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
