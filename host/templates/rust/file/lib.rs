//! `{{name}}`: no text contains a word that marks unfinished work.

use gatehost_sdk::{File, Finding, Rule, Verdict};

gatehost_sdk::settings! {
    struct Settings {
        /// The word that no file may contain.
        word: String = "TODO" => { minLength: 1 },
    }
}

gatehost_sdk::file_verifier!(
    check,
    summary: "No text contains a word that marks unfinished work.",
    files: ["**/*.md", "**/*.txt"],
    settings: Settings,
    rules: [Rule::error("word-found", "A text contains the word.")],
);

fn check(file: &File, settings: Settings) -> Verdict {
    let Some(text) = file.text() else { return Verdict::abstain("the file is not UTF-8 text") };
    let word = settings.word.as_str();
    let findings = text.match_indices(word).map(|(at, _)| {
        Finding::error("word-found", format!("found `{word}`"))
            .at(file.place_of(at))
            .hint("finish it, or take it out")
    });
    Verdict::of(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_occurrence_is_found_at_its_place() {
        let file = File::new("a.txt", "ö TODO\nTODO");
        let verdict = check(&file, Settings { word: "TODO".into() });
        let places = verdict.findings.iter().filter_map(|finding| finding.place.as_ref());
        assert_eq!(places.map(|place| (place.line, place.column)).collect::<Vec<_>>(), [
            (Some(1), Some(3)),
            (Some(2), Some(1)),
        ]);
    }
}
