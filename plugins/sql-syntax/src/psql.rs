//! The commands of psql: lines that begin with `\`.

/// Those of PostgreSQL 18 and before, without the many that begin with `\d`.
const COMMANDS: &str = "! ? a bind bind_named c C cd close close_prepared connect conninfo copy copyright crosstabview e \
    echo edit ef elif else encoding endif endpipeline errverbose ev f flush flushrequest g gdesc getenv getresults gexec \
    gset gx h H help html i if include include_relative ir l list lo_export lo_import lo_list lo_unlink o out p parse \
    password print prompt pset q qecho quit r reset restrict s sendpipeline set setenv sf startpipeline sv syncpipeline t \
    T timing unrestrict unset w warn watch write x z";

/// What `\d` describes.
const DESCRIBED: &str = "a A Ac Af Ao Ap b c config C d D dp es et eu ew f fa fn fp ft fw F Fd Fp Ft g l L n o O p P Pi Pn \
    Pt rds rg Rp Rs T u x X y";

/// Whether psql has a command of this name: the word after the `\`.
pub(crate) fn is_known(name: &str) -> bool {
    // More of it (`+`), of the system too (`S`), and one line for each column (`x`).
    let plain = name.trim_end_matches(['+', 'S', 'x']);
    let has = |list: &str, name: &str| list.split_ascii_whitespace().any(|known| known == name);
    has(COMMANDS, name) || has(COMMANDS, plain) || describes(name, &has) || describes(plain, &has)
}

fn describes(name: &str, has: &impl Fn(&str, &str) -> bool) -> bool {
    // Kinds of relations go together: `\dtv`.
    name.strip_prefix('d')
        .is_some_and(|what| has(DESCRIBED, what) || what.bytes().all(|kind| b"Eimstv".contains(&kind)))
}

#[cfg(test)]
mod tests {
    use super::is_known;

    #[test]
    fn what_psql_knows_is_known() {
        for name in ["connect", "c", "d", "d+", "dt+", "dtvS+", "dx", "sf+", "l+", "restrict", "lo_import", "!", "ddp"]
        {
            assert!(is_known(name), "{name}");
        }
        for name in ["", "this", "drop", "selec", "conect", "+", "n"] {
            assert!(!is_known(name), "{name}");
        }
    }
}
