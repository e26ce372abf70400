//! git's own notation for bytes in a patch: object ids, and `GIT binary patch`.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::git::Hash;

const ALPHABET: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// Bytes on one line of a binary patch.
const PER_LINE: usize = 52;

/// The id that says "there is nothing".
pub const NO_ID: &str = "0000000000000000000000000000000000000000";

/// The id that git gives to a file of this content.
pub fn blob_id(content: &[u8]) -> String {
    Hash::Sha1.of(format!("blob {}\0", content.len()).as_bytes(), content).to_string()
}

/// Writes one `literal` block: the whole content, compressed, in base 85.
pub fn literal(content: &[u8], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "literal {}", content.len())?;
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::default());
    packer.write_all(content)?;
    for piece in packer.finish()?.chunks(PER_LINE) {
        // The first letter is the number of bytes: A to Z for 1 to 26, a to z for 27 to 52.
        let length = piece.len() as u8;
        let first = if length <= 26 { b'A' + length - 1 } else { b'a' + length - 27 };
        let mut line = vec![first];
        for group in piece.chunks(4) {
            let mut padded = [0; 4];
            padded[..group.len()].copy_from_slice(group);
            line.extend(base85(u32::from_be_bytes(padded)));
        }
        line.push(b'\n');
        out.write_all(&line)?;
    }
    out.write_all(b"\n")
}

fn base85(mut number: u32) -> [u8; 5] {
    let mut digits = [0; 5];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[(number % 85) as usize];
        number /= 85;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        assert_eq!(blob_id(b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(blob_id(b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
    }

    #[test]
    fn digits_are_those_of_git() {
        assert_eq!((base85(0), base85(u32::MAX)), (*b"00000", *b"|NsC0"));
        let mut out = Vec::new();
        literal(b"", &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("literal 0\nH") && text.ends_with("00001\n\n"), "{text}");
    }
}
