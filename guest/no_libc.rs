//! What the compiler expects to find in a libc.

use core::ptr;

use crate::sys::exit;

#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, n: usize) -> *mut u8 {
    for i in 0..n {
        // SAFETY: the caller owns n bytes; volatile keeps this loop from becoming a call of itself.
        unsafe { ptr::write_volatile(to.add(i), value as u8) };
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    for i in 0..n {
        // SAFETY: the caller owns n bytes on both sides; volatile as in memset.
        unsafe { ptr::write_volatile(to.add(i), *from.add(i)) };
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    for i in 0..n {
        // SAFETY: the caller owns n bytes on both sides.
        let (x, y) = unsafe { (ptr::read_volatile(a.add(i)), ptr::read_volatile(b.add(i))) };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(s: *const u8) -> usize {
    let mut n = 0;
    // SAFETY: the caller's string ends with NUL; volatile as in memset.
    while unsafe { ptr::read_volatile(s.add(n)) } != 0 {
        n += 1;
    }
    n
}

/// Referenced by the precompiled `core`; never called, for panics end the process.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(125)
}
