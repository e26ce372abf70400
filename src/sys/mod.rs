//! The only unsafe code: system calls that no crate wraps safely.
#![allow(unsafe_code)]

pub mod capabilities;
pub mod landlock;
pub mod loopback;
pub mod mount;
pub mod process;
pub mod seccomp;
pub mod signal;
