// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/spirv_forms/forms.h"

#include "tests/spirv_forms/rewrite.h"

#include <algorithm>
#include <set>
#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>
#include <stdexcept>

namespace weft::forms {

namespace {

bool is_exact(const Instruction &i)
{
   return i.opcode == spv::Op::OpDecorate &&
          i.operands[1] == uint32_t(spv::Decoration::NoContraction);
}

/// Without NoContraction the optimizer multiplies by reciprocals and factors sums, which rounds
/// differently.  All arithmetic therefore has the decoration while the optimizer runs.
std::vector<uint32_t> forbid_inexact_folding(std::span<const uint32_t> spirv)
{
   Module module(spirv);
   std::vector<Instruction> decorations;
   for (const Function &f : module.functions) {
      for (const Block &b : f.blocks) {
         for (const Instruction &i : b.body) {
            const bool computes = (i.opcode >= spv::Op::OpSNegate && i.opcode <= spv::Op::OpDot) ||
                                  i.opcode == spv::Op::OpExtInst;
            if (computes && !module.has_decoration(i.result, spv::Decoration::NoContraction))
               decorations.push_back(Instruction::make(spv::Op::OpDecorate, 0, 0, {i.result},
                                                       {uint32_t(spv::Decoration::NoContraction)}));
         }
      }
   }
   // Decorations are the last instructions before the types.
   const auto types = std::ranges::find_if(
      module.preamble, [](const Instruction &i) { return i.opcode == spv::Op::OpTypeVoid; });
   module.preamble.insert(types, decorations.begin(), decorations.end());
   return module.words();
}

/// The capability that constants of a type need: none for 32 bits and more, or for the encodings of
/// floats of extensions, whose types have a capability.
std::optional<spv::Capability> capability_of_constants(const Instruction &type)
{
   switch (type.opcode) {
   case spv::Op::OpTypeInt:
      return type.operands[0] == 8    ? std::optional(spv::Capability::Int8)
             : type.operands[0] == 16 ? std::optional(spv::Capability::Int16)
                                      : std::nullopt;
   case spv::Op::OpTypeFloat:
      return type.operands[0] == 16 && type.operands.size() == 1
                ? std::optional(spv::Capability::Float16)
                : std::nullopt;
   default:
      return std::nullopt;
   }
}

/// The optimizer folds values into constants of 8 or 16 bits also in modules that only load and
/// store numbers of these sizes. It leaves out the capability for the constants.
void add_capabilities_of_constants(Module &module)
{
   std::set<spv::Capability> missing;
   for (const Instruction &i : module.preamble) {
      if (i.opcode != spv::Op::OpConstant)
         continue;
      const auto needed = capability_of_constants(*module.global(i.type));
      if (needed && !module.has_capability(*needed))
         missing.insert(*needed);
   }
   for (const spv::Capability capability : missing)
      module.preamble.insert(
         module.preamble.begin(),
         Instruction::make(spv::Op::OpCapability, 0, 0, {}, {uint32_t(capability)}));
}

std::vector<uint32_t> optimize(std::span<const uint32_t> spirv, Form form)
{
   spvtools::Optimizer optimizer(SPV_ENV_VULKAN_1_3);
   std::string messages;
   optimizer.SetMessageConsumer([&](spv_message_level_t, const char *, const spv_position_t &,
                                    const char *message) { messages += message; });
   if (form == Form::performance)
      optimizer.RegisterPerformancePasses();
   else
      optimizer.RegisterSizePasses();
   spvtools::OptimizerOptions options;
   options.set_run_validator(false);
   const std::vector<uint32_t> exact = forbid_inexact_folding(spirv);
   std::vector<uint32_t> result;
   if (!optimizer.Run(exact.data(), exact.size(), &result, options))
      throw std::runtime_error("spirv-opt: " + messages);
   Module module(result);
   add_capabilities_of_constants(module);
   // Ids may have changed by now: if the module has exact arithmetic of its own, all stays exact.
   if (std::ranges::none_of(Module(spirv).preamble, is_exact))
      std::erase_if(module.preamble, is_exact);
   return module.words();
}

std::vector<uint32_t> rewrite(std::span<const uint32_t> spirv, Form form, uint64_t seed)
{
   Module module(spirv);
   oracle::Random random(seed);
   // Shaders take longer to compile the more values there are.
   if (form == Form::values) {
      promote_variables(module, random, 90);
      disguise_values(module, random, 25, 12);
   } else {
      promote_variables(module, random, 60);
      disguise_values(module, random, 10, 4);
      demote_values(module, random, 40, 24);
   }
   return module.words();
}

} // namespace

std::string_view name(Form form)
{
   return std::ranges::find(all_forms, form, &NamedForm::form)->name;
}

std::optional<Form> find_form(std::string_view name)
{
   const auto it = std::ranges::find(all_forms, name, &NamedForm::name);
   return it == all_forms.end() ? std::nullopt : std::optional(it->form);
}

std::optional<std::string> find_fault(std::span<const uint32_t> spirv)
{
   spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_3);
   std::string messages;
   tools.SetMessageConsumer(
      [&](spv_message_level_t, const char *, const spv_position_t &at, const char *message) {
         messages += "instruction " + std::to_string(at.index) + ": " + message + "\n";
      });
   spvtools::ValidatorOptions options;
   options.SetScalarBlockLayout(true);
   options.SetWorkgroupScalarBlockLayout(true);
   options.SetUniformBufferStandardLayout(true);
   options.SetAllowLocalSizeId(true);
   if (tools.Validate(spirv.data(), spirv.size(), options))
      return std::nullopt;
   return messages;
}

std::vector<uint32_t> in_form(std::span<const uint32_t> spirv, Form form, uint64_t seed)
{
   if (form == Form::glslang)
      return {spirv.begin(), spirv.end()};
   const bool is_optimized = form == Form::performance || form == Form::size;
   std::vector<uint32_t> result = is_optimized ? optimize(spirv, form) : rewrite(spirv, form, seed);
   if (const auto fault = find_fault(result)) {
      spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_3);
      std::string text;
      tools.Disassemble(result.data(), result.size(), &text,
                        SPV_BINARY_TO_TEXT_OPTION_NO_HEADER | SPV_BINARY_TO_TEXT_OPTION_INDENT);
      throw std::runtime_error("form " + std::string(name(form)) + " is not valid: " + *fault +
                               text);
   }
   return result;
}

uint64_t seed_of(std::span<const uint32_t> spirv)
{
   uint64_t hash = 0xcbf29ce484222325;
   for (const uint32_t word : spirv)
      hash = (hash ^ word) * 0x100000001b3;
   return hash;
}

} // namespace weft::forms
