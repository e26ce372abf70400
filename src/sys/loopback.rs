//! Brings `lo` up in a new network namespace, so that tests on 127.0.0.1 work without network.

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketType, socket};

/// Sets the interface `lo` up.
pub fn up() -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: all-zero is a valid ifreq.
    let mut request: nix::libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as nix::libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (nix::libc::IFF_UP | nix::libc::IFF_RUNNING) as i16;
    // SAFETY: SIOCSIFFLAGS reads one ifreq, which outlives the call.
    let done = unsafe { nix::libc::ioctl(socket.as_raw_fd(), nix::libc::SIOCSIFFLAGS as _, &raw const request) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
