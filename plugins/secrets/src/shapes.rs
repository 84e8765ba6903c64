//! The shapes of credentials, as their issuers document them.

/// One kind of credential.
pub(crate) struct Shape {
    /// The code of its findings.
    pub(crate) code: &'static str,
    /// What it is, with an article.
    pub(crate) name: &'static str,
    /// Of these, one stands in every text that contains one.
    pub(crate) marks: &'static [&'static str],
    /// What a report may show of it: the part that is no secret.
    pub(crate) shown: &'static str,
    /// What it looks like. The group `secret`, where there is one, is the credential itself, and `random` the part of
    /// it that nobody made up.
    pub(crate) pattern: &'static str,
}

/// A token by itself. Before it stands no letter or digit, unless that is the end of an escape: `\n`, `%3D`, `\u003d`;
/// what must stand behind it may be given.
macro_rules! token {
    ($secret:literal) => {
        token!($secret, "")
    };
    ($secret:literal, $behind:literal) => {
        concat!(
            r"(?:\b|_|\\[a-z]|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})(?P<secret>",
            $secret,
            ")",
            $behind
        )
    };
}

const fn shape(
    code: &'static str,
    name: &'static str,
    marks: &'static [&'static str],
    shown: &'static str,
    pattern: &'static str,
) -> Shape {
    Shape { code, name, marks, shown, pattern }
}

pub(crate) const SHAPES: &[Shape] = &[
    // With some of the key after it: a program that looks for the line is not one that has a key.
    shape(
        "private-key",
        "a private key",
        &["PRIVATE KEY"],
        "-----BEGIN",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr])+(?:[A-Za-z-]+: [^\n]{0,200}\s+)*(?P<random>[A-Za-z0-9+/]{32,})",
    ),
    shape(
        "aws-access-key",
        "an AWS access key id",
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        "A",
        token!(r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}", r"(?:\b|_)"),
    ),
    shape(
        "aws-secret-key",
        "an AWS secret access key",
        &["secret", "Secret", "SECRET"],
        "",
        r#"(?i)aws[a-z0-9_.-]{0,20}secret[a-z0-9_.-]{0,20}["']?\s{0,5}[=:]{1,2}>?\s{0,5}["']?(?P<secret>[a-z0-9/+]{40})(?:[^a-z0-9/+=]|$)"#,
    ),
    shape(
        "github-token",
        "a GitHub token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        "gh",
        token!(r"gh[pousr]_[A-Za-z0-9]{36,255}", r"(?:\b|_)"),
    ),
    shape(
        "github-fine-grained-token",
        "a GitHub fine-grained token",
        &["github_pat_"],
        "github_pat_",
        token!(r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}", r"(?:\b|_)"),
    ),
    shape("gitlab-token", "a GitLab token", &["glpat-"], "glpat-", token!(r"glpat-[A-Za-z0-9_-]{20,}")),
    shape("slack-token", "a Slack token", &["xox"], "xox", token!(r"xox[abeoprs]-[0-9]{8,}-[A-Za-z0-9-]{20,}")),
    shape(
        "slack-webhook",
        "a Slack webhook",
        &["hooks.slack.com"],
        "https://hooks.slack.com/",
        r"https://hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/[A-Za-z0-9]{24}",
    ),
    shape("stripe-key", "a live Stripe key", &["k_live_"], "", token!(r"[sr]k_live_[A-Za-z0-9]{16,}")),
    shape(
        "google-api-key",
        "a Google API key",
        &["AIza"],
        "AIza",
        token!(r"AIza[A-Za-z0-9_-]{35}", r"(?:[^A-Za-z0-9_-]|$)"),
    ),
    shape("google-oauth-secret", "a Google OAuth secret", &["GOCSPX-"], "GOCSPX-", token!(r"GOCSPX-[A-Za-z0-9_-]{28}")),
    shape(
        "jwt",
        "a JSON Web Token",
        &[".eyJ"],
        "eyJ",
        token!(r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"),
    ),
    shape(
        "openai-key",
        "an OpenAI key",
        &["T3BlbkFJ"],
        "sk-",
        token!(r"sk-(?:[a-z]+-)?[A-Za-z0-9_-]{20,80}T3BlbkFJ[A-Za-z0-9_-]{20,80}"),
    ),
    shape(
        "anthropic-key",
        "an Anthropic key",
        &["sk-ant-"],
        "sk-ant-",
        token!(r"sk-ant-[a-z]+[0-9]{2}-[A-Za-z0-9_-]{80,120}"),
    ),
    shape("npm-token", "an npm token", &["npm_"], "npm_", token!(r"npm_[A-Za-z0-9]{36}", r"(?:\b|_)")),
    shape("pypi-token", "a PyPI token", &["pypi-AgEI"], "pypi-", token!(r"pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}")),
    shape("sendgrid-key", "a SendGrid key", &["SG."], "SG.", token!(r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}")),
    shape("huggingface-token", "a Hugging Face token", &["hf_"], "hf_", token!(r"hf_[A-Za-z]{34}", r"(?:\b|_)")),
    shape(
        "digitalocean-token",
        "a DigitalOcean token",
        &["doo_v1_", "dop_v1_", "dor_v1_"],
        "do",
        token!(r"do[opr]_v1_[a-f0-9]{64}", r"(?:\b|_)"),
    ),
    shape(
        "azure-storage-key",
        "an Azure storage key",
        &["AccountKey="],
        "",
        r"AccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)",
    ),
];
