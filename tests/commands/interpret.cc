// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/commands/interpret.h"

#include "tests/commands/interpreter.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace weft::commands {

Interpreter::Interpreter(const Case &c)
    : c(c), memory(c.seed), sets(c.sets.size()), buffers(c.command_buffers.size())
{
   for (uint32_t f = 0; f < fence_count; f++)
      fences[f].signaled = c.signaled_fences[f];
   for (uint32_t t = 0; t < timeline_count; t++) {
      const uint64_t value = c.timelines[t];
      timelines[t] = {value, value, value, {}};
   }
}

/// Records that the host knows the end of all batches before `end`.
void Interpreter::learn(uint64_t end)
{
   known = std::max(known, end);
   for (Timeline &t : timelines) {
      for (const auto &[value, signal_end] : t.signals) {
         if (signal_end <= known)
            t.known = std::max(t.known, value);
      }
   }
}

Outcome Interpreter::outcome_of(bool possible, uint64_t end) const
{
   return !possible ? Outcome::no : end <= known ? Outcome::yes : Outcome::either;
}

bool Interpreter::run_batch(PendingBatch &batch)
{
   for (const SemaphoreValue &wait : batch.batch.waits) {
      if (wait.semaphore < timeline_count && timelines[wait.semaphore].value < wait.value)
         return false;
   }
   for (; batch.buffer < batch.buffers.size(); batch.buffer++, batch.operation = 0) {
      const Operations &operations = *batch.buffers[batch.buffer];
      for (; batch.operation < operations.size(); batch.operation++) {
         const Operation &operation = operations[batch.operation];
         try {
            if (!execute(operation, executed))
               return false;
         } catch (const Refused &refused) {
            result.refusals.push_back({operation.step, operation.index, refused.why});
         }
      }
   }
   for (const SemaphoreValue &signal : batch.batch.signals) {
      if (signal.semaphore < timeline_count)
         timelines[signal.semaphore].value = signal.value;
   }
   if (batch.fence != none)
      fences[batch.fence].signaled = true;
   return true;
}

void Interpreter::advance()
{
   while (!pending.empty() && run_batch(pending.front())) {
      pending.pop_front();
      executed++;
   }
}

/// Whether the host may set the event now.
bool Interpreter::is_settable(uint32_t e) const
{
   if (events[e].end > known || event_kinds[e] != EventKind::host)
      return false;
   for (const PendingBatch &batch : pending) {
      for (const auto &operations : batch.buffers) {
         for (const Operation &operation : *operations) {
            const auto *change = std::get_if<ChangeEvent>(&operation.command);
            if (change && change->event == e)
               return false;
         }
      }
   }
   return true;
}

/// The host's signals and events that the first batch needs. If the host may not signal, refuses
/// the wait.
std::vector<Step> Interpreter::what_unblocks()
{
   std::vector<Step> steps;
   if (pending.empty())
      return steps;
   const PendingBatch &batch = pending.front();
   std::map<uint32_t, uint64_t> values;
   for (const SemaphoreValue &wait : batch.batch.waits) {
      if (wait.semaphore < timeline_count && timelines[wait.semaphore].value < wait.value)
         values[wait.semaphore] = std::max(values[wait.semaphore], wait.value);
   }
   for (const auto &[semaphore, value] : values)
      steps.push_back(SignalTimeline{{semaphore, value}});
   if (!steps.empty() || batch.buffer == batch.buffers.size())
      return steps;
   const Operation &operation = (*batch.buffers[batch.buffer])[batch.operation];
   if (const WaitEvents *wait = std::get_if<WaitEvents>(&operation.command)) {
      const std::set<uint32_t> waited(wait->events.begin(), wait->events.end());
      for (const uint32_t e : waited) {
         if (events[e].set)
            continue;
         if (!is_settable(e)) {
            result.refusals.push_back({operation.step, operation.index, "the event is not set"});
            return {};
         }
         steps.push_back(HostEvent{e, true});
      }
   }
   return steps;
}

void Interpreter::reset_buffer(uint32_t b)
{
   for (uint32_t other = 0; other < buffers.size(); other++) {
      if (buffers[other].secondaries.contains(b)) {
         require(buffers[other].end <= known, "a buffer that executes it is pending");
         if (buffers[other].state == Buffer::State::executable)
            buffers[other].state = Buffer::State::invalid;
      }
   }
   buffers[b] = {.end = buffers[b].end};
}

void Interpreter::submit(const Submit &submit, size_t number)
{
   require(submit.fence == none || submit.fence < fence_count, "no such fence");
   if (submit.fence != none) {
      const Fence &fence = fences[submit.fence];
      require(!fence.signaled && !fence.in_use, "the fence is in use");
   }
   // Semaphores first: their faults remove the whole submission.
   std::array<bool, binary_count> binary = binaries;
   std::array<uint64_t, timeline_count> last;
   for (uint32_t t = 0; t < timeline_count; t++)
      last[t] = timelines[t].submitted;
   for (const Batch &batch : submit.batches) {
      for (const SemaphoreValue &wait : batch.waits) {
         if (wait.semaphore >= timeline_count) {
            const uint32_t b = wait.semaphore - timeline_count;
            require(b < binary_count && binary[b], "nothing signals the semaphore");
            require(!is_blocked(), "a binary semaphore depends on the host");
            binary[b] = false;
         } else {
            // The host signals even semaphores, the queue odd ones.
            require(wait.semaphore % 2 == 0 || wait.value <= last[wait.semaphore],
                    "waits for ever");
            require(wait.value > 0, "no value");
         }
      }
      const bool may_block = std::ranges::any_of(batch.waits, [&](const SemaphoreValue &wait) {
         return wait.semaphore < timeline_count && timelines[wait.semaphore].value < wait.value &&
                wait.semaphore % 2 == 0;
      });
      for (const SemaphoreValue &signal : batch.signals) {
         if (signal.semaphore >= timeline_count) {
            const uint32_t b = signal.semaphore - timeline_count;
            require(b < binary_count && !binary[b], "the semaphore is signaled");
            require(!may_block && !is_blocked(), "a binary semaphore depends on the host");
            binary[b] = true;
         } else {
            require(signal.semaphore % 2 == 1, "the host's semaphore");
            require(signal.value > last[signal.semaphore], "the value does not grow");
            last[signal.semaphore] = signal.value;
         }
      }
   }
   binaries = binary;

   uint32_t flat = 0;
   for (size_t i = 0; i < submit.batches.size(); i++) {
      const Batch &batch = submit.batches[i];
      PendingBatch p = {batch, {}, i + 1 == submit.batches.size() ? submit.fence : none, 0, 0};
      for (const uint32_t b : batch.buffers) {
         const uint32_t position = flat++;
         try {
            require(b < buffers.size() && !c.command_buffers[b].secondary, "no primary");
            Buffer &buffer = buffers[b];
            require(buffer.state == Buffer::State::executable, "the buffer is not executable");
            require(buffer.simultaneous || buffer.end <= known, "the buffer is pending");
            for (const uint32_t s : buffer.secondaries)
               require(buffers[s].simultaneous || buffers[s].end <= known,
                       "a secondary is pending");
            p.buffers.push_back(buffer.operations);
            buffer.end = submitted + 1;
            for (const uint32_t s : buffer.secondaries)
               buffers[s].end = submitted + 1;
            if (buffer.once)
               buffer.state = Buffer::State::invalid;
         } catch (const Refused &refused) {
            result.refusals.push_back({number, position, refused.why});
         }
      }
      for (const SemaphoreValue &signal : batch.signals) {
         if (signal.semaphore < timeline_count) {
            timelines[signal.semaphore].submitted = signal.value;
            timelines[signal.semaphore].signals.push_back({signal.value, submitted + 1});
         }
      }
      pending.push_back(std::move(p));
      submitted++;
   }
   if (submit.fence != none) {
      if (submit.batches.empty()) {
         pending.push_back({{}, {}, submit.fence, 0, 0});
         submitted++;
      }
      fences[submit.fence].in_use = true;
      fences[submit.fence].end = submitted;
   }
   advance();
}

/// Checks a set before a change.
void Interpreter::change_set(uint32_t set)
{
   const bool is_late = set_kinds()[c.sets[set].kind].late;
   for (Buffer &buffer : buffers) {
      if (!buffer.sets.contains(set))
         continue;
      require(buffer.end <= known, "the set is in use");
      if (!is_late && buffer.state == Buffer::State::executable)
         buffer.state = Buffer::State::invalid;
   }
}

void Interpreter::update_sets(const UpdateSets &update)
{
   require(!update.writes.empty() || !update.copies.empty(), "no updates");
   require(!update.by_template || update.copies.empty(), "templates do not copy");
   // If one of them is refused, no set changes.
   const auto elements_of = [&](const SetWrite &w) {
      require(w.set < c.sets.size() && !set_kinds()[c.sets[w.set].kind].push, "no such set");
      require(!update.by_template || w.set == update.writes[0].set, "a template is of one set");
      const SetKind &kind = set_kinds()[c.sets[w.set].kind];
      const auto elements = written_elements(kind, c.sets[w.set].variable_count, w.write);
      require(elements.has_value(), "a write does not fit");
      for (const Descriptor &d : w.write.descriptors)
         check_descriptor(find_binding(kind, w.write.binding)->kind, d);
      return *elements;
   };
   for (const SetWrite &w : update.writes) {
      (void)elements_of(w);
      change_set(w.set);
   }
   std::vector<SetContents> changed = sets;
   for (const SetWrite &w : update.writes) {
      const std::vector<Element> elements = elements_of(w);
      const bool is_inline = find_binding(set_kinds()[c.sets[w.set].kind], w.write.binding)->kind ==
                             DescriptorKind::inline_block;
      for (size_t i = 0; i < elements.size(); i++) {
         if (is_inline)
            changed[w.set].bytes[elements[i]] = w.write.bytes[i];
         else
            changed[w.set].descriptors[elements[i]] = w.write.descriptors[i];
      }
   }
   for (const SetCopy &copy : update.copies) {
      require(copy.source < c.sets.size() && copy.destination < c.sets.size() && copy.count > 0,
              "no such set");
      const Set &from = c.sets[copy.source], &to = c.sets[copy.destination];
      const Binding *source = find_binding(set_kinds()[from.kind], copy.source_binding),
                    *destination = find_binding(set_kinds()[to.kind], copy.binding);
      require(source && destination && source->kind == destination->kind, "other types");
      require(set_kinds()[from.kind].late == set_kinds()[to.kind].late, "update after bind");
      const auto read = consecutive_elements(set_kinds()[from.kind], from.variable_count,
                                             copy.source_binding, copy.source_element, copy.count);
      const auto written = consecutive_elements(set_kinds()[to.kind], to.variable_count,
                                                copy.binding, copy.element, copy.count);
      require(read && written, "a copy does not fit");
      const bool is_inline = source->kind == DescriptorKind::inline_block;
      require(!is_inline ||
                 (copy.count % 4 == 0 && copy.source_element % 4 == 0 && copy.element % 4 == 0),
              "bytes of an inline block");
      if (copy.source == copy.destination) {
         for (const Element &e : *read)
            require(std::ranges::find(*written, e) == written->end(), "a copy overlaps itself");
      }
      change_set(copy.destination);
      for (size_t i = 0; i < read->size(); i++) {
         const SetContents &contents = changed[copy.source];
         if (is_inline) {
            const auto found = contents.bytes.find((*read)[i]);
            require(found != contents.bytes.end(), "copies what is undefined");
            changed[copy.destination].bytes[(*written)[i]] = uint8_t(found->second);
         } else {
            const auto found = contents.descriptors.find((*read)[i]);
            require(found != contents.descriptors.end(), "copies what is undefined");
            changed[copy.destination].descriptors[(*written)[i]] = Descriptor(found->second);
         }
      }
   }
   sets = std::move(changed);
}

Outcome Interpreter::wait(const std::vector<Outcome> &each, const std::vector<uint64_t> &ends,
                          bool any, Patience patience)
{
   require(!each.empty(), "waits for nothing");
   const auto count = [&](Outcome o) { return size_t(std::ranges::count(each, o)); };
   const size_t yes = count(Outcome::yes), no = count(Outcome::no);
   if (any ? yes > 0 : yes == each.size())
      return Outcome::yes;
   const bool possible = any ? no < each.size() : no == 0;
   if (!possible) {
      require(patience != Patience::much, "waits for ever");
      return Outcome::no;
   }
   if (patience != Patience::much)
      return Outcome::either;
   // Any of several possible signals may have ended the wait.
   uint64_t first = UINT64_MAX, all = 0;
   for (size_t i = 0; i < each.size(); i++) {
      if (each[i] != Outcome::no) {
         first = std::min(first, ends[i]);
         all = std::max(all, ends[i]);
      }
   }
   learn(any ? first : all);
   return Outcome::yes;
}

void Interpreter::read_queries(const ReadQueries &read, Observation &o)
{
   require(read.pool < query_pool_count, "no such queries");
   if (!(read.flags & query_wait))
      require_idle();
   require(!is_blocked(), "the queue is blocked");
   // Before its reset, a query may still have its old result.
   for (uint32_t q = read.first; q < read.first + read.count && q < queries; q++)
      require(query_pools[read.pool][q].reset_end <= known, "the query may not be reset yet");
   o.bytes.assign(query_bytes(read.count, read.stride, read.flags), 0xa5);
   o.tokens.assign(o.bytes.size(), 0);
   const bool complete =
      write_queries(*this, read.pool, read.first, read.count, read.stride, read.flags,
                    [&](uint32_t offset, uint64_t value, uint32_t size, uint32_t token) {
                       memcpy(&o.bytes[offset], &value, size);
                       for (uint32_t i = 0; token && i < size; i++)
                          o.tokens[offset + i] = token + i;
                    });
   require(complete || !(read.flags & query_wait), "waits for ever");
   o.outcome = complete ? Outcome::yes : Outcome::no;
}

void Interpreter::step(const Step &step, size_t number)
{
   Observation &o = result.steps[number];
   const auto event = [&](uint32_t e) -> Event & {
      require(e < event_count && event_kinds[e] != EventKind::device_only,
              "no event of the host's");
      return events[e];
   };
   const auto timeline = [&](uint32_t t) -> Timeline & {
      require(t < timeline_count, "no such timeline");
      return timelines[t];
   };
   const auto fence = [&](uint32_t f) -> Fence & {
      require(f < fence_count, "no such fence");
      return fences[f];
   };
   const Visitor visitor = {
      [&](const WriteMemory &write) {
         require_idle();
         require(write.memory < memory_count && !write.bytes.empty() &&
                    write.offset + write.bytes.size() <= memory_bytes,
                 "out of the memory");
         memory.write(write.memory * memory_bytes + write.offset, write.bytes.data(),
                      write.bytes.size());
      },
      [&](const CheckMemory &) {
         require_idle();
         o.bytes = memory.bytes;
         o.tokens = memory.tokens;
      },
      [&](const UpdateSets &update) { update_sets(update); },
      [&](const ReallocateSet &again) {
         require(again.set < c.sets.size() && !set_kinds()[c.sets[again.set].kind].push,
                 "no such set");
         for (Buffer &buffer : buffers)
            require(!buffer.sets.contains(again.set) || buffer.end <= known, "the set is in use");
         for (Buffer &buffer : buffers) {
            if (buffer.sets.contains(again.set) && buffer.state == Buffer::State::executable)
               buffer.state = Buffer::State::invalid;
         }
         sets[again.set] = {};
      },
      [&](const Record &r) { record(r, number); },
      [&](const ResetBuffer &reset) {
         require(reset.buffer < buffers.size() && c.command_buffers[reset.buffer].pool == 0,
                 "buffers of this pool are reset with it");
         require(buffers[reset.buffer].end <= known, "the buffer is pending");
         reset_buffer(reset.buffer);
      },
      [&](const ResetPool &reset) {
         require(reset.pool < pool_count, "no such pool");
         for (uint32_t pass = 0; pass < 2; pass++) {
            for (uint32_t b = 0; b < buffers.size(); b++) {
               if (c.command_buffers[b].pool != reset.pool)
                  continue;
               require(buffers[b].end <= known, "a buffer is pending");
               if (pass == 1)
                  reset_buffer(b);
            }
         }
      },
      [&](const Submit &s) { submit(s, number); },
      [&](const WaitIdle &) {
         require(!is_blocked(), "waits for ever");
         learn(submitted);
      },
      [&](const SignalTimeline &s) {
         Timeline &t = timeline(s.signal.semaphore);
         if (s.signal.semaphore % 2)
            require_idle();
         require(s.signal.value > t.value, "the value does not grow");
         t.value = t.known = t.submitted = s.signal.value;
         advance();
      },
      [&](const WaitTimelines &w) {
         std::vector<Outcome> each;
         std::vector<uint64_t> ends;
         for (const SemaphoreValue &value : w.values) {
            const Timeline &t = timeline(value.semaphore);
            // The first batch whose signal suffices.
            uint64_t end = UINT64_MAX;
            for (const auto &[signaled, signal_end] : t.signals) {
               if (signaled >= value.value)
                  end = std::min(end, signal_end);
            }
            if (t.known >= value.value)
               end = 0;
            each.push_back(outcome_of(t.value >= value.value, end));
            ends.push_back(end);
         }
         o.outcome = wait(each, ends, w.any, w.patience);
      },
      [&](const ReadTimeline &read) {
         const Timeline &t = timeline(read.semaphore);
         o.low = t.known;
         o.high = t.value;
      },
      [&](const WaitFences &w) {
         std::vector<Outcome> each;
         std::vector<uint64_t> ends;
         for (const uint32_t f : w.fences) {
            each.push_back(outcome_of(fence(f).signaled, fences[f].end));
            ends.push_back(fences[f].end);
         }
         o.outcome = wait(each, ends, w.any, w.patience);
      },
      [&](const ReadFence &read) {
         o.outcome = outcome_of(fence(read.fence).signaled, fences[read.fence].end);
      },
      [&](const ResetFences &reset) {
         require(!reset.fences.empty(), "no fences");
         for (const uint32_t f : reset.fences)
            require(fence(f).end <= known, "the fence is in use");
         for (const uint32_t f : reset.fences)
            fences[f] = {};
      },
      [&](const HostEvent &h) {
         Event &e = event(h.event);
         if (h.set)
            require(is_settable(h.event), "the queue's event");
         else
            require_idle();
         e = {h.set, 0};
         advance();
      },
      [&](const ReadEvent &read) {
         const Event &e = event(read.event);
         o.outcome = e.end > known ? Outcome::either : e.set ? Outcome::yes : Outcome::no;
      },
      [&](const HostResetQueries &reset) {
         require_idle();
         require(reset.pool < query_pool_count && reset.count > 0 &&
                    reset.first + reset.count <= queries,
                 "no such queries");
         std::fill_n(query_pools[reset.pool].begin() + reset.first, reset.count, Query{});
      },
      [&](const ReadQueries &read) { read_queries(read, o); },
   };
   std::visit(visitor, step);
}

void Interpreter::run()
{
   result.steps.resize(c.steps.size());
   size_t last_wait = none;
   for (size_t i = 0; i < c.steps.size(); i++) {
      if (std::holds_alternative<WaitIdle>(c.steps[i]))
         last_wait = i;
   }
   for (size_t i = 0; i < c.steps.size(); i++) {
      try {
         if (i == last_wait && is_blocked()) {
            result.missing = what_unblocks();
            result.blocked_at = i;
            // A wait for a fence only waits; a wait for the queue is a submission itself.
            const auto with_fence = std::ranges::find_if(
               pending, [](const PendingBatch &batch) { return batch.fence != none; });
            if (!result.missing.empty() && with_fence != pending.end())
               result.missing.push_back(WaitFences{{with_fence->fence}, false, Patience::much});
            if (!result.missing.empty())
               result.refusals.push_back({i, none, "the queue never ends"});
            return;
         }
         step(c.steps[i], i);
      } catch (const Refused &refused) {
         result.refusals.push_back({i, none, refused.why});
      }
   }
   result.idle_at_end = known == submitted;
}

Interpretation interpret(const Case &c)
{
   Interpreter interpreter(c);
   interpreter.run();
   return std::move(interpreter.result);
}

Interpretation make_valid(Case &c)
{
   while (true) {
      Interpretation result = interpret(c);
      if (!result.missing.empty()) {
         c.steps.insert(c.steps.begin() + int64_t(result.blocked_at), result.missing.begin(),
                        result.missing.end());
         result.refusals.pop_back();
      } else if (result.refusals.empty()) {
         if (result.idle_at_end)
            return result;
         c.steps.push_back(WaitIdle{false});
      }
      // Removes from the last refusal on, so that earlier numbers stay valid. Executed commands may
      // be refused twice.
      std::set<std::pair<size_t, size_t>> refused;
      for (const Refusal &refusal : result.refusals)
         refused.insert({refusal.step, refusal.command});
      for (auto r = refused.rbegin(); r != refused.rend(); ++r) {
         const auto [step, command] = *r;
         if (command != none && refused.contains({step, none}))
            continue;
         if (command == none) {
            c.steps.erase(c.steps.begin() + int64_t(step));
         } else if (Record *record = std::get_if<Record>(&c.steps[step])) {
            record->commands.erase(record->commands.begin() + int64_t(command));
         } else if (Submit *submit = std::get_if<Submit>(&c.steps[step])) {
            size_t position = command;
            for (Batch &batch : submit->batches) {
               if (position < batch.buffers.size()) {
                  batch.buffers.erase(batch.buffers.begin() + int64_t(position));
                  break;
               }
               position -= batch.buffers.size();
            }
         }
      }
   }
}

} // namespace weft::commands
