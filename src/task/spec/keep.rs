//! Rules are kept while a field is read: so what breaks one is told with the place of the field, or of the element.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error};

use super::rule::{Rule, Variable, Word};

/// A text that keeps a rule.
pub(super) struct Kept<R: Rule>(pub(super) R::Of);

impl<'de, R: Rule> Deserialize<'de> for Kept<R> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        R::check(&text).map_err(D::Error::custom)?;
        Ok(Self(text.into()))
    }
}

/// For `deserialize_with`: a text.
pub(super) fn one<'de, R: Rule, D: Deserializer<'de>>(from: D) -> Result<R::Of, D::Error> {
    Kept::<R>::deserialize(from).map(|kept| kept.0)
}

/// One that may be left out.
pub(super) fn maybe<'de, R: Rule, D: Deserializer<'de>>(from: D) -> Result<Option<R::Of>, D::Error> {
    Ok(Option::<Kept<R>>::deserialize(from)?.map(|kept| kept.0))
}

/// Each of a list.
pub(super) fn each<'de, R: Rule, D: Deserializer<'de>>(from: D) -> Result<Vec<R::Of>, D::Error> {
    Ok(Vec::<Kept<R>>::deserialize(from)?.into_iter().map(|kept| kept.0).collect())
}

/// Variables with their values.
pub(super) fn variables<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    struct Name(String);

    impl<'de> Deserialize<'de> for Name {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            one::<Variable, _>(from).map(Self)
        }
    }

    let all = BTreeMap::<Name, Kept<Word>>::deserialize(from)?;
    Ok(all.into_iter().map(|(name, value)| (name.0, value.0)).collect())
}
