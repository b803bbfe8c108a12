// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/spirv_forms/rewrite.h"

#include <algorithm>

namespace weft::forms {

namespace {

using spv::Op;

/// An index of an access chain: a constant, or the id of a number that picks an element of a short
/// array.
struct Index {
   bool is_constant;
   uint32_t value;
};

/// The type of a pointer's target.
struct Place {
   uint32_t variable;
   uint32_t type;
   std::vector<Index> path;
};

struct Variable {
   uint32_t type;
   uint32_t initial = 0; ///< 0 if it has no value at first
   bool is_promoted = true;
};

/// Longer arrays keep their variables where an index is not constant.
constexpr uint32_t longest_choice = 4;
/// Composites of more scalars keep their variables, as their values would be copied often.
constexpr uint32_t most_scalars = 64;

class Promoter {
public:
   Promoter(Module &module, Function &function, oracle::Random &random, uint32_t percent)
       : m(module), f(function), random(random), percent(percent)
   {
   }

   void run(std::set<uint32_t> &removed)
   {
      split_copies();
      find_variables();
      find_places();
      for (auto &[id, v] : variables)
         v.is_promoted = v.is_promoted && happens(random, percent);
      find_edges();
      find_last_values();
      for (Block &b : f.blocks)
         rewrite(b, removed);
      finish_phis();
      replace_uses();
   }

private:
   Module &m;
   Function &f;
   oracle::Random &random;
   const uint32_t percent;

   std::map<uint32_t, Variable> variables;
   std::map<uint32_t, Place> places;                ///< by pointer
   std::map<uint32_t, size_t> numbers;              ///< of blocks, by label
   std::vector<std::vector<uint32_t>> predecessors; ///< labels, by block
   std::vector<bool> is_reachable;

   using Key = std::pair<size_t, uint32_t>; ///< a block and a variable
   std::map<Key, uint32_t> first_values, last_values;
   struct Phi {
      uint32_t variable, result;
   };
   std::vector<std::vector<Phi>> phis;             ///< by block
   std::map<uint32_t, uint32_t> replaced;          ///< loads by their values
   std::map<const Instruction *, uint32_t> stored; ///< ids of the results of partial stores

   /// OpCopyMemory between variables as a load and a store.
   void split_copies()
   {
      std::map<uint32_t, uint32_t> pointers; // types
      for (Block &b : f.blocks) {
         std::vector<Instruction> body;
         for (Instruction &i : b.body) {
            if (i.opcode == Op::OpVariable || i.opcode == Op::OpAccessChain ||
                i.opcode == Op::OpInBoundsAccessChain)
               pointers[i.result] = i.type;
            if (i.opcode != Op::OpCopyMemory || i.operands.size() != 2 ||
                !pointers.contains(i.operands[0]) || !pointers.contains(i.operands[1])) {
               body.push_back(i);
               continue;
            }
            const uint32_t value = m.new_id();
            const uint32_t type = m.global(pointers[i.operands[1]])->operands[1];
            const uint32_t target = m.global(pointers[i.operands[0]])->operands[1];
            if (type != target || !m.is_plain(type)) {
               body.push_back(i);
               continue;
            }
            body.push_back(Instruction::make(Op::OpLoad, type, value, {i.operands[1]}));
            body.push_back(Instruction::make(Op::OpStore, 0, 0, {i.operands[0], value}));
         }
         b.body = std::move(body);
      }
   }

   void find_variables()
   {
      for (const Instruction &i : f.blocks[0].body) {
         if (i.opcode != Op::OpVariable)
            continue;
         const uint32_t type = m.global(i.type)->operands[1];
         if (m.is_plain(type) && m.size(type) <= most_scalars && !m.is_decorated(i.result)) {
            variables[i.result] = {type, i.operands.size() > 1 ? i.operands[1] : 0};
            places[i.result] = {i.result, type, {}};
         }
      }
   }

   /// The place that an access chain leads to, or nothing if the variable must stay.
   std::optional<Place> follow(const Place &from, const Instruction &chain) const
   {
      Place place = from;
      for (size_t n = 1; n < chain.operands.size(); n++) {
         const std::optional<uint32_t> value = m.constant_value(chain.operands[n]);
         if (m.is_matrix(place.type)) {
            if (!value || !m.component_type(place.type))
               return std::nullopt;
            place.type = *m.component_type(place.type);
            place.path.push_back({true, *value});
            continue;
         }
         const uint32_t count = m.member_count(place.type);
         if (count == 0 || (value ? *value >= count : count > longest_choice))
            return std::nullopt;
         // An index of another width would have to be compared in that width.
         const bool other = !value && !is_word(chain.operands[n]);
         if (other)
            return std::nullopt;
         place.path.push_back({value.has_value(), value.value_or(chain.operands[n])});
         place.type = m.member_type(place.type, value.value_or(0));
      }
      const auto choices =
         std::ranges::count_if(place.path, [](Index i) { return !i.is_constant; });
      if (choices > 1 || (choices == 1 && !m.can_select(place.type)))
         return std::nullopt;
      return place;
   }

   std::map<uint32_t, uint32_t> types; ///< of the function's values

   bool is_word(uint32_t value) const
   {
      const auto it = types.find(value);
      const Instruction *type = it == types.end() ? nullptr : m.global(it->second);
      return type && type->opcode == Op::OpTypeInt && type->operands[0] == 32;
   }

   void keep(uint32_t pointer)
   {
      if (const auto it = places.find(pointer); it != places.end())
         variables[it->second.variable].is_promoted = false;
   }

   void find_places()
   {
      for (const Instruction &i : f.parameters)
         types[i.result] = i.type;
      for (const Block &b : f.blocks) {
         for (const Instruction &i : b.body) {
            if (i.result)
               types[i.result] = i.type;
         }
      }
      for (const Block &b : f.blocks) {
         for (const Instruction &i : b.body) {
            const bool is_chain =
               i.opcode == Op::OpAccessChain || i.opcode == Op::OpInBoundsAccessChain;
            if (is_chain && places.contains(i.operands[0]) && !m.is_decorated(i.result)) {
               if (const auto place = follow(places[i.operands[0]], i))
                  places[i.result] = *place;
               else
                  keep(i.operands[0]);
               continue;
            }
            // With memory operands, an access may be volatile.
            const bool loads =
               i.opcode == Op::OpLoad && i.operands.size() == 1 && !m.is_decorated(i.result);
            const bool stores = i.opcode == Op::OpStore && i.operands.size() == 2;
            for (const uint32_t use : i.uses) {
               if (!((loads || stores) && use == 0))
                  keep(i.operands[use]);
            }
         }
      }
   }

   const Place *promoted(uint32_t pointer) const
   {
      const auto it = places.find(pointer);
      return it != places.end() && variables.at(it->second.variable).is_promoted ? &it->second
                                                                                 : nullptr;
   }

   void find_edges()
   {
      const size_t count = f.blocks.size();
      for (size_t b = 0; b < count; b++)
         numbers[f.blocks[b].label] = b;
      predecessors.resize(count);
      is_reachable.resize(count);
      phis.resize(count);
      std::vector<size_t> work = {0};
      is_reachable[0] = true;
      while (!work.empty()) {
         const size_t b = work.back();
         work.pop_back();
         for (const uint32_t label : f.blocks[b].successors()) {
            const size_t next = numbers[label];
            if (!is_reachable[next])
               work.push_back(next);
            is_reachable[next] = true;
         }
      }
      for (const Block &b : f.blocks) {
         for (const uint32_t label : b.successors())
            predecessors[numbers[label]].push_back(b.label);
      }
   }

   void find_last_values()
   {
      for (size_t b = 0; b < f.blocks.size(); b++) {
         for (const Instruction &i : f.blocks[b].body) {
            const Place *place = i.opcode == Op::OpStore ? promoted(i.operands[0]) : nullptr;
            if (!place)
               continue;
            uint32_t value = i.operands[1];
            if (!place->path.empty())
               stored[&i] = value = m.new_id();
            last_values[{b, place->variable}] = value;
         }
      }
   }

   uint32_t initial_value(const Variable &v)
   {
      if (v.initial)
         return v.initial;
      return happens(random, 50) ? m.undefined(v.type) : m.null(v.type);
   }

   uint32_t first_value(size_t b, uint32_t variable)
   {
      const Key key = {b, variable};
      if (const auto it = first_values.find(key); it != first_values.end())
         return it->second;
      if (b == 0 || !is_reachable[b])
         return first_values[key] = initial_value(variables[variable]);
      if (predecessors[b].size() == 1 && happens(random, 90))
         return first_values[key] = last_value(numbers[predecessors[b][0]], variable);
      phis[b].push_back({variable, m.new_id()});
      return first_values[key] = phis[b].back().result;
   }

   uint32_t last_value(size_t b, uint32_t variable)
   {
      const auto it = last_values.find({b, variable});
      return it != last_values.end() ? it->second : first_value(b, variable);
   }

   void rewrite(Block &b, std::set<uint32_t> &removed)
   {
      const size_t number = numbers[b.label];
      std::map<uint32_t, uint32_t> values;
      const auto value_of = [&](uint32_t variable) {
         if (!values.contains(variable))
            values[variable] = first_value(number, variable);
         return values[variable];
      };
      std::vector<Instruction> body;
      for (const Instruction &i : b.body) {
         if (i.result && promoted(i.result)) {
            removed.insert(i.result);
            continue;
         }
         const bool accesses = i.opcode == Op::OpLoad || i.opcode == Op::OpStore;
         const Place *place = accesses ? promoted(i.operands[0]) : nullptr;
         if (!place) {
            body.push_back(i);
            continue;
         }
         const uint32_t variable = place->variable, type = variables[variable].type;
         if (i.opcode == Op::OpLoad) {
            const uint32_t value = value_of(variable);
            if (place->path.empty() && happens(random, 70)) {
               replaced[i.result] = value;
               removed.insert(i.result);
            } else {
               read(body, type, value, place->path, i.type, i.result);
            }
         } else if (place->path.empty()) {
            values[variable] = i.operands[1];
         } else {
            write(body, type, value_of(variable), place->path, place->type, i.operands[1],
                  stored[&i]);
            values[variable] = stored[&i];
         }
      }
      b.body = std::move(body);
   }

   uint32_t is_equal(std::vector<Instruction> &body, uint32_t index, uint32_t number)
   {
      const uint32_t id = m.new_id();
      body.push_back(
         Instruction::make(Op::OpIEqual, m.bool_type(), id, {index, m.constant(number)}));
      return id;
   }

   /// Reads a part of a value. An index that is not constant selects among all elements of an
   /// array.
   void read(std::vector<Instruction> &body, uint32_t type, uint32_t value,
             const std::vector<Index> &path, uint32_t part_type, uint32_t result)
   {
      const auto choice = std::ranges::find_if(path, [](Index i) { return !i.is_constant; });
      if (choice == path.end()) {
         IndexPath literals;
         for (const Index i : path)
            literals.push_back(i.value);
         const Op opcode = path.empty() ? Op::OpCopyObject : Op::OpCompositeExtract;
         body.push_back(Instruction::make(opcode, part_type, result, {value}, literals));
         return;
      }
      std::vector<Index> constants = path;
      Index &chosen = constants[size_t(choice - path.begin())];
      const uint32_t count = count_at(type, path, size_t(choice - path.begin()));
      uint32_t sum = 0;
      for (uint32_t n = 0; n < count; n++) {
         chosen = {true, n};
         const uint32_t one = m.new_id();
         read(body, type, value, constants, part_type, one);
         if (n == 0) {
            sum = one;
            continue;
         }
         const uint32_t condition = is_equal(body, choice->value, n), next = m.new_id();
         body.push_back(Instruction::make(Op::OpSelect, part_type, next, {condition, one, sum}));
         sum = next;
      }
      body.push_back(Instruction::make(Op::OpCopyObject, part_type, result, {sum}));
   }

   void write(std::vector<Instruction> &body, uint32_t type, uint32_t value,
              const std::vector<Index> &path, uint32_t part_type, uint32_t object, uint32_t result)
   {
      const auto choice = std::ranges::find_if(path, [](Index i) { return !i.is_constant; });
      if (choice == path.end()) {
         IndexPath literals;
         for (const Index i : path)
            literals.push_back(i.value);
         body.push_back(
            Instruction::make(Op::OpCompositeInsert, type, result, {object, value}, literals));
         return;
      }
      std::vector<Index> constants = path;
      const size_t at = size_t(choice - path.begin());
      const uint32_t count = count_at(type, path, at);
      for (uint32_t n = 0; n < count; n++) {
         constants[at] = {true, n};
         const uint32_t condition = is_equal(body, choice->value, n);
         const uint32_t before = m.new_id(), after = m.new_id(), next = m.new_id();
         read(body, type, value, constants, part_type, before);
         body.push_back(
            Instruction::make(Op::OpSelect, part_type, after, {condition, object, before}));
         write(body, type, value, constants, part_type, after, next);
         value = next;
      }
      body.push_back(Instruction::make(Op::OpCopyObject, type, result, {value}));
   }

   /// The number of members at the path's last index.
   uint32_t count_at(uint32_t type, const std::vector<Index> &path, size_t index) const
   {
      for (size_t n = 0; n < index; n++)
         type = m.member_type(type, path[n].value);
      return m.member_count(type);
   }

   void finish_phis()
   {
      // A phi's operands may need more phis.
      std::vector<std::vector<Instruction>> made(f.blocks.size());
      for (bool again = true; again;) {
         again = false;
         for (size_t b = 0; b < f.blocks.size(); b++) {
            while (made[b].size() < phis[b].size()) {
               again = true;
               const Phi phi = phis[b][made[b].size()];
               std::vector<uint32_t> operands;
               for (const uint32_t label : predecessors[b]) {
                  operands.push_back(last_value(numbers[label], phi.variable));
                  operands.push_back(label);
               }
               made[b].push_back(
                  Instruction::make(Op::OpPhi, variables[phi.variable].type, phi.result, operands));
            }
         }
      }
      for (size_t b = 0; b < f.blocks.size(); b++) {
         std::vector<Instruction> &body = f.blocks[b].body;
         std::vector<Instruction> selects;
         const std::optional<uint32_t> condition = find_condition(b);
         for (Instruction &phi : made[b]) {
            // Both branches are empty: so their values come from before the condition.
            if (condition && m.can_select(phi.type) && happens(random, 70)) {
               const bool first = phi.operands[1] == taken;
               selects.push_back(Instruction::make(
                  Op::OpSelect, phi.type, phi.result,
                  {*condition, phi.operands[first ? 0 : 2], phi.operands[first ? 2 : 0]}));
               phi.opcode = Op::OpNop;
            }
         }
         std::erase_if(made[b], [](const Instruction &i) { return i.opcode == Op::OpNop; });
         body.insert(body.begin() + ptrdiff_t(f.blocks[b].begin()), selects.begin(), selects.end());
         body.insert(body.begin(), made[b].begin(), made[b].end());
      }
   }

   uint32_t taken = 0; ///< the predecessor for which find_condition()'s result is true

   /// The condition between the two branches into a block, if these are empty.
   std::optional<uint32_t> find_condition(size_t b)
   {
      if (predecessors[b].size() != 2 || b == 0)
         return std::nullopt;
      const auto is_empty = [&](size_t way) { return f.blocks[way].body.size() == 1; };
      const size_t ways[2] = {numbers[predecessors[b][0]], numbers[predecessors[b][1]]};
      const auto header_of = [&](size_t way) -> std::optional<size_t> {
         if (f.blocks[way].body.back().opcode == Op::OpBranchConditional)
            return way;
         if (!is_empty(way) || !phis[way].empty() || predecessors[way].size() != 1)
            return std::nullopt;
         return numbers[predecessors[way][0]];
      };
      const auto header = header_of(ways[0]);
      if (!header || header != header_of(ways[1]) || !is_reachable[*header])
         return std::nullopt;
      const Instruction &branch = f.blocks[*header].body.back();
      if (branch.opcode != Op::OpBranchConditional || branch.operands[1] == branch.operands[2])
         return std::nullopt;
      for (const size_t way : ways) {
         const uint32_t label = way == *header ? f.blocks[b].label : f.blocks[way].label;
         if (label == branch.operands[1])
            taken = f.blocks[way].label;
         else if (label != branch.operands[2])
            return std::nullopt;
      }
      return branch.operands[0];
   }

   uint32_t resolve(uint32_t id) const
   {
      for (auto it = replaced.find(id); it != replaced.end(); it = replaced.find(id))
         id = it->second;
      return id;
   }

   void replace_uses()
   {
      for (Block &b : f.blocks) {
         for (Instruction &i : b.body) {
            for (const uint32_t use : i.uses)
               i.operands[use] = resolve(i.operands[use]);
         }
      }
   }
};

} // namespace

void promote_variables(Module &module, oracle::Random &random, uint32_t percent)
{
   std::set<uint32_t> removed;
   for (Function &f : module.functions) {
      if (!f.blocks.empty())
         Promoter(module, f, random, percent).run(removed);
   }
   module.remove_annotations(removed);
}

} // namespace weft::forms
