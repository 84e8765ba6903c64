/* Ends or fails the nth call by which a process opens or writes files below a folder, or sets its clock. Loaded before the
 * C library. SHIM_HOW: before, after (killed), space, io, rofs, files (fails), short (writes half of it),
 * half-space (writes half of it, and fails), half-kill (writes half of it, and is killed). */
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
#include <time.h>
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

static int is(const char *word) {
    const char *how = getenv("SHIM_HOW");
    return how && strcmp(how, word) == 0;
}

/* 0: go on. -1: fail with errno. 1: end after the call. 2: half of it. 3: half of it, and fail. 4: half of it, and end. */
static int act(void) {
    const char *at = getenv("SHIM_AT");
    if (!at || !getenv("SHIM_HOW")) return 0;
    if (atomic_fetch_add(&calls, 1) + 1 != atoi(at)) return 0;
    if (is("before")) kill(getpid(), SIGKILL);
    if (is("after")) return 1;
    if (is("short")) return 2;
    if (is("half-space")) return 3;
    if (is("half-kill")) return 4;
    errno = is("space") ? ENOSPC : is("rofs") ? EROFS : is("files") ? EMFILE : EIO;
    return -1;
}

#define DO(TYPE, NAME, TEST, PARAMETERS, ARGUMENTS)                                   \
    TYPE NAME PARAMETERS {                                                            \
        static TYPE(*real) PARAMETERS;                                                \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #NAME);                         \
        int how = TEST ? act() : 0;                                                   \
        if (how < 0) return -1;                                                       \
        TYPE done = real ARGUMENTS;                                                   \
        if (how == 1 || how == 4) kill(getpid(), SIGKILL);                            \
        return done;                                                                  \
    }

#define WRITE(NAME, PARAMETERS, ARGUMENTS)                                            \
    ssize_t NAME PARAMETERS {                                                         \
        static ssize_t(*real) PARAMETERS;                                             \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #NAME);                         \
        int how = below_fd(fd) ? act() : 0;                                           \
        if (how < 0) return -1;                                                       \
        if (how > 1 && size > 1) size /= 2;                                           \
        ssize_t done = real ARGUMENTS;                                                \
        if (how == 1 || how == 4) kill(getpid(), SIGKILL);                            \
        if (how == 3) { errno = ENOSPC; return -1; }                                  \
        return done;                                                                  \
    }

WRITE(write, (int fd, const void *data, size_t size), (fd, data, size))
WRITE(pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WRITE(pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
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
        if (how == 1 || how == 4) kill(getpid(), SIGKILL);                            \
        return done;                                                                  \
    }

OPEN(open)
OPEN(open64)

/* The clock of the day, off by so many seconds. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(clock, now);
    const char *off = getenv("SHIM_CLOCK");
    if (done == 0 && off && clock == CLOCK_REALTIME) now->tv_sec += atoll(off);
    return done;
}
