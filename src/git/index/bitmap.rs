//! Git's compressed bitmaps (EWAH), as positions.

use super::parse::{Input, cut_short};
use crate::error::{Error, Result};

/// No index has so many entries.
const MOST: u32 = 64 << 20;

/// The positions of the bits that are set, in order.
pub(super) fn read(input: &mut Input<'_>) -> Result<Vec<u32>> {
    let bits = input.u32()?;
    if bits > MOST {
        return Err(Error::new("a bitmap is too large"));
    }
    let count = input.u32()? as usize;
    let words = input.take(count.checked_mul(8).ok_or_else(cut_short)?)?;
    input.u32()?; // Where the last run begins: for writers.
    let mut words = words.chunks_exact(8).filter_map(|w| w.first_chunk().map(|w| u64::from_be_bytes(*w)));
    let mut set = Vec::new();
    let mut at = 0u64;
    while let Some(run) = words.next() {
        let (bit, repeat, literals) = (run & 1, run >> 1 & 0xffff_ffff, run >> 33);
        let end = at + repeat * 64;
        if bit == 1 {
            set.extend((at..end.min(u64::from(bits))).map(|position| position as u32));
        }
        at = end.min(u64::from(bits) + 64);
        for _ in 0..literals {
            let Some(word) = words.next() else { return Err(cut_short()) };
            let ones = (0..64).filter(|i| word >> i & 1 == 1).map(|i| at + i);
            set.extend(ones.filter(|position| *position < u64::from(bits)).map(|position| position as u32));
            at = (at + 64).min(u64::from(bits) + 64);
        }
    }
    Ok(set)
}
