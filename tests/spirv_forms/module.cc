// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/spirv_forms/module.h"

#include <algorithm>
#include <spirv-tools/libspirv.h>
#include <stdexcept>

namespace weft::forms {

Instruction Instruction::make(spv::Op opcode, uint32_t type, uint32_t result,
                              const std::vector<uint32_t> &ids,
                              const std::vector<uint32_t> &literals)
{
   Instruction i = {opcode, type, result, ids, {}};
   for (uint32_t n = 0; n < ids.size(); n++)
      i.uses.push_back(n);
   i.operands.insert(i.operands.end(), literals.begin(), literals.end());
   return i;
}

size_t Block::end() const
{
   const size_t last = body.size() - 1;
   const bool merges = last > 0 && (body[last - 1].opcode == spv::Op::OpSelectionMerge ||
                                    body[last - 1].opcode == spv::Op::OpLoopMerge);
   return merges ? last - 1 : last;
}

size_t Block::begin() const
{
   size_t at = 0;
   while (body[at].opcode == spv::Op::OpPhi || body[at].opcode == spv::Op::OpVariable ||
          body[at].opcode == spv::Op::OpLine || body[at].opcode == spv::Op::OpNoLine)
      at++;
   return at;
}

std::vector<uint32_t> Block::successors() const
{
   const Instruction &last = body.back();
   std::vector<uint32_t> labels;
   switch (last.opcode) {
   case spv::Op::OpBranch:
      labels = {last.operands[0]};
      break;
   case spv::Op::OpBranchConditional:
      labels = {last.operands[1], last.operands[2]};
      break;
   case spv::Op::OpSwitch:
      for (const uint32_t use : last.uses) {
         if (use > 0)
            labels.push_back(last.operands[use]);
      }
      break;
   default:
      break;
   }
   std::ranges::sort(labels);
   labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
   return labels;
}

namespace {

bool is_id(spv_operand_type_t type)
{
   return type == SPV_OPERAND_TYPE_ID || type == SPV_OPERAND_TYPE_SCOPE_ID ||
          type == SPV_OPERAND_TYPE_MEMORY_SEMANTICS_ID;
}

spv_result_t take(void *list, const spv_parsed_instruction_t *parsed)
{
   Instruction i = {spv::Op(parsed->opcode), parsed->type_id, parsed->result_id, {}, {}};
   const size_t first = 1 + (i.type != 0) + (i.result != 0);
   i.operands.assign(parsed->words + first, parsed->words + parsed->num_words);
   for (uint16_t n = 0; n < parsed->num_operands; n++) {
      const spv_parsed_operand_t &operand = parsed->operands[n];
      if (is_id(operand.type))
         i.uses.push_back(uint32_t(operand.offset - first));
   }
   static_cast<std::vector<Instruction> *>(list)->push_back(std::move(i));
   return SPV_SUCCESS;
}

} // namespace

Module::Module(std::span<const uint32_t> words) : header(words.begin(), words.begin() + 5)
{
   std::vector<Instruction> all;
   const spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_3);
   const spv_result_t result =
      spvBinaryParse(context, &all, words.data(), words.size(), nullptr, take, nullptr);
   spvContextDestroy(context);
   if (result != SPV_SUCCESS)
      throw std::invalid_argument("no SPIR-V module");
   bound = header[3];
   for (Instruction &i : all) {
      if (i.opcode == spv::Op::OpFunction)
         functions.push_back({i, {}, {}});
      else if (functions.empty())
         preamble.push_back(i);
      else if (i.opcode == spv::Op::OpFunctionParameter)
         functions.back().parameters.push_back(i);
      else if (i.opcode == spv::Op::OpLabel)
         functions.back().blocks.push_back({i.result, {}});
      else if (i.opcode != spv::Op::OpFunctionEnd && !functions.back().blocks.empty())
         functions.back().blocks.back().body.push_back(i);
   }
   for (size_t n = 0; n < preamble.size(); n++) {
      const Instruction &i = preamble[n];
      if (i.result)
         globals[i.result] = n;
      const size_t place = i.opcode == spv::Op::OpMemberDecorate ? 2 : 1;
      if (i.opcode == spv::Op::OpMemberDecorate || i.opcode == spv::Op::OpDecorate ||
          i.opcode == spv::Op::OpDecorateId) {
         const auto decoration = spv::Decoration(i.operands[place]);
         if (decoration != spv::Decoration::RelaxedPrecision)
            decorated.insert(i.operands[0]);
      }
   }
}

std::vector<uint32_t> Module::words() const
{
   std::vector<uint32_t> words = header;
   words[3] = bound;
   const auto write = [&](const Instruction &i) {
      const size_t first = words.size();
      words.push_back(0);
      if (i.type)
         words.push_back(i.type);
      if (i.result)
         words.push_back(i.result);
      words.insert(words.end(), i.operands.begin(), i.operands.end());
      words[first] = uint32_t(words.size() - first) << 16 | uint32_t(i.opcode);
   };
   for (const Instruction &i : preamble)
      write(i);
   for (const Function &f : functions) {
      write(f.begin);
      for (const Instruction &i : f.parameters)
         write(i);
      for (const Block &b : f.blocks) {
         write({spv::Op::OpLabel, 0, b.label, {}, {}});
         for (const Instruction &i : b.body)
            write(i);
      }
      write({spv::Op::OpFunctionEnd, 0, 0, {}, {}});
   }
   return words;
}

const Instruction *Module::global(uint32_t id) const
{
   const auto it = globals.find(id);
   return it == globals.end() ? nullptr : &preamble[it->second];
}

spv::Op Module::type_opcode(uint32_t type) const
{
   const Instruction *i = global(type);
   return i ? i->opcode : spv::Op::OpNop;
}

bool Module::has_capability(spv::Capability capability) const
{
   return std::ranges::any_of(preamble, [&](const Instruction &i) {
      return i.opcode == spv::Op::OpCapability && i.operands[0] == uint32_t(capability);
   });
}

bool Module::has_decoration(uint32_t id, spv::Decoration decoration) const
{
   return std::ranges::any_of(preamble, [&](const Instruction &i) {
      return i.opcode == spv::Op::OpDecorate && i.operands[0] == id &&
             i.operands[1] == uint32_t(decoration);
   });
}

bool Module::is_decorated(uint32_t id) const
{
   return decorated.contains(id);
}

bool Module::is_matrix(uint32_t type) const
{
   const spv::Op opcode = type_opcode(type);
   return opcode == spv::Op::OpTypeCooperativeMatrixKHR ||
          opcode == spv::Op::OpTypeCooperativeMatrixNV;
}

bool Module::is_plain(uint32_t type) const
{
   const Instruction *i = global(type);
   if (!i || is_decorated(type))
      return false;
   switch (i->opcode) {
   case spv::Op::OpTypeBool:
   case spv::Op::OpTypeCooperativeMatrixKHR:
   case spv::Op::OpTypeCooperativeMatrixNV:
      return true;
   case spv::Op::OpTypeInt:
      // Without the capability, numbers of this size may only be loaded, converted and stored.
      return i->operands[0] >= 32 ||
             has_capability(i->operands[0] == 16 ? spv::Capability::Int16 : spv::Capability::Int8);
   case spv::Op::OpTypeFloat:
      return i->operands[0] >= 32 || i->operands.size() > 1 ||
             has_capability(spv::Capability::Float16);
   case spv::Op::OpTypeVector:
   case spv::Op::OpTypeMatrix:
      return is_plain(i->operands[0]);
   case spv::Op::OpTypeArray:
      return is_plain(i->operands[0]) && constant_value(i->operands[1]);
   case spv::Op::OpTypeStruct:
      return !i->operands.empty() &&
             std::ranges::all_of(i->operands, [&](uint32_t member) { return is_plain(member); });
   default:
      return false;
   }
}

bool Module::holds_matrix(uint32_t type) const
{
   if (is_matrix(type))
      return true;
   for (uint32_t m = 0; m < member_count(type); m++) {
      if (holds_matrix(member_type(type, m)))
         return true;
      if (type_opcode(type) != spv::Op::OpTypeStruct)
         break;
   }
   return false;
}

bool Module::can_select(uint32_t type) const
{
   const spv::Op opcode = type_opcode(type);
   const bool is_scalar = opcode == spv::Op::OpTypeBool || opcode == spv::Op::OpTypeInt ||
                          opcode == spv::Op::OpTypeFloat;
   return is_scalar || version() >= 0x00010400;
}

uint32_t Module::member_count(uint32_t type) const
{
   const Instruction *i = global(type);
   switch (type_opcode(type)) {
   case spv::Op::OpTypeVector:
   case spv::Op::OpTypeMatrix:
      return i->operands[1];
   case spv::Op::OpTypeArray:
      return constant_value(i->operands[1]).value_or(0);
   case spv::Op::OpTypeStruct:
      return uint32_t(i->operands.size());
   default:
      return 0;
   }
}

uint32_t Module::member_type(uint32_t type, uint32_t member) const
{
   const Instruction *i = global(type);
   return i->operands[i->opcode == spv::Op::OpTypeStruct ? member : 0];
}

std::optional<uint32_t> Module::component_type(uint32_t matrix) const
{
   const uint32_t type = global(matrix)->operands[0];
   return is_plain(type) ? std::optional(type) : std::nullopt;
}

uint32_t Module::size(uint32_t type) const
{
   const uint32_t count = member_count(type);
   if (count == 0)
      return 1;
   if (type_opcode(type) != spv::Op::OpTypeStruct)
      return std::min<uint32_t>(count, 1 << 12) *
             std::min<uint32_t>(size(member_type(type, 0)), 1 << 12);
   uint32_t sum = 0;
   for (uint32_t m = 0; m < count; m++)
      sum += size(member_type(type, m));
   return sum;
}

std::optional<uint32_t> Module::constant_value(uint32_t id) const
{
   const Instruction *i = global(id);
   if (!i || i->opcode != spv::Op::OpConstant || i->operands.size() != 1 ||
       type_opcode(i->type) != spv::Op::OpTypeInt)
      return std::nullopt;
   return i->operands[0];
}

uint32_t Module::add(const Instruction &wanted, bool reuse)
{
   std::vector<uint32_t> key = {uint32_t(wanted.opcode), wanted.type};
   key.insert(key.end(), wanted.operands.begin(), wanted.operands.end());
   if (reuse) {
      if (const auto it = added.find(key); it != added.end())
         return it->second;
      for (const Instruction &i : preamble) {
         if (i.result && i.opcode == wanted.opcode && i.type == wanted.type &&
             i.operands == wanted.operands && !is_decorated(i.result))
            return added[key] = i.result;
      }
   }
   Instruction i = wanted;
   i.result = new_id();
   globals[i.result] = preamble.size();
   preamble.push_back(i);
   if (reuse)
      added[key] = i.result;
   return i.result;
}

uint32_t Module::uint_type()
{
   return add(Instruction::make(spv::Op::OpTypeInt, 0, 0, {}, {32, 0}));
}

uint32_t Module::bool_type()
{
   return add(Instruction::make(spv::Op::OpTypeBool, 0, 0, {}));
}

uint32_t Module::constant(uint32_t value)
{
   return add(Instruction::make(spv::Op::OpConstant, uint_type(), 0, {}, {value}));
}

uint32_t Module::bool_constant(bool value)
{
   return add(Instruction::make(value ? spv::Op::OpConstantTrue : spv::Op::OpConstantFalse,
                                bool_type(), 0, {}));
}

uint32_t Module::null(uint32_t type)
{
   return add(Instruction::make(spv::Op::OpConstantNull, type, 0, {}));
}

uint32_t Module::undefined(uint32_t type)
{
   return add(Instruction::make(spv::Op::OpUndef, type, 0, {}));
}

uint32_t Module::function_pointer(uint32_t type)
{
   return add(Instruction{
      spv::Op::OpTypePointer, 0, 0, {uint32_t(spv::StorageClass::Function), type}, {1}});
}

uint32_t Module::array_type(uint32_t element, uint32_t length)
{
   return add(Instruction::make(spv::Op::OpTypeArray, 0, 0, {element, constant(length)}));
}

uint32_t Module::struct_type(const std::vector<uint32_t> &members)
{
   return add(Instruction::make(spv::Op::OpTypeStruct, 0, 0, members));
}

uint32_t Module::function_type(uint32_t result, const std::vector<uint32_t> &parameters)
{
   std::vector<uint32_t> ids = {result};
   ids.insert(ids.end(), parameters.begin(), parameters.end());
   return add(Instruction::make(spv::Op::OpTypeFunction, 0, 0, ids));
}

uint32_t Module::copy_of_type(uint32_t type)
{
   Instruction copy = *global(type);
   if (copy.opcode == spv::Op::OpTypeStruct) {
      for (uint32_t &member : copy.operands)
         member = copy_of_type(member);
   } else if (copy.opcode == spv::Op::OpTypeArray) {
      copy.operands[0] = copy_of_type(copy.operands[0]);
   } else {
      return type;
   }
   return add(copy, false);
}

void Module::remove_annotations(const std::set<uint32_t> &ids)
{
   std::erase_if(preamble, [&](const Instruction &i) {
      return (i.opcode == spv::Op::OpName || i.opcode == spv::Op::OpDecorate) &&
             ids.contains(i.operands[0]);
   });
   globals.clear();
   for (size_t n = 0; n < preamble.size(); n++) {
      if (preamble[n].result)
         globals[preamble[n].result] = n;
   }
}

} // namespace weft::forms
