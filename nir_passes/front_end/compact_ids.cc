// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/front_end/compact_ids.h"

#include <spirv-tools/libspirv.h>

#include <algorithm>
#include <unordered_map>

namespace weft {

namespace {

constexpr size_t bound_word = 3, header_words = 5;

struct State {
   std::vector<uint32_t> &out;
   std::unordered_map<uint32_t, uint32_t> numbers;

   uint32_t number_of(uint32_t id)
   {
      return numbers.try_emplace(id, uint32_t(numbers.size() + 1)).first->second;
   }
};

bool is_id(spv_operand_type_t type)
{
   switch (type) {
   case SPV_OPERAND_TYPE_ID:
   case SPV_OPERAND_TYPE_TYPE_ID:
   case SPV_OPERAND_TYPE_RESULT_ID:
   case SPV_OPERAND_TYPE_MEMORY_SEMANTICS_ID:
   case SPV_OPERAND_TYPE_SCOPE_ID:
      return true;
   default:
      return false;
   }
}

spv_result_t add_instruction(void *user, const spv_parsed_instruction_t *instruction)
{
   auto *state = static_cast<State *>(user);
   const size_t start = state->out.size();
   state->out.insert(state->out.end(), instruction->words,
                     instruction->words + instruction->num_words);
   for (uint16_t i = 0; i < instruction->num_operands; ++i) {
      const spv_parsed_operand_t &operand = instruction->operands[i];
      if (is_id(operand.type)) {
         uint32_t &word = state->out[start + operand.offset];
         word = state->number_of(word);
      }
   }
   return SPV_SUCCESS;
}

} // namespace

bool has_sparse_ids(std::span<const uint32_t> words)
{
   /* Compilers number ids densely: an instruction defines one and has three words or more. */
   return words.size() > bound_word &&
          words[bound_word] > std::max<size_t>(words.size() * 8, 1 << 16);
}

Result<std::vector<uint32_t>> compact_ids(std::span<const uint32_t> words)
{
   if (words.size() < header_words)
      return Error{"invalid SPIR-V: the module is shorter than its header"};
   std::vector<uint32_t> out(words.begin(), words.begin() + header_words);
   out.reserve(words.size());
   State state = {out, {}};

   const spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_3);
   const spv_result_t result = spvBinaryParse(context, &state, words.data(), words.size(), nullptr,
                                              add_instruction, nullptr);
   spvContextDestroy(context);
   if (result != SPV_SUCCESS)
      return Error{"invalid SPIR-V: its words cannot be parsed as instructions"};
   out[bound_word] = uint32_t(state.numbers.size() + 1);
   return out;
}

} // namespace weft
