// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/spirv_forms/rewrite.h"

#include <algorithm>
#include <utility>

namespace weft::forms {

namespace {

using spv::Op;

/// Composites of more members are not taken apart.
constexpr uint32_t most_members = 8;
/// Larger values are not put into composites.
constexpr uint32_t most_scalars = 32;

class Disguiser {
public:
   Disguiser(Module &module, oracle::Random &random) : m(module), random(random) {}

   void run(Function &f, uint32_t percent, uint32_t most)
   {
      left = most;
      for (Block &b : f.blocks) {
         conditions.clear();
         std::vector<Instruction> after; // disguises of the values before the first instruction
         if (b.label == f.blocks[0].label) {
            for (Instruction &i : f.parameters)
               consider(i, percent, after);
         }
         std::vector<Instruction> body;
         const size_t begin = b.begin();
         for (size_t n = 0; n < begin; n++) {
            Instruction &i = b.body[n];
            if (i.opcode == Op::OpPhi)
               consider(i, percent, after);
            body.push_back(i);
         }
         body.insert(body.end(), after.begin(), after.end());
         for (size_t n = begin; n < b.body.size(); n++) {
            Instruction &i = b.body[n];
            after.clear();
            consider(i, percent, after);
            body.push_back(i);
            body.insert(body.end(), after.begin(), after.end());
            if (i.result && after.empty() && m.type_opcode(i.type) == Op::OpTypeBool)
               conditions.push_back(i.result);
         }
         b.body = std::move(body);
      }
   }

   /// Functions that the calls need.
   std::vector<Function> functions;

private:
   Module &m;
   oracle::Random &random;
   uint32_t left = 0;
   std::vector<uint32_t> conditions;                       ///< booleans of this block
   std::map<std::pair<uint32_t, uint32_t>, uint32_t> made; ///< functions by type and kind

   /// Gives an instruction another result, and computes the former result from it.
   void consider(Instruction &i, uint32_t percent, std::vector<Instruction> &after)
   {
      if (!i.result || !i.type || left == 0 || m.is_decorated(i.result) || !m.is_plain(i.type))
         return;
      const bool is_scalar = m.member_count(i.type) == 0 && !m.is_matrix(i.type);
      if (!happens(random, is_scalar ? percent / 4 : percent))
         return;
      left--;
      const uint32_t result = std::exchange(i.result, m.new_id());
      uint32_t value = i.result;
      const uint32_t steps = 1 + oracle::draw(random, 2);
      for (uint32_t n = 0; n < steps; n++)
         value = disguise(after, i.type, value, n + 1 == steps ? result : m.new_id());
   }

   uint32_t emit(std::vector<Instruction> &body, Op opcode, uint32_t type, uint32_t result,
                 const std::vector<uint32_t> &ids, const std::vector<uint32_t> &literals = {})
   {
      body.push_back(Instruction::make(opcode, type, result, ids, literals));
      return result;
   }

   uint32_t disguise(std::vector<Instruction> &body, uint32_t type, uint32_t value, uint32_t result)
   {
      const bool is_small = m.size(type) <= most_scalars;
      switch (oracle::draw(random, 8)) {
      case 0:
         if (m.can_select(type))
            return select(body, type, value, result);
         break;
      case 1:
      case 2:
         if (is_small)
            return wrap(body, type, value, result);
         break;
      case 3:
         if (m.member_count(type) > 0 && m.member_count(type) <= most_members)
            return rebuild(body, type, value, result);
         break;
      case 4:
      case 5:
         return replace_part(body, type, value, result);
      case 6:
         if (m.version() >= 0x00010400 && is_aggregate(type) && is_small) {
            const uint32_t other = m.copy_of_type(type);
            const uint32_t copy = emit(body, Op::OpCopyLogical, other, m.new_id(), {value});
            return emit(body, Op::OpCopyLogical, type, result, {copy});
         }
         break;
      default:
         return call(body, type, value, result);
      }
      return emit(body, Op::OpCopyObject, type, result, {value});
   }

   bool is_aggregate(uint32_t type) const
   {
      const Op opcode = m.type_opcode(type);
      return opcode == Op::OpTypeStruct || opcode == Op::OpTypeArray;
   }

   /// An arbitrary value of a type, without instructions.
   uint32_t filler(uint32_t type) { return happens(random, 50) ? m.undefined(type) : m.null(type); }

   uint32_t select(std::vector<Instruction> &body, uint32_t type, uint32_t value, uint32_t result)
   {
      if (!conditions.empty() && happens(random, 60)) {
         const uint32_t condition = conditions[oracle::draw(random, uint32_t(conditions.size()))];
         const uint32_t copy = emit(body, Op::OpCopyObject, type, m.new_id(), {value});
         return emit(body, Op::OpSelect, type, result, {condition, value, copy});
      }
      const bool is_true = happens(random, 50);
      const uint32_t other = m.null(type);
      return emit(body, Op::OpSelect, type, result,
                  {m.bool_constant(is_true), is_true ? value : other, is_true ? other : value});
   }

   /// Puts a value into a composite, and takes it out again.
   uint32_t wrap(std::vector<Instruction> &body, uint32_t type, uint32_t value, uint32_t result)
   {
      // The types of the composites, from the inside out.
      std::vector<uint32_t> types = {type};
      IndexPath path;
      const uint32_t depth = 1 + oracle::draw(random, 3);
      for (uint32_t d = 0; d < depth; d++) {
         const uint32_t inner = types.back();
         uint32_t place = 0, outer = 0;
         if (m.size(inner) <= most_scalars / 2 && happens(random, 50)) {
            const uint32_t count = 1 + oracle::draw(random, 3);
            outer = m.array_type(inner, count);
            place = oracle::draw(random, count);
         } else {
            std::vector<uint32_t> members = {inner};
            if (happens(random, 60))
               members.insert(members.begin() + oracle::draw(random, 2), m.bool_type());
            if (happens(random, 30))
               members.insert(members.begin() + oracle::draw(random, uint32_t(members.size() + 1)),
                              type);
            outer = m.struct_type(members);
            std::vector<uint32_t> fitting;
            for (uint32_t n = 0; n < members.size(); n++) {
               if (members[n] == inner)
                  fitting.push_back(n);
            }
            place = fitting[oracle::draw(random, uint32_t(fitting.size()))];
         }
         types.push_back(outer);
         path.insert(path.begin(), place);
      }
      uint32_t composite = value;
      if (happens(random, 50)) {
         for (uint32_t d = 0; d < depth; d++) {
            const uint32_t outer = types[d + 1], place = path[depth - 1 - d];
            std::vector<uint32_t> members;
            for (uint32_t n = 0; n < m.member_count(outer); n++)
               members.push_back(n == place ? composite : filler(m.member_type(outer, n)));
            composite = emit(body, Op::OpCompositeConstruct, outer, m.new_id(), members);
         }
      } else {
         composite = emit(body, Op::OpCompositeInsert, types.back(), m.new_id(),
                          {value, filler(types.back())}, path);
      }
      if (happens(random, 40))
         composite = disguise(body, types.back(), composite, m.new_id());
      if (depth > 1 && happens(random, 50)) {
         const IndexPath outer_path(path.begin(), path.end() - 1);
         const uint32_t part =
            emit(body, Op::OpCompositeExtract, types[1], m.new_id(), {composite}, outer_path);
         return emit(body, Op::OpCompositeExtract, type, result, {part}, {path.back()});
      }
      return emit(body, Op::OpCompositeExtract, type, result, {composite}, path);
   }

   uint32_t rebuild(std::vector<Instruction> &body, uint32_t type, uint32_t value, uint32_t result)
   {
      std::vector<uint32_t> members;
      for (uint32_t n = 0; n < m.member_count(type); n++)
         members.push_back(
            emit(body, Op::OpCompositeExtract, m.member_type(type, n), m.new_id(), {value}, {n}));
      return emit(body, Op::OpCompositeConstruct, type, result, members);
   }

   /// Replaces a part of a composite, or a component of a matrix, by itself.
   uint32_t replace_part(std::vector<Instruction> &body, uint32_t type, uint32_t value,
                         uint32_t result)
   {
      uint32_t part = type;
      IndexPath path;
      while (path.empty() || happens(random, 70)) {
         const uint32_t count = m.member_count(part);
         if (count > 0) {
            path.push_back(oracle::draw(random, count));
            part = m.member_type(part, path.back());
         } else if (m.is_matrix(part) && m.component_type(part)) {
            // Every invocation has a component 0.
            path.push_back(0);
            part = *m.component_type(part);
         } else {
            break;
         }
      }
      if (path.empty())
         return emit(body, Op::OpCopyObject, type, result, {value});
      const uint32_t object = emit(body, Op::OpCompositeExtract, part, m.new_id(), {value}, path);
      return emit(body, Op::OpCompositeInsert, type, result, {object, value}, path);
   }

   /// A call of a function that returns its argument: its one parameter, or the one of two that a
   /// boolean picks, by a phi or a select.
   uint32_t call(std::vector<Instruction> &body, uint32_t type, uint32_t value, uint32_t result)
   {
      const uint32_t kind = oracle::draw(random, m.can_select(type) ? 3 : 2);
      uint32_t &function = made[{type, kind}];
      if (!function)
         function = kind == 0 ? make_identity(type) : make_choice(type, kind == 2);
      std::vector<uint32_t> ids = {function, value};
      if (kind > 0) {
         const bool first = happens(random, 50);
         const uint32_t other = m.null(type);
         ids = {function, m.bool_constant(first), first ? value : other, first ? other : value};
      }
      return emit(body, Op::OpFunctionCall, type, result, ids);
   }

   Function make_function(uint32_t type, const std::vector<uint32_t> &parameters)
   {
      Function f;
      f.begin = {Op::OpFunction, type, m.new_id(), {0, m.function_type(type, parameters)}, {1}};
      for (const uint32_t parameter : parameters)
         f.parameters.push_back(
            Instruction::make(Op::OpFunctionParameter, parameter, m.new_id(), {}));
      return f;
   }

   uint32_t make_identity(uint32_t type)
   {
      Function f = make_function(type, {type});
      f.blocks = {
         {m.new_id(), {Instruction::make(Op::OpReturnValue, 0, 0, {f.parameters[0].result})}}};
      functions.push_back(f);
      return f.begin.result;
   }

   uint32_t make_choice(uint32_t type, bool selects)
   {
      Function f = make_function(type, {m.bool_type(), type, type});
      const uint32_t condition = f.parameters[0].result, first = f.parameters[1].result,
                     second = f.parameters[2].result, chosen = m.new_id();
      const Instruction end = Instruction::make(Op::OpReturnValue, 0, 0, {chosen});
      if (selects) {
         f.blocks = {
            {m.new_id(),
             {Instruction::make(Op::OpSelect, type, chosen, {condition, first, second}), end}}};
      } else {
         const uint32_t header = m.new_id(), way = m.new_id(), merge = m.new_id();
         f.blocks = {
            {header,
             {Instruction::make(Op::OpSelectionMerge, 0, 0, {merge}, {0}),
              Instruction::make(Op::OpBranchConditional, 0, 0, {condition, way, merge})}},
            {way, {Instruction::make(Op::OpBranch, 0, 0, {merge})}},
            {merge,
             {Instruction::make(Op::OpPhi, type, chosen, {first, way, second, header}), end}}};
      }
      functions.push_back(f);
      return f.begin.result;
   }
};

} // namespace

void disguise_values(Module &module, oracle::Random &random, uint32_t percent, uint32_t most)
{
   Disguiser disguiser(module, random);
   for (Function &f : module.functions)
      disguiser.run(f, percent, most);
   module.functions.insert(module.functions.end(), disguiser.functions.begin(),
                           disguiser.functions.end());
}

} // namespace weft::forms
