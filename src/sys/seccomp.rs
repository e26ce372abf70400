//! The system calls that a command of the native engine does not get.
//!
//! The same idea as the engines' default profiles: what reaches the kernel's dark corners, new
//! namespaces (they would give capabilities back), and writing into the user's terminal.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

use crate::error::{Error, Result};

/// Refused with EPERM, whatever the arguments.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// Answered with ENOSYS, so that libraries use the older call, which the filter can look into.
const UNKNOWN: &[libc::c_long] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

const NEW_NAMESPACE: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u32 as u64;

/// A filter ready to be installed; compiled before the fork.
#[derive(Debug)]
pub struct Filter(BpfProgram);

/// The end of a program: the call is allowed.
const ALLOW: sock_filter = sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x7fff_0000 };

/// Compiles the filter for this machine.
pub fn compile() -> Result<Filter> {
    let broken = |e: seccompiler::BackendError| Error::new(format!("cannot compile the system call filter: {e}"));
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(broken)?;
    let build = |rules, errno: i32| -> Result<BpfProgram> {
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno as u32), arch);
        filter.and_then(TryInto::try_into).map_err(broken)
    };
    let rule = |index, op, value| -> Result<SeccompRule> {
        let condition = SeccompCondition::new(index, SeccompCmpArgLen::Dword, op, value);
        condition.and_then(|c| SeccompRule::new(vec![c])).map_err(broken)
    };

    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|nr| (*nr, Vec::new())).collect();
    // The kernel looks at the low 32 bits only, and so must the filter.
    let terminal = [libc::TIOCSTI, libc::TIOCLINUX].map(|code| rule(1, SeccompCmpOp::Eq, code as u32 as u64));
    refused.insert(libc::SYS_ioctl, terminal.into_iter().collect::<Result<_>>()?);
    for nr in [libc::SYS_clone, libc::SYS_unshare] {
        let bits = (0..32).map(|bit| 1u64 << bit).filter(|bit| NEW_NAMESPACE & bit != 0);
        let rules: Result<Vec<_>> = bits.map(|bit| rule(0, SeccompCmpOp::MaskedEq(bit), bit)).collect();
        refused.insert(nr, rules?);
    }
    let unknown = UNKNOWN.iter().map(|nr| (*nr, Vec::new())).collect();
    let mut programs = vec![build(refused, libc::EPERM)?, build(unknown, libc::ENOSYS)?];
    if cfg!(target_arch = "x86_64") {
        programs.push(no_x32());
    }
    Ok(Filter(one_after_the_other(programs)))
}

/// One program that asks all of them: every program costs each start and each call some time. What one of them allows,
/// the next one is asked for.
fn one_after_the_other(programs: Vec<BpfProgram>) -> BpfProgram {
    const GO_TO: u16 = 0x05;
    let mut all = BpfProgram::new();
    for program in programs {
        let end = all.len();
        for (at, op) in all.iter_mut().enumerate().filter(|(_, op)| **op == ALLOW) {
            // Over the rest of this program, to the first step of the next.
            *op = sock_filter { code: GO_TO, jt: 0, jf: 0, k: (end - at - 1) as u32 };
        }
        all.extend(program);
    }
    all
}

/// The x32 ABI has its own numbers for the same calls: refused as a whole.
fn no_x32() -> BpfProgram {
    let op = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        op(0x20, 0, 0, 0),                                 // load the number of the call
        op(0x35, 0, 1, 0x4000_0000),                       // at least the x32 bit?
        op(0x06, 0, 0, 0x0005_0000 | libc::ENOSYS as u32), // answer ENOSYS
        ALLOW,
    ]
}

impl Filter {
    /// Installs it in this process and all that it will start. Needs `no_new_privs`.
    pub fn install(&self) -> Result<()> {
        seccompiler::apply_filter(&self.0)
            .map_err(|e| Error::new(format!("cannot install the system call filter: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARCH: u32 = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };

    /// What the kernel would do: a machine with one register, for the steps that our programs are made of.
    fn answer(program: &[sock_filter], number: i64, arguments: [u64; 2]) -> u32 {
        let mut data = [(number as u32).to_ne_bytes(), ARCH.to_ne_bytes(), [0; 4], [0; 4]].concat();
        data.extend(arguments.iter().flat_map(|argument| argument.to_ne_bytes()));
        let (mut at, mut register) = (0, 0u32);
        loop {
            let op = &program[at];
            at += 1;
            let jump = |yes: bool| usize::from(if yes { op.jt } else { op.jf });
            match op.code {
                0x20 => register = u32::from_ne_bytes(data[op.k as usize..][..4].try_into().unwrap()),
                0x54 => register &= op.k,
                0x05 => at += op.k as usize,
                0x15 => at += jump(register == op.k),
                0x25 => at += jump(register > op.k),
                0x35 => at += jump(register >= op.k),
                0x45 => at += jump(register & op.k != 0),
                0x06 => return op.k,
                code => panic!("{code:#x} is no step of ours"),
            }
        }
    }

    #[test]
    fn every_part_of_the_filter_is_asked() {
        let Filter(program) = compile().unwrap();
        let errno = |code: i32| 0x0005_0000 | code as u32;
        let said = |number: i64, first: u64, second: u64| answer(&program, number, [first, second]);
        let (eperm, enosys) = (errno(libc::EPERM), errno(libc::ENOSYS));
        assert_eq!(said(libc::SYS_getpid, 0, 0), ALLOW.k);
        assert_eq!(said(libc::SYS_mount, 0, 0), eperm);
        assert_eq!(said(libc::SYS_ioctl, 0, libc::TIOCSTI), eperm);
        assert_eq!(said(libc::SYS_ioctl, 0, libc::TCGETS), ALLOW.k);
        assert_eq!(said(libc::SYS_clone, libc::CLONE_NEWUSER as u64, 0), eperm);
        assert_eq!(said(libc::SYS_clone, libc::SIGCHLD as u64, 0), ALLOW.k);
        assert_eq!(said(libc::SYS_clone3, 0, 0), enosys);
        assert_eq!(said(libc::SYS_io_uring_enter, 0, 0), enosys);
        if cfg!(target_arch = "x86_64") {
            assert_eq!(said(0x4000_0000 + libc::SYS_getpid, 0, 0), enosys);
        }
    }
}
