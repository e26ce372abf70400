//! `collections-abc`: Python 3.10 took the abstract classes out of `collections`; they are in `collections.abc`.
//!
//! `from collections import Mapping, deque` becomes two imports, `collections.Mapping` becomes
//! `collections.abc.Mapping` where the module is imported by that name. Strings and comments stay as they are.

use std::path::Path;

use super::python::{code, is_word};
use super::{Fixed, Tree};

/// What moved.
const MOVED: [&str; 25] = [
    "AsyncGenerator",
    "AsyncIterable",
    "AsyncIterator",
    "Awaitable",
    "ByteString",
    "Callable",
    "Collection",
    "Container",
    "Coroutine",
    "Generator",
    "Hashable",
    "ItemsView",
    "Iterable",
    "Iterator",
    "KeysView",
    "Mapping",
    "MappingView",
    "MutableMapping",
    "MutableSequence",
    "MutableSet",
    "Reversible",
    "Sequence",
    "Set",
    "Sized",
    "ValuesView",
];

pub(super) fn apply(tree: &dyn Tree) -> std::io::Result<Fixed> {
    let wanted = |path: &Path| path.extension().is_some_and(|end| end == "py" || end == "pyi");
    Fixed::edit(tree, &wanted, &|text| attributes(&imports(text)))
}

/// Splits `from collections import …`.
fn imports(text: &str) -> String {
    const FROM: &str = "from collections import ";
    let code = code(text);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find(FROM) {
        let start = at + found;
        let names_at = start + FROM.len();
        let line = text[..start].rfind('\n').map_or(0, |n| n + 1);
        let indent = &text[line..start];
        let Some((end, names)) =
            names(text, names_at).filter(|_| code[start] && indent.chars().all(char::is_whitespace))
        else {
            out.push_str(&text[at..names_at]);
            at = names_at;
            continue;
        };
        let (moved, stay): (Vec<&str>, Vec<&str>) =
            names.iter().partition(|name| MOVED.contains(&name.split_whitespace().next().unwrap_or_default()));
        out.push_str(&text[at..start]);
        if moved.is_empty() {
            out.push_str(&text[start..end]);
        } else {
            out.push_str(&format!("from collections.abc import {}", moved.join(", ")));
            if !stay.is_empty() {
                out.push_str(&format!("\n{indent}from collections import {}", stay.join(", ")));
            }
        }
        at = end;
    }
    out.push_str(&text[at..]);
    out
}

/// The names after `import`, on one line or in parentheses, and where they end. `None` where a comment or a second
/// statement is among them: that is left to people.
fn names(text: &str, at: usize) -> Option<(usize, Vec<&str>)> {
    let rest = &text[at..];
    let (inner, end) = match rest.strip_prefix('(') {
        Some(rest) => {
            let close = rest.find(')')?;
            (&rest[..close], at + 1 + close + 1)
        }
        None => {
            let length = rest.find('\n').unwrap_or(rest.len());
            let line = rest[..length].split('#').next().unwrap_or_default().trim_end();
            (line, at + line.len())
        }
    };
    if inner.contains(['#', ';', '\\', '(', '*']) {
        return None;
    }
    let names: Vec<&str> = inner.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    (!names.is_empty()).then_some((end, names))
}

/// Renames `collections.X`, and sees to it that the module is there.
fn attributes(text: &str) -> String {
    const MODULE: &str = "collections.";
    let code = code(text);
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut renamed) = (0, false);
    while let Some(found) = text[at..].find(MODULE) {
        let (start, name_at) = (at + found, at + found + MODULE.len());
        let length = bytes[name_at..].iter().take_while(|b| is_word(**b)).count();
        let alone = start == 0 || !(is_word(bytes[start - 1]) || bytes[start - 1] == b'.');
        out.push_str(&text[at..name_at]);
        if code[start] && alone && MOVED.contains(&&text[name_at..name_at + length]) {
            out.push_str("abc.");
            renamed = true;
        }
        at = name_at;
    }
    out.push_str(&text[at..]);
    if renamed { with_module(&out) } else { out }
}

/// `import collections` does not bring `collections.abc` along.
fn with_module(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut done = false;
    for line in text.split_inclusive('\n') {
        let is_import = line.trim_end() == "import collections";
        lines.push(line);
        if is_import && !done {
            lines.push("import collections.abc\n");
            done = true;
        }
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::super::testing::one;
    use crate::task::spec::Fix;

    fn fixed(text: &str) -> Option<String> {
        one(Fix::CollectionsAbc, "a/b.py", text)
    }

    #[test]
    fn imports_are_split() {
        let cases = [
            ("from collections import Mapping\n", "from collections.abc import Mapping\n"),
            (
                "try:\n    from collections import deque, Mapping as M  # both\nexcept E: pass\n",
                "try:\n    from collections.abc import Mapping as M\n    from collections import deque  # both\nexcept E: pass\n",
            ),
            (
                "from collections import (\n    OrderedDict,\n    Iterable,\n)\nx = 1\n",
                "from collections.abc import Iterable\nfrom collections import OrderedDict\nx = 1\n",
            ),
        ];
        for (old, new) in cases {
            assert_eq!(fixed(old).as_deref(), Some(new));
            assert_eq!(fixed(new), None, "done twice it changes nothing");
        }
    }

    #[test]
    fn attributes_are_renamed_and_their_module_is_imported() {
        let old = "import collections\nisinstance(x, (collections.Mapping, collections.OrderedDict))\n";
        let new = "import collections\nimport collections.abc\nisinstance(x, (collections.abc.Mapping, collections.OrderedDict))\n";
        assert_eq!(fixed(old).as_deref(), Some(new));
        assert_eq!(fixed(new), None);
    }

    #[test]
    fn what_is_no_code_or_somebody_elses_stays() {
        for text in [
            "s = 'collections.Mapping'\n# from collections import Mapping\n",
            "\"\"\"\nfrom collections import Mapping\n\"\"\"\n",
            "import my\nmy.collections.Mapping\nmycollections.Mapping\n",
            "from collections import deque\ncollections.MappingProxy\n",
            "from collections import *\n",
        ] {
            assert_eq!(fixed(text), None, "{text}");
        }
        assert_eq!(one(Fix::CollectionsAbc, "a.txt", "from collections import Mapping\n"), None);
    }
}
