// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What a case does, by a model of Vulkan that knows no driver.
///
/// The queue works through its batches in order, and the model runs each as soon as it may begin.
/// The host knows less: that a batch is over it learns by waiting.  Between the two an answer may
/// be either.  The model refuses what Vulkan forbids or leaves open: a refused command or step is
/// to be removed.

#pragma once

#include "tests/commands/program.h"

namespace weft::commands {

enum class Outcome { yes, no, either };

/// What a step returns: of a wait or a status whether it is reached, set or signaled; a counter's
/// bounds; bytes, and of those that a timestamp wrote 8 × (its number + 1) + the byte's place in
/// it.
struct Observation {
   Outcome outcome = Outcome::yes;
   uint64_t low = 0, high = 0;
   std::vector<uint8_t> bytes;
   std::vector<uint32_t> tokens;
};

struct Refusal {
   size_t step, command; ///< of a submission: its command buffer; none: the whole step
   std::string why;
};

struct Interpretation {
   std::vector<Observation> steps;
   std::vector<Refusal> refusals; ///< if there are any the rest means nothing
   uint32_t dispatches = 0;       ///< that ran
   /// What the host has to do before the queue's last wait, or at the end, so that it ends.
   std::vector<Step> missing;
   size_t blocked_at = 0; ///< the step before which it has to
   bool idle_at_end = true;
};

Interpretation interpret(const Case &);

/// Removes what is refused until nothing is, and lets the queue come to its end.
Interpretation make_valid(Case &);

} // namespace weft::commands
