//! What a native command may not ask of the kernel.

use nix::libc;

use crate::common::{Engine, Sandbox, on};
use crate::host::python;
use crate::inside::{background, python_inside};

on!(native:
    calls_that_leave_the_sandbox_are_refused,
    nothing_can_be_typed_into_the_terminal,
    the_first_process_cannot_be_traced,
);

/// Every call that could lead out of a native sandbox, and what it must answer.
fn calls_that_leave_the_sandbox_are_refused(engine: Engine) {
    let flags: i64 = [libc::CLONE_NEWNS, libc::CLONE_NEWPID].iter().map(|f| i64::from(*f)).sum();
    let mut calls: Vec<(String, i64, Vec<i64>, &str)> = Vec::new();
    let mut add = |name: &str, number: libc::c_long, arguments: &[i64], answer: &'static str| {
        calls.push((name.to_owned(), number, arguments.to_vec(), answer));
    };
    for (name, flag) in [
        ("user", libc::CLONE_NEWUSER),
        ("mount", libc::CLONE_NEWNS),
        ("pid", libc::CLONE_NEWPID),
        ("net", libc::CLONE_NEWNET),
        ("ipc", libc::CLONE_NEWIPC),
        ("uts", libc::CLONE_NEWUTS),
        ("cgroup", libc::CLONE_NEWCGROUP),
    ] {
        add(&format!("unshare {name}"), libc::SYS_unshare, &[i64::from(flag)], "EPERM");
        add(&format!("clone {name}"), libc::SYS_clone, &[i64::from(flag | libc::SIGCHLD), 0, 0, 0, 0], "EPERM");
    }
    add("unshare several", libc::SYS_unshare, &[i64::from(libc::CLONE_NEWUSER) | flags], "EPERM");
    // The kernel looks at half of the register; so must the filter.
    add("unshare high bits", libc::SYS_unshare, &[i64::from(libc::CLONE_NEWUSER) | 1 << 40], "EPERM");
    add("clone3", libc::SYS_clone3, &[0, 0], "ENOSYS");
    add("setns", libc::SYS_setns, &[0, 0], "EPERM");
    for (name, number) in [
        ("mount", libc::SYS_mount),
        ("umount2", libc::SYS_umount2),
        ("pivot_root", libc::SYS_pivot_root),
        ("chroot", libc::SYS_chroot),
        ("open_tree", libc::SYS_open_tree),
        ("move_mount", libc::SYS_move_mount),
        ("fsopen", libc::SYS_fsopen),
        ("fsconfig", libc::SYS_fsconfig),
        ("fsmount", libc::SYS_fsmount),
        ("fspick", libc::SYS_fspick),
        ("mount_setattr", libc::SYS_mount_setattr),
        ("keyctl", libc::SYS_keyctl),
        ("add_key", libc::SYS_add_key),
        ("request_key", libc::SYS_request_key),
        ("bpf", libc::SYS_bpf),
        ("perf_event_open", libc::SYS_perf_event_open),
        ("userfaultfd", libc::SYS_userfaultfd),
        ("init_module", libc::SYS_init_module),
        ("finit_module", libc::SYS_finit_module),
        ("kexec_load", libc::SYS_kexec_load),
        ("open_by_handle_at", libc::SYS_open_by_handle_at),
        ("swapon", libc::SYS_swapon),
        ("settimeofday", libc::SYS_settimeofday),
        ("syslog", libc::SYS_syslog),
        ("reboot", libc::SYS_reboot),
        ("quotactl", libc::SYS_quotactl),
    ] {
        add(name, number, &[0, 0, 0, 0, 0], "EPERM");
    }
    // With arguments that no kernel takes, should they get through.
    add("sethostname", libc::SYS_sethostname, &[0, -1], "EPERM");
    add("acct", libc::SYS_acct, &[1], "EPERM");
    add("io_uring_setup", libc::SYS_io_uring_setup, &[1, 0], "ENOSYS");
    #[cfg(target_arch = "x86_64")]
    add("x32 getpid", libc::SYS_getpid | 0x4000_0000, &[], "ENOSYS");

    let mut program = String::from(
        "import ctypes, errno, os, signal, mmap
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, arguments, answer):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments])
    if result == 0 and name.startswith('clone'): os._exit(0)
    got = 'it worked' if result != -1 else errno.errorcode[ctypes.get_errno()]
    if got != answer: print(name, got, flush=True)
",
    );
    for (name, number, arguments, answer) in &calls {
        program.push_str(&format!("call({name:?}, {number}, {arguments:?}, {answer:?})\n"));
    }
    if cfg!(target_arch = "x86_64") {
        // The calls of 32-bit programs have numbers of their own: getpid by `int 0x80`.
        program.push_str(
            "code = mmap.mmap(-1, 4096, prot=7); code.write(bytes.fromhex('b814000000cd80c3'))
pid = os.fork()
if pid == 0:
    r = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    os._exit(0 if r > 0 else 1)
status = os.waitpid(pid, 0)[1]
if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0: print('the calls of 32-bit programs are open')
",
        );
    }
    program.push_str("print('done')");
    let sandbox = Sandbox::new(engine);
    for options in [&["--name", "plain"][..], &["--user", "root", "--name", "root"]] {
        python_inside(&sandbox, options, &program).prints("done\n").done();
    }
    background(&sandbox, &[]);
    sandbox.cowbox(&["exec", "it", "--", python(), "-c", &program]).output().prints("done\n").done();
    sandbox.cowbox(&["stop", "it"]).output().done();
}

fn nothing_can_be_typed_into_the_terminal(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let program = format!(
        "import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
text = ctypes.create_string_buffer(b'x')
for name, code in (('TIOCSTI', {sti}), ('TIOCLINUX', {linux})):
    for high in (0, 1 << 32, 0xffffffff << 32):
        for fd in (0, 1, 2, os.open('/dev/tty', os.O_RDWR)):
            ctypes.set_errno(0)
            r = libc.syscall(ctypes.c_long({ioctl}), ctypes.c_long(fd), ctypes.c_ulong(code | high), text)
            if r != -1 or ctypes.get_errno() != errno.EPERM: print('OPEN', name, r, errno.errorcode.get(ctypes.get_errno()))
print('a terminal' if os.isatty(0) else 'no terminal')
print('all ' + 'tried')",
        sti = 0x5412,
        linux = 0x541c,
        ioctl = libc::SYS_ioctl,
    );
    let mut terminal = sandbox.run(&[], &[python(), "-c", &program]).terminal(24, 80);
    terminal.expect("all tried");
    assert_eq!(terminal.wait(), 0);
    assert!(terminal.screen().contains("a terminal") && !terminal.screen().contains("OPEN"), "{}", terminal.screen());
}

fn the_first_process_cannot_be_traced(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let program = format!(
        "import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, function):
    try:
        got = function()
        if got != -1: print(name, 'worked')
    except OSError as e:
        if e.errno not in (errno.EPERM, errno.EACCES): print(name, errno.errorcode[e.errno])
attempt('attach', lambda: libc.ptrace(16, 1, 0, 0))
attempt('seize', lambda: libc.ptrace(0x4206, 1, 0, 0))
for f in ('mem', 'environ', 'maps', 'auxv'):
    attempt(f, lambda: len(open('/proc/1/' + f, 'rb').read(1)) and 1)
for f in ('root', 'cwd', 'exe', 'fd/0', 'ns/mnt'):
    attempt(f, lambda: len(os.readlink('/proc/1/' + f)) and 1)
attempt('getfd', lambda: libc.syscall({getfd}, libc.syscall({open}, 1, 0), 0, 0))
print('done')",
        getfd = libc::SYS_pidfd_getfd,
        open = libc::SYS_pidfd_open,
    );
    for options in [&[][..], &["--user", "root"]] {
        python_inside(&sandbox, options, &program).prints("done\n").done();
    }
}
