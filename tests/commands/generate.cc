// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/commands/generate.h"

#include "tests/commands/generator.h"

#include <algorithm>
#include <set>

namespace weft::commands {

Generator::Generator(uint64_t seed) : random(seed)
{
   c.seed = seed;
   // A few sets of features: each needs a device and compiled programs.
   static constexpr Features all_features[] = {
      {},
      {.robust = true},
      {.null_descriptors = true},
      {.pipeline_robustness = true, .nested = true, .matrices = true},
      {.robust = true,
       .null_descriptors = true,
       .pipeline_robustness = true,
       .maintenance6 = true,
       .nested = true,
       .matrices = true},
      {.maintenance6 = true, .nested = true, .matrices = true},
   };
   c.features = all_features[random.below(std::size(all_features))];
}

void Generator::make_objects()
{
   // One memory object after the other, with gaps.
   static const std::vector<uint32_t> sizes = {64, 128, 192, 256, 256, 320, 400, 512, 640};
   uint32_t memory = random.below(memory_count), at = 0;
   for (uint32_t b = random.between(7, 11); b > 0; b--) {
      uint32_t size = random.of(sizes);
      if (random.percent(15))
         size += random.between(1, 3) * 2;
      if (at + size > memory_bytes) {
         memory = (memory + 1) % memory_count;
         at = 0;
      }
      c.buffers.push_back({memory, at, size});
      at += (size + memory_alignment - 1) / memory_alignment * memory_alignment +
            random.below(3) * memory_alignment;
      if (random.percent(25)) {
         memory = (memory + 1) % memory_count;
         at = uint32_t(std::ranges::count(c.buffers, memory, &Buffer::memory)) * 1024;
         at = std::min(at, memory_bytes - 64);
      }
   }

   std::vector<uint32_t> allowed;
   for (uint32_t p = 0; p < pipeline_kinds().size(); p++) {
      if (is_allowed(pipeline_kinds()[p], c.features))
         allowed.push_back(p);
   }
   for (uint32_t i = random.between(2, 5); i > 0; i--)
      pipelines.push_back(random.of(allowed));

   // One or two sets of each kind in the layouts.
   for (const uint32_t p : pipelines) {
      const Layout &layout = pipeline_kinds()[p].layout;
      c.layouts.push_back(layout);
      for (const uint32_t kind : layout.sets) {
         const bool is_there = std::ranges::find(c.sets, kind, &Set::kind) != c.sets.end();
         if (set_kinds()[kind].push || set_kinds()[kind].bindings.empty() ||
             (is_there && random.percent(60)))
            continue;
         c.sets.push_back({kind, random.between(1, 4)});
      }
   }
   // Layouts that are compatible with these in part, or not at all.
   for (uint32_t i = random.between(0, 3); i > 0; i--) {
      Layout layout = random.of(c.layouts);
      const uint32_t kind = random.below(uint32_t(set_kinds().size()));
      const bool two_pushes =
         set_kinds()[kind].push &&
         std::ranges::any_of(layout.sets, [](uint32_t k) { return set_kinds()[k].push; });
      switch (two_pushes ? 2 : random.below(4)) {
      case 0:
         if (layout.sets.size() < max_sets)
            layout.sets.push_back(kind);
         break;
      case 1:
         layout.sets.back() = kind;
         break;
      case 2:
         layout.push = random.below(std::size(push_ranges));
         break;
      default:
         if (layout.sets.size() > 1)
            layout.sets.pop_back();
         break;
      }
      c.layouts.push_back(layout);
   }

   for (uint32_t i = random.between(2, 4); i > 0; i--)
      c.command_buffers.push_back({random.below(5) / 4, false});
   for (uint32_t i = random.between(0, 3); i > 0; i--)
      c.command_buffers.push_back({random.below(5) / 4, true});
   for (bool &signaled : c.signaled_fences)
      signaled = random.percent(20);
   for (uint32_t t = 0; t < timeline_count; t++)
      values[t] = c.timelines[t] = random.below(4);
   contents.resize(c.sets.size());
}

/// Mostly even buffers for outputs and odd ones for inputs: a dispatch may not read its own
/// results.
Descriptor Generator::random_descriptor(const Binding &binding, bool is_out)
{
   if (c.features.null_descriptors && random.percent(8))
      return {none, 0, whole};
   uint32_t b = random.below(uint32_t(c.buffers.size()));
   if (b % 2 != (is_out ? 0 : 1) && random.percent(85))
      b = b + 1 < c.buffers.size() ? b + 1 : b - 1;
   const uint32_t size = c.buffers[b].size;
   const uint32_t unit = is_storage(binding.kind) ? 4 : 16;
   const bool keeps_room = is_dynamic(binding.kind) && random.percent(80);
   const bool is_checked = c.features.robust || c.features.null_descriptors;
   const uint32_t most = keeps_room && size > 128 ? size - 64 : size;
   const uint32_t least =
      !is_storage(binding.kind) && !(is_checked && random.percent(50)) ? 64 : 16;
   const uint32_t offset =
      most > least && random.percent(60) ? random.below((most - least) / 16 + 1) * 16 : 0;
   const bool may_be_whole = unit == 4 || size % 16 == 0;
   if (may_be_whole && !keeps_room && random.percent(is_dynamic(binding.kind) ? 20 : 40))
      return {b, offset, whole};
   const uint32_t left = (most - offset) / unit * unit;
   if (left < least)
      return {b, 0, std::min(size, 64u) / unit * unit};
   return {b, offset, std::max(random.between(least / unit, left / unit) * unit, unit)};
}

/// Writes to all elements or some, each with one or several elements.
std::vector<Write> Generator::random_writes(const SetKind &kind, uint32_t variable_count, bool all)
{
   std::vector<Write> writes;
   for (size_t n = 0; n < kind.bindings.size(); n++) {
      const Binding &b = kind.bindings[n];
      if (!all && random.percent(60))
         continue;
      if (b.kind == DescriptorKind::inline_block) {
         for (uint32_t byte = 0; byte < b.count;) {
            const uint32_t count = random.percent(50) ? b.count - byte : random.between(1, 3) * 4;
            Write write = {b.number, byte, {}, {}, 1};
            for (uint32_t i = 0; i < std::min(count, b.count - byte); i++)
               write.bytes.push_back(uint8_t(random.bits()));
            byte += uint32_t(write.bytes.size());
            if (all || random.percent(60))
               writes.push_back(std::move(write));
         }
         continue;
      }
      const uint32_t count = b.variable ? variable_count : b.count;
      for (uint32_t e = 0; e < count;) {
         Write write = {b.number, e, {}, {}, 24 + random.below(4) * 8};
         for (uint32_t many = random.percent(50) ? count - e : 1; many > 0 && e < count;
              many--, e++)
            write.descriptors.push_back(random_descriptor(
               b, b.number == kind.out_binding && (e == kind.out_element || b.variable)));
         if (!all && random.percent(40))
            continue;
         // The write continues into the next binding, whose descriptors are then written twice.
         const bool goes_on = e == count && n + 1 < kind.bindings.size() && !b.variable &&
                              kind.bindings[n + 1].kind == b.kind &&
                              kind.bindings[n + 1].number == b.number + 1 && random.percent(60);
         if (goes_on) {
            const Binding &next = kind.bindings[n + 1];
            write.descriptors.push_back(
               random_descriptor(next, next.number == kind.out_binding && kind.out_element == 0));
         }
         writes.push_back(std::move(write));
      }
   }
   // If a write continues into the next binding, that binding's own write may come before or after
   // it.
   if (random.percent(30))
      std::reverse(writes.begin(), writes.end());
   return writes;
}

void Generator::fill_set(uint32_t set)
{
   UpdateSets update = {{}, {}, random.percent(40)};
   const SetKind &kind = set_kinds()[c.sets[set].kind];
   for (Write &write : random_writes(kind, c.sets[set].variable_count, true)) {
      if (const auto elements = written_elements(kind, c.sets[set].variable_count, write);
          elements && write.bytes.empty()) {
         for (size_t i = 0; i < elements->size(); i++)
            contents[set][(*elements)[i]] = write.descriptors[i];
      }
      update.writes.push_back({set, std::move(write)});
   }
   c.steps.push_back(std::move(update));
}

void Generator::change_sets()
{
   if (c.sets.empty())
      return;
   const uint32_t set = random.below(uint32_t(c.sets.size()));
   const SetKind &kind = set_kinds()[c.sets[set].kind];
   if (random.percent(15)) {
      c.steps.push_back(ReallocateSet{set});
      contents[set].clear();
      fill_set(set);
      return;
   }
   UpdateSets update = {{}, {}, random.percent(40)};
   for (Write &write : random_writes(kind, c.sets[set].variable_count, false)) {
      if (const auto elements = written_elements(kind, c.sets[set].variable_count, write);
          elements && write.bytes.empty()) {
         for (size_t i = 0; i < elements->size(); i++)
            contents[set][(*elements)[i]] = write.descriptors[i];
      }
      update.writes.push_back({set, std::move(write)});
   }
   for (uint32_t i = random.below(4); i > 0 && !update.by_template; i--) {
      // Copies go between bindings of one type, often in sets of one kind.
      const uint32_t to = random.below(uint32_t(c.sets.size()));
      const Binding &from_binding = random.of(kind.bindings);
      std::vector<std::pair<uint32_t, const Binding *>> targets;
      for (const Binding &b : set_kinds()[c.sets[to].kind].bindings) {
         if (b.kind == from_binding.kind)
            targets.push_back({to, &b});
      }
      if (targets.empty())
         continue;
      const Binding &b = *random.of(targets).second;
      const bool is_inline = b.kind == DescriptorKind::inline_block;
      const uint32_t unit = is_inline ? 4 : 1;
      const uint32_t source = random.below(from_binding.count / unit) * unit;
      const uint32_t destination = random.below(b.count / unit) * unit;
      const uint32_t most = std::min(from_binding.count - source, b.count - destination) / unit;
      uint32_t count = random.between(1, most) * unit;
      if (!is_inline && random.percent(25))
         count++;
      update.copies.push_back({set, from_binding.number, source, to, b.number, destination, count});
   }
   c.steps.push_back(std::move(update));
}

/// Actions of the host while the queue is idle.
void Generator::host_steps()
{
   for (uint32_t i = random.below(4); i > 0; i--) {
      switch (random.below(9)) {
      case 0: {
         WriteMemory write = {random.below(memory_count),
                              random.below(memory_bytes - 64),
                              {},
                              random.percent(50),
                              random.percent(30)};
         for (uint32_t n = random.between(1, 64); n > 0; n--)
            write.bytes.push_back(uint8_t(random.bits()));
         c.steps.push_back(std::move(write));
         break;
      }
      case 1:
      case 2:
      case 3:
         change_sets();
         break;
      case 4:
         c.steps.push_back(HostResetQueries{random.below(query_pool_count), 0, queries});
         if (random.percent(50)) {
            const uint32_t first = random.below(queries);
            c.steps.back() = HostResetQueries{random.below(query_pool_count), first,
                                              random.between(1, queries - first)};
         }
         break;
      case 5:
         if (random.percent(50))
            c.steps.push_back(ResetPool{random.below(pool_count), random.percent(50)});
         else
            c.steps.push_back(
               ResetBuffer{random.below(uint32_t(c.command_buffers.size())), random.percent(50)});
         break;
      case 6:
         c.steps.push_back(HostEvent{random.below(event_count), random.percent(50)});
         break;
      case 7:
         c.steps.push_back(CheckMemory{});
         break;
      default: {
         const uint32_t flags = random.below(8);
         const uint32_t first = random.below(queries);
         const uint32_t size = (flags & query_64 ? 8 : 4) * (flags & query_availability ? 2 : 1);
         c.steps.push_back(ReadQueries{random.below(query_pool_count), first,
                                       random.between(1, queries - first),
                                       size + random.below(3) * 8, flags});
         break;
      }
      }
   }
   if (random.percent(60)) {
      ResetFences reset;
      for (uint32_t f = 0; f < fence_count; f++) {
         if (random.percent(70))
            reset.fences.push_back(f);
      }
      c.steps.push_back(std::move(reset));
   }
}

void Generator::record_buffers()
{
   const uint32_t count = uint32_t(c.command_buffers.size());
   // Secondary ones first, so that primary ones find them.
   for (uint32_t n = random.between(1, 3); n > 0; n--) {
      const uint32_t b = random.below(count);
      if (c.command_buffers[b].pool == 1 && random.percent(70))
         c.steps.push_back(ResetPool{1, random.percent(30)});
      const bool secondary = c.command_buffers[b].secondary;
      const bool simultaneous = random.percent(secondary ? 60 : 30);
      c.steps.push_back(Record{b, !secondary && !simultaneous && random.percent(30), simultaneous,
                               random_commands(secondary, random.between(1, 8))});
   }
}

void Generator::submit()
{
   Submit submit = {{}, none, random.percent(50)};
   if (random.percent(60))
      submit.fence = random.below(fence_count);
   for (uint32_t n = random.percent(5) ? 0 : random.between(1, 3); n > 0; n--) {
      Batch batch;
      if (random.percent(15)) {
         // The host must signal one or two semaphores, one of which may be signaled already.
         for (uint32_t t = 0; t < timeline_count; t += 2) {
            if (random.percent(35))
               continue;
            const uint64_t value = values[t] + random.below(3);
            batch.waits.push_back({t, value});
            if (value > values[t])
               owed.push_back({t, value});
         }
      }
      for (uint32_t t = 1; t < timeline_count; t += 2) {
         if (random.percent(25))
            batch.waits.push_back({t, values[t]});
      }
      for (uint32_t b = 0; b < binary_count; b++) {
         if (binaries[b] && random.percent(60)) {
            batch.waits.push_back({timeline_count + b, 0});
            binaries[b] = false;
         }
      }
      for (uint32_t i = random.between(0, 2) + (n == 1); i > 0; i--)
         batch.buffers.push_back(random.below(uint32_t(c.command_buffers.size())));
      for (uint32_t t = 1; t < timeline_count; t += 2) {
         if (random.percent(40))
            batch.signals.push_back({t, values[t] += random.between(1, 3)});
      }
      for (uint32_t b = 0; b < binary_count; b++) {
         if (!binaries[b] && random.percent(15)) {
            batch.signals.push_back({timeline_count + b, 0});
            binaries[b] = true;
         }
      }
      submit.batches.push_back(std::move(batch));
   }
   c.steps.push_back(std::move(submit));
}

/// Observations by the host while the queue may be busy.
void Generator::observe()
{
   const auto patience = [&] {
      return random.percent(!owed.empty() ? 50 : 10) ? Patience::little
             : random.percent(50)                    ? Patience::none
                                                     : Patience::much;
   };
   for (uint32_t i = random.below(4); i > 0; i--) {
      switch (random.below(9)) {
      case 0:
         c.steps.push_back(ReadFence{random.below(fence_count)});
         break;
      case 1: {
         WaitFences wait = {{}, random.percent(50), patience()};
         for (uint32_t n = random.between(1, 3); n > 0; n--)
            wait.fences.push_back(random.below(fence_count));
         c.steps.push_back(std::move(wait));
         break;
      }
      case 2:
         c.steps.push_back(ReadTimeline{random.below(timeline_count)});
         break;
      case 3: {
         WaitTimelines wait = {{}, random.percent(50), patience()};
         for (uint32_t n = random.between(1, 3); n > 0; n--) {
            const uint32_t t = random.below(timeline_count);
            const uint32_t more = random.percent(20);
            wait.values.push_back({t, values[t] + more});
         }
         c.steps.push_back(std::move(wait));
         break;
      }
      case 4:
         c.steps.push_back(ReadEvent{random.below(event_count)});
         break;
      case 5:
         c.steps.push_back(HostEvent{random.below(event_count), random.percent(85)});
         break;
      case 6: {
         const uint32_t t = random.below(timeline_count / 2) * 2;
         c.steps.push_back(SignalTimeline{{t, values[t] += random.between(1, 2)}});
         break;
      }
      case 7:
         change_sets(); // sets that the queue does not use
         break;
      default:
         c.steps.push_back(ReadQueries{random.below(query_pool_count), random.below(queries), 1, 16,
                                       query_wait | random.below(8)});
         break;
      }
   }
   for (const SemaphoreValue &signal : owed) {
      if (random.percent(60) && signal.value > values[signal.semaphore]) {
         c.steps.push_back(SignalTimeline{signal});
         values[signal.semaphore] = signal.value;
      }
   }
   owed.clear();
}

void Generator::finish()
{
   c.steps.push_back(WaitIdle{random.percent(50)});
   c.steps.push_back(CheckMemory{});
   for (uint32_t f = 0; f < fence_count; f++)
      c.steps.push_back(ReadFence{f});
   for (uint32_t t = 0; t < timeline_count; t++)
      c.steps.push_back(ReadTimeline{t});
   for (uint32_t e = 0; e < event_count; e++)
      c.steps.push_back(ReadEvent{e});
   for (uint32_t p = 0; p < query_pool_count; p++)
      c.steps.push_back(ReadQueries{p, 0, queries, 16, query_64 | query_availability});
}

void Generator::make_steps()
{
   for (uint32_t s = 0; s < c.sets.size(); s++)
      fill_set(s);
   // No command buffer exists yet whose sets must not change.
   for (uint32_t n = random.below(5); n > 0; n--)
      change_sets();
   for (uint32_t p = 0; p < query_pool_count; p++)
      c.steps.push_back(HostResetQueries{p, 0, queries});
   // Records secondary command buffers for the first primary ones.
   for (uint32_t b = 0; b < c.command_buffers.size(); b++) {
      if (c.command_buffers[b].secondary)
         c.steps.push_back(
            Record{b, false, random.percent(60), random_commands(true, random.between(1, 6))});
   }
   for (uint32_t round = random.between(2, 4); round > 0; round--) {
      host_steps();
      for (uint32_t n = random.between(1, 2); n > 0; n--) {
         record_buffers();
         submit();
         if (random.percent(40))
            observe();
      }
      observe();
      if (random.percent(70))
         c.steps.push_back(WaitIdle{random.percent(30)});
   }
   finish();
}

GeneratedCase generate(uint64_t seed)
{
   Generator generator(seed);
   generator.make_objects();
   generator.make_steps();
   GeneratedCase result = {std::move(generator.c), {}};
   result.expected = make_valid(result.c);
   return result;
}

} // namespace weft::commands
