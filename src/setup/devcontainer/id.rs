//! `${devcontainerId}`: a name that is the same for the same folder and config.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
/// 256 bits in digits of five.
const LENGTH: usize = 52;

/// The id for a set of labels.
pub(super) fn devcontainer_id(labels: &BTreeMap<&str, String>) -> String {
    // JavaScript sorts by UTF-16 units; our keys are ASCII, where that is the order of the map.
    let object = labels.iter().map(|(key, value)| ((*key).to_owned(), Value::String(value.clone()))).collect();
    let hash = Sha256::digest(Value::Object(object).to_string().as_bytes());
    // The number in base 32, from its last digit: bit 0 is the lowest of the last byte.
    let bit = |n: usize| hash.get(31usize.wrapping_sub(n / 8)).is_some_and(|byte| byte >> (n % 8) & 1 == 1);
    let digit = |place: usize| (0..5).map(|i| usize::from(bit(place * 5 + i)) << i).sum::<usize>();
    (0..LENGTH).rev().map(|place| char::from(DIGITS[digit(place)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_reference_s() {
        let cases: [(&[(&str, &str)], &str); 6] = [
            (&[("a", "b")], "1mqafr5h2iu6dhh3k1m4vtnuhml2uiec4s7bntt1v0f25ao63i1n"),
            (&[("c", "d"), ("a", "b")], "1e2sfmkjt1sga649hgk0s5f3u6nlqhlv9al481r91s7gkeo32p3o"),
            (
                &[
                    ("devcontainer.local_folder", "/home/u/p"),
                    ("devcontainer.config_file", "/home/u/p/.devcontainer/devcontainer.json"),
                ],
                "18t5qfh1qffk9ck3qm4n6jeqo9j524i30t2ihd7lmnaths1qr3ba",
            ),
            (&[("k", "é \"q\" \\ /")], "1ogetjap5rfgfnkootp8016ef335l62ntj850jg9tffm9nte8i6i"),
            (&[("n", "110")], "00iamu8frjb7p05n1jq35gne1mo5np6hklvn86h6eiaja91ha0js"),
            (&[], "0h0jduhlbcr7h88kdb8muvk697kkvd7s47v7fq1h1g30uoealvsa"),
        ];
        for (labels, id) in cases {
            let labels = labels.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
            assert_eq!(devcontainer_id(&labels), id);
        }
    }
}
