// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/module_builder.h"

#include <algorithm>

namespace weft::spirv {

namespace {

/// SPIR-V 2.3: 0 is a generator without a registered number.
constexpr uint32_t generator = 0;

void append(Words &section, SpvOp op, std::span<const uint32_t> operands)
{
   section.push_back(uint32_t(operands.size() + 1) << 16 | uint32_t(op));
   section.insert(section.end(), operands.begin(), operands.end());
}

/// SPIR-V 2.2.1: UTF-8, four bytes per word, terminated by a zero byte.
void append_string(Words &operands, const std::string &text)
{
   for (size_t i = 0; i <= text.size(); i += 4) {
      uint32_t word = 0;
      for (size_t j = i; j < std::min(i + 4, text.size()); ++j)
         word |= uint32_t(uint8_t(text[j])) << 8 * (j - i);
      operands.push_back(word);
   }
}

Words with_type(Id type, Id result, std::span<const uint32_t> operands)
{
   Words words = {type, result};
   words.insert(words.end(), operands.begin(), operands.end());
   return words;
}

void append_all(Words &to, const Words &from)
{
   to.insert(to.end(), from.begin(), from.end());
}

} // namespace

Id ModuleBuilder::extended_instructions(const char *name)
{
   const auto [it, inserted] = imports.try_emplace(name, 0);
   if (inserted)
      it->second = new_id();
   return it->second;
}

void ModuleBuilder::memory_model(SpvAddressingModel addressing, SpvMemoryModel memory)
{
   model.clear();
   append(model, SpvOpMemoryModel, Words{uint32_t(addressing), uint32_t(memory)});
}

void ModuleBuilder::entry_point(SpvExecutionModel stage, Id function, const std::string &name,
                                std::span<const Id> interface)
{
   Words operands = {uint32_t(stage), function};
   append_string(operands, name);
   operands.insert(operands.end(), interface.begin(), interface.end());
   append(entries, SpvOpEntryPoint, operands);
}

void ModuleBuilder::execution_mode(Id function, SpvExecutionMode mode,
                                   std::initializer_list<uint32_t> operands)
{
   Words words = {function, uint32_t(mode)};
   words.insert(words.end(), operands);
   append(modes, SpvOpExecutionMode, words);
}

void ModuleBuilder::name(Id id, const char *text)
{
   if (!text || !*text)
      return;
   Words operands = {id};
   append_string(operands, text);
   append(names, SpvOpName, operands);
}

void ModuleBuilder::decorate(Id id, SpvDecoration decoration,
                             std::initializer_list<uint32_t> operands)
{
   Words words = {id, uint32_t(decoration)};
   words.insert(words.end(), operands);
   append(decorations, SpvOpDecorate, words);
}

void ModuleBuilder::decorate_member(Id type, uint32_t member, SpvDecoration decoration,
                                    std::initializer_list<uint32_t> operands)
{
   Words words = {type, member, uint32_t(decoration)};
   words.insert(words.end(), operands);
   append(decorations, SpvOpMemberDecorate, words);
}

Id ModuleBuilder::type(SpvOp op, const Words &operands)
{
   Words key = {uint32_t(op)};
   append_all(key, operands);
   const auto [it, inserted] = types.try_emplace(std::move(key), 0);
   if (inserted)
      it->second = distinct_type(op, operands);
   return it->second;
}

Id ModuleBuilder::distinct_type(SpvOp op, const Words &operands)
{
   const Id id = new_id();
   Words words = {id};
   append_all(words, operands);
   append(definitions, op, words);
   return id;
}

Id ModuleBuilder::type_int(unsigned bits, bool is_signed)
{
   switch (bits) {
   case 8:
      capability(SpvCapabilityInt8);
      break;
   case 16:
      capability(SpvCapabilityInt16);
      break;
   case 64:
      capability(SpvCapabilityInt64);
      break;
   default:
      break;
   }
   return type(SpvOpTypeInt, {bits, is_signed});
}

Id ModuleBuilder::type_float(unsigned bits)
{
   if (bits == 16)
      capability(SpvCapabilityFloat16);
   else if (bits == 64)
      capability(SpvCapabilityFloat64);
   return type(SpvOpTypeFloat, {bits});
}

Id ModuleBuilder::define(Words &section, SpvOp op, Id type, const Words &operands)
{
   const Id id = new_id();
   append(section, op, with_type(type, id, operands));
   return id;
}

Id ModuleBuilder::constant(Id type, unsigned bits, uint64_t value)
{
   Words operands = {uint32_t(value)};
   if (bits == 64)
      operands.push_back(uint32_t(value >> 32));
   Words key = {uint32_t(SpvOpConstant), type};
   append_all(key, operands);
   const auto [it, inserted] = constants.try_emplace(std::move(key), 0);
   if (inserted)
      it->second = define(definitions, SpvOpConstant, type, operands);
   return it->second;
}

Id ModuleBuilder::constant_bool(bool value)
{
   const SpvOp op = value ? SpvOpConstantTrue : SpvOpConstantFalse;
   const Id type = type_bool();
   const auto [it, inserted] = constants.try_emplace({uint32_t(op), type}, 0);
   if (inserted)
      it->second = define(definitions, op, type, {});
   return it->second;
}

Id ModuleBuilder::constant_composite(Id type, const Words &parts)
{
   Words key = {uint32_t(SpvOpConstantComposite), type};
   append_all(key, parts);
   const auto [it, inserted] = constants.try_emplace(std::move(key), 0);
   if (inserted)
      it->second = define(definitions, SpvOpConstantComposite, type, parts);
   return it->second;
}

Id ModuleBuilder::constant_null(Id type)
{
   const auto [it, inserted] = constants.try_emplace({uint32_t(SpvOpConstantNull), type}, 0);
   if (inserted)
      it->second = define(definitions, SpvOpConstantNull, type, {});
   return it->second;
}

Id ModuleBuilder::global_variable(Id pointer_type, SpvStorageClass storage,
                                  std::optional<Id> initializer)
{
   Words operands = {uint32_t(storage)};
   if (initializer)
      operands.push_back(*initializer);
   globals.push_back(define(definitions, SpvOpVariable, pointer_type, operands));
   return globals.back();
}

void ModuleBuilder::begin_function(Id function, Id function_type)
{
   append(function_head, SpvOpFunction,
          Words{type_void(), function, SpvFunctionControlMaskNone, function_type});
   append(function_head, SpvOpLabel, Words{new_id()});
}

void ModuleBuilder::end_function()
{
   append(body, SpvOpReturn, {});
   append(body, SpvOpFunctionEnd, {});
}

Id ModuleBuilder::local_variable(Id pointer_type)
{
   return define(locals, SpvOpVariable, pointer_type, {SpvStorageClassFunction});
}

void ModuleBuilder::label(Id id)
{
   append(body, SpvOpLabel, Words{id});
}

Id ModuleBuilder::emit(SpvOp op, Id type, std::initializer_list<uint32_t> operands)
{
   return emit(op, type, Words(operands));
}

Id ModuleBuilder::emit(SpvOp op, Id type, const Words &operands)
{
   return define(body, op, type, operands);
}

void ModuleBuilder::emit(SpvOp op, std::initializer_list<uint32_t> operands)
{
   append(body, op, Words(operands));
}

void ModuleBuilder::emit(SpvOp op, const Words &operands)
{
   append(body, op, operands);
}

Words ModuleBuilder::finish(uint32_t version) const
{
   Words words = {SpvMagicNumber, version, generator, last_id + 1, 0};
   for (SpvCapability c : capabilities)
      append(words, SpvOpCapability, Words{uint32_t(c)});
   for (const std::string &extension : extensions) {
      Words operands;
      append_string(operands, extension);
      append(words, SpvOpExtension, operands);
   }
   for (const auto &[name, id] : imports) {
      Words operands = {id};
      append_string(operands, name);
      append(words, SpvOpExtInstImport, operands);
   }
   for (const Words *section : {&model, &entries, &modes, &names, &decorations, &definitions,
                                &function_head, &locals, &body})
      append_all(words, *section);
   return words;
}

} // namespace weft::spirv
