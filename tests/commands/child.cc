// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/commands/child.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::commands {
namespace {

bool write_all(int pipe, const void *data, size_t size)
{
   const char *bytes = static_cast<const char *>(data);
   while (size > 0) {
      const ssize_t written = write(pipe, bytes, size);
      if (written <= 0)
         return false;
      bytes += written;
      size -= size_t(written);
   }
   return true;
}

bool read_all(int pipe, void *data, size_t size)
{
   char *bytes = static_cast<char *>(data);
   while (size > 0) {
      const ssize_t got = read(pipe, bytes, size);
      if (got <= 0)
         return false;
      bytes += got;
      size -= size_t(got);
   }
   return true;
}

struct Header {
   uint64_t number, length;
};

} // namespace

void Channel::send(uint64_t number, const std::string &text)
{
   const Header header = {number, text.size()};
   if (!write_all(pipe, &header, sizeof(header)) || !write_all(pipe, text.data(), text.size()))
      _exit(2);
}

std::string run_in_child(const std::function<void(Channel &)> &work,
                         const std::function<void(uint64_t, const std::string &)> &heard,
                         int silence_seconds)
{
   int ends[2];
   if (pipe(ends) != 0) {
      perror("pipe");
      exit(2);
   }
   fflush(nullptr);
   const pid_t pid = fork();
   if (pid < 0) {
      perror("fork");
      exit(2);
   }
   if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(ends[0]);
      Channel channel(ends[1]);
      work(channel);
      fflush(nullptr);
      _exit(0);
   }
   close(ends[1]);
   bool hangs = false;
   while (true) {
      pollfd wait = {ends[0], POLLIN, 0};
      if (poll(&wait, 1, silence_seconds * 1000) == 0) {
         hangs = true;
         kill(pid, SIGKILL);
         break;
      }
      Header header;
      if (!read_all(ends[0], &header, sizeof(header)))
         break;
      std::string text(header.length, 0);
      if (!read_all(ends[0], text.data(), text.size()))
         break;
      heard(header.number, text);
   }
   close(ends[0]);
   int status = 0;
   waitpid(pid, &status, 0);
   if (hangs)
      return "no end within the time";
   if (WIFSIGNALED(status))
      return strsignal(WTERMSIG(status));
   return WEXITSTATUS(status) ? "exit status " + std::to_string(WEXITSTATUS(status)) : "";
}

} // namespace weft::commands
