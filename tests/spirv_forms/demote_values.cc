// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/spirv_forms/rewrite.h"

#include <algorithm>
#include <utility>

namespace weft::forms {

namespace {

using spv::Op;

/// Larger ones stay values.
constexpr uint32_t most_scalars = 64;

class Demoter {
public:
   Demoter(Module &module, Function &function, oracle::Random &random)
       : m(module), f(function), random(random)
   {
   }

   void run(uint32_t percent, uint32_t most)
   {
      choose(percent, most);
      remove_phis();
      for (size_t b = 0; b < f.blocks.size(); b++)
         rewrite(f.blocks[b], b == 0);
      f.blocks[0].body.insert(f.blocks[0].body.begin(), variables.begin(), variables.end());
   }

private:
   Module &m;
   Function &f;
   oracle::Random &random;

   struct Kept {
      uint32_t type, variable;
   };
   std::map<uint32_t, Kept> kept;      ///< by value
   std::map<uint32_t, uint32_t> types; ///< of all values
   std::set<uint32_t> taken_apart;     ///< phis, and composites that are put together in memory
   std::vector<Instruction> variables;

   uint32_t new_variable(uint32_t type)
   {
      const uint32_t id = m.new_id();
      variables.push_back(Instruction{Op::OpVariable,
                                      m.function_pointer(type),
                                      id,
                                      {uint32_t(spv::StorageClass::Function)},
                                      {}});
      return id;
   }

   void choose(uint32_t percent, uint32_t most)
   {
      uint32_t left = most;
      const auto consider = [&](const Instruction &i) {
         if (i.result && i.type)
            types[i.result] = i.type;
         if (left == 0 || !i.result || !i.type || !m.is_plain(i.type) || m.is_decorated(i.result) ||
             m.size(i.type) > most_scalars)
            return;
         const bool is_composite = m.member_count(i.type) > 0 || m.is_matrix(i.type);
         const uint32_t chance = is_composite ? percent : percent / 3;
         const bool in_memory = i.opcode == Op::OpPhi || i.opcode == Op::OpCompositeInsert ||
                                i.opcode == Op::OpCompositeConstruct;
         const bool apart = in_memory && happens(random, chance);
         const bool keeps = happens(random, chance);
         if (apart)
            taken_apart.insert(i.result);
         if (keeps)
            kept[i.result] = {i.type, new_variable(i.type)};
         left -= std::min(left, uint32_t(apart) + uint32_t(keeps));
      };
      for (const Instruction &i : f.parameters)
         consider(i);
      for (const Block &b : f.blocks) {
         for (const Instruction &i : b.body)
            consider(i);
      }
   }

   /// Replaces phis by variables: the predecessors store, the phi's block loads.
   void remove_phis()
   {
      struct Incoming {
         uint32_t type, variable, value;
      };
      std::map<uint32_t, std::vector<Incoming>> incoming; // by label
      for (Block &b : f.blocks) {
         std::vector<Instruction> loads;
         for (Instruction &i : b.body) {
            if (i.opcode != Op::OpPhi || !taken_apart.contains(i.result))
               continue;
            const uint32_t variable = new_variable(i.type);
            for (size_t n = 0; n < i.operands.size(); n += 2)
               incoming[i.operands[n + 1]].push_back({i.type, variable, i.operands[n]});
            loads.push_back(Instruction::make(Op::OpLoad, i.type, i.result, {variable}));
            i.opcode = Op::OpNop;
         }
         std::erase_if(b.body, [](const Instruction &i) { return i.opcode == Op::OpNop; });
         b.body.insert(b.body.begin() + ptrdiff_t(b.begin()), loads.begin(), loads.end());
      }
      for (Block &b : f.blocks) {
         // Operands are ids, so their values are from before the stores.
         std::vector<Instruction> stores;
         for (const Incoming &i : incoming[b.label])
            stores.push_back(Instruction::make(Op::OpStore, 0, 0, {i.variable, i.value}));
         b.body.insert(b.body.begin() + ptrdiff_t(b.end()), stores.begin(), stores.end());
      }
   }

   void rewrite(Block &b, bool is_entry)
   {
      std::vector<Instruction> body;
      const size_t begin = b.begin(), end = b.end();
      std::vector<Instruction> late; // stores of phis and parameters
      if (is_entry) {
         for (const Instruction &i : f.parameters)
            store(late, i);
      }
      for (size_t n = 0; n < begin; n++) {
         body.push_back(b.body[n]);
         if (b.body[n].opcode == Op::OpPhi)
            store(late, b.body[n]);
      }
      body.insert(body.end(), late.begin(), late.end());
      for (size_t n = begin; n < end; n++) {
         Instruction i = b.body[n];
         if (!load_part(body, i)) {
            load_uses(body, i);
            if (!taken_apart.contains(i.result) || !put_together(body, i))
               body.push_back(i);
         }
         store(body, i);
      }
      load_for_successors(b, body);
      for (size_t n = end; n < b.body.size(); n++)
         load_uses(body, b.body[n]);
      body.insert(body.end(), b.body.begin() + ptrdiff_t(end), b.body.end());
      b.body = std::move(body);
   }

   void store(std::vector<Instruction> &body, const Instruction &i)
   {
      if (const auto it = kept.find(i.result); i.result && it != kept.end())
         body.push_back(Instruction::make(Op::OpStore, 0, 0, {it->second.variable, i.result}));
   }

   /// The variable, or a copy of it.
   uint32_t variable_of(std::vector<Instruction> &body, const Kept &k)
   {
      if (!happens(random, 30))
         return k.variable;
      const uint32_t copy = new_variable(k.type);
      body.push_back(Instruction::make(Op::OpCopyMemory, 0, 0, {copy, k.variable}));
      return copy;
   }

   uint32_t load(std::vector<Instruction> &body, const Kept &k)
   {
      const uint32_t id = m.new_id();
      body.push_back(Instruction::make(Op::OpLoad, k.type, id, {variable_of(body, k)}));
      return id;
   }

   void load_uses(std::vector<Instruction> &body, Instruction &i)
   {
      for (const uint32_t use : i.uses) {
         const auto it = kept.find(i.operands[use]);
         if (it != kept.end() && happens(random, 80))
            i.operands[use] = load(body, it->second);
      }
   }

   uint32_t part_of(std::vector<Instruction> &body, uint32_t variable, uint32_t type,
                    const IndexPath &path)
   {
      std::vector<uint32_t> ids = {variable};
      for (const uint32_t index : path)
         ids.push_back(m.constant(index));
      const uint32_t id = m.new_id();
      const Op opcode = happens(random, 50) ? Op::OpAccessChain : Op::OpInBoundsAccessChain;
      body.push_back(Instruction::make(opcode, m.function_pointer(type), id, ids));
      return id;
   }

   /// An extract of a value in a variable as a load of this part.
   bool load_part(std::vector<Instruction> &body, const Instruction &i)
   {
      if (i.opcode != Op::OpCompositeExtract || !m.is_plain(i.type) || happens(random, 20))
         return false;
      const auto it = kept.find(i.operands[0]);
      if (it == kept.end())
         return false;
      const uint32_t pointer = part_of(body, variable_of(body, it->second), i.type,
                                       IndexPath(i.operands.begin() + 1, i.operands.end()));
      body.push_back(Instruction::make(Op::OpLoad, i.type, i.result, {pointer}));
      return true;
   }

   /// An insert or a construct by stores to parts of a variable.
   bool put_together(std::vector<Instruction> &body, const Instruction &i)
   {
      if (i.opcode == Op::OpCompositeInsert) {
         const uint32_t object = i.operands[0], object_type = type_of(object);
         if (!object_type || !m.is_plain(object_type))
            return false;
         const uint32_t variable = new_variable(i.type);
         body.push_back(Instruction::make(Op::OpStore, 0, 0, {variable, i.operands[1]}));
         const uint32_t pointer = part_of(body, variable, object_type,
                                          IndexPath(i.operands.begin() + 2, i.operands.end()));
         body.push_back(Instruction::make(Op::OpStore, 0, 0, {pointer, object}));
         body.push_back(Instruction::make(Op::OpLoad, i.type, i.result, {variable}));
         return true;
      }
      // A vector may also be made of shorter ones; a matrix is filled with one value.
      if (i.opcode != Op::OpCompositeConstruct || m.member_count(i.type) != i.operands.size())
         return false;
      const uint32_t variable = new_variable(i.type);
      for (uint32_t n = 0; n < i.operands.size(); n++) {
         const uint32_t pointer = part_of(body, variable, m.member_type(i.type, n), {n});
         body.push_back(Instruction::make(Op::OpStore, 0, 0, {pointer, i.operands[n]}));
      }
      body.push_back(Instruction::make(Op::OpLoad, i.type, i.result, {variable}));
      return true;
   }

   uint32_t type_of(uint32_t value) const
   {
      if (const auto it = types.find(value); it != types.end())
         return it->second;
      const Instruction *i = m.global(value);
      return i ? i->type : 0;
   }

   /// The values that phis of the next blocks take from this one.
   void load_for_successors(const Block &b, std::vector<Instruction> &body)
   {
      std::map<uint32_t, uint32_t> loaded;
      for (const uint32_t label : b.successors()) {
         // A block that is its own loop is the one that is being rewritten.
         std::vector<Instruction> &next =
            label == b.label ? body : std::ranges::find(f.blocks, label, &Block::label)->body;
         const size_t phis =
            size_t(std::ranges::find_if(next, [](auto &i) { return i.opcode != Op::OpPhi; }) -
                   next.begin());
         for (size_t p = 0; p < phis; p++) {
            for (size_t n = 0; n < next[p].operands.size(); n += 2) {
               const uint32_t value = next[p].operands[n];
               const auto it = kept.find(value);
               if (next[p].operands[n + 1] != b.label || it == kept.end())
                  continue;
               if (!loaded.contains(value))
                  loaded[value] = load(body, it->second);
               next[p].operands[n] = loaded[value];
            }
         }
      }
   }
};

} // namespace

void demote_values(Module &module, oracle::Random &random, uint32_t percent, uint32_t most)
{
   for (Function &f : module.functions) {
      if (!f.blocks.empty())
         Demoter(module, f, random).run(percent, most);
   }
}

} // namespace weft::forms
