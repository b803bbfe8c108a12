// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/restrict_bindings.h"

#include "nir_passes/front_end/spirv_words.h"

#include "compiler/spirv/spirv.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace weft::spirv {

namespace {

/// The relevant decorations of an id or of one member of a struct.
struct Decorations {
   bool is_restrict = false;
   std::optional<uint32_t> set, binding;

   void add(uint32_t decoration, std::span<const uint32_t> literals)
   {
      if (decoration == SpvDecorationRestrict)
         is_restrict = true;
      else if (decoration == SpvDecorationDescriptorSet && !literals.empty())
         set = literals[0];
      else if (decoration == SpvDecorationBinding && !literals.empty())
         binding = literals[0];
   }

   void add(const Decorations &other)
   {
      is_restrict |= other.is_restrict;
      set = other.set ? other.set : set;
      binding = other.binding ? other.binding : binding;
   }
};

class Module {
public:
   explicit Module(std::span<const uint32_t> words)
   {
      for (const Instruction &i : Instructions(words))
         read(i.opcode, i.operands);
      /* A group's decorations come before the instruction that applies the group, but they may be
       * incomplete in malformed modules. */
      for (const auto &[group, id] : in_group)
         of_id[id].add(of_id[group]);
      for (const auto &[group, id, member] : members_in_group)
         of_member[{id, member}].add(of_id[group]);
   }

   BindingSet bindings()
   {
      BindingSet all, others;
      for (const auto &[id, type] : variables) {
         const Decorations &d = of_id[id];
         if (d.set && d.binding)
            (d.is_restrict || has_restrict_members(type) ? all : others)
               .insert({*d.set, *d.binding});
      }
      std::erase_if(all, [&](const auto &binding) { return others.contains(binding); });
      return all;
   }

private:
   void read(uint32_t opcode, std::span<const uint32_t> w)
   {
      switch (opcode) {
      case SpvOpDecorate:
         if (w.size() >= 2)
            of_id[w[0]].add(w[1], w.subspan(2));
         break;
      case SpvOpMemberDecorate:
         if (w.size() >= 3)
            of_member[{w[0], w[1]}].add(w[2], w.subspan(3));
         break;
      case SpvOpGroupDecorate:
         for (size_t i = 1; i < w.size(); ++i)
            in_group.emplace_back(w[0], w[i]);
         break;
      case SpvOpGroupMemberDecorate:
         for (size_t i = 1; i + 1 < w.size(); i += 2)
            members_in_group.emplace_back(w[0], w[i], w[i + 1]);
         break;
      case SpvOpTypePointer:
         if (w.size() >= 3)
            inner_type[w[0]] = w[2];
         break;
      case SpvOpTypeArray:
      case SpvOpTypeRuntimeArray:
         if (w.size() >= 2)
            inner_type[w[0]] = w[1];
         break;
      case SpvOpTypeStruct:
         if (!w.empty())
            members[w[0]] = uint32_t(w.size() - 1);
         break;
      case SpvOpVariable:
         if (w.size() >= 3)
            variables.emplace_back(w[1], w[0]);
         break;
      default:
         break;
      }
   }

   /// Whether a variable of this pointer type is a block whose members are all decorated.
   bool has_restrict_members(uint32_t type)
   {
      /* A chain of types without a cycle has no more steps than the module has types. */
      for (size_t i = 0; i < inner_type.size() && inner_type.contains(type); ++i)
         type = inner_type[type];
      const auto block = members.find(type);
      if (block == members.end() || block->second == 0)
         return false;
      for (uint32_t i = 0; i < block->second; ++i) {
         const auto member = of_member.find({type, i});
         if (member == of_member.end() || !member->second.is_restrict)
            return false;
      }
      return true;
   }

   std::map<uint32_t, Decorations> of_id;
   std::map<std::pair<uint32_t, uint32_t>, Decorations> of_member;
   std::vector<std::pair<uint32_t, uint32_t>> in_group;
   std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> members_in_group;
   std::map<uint32_t, uint32_t> inner_type;              ///< of pointers and arrays
   std::map<uint32_t, uint32_t> members;                 ///< number of members per struct
   std::vector<std::pair<uint32_t, uint32_t>> variables; ///< and their types
};

} // namespace

BindingSet restrict_bindings(std::span<const uint32_t> words)
{
   return Module(words).bindings();
}

} // namespace weft::spirv
