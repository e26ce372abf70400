//! Deltas of packs: a result made of pieces of a base and of new bytes.

use crate::error::{Error, Result};

/// Applies a delta. A result longer than `most` is refused before it is made.
pub fn apply(base: &[u8], delta: &[u8], most: u64) -> Result<Vec<u8>> {
    let mut input = delta.iter();
    if size(&mut input)? != base.len() as u64 {
        return Err(damaged());
    }
    let length = size(&mut input)?;
    if length > most {
        return Err(too_large(most));
    }
    // The length is a claim: memory follows what is really made.
    let mut out = Vec::with_capacity(usize::try_from(length.min(1 << 20)).map_err(|_| damaged())?);
    while let Some(&op) = input.next() {
        let piece = if op & 0x80 != 0 {
            let (start, count) = (number(&mut input, op, 4)?, number(&mut input, op >> 4, 3)?);
            let count = if count == 0 { 0x10000 } else { count };
            base.get(start..start.checked_add(count).ok_or_else(damaged)?).ok_or_else(damaged)?
        } else if op > 0 {
            let (piece, rest) = input.as_slice().split_at_checked(usize::from(op)).ok_or_else(damaged)?;
            input = rest.iter();
            piece
        } else {
            return Err(damaged());
        };
        if (out.len() + piece.len()) as u64 > length {
            return Err(damaged());
        }
        out.extend_from_slice(piece);
    }
    if out.len() as u64 == length { Ok(out) } else { Err(damaged()) }
}

/// Bytes of a number are only there where a bit says so.
fn number(input: &mut std::slice::Iter<'_, u8>, bits: u8, bytes: u32) -> Result<usize> {
    let mut value = 0;
    for byte in (0..bytes).filter(|byte| bits >> byte & 1 == 1) {
        value |= usize::from(*input.next().ok_or_else(damaged)?) << (8 * byte);
    }
    Ok(value)
}

fn size(input: &mut std::slice::Iter<'_, u8>) -> Result<u64> {
    let mut value = 0u64;
    for shift in (0..63).step_by(7) {
        let byte = *input.next().ok_or_else(damaged)?;
        value |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return Ok(value);
        }
    }
    Err(damaged())
}

pub(super) fn damaged() -> Error {
    Error::new("a git object is damaged")
}

pub(super) fn too_large(most: u64) -> Error {
    Error::new(format!("a git object is larger than {most} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Random;

    #[test]
    fn pieces_are_copied_and_put_in() {
        let base = b"hello world";
        let delta = [11, 8, 0x91, 6, 5, 3, b'!', b'!', b'\n'];
        assert_eq!(apply(base, &delta, 100).unwrap(), b"world!!\n");
        assert!(apply(base, &delta, 7).is_err());
    }

    #[test]
    fn no_bytes_make_it_panic_or_grow() {
        let mut random = Random::new(3);
        let base = vec![7; 3000];
        let good = [0xb8, 23, 0xc8, 1, 0xb1, 6, 100, 0, 0x7f, 1, 2, 3];
        for _ in 0..20_000 {
            if let Ok(out) = apply(&base, &random.damage(&good), 5000) {
                assert!(out.len() <= 5000);
            }
        }
    }
}
