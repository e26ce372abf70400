use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::*;

/// The events of a document as JSON.
fn events(content: &[u8]) -> Result<Vec<Value>, Fault> {
    let text = decode(content)?;
    let mut reader = Reader::new(&text)?;
    let mut all = Vec::new();
    loop {
        all.push(match reader.next()? {
            Event::Start { name, attributes } => {
                let flat: Vec<&str> = attributes.iter().flat_map(|(name, value)| [*name, value.as_ref()]).collect();
                json!([name, flat])
            }
            Event::End => Value::Null,
            Event::Over => return Ok(all),
        });
    }
}

#[test]
fn what_is_not_well_formed_is_told_with_its_line() {
    for text in [
        "",
        " \n",
        "all tests pass",
        "<a>",
        "<a/><b/>",
        "<a></a><a/>",
        "<a></b>",
        "<a><b></a></b>",
        "<a/>ok",
        "ok<a/>",
        "<a/>&amp;",
        "<a/></a>",
        "</a>",
        "<a b='1' b='2'/>",
        "<a b=1/>",
        "<a b/>",
        "<a b='1'c='2'/>",
        "<a b='<'/>",
        "<a b='</a>'/>",
        "<a b='1'",
        "<a b='1/>",
        "< a/>",
        "<1/>",
        "<a <b/>",
        "<a>1 < 2</a>",
        "<a>&nbsp;</a>",
        "<a b='&x;'/>",
        "<a>&#0;</a>",
        "<a>&#xd800;</a>",
        "<a>&#xffff;</a>",
        "<a>&#x110000;</a>",
        "<a>&#99999999999;</a>",
        "<a>&#+65;</a>",
        "<a>&#;</a>",
        "<a>&#X41;</a>",
        "<a>&amp</a>",
        "<a>a & b</a>",
        "<a>]]></a>",
        "<a><![CDATA[</a>",
        "<![CDATA[]]><a/>",
        "<a><!-- -- --></a>",
        "<a><!-- ---></a>",
        "<a>\u{1b}[31m</a>",
        "<a b='\u{1}'/>",
        "<a>\u{fffe}</a>",
        "<a/>\0",
        "<a></a b='1'>",
        "<a></ a>",
        "<a / >",
        "<a><!doctype a></a>",
        "<a><?xml version='1.0'?></a>",
        " <?xml version='1.0'?><a/>",
        "<?xml?><a/>",
        "<?xml version='2.0'?><a/>",
        "<?xml encoding='UTF-8'?><a/>",
        "<?xml version='1.0' standalone='maybe'?><a/>",
        "<?xml version='1.0' standalone='no' encoding='UTF-8'?><a/>",
        "<?xml version='1.0'?><?xml version='1.0'?><a/>",
        "<?a",
        "<??><a/>",
        "<?a+?><a/>",
    ] {
        assert_eq!(events(text.as_bytes()).map_err(|_| ()), Err(()), "{text}");
        assert!(matches!(events(text.as_bytes()), Err(Fault::Malformed(_))), "{text}");
    }
    assert_eq!(events(b"<a>\n\n<b></c>"), Err(Fault::Malformed(3)));
    assert_eq!(events(b"<a>\n\xff</a>"), Err(Fault::Malformed(2)));
    assert_eq!(events(b"\xff\xfe<\0a\0/\0>\0"), Err(Fault::Malformed(1)));
    assert_eq!(events(b"<?xml version='1.0' encoding='UTF-16'?><a/>"), Err(Fault::Encoding));
}

#[test]
fn nothing_is_declared_and_nothing_is_fetched() {
    for text in [
        "<!DOCTYPE a><a/>",
        "<?xml version='1.0'?>\n<!-- x --><!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>",
        "<!DOCTYPE a [<!ENTITY a 'aa'><!ENTITY b '&a;&a;&a;'><!ENTITY c '&b;&b;&b;'>]><a>&c;</a>",
        "<a><!DOCTYPE a></a>",
    ] {
        assert_eq!(events(text.as_bytes()), Err(Fault::Doctype), "{text}");
    }
}

#[test]
fn what_is_well_formed_is_read() {
    let text = "\u{feff}<?xml version=\"1.0\" encoding='utf-8' standalone='yes'?>\r\n<!-- - --><?pi?>\
        <a b = 'x&#65;&#x42;&lt;&quot;\"\r\n\ty' x:c='&#10;' ><![CDATA[<b>&x;]]]]><?pi x?>]]&gt;<é·-1/></a\n>\n<?pi?>";
    let wanted = json!([["a", ["b", "xAB<\"\"  y", "x:c", "\n"]], ["é·-1", []], null, null]);
    assert_eq!(Value::from(events(text.as_bytes()).unwrap()), wanted);
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><a b='\xe9'/>";
    assert_eq!(Value::from(events(latin).unwrap()), json!([["a", ["b", "é"]], null]));
}

#[test]
fn there_is_an_end_to_everything() {
    let nested = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
    assert_eq!(events(nested(DEEPEST).as_bytes()).unwrap().len(), 2 * DEEPEST);
    assert_eq!(events(nested(1_000_000).as_bytes()), Err(Fault::TooMuch));
    let attributes = |count: usize| format!("<a {}/>", (0..count).map(|n| format!("a{n}='' ")).collect::<String>());
    events(attributes(MOST_ATTRIBUTES).as_bytes()).unwrap();
    assert_eq!(events(attributes(1_000_000).as_bytes()), Err(Fault::TooMuch));
    // Each is a megabyte of one thing: who looks at it twice from its beginning is still here tomorrow.
    for (part, rest) in [
        ("<", ""),
        ("&", ""),
        ("&amp;", "</a>"),
        ("]]", "</a>"),
        ("&x", ";</a>"),
        ("<b/>", "</a>"),
        ("<!---->", "</a>"),
        ("<![CDATA[]]>", "</a>"),
        ("<?b?>", "</a>"),
        ("<b c='&#65;' d='", "'/></a>"),
        ("<!--", "--></a>"),
        ("<b xmlns:c='d'></b>", "</a>"),
        ("x", "</a>"),
    ] {
        let _ = events(format!("<a>{}{rest}", part.repeat(1_000_000 / part.len())).as_bytes());
    }
}

/// Says of each document which elements there are, or that it is none.
const EXPAT: &str = r#"
import json, struct, sys
from xml.parsers import expat
all, at, out = sys.stdin.buffer.read(), 0, []
while at < len(all):
    size, = struct.unpack_from("<I", all, at)
    text, at, events = all[at + 4:at + 4 + size], at + 4 + size, []
    parser = expat.ParserCreate()
    parser.ordered_attributes = True
    parser.StartElementHandler = lambda name, attributes: events.append([name, attributes])
    parser.EndElementHandler = lambda name: events.append(None)
    def refuse(*_): raise ValueError
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text, True)
        out.append(events)
    except (expat.ExpatError, ValueError):
        out.append(False)
json.dump(out, sys.stdout)
"#;

/// Documents, and what comes of them if one to three places change. The declaration stays: there expat takes more.
fn documents() -> Vec<Vec<u8>> {
    const WHOLE: [&str; 5] = [
        "<a b=\"1\" c='2'/>",
        "<a><?pi x?></a><!-- end -->\n",
        "<a b=\"é\">ü\u{1f600}</a>",
        "<t><s x:n=\"p\" x='1'><c k=\"a\" n=\"b&amp;&#65;&#x42;\"/><c n=\"c\"><f m=\"a &gt; b\">t &lt; ]] ]&gt; x</f>\
         <o><![CDATA[<a>]]></o></c><!-- c - d --></s></t>\n",
        "<a\n  b='1\n2'>\r\n<b></b ><c/>x</a>",
    ];
    const PARTS: [&[u8]; 31] = [
        b"<",
        b">",
        b"/",
        b"&",
        b";",
        b"\"",
        b"'",
        b"=",
        b" ",
        b"a",
        b"<a>",
        b"</a>",
        b"<![CDATA[",
        b"]]>",
        b"<!--",
        b"-->",
        b"--",
        b"&amp;",
        b"&#65;",
        b"<?",
        b"?>",
        b"1",
        b"\x01",
        b"!",
        b"#",
        b"x=\"1\"",
        b":",
        b"-",
        b"\n",
        b"\xc3\xa9",
        b"\xc3",
    ];
    let mut state = 1u64;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % bound
    };
    let mut all: Vec<Vec<u8>> = WHOLE.iter().map(|text| text.as_bytes().to_vec()).collect();
    while all.len() < 20_000 {
        let mut text = WHOLE[below(WHOLE.len())].as_bytes().to_vec();
        for _ in 0..1 + below(3) {
            let at = below(text.len() + 1);
            let end = (at + below(4)).min(text.len());
            let part = PARTS[below(PARTS.len())];
            let part: &[u8] = if below(3) == 0 { b"" } else { part };
            text.splice(at..end, part.iter().copied());
        }
        all.push(text);
    }
    all
}

#[test]
fn expat_says_the_same() {
    let documents = documents();
    let mut python = Command::new("python3")
        .args(["-c", EXPAT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 runs: tests/host/setup installs it");
    let mut stdin = python.stdin.take().unwrap();
    let sent: Vec<u8> =
        documents.iter().flat_map(|text| [&(text.len() as u32).to_le_bytes()[..], text].concat()).collect();
    let sender = std::thread::spawn(move || stdin.write_all(&sent).unwrap());
    let output = python.wait_with_output().unwrap();
    sender.join().unwrap();
    let said: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said.len(), documents.len());
    let mut good = 0;
    for (text, wanted) in documents.iter().zip(said) {
        let shown = String::from_utf8_lossy(text);
        let found = events(text).map_or(Value::Bool(false), Value::from);
        assert_eq!(found, wanted, "{shown}");
        good += usize::from(found.is_array());
    }
    assert!((2000..18_000).contains(&good), "both kinds are among them: {good}");
}
