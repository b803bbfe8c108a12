// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/compute.h"

namespace weft::e2e {

static const char *const text = R"(
layout(local_size_x = $SIZE) in;
layout(push_constant, std430) uniform Push { uvec4 value; } push_block;
#define push push_block.value
layout(set = 0, binding = 0, std430) buffer Source { $SOURCE_TYPE data[]; } source;
layout(set = 0, binding = 1, std430) buffer Target { $TARGET_TYPE data[]; } target;
$DECLARATIONS
void main()
{
   const uint id = gl_GlobalInvocationID.x;
$BODY
}
)";

std::vector<std::byte> run_compute(Device &device, const ComputeShader &shader,
                                   std::span<const std::byte> source, size_t target_bytes,
                                   std::span<std::byte> source_after)
{
   Words words = shader.words;
   words.insert({{"SIZE", std::to_string(shader.local_size)},
                 {"SOURCE_TYPE", shader.source_type},
                 {"TARGET_TYPE", shader.target_type},
                 {"DECLARATIONS", shader.declarations},
                 {"BODY", shader.body}});
   Pipeline pipeline(device, compile_glsl(glsl_header + expand(text, words)),
                     {.bindings = {1, 1},
                      .push_bytes = sizeof(shader.push),
                      .subgroup_size = shader.subgroup_size,
                      .spec_constants = shader.spec_constants});
   Buffer from(device, std::max<size_t>(source.size(), 16)), to(device, target_bytes);
   memcpy(from.bytes().data(), source.data(), source.size());
   oracle::fill_poison(to.bytes());
   pipeline.dispatch({from, to}, {shader.groups, 1, 1}, shader.push);
   count_case();
   std::copy_n(from.bytes().begin(), source_after.size(), source_after.begin());
   return {to.bytes().begin(), to.bytes().end()};
}

} // namespace weft::e2e
