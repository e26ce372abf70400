//! Giving up capabilities for good.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

/// Leaves exactly `kept` in the permitted and effective sets. For who never becomes another program: that could still get
/// what is in the bounding set.
pub fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    clear_ambient_capability_set()?;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    Ok(set_capabilities(None, sets)?)
}

/// No capability at all, and no way to get one by exec.
pub fn drop_all() -> io::Result<()> {
    for number in 0..64 {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            Ok(()) => {}
            // The first number that this kernel does not know.
            Err(rustix::io::Errno::INVAL) => break,
            Err(e) => return Err(e.into()),
        }
    }
    keep_only(CapabilitySet::empty())?;
    set_no_new_privs(true)?;
    Ok(())
}
