//! `hcl-syntax`: every matching file is HCL 2: Terraform, OpenTofu, Packer, Nomad and others.
//!
//! The parser is hcl-edit, which stops at the first error. It counts its depth, and stops before the stack ends.

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::text::one_line;
use gatehost_sdk::{About, File, FileVerifier, Finding, Rule, Verdict};

/// The size limit of a file.
const MOST_BYTES: usize = 4 << 20;

const FORMAT: Format = Format {
    name: "HCL",
    known_as: &["hcl", "terraform", "tf"],
    comments: &["#", "//"],
    quotes: &['"'],
    has_braces: true,
    reading: Reading::AtMark,
};

const RULES: &[Rule] =
    &[Rule::error("syntax", "The file is not valid HCL."), Rule::TOO_DEEP, Rule::NOT_UTF_8, Rule::UTF_16];

gatehost_sdk::syntax_settings! {
    struct Settings {}
}

struct HclSyntax;

impl FileVerifier for HclSyntax {
    type Settings = Settings;
    const ABOUT: About =
        About::new("hcl-syntax", env!("CARGO_PKG_VERSION"), "Every file is valid HCL (Terraform and others).")
            .files(&["**/*.tf", "**/*.tfvars", "**/*.hcl", "**/*.tofu", "**/*.nomad"])
            .settings::<Settings>()
            .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        file.judged_as(&FORMAT, settings.strict, |text| judge(file, text))
    }
}

gatehost_sdk::export_file_verifier!(HclSyntax);
// Trees are built once and never freed.
gatehost_sdk::use_arena!();

fn judge(file: &File, whole: &str) -> Verdict {
    if whole.len() > MOST_BYTES {
        return Verdict::abstain("the file is larger than 4 MiB, the limit of this verifier");
    }
    let text = whole.strip_prefix('\u{FEFF}').unwrap_or(whole);
    let error = match hcl_edit::parser::parse_body(text) {
        Ok(parsed) => {
            // Dropping a deep tree recurses; the memory goes with the instance.
            std::mem::forget(parsed);
            return Verdict::pass();
        }
        Err(error) => error,
    };
    let at = whole.len() - text.len() + error.location().offset();
    let message = error.message();
    // "expected at most 64 nested levels", "expected at most 128 chained binary operators"
    if message.contains("expected at most ") {
        return file.too_deep(at);
    }
    Finding::error("syntax", one_line(message)).at(file.place_of(at)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;

    fn verdict(text: &str) -> Verdict {
        let verdict = HclSyntax::check(&File::new("a.tf", text), Settings::default());
        assert!(HclSyntax::ABOUT.undeclared(&verdict).is_empty());
        verdict
    }

    #[test]
    fn valid_hcl_passes() {
        for text in [
            "",
            "\u{FEFF}# a\n// b\n/* c */\n",
            "a = 1\r\nb = [1, \"x\", true, null,]\r\n",
            "resource \"a\" \"b\" {\n  count = var.on ? 1 : 0\n  tags = { Name = \"${var.a}-${b[0].c}\", (d) = e }\n\n  lifecycle {}\n}\n",
            "x = [for k, v in var.m : \"${k}=${v}\" if v != null]\ny = { for k in l : k => upper(k)... }\n",
            "x = <<-EOT\n  a ${b}\n  %{ if c ~}d%{ endif }\n  EOT\n",
            "a = b.*.c\nd = e[*].f[0]\ng = -1 + !h && (i || j) ? 1e3 : 0.5\nk = f(l...)\n",
            "locals { a = 1 }\n",
            "t = \"a \\\"b\\\" $${c} %%{d}\"\n",
        ] {
            assert_eq!(verdict(text).status, Status::Pass, "{text:?}: {:?}", verdict(text).findings);
        }
    }

    #[test]
    fn the_first_error_has_its_code_and_place() {
        for (text, code, line) in [
            ("a = \n", "syntax", 1),
            ("a = [1 2]\n", "syntax", 1),
            ("a {\n  b = 1\n", "syntax", 2),
            ("a = 1\nb = \"ö${c\"\n", "syntax", 2),
            ("a \"b\" c\n", "syntax", 1),
            ("a = 1 b = 2\n", "syntax", 1),
            ("x = <<EOT\na\n", "syntax", 2),
            ("}\n", "syntax", 1),
        ] {
            let finding = verdict(text).findings.into_iter().next().expect(text);
            let (found, at, _) = finding.spot().expect("every finding has its place");
            assert_eq!((found.as_str(), at), (code, line), "{text:?}: {finding:?}");
        }
    }

    #[test]
    fn a_template_is_not_applicable() {
        let text = "region = {{ cookiecutter.region }}\n";
        assert_eq!(verdict(text).status, Status::NotApplicable);
        let strict = HclSyntax::check(&File::new("a.tf", text), Settings { strict: true });
        assert_eq!(strict.status, Status::Fail);
        assert_eq!(verdict("a = [1 2] # {{ cookiecutter.b }}\n").status, Status::Fail);
    }

    #[test]
    fn depth_has_an_end() {
        for part in ["[", "{a=", "f(", "\"${", "!", "-", "a ? b : ", "a + ", "[for a in b : ", "a {\n"] {
            assert_ne!(verdict(&format!("x = {}", part.repeat(20_000))).status, Status::Pass, "{part}");
            assert_ne!(verdict(&part.repeat(20_000)).status, Status::Pass, "{part}");
        }
        let nested = |depth: usize| format!("x = {}1{}\n", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(verdict(&nested(60)).status, Status::Pass);
        assert_eq!(verdict(&nested(100)).status, Status::Abstain);
        assert_eq!(verdict(&format!("x = {}1\n", "1 + ".repeat(200))).status, Status::Abstain);
        assert_eq!(verdict(&"b {\n a = [1, f(\"${b}\")]\n}\n".repeat(5_000)).status, Status::Pass);
    }
}
