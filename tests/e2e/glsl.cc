// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/glsl.h"

#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

namespace weft::e2e {

std::string expand(const std::string &text, const Words &words)
{
   std::string result;
   for (size_t at = 0; at < text.size();) {
      if (text[at] != '$') {
         result += text[at++];
         continue;
      }
      size_t end = at + 1;
      while (end < text.size() && (isupper(text[end]) || isdigit(text[end]) || text[end] == '_'))
         end++;
      const std::string name = text.substr(at + 1, end - at - 1);
      const auto word = words.find(name);
      if (word == words.end())
         throw std::logic_error("no word for $" + name);
      // Words may hold names themselves.
      result += expand(word->second, words);
      at = end;
   }
   return result;
}

const char *const glsl_header = R"(#version 460
#extension GL_EXT_buffer_reference : enable
#extension GL_EXT_buffer_reference_uvec2 : enable
#extension GL_EXT_control_flow_attributes : enable
#extension GL_EXT_nonuniform_qualifier : enable
#extension GL_EXT_scalar_block_layout : enable
#extension GL_EXT_shader_16bit_storage : enable
#extension GL_EXT_shader_8bit_storage : enable
#extension GL_EXT_shader_atomic_int64 : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_shader_subgroup_extended_types_int8 : enable
#extension GL_EXT_shader_subgroup_extended_types_int16 : enable
#extension GL_EXT_shader_subgroup_extended_types_int64 : enable
#extension GL_EXT_shader_subgroup_extended_types_float16 : enable
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_KHR_shader_subgroup_ballot : enable
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_clustered : enable
#extension GL_KHR_shader_subgroup_quad : enable
#extension GL_KHR_shader_subgroup_shuffle : enable
#extension GL_KHR_shader_subgroup_shuffle_relative : enable
#extension GL_KHR_shader_subgroup_vote : enable
#extension GL_KHR_shader_subgroup_rotate : enable
)";

static void dump(const std::string &source)
{
   const char *folder = getenv("WEFT_DUMP_GLSL");
   if (!folder)
      return;
   static int count = 0;
   std::string name = "demo";
   if (const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info())
      name = std::string(test->test_suite_name()) + "." + test->name();
   std::replace(name.begin(), name.end(), '/', '_');
   std::ofstream(std::string(folder) + "/" + name + "." + std::to_string(count++) + ".comp")
      << source;
}

static std::string numbered(const std::string &source)
{
   std::istringstream lines(source);
   std::string line, result;
   for (int number = 1; std::getline(lines, line); number++)
      result += std::to_string(number) + ": " + line + "\n";
   return result;
}

static bool has_double_matrices(const std::string &source)
{
   return source.find("coopmat<float64_t") != std::string::npos;
}

std::string inexpressible(const std::string &source)
{
   static const std::regex single("\\b(float|float32_t|vec[234]|f32vec[234])\\b");
   if (has_double_matrices(source) && std::regex_search(source, single))
      return "matrices of doubles beside single floats, which GLSL cannot express";
   return "";
}

namespace {

constexpr size_t header_words = 5;
constexpr uint32_t capability_float64 = 10;
constexpr uint16_t op_capability = 17, op_type_int = 21, op_type_float = 22, op_type_vector = 23,
                   op_type_array = 28, op_type_runtime_array = 29, op_constant = 43,
                   op_decorate = 71, op_type_cooperative_matrix = 4456;

/// Calls the body with each instruction's opcode and words.
template <typename Body>
void for_each_instruction(const std::vector<uint32_t> &spirv, Body body)
{
   for (size_t at = header_words; at < spirv.size();) {
      const size_t count = std::clamp<size_t>(spirv[at] >> 16, 1, spirv.size() - at);
      body(uint16_t(spirv[at]), &spirv[at], count);
      at += count;
   }
}

/// Makes a module's 32-bit floats 64 bits wide: the type, its constants, the strides of arrays of
/// it.
std::vector<uint32_t> widen_floats(const std::vector<uint32_t> &spirv)
{
   constexpr uint32_t decoration_array_stride = 6;
   uint32_t float_type = 0;
   std::set<uint32_t> widened; // types that hold floats directly
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t) {
      if (opcode == op_type_float && words[2] == 32)
         widened.insert(float_type = words[1]);
      const bool holds =
         opcode == op_type_vector || opcode == op_type_array || opcode == op_type_runtime_array;
      if (holds && widened.count(words[2]))
         widened.insert(words[1]);
   });
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   result.insert(result.end(), {2u << 16 | op_capability, capability_float64});
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      const size_t start = result.size();
      result.insert(result.end(), words, words + count);
      if (opcode == op_type_float && words[1] == float_type) {
         result[start + 2] = 64;
      } else if (opcode == op_constant && words[1] == float_type) {
         float value;
         memcpy(&value, &words[3], sizeof(value));
         const double wide = value;
         uint32_t bits[2];
         memcpy(bits, &wide, sizeof(bits));
         result[start] = 5u << 16 | op_constant;
         result[start + 3] = bits[0];
         result.push_back(bits[1]);
      } else if (opcode == op_decorate && words[2] == decoration_array_stride &&
                 widened.count(words[1])) {
         result[start + 3] *= 2;
      }
   });
   return result;
}

} // namespace

static std::vector<uint32_t> compile_as_written(const std::string &source)
{
   glslang::TShader shader(EShLangCompute);
   const char *text = source.c_str();
   shader.setStrings(&text, 1);
   shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 100);
   shader.setEnvClient(glslang::EShClientVulkan, glslang::EShTargetVulkan_1_3);
   shader.setEnvTarget(glslang::EShTargetSpv, glslang::EShTargetSpv_1_6);
   const auto messages = EShMessages(EShMsgSpvRules | EShMsgVulkanRules);
   if (!shader.parse(GetDefaultResources(), 100, false, messages))
      throw std::runtime_error(std::string("GLSL: ") + shader.getInfoLog() + "\n" +
                               numbered(source));
   glslang::TProgram program;
   program.addShader(&shader);
   if (!program.link(messages))
      throw std::runtime_error(std::string("GLSL: ") + program.getInfoLog() + "\n" +
                               numbered(source));

   std::vector<uint32_t> spirv;
   glslang::SpvOptions options;
   options.disableOptimizer = true;
   glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), spirv, &options);
   return spirv;
}

std::vector<uint32_t> compile_glsl(const std::string &source)
{
   static const bool initialised = glslang::InitializeProcess();
   if (!initialised)
      throw std::runtime_error("glslang did not start");
   dump(source);
   if (const std::string why = inexpressible(source); !why.empty())
      throw std::logic_error(why);
   if (!has_double_matrices(source))
      return compile_as_written(source);
   std::string singles =
      std::regex_replace(source, std::regex("\\b(double|float64_t)\\b"), "float32_t");
   singles = std::regex_replace(singles, std::regex("\\b(f64|d)vec([234])\\b"), "vec$2");
   return widen_floats(compile_as_written(singles));
}

uint32_t replace_matrix_opcode(std::vector<uint32_t> &spirv, uint16_t from, uint16_t to)
{
   std::set<uint32_t> matrix_types;
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t) {
      if (opcode == op_type_cooperative_matrix)
         matrix_types.insert(words[1]);
   });
   uint32_t replaced = 0;
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t) {
      if (opcode == from && matrix_types.count(words[1])) {
         uint32_t &word = spirv[size_t(words - spirv.data())];
         word = (word & 0xffff0000u) | to;
         replaced++;
      }
   });
   return replaced;
}

uint32_t replace_by_packed_dot(std::vector<uint32_t> &spirv, uint16_t from, uint16_t to)
{
   constexpr uint32_t capability_dot_product = 6019, capability_packed = 6018, packed_4x8 = 0;
   uint32_t replaced = 0;
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   result.insert(result.end(), {2u << 16 | op_capability, capability_dot_product,
                                2u << 16 | op_capability, capability_packed});
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      const size_t start = result.size();
      result.insert(result.end(), words, words + count);
      if (opcode != from)
         return;
      result[start] = uint32_t(count + 1) << 16 | to;
      result.push_back(packed_4x8);
      replaced++;
   });
   spirv = result;
   return replaced;
}

void replace_short_by_double(std::vector<uint32_t> &spirv)
{
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   result.insert(result.end(), {2u << 16 | op_capability, capability_float64});
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      if (opcode == op_type_int && words[2] == 16)
         result.insert(result.end(), {3u << 16 | op_type_float, words[1], 64});
      else
         result.insert(result.end(), words, words + count);
   });
   spirv = result;
}

uint32_t insert_matrix_phis(std::vector<uint32_t> &spirv)
{
   constexpr uint16_t op_store = 62, op_phi = 245, op_label = 248, op_branch = 249;
   struct Block {
      uint32_t label, pointer, value; ///< what its last matrix store stored, and where
   };
   std::set<uint32_t> matrix_types;
   std::map<uint32_t, uint32_t> type_of;                // of matrices
   std::map<uint32_t, std::vector<Block>> predecessors; // by label
   Block block = {};
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      if (opcode == op_type_cooperative_matrix)
         matrix_types.insert(words[1]);
      else if (opcode == op_label)
         block = {words[1], 0, 0};
      else if (opcode == op_store && type_of.count(words[2]))
         block = {block.label, words[1], words[2]};
      else if (opcode == op_branch)
         predecessors[words[1]].push_back(block);
      else if (count > 2 && matrix_types.count(words[1]))
         type_of[words[2]] = words[1];
   });

   uint32_t inserted = 0;
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      result.insert(result.end(), words, words + count);
      if (opcode != op_label)
         return;
      const std::vector<Block> &from = predecessors[words[1]];
      if (from.size() != 2 || !from[0].value || !from[1].value ||
          from[0].pointer != from[1].pointer)
         return;
      const uint32_t phi = result[3]++; // the module's bound on ids
      result.insert(result.end(),
                    {7u << 16 | op_phi, type_of[from[0].value], phi, from[0].value, from[0].label,
                     from[1].value, from[1].label, 3u << 16 | op_store, from[0].pointer, phi});
      inserted++;
   });
   spirv = result;
   return inserted;
}

} // namespace weft::e2e
