// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/commands/generator.h"

#include <algorithm>

namespace weft::commands {

std::vector<uint32_t> Generator::sets_of(uint32_t kind) const
{
   std::vector<uint32_t> list;
   for (uint32_t s = 0; s < c.sets.size(); s++) {
      if (c.sets[s].kind == kind)
         list.push_back(s);
   }
   return list;
}

/// Binds as many sets in one command as the case has sets of the right kinds.
void Generator::add_bind(BindState &state, std::vector<Command> &commands, uint32_t layout,
                         uint32_t first, uint32_t count)
{
   BindSets bind = {layout, first, {}, {}, c.features.maintenance6 && random.percent(50)};
   for (uint32_t s = first; s < first + count && s < c.layouts[layout].sets.size(); s++) {
      const std::vector<uint32_t> list = sets_of(c.layouts[layout].sets[s]);
      if (list.empty())
         break;
      const uint32_t set = random.of(list);
      bind.sets.push_back(set);
      for (const Binding &b : set_kinds()[c.sets[set].kind].bindings) {
         for (uint32_t e = 0; is_dynamic(b.kind) && e < b.count; e++) {
            const auto found = contents[set].find({b.number, e});
            const bool known = found != contents[set].end() && found->second.buffer != none;
            uint32_t room = 0;
            if (known && found->second.range != whole)
               room =
                  c.buffers[found->second.buffer].size - found->second.offset - found->second.range;
            bind.dynamic_offsets.push_back(random.percent(75) ? random.below(room / 16 + 1) * 16
                                                              : 0);
         }
      }
   }
   if (bind.sets.empty())
      return;
   state.bind_sets(c, bind);
   commands.push_back(std::move(bind));
}

void Generator::add_push_descriptors(BindState &state, std::vector<Command> &commands,
                                     uint32_t layout, uint32_t set, bool all)
{
   const SetKind &kind = set_kinds()[c.layouts[layout].sets[set]];
   PushDescriptors push = {layout, set, random_writes(kind, 0, all), random.percent(40),
                           c.features.maintenance6 && random.percent(50)};
   if (push.writes.empty() || !state.push_descriptors(c, push))
      return;
   commands.push_back(std::move(push));
}

void Generator::append_sets(BindState &state, const PipelineKind &kind,
                            std::vector<Command> &commands)
{
   const auto layout_for = [&](uint32_t set) {
      std::vector<uint32_t> list;
      for (uint32_t l = 0; l < c.layouts.size(); l++) {
         if (compatible(c.layouts[l], kind.layout, int(set)))
            list.push_back(l);
      }
      return random.of(list); // the list contains the kind's own layout
   };
   const uint32_t count = uint32_t(kind.layout.sets.size());
   for (uint32_t turn = 0; turn < 2; turn++) {
      const uint32_t start = random.percent(70) ? 0 : random.below(count);
      for (uint32_t i = 0; i < count; i++) {
         const uint32_t s = (start + i) % count;
         const bool is_push = set_kinds()[kind.layout.sets[s]].push;
         const bool is_there = state.has_set(c, kind, s);
         if (is_there && (turn > 0 || !random.percent(25)))
            continue;
         if (is_push) {
            add_push_descriptors(state, commands, layout_for(s), s,
                                 !is_there || random.percent(30));
            continue;
         }
         uint32_t together = 1;
         while (s + together < count && random.percent(50))
            together++;
         add_bind(state, commands, layout_for(std::min(s + together, count) - 1), s, together);
      }
   }
}

uint32_t Generator::random_word(uint32_t index)
{
   switch (index) {
   case 0: // the first words of reads and writes
      return random.percent(85) ? random.below(24) : random.below(400);
   case 1:
      return random.percent(85) ? random.below(12) : random.below(200);
   case 2: // the step between reads
      return random.below(4);
   case 6: // the words that branches compare
   case 7: // one of them also selects an element of an array
   case 8:
   case 9:
      return random.percent(90) ? random.below(5) : random.bits();
   default:
      return random.bits();
   }
}

void Generator::append_push(BindState &state, const PipelineKind &kind,
                            std::vector<Command> &commands)
{
   std::vector<uint32_t> layouts;
   for (uint32_t l = 0; l < c.layouts.size(); l++) {
      if (c.layouts[l].push == kind.layout.push)
         layouts.push_back(l);
   }
   PushConstants push = {
      random.of(layouts), 0, {}, {}, c.features.maintenance6 && random.percent(50)};
   const PushRange range = push_ranges[kind.layout.push];
   const bool is_whole = !state.has_push_constants(kind) || random.percent(20);
   if (!is_whole && random.percent(40))
      return;
   const uint32_t words = range.size / 4;
   const uint32_t first = is_whole ? 0 : random.below(words);
   const uint32_t count = is_whole ? words : random.between(1, std::min(words - first, 4u));
   push.offset = range.offset + 4 * first;
   for (uint32_t w = first; w < first + count; w++)
      push.words.push_back(random_word(w));
   if (first <= 4 && first + count >= 6 && (is_whole || random.percent(50))) {
      const uint32_t b = random.below(uint32_t(c.buffers.size())) / 2 * 2;
      const uint32_t size = c.buffers[b].size;
      push.reference = {b, size > 160 ? random.below((size - 160) / 4) * 4 : 0};
   }
   state.push_constants(c, push);
   commands.push_back(std::move(push));
}

void Generator::append_dispatch(BindState &state, std::vector<Command> &commands)
{
   if (!state.pipeline || random.percent(45)) {
      state.pipeline = random.of(pipelines);
      commands.push_back(BindPipeline{*state.pipeline});
   }
   const PipelineKind &kind = pipeline_kinds()[*state.pipeline];
   if (random.percent(50)) {
      append_sets(state, kind, commands);
      append_push(state, kind, commands);
   } else {
      append_push(state, kind, commands);
      append_sets(state, kind, commands);
   }
   const auto random_count = [&] {
      std::array<uint32_t, 3> count = {random.between(1, 3), random.percent(75) ? 1u : 2u,
                                       random.percent(80) ? 1u : 2u};
      if (random.percent(15))
         std::swap(count[0], count[random.below(3)]);
      if (random.percent(4))
         count[random.below(3)] = 0;
      return count;
   };
   if (random.percent(12)) {
      const uint32_t b = random.below(uint32_t(c.buffers.size()));
      const uint32_t offset = random.below((c.buffers[b].size - 12) / 4) * 4;
      const std::array<uint32_t, 3> count = random_count();
      commands.push_back(UpdateBuffer{b, offset, {count[0], count[1], count[2]}});
      commands.push_back(DispatchIndirect{b, offset});
      return;
   }
   Dispatch dispatch = {{}, random_count(), random.percent(45)};
   for (uint32_t d = 0; dispatch.with_base && d < 3; d++)
      dispatch.base[d] = random.percent(50) ? random.below(5) : 0;
   commands.push_back(dispatch);
   // The same dispatch again, with a single difference.
   if (random.percent(75))
      return;
   if (random.percent(50)) {
      dispatch.with_base = true;
      dispatch.base[random.below(3)] += random.between(1, 4);
   } else {
      dispatch.count[random.below(3)] ^= 3;
   }
   commands.push_back(dispatch);
}

/// Binds and pushes that may disturb bound sets.
void Generator::append_noise(BindState &state, std::vector<Command> &commands)
{
   const uint32_t l = random.below(uint32_t(c.layouts.size()));
   const Layout &layout = c.layouts[l];
   const uint32_t set = random.below(uint32_t(layout.sets.size()));
   switch (random.below(3)) {
   case 0:
      if (set_kinds()[layout.sets[set]].push)
         add_push_descriptors(state, commands, l, set, random.percent(50));
      else
         add_bind(state, commands, l, set, random.between(1, 3));
      break;
   case 1: {
      const PushRange range = push_ranges[layout.push];
      const uint32_t first = random.below(range.size / 4);
      PushConstants push = {
         l, range.offset + 4 * first, {}, {}, c.features.maintenance6 && random.percent(50)};
      for (uint32_t w = first; w < range.size / 4 && push.words.size() < 3; w++)
         push.words.push_back(random_word(w));
      state.push_constants(c, push);
      commands.push_back(std::move(push));
      break;
   }
   default:
      state.pipeline = random.of(pipelines);
      commands.push_back(BindPipeline{*state.pipeline});
      break;
   }
}

void Generator::append_transfer(std::vector<Command> &commands)
{
   const uint32_t count = uint32_t(c.buffers.size());
   const uint32_t b = random.below(count), size = c.buffers[b].size;
   switch (random.below(4)) {
   case 0: {
      const uint32_t offset = random.below(size / 4) * 4;
      const uint32_t words = random.between(1, std::min((size - offset) / 4, 16u));
      commands.push_back(
         FillBuffer{b, offset, random.percent(30) ? whole : words * 4, random.bits()});
      break;
   }
   case 1: {
      UpdateBuffer update = {b, random.below(size / 4) * 4, {}};
      for (uint32_t n = random.between(1, 8);
           n > 0 && update.offset + 4 * update.words.size() + 4 <= size; n--)
         update.words.push_back(random.bits());
      commands.push_back(std::move(update));
      break;
   }
   default: {
      CopyBuffer copy = {random.below(count), b, {}, random.percent(50)};
      const uint32_t source_size = c.buffers[copy.source].size;
      for (uint32_t n = random.between(1, 3); n > 0; n--) {
         CopyRegion region = {random.below(source_size), random.below(size), 0};
         region.size = random.between(
            1, std::min({source_size - region.source, size - region.destination, 64u}));
         copy.regions.push_back(region);
      }
      commands.push_back(std::move(copy));
      break;
   }
   }
}

void Generator::append_query(std::vector<Command> &commands)
{
   const uint32_t pool = random.below(query_pool_count), query = random.below(queries);
   switch (random.below(5)) {
   case 0:
      commands.push_back(ResetQueries{pool, query, random.between(1, queries - query)});
      break;
   case 1:
      commands.push_back(ResetQueries{pool, query, 1});
      [[fallthrough]];
   case 2:
      commands.push_back(WriteTimestamp{pool, query, random.percent(50)});
      break;
   default: {
      const uint32_t b = random.below(uint32_t(c.buffers.size()));
      const uint32_t flags = random.below(8);
      const uint32_t unit = flags & query_64 ? 8 : 4;
      const uint32_t size = unit * (flags & query_availability ? 2 : 1);
      // The results go to the beginning of a buffer or to any place, with or without gaps.
      commands.push_back(CopyQueries{pool, query, random.between(1, std::min(queries - query, 3u)),
                                     b, random.below(c.buffers[b].size / unit) * unit,
                                     size + random.below(3) * unit, flags});
      break;
   }
   }
}

void Generator::append_event(std::vector<Command> &commands)
{
   const uint32_t event = random.below(event_count);
   if (random.percent(45)) {
      commands.push_back(ChangeEvent{event, random.percent(75)});
      return;
   }
   WaitEvents wait;
   const bool second = random.percent(50);
   for (uint32_t n = random.between(1, 3); n > 0; n--) {
      const uint32_t e = second ? random.below(2) * 2 + 1 : random.below(3) * 2;
      // Events of the queue must be set, most often by the command before.
      if (event_kinds[e] != EventKind::host && random.percent(70))
         commands.push_back(ChangeEvent{e, true});
      wait.events.push_back(e);
   }
   commands.push_back(std::move(wait));
}

std::vector<Command> Generator::random_commands(bool secondary, uint32_t count)
{
   std::vector<Command> commands;
   BindState state;
   for (uint32_t i = 0; i < count; i++) {
      const uint32_t drawn = random.below(100);
      if (drawn < 52) {
         append_dispatch(state, commands);
      } else if (drawn < 62) {
         append_noise(state, commands);
      } else if (drawn < 77) {
         append_transfer(commands);
      } else if (drawn < 86) {
         append_query(commands);
      } else if (drawn < 92) {
         append_event(commands);
      } else if (!secondary || c.features.nested) {
         Execute execute;
         for (uint32_t n = random.between(1, 2); n > 0; n--)
            execute.buffers.push_back(random.below(uint32_t(c.command_buffers.size())));
         for (uint32_t &b : execute.buffers) {
            // Mostly command buffers that can be executed.
            for (uint32_t turn = 0; turn < 4 && !c.command_buffers[b].secondary; turn++)
               b = random.below(uint32_t(c.command_buffers.size()));
         }
         commands.push_back(std::move(execute));
         state = {};
      }
   }
   return commands;
}

} // namespace weft::commands
