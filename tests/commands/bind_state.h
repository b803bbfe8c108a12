// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The state that a command buffer has bound while it is recorded, by Vulkan's rules of pipeline
/// layouts. An incompatible layout disturbs sets, and push descriptors stay until another set
/// replaces them.

#pragma once

#include "tests/commands/program.h"

#include <map>
#include <utility>

namespace weft::commands {

/// An element of a binding, or a byte of an inline block.
using Element = std::pair<uint32_t, uint32_t>;

/// The elements that a write touches, one for each descriptor; nothing if it leaves the set, or
/// goes on to a binding of another kind.
std::optional<std::vector<Element>> written_elements(const SetKind &, uint32_t variable_count,
                                                     const Write &);
std::optional<std::vector<Element>> consecutive_elements(const SetKind &, uint32_t variable_count,
                                                         uint32_t binding, uint32_t element,
                                                         uint32_t count);

struct BoundSet {
   enum class What { nothing, set, pushed } what = What::nothing;
   uint32_t layout = 0; ///< it was bound with
   uint32_t set = 0;
   std::vector<uint32_t> dynamic_offsets;
   std::map<Element, Descriptor> pushed;
};

struct BindState {
   std::optional<uint32_t> pipeline;
   std::array<BoundSet, max_sets> sets;
   /// The push constants: bytes, defined bytes, and their layouts.
   std::array<uint8_t, max_push_bytes> push = {};
   std::array<bool, max_push_bytes> push_defined = {};
   uint32_t push_kind = none;
   std::optional<std::array<uint32_t, 2>> reference; ///< the contents of words 4 and 5

   void bind_sets(const Case &, const BindSets &);
   void push_constants(const Case &, const PushConstants &);
   /// False if a write does not fit.
   bool push_descriptors(const Case &, const PushDescriptors &);

   /// Whether a set that is compatible with the pipeline's layout is bound.
   bool has_set(const Case &, const PipelineKind &, uint32_t set) const;
   bool has_push_constants(const PipelineKind &) const;

private:
   void disturb(const Case &, uint32_t layout, uint32_t set);
};

} // namespace weft::commands
