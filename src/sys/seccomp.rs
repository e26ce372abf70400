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

/// Filters ready to be installed; compiled before the fork.
#[derive(Debug)]
pub struct Filters(Vec<BpfProgram>);

/// Compiles the filters for this machine.
pub fn compile() -> Result<Filters> {
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
    let mut filters = vec![build(refused, libc::EPERM)?, build(unknown, libc::ENOSYS)?];
    if cfg!(target_arch = "x86_64") {
        filters.push(no_x32());
    }
    Ok(Filters(filters))
}

/// The x32 ABI has its own numbers for the same calls: refused as a whole.
fn no_x32() -> BpfProgram {
    let op = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        op(0x20, 0, 0, 0),                                 // load the number of the call
        op(0x35, 0, 1, 0x4000_0000),                       // at least the x32 bit?
        op(0x06, 0, 0, 0x0005_0000 | libc::ENOSYS as u32), // answer ENOSYS
        op(0x06, 0, 0, 0x7fff_0000),                       // allow
    ]
}

impl Filters {
    /// Installs them in this process and all that it will start. Needs `no_new_privs`.
    pub fn install(&self) -> Result<()> {
        for filter in &self.0 {
            seccompiler::apply_filter(filter)
                .map_err(|e| Error::new(format!("cannot install the system call filter: {e}")))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_filters_compile_on_this_machine() {
        assert!(super::compile().is_ok());
    }
}
