// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/wide_components.h"

#include "tests/e2e/spirv_instructions.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>

namespace weft::e2e {

namespace {

constexpr uint32_t capability_float64 = 10, capability_int64 = 11, capability_int16 = 22;
/// StorageBuffer16BitAccess to StorageInputOutput16.
constexpr uint32_t first_16_bit_storage = 4433, last_16_bit_storage = 4436;
constexpr uint32_t decoration_array_stride = 6, decoration_offset = 35;

/// Types that hold the scalars `is_wide(opcode, words)` directly or in arrays and vectors, the
/// scalars included.
template <typename IsWide>
std::set<uint32_t> types_that_hold(const std::vector<uint32_t> &spirv, IsWide is_wide)
{
   std::set<uint32_t> holders;
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t) {
      const bool holds =
         opcode == op_type_vector || opcode == op_type_array || opcode == op_type_runtime_array;
      if (is_wide(opcode, words) || (holds && holders.count(words[2])))
         holders.insert(words[1]);
   });
   return holders;
}

void declare_capability(std::vector<uint32_t> &spirv, uint32_t capability)
{
   spirv.insert(spirv.end(), {2u << 16 | op_capability, capability});
}

} // namespace

std::vector<uint32_t> widen_floats(const std::vector<uint32_t> &spirv)
{
   uint32_t float_type = 0;
   const std::set<uint32_t> widened =
      types_that_hold(spirv, [&](uint16_t opcode, const uint32_t *words) {
         const bool found = opcode == op_type_float && words[2] == 32;
         if (found)
            float_type = words[1];
         return found;
      });
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   declare_capability(result, capability_float64);
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

std::vector<uint32_t> widen_shorts(const std::vector<uint32_t> &spirv)
{
   std::set<uint32_t> scalars;
   bool has_halves = false;
   const std::set<uint32_t> widened =
      types_that_hold(spirv, [&](uint16_t opcode, const uint32_t *words) {
         const bool found = opcode == op_type_int && words[2] == 16;
         if (found)
            scalars.insert(words[1]);
         has_halves |= opcode == op_type_float && words[2] == 16;
         return found;
      });
   std::set<uint32_t> in_memory, wide_structs;
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      if (opcode == op_member_decorate && words[3] == decoration_offset)
         in_memory.insert(words[1]);
      if ((opcode == op_type_array || opcode == op_type_runtime_array) &&
          wide_structs.count(words[2]))
         throw std::logic_error("an array in memory holds structs of 64-bit components");
      if (opcode != op_type_struct || !in_memory.count(words[1]))
         return;
      const auto wide = std::count_if(words + 2, words + count,
                                      [&](uint32_t member) { return widened.count(member) != 0; });
      if (wide == 0)
         return;
      if (size_t(wide) != count - 2)
         throw std::logic_error("a struct in memory holds a 64-bit component beside another type");
      wide_structs.insert(words[1]);
   });
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   declare_capability(result, capability_int64);
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      if (opcode == op_capability) {
         const bool is_storage =
            words[1] >= first_16_bit_storage && words[1] <= last_16_bit_storage;
         if (words[1] == capability_int16 || (is_storage && !has_halves))
            return;
      }
      const size_t start = result.size();
      result.insert(result.end(), words, words + count);
      if (opcode == op_type_int && scalars.count(words[1])) {
         result[start + 2] = 64;
      } else if ((opcode == op_constant || opcode == op_spec_constant) && scalars.count(words[1])) {
         // A literal of 16 bits is extended to its word by its type's sign.
         result[start] = 5u << 16 | opcode;
         result.push_back(int32_t(words[3]) < 0 ? ~0u : 0);
      } else if (opcode == op_decorate && words[2] == decoration_array_stride &&
                 widened.count(words[1])) {
         result[start + 3] *= 4;
      } else if (opcode == op_member_decorate && words[3] == decoration_offset &&
                 wide_structs.count(words[1])) {
         result[start + 4] *= 4;
      }
   });
   return result;
}

void replace_short_by_double(std::vector<uint32_t> &spirv)
{
   std::vector<uint32_t> result(spirv.begin(), spirv.begin() + header_words);
   declare_capability(result, capability_float64);
   for_each_instruction(spirv, [&](uint16_t opcode, const uint32_t *words, size_t count) {
      if (opcode == op_type_int && words[2] == 16)
         result.insert(result.end(), {3u << 16 | op_type_float, words[1], 64});
      else
         result.insert(result.end(), words, words + count);
   });
   spirv = result;
}

} // namespace weft::e2e
