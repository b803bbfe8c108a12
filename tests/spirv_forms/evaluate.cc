// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/spirv_forms/evaluate.h"

#include "tests/spirv_forms/module.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace weft::forms {

namespace {

using spv::Op;

/// A number, or a composite of values.  A pointer is the number of a variable, and the indices from
/// there.
struct Value {
   uint32_t word = 0;
   bool is_undefined = false;
   std::vector<Value> members;
};

using Values = std::map<uint32_t, Value>;

/// Enough for the loops of any test.
constexpr uint32_t most_steps = 100000;

class Evaluator {
public:
   Evaluator(std::span<const uint32_t> spirv, const std::vector<uint32_t> &buffer) : m(spirv)
   {
      for (const Instruction &i : m.preamble) {
         if (i.opcode == Op::OpVariable) {
            Value words;
            for (const uint32_t word : buffer)
               words.members.push_back({word, false, {}});
            globals[i.result] = {uint32_t(memory.size()), false, {}};
            memory.push_back({0, false, {words}});
         } else if (i.result && i.type) {
            globals[i.result] = constant(i);
         }
      }
      for (const Function &f : m.functions)
         functions[f.begin.result] = &f;
   }

   std::vector<uint32_t> run()
   {
      const auto entry = std::ranges::find(m.preamble, Op::OpEntryPoint, &Instruction::opcode);
      call(*functions.at(entry->operands[1]), {});
      std::vector<uint32_t> words;
      for (const Value &v : memory[0].members[0].members) {
         if (v.is_undefined)
            throw std::runtime_error("an undefined value is stored");
         words.push_back(v.word);
      }
      return words;
   }

private:
   Module m;
   Values globals;
   std::vector<Value> memory;
   std::map<uint32_t, const Function *> functions;
   uint32_t steps = 0;

   Value filled(uint32_t type, const Value &with) const
   {
      const uint32_t count = m.is_matrix(type) ? matrix_components : m.member_count(type);
      if (count == 0)
         return with;
      Value v;
      for (uint32_t n = 0; n < count; n++)
         v.members.push_back(m.is_matrix(type) ? with : filled(m.member_type(type, n), with));
      return v;
   }

   Value constant(const Instruction &i) const
   {
      switch (i.opcode) {
      case Op::OpConstant:
         return {i.operands[0], false, {}};
      case Op::OpConstantTrue:
         return {1, false, {}};
      case Op::OpConstantFalse:
      case Op::OpConstantNull:
         return filled(i.type, {});
      case Op::OpUndef:
         return filled(i.type, {0xdeadbeef, true, {}});
      case Op::OpConstantComposite: {
         Value v;
         for (const uint32_t member : i.operands)
            v.members.push_back(globals.at(member));
         return m.is_matrix(i.type) ? filled(i.type, v.members[0]) : v;
      }
      default:
         return {}; // for example the size of a workgroup
      }
   }

   static Value &part(Value &of, std::span<const uint32_t> path)
   {
      Value *v = &of;
      for (const uint32_t index : path)
         v = &v->members.at(index);
      return *v;
   }

   Value &pointed(const Value &pointer)
   {
      Value *v = &memory.at(pointer.word);
      for (const Value &index : pointer.members)
         v = &v->members.at(defined(index));
      return *v;
   }

   static uint32_t defined(const Value &v)
   {
      if (v.is_undefined)
         throw std::runtime_error("an undefined value decides");
      return v.word;
   }

   Value call(const Function &f, const std::vector<Value> &arguments)
   {
      Values values;
      for (size_t n = 0; n < f.parameters.size(); n++)
         values[f.parameters[n].result] = arguments[n];
      const auto value_of = [&](uint32_t id) -> const Value & {
         const auto it = values.find(id);
         return it == values.end() ? globals.at(id) : it->second;
      };
      uint32_t label = f.blocks[0].label, before = 0;
      while (true) {
         const Block &b = *std::ranges::find(f.blocks, label, &Block::label);
         Values phis;
         uint32_t next = 0;
         for (const Instruction &i : b.body) {
            if (++steps > most_steps)
               throw std::runtime_error("no end");
            if (i.opcode == Op::OpPhi) {
               for (size_t n = 0; n < i.operands.size(); n += 2) {
                  if (i.operands[n + 1] == before)
                     phis[i.result] = value_of(i.operands[n]);
               }
               continue;
            }
            for (const auto &[id, value] : phis)
               values[id] = value;
            phis.clear();
            switch (i.opcode) {
            case Op::OpReturn:
               return {};
            case Op::OpReturnValue:
               return value_of(i.operands[0]);
            case Op::OpBranch:
               next = i.operands[0];
               break;
            case Op::OpBranchConditional:
               next = i.operands[defined(value_of(i.operands[0])) ? 1 : 2];
               break;
            case Op::OpSwitch:
               next = i.operands[1];
               for (size_t n = 2; n < i.operands.size(); n += 2) {
                  if (i.operands[n] == defined(value_of(i.operands[0])))
                     next = i.operands[n + 1];
               }
               break;
            case Op::OpSelectionMerge:
            case Op::OpLoopMerge:
               break;
            default:
               if (const std::optional<Value> v = step(i, value_of); v && i.result)
                  values[i.result] = *v;
            }
         }
         before = label;
         label = next;
      }
   }

   template <typename ValueOf>
   std::optional<Value> step(const Instruction &i, const ValueOf &value_of)
   {
      const auto operand = [&](size_t n) -> const Value & { return value_of(i.operands[n]); };
      const auto rest = [&](size_t n) { return std::span(i.operands).subspan(n); };
      switch (i.opcode) {
      case Op::OpVariable: {
         const uint32_t type = m.global(i.type)->operands[1];
         memory.push_back(i.operands.size() > 1 ? operand(1)
                                                : filled(type, {0xdeadbeef, true, {}}));
         return Value{uint32_t(memory.size() - 1), false, {}};
      }
      case Op::OpAccessChain:
      case Op::OpInBoundsAccessChain: {
         Value pointer = operand(0);
         for (size_t n = 1; n < i.operands.size(); n++)
            pointer.members.push_back(operand(n));
         return pointer;
      }
      case Op::OpLoad:
         return pointed(operand(0));
      case Op::OpStore:
         pointed(operand(0)) = operand(1);
         return std::nullopt;
      case Op::OpCopyMemory:
         pointed(operand(0)) = Value(pointed(operand(1)));
         return std::nullopt;
      case Op::OpCooperativeMatrixLoadKHR:
      case Op::OpCooperativeMatrixStoreKHR: {
         const bool loads = i.opcode == Op::OpCooperativeMatrixLoadKHR;
         Value pointer = operand(0), matrix;
         const uint32_t first = defined(pointer.members.back());
         for (uint32_t n = 0; n < matrix_components; n++) {
            pointer.members.back().word = first + n;
            if (loads)
               matrix.members.push_back(pointed(pointer));
            else
               pointed(pointer) = operand(1).members[n];
         }
         return matrix;
      }
      case Op::OpCooperativeMatrixLengthKHR:
         return Value{matrix_components, false, {}};
      case Op::OpUndef:
         return filled(i.type, {0xdeadbeef, true, {}});
      case Op::OpCompositeConstruct: {
         Value v;
         for (size_t n = 0; n < i.operands.size(); n++)
            v.members.push_back(operand(n));
         return m.is_matrix(i.type) ? filled(i.type, operand(0)) : v;
      }
      case Op::OpCompositeExtract: {
         Value v = operand(0);
         return Value(part(v, rest(1)));
      }
      case Op::OpCompositeInsert: {
         Value v = operand(1);
         part(v, rest(2)) = operand(0);
         return v;
      }
      case Op::OpCopyObject:
      case Op::OpCopyLogical:
      case Op::OpBitcast:
         return operand(0);
      case Op::OpSelect:
         return operand(defined(operand(0)) ? 1 : 2);
      case Op::OpFunctionCall: {
         std::vector<Value> arguments;
         for (size_t n = 1; n < i.operands.size(); n++)
            arguments.push_back(operand(n));
         return call(*functions.at(i.operands[0]), arguments);
      }
      default:
         return each(i, operand(0), i.operands.size() > 1 ? operand(1) : operand(0));
      }
   }

   /// Arithmetic, component by component.
   static Value each(const Instruction &i, const Value &a, const Value &b)
   {
      if (a.members.empty())
         return {compute(i.opcode, a.word, b.word), a.is_undefined || b.is_undefined, {}};
      Value v;
      for (size_t n = 0; n < a.members.size(); n++)
         v.members.push_back(each(i, a.members[n], b.members.empty() ? b : b.members[n]));
      return v;
   }

   static uint32_t compute(Op opcode, uint32_t a, uint32_t b)
   {
      switch (opcode) {
      case Op::OpIAdd:
         return a + b;
      case Op::OpISub:
         return a - b;
      case Op::OpIMul:
      case Op::OpMatrixTimesScalar:
         return a * b;
      case Op::OpNot:
         return ~a;
      case Op::OpBitwiseAnd:
      case Op::OpLogicalAnd:
         return a & b;
      case Op::OpBitwiseOr:
      case Op::OpLogicalOr:
         return a | b;
      case Op::OpBitwiseXor:
      case Op::OpLogicalNotEqual:
         return a ^ b;
      case Op::OpLogicalNot:
         return !a;
      case Op::OpShiftLeftLogical:
         return a << (b & 31);
      case Op::OpShiftRightLogical:
         return a >> (b & 31);
      case Op::OpUMod:
         return b ? a % b : 0;
      case Op::OpIEqual:
      case Op::OpLogicalEqual:
         return a == b;
      case Op::OpINotEqual:
         return a != b;
      case Op::OpULessThan:
         return a < b;
      case Op::OpULessThanEqual:
         return a <= b;
      case Op::OpUGreaterThan:
         return a > b;
      case Op::OpUGreaterThanEqual:
         return a >= b;
      case Op::OpSLessThan:
         return int32_t(a) < int32_t(b);
      default:
         throw std::runtime_error("instruction " + std::to_string(uint32_t(opcode)));
      }
   }
};

} // namespace

std::vector<uint32_t> evaluate(std::span<const uint32_t> spirv, std::vector<uint32_t> buffer)
{
   return Evaluator(spirv, buffer).run();
}

} // namespace weft::forms
