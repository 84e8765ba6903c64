//! Filters `~/.cargo/config.toml` for commands: what builds need of it, without tokens.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys whose values are secrets, in any table.
const SECRET_KEYS: [&str; 4] = ["token", "secret-key", "password", "secret"];
/// Parts of the names of variables in `[env]` that hold secrets.
const SECRET_WORDS: [&str; 5] = ["TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "API_KEY"];

/// Returns the text without its secrets; `None` if it cannot be parsed.
pub(super) fn without_secrets(text: &str) -> Option<String> {
    let table = DeTable::parse(text).ok()?;
    let mut secrets = Vec::new();
    collect(table.get_ref(), &mut secrets);
    secrets.sort_by_key(|span| span.start);
    let mut shown = text.to_owned();
    // From the end, so that earlier positions stay valid.
    for span in secrets.into_iter().rev() {
        shown.replace_range(span, "\"\"");
    }
    Some(shown)
}

fn collect(table: &DeTable<'_>, secrets: &mut Vec<std::ops::Range<usize>>) {
    for (key, value) in table {
        let key = key.get_ref();
        let upper = key.to_ascii_uppercase();
        let is_named = SECRET_KEYS.iter().any(|secret| key.eq_ignore_ascii_case(secret));
        // A variable can be a table: `GITHUB_TOKEN = { value = "…", force = true }`.
        if is_named || SECRET_WORDS.iter().any(|word| upper.contains(word)) {
            leaves(value, &|_| true, secrets);
        } else if let DeValue::Table(inside) = value.get_ref() {
            collect(inside, secrets);
        } else {
            leaves(value, &has_password, secrets);
        }
    }
}

/// Returns the positions of the texts in a value.
fn leaves(value: &Spanned<DeValue<'_>>, is_secret: &dyn Fn(&str) -> bool, secrets: &mut Vec<std::ops::Range<usize>>) {
    match value.get_ref() {
        DeValue::String(text) if is_secret(text) => secrets.push(value.span()),
        DeValue::Array(list) => list.iter().for_each(|value| leaves(value, is_secret, secrets)),
        DeValue::Table(table) => table.values().for_each(|value| leaves(value, is_secret, secrets)),
        _ => {}
    }
}

/// Returns whether a text is a URL with a password, as a proxy or an index can be.
fn has_password(text: &str) -> bool {
    let authority = text.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
    authority.is_some_and(|authority| authority.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_left_out_and_the_rest_stays() {
        let text = "[build]\njobs = 2\n[registry]\ntoken = \"abc\"\n[registries.own]\nindex = \"sparse+https://own.example/\"\n\
                    token = 'def'\n[env]\nGITHUB_TOKEN = { value = \"ghi\", force = true }\nRUST_LOG = \"debug\"\n\
                    [http]\nproxy = \"http://user:jkl@proxy:80\"\n";
        let shown = without_secrets(text).expect("understood");
        for secret in ["abc", "def", "ghi", "jkl"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(DeTable::parse(&shown).is_ok(), "{shown}");
        for part in ["jobs = 2", "sparse+https://own.example/", "RUST_LOG = \"debug\"", "force = true"] {
            assert!(shown.contains(part), "{shown}");
        }
    }

    #[test]
    fn what_has_no_secret_is_shown_as_it_is_and_what_is_no_toml_not_at_all() {
        let text = "# mine\n[build]\ntarget-dir = \"/tmp/x\"\n";
        assert_eq!(without_secrets(text).as_deref(), Some(text));
        assert_eq!(without_secrets("fine"), None);
    }
}
