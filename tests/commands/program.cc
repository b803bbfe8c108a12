// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/commands/program.h"

#include <algorithm>

namespace weft::commands {

const std::vector<SetKind> &set_kinds()
{
   using enum DescriptorKind;
   static const std::vector<SetKind> kinds = {
      {"pair", {{0, storage, 1}, {1, storage, 1}}, 1, 0},
      // One update may go on from each of these bindings to the next.
      {"arrays", {{0, storage, 2}, {1, storage, 3}, {2, storage, 1}, {4, uniform, 2}}, 1, 2},
      {"dynamic", {{0, uniform_dynamic, 1}, {1, storage_dynamic, 2}, {2, storage, 1}}, 1, 1},
      {"inline", {{0, inline_block, 32}, {1, inline_block, 20}, {2, storage, 1}}, 2, 0},
      {"variable", {{0, uniform, 1}, {2, storage, 4, true}}, 2, 0},
      {"late", {{0, storage, 2}, {1, uniform, 1}, {3, inline_block, 16}}, 0, 1, false, true},
      {"push", {{0, storage, 1}, {1, storage, 2}, {3, uniform, 1}}, 1, 0, true},
      {"all_dynamic", {{1, storage_dynamic, 1}, {3, uniform_dynamic, 2}}, 1, 0},
      {"empty", {}, none, 0},
   };
   return kinds;
}

bool is_storage(DescriptorKind kind)
{
   return kind == DescriptorKind::storage || kind == DescriptorKind::storage_dynamic;
}

bool is_dynamic(DescriptorKind kind)
{
   return kind == DescriptorKind::uniform_dynamic || kind == DescriptorKind::storage_dynamic;
}

const Binding *find_binding(const SetKind &kind, uint32_t number)
{
   const auto found = std::ranges::find(kind.bindings, number, &Binding::number);
   return found == kind.bindings.end() ? nullptr : &*found;
}

uint32_t dynamic_count(const SetKind &kind)
{
   uint32_t count = 0;
   for (const Binding &binding : kind.bindings)
      count += is_dynamic(binding.kind) ? binding.count : 0;
   return count;
}

bool compatible(const Layout &a, const Layout &b, int set)
{
   if (a.push != b.push || int(a.sets.size()) <= set || int(b.sets.size()) <= set)
      return false;
   return std::equal(a.sets.begin(), a.sets.begin() + set + 1, b.sets.begin());
}

const std::vector<PipelineKind> &pipeline_kinds()
{
   using enum ShaderKind;
   enum { pair, arrays, dynamic, inlined, variable, late, push, all_dynamic, empty };
   static const std::vector<PipelineKind> kinds = {
      {mix, {{pair}, 0}, 0, false},
      {mix, {{arrays}, 0}, 0, false, Robustness::of_device, 7},
      {mix, {{dynamic}, 1}, 0, false},
      {mix, {{inlined}, 0}, 0, false, Robustness::of_device, 0x10001, 3},
      {mix, {{variable}, 2}, 0, false},
      {mix, {{late}, 0}, 0, false},
      {mix, {{push}, 0}, 0, false},
      {mix, {{all_dynamic}, 0}, 0, false, Robustness::of_device, 1, 1},
      {mix, {{pair, push}, 0}, 0, false},
      {mix, {{pair, push}, 0}, 1, false, Robustness::of_device, 13},
      {mix, {{dynamic, all_dynamic}, 0}, 0, false},
      {mix, {{dynamic, pair, all_dynamic}, 0}, 2, false},
      {mix, {{push, dynamic}, 1}, 1, false},
      {mix, {{pair, late}, 0}, 0, false},
      {mix, {{inlined, arrays, pair}, 0}, 2, false},
      {mix, {{pair, inlined}, 0}, 1, false},
      {mix, {{pair, dynamic}, 0}, 0, false},
      {mix, {{empty, pair}, 0}, 1, false},
      {mix, {{pair, pair, pair, pair}, 0}, 3, false},
      {mix, {{pair, variable, empty, push}, 0}, 3, false},
      {mix, {{pair}, 0}, 0, true},
      {mix, {{pair}, 0}, 0, true, Robustness::on},
      {mix, {{arrays}, 0}, 0, true, Robustness::on},
      {mix, {{dynamic}, 1}, 0, true},
      {mix, {{dynamic}, 1}, 0, true, Robustness::on},
      {mix, {{pair, push}, 0}, 1, true},
      {mix, {{pair, push}, 0}, 0, true, Robustness::on},
      {mix, {{pair}, 0}, 0, false, Robustness::off, 5},
      {branches, {{pair}, 0}, 0, false, Robustness::of_device, 31, 4, 0},
      {branches, {{pair}, 0}, 0, false, Robustness::of_device, 31, 4, 1},
      {branches, {{pair}, 2}, 0, false, Robustness::of_device, 31, 2, 2},
      {branches, {{pair}, 0}, 0, false, Robustness::of_device, 31, 1, 3},
      {atomics, {{pair}, 0}, 0, false},
      {atomics, {{dynamic}, 1}, 0, false},
      {reference, {{pair}, 0}, 0, false},
      {reference, {{push, pair}, 0}, 0, false},
   };
   return kinds;
}

bool is_allowed(const PipelineKind &kind, const Features &features)
{
   if (kind.robustness != Robustness::of_device && !features.pipeline_robustness)
      return false;
   return !kind.raw || kind.robustness == Robustness::on || features.robust;
}

uint8_t poison(uint64_t seed, uint32_t memory, uint32_t offset)
{
   uint32_t x = uint32_t(seed) * 0x9e3779b1u + memory * 0x85ebca6bu + offset / 4 * 0xc2b2ae35u;
   x ^= x >> 15;
   x *= 0x27d4eb2f;
   x ^= x >> 13;
   return uint8_t(x >> (offset % 4 * 8));
}

Size size(const Case &c)
{
   Size size = {c.steps.size(), 0};
   for (const Step &step : c.steps) {
      if (const Record *record = std::get_if<Record>(&step))
         size.commands += record->commands.size();
   }
   return size;
}

} // namespace weft::commands
