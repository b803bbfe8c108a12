// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/commands/bind_state.h"

#include <algorithm>
#include <cstring>

namespace weft::commands {

std::optional<std::vector<Element>> consecutive_elements(const SetKind &kind,
                                                         uint32_t variable_count, uint32_t binding,
                                                         uint32_t element, uint32_t count)
{
   std::vector<Element> elements;
   const auto count_of = [&](const Binding &b) { return b.variable ? variable_count : b.count; };
   auto b = std::ranges::find(kind.bindings, binding, &Binding::number);
   if (b == kind.bindings.end() || element >= count_of(*b))
      return std::nullopt;
   const DescriptorKind type = b->kind;
   for (uint32_t i = 0; i < count; i++, element++) {
      if (element == count_of(*b)) {
         // A write may continue only in the next number, if that has the same type and flags.
         const auto next = b + 1;
         if (next == kind.bindings.end() || next->number != b->number + 1 || next->kind != type ||
             next->variable != b->variable || type == DescriptorKind::inline_block)
            return std::nullopt;
         b = next;
         element = 0;
         if (count_of(*b) == 0)
            return std::nullopt;
      }
      elements.push_back({b->number, element});
   }
   return elements;
}

std::optional<std::vector<Element>> written_elements(const SetKind &kind, uint32_t variable_count,
                                                     const Write &write)
{
   const Binding *b = find_binding(kind, write.binding);
   if (!b)
      return std::nullopt;
   const bool is_inline = b->kind == DescriptorKind::inline_block;
   const size_t count = is_inline ? write.bytes.size() : write.descriptors.size();
   if (count == 0 || (is_inline && (count % 4 || write.element % 4)))
      return std::nullopt;
   return consecutive_elements(kind, variable_count, write.binding, write.element, uint32_t(count));
}

void BindState::disturb(const Case &c, uint32_t layout, uint32_t set)
{
   const Layout &l = c.layouts[layout];
   const BoundSet before = sets[set];
   const bool was_other =
      before.what != BoundSet::What::nothing && !compatible(c.layouts[before.layout], l, int(set));
   for (uint32_t s = 0; s < max_sets; s++) {
      if (sets[s].what == BoundSet::What::nothing || s == set)
         continue;
      const Layout &other = c.layouts[sets[s].layout];
      if (s < set ? !compatible(other, l, int(s)) : was_other || !compatible(other, l, int(set)))
         sets[s] = {};
   }
}

void BindState::bind_sets(const Case &c, const BindSets &bind)
{
   auto offset = bind.dynamic_offsets.begin();
   for (uint32_t i = 0; i < bind.sets.size(); i++) {
      disturb(c, bind.layout, bind.first + i);
      BoundSet bound = {BoundSet::What::set, bind.layout, bind.sets[i], {}, {}};
      const uint32_t count = dynamic_count(set_kinds()[c.sets[bind.sets[i]].kind]);
      bound.dynamic_offsets.assign(offset, offset + count);
      offset += count;
      sets[bind.first + i] = std::move(bound);
   }
}

void BindState::push_constants(const Case &c, const PushConstants &push_info)
{
   const uint32_t kind = c.layouts[push_info.layout].push;
   if (kind != push_kind) {
      push_defined = {};
      reference.reset();
   }
   push_kind = kind;
   const size_t bytes = push_info.words.size() * 4;
   memcpy(push.data() + push_info.offset, push_info.words.data(), bytes);
   std::fill_n(push_defined.begin() + push_info.offset, bytes, true);
   const uint32_t begin = push_ranges[kind].offset + 16, end = begin + 8;
   if (push_info.reference)
      reference = push_info.reference;
   else if (push_info.offset < end && push_info.offset + bytes > begin)
      reference.reset();
}

bool BindState::push_descriptors(const Case &c, const PushDescriptors &push_info)
{
   const Layout &layout = c.layouts[push_info.layout];
   const SetKind &kind = set_kinds()[layout.sets[push_info.set]];
   disturb(c, push_info.layout, push_info.set);
   BoundSet &bound = sets[push_info.set];
   if (bound.what != BoundSet::What::pushed ||
       !compatible(c.layouts[bound.layout], layout, int(push_info.set)))
      bound = {};
   bound.what = BoundSet::What::pushed;
   bound.layout = push_info.layout;
   for (const Write &write : push_info.writes) {
      const auto elements = written_elements(kind, 0, write);
      if (!elements)
         return false;
      for (size_t i = 0; i < elements->size(); i++)
         bound.pushed[(*elements)[i]] = write.descriptors[i];
   }
   return true;
}

bool BindState::has_set(const Case &c, const PipelineKind &kind, uint32_t set) const
{
   return set_kinds()[kind.layout.sets[set]].bindings.empty() ||
          (sets[set].what != BoundSet::What::nothing &&
           compatible(c.layouts[sets[set].layout], kind.layout, int(set)));
}

bool BindState::has_push_constants(const PipelineKind &kind) const
{
   if (push_kind != kind.layout.push)
      return false;
   const uint32_t begin = push_ranges[push_kind].offset;
   for (uint32_t i = begin; i < begin + 4 * shader_push_words; i++) {
      const bool is_address = i >= begin + 16 && i < begin + 24;
      if (!push_defined[i] || (is_address && kind.shader == ShaderKind::reference && !reference))
         return false;
   }
   return true;
}

} // namespace weft::commands
