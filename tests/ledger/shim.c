/* Ends or fails the nth call by which a process writes to files below a folder. Loaded before the C library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int calls;

static int below(const char *path) {
    const char *folder = getenv("SHIM_FOLDER");
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int below_fd(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

/* 0: go on. -1: fail with errno. 1: end after the call. */
static int act(void) {
    const char *at = getenv("SHIM_AT"), *how = getenv("SHIM_HOW");
    if (!at || !how) return 0;
    if (atomic_fetch_add(&calls, 1) + 1 != atoi(at)) return 0;
    if (strcmp(how, "before") == 0) kill(getpid(), SIGKILL);
    if (strcmp(how, "after") == 0) return 1;
    errno = strcmp(how, "space") == 0 ? ENOSPC : EIO;
    return -1;
}

#define DO(TYPE, NAME, TEST, PARAMETERS, ARGUMENTS)                                   \
    TYPE NAME PARAMETERS {                                                            \
        static TYPE(*real) PARAMETERS;                                                \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #NAME);                         \
        int how = TEST ? act() : 0;                                                   \
        if (how < 0) return -1;                                                       \
        TYPE done = real ARGUMENTS;                                                   \
        if (how > 0) kill(getpid(), SIGKILL);                                         \
        return done;                                                                  \
    }

DO(ssize_t, write, below_fd(fd), (int fd, const void *data, size_t size), (fd, data, size))
DO(ssize_t, pwrite, below_fd(fd), (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
DO(ssize_t, pwrite64, below_fd(fd), (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
DO(int, fsync, below_fd(fd), (int fd), (fd))
DO(int, fdatasync, below_fd(fd), (int fd), (fd))
DO(int, ftruncate, below_fd(fd), (int fd, off_t size), (fd, size))
DO(int, ftruncate64, below_fd(fd), (int fd, off64_t size), (fd, size))
DO(int, rename, below(to), (const char *from, const char *to), (from, to))
DO(int, unlink, below(path), (const char *path), (path))
DO(int, mkdir, below(path), (const char *path, mode_t mode), (path, mode))
DO(int, fchmod, below_fd(fd), (int fd, mode_t mode), (fd, mode))

#define OPEN(NAME)                                                                    \
    int NAME(const char *path, int flags, ...) {                                      \
        static int (*real)(const char *, int, ...);                                   \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #NAME);                         \
        va_list list;                                                                 \
        va_start(list, flags);                                                        \
        int mode = va_arg(list, int);                                                 \
        va_end(list);                                                                 \
        int how = below(path) ? act() : 0;                                            \
        if (how < 0) return -1;                                                       \
        int done = real(path, flags, mode);                                           \
        if (how > 0) kill(getpid(), SIGKILL);                                         \
        return done;                                                                  \
    }

OPEN(open)
OPEN(open64)
