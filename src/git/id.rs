//! Names of objects.

use std::fmt;

use sha1::{Digest, Sha1};
use sha2::Sha256;

/// Which hash a repository names its objects with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Hash {
    /// The usual one.
    #[default]
    Sha1,
    /// `extensions.objectFormat = sha256`
    Sha256,
}

impl Hash {
    /// Bytes of a name.
    pub fn size(self) -> usize {
        match self {
            Hash::Sha1 => 20,
            Hash::Sha256 => 32,
        }
    }

    /// As git's config spells it.
    pub fn name(self) -> &'static str {
        match self {
            Hash::Sha1 => "sha1",
            Hash::Sha256 => "sha256",
        }
    }

    /// The name of an object with this header and body.
    pub fn of(self, header: &[u8], body: &[u8]) -> Id {
        fn digest<D: Digest>(header: &[u8], body: &[u8]) -> Id {
            let out = D::new().chain_update(header).chain_update(body).finalize();
            Id::from_bytes(&out).unwrap_or_default()
        }
        match self {
            Hash::Sha1 => digest::<Sha1>(header, body),
            Hash::Sha256 => digest::<Sha256>(header, body),
        }
    }
}

/// The name of an object.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id {
    bytes: [u8; 32],
    size: u8,
}

impl Id {
    /// From its 20 or 32 bytes.
    pub fn from_bytes(raw: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        if raw.len() != 20 && raw.len() != 32 {
            return None;
        }
        bytes.get_mut(..raw.len())?.copy_from_slice(raw);
        Some(Self { bytes, size: raw.len() as u8 })
    }

    /// From 40 or 64 hexadecimal digits.
    pub fn from_hex(text: &[u8]) -> Option<Self> {
        if text.len() != 40 && text.len() != 64 {
            return None;
        }
        let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
        let raw: Option<Vec<u8>> =
            text.chunks_exact(2).map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect();
        Self::from_bytes(&raw?)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.size)).unwrap_or_default()
    }

    /// Whether it is the name of nothing.
    pub fn is_null(&self) -> bool {
        self.as_bytes().iter().all(|b| *b == 0)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_and_written() {
        let text = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        assert_eq!(Id::from_hex(text.as_bytes()).unwrap().to_string(), text);
        assert_eq!(Hash::Sha1.of(b"tree 0\0", b"").to_string(), text);
        for wrong in ["", "4b", "zz825dc642cb6eb9a060e54bf8d69288fbee4904", "é825dc642cb6eb9a060e54bf8d69288fbee490"] {
            assert_eq!(Id::from_hex(wrong.as_bytes()), None);
        }
    }
}
