// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Reduces a module to one entry point: its functions, the functions that they call, and the global
/// instructions that these need. Keeps the order of the sections of SPIR-V 2.4.

#include "backend/spirv/compiler.h"

#include "nir_passes/spirv_enums.h"

#include "compiler/spirv/spirv.h"
#include <spirv-tools/libspirv.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace weft::spirv {

namespace {

struct Instruction {
   uint16_t opcode;
   uint32_t result; ///< 0: none
   size_t at, length;
   size_t first_id, ids; ///< operands that are ids, as indices into Module::ids
};

/// A parsed module.
struct Module {
   std::vector<uint32_t> words; ///< in this machine's byte order, without the header
   uint32_t header[5] = {};
   std::vector<uint32_t> ids;
   std::vector<Instruction> instructions;

   std::span<const uint32_t> words_of(const Instruction &i) const
   {
      return std::span(words).subspan(i.at, i.length);
   }
   std::span<const uint32_t> ids_of(const Instruction &i) const
   {
      return std::span(ids).subspan(i.first_id, i.ids);
   }
   std::string_view string_at(const Instruction &i, size_t word) const
   {
      const std::span<const uint32_t> w = words_of(i).subspan(word);
      const char *text = reinterpret_cast<const char *>(w.data());
      return {text, strnlen(text, w.size_bytes())};
   }
};

bool is_id_operand(spv_operand_type_t type)
{
   return type == SPV_OPERAND_TYPE_ID || type == SPV_OPERAND_TYPE_TYPE_ID ||
          type == SPV_OPERAND_TYPE_SCOPE_ID || type == SPV_OPERAND_TYPE_MEMORY_SEMANTICS_ID;
}

spv_result_t read_header(void *user, spv_endianness_t, uint32_t magic, uint32_t version,
                         uint32_t generator, uint32_t bound, uint32_t schema)
{
   const uint32_t header[] = {magic, version, generator, bound, schema};
   std::ranges::copy(header, static_cast<Module *>(user)->header);
   return SPV_SUCCESS;
}

spv_result_t read_instruction(void *user, const spv_parsed_instruction_t *parsed)
{
   auto &m = *static_cast<Module *>(user);
   Instruction i = {parsed->opcode,    parsed->result_id, m.words.size(),
                    parsed->num_words, m.ids.size(),      0};
   m.words.insert(m.words.end(), parsed->words, parsed->words + parsed->num_words);
   for (uint32_t k = 0; k < parsed->num_operands; k++) {
      const spv_parsed_operand_t &operand = parsed->operands[k];
      if (is_id_operand(operand.type))
         m.ids.push_back(parsed->words[operand.offset]);
   }
   i.ids = m.ids.size() - i.first_id;
   m.instructions.push_back(i);
   return SPV_SUCCESS;
}

Result<Module> parse(std::span<const uint32_t> spirv)
{
   Module module;
   spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
   spv_diagnostic diagnostic = nullptr;
   const spv_result_t result = spvBinaryParse(context, &module, spirv.data(), spirv.size(),
                                              read_header, read_instruction, &diagnostic);
   std::string why = diagnostic ? diagnostic->error : "not a SPIR-V module";
   spvDiagnosticDestroy(diagnostic);
   spvContextDestroy(context);
   if (result != SPV_SUCCESS)
      return Error{std::move(why)};
   return module;
}

std::vector<uint32_t> execution_models(uint32_t stage)
{
   switch (stage) {
   case VK_SHADER_STAGE_VERTEX_BIT:
      return {SpvExecutionModelVertex};
   case VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT:
      return {SpvExecutionModelTessellationControl};
   case VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT:
      return {SpvExecutionModelTessellationEvaluation};
   case VK_SHADER_STAGE_GEOMETRY_BIT:
      return {SpvExecutionModelGeometry};
   case VK_SHADER_STAGE_FRAGMENT_BIT:
      return {SpvExecutionModelFragment};
   case VK_SHADER_STAGE_COMPUTE_BIT:
      return {SpvExecutionModelGLCompute};
   case VK_SHADER_STAGE_TASK_BIT_EXT:
      return {SpvExecutionModelTaskEXT, SpvExecutionModelTaskNV};
   case VK_SHADER_STAGE_MESH_BIT_EXT:
      return {SpvExecutionModelMeshEXT, SpvExecutionModelMeshNV};
   case VK_SHADER_STAGE_RAYGEN_BIT_KHR:
      return {SpvExecutionModelRayGenerationKHR};
   case VK_SHADER_STAGE_INTERSECTION_BIT_KHR:
      return {SpvExecutionModelIntersectionKHR};
   case VK_SHADER_STAGE_ANY_HIT_BIT_KHR:
      return {SpvExecutionModelAnyHitKHR};
   case VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR:
      return {SpvExecutionModelClosestHitKHR};
   case VK_SHADER_STAGE_MISS_BIT_KHR:
      return {SpvExecutionModelMissKHR};
   case VK_SHADER_STAGE_CALLABLE_BIT_KHR:
      return {SpvExecutionModelCallableKHR};
   default:
      return {};
   }
}

/// Whether the instruction annotates, names or configures its first id: it is kept if that id is.
bool belongs_to_target(uint16_t opcode)
{
   switch (opcode) {
   case SpvOpName:
   case SpvOpMemberName:
   case SpvOpDecorate:
   case SpvOpDecorateId:
   case SpvOpDecorateString:
   case SpvOpMemberDecorate:
   case SpvOpMemberDecorateString:
   case SpvOpTypeForwardPointer:
   case SpvOpExecutionMode:
   case SpvOpExecutionModeId:
      return true;
   default:
      return false;
   }
}

class Cutter {
public:
   Cutter(const Module &module, const Declarations &dropped) : m(module), dropped(dropped)
   {
      size_t function = 0;
      for (size_t i = 0; i < m.instructions.size(); i++) {
         const Instruction &instruction = m.instructions[i];
         if (instruction.opcode == SpvOpFunction)
            function = i;
         if (instruction.opcode == SpvOpFunctionEnd)
            ends[function] = i;
         if (instruction.result)
            definitions[instruction.result] = i;
      }
      live.resize(m.instructions.size());
   }

   Result<std::optional<std::vector<uint32_t>>> run(uint32_t stage, const std::string &name)
   {
      const std::vector<uint32_t> models = execution_models(stage);
      for (size_t i = 0; i < m.instructions.size(); i++) {
         const Instruction &entry = m.instructions[i];
         if (entry.opcode == SpvOpGroupDecorate || entry.opcode == SpvOpGroupMemberDecorate)
            return Error{"groups of decorations in a module with cooperative matrices"};
         if (entry.opcode == SpvOpEntryPoint && m.string_at(entry, 3) == name &&
             std::ranges::find(models, m.words_of(entry)[1]) != models.end())
            reach_instruction(i);
      }
      if (queue.empty())
         return Error{"there is no such entry point"};
      while (!queue.empty()) {
         while (!queue.empty() && refusal.empty())
            reach_next();
         if (!refusal.empty())
            return Error{refusal};
         for (size_t i = 0; i < m.instructions.size(); i++) {
            const Instruction &instruction = m.instructions[i];
            if (belongs_to_target(instruction.opcode) && is_live(m.ids_of(instruction)[0]))
               reach_instruction(i);
         }
      }
      if (has_matrices)
         return std::optional<std::vector<uint32_t>>();
      return std::optional(write());
   }

private:
   bool is_live(uint32_t id) const
   {
      auto it = definitions.find(id);
      return it != definitions.end() && live[it->second];
   }

   void reach_instruction(size_t i)
   {
      if (!live[i])
         queue.push_back(i);
      live[i] = true;
   }

   void reach_next()
   {
      const size_t i = queue.back();
      queue.pop_back();
      const Instruction &instruction = m.instructions[i];
      has_matrices |= instruction.opcode == SpvOpTypeCooperativeMatrixKHR ||
                      instruction.opcode == SpvOpTypeCooperativeMatrixNV ||
                      is_dropped_float(instruction);
      // A reference to a missing id is refused here: the driver would be blamed for it, and might
      // crash.
      for (uint32_t id : m.ids_of(instruction)) {
         auto it = definitions.find(id);
         if (it != definitions.end())
            reach_instruction(it->second);
         else
            refusal = "id " + std::to_string(id) + " is used and not defined";
      }
      if (instruction.opcode == SpvOpFunction) {
         const auto end = ends.find(i);
         if (end == ends.end())
            refusal = "function " + std::to_string(instruction.result) + " has no end";
         for (size_t part = i + 1; end != ends.end() && part <= end->second; part++)
            reach_instruction(part);
      }
   }

   bool is_dropped(const Instruction &instruction) const
   {
      switch (instruction.opcode) {
      case SpvOpCapability:
         return std::ranges::find(dropped.capabilities, m.words_of(instruction)[1]) !=
                dropped.capabilities.end();
      case SpvOpExtension:
         return std::ranges::find(dropped.extensions, m.string_at(instruction, 1)) !=
                dropped.extensions.end();
      default:
         return false;
      }
   }

   /// A bfloat16 or float8 type whose capability the driver lacks.
   bool is_dropped_float(const Instruction &instruction) const
   {
      constexpr size_t encoding_word = 3;
      if (instruction.opcode != SpvOpTypeFloat || instruction.length <= encoding_word)
         return false;
      const uint32_t capability =
         m.words_of(instruction)[encoding_word] == WeftSpvFPEncodingBFloat16KHR
            ? WeftSpvCapabilityBFloat16TypeKHR
            : WeftSpvCapabilityFloat8EXT;
      return std::ranges::find(dropped.capabilities, capability) != dropped.capabilities.end();
   }

   /// Whether the instruction concerns the module as a whole: code neither contains nor references
   /// it.
   static bool concerns_the_module(uint16_t opcode)
   {
      switch (opcode) {
      case SpvOpCapability:
      case SpvOpExtension:
      case SpvOpExtInstImport:
      case SpvOpMemoryModel:
      case SpvOpSource:
      case SpvOpSourceContinued:
      case SpvOpSourceExtension:
      case SpvOpString:
      case SpvOpModuleProcessed:
         return true;
      default:
         return false;
      }
   }

   std::vector<uint32_t> write() const
   {
      std::vector<uint32_t> out(std::begin(m.header), std::end(m.header));
      for (size_t i = 0; i < m.instructions.size(); i++) {
         const Instruction &instruction = m.instructions[i];
         if (is_dropped(instruction) || !(live[i] || concerns_the_module(instruction.opcode)))
            continue;
         const std::span<const uint32_t> words = m.words_of(instruction);
         out.insert(out.end(), words.begin(), words.end());
      }
      return out;
   }

   const Module &m;
   const Declarations &dropped;
   std::unordered_map<uint32_t, size_t> definitions; ///< by id
   std::unordered_map<size_t, size_t> ends;          ///< last instruction per function
   std::vector<bool> live;
   std::vector<size_t> queue; ///< live instructions whose operands are not yet visited
   bool has_matrices = false;
   std::string refusal;
};

} // namespace

Result<std::optional<std::vector<uint32_t>>> without_matrices(std::span<const uint32_t> spirv,
                                                              uint32_t stage,
                                                              const std::string &entry_point,
                                                              const Declarations &dropped)
{
   const Result<Module> module = parse(spirv);
   if (!module)
      return module.error();
   return Cutter(*module, dropped).run(stage, entry_point);
}

} // namespace weft::spirv
