// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The interpreter's state: interpret.cc has the host's steps, interpret_commands.cc the commands.

#pragma once

#include "tests/commands/bind_state.h"
#include "tests/commands/interpret.h"

#include <deque>
#include <functional>
#include <memory>
#include <set>

namespace weft::commands {

struct Refused {
   std::string why;
};

/// Memory by words, with the invocation that touched each word in the current dispatch.
class ModelMemory {
public:
   explicit ModelMemory(uint64_t seed);

   std::vector<uint8_t> bytes;   ///< of all memory objects, one behind the other
   std::vector<uint32_t> tokens; ///< as in Observation

   void begin_dispatch() { epoch++; }
   uint32_t load(uint32_t at, uint32_t invocation);
   void store(uint32_t at, uint32_t value, uint32_t invocation);
   void add(uint32_t at, uint32_t value);

   void write(uint32_t at, const void *data, size_t size);
   void copy(uint32_t to, uint32_t from, size_t size);

private:
   struct Touch {
      uint32_t epoch = 0;
      bool written = false, read = false, added = false;
   };
   Touch &touch(uint32_t at);
   std::vector<Touch> touches;
   uint32_t epoch = 0;
};

/// A dispatch with all state that was bound when it was recorded.
struct RecordedDispatch {
   uint32_t pipeline;
   std::array<BoundSet, max_sets> sets;
   std::array<uint32_t, shader_push_words> push;
   std::optional<std::array<uint32_t, 2>> reference;
   std::array<uint32_t, 3> base, count;
};

struct Operation {
   size_t step, index; ///< where it stands
   Command command;
   std::shared_ptr<const RecordedDispatch> dispatch;
};
using Operations = std::vector<Operation>;

struct Interpreter {
   explicit Interpreter(const Case &);

   const Case &c;
   Interpretation result;
   ModelMemory memory;

   struct SetContents {
      std::map<Element, Descriptor> descriptors;
      std::map<Element, uint8_t> bytes;
   };
   std::vector<SetContents> sets;

   struct Buffer {
      enum class State { initial, executable, invalid } state = State::initial;
      bool once = false, simultaneous = false;
      std::shared_ptr<const Operations> operations;
      std::set<uint32_t> sets;        ///< that it has bound
      std::set<uint32_t> secondaries; ///< the secondary ones that any recording of it executes
      uint64_t end = 0;               ///< one more than the last batch that executes it
   };
   std::vector<Buffer> buffers;

   struct Query {
      bool available = false;
      uint32_t timestamp = 0;
      uint64_t reset_end = 0; ///< one more than the batch that reset it last
   };
   std::array<std::array<Query, queries>, query_pool_count> query_pools = {};
   uint32_t timestamps = 0;

   struct Event {
      bool set = false;
      uint64_t end = 0; ///< one more than the last batch that changed it
   };
   std::array<Event, event_count> events = {};

   struct Fence {
      bool signaled = false, in_use = false;
      uint64_t end = 0;
   };
   std::array<Fence, fence_count> fences = {};

   struct Timeline {
      uint64_t value = 0, submitted = 0, known = 0;
      std::vector<std::pair<uint64_t, uint64_t>> signals; ///< values, and one more than their batch
   };
   std::array<Timeline, timeline_count> timelines = {};
   std::array<bool, binary_count> binaries = {};

   struct PendingBatch {
      Batch batch;
      std::vector<std::shared_ptr<const Operations>> buffers;
      uint32_t fence;
      size_t buffer = 0, operation = 0; ///< where it has come
   };
   std::deque<PendingBatch> pending;
   uint64_t submitted = 0, executed = 0, known = 0; ///< batches

   void refuse(const std::string &why) const { throw Refused{why}; }
   void require(bool holds, const char *why) const
   {
      if (!holds)
         throw Refused{why};
   }
   void require_idle() const { require(known == submitted, "the queue may be busy"); }
   bool is_blocked() const { return !pending.empty(); }
   void learn(uint64_t end);
   Outcome outcome_of(bool possible, uint64_t end) const;

   // interpret.cc
   void run();
   void step(const Step &, size_t number);
   void advance();
   bool run_batch(PendingBatch &);
   bool is_settable(uint32_t event) const;
   std::vector<Step> what_unblocks();
   void submit(const Submit &, size_t number);
   void update_sets(const UpdateSets &);
   void change_set(uint32_t set);
   void reset_buffer(uint32_t buffer);
   Outcome wait(const std::vector<Outcome> &, const std::vector<uint64_t> &ends, bool any,
                Patience);
   void read_queries(const ReadQueries &, Observation &);

   // interpret_commands.cc
   void record(const Record &, size_t number);
   /// False if the queue waits.
   bool execute(const Operation &, uint64_t batch);
   void check_descriptor(DescriptorKind, const Descriptor &) const;

private:
   void execute_dispatch(const RecordedDispatch &, const std::array<uint32_t, 3> &count);
   uint32_t place(uint32_t buffer, uint64_t offset, uint64_t size) const;
   void check_command(const Command &) const;
   void check_bind(const BindSets &) const;
   void check_push(const PushDescriptors &) const;
   void record_execute(const Execute &, const Record &, Buffer &, Operations &,
                       std::set<uint32_t> &secondaries);
   std::shared_ptr<const RecordedDispatch> resolve(const BindState &,
                                                   const std::array<uint32_t, 3> &base,
                                                   const std::array<uint32_t, 3> &count) const;
};

/// Writes queries as vkGetQueryPoolResults does; false if one is not available.
bool write_queries(const Interpreter &, uint32_t pool, uint32_t first, uint32_t count,
                   uint32_t stride, uint32_t flags,
                   const std::function<void(uint32_t offset, uint64_t value, uint32_t size,
                                            uint32_t token)> &write);
uint32_t query_bytes(uint32_t count, uint32_t stride, uint32_t flags);
void check_stride(const Interpreter &, uint32_t count, uint32_t stride, uint32_t flags);

} // namespace weft::commands
