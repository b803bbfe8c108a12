// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A case: objects, and steps that the host takes with them, as plain data.
///
/// Numbers of objects are indices of the case's tables.  All memory is filled with a pattern of the
/// seed first.  A full memory barrier, which no list shows, follows every command that touches
/// memory.

#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace weft::commands {

/// The features that a case enables, beyond the features of all cases.
struct Features {
   bool robust, null_descriptors, pipeline_robustness, maintenance6, nested, matrices;
   auto operator<=>(const Features &) const = default;
};

enum class DescriptorKind { storage, uniform, storage_dynamic, uniform_dynamic, inline_block };

struct Binding {
   uint32_t number;
   DescriptorKind kind;
   uint32_t count; ///< bytes of an inline block
   bool variable = false;
};

/// A descriptor set layout.
struct SetKind {
   const char *name;
   std::vector<Binding> bindings;
   /// The shaders' output: a storage buffer.
   uint32_t out_binding, out_element;
   bool push = false, late = false; ///< late: update after bind
};
const std::vector<SetKind> &set_kinds();
bool is_storage(DescriptorKind);
bool is_dynamic(DescriptorKind);
const Binding *find_binding(const SetKind &, uint32_t number);
uint32_t dynamic_count(const SetKind &);

/// Push constant ranges. A shader reads twelve words from the beginning of its range.
struct PushRange {
   uint32_t offset, size;
};
constexpr PushRange push_ranges[] = {{0, 48}, {0, 64}, {16, 48}};
constexpr uint32_t max_push_bytes = 64, shader_push_words = 12, max_sets = 4;

struct Layout {
   std::vector<uint32_t> sets; ///< kinds
   uint32_t push;              ///< of push_ranges
};
/// Vulkan's "compatible for set N"; with N = -1 for push constants alone.
bool compatible(const Layout &, const Layout &, int set);

enum class ShaderKind { mix, branches, atomics, reference };
enum class Robustness { of_device, on, off };

/// The few kinds of compute pipelines; more would take too long to compile.
struct PipelineKind {
   ShaderKind shader;
   Layout layout;
   uint32_t out_set;
   bool raw; ///< indices may exceed the buffers
   Robustness robustness = Robustness::of_device;
   uint32_t factor = 31, local_size = 4; ///< specialization constants 0 and 1
   uint32_t variant = 0;                 ///< of branches
};
const std::vector<PipelineKind> &pipeline_kinds();
bool is_allowed(const PipelineKind &, const Features &);

constexpr uint32_t none = ~0u, whole = ~0u;
constexpr uint32_t memory_count = 3, memory_bytes = 4096, memory_alignment = 64;
constexpr uint32_t event_count = 5, fence_count = 3, timeline_count = 4, binary_count = 3;
constexpr uint32_t query_pool_count = 2, queries = 8, pool_count = 2;

struct Buffer {
   uint32_t memory, offset, size;
};
struct Set {
   uint32_t kind, variable_count;
};
struct CommandBuffer {
   uint32_t pool;
   bool secondary;
};

struct Descriptor {
   uint32_t buffer, offset, range; ///< none: a null descriptor
   bool operator==(const Descriptor &) const = default;
};
/// Writes elements from `element` on, also in the next bindings; bytes for an inline block.
struct Write {
   uint32_t binding, element;
   std::vector<Descriptor> descriptors;
   std::vector<uint8_t> bytes;
   uint32_t stride = 24; ///< with a template
};

// Commands.  `second` picks the form that a later version or extension added.

struct BindPipeline {
   uint32_t pipeline; ///< of pipeline_kinds()
};
struct BindSets {
   uint32_t layout, first;
   std::vector<uint32_t> sets, dynamic_offsets;
   bool second;
};
struct PushConstants {
   uint32_t layout, offset;
   std::vector<uint32_t> words;
   /// The shader's words 4 and 5 are the address of a buffer plus an offset.
   std::optional<std::array<uint32_t, 2>> reference;
   bool second;
};
struct PushDescriptors {
   uint32_t layout, set;
   std::vector<Write> writes;
   bool by_template, second;
};
struct Dispatch {
   std::array<uint32_t, 3> base, count;
   bool with_base;
};
struct DispatchIndirect {
   uint32_t buffer, offset;
};
struct CopyRegion {
   uint32_t source, destination, size;
};
struct CopyBuffer {
   uint32_t source, destination;
   std::vector<CopyRegion> regions;
   bool second;
};
struct FillBuffer {
   uint32_t buffer, offset, size, value;
};
struct UpdateBuffer {
   uint32_t buffer, offset;
   std::vector<uint32_t> words;
};
struct ResetQueries {
   uint32_t pool, first, count;
};
struct WriteTimestamp {
   uint32_t pool, query;
   bool second;
};
/// flags: 1: 64 bits, 2: wait, 4: with availability
struct CopyQueries {
   uint32_t pool, first, count, buffer, offset, stride, flags;
};
constexpr uint32_t query_64 = 1, query_wait = 2, query_availability = 4;
/// The setters of an event; a wait has to name the stages of all of them. They are the host, for
/// commands that wait; the older commands; or the commands of synchronization2, and then never the
/// host.
enum class EventKind { host, device, device_only };
constexpr EventKind event_kinds[event_count] = {EventKind::host, EventKind::device_only,
                                                EventKind::host, EventKind::device_only,
                                                EventKind::device};
struct ChangeEvent {
   uint32_t event;
   bool set;
};
struct WaitEvents {
   std::vector<uint32_t> events;
};
struct Execute {
   std::vector<uint32_t> buffers;
};
using Command = std::variant<BindPipeline, BindSets, PushConstants, PushDescriptors, Dispatch,
                             DispatchIndirect, CopyBuffer, FillBuffer, UpdateBuffer, ResetQueries,
                             WriteTimestamp, CopyQueries, ChangeEvent, WaitEvents, Execute>;

// Steps of the host.

struct WriteMemory {
   uint32_t memory, offset;
   std::vector<uint8_t> bytes;
   bool flush, second;
};
/// Compares all memory.
struct CheckMemory {};
struct SetWrite {
   uint32_t set;
   Write write;
};
struct SetCopy {
   uint32_t source, source_binding, source_element;
   uint32_t destination, binding, element, count;
};
struct UpdateSets {
   std::vector<SetWrite> writes;
   std::vector<SetCopy> copies;
   bool by_template; ///< then all writes are to one set, without copies
};
/// Gives a set back and allocates it again.
struct ReallocateSet {
   uint32_t set;
};
struct Record {
   uint32_t buffer;
   bool once, simultaneous;
   std::vector<Command> commands;
};
struct ResetBuffer {
   uint32_t buffer;
   bool release;
};
struct ResetPool {
   uint32_t pool;
   bool release;
};
struct SemaphoreValue {
   uint32_t semaphore; ///< timeline_count and above: binary
   uint64_t value;
};
struct Batch {
   std::vector<SemaphoreValue> waits;
   std::vector<uint32_t> buffers;
   std::vector<SemaphoreValue> signals;
};
struct Submit {
   std::vector<Batch> batches;
   uint32_t fence;
   bool second;
};
struct WaitIdle {
   bool device;
};
struct SignalTimeline {
   SemaphoreValue signal;
};
enum class Patience { none, little, much };
struct WaitTimelines {
   std::vector<SemaphoreValue> values;
   bool any;
   Patience patience;
};
struct ReadTimeline {
   uint32_t semaphore;
};
struct WaitFences {
   std::vector<uint32_t> fences;
   bool any;
   Patience patience;
};
struct ReadFence {
   uint32_t fence;
};
struct ResetFences {
   std::vector<uint32_t> fences;
};
struct HostEvent {
   uint32_t event;
   bool set;
};
struct ReadEvent {
   uint32_t event;
};
struct HostResetQueries {
   uint32_t pool, first, count;
};
struct ReadQueries {
   uint32_t pool, first, count, stride, flags;
};
using Step =
   std::variant<WriteMemory, CheckMemory, UpdateSets, ReallocateSet, Record, ResetBuffer, ResetPool,
                Submit, WaitIdle, SignalTimeline, WaitTimelines, ReadTimeline, WaitFences,
                ReadFence, ResetFences, HostEvent, ReadEvent, HostResetQueries, ReadQueries>;

struct Case {
   uint64_t seed = 0;
   Features features = {};
   std::vector<Buffer> buffers;
   std::vector<Set> sets;
   std::vector<Layout> layouts;
   std::vector<CommandBuffer> command_buffers;
   std::array<bool, fence_count> signaled_fences = {};
   std::array<uint64_t, timeline_count> timelines = {};
   std::vector<Step> steps;
};

/// The first contents of memory.
uint8_t poison(uint64_t seed, uint32_t memory, uint32_t offset);

/// The numbers of steps and of commands in them.
struct Size {
   size_t steps, commands;
};
Size size(const Case &);

/// A visitor for std::visit with a function for each type.
template <typename... F>
struct Visitor : F... {
   using F::operator()...;
};
template <typename... F>
Visitor(F...) -> Visitor<F...>;

} // namespace weft::commands
