// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/commands/interpreter.h"
#include "tests/commands/shaders.h"

#include <algorithm>
#include <cstring>

namespace weft::commands {

ModelMemory::ModelMemory(uint64_t seed)
    : bytes(memory_count * memory_bytes), tokens(bytes.size()), touches(bytes.size() / 4)
{
   for (uint32_t i = 0; i < bytes.size(); i++)
      bytes[i] = poison(seed, i / memory_bytes, i % memory_bytes);
}

ModelMemory::Touch &ModelMemory::touch(uint32_t at)
{
   Touch &touch = touches[at / 4];
   if (touch.epoch != epoch)
      touch = {epoch};
   return touch;
}

// A shader's buffers are variables that may be assumed not to overlap. So an invocation may not
// even read its own result through another buffer.
uint32_t ModelMemory::load(uint32_t at, uint32_t)
{
   Touch &t = touch(at);
   if (t.written || t.added)
      throw Refused{"a word is read and written in one dispatch"};
   t.read = true;
   for (uint32_t i = 0; i < 4; i++) {
      if (tokens[at + i])
         throw Refused{"a shader reads a timestamp"};
   }
   uint32_t value;
   memcpy(&value, &bytes[at], 4);
   return value;
}

void ModelMemory::store(uint32_t at, uint32_t value, uint32_t)
{
   Touch &t = touch(at);
   if (t.written || t.added || t.read)
      throw Refused{"a word is written twice, or read, in one dispatch"};
   t.written = true;
   write(at, &value, 4);
}

void ModelMemory::add(uint32_t at, uint32_t value)
{
   Touch &t = touch(at);
   if (t.written || t.read)
      throw Refused{"a word of atomics is read or written in one dispatch"};
   t.added = true;
   for (uint32_t i = 0; i < 4; i++) {
      if (tokens[at + i])
         throw Refused{"a shader adds to a timestamp"};
   }
   uint32_t before;
   memcpy(&before, &bytes[at], 4);
   value += before;
   memcpy(&bytes[at], &value, 4);
}

void ModelMemory::write(uint32_t at, const void *data, size_t size)
{
   memcpy(&bytes[at], data, size);
   std::fill_n(tokens.begin() + at, size, 0);
}

void ModelMemory::copy(uint32_t to, uint32_t from, size_t size)
{
   std::copy_n(bytes.begin() + from, size, bytes.begin() + to);
   std::copy_n(tokens.begin() + from, size, tokens.begin() + to);
}

uint32_t Interpreter::place(uint32_t buffer, uint64_t offset, uint64_t size) const
{
   require(buffer < c.buffers.size(), "no such buffer");
   const commands::Buffer &b = c.buffers[buffer];
   require(offset + size <= b.size, "out of the buffer");
   return b.memory * memory_bytes + b.offset + uint32_t(offset);
}

void Interpreter::check_descriptor(DescriptorKind kind, const Descriptor &d) const
{
   if (d.buffer == none) {
      require(c.features.null_descriptors, "null descriptors are not enabled");
      require(d.offset == 0 && d.range == whole, "a null descriptor is whole");
      return;
   }
   require(d.buffer < c.buffers.size(), "no such buffer");
   const uint32_t size = c.buffers[d.buffer].size;
   require(d.offset < size && d.offset % 16 == 0, "the descriptor's offset");
   require(d.range == whole || (d.range > 0 && d.range <= size - d.offset),
           "the descriptor's range");
   // Blocks of uniform buffers are made of vectors.
   if (!is_storage(kind))
      require((d.range == whole ? size - d.offset : d.range) % 16 == 0, "a part of a vector");
}

void Interpreter::check_bind(const BindSets &bind) const
{
   require(bind.layout < c.layouts.size() && !bind.sets.empty(), "no such layout");
   const Layout &layout = c.layouts[bind.layout];
   require(bind.first + bind.sets.size() <= layout.sets.size(), "more sets than the layout has");
   require(!bind.second || c.features.maintenance6, "needs maintenance6");
   auto offset = bind.dynamic_offsets.begin();
   for (uint32_t i = 0; i < bind.sets.size(); i++) {
      require(bind.sets[i] < c.sets.size(), "no such set");
      const uint32_t kind = c.sets[bind.sets[i]].kind;
      require(kind == layout.sets[bind.first + i] && !set_kinds()[kind].push,
              "a set of another kind");
      for (const Binding &b : set_kinds()[kind].bindings) {
         for (uint32_t e = 0; is_dynamic(b.kind) && e < b.count; e++) {
            require(offset != bind.dynamic_offsets.end(), "too few dynamic offsets");
            const uint32_t dynamic = *offset++;
            const auto found = sets[bind.sets[i]].descriptors.find({b.number, e});
            require(found != sets[bind.sets[i]].descriptors.end(), "an undefined dynamic buffer");
            require(dynamic % 16 == 0, "a dynamic offset's alignment");
            const Descriptor &d = found->second;
            if (d.buffer == none)
               continue;
            require(d.range != whole || dynamic == 0, "a whole buffer has no dynamic offset");
            require(d.range == whole ||
                       uint64_t(d.offset) + dynamic + d.range <= c.buffers[d.buffer].size,
                    "a dynamic offset out of the buffer");
         }
      }
   }
   require(offset == bind.dynamic_offsets.end(), "too many dynamic offsets");
}

void Interpreter::check_push(const PushDescriptors &push) const
{
   require(push.layout < c.layouts.size(), "no such layout");
   const Layout &layout = c.layouts[push.layout];
   require(push.set < layout.sets.size() && set_kinds()[layout.sets[push.set]].push, "no push set");
   require(!push.second || c.features.maintenance6, "needs maintenance6");
   require(!push.writes.empty(), "nothing pushed");
   for (const Write &write : push.writes) {
      const Binding *b = find_binding(set_kinds()[layout.sets[push.set]], write.binding);
      require(b, "no such binding");
      require(write.bytes.empty(), "bytes are no descriptors");
      for (const Descriptor &d : write.descriptors)
         check_descriptor(b->kind, d);
   }
}

std::shared_ptr<const RecordedDispatch>
Interpreter::resolve(const BindState &state, const std::array<uint32_t, 3> &base,
                     const std::array<uint32_t, 3> &count) const
{
   require(state.pipeline.has_value(), "no pipeline");
   const PipelineKind &kind = pipeline_kinds()[*state.pipeline];
   require(is_allowed(kind, c.features), "the pipeline needs other features");
   for (uint32_t s = 0; s < kind.layout.sets.size(); s++)
      require(state.has_set(c, kind, s), "a set is not bound");
   require(state.has_push_constants(kind), "push constants are not defined");
   auto dispatch = std::make_shared<RecordedDispatch>();
   dispatch->pipeline = *state.pipeline;
   dispatch->sets = state.sets;
   memcpy(dispatch->push.data(), state.push.data() + push_ranges[kind.layout.push].offset,
          sizeof(dispatch->push));
   dispatch->reference = state.reference;
   dispatch->base = base;
   dispatch->count = count;
   return dispatch;
}

void Interpreter::record_execute(const Execute &execute, const Record &step, Buffer &recorded,
                                 Operations &operations, std::set<uint32_t> &secondaries)
{
   require(!execute.buffers.empty(), "executes nothing");
   require(!c.command_buffers[step.buffer].secondary || c.features.nested, "not nested");
   std::set<uint32_t> now = secondaries;
   for (const uint32_t b : execute.buffers) {
      require(b < c.command_buffers.size() && b != step.buffer && c.command_buffers[b].secondary,
              "no secondary command buffer");
      const Buffer &secondary = buffers[b];
      require(secondary.state == Buffer::State::executable, "the secondary is not executable");
      std::set<uint32_t> with = secondary.secondaries;
      with.insert(b);
      for (const uint32_t inner : with) {
         if (buffers[inner].simultaneous)
            continue;
         require(!step.simultaneous, "a secondary is not for simultaneous use");
         require(!now.contains(inner), "a secondary is executed twice");
         require(buffers[inner].end <= known, "the secondary is pending");
         for (uint32_t other = 0; other < buffers.size(); other++) {
            const bool is_own = other == step.buffer || with.contains(other);
            require(is_own || buffers[other].state != Buffer::State::executable ||
                       !buffers[other].secondaries.contains(inner),
                    "another command buffer executes the secondary");
         }
      }
      now.insert(with.begin(), with.end());
   }
   secondaries = std::move(now);
   for (const uint32_t b : execute.buffers) {
      operations.insert(operations.end(), buffers[b].operations->begin(),
                        buffers[b].operations->end());
      recorded.sets.insert(buffers[b].sets.begin(), buffers[b].sets.end());
   }
}

uint32_t query_bytes(uint32_t count, uint32_t stride, uint32_t flags)
{
   const uint32_t size = (flags & query_64 ? 8 : 4) * (flags & query_availability ? 2 : 1);
   return count ? (count - 1) * stride + size : 0;
}

void check_stride(const Interpreter &state, uint32_t count, uint32_t stride, uint32_t flags)
{
   const uint32_t size = flags & query_64 ? 8 : 4;
   state.require(stride % size == 0 && (count == 1 || stride >= query_bytes(1, stride, flags)),
                 "the stride");
}

/// Vulkan's requirements of a command, whether it is executed or not.
void Interpreter::check_command(const Command &command) const
{
   const auto check_queries = [&](uint32_t pool, uint32_t first, uint32_t count) {
      require(pool < query_pool_count && count > 0 && first + count <= queries, "no such queries");
   };
   const Visitor visitor = {
      [&](const DispatchIndirect &d) {
         require(d.offset % 4 == 0, "the offset's alignment");
         place(d.buffer, d.offset, 12);
      },
      [&](const CopyBuffer &copy) {
         require(!copy.regions.empty(), "no regions");
         struct Range {
            uint32_t begin, end;
            bool overlaps(const Range &o) const { return begin < o.end && o.begin < end; }
         };
         std::vector<Range> from, to;
         for (const CopyRegion &r : copy.regions) {
            require(r.size > 0, "an empty region");
            const uint32_t source = place(copy.source, r.source, r.size);
            const uint32_t destination = place(copy.destination, r.destination, r.size);
            from.push_back({source, source + r.size});
            to.push_back({destination, destination + r.size});
         }
         for (size_t i = 0; i < to.size(); i++) {
            for (size_t k = 0; k < to.size(); k++)
               require(!to[i].overlaps(from[k]) && (i == k || !to[i].overlaps(to[k])),
                       "regions overlap");
         }
      },
      [&](const FillBuffer &fill) {
         require(fill.buffer < c.buffers.size() && fill.offset % 4 == 0, "the offset's alignment");
         require(fill.offset < c.buffers[fill.buffer].size, "out of the buffer");
         require(fill.size == whole || (fill.size > 0 && fill.size % 4 == 0), "the size");
         place(fill.buffer, fill.offset, fill.size == whole ? 0 : fill.size);
      },
      [&](const UpdateBuffer &update) {
         require(!update.words.empty() && update.offset % 4 == 0, "the offset's alignment");
         place(update.buffer, update.offset, update.words.size() * 4);
      },
      [&](const ResetQueries &reset) { check_queries(reset.pool, reset.first, reset.count); },
      [&](const WriteTimestamp &write) { check_queries(write.pool, write.query, 1); },
      [&](const CopyQueries &copy) {
         check_queries(copy.pool, copy.first, copy.count);
         check_stride(*this, copy.count, copy.stride, copy.flags);
         require(copy.offset % (copy.flags & query_64 ? 8 : 4) == 0, "the offset's alignment");
         place(copy.buffer, copy.offset, query_bytes(copy.count, copy.stride, copy.flags));
      },
      [&](const ChangeEvent &change) {
         require(change.event < event_count, "no such event");
         require(!change.set || event_kinds[change.event] != EventKind::host, "the host's event");
      },
      [&](const WaitEvents &wait) {
         require(!wait.events.empty(), "no events");
         for (const uint32_t e : wait.events)
            require(e < event_count && (event_kinds[e] == EventKind::device_only) ==
                                          (event_kinds[wait.events[0]] == EventKind::device_only),
                    "events of two forms");
      },
      [](const auto &) {},
   };
   std::visit(visitor, command);
}

void Interpreter::record(const Record &step, size_t number)
{
   require(step.buffer < buffers.size(), "no such command buffer");
   Buffer &buffer = buffers[step.buffer];
   const commands::CommandBuffer &made = c.command_buffers[step.buffer];
   require(buffer.end <= known, "the command buffer is pending");
   require(made.pool == 0 || buffer.state == Buffer::State::initial,
           "buffers of this pool are reset with it");
   require(!step.once || (!made.secondary && !step.simultaneous), "once");
   reset_buffer(step.buffer);
   buffer.once = step.once;
   buffer.simultaneous = step.simultaneous;
   auto operations = std::make_shared<Operations>();
   BindState state;
   for (size_t i = 0; i < step.commands.size(); i++) {
      const Command &command = step.commands[i];
      Operation operation = {number, i, command, nullptr};
      bool appended = false;
      const Visitor visitor = {
         [&](const BindPipeline &bind) {
            require(bind.pipeline < pipeline_kinds().size() &&
                       is_allowed(pipeline_kinds()[bind.pipeline], c.features),
                    "the pipeline needs other features");
            state.pipeline = bind.pipeline;
            appended = true;
         },
         [&](const BindSets &bind) {
            check_bind(bind);
            state.bind_sets(c, bind);
            buffer.sets.insert(bind.sets.begin(), bind.sets.end());
            appended = true;
         },
         [&](const PushConstants &push) {
            require(push.layout < c.layouts.size() && !push.words.empty() && push.offset % 4 == 0,
                    "no such layout");
            require(!push.second || c.features.maintenance6, "needs maintenance6");
            const PushRange range = push_ranges[c.layouts[push.layout].push];
            const size_t end = push.offset + 4 * push.words.size();
            require(push.offset >= range.offset && end <= range.offset + range.size,
                    "push constants out of their range");
            if (push.reference) {
               require(push.offset <= range.offset + 16 && end >= range.offset + 24,
                       "the address is not among the words");
               require((*push.reference)[1] % 4 == 0, "the address's alignment");
               place((*push.reference)[0], (*push.reference)[1], 0);
            }
            state.push_constants(c, push);
            appended = true;
         },
         [&](const PushDescriptors &push) {
            check_push(push);
            require(state.push_descriptors(c, push), "a write does not fit");
            appended = true;
         },
         [&](const Dispatch &d) {
            require(d.with_base || d.base == std::array<uint32_t, 3>{}, "no base");
            operation.dispatch = resolve(state, d.base, d.count);
         },
         [&](const DispatchIndirect &) { operation.dispatch = resolve(state, {}, {}); },
         [&](const Execute &execute) {
            record_execute(execute, step, buffer, *operations, buffer.secondaries);
            state = {};
            appended = true;
         },
         [](const auto &) {},
      };
      try {
         check_command(command);
         std::visit(visitor, command);
         if (!appended)
            operations->push_back(std::move(operation));
      } catch (const Refused &refused) {
         result.refusals.push_back({number, i, refused.why});
      }
   }
   buffer.operations = std::move(operations);
   buffer.state = Buffer::State::executable;
}

void Interpreter::execute_dispatch(const RecordedDispatch &d, const std::array<uint32_t, 3> &count)
{
   require(count[0] <= 4 && count[1] <= 4 && count[2] <= 4 && count[0] * count[1] * count[2] <= 16,
           "too many workgroups");
   if (count[0] == 0 || count[1] == 0 || count[2] == 0)
      return;
   const PipelineKind &kind = pipeline_kinds()[d.pipeline];
   const bool robust = kind.robustness == Robustness::of_device ? c.features.robust
                                                                : kind.robustness == Robustness::on;
   memory.begin_dispatch();

   struct View {
      uint32_t at;
      uint64_t size;
   };
   const auto binding_of = [&](const Place &p) {
      return find_binding(set_kinds()[kind.layout.sets[p.set]], p.binding);
   };
   const auto view = [&](const Place &p) -> std::optional<View> {
      const BoundSet &bound = d.sets[p.set];
      const auto &contents =
         bound.what == BoundSet::What::pushed ? bound.pushed : sets[bound.set].descriptors;
      const auto found = contents.find({p.binding, p.element});
      require(found != contents.end(), "an undefined descriptor");
      const Descriptor &descriptor = found->second;
      if (descriptor.buffer == none)
         return std::nullopt;
      uint32_t dynamic = 0;
      if (is_dynamic(binding_of(p)->kind)) {
         uint32_t index = 0;
         for (const Binding &b : set_kinds()[kind.layout.sets[p.set]].bindings) {
            if (b.number == p.binding)
               break;
            index += is_dynamic(b.kind) ? b.count : 0;
         }
         dynamic = bound.dynamic_offsets[index + p.element];
      }
      const commands::Buffer &buffer = c.buffers[descriptor.buffer];
      return View{buffer.memory * memory_bytes + buffer.offset + descriptor.offset + dynamic,
                  descriptor.range == whole ? buffer.size - descriptor.offset : descriptor.range};
   };
   /// Nothing where robust access reads zeros and writes nothing.
   const auto word_at = [&](const Place &p, uint32_t word) -> std::optional<uint32_t> {
      const std::optional<View> v = view(p);
      if (!v)
         return std::nullopt;
      if (uint64_t(word) * 4 + 4 <= v->size)
         return v->at + word * 4;
      require(robust, "out of the descriptor's range");
      return std::nullopt;
   };
   const auto reference = [&](uint32_t word) {
      return place((*d.reference)[0], uint64_t((*d.reference)[1]) + uint64_t(word) * 4, 4);
   };
   const ShaderWorld world = {
      .push = d.push,
      .base = d.base,
      .count = count,
      .length =
         [&](const Place &p) {
            const std::optional<View> v = view(p);
            return v ? uint32_t(v->size / 4) : 0;
         },
      .load = [&](const Place &p, uint32_t word, uint32_t invocation) -> uint32_t {
         if (binding_of(p)->kind == DescriptorKind::inline_block) {
            uint8_t bytes[4];
            for (uint32_t i = 0; i < 4; i++) {
               const auto &all = sets[d.sets[p.set].set].bytes;
               const auto found = all.find({p.binding, word * 4 + i});
               require(found != all.end(), "an undefined byte of an inline block");
               bytes[i] = found->second;
            }
            uint32_t value;
            memcpy(&value, bytes, 4);
            return value;
         }
         const std::optional<uint32_t> at = word_at(p, word);
         return at ? memory.load(*at, invocation) : 0;
      },
      .store =
         [&](const Place &p, uint32_t word, uint32_t value, uint32_t invocation) {
            if (const std::optional<uint32_t> at = word_at(p, word))
               memory.store(*at, value, invocation);
         },
      .add =
         [&](const Place &p, uint32_t word, uint32_t value, uint32_t) {
            if (const std::optional<uint32_t> at = word_at(p, word))
               memory.add(*at, value);
         },
      .load_reference =
         [&](uint32_t word, uint32_t invocation) {
            return memory.load(reference(word), invocation);
         },
      .store_reference =
         [&](uint32_t word, uint32_t value, uint32_t invocation) {
            memory.store(reference(word), value, invocation);
         },
   };
   run_shader(kind, world);
   result.dispatches++;
}

bool write_queries(
   const Interpreter &state, uint32_t pool, uint32_t first, uint32_t count, uint32_t stride,
   uint32_t flags,
   const std::function<void(uint32_t offset, uint64_t value, uint32_t size, uint32_t token)> &write)
{
   const uint32_t size = flags & query_64 ? 8 : 4;
   state.require(count > 0 && first + count <= queries, "no such queries");
   check_stride(state, count, stride, flags);
   bool complete = true;
   for (uint32_t i = 0; i < count; i++) {
      const Interpreter::Query &query = state.query_pools[pool][first + i];
      complete &= query.available;
      if (query.available)
         write(i * stride, 0, size, 8 * (query.timestamp + 1));
      if (flags & query_availability)
         write(i * stride + size, query.available, size, 0);
   }
   return complete;
}

bool Interpreter::execute(const Operation &operation, uint64_t batch)
{
   bool goes_on = true;
   const Visitor visitor = {
      [&](const Dispatch &d) { execute_dispatch(*operation.dispatch, d.count); },
      [&](const DispatchIndirect &d) {
         const uint32_t at = place(d.buffer, d.offset, 12);
         std::array<uint32_t, 3> count;
         for (uint32_t i = 0; i < 12; i++)
            require(memory.tokens[at + i] == 0, "a timestamp counts workgroups");
         memcpy(count.data(), &memory.bytes[at], 12);
         require(count[0] <= 4 && count[1] <= 4 && count[2] <= 4, "too many workgroups");
         execute_dispatch(*operation.dispatch, count);
      },
      [&](const CopyBuffer &copy) {
         for (const CopyRegion &r : copy.regions)
            memory.copy(place(copy.destination, r.destination, r.size),
                        place(copy.source, r.source, r.size), r.size);
      },
      [&](const FillBuffer &fill) {
         const uint32_t size =
            fill.size == whole ? (c.buffers[fill.buffer].size - fill.offset) / 4 * 4 : fill.size;
         const uint32_t at = place(fill.buffer, fill.offset, size);
         for (uint32_t i = 0; i < size; i += 4)
            memory.write(at + i, &fill.value, 4);
      },
      [&](const UpdateBuffer &update) {
         const size_t size = update.words.size() * 4;
         memory.write(place(update.buffer, update.offset, size), update.words.data(), size);
      },
      [&](const ResetQueries &reset) {
         std::fill_n(query_pools[reset.pool].begin() + reset.first, reset.count,
                     Query{.reset_end = batch + 1});
      },
      [&](const WriteTimestamp &write) {
         Query &query = query_pools[write.pool][write.query];
         require(!query.available, "the query was not reset");
         query = {true, timestamps++, query.reset_end};
      },
      [&](const CopyQueries &copy) {
         const auto &q = query_pools[copy.pool];
         const uint32_t at =
            place(copy.buffer, copy.offset, query_bytes(copy.count, copy.stride, copy.flags));
         const bool complete =
            std::all_of(q.begin() + copy.first, q.begin() + copy.first + copy.count,
                        [](const Query &query) { return query.available; });
         require(complete || !(copy.flags & query_wait), "waits for ever");
         write_queries(*this, copy.pool, copy.first, copy.count, copy.stride, copy.flags,
                       [&](uint32_t offset, uint64_t value, uint32_t size, uint32_t token) {
                          memory.write(at + offset, &value, size);
                          for (uint32_t i = 0; token && i < size; i++)
                             memory.tokens[at + offset + i] = token + i;
                       });
      },
      [&](const ChangeEvent &change) { events[change.event] = {change.set, batch + 1}; },
      [&](const WaitEvents &wait) {
         for (const uint32_t e : wait.events) {
            require(event_kinds[e] == EventKind::host || events[e].set, "waits for ever");
            goes_on &= events[e].set;
         }
      },
      [](const auto &) {},
   };
   std::visit(visitor, operation.command);
   return goes_on;
}

} // namespace weft::commands
