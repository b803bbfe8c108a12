// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/glsl.h"

#include "tests/e2e/spirv_instructions.h"
#include "tests/e2e/wide_components.h"
#include "tests/oracle/component.h"

#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

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
#extension GL_EXT_shader_quad_control : enable
#extension GL_EXT_shader_16bit_storage : enable
#extension GL_EXT_shader_8bit_storage : enable
#extension GL_EXT_shader_atomic_int64 : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_shader_image_int64 : enable
#extension GL_EXT_shader_subgroup_extended_types_int8 : enable
#extension GL_EXT_shader_subgroup_extended_types_int16 : enable
#extension GL_EXT_shader_subgroup_extended_types_int64 : enable
#extension GL_EXT_shader_subgroup_extended_types_float16 : enable
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_NV_cooperative_matrix : enable
#extension GL_NV_integer_cooperative_matrix : enable
#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_KHR_shader_subgroup_ballot : enable
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_clustered : enable
#extension GL_KHR_shader_subgroup_quad : enable
#extension GL_KHR_shader_subgroup_shuffle : enable
#extension GL_KHR_shader_subgroup_shuffle_relative : enable
#extension GL_KHR_shader_subgroup_vote : enable
#extension GL_KHR_shader_subgroup_rotate : enable
#extension GL_NV_cooperative_matrix2 : enable
#extension GL_NV_shader_subgroup_partitioned : enable
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

static bool has_long_matrices(const std::string &source)
{
   return source.find("coopmat<int64_t") != std::string::npos ||
          source.find("coopmat<uint64_t") != std::string::npos;
}

namespace {

/// A type that glslang does not know, and one that stands in for it (glsl.h).
struct SmallFloat {
   const char *name, *stand_in;
   uint32_t bits, is_signed, encoding; ///< OpTypeInt's operands, and OpTypeFloat's
   ComponentType type;
   std::vector<uint32_t> capabilities;
   const char *extension;
};

const SmallFloat small_floats[] = {
   {"bfloat16_t", "uint16_t", 16, 0, 0, ComponentType::bf16, {5116, 5118}, "SPV_KHR_bfloat16"},
   {"floate4m3_t", "uint8_t", 8, 0, 4214, ComponentType::e4m3, {4212, 4213}, "SPV_EXT_float8"},
   {"floate5m2_t", "int8_t", 8, 1, 4215, ComponentType::e5m2, {4212, 4213}, "SPV_EXT_float8"},
};

/// The source with each word replaced by `replacement(word)`.
template <typename Replacement>
std::string replace_words(const std::string &source, Replacement &&replacement)
{
   const auto is_letter = [](char c) { return std::isalnum(uint8_t(c)) || c == '_'; };
   std::string text;
   for (auto at = source.begin(); at != source.end();) {
      const auto end = is_letter(*at) ? std::find_if_not(at, source.end(), is_letter) : at + 1;
      text += replacement(std::string(at, end));
      at = end;
   }
   return text;
}

bool has_word(const std::string &source, std::initializer_list<std::string_view> words)
{
   bool found = false;
   replace_words(source, [&](const std::string &word) {
      found |= std::ranges::find(words, word) != words.end();
      return "";
   });
   return found;
}

/// The small floats that a source names. glslang converts between integers of two sizes and signs
/// in two steps: so a stand-in has the sign of the integers beside it.
std::vector<SmallFloat> small_floats_of(const std::string &source)
{
   std::vector<SmallFloat> found;
   for (const SmallFloat &f : small_floats) {
      if (has_word(source, {f.name}))
         found.push_back(f);
   }
   const bool same_size = found.size() == 2 && found[0].bits == found[1].bits;
   const bool is_signed =
      (found.size() == 2 && found[1].is_signed) ||
      (found.size() == 1 && has_word(source, {"int8_t", "int16_t", "int32_t", "int64_t"}));
   if (!found.empty() && !same_size) {
      found[0].is_signed = is_signed;
      found[0].stand_in = is_signed ? (found[0].bits == 16 ? "int16_t" : "int8_t")
                                    : (found[0].bits == 16 ? "uint16_t" : "uint8_t");
   }
   return found;
}

} // namespace

std::string inexpressible(const std::string &source)
{
   for (const SmallFloat &f : small_floats_of(source)) {
      if (has_word(source, {f.stand_in}))
         return std::string(f.name) + " beside " + f.stand_in + ", which GLSL cannot express";
   }
   if (has_double_matrices(source) && has_word(source, {"float", "float32_t", "vec2", "vec3",
                                                        "vec4", "f32vec2", "f32vec3", "f32vec4"}))
      return "matrices of doubles beside single floats, which GLSL cannot express";
   if (has_long_matrices(source) &&
       has_word(source, {"int16_t", "uint16_t", "i16vec2", "i16vec3", "i16vec4", "u16vec2",
                         "u16vec3", "u16vec4", "bfloat16_t"}))
      return "matrices of 64-bit integers beside 16-bit ones, which GLSL cannot express";
   return "";
}

namespace {

/// The numeric kind of a type or a value, for conversions.
enum class Holds { other, small_float, real, signed_integer, unsigned_integer };

constexpr uint16_t op_convert_f_to_u = 109, op_convert_f_to_s = 110, op_convert_s_to_f = 111,
                   op_convert_u_to_f = 112, op_f_convert = 115, op_bitcast = 124, op_muladd = 4459;

/// The intended conversion, if the stand-in's conversion is one of integers.
uint16_t conversion(uint16_t opcode, Holds from, Holds to)
{
   const bool converts = (opcode >= op_convert_f_to_u && opcode <= op_f_convert) ||
                         (opcode == op_bitcast && from != to);
   if (!converts || (from != Holds::small_float && to != Holds::small_float))
      return opcode;
   const Holds other = from == Holds::small_float ? to : from;
   const bool to_small = to == Holds::small_float;
   switch (other) {
   case Holds::signed_integer:
      return to_small ? op_convert_s_to_f : op_convert_f_to_s;
   case Holds::unsigned_integer:
      return to_small ? op_convert_u_to_f : op_convert_f_to_u;
   default:
      return op_f_convert;
   }
}

/// Replaces a module's stand-in by the small float.
std::vector<uint32_t> make_small_float(const std::vector<uint32_t> &spirv, const SmallFloat &f)
{
   constexpr uint16_t op_extension = 10, op_ext_inst_import = 11, op_memory_model = 14;
   std::map<uint32_t, Holds> types, values;
   const auto find = [](const std::map<uint32_t, Holds> &map, uint32_t id) {
      const auto it = map.find(id);
      return it == map.end() ? Holds::other : it->second;
   };
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   bool declared = false;
   uint32_t made = 0; // the type
   for (uint32_t capability : f.capabilities)
      result.insert(result.end(), {2u << 16 | op_capability, capability});
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      if (!declared &&
          (opcode == op_extension || opcode == op_ext_inst_import || opcode == op_memory_model)) {
         std::vector<uint32_t> text(strlen(f.extension) / 4 + 1);
         memcpy(text.data(), f.extension, strlen(f.extension));
         result.push_back(uint32_t(text.size() + 1) << 16 | op_extension);
         result.insert(result.end(), text.begin(), text.end());
         declared = true;
      }
      const size_t start = result.size();
      result.insert(result.end(), words, words + count);
      switch (opcode) {
      case op_type_int:
         types[words[1]] = words[3] ? Holds::signed_integer : Holds::unsigned_integer;
         if (words[2] == f.bits && words[3] == f.is_signed) {
            types[made = words[1]] = Holds::small_float;
            result.resize(start);
            result.insert(result.end(), {4u << 16 | op_type_float, words[1], f.bits, f.encoding});
         }
         return;
      case op_type_float:
         /* This function made the floats with an encoding. */
         types[words[1]] = count > 3 ? Holds::small_float : Holds::real;
         return;
      case op_type_vector:
      case op_type_cooperative_matrix:
         types[words[1]] = find(types, words[2]);
         return;
      case op_constant:
         if (words[1] == made)
            oracle::encode_float(f.type, double(int32_t(words[3])), &result[start + 3]);
         break;
      case op_muladd: {
         /* The sign bits for A, B, C and the result, if they are not integers any more. */
         const uint32_t operands[] = {words[3], words[4], words[5]};
         for (uint32_t i = 0; i < 4 && count > 6; i++) {
            const Holds holds = i < 3 ? find(values, operands[i]) : find(types, words[1]);
            if (holds == Holds::small_float)
               result[start + 6] &= ~(1u << i);
         }
         break;
      }
      default:
         if (count == 4) {
            const uint16_t meant =
               conversion(opcode, find(values, words[3]), find(types, words[1]));
            result[start] = uint32_t(count) << 16 | meant;
         }
      }
      if (count > 2 && types.count(words[1]))
         values[words[2]] = types[words[1]];
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
   if (const std::vector<SmallFloat> found = small_floats_of(source); !found.empty()) {
      std::vector<uint32_t> spirv =
         compile_glsl(replace_words(source, [&](const std::string &word) {
            const auto f = std::ranges::find(found, word, &SmallFloat::name);
            return f == found.end() ? word : f->stand_in;
         }));
      for (const SmallFloat &f : found)
         spirv = make_small_float(spirv, f);
      return spirv;
   }
   if (has_long_matrices(source)) {
      return widen_shorts(
         compile_glsl(replace_words(source, [](const std::string &word) -> std::string {
            for (const char *wide : {"int64_t", "uint64_t", "i64vec", "u64vec"}) {
               if (word.starts_with(wide))
                  return std::string(word).replace(word.find("64"), 2, "16");
            }
            return word;
         })));
   }
   if (!has_double_matrices(source))
      return compile_as_written(source);
   return widen_floats(
      compile_as_written(replace_words(source, [](const std::string &word) -> std::string {
         if (word == "double" || word == "float64_t")
            return "float32_t";
         for (const char *vector : {"f64vec", "dvec"}) {
            if (word.starts_with(vector))
               return word.substr(word.find("vec"));
         }
         return word;
      })));
}

} // namespace weft::e2e
