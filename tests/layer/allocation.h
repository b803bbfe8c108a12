// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Makes operator new fail.

#pragma once

#include <cstdint>

namespace weft::layer_test {

/// False under ThreadSanitizer: its run time defines operator new itself, and not weakly.
extern const bool can_fail_allocations;
/// Makes the n-th allocation of this thread from now on (0: the next) throw std::bad_alloc;
/// negative: none.
void fail_allocation(int64_t nth);
/// Whether an allocation has thrown since fail_allocation().
bool allocation_failed();

/// Lets allocations of the driver's functions, which are not under test, succeed.
class WithoutInjection {
public:
   WithoutInjection();
   ~WithoutInjection();
   WithoutInjection(const WithoutInjection &) = delete;
   WithoutInjection &operator=(const WithoutInjection &) = delete;
};

} // namespace weft::layer_test
