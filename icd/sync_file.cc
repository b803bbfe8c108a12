// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/sync_file.h"

#include <cerrno>
#include <linux/sync_file.h>
#include <poll.h>
#include <sys/ioctl.h>

namespace weft {

bool is_sync_file(int fd)
{
   // Without an array, the kernel only counts the fences.
   sync_file_info info = {};
   return ioctl(fd, SYNC_IOC_FILE_INFO, &info) == 0;
}

bool wait_until_readable(int fd)
{
   pollfd file = {.fd = fd, .events = POLLIN, .revents = 0};
   int ready;
   do
      ready = poll(&file, 1, -1);
   while (ready < 0 && (errno == EINTR || errno == EAGAIN));
   return ready == 1 && file.revents & POLLIN;
}

} // namespace weft
