// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/spirv_edits.h"

#include "tests/e2e/spirv_instructions.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace weft::e2e {

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

uint32_t insert_matrix_phis(std::vector<uint32_t> &spirv)
{
   constexpr uint16_t op_store = 62, op_phi = 245, op_label = 248, op_branch = 249;
   struct Block {
      uint32_t label, pointer, value; ///< the operands of its last matrix store
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

namespace {

/// A capability and the extension that it comes from, behind the module's capabilities.
void declare(std::vector<uint32_t> &spirv, uint32_t capability, const std::string &extension)
{
   constexpr uint32_t op_extension = 10;
   std::vector<uint32_t> text(extension.size() / 4 + 1);
   memcpy(text.data(), extension.data(), extension.size());
   spirv.insert(spirv.end(), {2u << 16 | op_capability, capability,
                              uint32_t(text.size() + 1) << 16 | op_extension});
   spirv.insert(spirv.end(), text.begin(), text.end());
}

} // namespace

void declare_blocked_layouts(std::vector<uint32_t> &spirv)
{
   bool declared = false;
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      if (opcode != op_capability && !declared) {
         declare(result, 4201, "SPV_ARM_cooperative_matrix_layouts");
         declared = true;
      }
      result.insert(result.end(), words, words + count);
   });
   spirv = result;
}

uint32_t replace_calls_by_array_conversions(std::vector<uint32_t> &spirv)
{
   constexpr uint16_t op_name = 5, op_function_call = 57;
   static constexpr std::pair<const char *, uint16_t> opcodes[] = {
      {"bitcast_", 4497}, {"construct_", 4540}, {"extract_", 4541}, {"sub_array_", 4542}};
   std::map<uint32_t, uint16_t> functions;
   bool declared = false;
   uint32_t replaced = 0;
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      if (opcode == op_name) {
         const std::string_view function(reinterpret_cast<const char *>(words + 2));
         for (const auto &[prefix, instruction] : opcodes) {
            if (function.starts_with(prefix))
               functions[words[1]] = instruction;
         }
      }
      if (opcode != op_capability && !declared) {
         declare(result, 4496, "SPV_QCOM_cooperative_matrix_conversion");
         declared = true;
      }
      const auto function = opcode == op_function_call ? functions.find(words[3]) : functions.end();
      if (function == functions.end()) {
         result.insert(result.end(), words, words + count);
         return;
      }
      result.push_back(uint32_t(count - 1) << 16 | function->second);
      result.insert(result.end(), {words[1], words[2]});
      result.insert(result.end(), words + 4, words + count);
      replaced++;
   });
   spirv = result;
   return replaced;
}

namespace {

/// Replaces a struct of equal scalars by a vector type: the module's own, or a new one.
void replace_struct_by_vector(std::vector<uint32_t> &spirv, uint32_t type)
{
   constexpr uint16_t op_name = 5, op_member_name = 6, op_type_pointer = 32, op_type_function = 33,
                      op_function = 54;
   uint32_t scalar = 0, length = 0, vector = type;
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      if (opcode == op_type_struct && words[1] == type) {
         scalar = words[2];
         length = uint32_t(count - 2);
      }
   });
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t) {
      if (opcode == op_type_vector && words[2] == scalar && words[3] == length)
         vector = words[1];
   });
   bool declared = false, in_function = false;
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      in_function |= opcode == op_function;
      if ((opcode == op_name || opcode == op_member_name) && words[1] == type)
         return;
      const bool declares = (opcode == op_type_struct && words[1] == type) ||
                            (opcode == op_type_vector && words[1] == vector);
      if (declares && !declared)
         result.insert(result.end(), {4u << 16 | op_type_vector, vector, scalar, length});
      declared |= declares;
      if (declares)
         return;
      const size_t at = result.size();
      result.insert(result.end(), words, words + count);
      if (in_function && count > 1)
         std::replace(&result[at + 1], &result[at + 1] + 1, type, vector);
      if (opcode == op_type_pointer || opcode == op_type_function)
         std::replace(result.begin() + at + 2, result.end(), type, vector);
   });
   spirv = result;
}

} // namespace

uint32_t add_vector_decode_functions(std::vector<uint32_t> &spirv)
{
   constexpr uint16_t op_name = 5, op_function = 54, op_load_tensor = 5367;
   constexpr uint32_t aligned = 2, makes_available = 8, makes_visible = 16; // Memory Operands
   constexpr uint32_t view = 1, decode = 2, decode_vector = 4; // Tensor Addressing Operands
   const std::string suffix = "_vector";
   std::map<uint32_t, std::string>
      names; // of functions, which glslang writes with their parameters
   std::map<std::string, uint32_t> vector_functions; // by the names of the scalar ones
   std::set<uint32_t> types;
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t) {
      if (opcode == op_name) {
         const std::string text = reinterpret_cast<const char *>(words + 2);
         names[words[1]] = text.substr(0, text.find('('));
      }
      if (opcode == op_function && names[words[2]].ends_with(suffix)) {
         const std::string &name = names[words[2]];
         vector_functions[name.substr(0, name.size() - suffix.size())] = words[2];
         types.insert(words[1]);
      }
   });
   for (const uint32_t type : types)
      replace_struct_by_vector(spirv, type);
   bool declared = false;
   uint32_t loads = 0;
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      if (opcode != op_capability && !declared) {
         declare(result, 5447, "SPV_NV_cooperative_matrix_decode_vector");
         declared = true;
      }
      const size_t first = result.size();
      result.insert(result.end(), words, words + count);
      if (opcode != op_load_tensor)
         return;
      size_t mask = first + 7;
      for (const uint32_t operand : {aligned, makes_available, makes_visible})
         mask += (words[6] & operand) != 0;
      if (!(result[mask] & decode))
         return;
      const auto function =
         vector_functions.find(names[result[mask + 1 + ((result[mask] & view) != 0)]]);
      if (function == vector_functions.end())
         return;
      result[first] += 1u << 16;
      result[mask] |= decode_vector;
      result.push_back(function->second);
      loads++;
   });
   spirv = result;
   return loads;
}

namespace {

/// Declares SPV_EXT_cooperative_matrix_maintenance1 and a capability of it. Removes the capability
/// `replaced`.
void declare_maintenance1(std::vector<uint32_t> &spirv, uint32_t capability,
                          uint32_t replaced = ~0u)
{
   bool declared = false;
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      if (opcode == op_capability && words[1] == replaced)
         return;
      if (opcode != op_capability && !declared) {
         declare(result, capability, "SPV_EXT_cooperative_matrix_maintenance1");
         declared = true;
      }
      result.insert(result.end(), words, words + count);
   });
   spirv = result;
}

} // namespace

uint32_t use_maintenance1_conversions(std::vector<uint32_t> &spirv)
{
   constexpr uint16_t op_transpose = 5390, op_convert_use = 5293, first_of_types = 19;
   constexpr uint32_t conversions_nv = 5431, conversions_ext = 5429, decoration_transpose = 5440;
   std::vector<uint32_t> transposed;
   uint32_t converted = 0;
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t) {
      converted += opcode == op_convert_use;
      if (opcode == op_transpose)
         transposed.push_back(words[2]);
   });
   bool decorated = false;
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      // Decorations are the last instructions before the types.
      if (opcode >= first_of_types && opcode < op_decorate && !decorated) {
         for (const uint32_t id : transposed)
            result.insert(result.end(), {3u << 16 | op_decorate, id, decoration_transpose});
         decorated = true;
      }
      result.insert(result.end(), words, words + count);
      if (opcode == op_transpose)
         result[result.size() - count] = uint32_t(count) << 16 | op_convert_use;
   });
   spirv = result;
   declare_maintenance1(spirv, conversions_ext, conversions_nv);
   return converted + uint32_t(transposed.size());
}

uint32_t replace_calls_by_coordinates(std::vector<uint32_t> &spirv)
{
   constexpr uint16_t op_name = 5, op_function_call = 57, op_get_coordinate = 5363;
   constexpr uint32_t get_coordinate = 5438;
   std::set<uint32_t> functions;
   uint32_t replaced = 0;
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      if (opcode == op_name) {
         const std::string_view name(reinterpret_cast<const char *>(words + 2));
         if (name.starts_with("coordinate_"))
            functions.insert(words[1]);
      }
      if (opcode != op_function_call || !functions.contains(words[3])) {
         result.insert(result.end(), words, words + count);
         return;
      }
      result.insert(result.end(), {5u << 16 | op_get_coordinate, words[1], words[2]});
      result.insert(result.end(), words + 4, words + count);
      replaced++;
   });
   spirv = result;
   declare_maintenance1(spirv, get_coordinate);
   return replaced;
}

} // namespace weft::e2e
