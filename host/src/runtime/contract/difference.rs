//! Describes the first difference between two types.

use super::types::{Func, Ty};

/// Renders a type.
type Show<'a> = &'a dyn Fn(&Ty) -> String;

/// Returns how a function differs from the expected one.
pub(super) fn of_functions(expected: &Func, found: &Func, show: Show<'_>) -> Option<String> {
    if expected.params.len() != found.params.len() {
        return Some(format!("{} parameters; expected {}", found.params.len(), expected.params.len()));
    }
    for ((name, expected), (_, found)) in expected.params.iter().zip(&found.params) {
        if let Some(what) = of_types(expected, found, &format!("the parameter `{name}`"), show) {
            return Some(what);
        }
    }
    match (&expected.result, &found.result) {
        (None, None) => None,
        (Some(expected), None) => Some(format!("no result; expected `{}`", show(expected))),
        (None, Some(found)) => Some(format!("a result `{}`; expected none", show(found))),
        (Some(expected), Some(found)) => of_types(expected, found, "the result", show),
    }
}

fn of_types(expected: &Ty, found: &Ty, place: &str, show: Show<'_>) -> Option<String> {
    if expected == found {
        return None;
    }
    let whole = || Some(format!("{place} is `{}`; expected `{}`", show(found), show(expected)));
    match (expected, found) {
        (Ty::List(expected), Ty::List(found)) => of_types(expected, found, &format!("{place}, each item"), show),
        (Ty::Option(expected), Ty::Option(found)) => {
            of_types(expected, found, &format!("{place}, if it is there"), show)
        }
        (Ty::Record(expected), Ty::Record(found)) => {
            let differ = |expected: &Ty, found: &Ty, name: &str| {
                of_types(expected, found, &format!("{place}, field `{name}`"), show)
            };
            of_parts("field", expected, found, place, &differ).or_else(whole)
        }
        (Ty::Variant(expected), Ty::Variant(found)) => {
            let differ = |expected: &Option<Ty>, found: &Option<Ty>, name: &str| {
                let place = format!("{place}, case `{name}`");
                match (expected, found) {
                    (Some(expected), Some(found)) => of_types(expected, found, &place, show),
                    (None, None) => None,
                    (Some(expected), None) => Some(format!("{place} carries nothing; expected `{}`", show(expected))),
                    (None, Some(found)) => Some(format!("{place} carries `{}`; expected nothing", show(found))),
                }
            };
            of_parts("case", expected, found, place, &differ).or_else(whole)
        }
        (Ty::Enum(expected), Ty::Enum(found)) | (Ty::Flags(expected), Ty::Flags(found)) => {
            let named = |names: &[String]| names.iter().map(|name| (name.clone(), ())).collect::<Vec<_>>();
            of_parts("case", &named(expected), &named(found), place, &|(), (), _| None).or_else(whole)
        }
        _ => whole(),
    }
}

/// Compares named parts: a missing one, an extra one, another order, or a different type.
fn of_parts<T>(
    word: &str,
    expected: &[(String, T)],
    found: &[(String, T)],
    place: &str,
    differ: &dyn Fn(&T, &T, &str) -> Option<String>,
) -> Option<String> {
    let names = |parts: &[(String, T)]| parts.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let (expected_names, found_names) = (names(expected), names(found));
    if let Some(missing) = expected_names.iter().find(|name| !found_names.contains(name)) {
        let instead = found_names.iter().find(|name| !expected_names.contains(name));
        let instead = instead.map_or(String::new(), |name| format!("; it has `{name}`"));
        return Some(format!("{place} has no {word} `{missing}`{instead}"));
    }
    if let Some(extra) = found_names.iter().find(|name| !expected_names.contains(name)) {
        return Some(format!("{place} has a {word} `{extra}` that the contract does not have"));
    }
    if expected_names != found_names {
        let (found, expected) = (found_names.join(", "), expected_names.join(", "));
        return Some(format!("{place} has its {word}s in another order: {found}; expected {expected}"));
    }
    expected.iter().zip(found).find_map(|((name, expected), (_, found))| differ(expected, found, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(fields: &[(&str, Ty)]) -> Ty {
        Ty::Record(fields.iter().map(|(name, ty)| ((*name).to_owned(), ty.clone())).collect())
    }

    #[test]
    fn the_nearest_difference_is_named() {
        let names = |names: &[&str]| Ty::Enum(names.iter().map(|&name| name.to_owned()).collect());
        let status = names(&["fail", "pass"]);
        let text = Ty::Plain("string");
        let expected = record(&[("status", status.clone()), ("summary", text.clone())]);
        for (found, what) in [
            (text.clone(), "the result is `string`; expected `record`"),
            (record(&[("status", status.clone())]), "the result has no field `summary`"),
            (
                record(&[("status", status.clone()), ("text", text.clone())]),
                "the result has no field `summary`; it has `text`",
            ),
            (
                record(&[("status", status.clone()), ("summary", text.clone()), ("more", text.clone())]),
                "the result has a field `more` that the contract does not have",
            ),
            (
                record(&[("summary", text.clone()), ("status", status.clone())]),
                "the result has its fields in another order: summary, status; expected status, summary",
            ),
            (
                record(&[("status", names(&["pass", "fail"])), ("summary", text.clone())]),
                "the result, field `status` has its cases in another order: pass, fail; expected fail, pass",
            ),
            (
                record(&[("status", status.clone()), ("summary", Ty::Option(Box::new(text.clone())))]),
                "the result, field `summary` is `option`; expected `string`",
            ),
        ] {
            let show = |ty: &Ty| match ty {
                Ty::Record(_) => "record".to_owned(),
                Ty::Option(_) => "option".to_owned(),
                other => other.show(1, &|_, _| String::new()),
            };
            let function = |result: &Ty| Func { params: Vec::new(), result: Some(result.clone()) };
            let found = of_functions(&function(&expected), &function(&found), &show);
            assert_eq!(found.as_deref(), Some(what));
        }
        let same = Func { params: Vec::new(), result: Some(expected) };
        assert_eq!(of_functions(&same, &same, &|_| String::new()), None);
    }
}
