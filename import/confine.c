#include "confine.h"

#include "base/sanitized.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif

#if FA_SANITIZED
// The sanitizers cannot live under a limit of address space; they have one of their own for memory in use. What assimp
// leaks is the process's, and what it does wrong ends it by a signal, as without them.
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void) {
    return "hard_rss_limit_mb=2048:allocator_may_return_null=1:detect_leaks=0:handle_segv=0:handle_abort=0:"
           "abort_on_error=1";
}
#endif

// --- limits -------------------------------------------------------------------------------------------------------

static void limit(int what, rlim_t value) {
    struct rlimit r;
    if (getrlimit((__rlimit_resource_t)what, &r) != 0) return;
    r.rlim_cur = r.rlim_cur < value ? r.rlim_cur : value;
    r.rlim_max = r.rlim_max < value ? r.rlim_max : value;
    setrlimit((__rlimit_resource_t)what, &r);
}

static void limit_all(uint64_t memory, uint64_t seconds) {
#if !FA_SANITIZED
    limit(RLIMIT_AS, memory);
#else
    (void)memory;
#endif
    struct rlimit time = {.rlim_cur = seconds, .rlim_max = seconds + 1}; // SIGXCPU first, then SIGKILL
    setrlimit(RLIMIT_CPU, &time);
    limit(RLIMIT_STACK, 8 << 20);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, 32);
    limit(RLIMIT_NPROC, 0);
}

// --- files --------------------------------------------------------------------------------------------------------

#if defined LANDLOCK_ACCESS_FS_READ_FILE && defined SYS_landlock_create_ruleset

// All rights of the first version of Landlock: what is handled is refused where no rule allows it.
static const uint64_t ALL = LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1;

static void allow(int rules, const char *path) {
    struct landlock_path_beneath_attr beneath = {.parent_fd = open(path, O_PATH | O_CLOEXEC)};
    if (beneath.parent_fd < 0) return;
    struct stat st;
    beneath.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
    if (fstat(beneath.parent_fd, &st) == 0 && S_ISDIR(st.st_mode))
        beneath.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
    close(beneath.parent_fd);
}

// What links in the folder point to: they are the user's own.
static void allow_links(int rules, const char *folder) {
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char path[PATH_MAX];
        if (entry->d_type == DT_LNK && snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < PATH_MAX)
            allow(rules, path);
    }
    if (dir) closedir(dir);
}

static void confine_files(const char *path) {
    struct landlock_ruleset_attr handled = {.handled_access_fs = ALL};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (rules < 0) return;
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    const char *folder = dirname(copy);
    allow(rules, path); // may be a link to elsewhere
    allow(rules, folder);
    allow_links(rules, folder);
    syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
}

#else
static void confine_files(const char *path) { (void)path; }
#endif

// --- system calls -------------------------------------------------------------------------------------------------

#if defined __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef ARCH

// New processes, other programs, the network, and doors into the kernel that no reader of files needs. tgkill stays:
// abort() uses it.
static const unsigned refused[] = {
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
    SYS_clone,
    SYS_clone3,
    SYS_execve,
    SYS_execveat,
    SYS_socket,
    SYS_socketpair,
    SYS_kill,
    SYS_ptrace,
    SYS_mount,
    SYS_unshare,
    SYS_setns,
    SYS_bpf,
    SYS_io_uring_setup,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_keyctl,
    SYS_perf_event_open,
    SYS_userfaultfd,
};

// Each refused call fails with EPERM; calls of another architecture (32 bits) end the process.
static void refuse_calls(void) {
    enum { N = sizeof refused / sizeof *refused };
    struct sock_filter code[N + 6];
    unsigned n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < N; i++)
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], (unsigned char)(N - i), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#else
static void refuse_calls(void) {}
#endif

void confine_self(const char *path, uint64_t memory, uint64_t seconds) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    confine_files(path);
    refuse_calls();
    limit_all(memory, seconds);
}
