// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Sync files of the Linux kernel (linux/sync_file.h). They signal when another driver's work ends.

#pragma once

namespace weft {

bool is_sync_file(int fd);

/// Waits until a file can be read; a sync file can when it has signaled. False if the file
/// descriptor is not open or has no such state.
bool wait_until_readable(int fd);

} // namespace weft
