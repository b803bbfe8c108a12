// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/commands/print.h"

#include <cstdio>
#include <sstream>

namespace weft::commands {
namespace {

const char *form(bool second)
{
   return second ? "2" : "";
}

template <typename T, typename F>
std::string list(const std::vector<T> &values, F f)
{
   std::string text;
   for (const T &value : values)
      text += (text.empty() ? "" : ", ") + f(value);
   return "[" + text + "]";
}

template <typename T>
std::string list(const std::vector<T> &values)
{
   return list(values, [](const T &value) { return std::to_string(value); });
}

std::string hex(const std::vector<uint32_t> &words)
{
   return list(words, [](uint32_t word) {
      char text[16];
      snprintf(text, sizeof(text), word < 1024 ? "%u" : "0x%08x", word);
      return std::string(text);
   });
}

std::string range_text(uint32_t range)
{
   return range == whole ? "whole" : std::to_string(range);
}

std::string to_text(const Descriptor &d)
{
   if (d.buffer == none)
      return "null";
   return "buffer " + std::to_string(d.buffer) + "+" + std::to_string(d.offset) + " (" +
          range_text(d.range) + ")";
}

std::string to_text(const Write &w, bool by_template)
{
   std::string text =
      "binding " + std::to_string(w.binding) + "[" + std::to_string(w.element) + "] = ";
   text += w.bytes.empty() ? list(w.descriptors, [](const Descriptor &d) { return to_text(d); })
                           : list(w.bytes);
   if (by_template && w.bytes.empty())
      text += " stride " + std::to_string(w.stride);
   return text;
}

std::string to_text(const SemaphoreValue &s)
{
   if (s.semaphore >= timeline_count)
      return "binary " + std::to_string(s.semaphore - timeline_count);
   return "timeline " + std::to_string(s.semaphore) + " at " + std::to_string(s.value);
}

std::string to_text(const Command &command)
{
   std::ostringstream o;
   const Visitor visitor = {
      [&](const BindPipeline &b) { o << "BindPipeline " << b.pipeline; },
      [&](const BindSets &b) {
         o << "BindDescriptorSets" << form(b.second) << " layout " << b.layout << ", sets from "
           << b.first << " on = " << list(b.sets) << ", dynamic offsets "
           << list(b.dynamic_offsets);
      },
      [&](const PushConstants &p) {
         o << "PushConstants" << form(p.second) << " layout " << p.layout << ", offset " << p.offset
           << " = " << hex(p.words);
         if (p.reference)
            o << ", address of buffer " << (*p.reference)[0] << "+" << (*p.reference)[1];
      },
      [&](const PushDescriptors &p) {
         o << "PushDescriptorSet" << (p.by_template ? "WithTemplate" : "") << form(p.second)
           << " layout " << p.layout << ", set " << p.set;
         for (const Write &write : p.writes)
            o << "; " << to_text(write, p.by_template);
      },
      [&](const Dispatch &d) {
         if (d.with_base)
            o << "DispatchBase " << d.base[0] << " " << d.base[1] << " " << d.base[2] << " + ";
         else
            o << "Dispatch ";
         o << d.count[0] << " " << d.count[1] << " " << d.count[2];
      },
      [&](const DispatchIndirect &d) {
         o << "DispatchIndirect buffer " << d.buffer << "+" << d.offset;
      },
      [&](const CopyBuffer &copy) {
         o << "CopyBuffer" << form(copy.second) << " " << copy.source << " to " << copy.destination
           << ": " << list(copy.regions, [](const CopyRegion &r) {
                 return std::to_string(r.size) + " bytes from " + std::to_string(r.source) +
                        " to " + std::to_string(r.destination);
              });
      },
      [&](const FillBuffer &f) {
         o << "FillBuffer " << f.buffer << "+" << f.offset << " (" << range_text(f.size)
           << ") = " << hex({f.value});
      },
      [&](const UpdateBuffer &u) {
         o << "UpdateBuffer " << u.buffer << "+" << u.offset << " = " << hex(u.words);
      },
      [&](const ResetQueries &r) {
         o << "ResetQueryPool " << r.pool << ", " << r.count << " from " << r.first << " on";
      },
      [&](const WriteTimestamp &w) {
         o << "WriteTimestamp" << form(w.second) << " pool " << w.pool << ", query " << w.query;
      },
      [&](const CopyQueries &q) {
         o << "CopyQueryPoolResults " << q.pool << ", " << q.count << " from " << q.first
           << " on, to buffer " << q.buffer << "+" << q.offset << ", stride " << q.stride
           << (q.flags & query_64 ? ", 64 bits" : "") << (q.flags & query_wait ? ", wait" : "")
           << (q.flags & query_availability ? ", availability" : "");
      },
      [&](const ChangeEvent &e) {
         o << (e.set ? "SetEvent" : "ResetEvent")
           << form(event_kinds[e.event] == EventKind::device_only) << " " << e.event;
      },
      [&](const WaitEvents &w) {
         o << "WaitEvents" << form(event_kinds[w.events[0]] == EventKind::device_only) << " "
           << list(w.events);
      },
      [&](const Execute &e) { o << "ExecuteCommands " << list(e.buffers); },
   };
   std::visit(visitor, command);
   return o.str();
}

const char *patience_text(Patience patience)
{
   return patience == Patience::none     ? ", without waiting"
          : patience == Patience::little ? ", for a moment"
                                         : "";
}

} // namespace

std::string to_text(const Step &step)
{
   std::ostringstream o;
   const Visitor visitor = {
      [&](const WriteMemory &w) {
         o << "write memory " << w.memory << "+" << w.offset << " = " << list(w.bytes)
           << (w.flush ? ", flush" : "");
      },
      [&](const CheckMemory &) { o << "compare memory"; },
      [&](const UpdateSets &u) {
         o << (u.by_template ? "vkUpdateDescriptorSetWithTemplate" : "vkUpdateDescriptorSets");
         for (const SetWrite &w : u.writes)
            o << "\n   set " << w.set << " " << to_text(w.write, u.by_template);
         for (const SetCopy &copy : u.copies) {
            o << "\n   copy " << copy.count << " of set " << copy.source << " binding "
              << copy.source_binding << "[" << copy.source_element << "] to set "
              << copy.destination << " binding " << copy.binding << "[" << copy.element << "]";
         }
      },
      [&](const ReallocateSet &r) { o << "free and allocate set " << r.set; },
      [&](const Record &r) {
         o << "record command buffer " << r.buffer << (r.once ? ", one-time" : "")
           << (r.simultaneous ? ", simultaneous use" : "");
         for (const Command &command : r.commands)
            o << "\n   vkCmd" << to_text(command);
      },
      [&](const ResetBuffer &r) {
         o << "vkResetCommandBuffer " << r.buffer << (r.release ? ", release" : "");
      },
      [&](const ResetPool &r) {
         o << "vkResetCommandPool " << r.pool << (r.release ? ", release" : "");
      },
      [&](const Submit &s) {
         o << "vkQueueSubmit" << form(s.second);
         if (s.fence != none)
            o << ", fence " << s.fence;
         const auto semaphore = [](const SemaphoreValue &v) { return to_text(v); };
         for (const Batch &batch : s.batches) {
            o << "\n   command buffers " << list(batch.buffers);
            if (!batch.waits.empty())
               o << ", waits for " << list(batch.waits, semaphore);
            if (!batch.signals.empty())
               o << ", signals " << list(batch.signals, semaphore);
         }
      },
      [&](const WaitIdle &w) { o << (w.device ? "vkDeviceWaitIdle" : "vkQueueWaitIdle"); },
      [&](const SignalTimeline &s) { o << "vkSignalSemaphore " << to_text(s.signal); },
      [&](const WaitTimelines &w) {
         o << "vkWaitSemaphores " << (w.any ? "any of " : "")
           << list(w.values, [](const SemaphoreValue &v) { return to_text(v); })
           << patience_text(w.patience);
      },
      [&](const ReadTimeline &r) { o << "vkGetSemaphoreCounterValue " << r.semaphore; },
      [&](const WaitFences &w) {
         o << "vkWaitForFences " << (w.any ? "any of " : "") << list(w.fences)
           << patience_text(w.patience);
      },
      [&](const ReadFence &r) { o << "vkGetFenceStatus " << r.fence; },
      [&](const ResetFences &r) { o << "vkResetFences " << list(r.fences); },
      [&](const HostEvent &h) { o << (h.set ? "vkSetEvent " : "vkResetEvent ") << h.event; },
      [&](const ReadEvent &r) { o << "vkGetEventStatus " << r.event; },
      [&](const HostResetQueries &r) {
         o << "vkResetQueryPool " << r.pool << ", " << r.count << " from " << r.first << " on";
      },
      [&](const ReadQueries &q) {
         o << "vkGetQueryPoolResults " << q.pool << ", " << q.count << " from " << q.first
           << " on, stride " << q.stride << (q.flags & query_64 ? ", 64 bits" : "")
           << (q.flags & query_wait ? ", wait" : "")
           << (q.flags & query_availability ? ", availability" : "");
      },
   };
   std::visit(visitor, step);
   return o.str();
}

namespace {

std::string describe_layout(const Layout &layout)
{
   return list(layout.sets, [](uint32_t kind) { return std::string(set_kinds()[kind].name); }) +
          ", push constants " + std::to_string(push_ranges[layout.push].offset) + "+" +
          std::to_string(push_ranges[layout.push].size);
}

} // namespace

std::string to_text(const Case &c)
{
   std::ostringstream o;
   const Features &f = c.features;
   o << "seed " << c.seed << "\nfeatures:" << (f.robust ? " robustBufferAccess" : "")
     << (f.null_descriptors ? " nullDescriptor" : "")
     << (f.pipeline_robustness ? " pipelineRobustness" : "")
     << (f.maintenance6 ? " maintenance6" : "") << (f.nested ? " nestedCommandBuffer" : "")
     << (f.matrices ? " cooperativeMatrix" : "") << "\n";
   for (size_t i = 0; i < c.buffers.size(); i++)
      o << "buffer " << i << ": " << c.buffers[i].size << " bytes of memory " << c.buffers[i].memory
        << " from " << c.buffers[i].offset << " on\n";
   for (size_t i = 0; i < c.sets.size(); i++)
      o << "set " << i << ": " << set_kinds()[c.sets[i].kind].name
        << (set_kinds()[c.sets[i].kind].name == std::string("variable")
               ? " of " + std::to_string(c.sets[i].variable_count)
               : "")
        << "\n";
   for (size_t i = 0; i < c.layouts.size(); i++)
      o << "layout " << i << ": " << describe_layout(c.layouts[i]) << "\n";
   static const char *const shaders[] = {"mix", "branches", "atomics", "reference"};
   for (uint32_t p = 0; p < pipeline_kinds().size(); p++) {
      bool used = false;
      for (const Step &step : c.steps) {
         const Record *record = std::get_if<Record>(&step);
         for (size_t i = 0; record && i < record->commands.size(); i++) {
            const auto *bind = std::get_if<BindPipeline>(&record->commands[i]);
            used |= bind && bind->pipeline == p;
         }
      }
      const PipelineKind &kind = pipeline_kinds()[p];
      if (used)
         o << "pipeline " << p << ": " << shaders[int(kind.shader)] << " " << kind.variant
           << ", writes to set " << kind.out_set << ", " << describe_layout(kind.layout)
           << (kind.raw ? ", out of bounds" : "")
           << (kind.robustness == Robustness::on    ? ", robust"
               : kind.robustness == Robustness::off ? ", not robust"
                                                    : "")
           << ", constants " << kind.factor << " " << kind.local_size << "\n";
   }
   for (size_t i = 0; i < c.command_buffers.size(); i++)
      o << "command buffer " << i << ": "
        << (c.command_buffers[i].secondary ? "secondary" : "primary") << " of pool "
        << c.command_buffers[i].pool << "\n";
   o << "timelines begin at";
   for (const uint64_t value : c.timelines)
      o << " " << value;
   o << "; signaled fences:";
   for (uint32_t i = 0; i < fence_count; i++) {
      if (c.signaled_fences[i])
         o << " " << i;
   }
   o << "\n";
   for (size_t i = 0; i < c.steps.size(); i++)
      o << i << ": " << to_text(c.steps[i]) << "\n";
   return o.str();
}

} // namespace weft::commands
