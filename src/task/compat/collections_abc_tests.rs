use std::io::Write;
use std::process::{Command, Stdio};

use super::super::testing::one;
use super::MOVED;
use crate::task::spec::Fix;

fn fixed(text: &str) -> Option<String> {
    one(Fix::CollectionsAbc, "a/b.py", text)
}

/// What becomes of code. Python 3.10 and later run the second, and fail at the first.
const FIXED: &[(&str, &str)] = &[
    ("from collections import Mapping\n", "from collections.abc import Mapping\n"),
    ("from  collections  import(Mapping)\n", "from  collections.abc  import(Mapping)\n"),
    (
        "try:\n    from collections import deque, Mapping as M  # both\nexcept ValueError: pass\nM, deque\n",
        "try:\n    from collections.abc import Mapping as M\n    from collections import deque  # both\nexcept ValueError: pass\nM, deque\n",
    ),
    (
        "from collections import (\n    OrderedDict,\n    Iterable,\n)\nx = 1\n",
        "from collections.abc import Iterable\nfrom collections import OrderedDict\nx = 1\n",
    ),
    (
        "from collections import (Mapping as M, OrderedDict)\nM, OrderedDict\n",
        "from collections.abc import Mapping as M\nfrom collections import OrderedDict\nM, OrderedDict\n",
    ),
    (
        "from collections import (  # noqa\n    Mapping,  # moved\n    Set as S,\n)\nMapping, S\n",
        "from collections.abc import (  # noqa\n    Mapping,  # moved\n    Set as S,\n)\nMapping, S\n",
    ),
    (
        "if True:\n    from collections import (\n        deque,  # stays\n        Mapping  # moved\n    )\ndeque, Mapping\n",
        "if True:\n    from collections.abc import Mapping\n    from collections import (\n        deque,  # stays\n          # moved\n    )\ndeque, Mapping\n",
    ),
    (
        "from collections import Mapping, \\\n    deque\nMapping, deque\n",
        "from collections.abc import Mapping\nfrom collections import deque\nMapping, deque\n",
    ),
    (
        "x = 1; from collections import deque, Set; Set, deque\n",
        "x = 1; from collections.abc import Set; from collections import deque; Set, deque\n",
    ),
    (
        "if True: from collections import Set, deque\nSet, deque\n",
        "if True: from collections.abc import Set; from collections import deque\nSet, deque\n",
    ),
    (
        "import collections\nisinstance({}, (collections.Mapping, collections.OrderedDict))\n",
        "import collections, collections.abc\nisinstance({}, (collections.abc.Mapping, collections.OrderedDict))\n",
    ),
    (
        "import collections as c\nfrom collections import deque\nclass X(c.Mapping, c . Sized): pass\nc.OrderedDict, deque\n",
        "import collections as c, collections.abc as _collections_abc\nfrom collections import deque\nclass X(c.abc.Mapping, c.abc . Sized): pass\nc.OrderedDict, deque\n",
    ),
    (
        "import collections, os\nos.path, collections.Set\n",
        "import collections, collections.abc, os\nos.path, collections.abc.Set\n",
    ),
    (
        "import os; import collections as c, sys\nf = lambda x: x in (c.Set, sys)\nf(1)\n",
        "import os; import collections as c, collections.abc as _collections_abc, sys\nf = lambda x: x in (c.abc.Set, sys)\nf(1)\n",
    ),
    (
        "import collections.abc\nimport collections\ncollections.Set\n",
        "import collections.abc\nimport collections\ncollections.abc.Set\n",
    ),
    (
        "try: import collections\nexcept ImportError: pass\ndef f(a=collections.Callable, **b): return f\nf(b=collections.Set)\n",
        "try: import collections, collections.abc\nexcept ImportError: pass\ndef f(a=collections.abc.Callable, **b): return f\nf(b=collections.abc.Set)\n",
    ),
    (
        "def f():\n    import collections\n    return collections.Set\nf()\n",
        "def f():\n    import collections, collections.abc\n    return collections.abc.Set\nf()\n",
    ),
    (
        // Only where the name is the module.
        "import collections\ndef f(collections):\n    return collections.Set\ndef g(x):\n    return x, collections.Set\ng(1)\n",
        "import collections, collections.abc\ndef f(collections):\n    return collections.Set\ndef g(x):\n    return x, collections.abc.Set\ng(1)\n",
    ),
    (
        "import collections as c\ndef f(x):\n    for c in x: c.Set\n    return [c.Set for c in x]\ndef g(): return dict(c=c.Set)\ng()\n",
        "import collections as c, collections.abc as _collections_abc\ndef f(x):\n    for c in x: c.Set\n    return [c.Set for c in x]\ndef g(): return dict(c=c.abc.Set)\ng()\n",
    ),
    (
        "import collections\nx = hasattr(collections, 'Set')\ny = collections\ncollections.Hashable\r\n",
        "import collections, collections.abc\nx = hasattr(collections, 'Set')\ny = collections\ncollections.abc.Hashable\r\n",
    ),
    (
        "import collections\nx = '''\ncollections.Set\n''' # collections.Set\nx and collections.Set\n",
        "import collections, collections.abc\nx = '''\ncollections.Set\n''' # collections.Set\nx and collections.abc.Set\n",
    ),
];

/// What is no code, is somebody else's, or may be.
const LEFT: &[&str] = &[
    "s = 'collections.Mapping'\n# from collections import Mapping\n",
    "\"\"\"\nfrom collections import Mapping\n\"\"\"\n",
    "import collections\ns = \"collections.Mapping\" # collections.Set\n",
    "import my\nmy.collections.Mapping\nmycollections.Mapping\n",
    "from collections import deque\ncollections.MappingProxy\n",
    "from collections import *\n",
    "from collections import abc, deque\n",
    "from collections.abc import Mapping\nimport collections.abc as c\nc.Mapping\n",
    "from .collections import Mapping\nfrom . import collections\ncollections.Mapping\n",
    "import collections\ncollections.OrderedDict, collections.abc.Mapping, collections.MappingProxyType\n",
    // A shim.
    "import collections, collections.abc\ncollections.Mapping = collections.abc.Mapping\n",
    // Not the module, or not only.
    "collections.Mapping\n",
    "import collections\ncollections = Mine()\ncollections.Mapping\n",
    "import collections\na, (b, collections) = 1, (2, Mine())\ncollections.Mapping\n",
    "import collections\nfor a, collections in x: collections.Mapping\n",
    "import collections\nwith x as collections: collections.Mapping\n",
    "import collections\nif (collections := x): collections.Mapping\n",
    "import collections\ncollections: object\ncollections.Mapping\n",
    "import collections\nclass collections: pass\ncollections.Mapping\n",
    "import collections\nclass X:\n    collections = 1\n    def f(self, x=collections.Mapping): pass\n",
    "import collections\ndef f():\n    global collections\ncollections.Mapping\n",
    "import collections\nf = lambda a, *collections: collections.Mapping\n",
    "import collections\nfrom mine import collections\ncollections.Mapping\n",
    "try:\n    import collections.abc as collections\nexcept ImportError:\n    import collections\ncollections.Mapping\n",
    "import collections as c\nimport mine as c\nc.Mapping\n",
    "import collections\ndel collections\ncollections.Mapping\n",
    "import collections\ndef f(x, *, collections=None):\n    def g():\n        return collections.Mapping\n",
    "from collections import (Mapping, deque",
    "from collections import Mapping, 1\n",
    "from collections import",
    "import",
];

#[test]
fn what_moved_is_found_where_it_is() {
    for (old, new) in FIXED {
        assert_eq!(fixed(old).as_deref(), Some(*new), "{old}");
        assert_eq!(fixed(new), None, "done twice it changes nothing: {new}");
    }
    for name in MOVED {
        let new = format!("from collections.abc import {name}\n");
        assert_eq!(fixed(&format!("from collections import {name}\n")), Some(new));
    }
}

#[test]
fn what_is_no_code_or_somebody_elses_stays() {
    for text in LEFT {
        assert_eq!(fixed(text), None, "{text}");
    }
    assert_eq!(one(Fix::CollectionsAbc, "a.txt", "from collections import Mapping\n"), None);
}

#[test]
fn whatever_comes_it_ends() {
    for part in [
        "import collections\n",
        "from collections import (",
        "collections.Set,",
        "for collections ",
        "lambda collections,",
    ] {
        fixed(&part.repeat(50_000 / part.len()));
        fixed(&format!("import collections\n{}", part.repeat(50_000 / part.len())));
    }
    for (old, _) in FIXED {
        old.char_indices().for_each(|(at, _)| drop(fixed(&old[..at])));
    }
}

/// Runs each text, and says how it failed, or that it did not.
const RUN: &str = r#"
import json, sys
def run(text):
    try: exec(compile(text, "text", "exec"), {"__name__": "text"})
    except Exception as e: return type(e).__name__
import _collections_abc
assert sys.version_info >= (3, 10) and all(hasattr(_collections_abc, name) for name in sys.argv[1:])
json.dump([run(text) for text in json.load(sys.stdin)], sys.stdout)
"#;

#[test]
fn python_runs_what_is_fixed_and_not_what_was() {
    let texts: Vec<&str> = FIXED.iter().flat_map(|(old, new)| [*old, *new]).collect();
    let mut python = Command::new("python3")
        .args(["-c", RUN])
        .args(MOVED)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 runs: tests/host/setup installs it");
    python.stdin.take().unwrap().write_all(&serde_json::to_vec(&texts).unwrap()).unwrap();
    let output = python.wait_with_output().unwrap();
    let said: Vec<Option<String>> = serde_json::from_slice(&output.stdout).unwrap();
    for (number, (old, new)) in FIXED.iter().enumerate() {
        let (before, after) = (&said[2 * number], &said[2 * number + 1]);
        let is_gone = matches!(before.as_deref(), Some("ImportError" | "AttributeError"));
        assert!(is_gone, "it needs no fix: {before:?}: {old}");
        assert_eq!(after, &None, "{new}");
    }
}
