// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/commands/shaders.h"

#include <algorithm>

namespace weft::commands {
namespace {

// Words of the push constants.
enum { first_read, first_write, step, salt, address, element_word = 7 };

/// A stretch of arithmetic, long enough that the compiler creates programs without it.
constexpr uint32_t rounds = 20;

uint32_t stretch(uint32_t v, uint32_t which)
{
   for (uint32_t r = 0; r < rounds; r++) {
      v = v * (0x9e3779b1u + 2 * (which * rounds + r));
      v ^= v >> (3 + (which + r) % 13);
   }
   return v;
}

std::string stretch_text(uint32_t which)
{
   std::string text;
   for (uint32_t r = 0; r < rounds; r++) {
      text += " v = v * " + std::to_string(0x9e3779b1u + 2 * (which * rounds + r)) +
              "u; v ^= v >> " + std::to_string(3 + (which + r) % 13) + ";";
   }
   return text + "\n";
}

/// The words that branches compare: a workgroup's place, their number, words 6 to 9 and the salt.
struct BranchView {
   std::array<uint32_t, 3> at, n;
   uint32_t a, b, c, d, salt;
};

/// Three conditions; the third one is evaluated if the first one holds.
struct BranchVariant {
   const char *text[3];
   bool (*holds[3])(const BranchView &);
};
constexpr BranchVariant branch_variants[] = {
   {{"at.x >= p.w[6]", "n.x > p.w[8]", "(p.w[3] & 1u) != 0u"},
    {[](const BranchView &v) { return v.at[0] >= v.a; },
     [](const BranchView &v) { return v.n[0] > v.c; },
     [](const BranchView &v) { return (v.salt & 1) != 0; }}},
   {{"at.x / 2u * 3u < p.w[6] + at.y", "int(at.x - p.w[8]) < 0",
     "min(at.x + at.y * n.x, p.w[9]) == p.w[9]"},
    {[](const BranchView &v) { return v.at[0] / 2 * 3 < v.a + v.at[1]; },
     [](const BranchView &v) { return int32_t(v.at[0] - v.c) < 0; },
     [](const BranchView &v) { return std::min(v.at[0] + v.at[1] * v.n[0], v.d) == v.d; }}},
   {{"((at.x + p.w[6]) & 3u) == 0u", "(at.z << 1) + at.x > p.w[8] && at.y < p.w[9]",
     "at.x % 2u == at.y % 2u"},
    {[](const BranchView &v) { return ((v.at[0] + v.a) & 3) == 0; },
     [](const BranchView &v) { return (v.at[2] << 1) + v.at[0] > v.c && v.at[1] < v.d; },
     [](const BranchView &v) { return v.at[0] % 2 == v.at[1] % 2; }}},
   {{"max(int(at.y) - int(p.w[6]), int(at.x)) > 1", "at.x == n.x - 1u",
     "p.w[6] != p.w[8] || at.z > 0u"},
    {[](const BranchView &v) {
        return std::max(int32_t(v.at[1]) - int32_t(v.a), int32_t(v.at[0])) > 1;
     },
     [](const BranchView &v) { return v.at[0] == v.n[0] - 1; },
     [](const BranchView &v) { return v.a != v.c || v.at[2] > 0; }}},
};

std::string name_of(uint32_t set, uint32_t binding)
{
   return "s" + std::to_string(set) + "b" + std::to_string(binding);
}

std::string declare(uint32_t set, const Binding &b, bool is_out)
{
   const std::string name = name_of(set, b.number);
   const std::string at =
      "(set = " + std::to_string(set) + ", binding = " + std::to_string(b.number);
   if (b.kind == DescriptorKind::inline_block)
      return "layout" + at + ", std430) uniform U" + name + " { uint w[" +
             std::to_string(b.count / 4) + "]; } " + name + ";\n";
   const std::string many = b.count > 1 ? "[" + std::to_string(b.count) + "]" : "";
   if (!is_storage(b.kind))
      return "layout" + at + ") uniform U" + name + " { uvec4 w[4]; } " + name + many + ";\n";
   return "layout" + at + ", std430) " + (is_out ? "" : "readonly ") + "buffer B" + name +
          " { uint w[]; } " + name + many + ";\n";
}

/// Calls a function with number, binding, and element for each element that a shader reads, or
/// whose length it uses. There is no element if the shader selects it from a binding of variable
/// count.
template <typename F>
void for_each_element(const PipelineKind &kind, F f)
{
   uint32_t n = 0;
   for (uint32_t s = 0; s < kind.layout.sets.size(); s++) {
      for (const Binding &b : set_kinds()[kind.layout.sets[s]].bindings) {
         const bool single = b.variable || b.kind == DescriptorKind::inline_block;
         for (uint32_t e = 0; e < (single ? 1 : b.count); e++)
            f(n++, s, b, b.variable ? none : e);
      }
   }
}

bool is_output(const PipelineKind &kind, uint32_t set, const Binding &b, uint32_t element)
{
   const SetKind &out = set_kinds()[kind.layout.sets[kind.out_set]];
   return set == kind.out_set && b.number == out.out_binding &&
          (element == none || element == out.out_element);
}

} // namespace

std::string to_glsl(const PipelineKind &kind)
{
   std::string text =
      "#version 460\n"
      "#extension GL_EXT_buffer_reference : require\n"
      "#extension GL_EXT_buffer_reference_uvec2 : require\n"
      "#extension GL_EXT_scalar_block_layout : require\n"
      "layout(constant_id = 0) const uint factor = 2;\n"
      "layout(local_size_x_id = 1, local_size_y = 1, local_size_z = 1) in;\n"
      "layout(buffer_reference, std430, buffer_reference_align = 4) buffer Reference "
      "{ uint w[]; };\n"
      "layout(push_constant, std430) uniform P { layout(offset = " +
      std::to_string(push_ranges[kind.layout.push].offset) + ") uint w[12]; } p;\n";
   const SetKind &out_kind = set_kinds()[kind.layout.sets[kind.out_set]];
   for (uint32_t s = 0; s < kind.layout.sets.size(); s++) {
      for (const Binding &b : set_kinds()[kind.layout.sets[s]].bindings)
         text += declare(s, b, s == kind.out_set && b.number == out_kind.out_binding);
   }
   text +=
      "void main() {\n"
      "   const uvec3 at = gl_WorkGroupID, n = gl_NumWorkGroups;\n"
      "   const uint i = (at.x % n.x + n.x * (at.y % n.y + n.y * (at.z % n.z))) * "
      "gl_WorkGroupSize.x + gl_LocalInvocationID.x;\n"
      "   uint v = p.w[3] * factor + at.x * 0x101u + at.y * 0x1003u + at.z * 0x10007u + n.x * 3u + "
      "n.y * 5u + n.z * 7u + gl_LocalInvocationID.x * 11u;\n";
   for (uint32_t w = address + 2; w < shader_push_words; w++)
      text += "   v = v * 33u + p.w[" + std::to_string(w) + "];\n";
   std::string out;
   for_each_element(kind, [&](uint32_t number, uint32_t s, const Binding &b, uint32_t e) {
      std::string name = name_of(s, b.number);
      if (e == none)
         name += "[p.w[7] & " + std::to_string(b.count - 1) + "u]";
      else if (b.count > 1 && b.kind != DescriptorKind::inline_block)
         name += "[" + std::to_string(e) + "]";
      const std::string index = "p.w[0] + p.w[2] * i + " + std::to_string(number) + "u";
      if (is_storage(b.kind)) {
         const std::string length = "uint(" + name + ".w.length())";
         if (is_output(kind, s, b, e))
            out = name;
         else
            text += "   v = v * 33u + " + name + ".w[" +
                    (kind.raw ? index : "(" + index + ") % max(" + length + ", 1u)") + "];\n";
         text += "   v = v * 33u + " + length + ";\n";
      } else if (b.kind == DescriptorKind::inline_block) {
         text += "   v = v * 33u + " + name + ".w[(" + index + ") % " +
                 std::to_string(b.count / 4) + "u];\n";
      } else {
         text += "   { const uint k = (" + index + ") & 15u; v = v * 33u + " + name +
                 ".w[k >> 2][k & 3u]; }\n";
      }
   });
   if (kind.shader == ShaderKind::branches) {
      const BranchVariant &variant = branch_variants[kind.variant];
      text += std::string("   if (") + variant.text[0] + ") {\n" + stretch_text(0) + "   if (" +
              variant.text[2] + ") {\n" + stretch_text(1) + "   }\n   } else {\n" +
              stretch_text(2) + "   }\n   if (" + variant.text[1] + ") {\n" + stretch_text(3) +
              "   } else {\n" + stretch_text(4) + "   }\n";
   }
   if (kind.shader == ShaderKind::reference)
      text += "   Reference r = Reference(uvec2(p.w[4], p.w[5]));\n"
              "   v = v * 33u + r.w[(p.w[0] + p.w[2] * i) & 7u];\n"
              "   r.w[8u + i] = v + 1u;\n";
   const std::string length = "uint(" + out + ".w.length())";
   if (kind.shader == ShaderKind::atomics)
      text += "   if (" + length + " > 0u) atomicAdd(" + out + ".w[p.w[1] % " + length + "], v);\n";
   else if (kind.raw)
      text += "   " + out + ".w[p.w[1] + i] = v;\n";
   else
      text += "   if (p.w[1] + i < " + length + ") " + out + ".w[p.w[1] + i] = v;\n";
   return text + "}\n";
}

namespace {

void run_invocation(const PipelineKind &kind, const ShaderWorld &world,
                    const std::array<uint32_t, 3> &at, uint32_t local)
{
   const auto &p = world.push;
   const auto &n = world.count;
   const uint32_t i =
      (at[0] % n[0] + n[0] * (at[1] % n[1] + n[1] * (at[2] % n[2]))) * kind.local_size + local;
   uint32_t v = p[salt] * kind.factor + at[0] * 0x101 + at[1] * 0x1003 + at[2] * 0x10007 +
                n[0] * 3 + n[1] * 5 + n[2] * 7 + local * 11;
   for (uint32_t w = address + 2; w < shader_push_words; w++)
      v = v * 33 + p[w];
   Place out = {};
   for_each_element(kind, [&](uint32_t number, uint32_t s, const Binding &b, uint32_t e) {
      const Place place = {s, b.number, e == none ? p[element_word] & (b.count - 1) : e};
      const uint32_t index = p[first_read] + p[step] * i + number;
      if (is_storage(b.kind)) {
         const uint32_t length = world.length(place);
         if (is_output(kind, s, b, e))
            out = place;
         else
            v = v * 33 + world.load(place, kind.raw ? index : index % std::max(length, 1u), i);
         v = v * 33 + length;
      } else {
         v = v * 33 +
             world.load(place,
                        b.kind == DescriptorKind::inline_block ? index % (b.count / 4) : index & 15,
                        i);
      }
   });
   if (kind.shader == ShaderKind::branches) {
      const BranchVariant &variant = branch_variants[kind.variant];
      const BranchView view = {at, n, p[6], p[7], p[8], p[9], p[salt]};
      if (variant.holds[0](view)) {
         v = stretch(v, 0);
         if (variant.holds[2](view))
            v = stretch(v, 1);
      } else {
         v = stretch(v, 2);
      }
      v = variant.holds[1](view) ? stretch(v, 3) : stretch(v, 4);
   }
   if (kind.shader == ShaderKind::reference) {
      v = v * 33 + world.load_reference((p[first_read] + p[step] * i) & 7, i);
      world.store_reference(8 + i, v + 1, i);
   }
   const uint32_t length = world.length(out);
   if (kind.shader == ShaderKind::atomics) {
      if (length > 0)
         world.add(out, p[first_write] % length, v, i);
   } else if (kind.raw || p[first_write] + i < length) {
      world.store(out, p[first_write] + i, v, i);
   }
}

} // namespace

void run_shader(const PipelineKind &kind, const ShaderWorld &world)
{
   std::array<uint32_t, 3> at;
   const auto &b = world.base, &n = world.count;
   for (at[2] = b[2]; at[2] < b[2] + n[2]; at[2]++) {
      for (at[1] = b[1]; at[1] < b[1] + n[1]; at[1]++) {
         for (at[0] = b[0]; at[0] < b[0] + n[0]; at[0]++) {
            for (uint32_t local = 0; local < kind.local_size; local++)
               run_invocation(kind, world, at, local);
         }
      }
   }
}

} // namespace weft::commands
