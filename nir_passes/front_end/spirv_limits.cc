// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/front_end/spirv_limits.h"

#include "nir_passes/front_end/spirv_words.h"

#include "compiler/spirv/spirv.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft {

namespace {

/// The number of the operand that is a called function, counted from the first word; 0 for none.
size_t callee_operand(uint32_t opcode)
{
   switch (opcode) {
   case SpvOpFunctionCall:
      return 2;
   case SpvOpCooperativeMatrixPerElementOpNV:
      return 3;
   case SpvOpCooperativeMatrixReduceNV:
      return 4;
   default:
      return 0;
   }
}

/// Lines, names and extended instructions for debuggers make no code.
bool makes_code(uint32_t opcode)
{
   return opcode != SpvOpLine && opcode != SpvOpNoLine && opcode != SpvOpExtInst &&
          opcode != SpvOpLabel;
}

struct Function {
   uint64_t instructions = 0;
   std::vector<uint32_t> calls; ///< ids, one for each call
   /// Set once the function is visited:
   bool begun = false;
   uint64_t inlined = 0, depth = 0;
};

Error too_many(uint64_t limit, const std::string &of_what)
{
   return {"the SPIR-V module has more than " + std::to_string(limit) + " " + of_what};
}

class CallGraph {
public:
   Result<bool> read(std::span<const uint32_t> words)
   {
      Function *function = nullptr;
      uint64_t instructions = 0, calls = 0;
      std::set<uint32_t> callees;
      for (const auto &[opcode, operands] : Instructions(words)) {
         if (opcode == SpvOpFunction && operands.size() >= 2) {
            function = &functions[operands[1]];
            callees.clear();
         } else if (opcode == SpvOpFunctionEnd) {
            function = nullptr;
         } else if (function && makes_code(opcode)) {
            ++function->instructions;
            ++instructions;
            const size_t callee = callee_operand(opcode);
            if (callee && callee < operands.size()) {
               function->calls.push_back(operands[callee]);
               calls += callees.insert(operands[callee]).second;
            }
         }
         if (functions.size() > limits::functions)
            return too_many(limits::functions, "functions");
         if (calls > limits::calls)
            return too_many(limits::calls, "different calls between its functions");
         if (instructions > limits::module_instructions)
            return too_many(limits::module_instructions, "instructions in its functions");
      }
      return true;
   }

   /// Computes depth and size of all functions, callees first. Recursive calls do not count.
   void measure()
   {
      struct Visit {
         Function *function;
         size_t next; ///< of its calls
      };
      std::vector<Visit> stack;
      const auto begin = [&](Function &function) {
         if (function.begun)
            return;
         function.begun = true;
         function.inlined = function.instructions;
         function.depth = 1;
         stack.push_back({&function, 0});
      };
      for (auto &[id, function] : functions) {
         begin(function);
         while (!stack.empty()) {
            Function &caller = *stack.back().function;
            if (stack.back().next == caller.calls.size()) {
               stack.pop_back();
               continue;
            }
            const auto callee = functions.find(caller.calls[stack.back().next]);
            if (callee != functions.end() && !callee->second.begun) {
               begin(callee->second);
               continue;
            }
            stack.back().next++;
            if (callee == functions.end())
               continue;
            caller.inlined =
               std::min(caller.inlined + callee->second.inlined, limits::instructions + 1);
            caller.depth = std::max(caller.depth, callee->second.depth + 1);
         }
      }
   }

   std::unordered_map<uint32_t, Function> functions;
};

} // namespace

Result<bool> check_spirv_limits(std::span<const uint32_t> words, std::string_view entry_point)
{
   CallGraph graph;
   if (const Result<bool> good = graph.read(words); !good)
      return good.error();
   graph.measure();
   for (const auto &[id, function] : graph.functions) {
      if (function.depth > limits::call_depth)
         return too_many(limits::call_depth, "functions that call each other in a row");
   }
   for (const auto &[opcode, operands] : Instructions(words)) {
      if (opcode == SpvOpFunction)
         break;
      if (opcode != SpvOpEntryPoint || operands.size() < 3 ||
          operands[0] != SpvExecutionModelGLCompute ||
          literal_string(operands.subspan(2)) != entry_point)
         continue;
      const auto function = graph.functions.find(operands[1]);
      if (function != graph.functions.end() && function->second.inlined > limits::instructions)
         return Error{"the shader has more than " + std::to_string(limits::instructions) +
                      " instructions once its functions are inlined"};
   }
   return true;
}

} // namespace weft
