use super::*;

#[test]
fn only_the_end_of_a_run_makes_it_complete() {
    let dir = tempfile::tempdir().unwrap();
    let load = |stamp| Base::load(dir.path(), stamp).unwrap();
    let is_noted = |stamp| Base::is_noted(dir.path(), stamp).unwrap();
    assert!(!load(Some(1)).is_complete() && !is_noted(Some(1)));
    load(Some(1)).save().unwrap();
    assert!(!load(Some(1)).is_complete() && !is_noted(Some(1)));
    let mut base = load(Some(1));
    base.run_ended();
    base.save().unwrap();
    assert!(load(Some(1)).is_complete() && is_noted(Some(1)));
    // Nor does what is written later take it away.
    load(Some(2)).save().unwrap();
    assert!(!load(Some(2)).is_complete() && load(Some(1)).is_complete());
}

#[test]
fn what_the_end_noted_outlives_an_apply() {
    let dir = tempfile::tempdir().unwrap();
    let entry = |host| Entry { host, session: None, content: None, done: false };
    let id = Identity::from(&rustix::fs::stat(dir.path()).unwrap());
    let xattrs = Xattrs::from([(b"user.x".to_vec(), b"\0\xff".to_vec())]);
    let mut base = Base::load(dir.path(), Some(i64::MAX)).unwrap();
    base.set("d".into(), entry(At::Here(id)));
    base.set_xattrs(Path::new("d"), xattrs.clone());
    base.set_closed(&HashSet::from([Path::new("d")]));
    base.save().unwrap();
    let mut base = Base::load(dir.path(), Some(i64::MAX)).unwrap();
    base.set("d".into(), Entry { done: true, ..entry(At::Here(id)) });
    assert_eq!(base.looks(Path::new("d"), &id, &NO_XATTRS, true).unwrap().xattrs, &xattrs);
    assert_eq!(base.first_look(Path::new("d/new"), Some(&id), true), At::Absent);
    assert_eq!(base.first_look(Path::new("dd/new"), Some(&id), true), At::Here(id));
}

#[test]
fn a_file_that_was_moved_and_came_back_is_what_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = Path::new("f");
    let id = |ctime| Identity { inode: 1, size: 1, mode: 0o100_644, mtime: 1, ctime };
    let mut base = Base::load(dir.path(), None).unwrap();
    assert!(!base.set_moved(path, Moved { was: id(1), back: None }), "of what is not known nothing is noted");
    base.set(path.into(), Entry { host: At::Absent, session: None, content: None, done: false });
    assert!(!base.set_moved(path, Moved { was: id(1), back: Some(id(1)) }), "it has not been moved at all");
    assert!(base.set_moved(path, Moved { was: id(1), back: None }));
    base.save().unwrap();
    let mut base = Base::load(dir.path(), None).unwrap();
    assert_eq!(base.moved_away().collect::<Vec<_>>(), [(path, id(1))]);
    assert!(base.set_moved(path, Moved { was: id(1), back: Some(id(2)) }));
    assert!(!base.set_moved(path, Moved { was: id(1), back: Some(id(2)) }), "that is no news");
    assert_eq!(base.moved_away().count(), 0);
    assert_eq!(base.before_moves(path, id(2)), id(1));
    assert_eq!(base.before_moves(path, id(3)), id(3), "somebody has changed it since");
}
