// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The generator's state: generate.cc has objects and the host's steps, generate_commands.cc
/// commands.

#pragma once

#include "tests/commands/bind_state.h"
#include "tests/commands/generate.h"

namespace weft::commands {

/// Numbers of a seed (splitmix64).
class Random {
public:
   explicit Random(uint64_t seed) : state(seed) {}
   uint32_t bits() { return uint32_t(next() >> 32); }
   /// 0 … count - 1
   uint32_t below(uint32_t count) { return uint32_t((next() >> 32) * count >> 32); }
   uint32_t between(uint32_t low, uint32_t high) { return low + below(high - low + 1); }
   bool percent(uint32_t p) { return below(100) < p; }
   template <typename T>
   const T &of(const std::vector<T> &list)
   {
      return list[below(uint32_t(list.size()))];
   }

private:
   uint64_t next()
   {
      uint64_t z = state += 0x9e3779b97f4a7c15;
      z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
      z = (z ^ z >> 27) * 0x94d049bb133111eb;
      return z ^ z >> 31;
   }
   uint64_t state;
};

struct Generator {
   explicit Generator(uint64_t seed);

   Random random;
   Case c;
   std::vector<uint32_t> pipelines;                     ///< that this case uses
   std::vector<std::map<Element, Descriptor>> contents; ///< of sets, after the writes so far

   // The host's actions so far, roughly.
   std::array<uint64_t, timeline_count> values = {};
   std::array<bool, binary_count> binaries = {};
   std::vector<SemaphoreValue> owed; ///< signals that submissions wait for

   // generate.cc
   void make_objects();
   void make_steps();
   void fill_set(uint32_t set);
   void change_sets();
   void host_steps();
   void record_buffers();
   void submit();
   void observe();
   void finish();
   std::vector<Write> random_writes(const SetKind &, uint32_t variable_count, bool all);
   Descriptor random_descriptor(const Binding &, bool is_out);

   // generate_commands.cc
   std::vector<Command> random_commands(bool secondary, uint32_t count);

private:
   std::vector<uint32_t> sets_of(uint32_t kind) const;
   void append_dispatch(BindState &, std::vector<Command> &);
   void append_sets(BindState &, const PipelineKind &, std::vector<Command> &);
   void append_push(BindState &, const PipelineKind &, std::vector<Command> &);
   void append_noise(BindState &, std::vector<Command> &);
   void append_transfer(std::vector<Command> &);
   void append_query(std::vector<Command> &);
   void append_event(std::vector<Command> &);
   void add_bind(BindState &, std::vector<Command> &, uint32_t layout, uint32_t first,
                 uint32_t count);
   void add_push_descriptors(BindState &, std::vector<Command> &, uint32_t layout, uint32_t set,
                             bool all);
   uint32_t random_word(uint32_t index);
};

} // namespace weft::commands
