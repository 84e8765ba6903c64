//! The shapes of credentials, as their issuers document them.

use gatehost_sdk::Rule;

/// One kind of credential.
pub(crate) struct Shape {
    /// The code of its findings.
    pub(crate) code: &'static str,
    /// What it is, with an article.
    pub(crate) name: &'static str,
    /// Of these, one stands in every text that contains one. Each has two bytes at least.
    pub(crate) marks: &'static [&'static str],
    /// What a report may show of it: the part that is no secret.
    pub(crate) shown: &'static str,
    /// What it looks like. The group `secret`, where there is one, is the credential itself. Empty for private keys, which
    /// are found by `keys.rs`.
    pub(crate) pattern: &'static str,
}

/// A token by itself. Before it stands no letter or digit, unless that is the end of an escape: `\n`, `%3D`, `\u003d`;
/// what must stand after it may be given.
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

/// What the verifier declares: a rule for each shape.
pub(crate) const RULES: [Rule; SHAPES.len()] = {
    const HELP: &str = "Remove it, and revoke it if it was ever shared. If it is not a secret, write a comment \
                        `gate:allow-secret` on its line, or add the key of the finding to `baseline`.";
    let mut rules = [Rule::error("", "").help(HELP); SHAPES.len()];
    let mut at = 0;
    while at < SHAPES.len() {
        rules[at].code = SHAPES[at].code;
        rules[at].summary = SHAPES[at].name;
        at += 1;
    }
    rules
};

pub(crate) const SHAPES: &[Shape] = &[
    shape(
        "private-key",
        "a private key",
        &["PRIVATE", "BEGIN", "LS0tLS1CRUdJTi", "PuTTY-User-Key-File"],
        "-----BEGIN",
        "",
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
    shape(
        "gitlab-token",
        "a GitLab token",
        &["glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glagent-", "glft-", "glimt-", "glsoat-", "glffct-"],
        "gl",
        token!(r"gl(?:pat|ptt|dt|rt|cbt|agent|ft|imt|soat|ffct)-[A-Za-z0-9_-]{20,}"),
    ),
    shape("slack-token", "a Slack token", &["xox"], "xox", token!(r"xox[abeoprs]-[0-9]{8,}-[A-Za-z0-9-]{20,}")),
    shape(
        "slack-app-token",
        "a Slack app token",
        &["xapp-"],
        "xapp-",
        token!(r"xapp-[0-9]-[A-Z0-9]{8,}-[0-9]{8,}-[a-f0-9]{40,}"),
    ),
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
    shape(
        "1password-token",
        "a 1Password service account token",
        &["ops_eyJ"],
        "ops_",
        token!(r"ops_eyJ[A-Za-z0-9+/]{200,}={0,3}"),
    ),
    shape("adobe-secret", "an Adobe client secret", &["p8e-"], "p8e-", token!(r"p8e-[A-Za-z0-9]{32}", r"\b")),
    shape(
        "age-key",
        "an age secret key",
        &["AGE-SECRET-KEY-1"],
        "AGE-SECRET-KEY-",
        token!(r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    ),
    shape("alibaba-key", "an Alibaba Cloud access key id", &["LTAI"], "LTAI", token!(r"LTAI[A-Za-z0-9]{20}", r"\b")),
    shape("artifactory-key", "an Artifactory API key", &["AKCp"], "AKCp", token!(r"AKCp[A-Za-z0-9]{69}", r"\b")),
    shape("atlassian-token", "an Atlassian API token", &["ATATT3"], "ATATT3", token!(r"ATATT3[A-Za-z0-9_=-]{150,}")),
    shape(
        "azure-client-secret",
        "an Azure client secret",
        &["Q~"],
        "",
        r"(?:^|[^A-Za-z0-9_~.-])(?P<secret>[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})(?:[^A-Za-z0-9_~.-]|$)",
    ),
    shape("clojars-token", "a Clojars token", &["CLOJARS_"], "CLOJARS_", token!(r"CLOJARS_[a-z0-9]{60}", r"\b")),
    shape(
        "cloudflare-origin-key",
        "a Cloudflare origin CA key",
        &["v1.0-"],
        "v1.0-",
        token!(r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}", r"\b"),
    ),
    shape("databricks-token", "a Databricks token", &["dapi"], "dapi", token!(r"dapi[a-f0-9]{32}(?:-[0-9])?", r"\b")),
    shape(
        "discord-webhook",
        "a Discord webhook",
        &["/api/webhooks/"],
        "https://discord",
        r"https://discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/(?P<secret>[A-Za-z0-9_-]{60,80})",
    ),
    shape("docker-token", "a Docker Hub token", &["dckr_"], "dckr_", token!(r"dckr_[po]at_[A-Za-z0-9_-]{27,}")),
    shape(
        "doppler-token",
        "a Doppler token",
        &["dp.pt.", "dp.st.", "dp.sa.", "dp.ct."],
        "dp.",
        token!(r"dp\.(?:pt|sa|ct|st(?:\.[a-z0-9_-]{2,35})?)\.[A-Za-z0-9]{40,44}", r"\b"),
    ),
    shape(
        "duffel-token",
        "a live Duffel token",
        &["duffel_live_"],
        "duffel_live_",
        token!(r"duffel_live_[A-Za-z0-9_=-]{43}"),
    ),
    shape(
        "dynatrace-token",
        "a Dynatrace token",
        &["dt0c01."],
        "dt0c01.",
        token!(r"dt0c01\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}", r"\b"),
    ),
    shape("easypost-key", "an EasyPost key", &["EZAK"], "EZAK", token!(r"EZAK[A-Za-z0-9]{54}", r"\b")),
    shape("figma-token", "a Figma token", &["figd_"], "figd_", token!(r"figd_[A-Za-z0-9_-]{38,}")),
    shape(
        "flyio-token",
        "a Fly.io token",
        &["fo1_", "fm1r_", "fm2_"],
        "f",
        token!(r"(?:fo1_[A-Za-z0-9_-]{43}|fm1r_[A-Za-z0-9+/]{100,}|fm2_[A-Za-z0-9+/]{100,})"),
    ),
    shape("frameio-token", "a Frame.io token", &["fio-u-"], "fio-u-", token!(r"fio-u-[A-Za-z0-9_=-]{64}")),
    shape(
        "grafana-token",
        "a Grafana token",
        &["glc_eyJ", "glsa_"],
        "gl",
        token!(r"(?:glc_eyJ[A-Za-z0-9+/]{32,400}={0,2}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8})"),
    ),
    shape("groq-key", "a Groq key", &["gsk_"], "gsk_", token!(r"gsk_[A-Za-z0-9]{52}", r"\b")),
    shape("heroku-key", "a Heroku key", &["HRKU-"], "HRKU-", token!(r"HRKU-AA[A-Za-z0-9_-]{58}")),
    shape("infracost-token", "an Infracost token", &["ico-"], "ico-", token!(r"ico-[A-Za-z0-9]{32}", r"\b")),
    shape("linear-key", "a Linear key", &["lin_api_"], "lin_api_", token!(r"lin_api_[A-Za-z0-9]{40}", r"\b")),
    shape(
        "mailgun-key",
        "a Mailgun key",
        &["mailgun", "Mailgun", "MAILGUN"],
        "key-",
        r#"(?i)mailgun[^\n]{0,60}?["'=: ](?P<secret>key-[a-f0-9]{32})\b"#,
    ),
    shape(
        "mailchimp-key",
        "a Mailchimp key",
        &["mailchimp", "Mailchimp", "MailChimp", "MAILCHIMP"],
        "",
        r#"(?i)mailchimp[^\n]{0,60}?["'=: ](?P<secret>[a-f0-9]{32}-us[0-9]{1,2})\b"#,
    ),
    shape(
        "mapbox-token",
        "a secret Mapbox token",
        &["sk.eyJ"],
        "sk.",
        token!(r"sk\.eyJ[A-Za-z0-9_-]{60,}\.[A-Za-z0-9_-]{22}"),
    ),
    shape(
        "newrelic-key",
        "a New Relic key",
        &["NRAK-", "NRII-"],
        "NR",
        token!(r"(?:NRAK-[A-Z0-9]{27}|NRII-[A-Za-z0-9-]{32})", r"\b"),
    ),
    shape("notion-token", "a Notion token", &["ntn_"], "ntn_", token!(r"ntn_[0-9]{11}[A-Za-z0-9]{35}", r"\b")),
    shape("nuget-key", "a NuGet key", &["oy2"], "oy2", token!(r"oy2[a-z0-9]{43}", r"\b")),
    shape("openshift-token", "an OpenShift token", &["sha256~"], "sha256~", token!(r"sha256~[A-Za-z0-9_-]{43}")),
    shape("perplexity-key", "a Perplexity key", &["pplx-"], "pplx-", token!(r"pplx-[A-Za-z0-9]{48}", r"\b")),
    shape(
        "planetscale-token",
        "a PlanetScale credential",
        &["pscale_"],
        "pscale_",
        token!(r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{32,64}"),
    ),
    shape("postman-key", "a Postman key", &["PMAK-"], "PMAK-", token!(r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", r"\b")),
    shape("prefect-key", "a Prefect key", &["pnu_"], "pnu_", token!(r"pnu_[A-Za-z0-9]{36}", r"\b")),
    shape("pulumi-token", "a Pulumi token", &["pul-"], "pul-", token!(r"pul-[a-f0-9]{40}", r"\b")),
    shape("readme-key", "a ReadMe key", &["rdme_"], "rdme_", token!(r"rdme_[a-z0-9]{70}", r"\b")),
    shape("replicate-token", "a Replicate token", &["r8_"], "r8_", token!(r"r8_[A-Za-z0-9]{37}", r"\b")),
    shape("rubygems-key", "a RubyGems key", &["rubygems_"], "rubygems_", token!(r"rubygems_[a-f0-9]{48}", r"\b")),
    shape(
        "sendinblue-key",
        "a Brevo (Sendinblue) key",
        &["xkeysib-"],
        "xkeysib-",
        token!(r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}", r"\b"),
    ),
    shape(
        "sentry-token",
        "a Sentry token",
        &["sntrys_eyJ", "sntryu_"],
        "sntry",
        token!(r"(?:sntrys_eyJ[A-Za-z0-9+/=_-]{80,}|sntryu_[a-f0-9]{64})"),
    ),
    shape(
        "shippo-token",
        "a live Shippo token",
        &["shippo_live_"],
        "shippo_live_",
        token!(r"shippo_live_[a-f0-9]{40}", r"\b"),
    ),
    shape(
        "shopify-token",
        "a Shopify token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        "shp",
        token!(r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}", r"\b"),
    ),
    shape(
        "sourcegraph-token",
        "a Sourcegraph token",
        &["sgp_"],
        "sgp_",
        token!(r"sgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}", r"\b"),
    ),
    shape(
        "square-token",
        "a Square credential",
        &["sq0atp-", "sq0csp-"],
        "sq0",
        token!(r"sq0(?:atp-[A-Za-z0-9_-]{22}|csp-[A-Za-z0-9_-]{43})"),
    ),
    shape("supabase-token", "a Supabase token", &["sbp_"], "sbp_", token!(r"sbp_[a-f0-9]{40}", r"\b")),
    shape(
        "tailscale-key",
        "a Tailscale key",
        &["tskey-"],
        "tskey-",
        token!(r"tskey-[a-z]+-[A-Za-z0-9]{10,}-[A-Za-z0-9]{16,}"),
    ),
    shape(
        "telegram-token",
        "a Telegram bot token",
        &[":AA"],
        "",
        r"(?:^|[^A-Za-z0-9])(?P<secret>[0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|$)",
    ),
    shape(
        "terraform-token",
        "a Terraform Cloud token",
        &[".atlasv1."],
        "",
        token!(r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,70}"),
    ),
    shape(
        "twilio-key",
        "a Twilio key",
        &["twilio", "Twilio", "TWILIO"],
        "SK",
        r#"(?i:twilio)[^\n]{0,80}?\b(?P<secret>SK[a-f0-9]{32})\b"#,
    ),
    shape(
        "vault-token",
        "a HashiCorp Vault token",
        &["hvs.", "hvb."],
        "hv",
        token!(r"hv(?:s\.[A-Za-z0-9_-]{90,120}|b\.[A-Za-z0-9_-]{138,300})"),
    ),
    shape(
        "aws-bedrock-key",
        "an Amazon Bedrock key",
        &["ABSKQmVkcm9ja0FQSUtleS"],
        "ABSK",
        token!(r"ABSKQmVkcm9ja0FQSUtleS[A-Za-z0-9+/]{80,250}={0,2}"),
    ),
    shape(
        "artifactory-reference-token",
        "an Artifactory reference token",
        &["cmVmdGtu"],
        "",
        token!(r"cmVmdGtu[A-Za-z0-9]{56}", r"\b"),
    ),
    shape("contentful-token", "a Contentful token", &["CFPAT-"], "CFPAT-", token!(r"CFPAT-[A-Za-z0-9_-]{43}")),
    shape(
        "defined-networking-key",
        "a Defined Networking key",
        &["dnkey-"],
        "dnkey-",
        token!(r"dnkey-[A-Za-z0-9_=-]{26}-[A-Za-z0-9_=-]{52}"),
    ),
    shape(
        "facebook-token",
        "a Facebook access token",
        &["EAAC", "EAAM"],
        "EAA",
        token!(r"EAA[MC][A-Za-z0-9]{100,}", r"\b"),
    ),
    shape(
        "flutterwave-key",
        "a Flutterwave key",
        &["FLWSECK-"],
        "FLWSECK-",
        token!(r"FLWSECK-[a-f0-9]{32}-[A-Za-z0-9]{1,20}-X", r"\b"),
    ),
    shape("maxmind-key", "a MaxMind licence key", &["_mmk"], "", token!(r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", r"\b")),
    shape("netlify-token", "a Netlify token", &["nfp_"], "nfp_", token!(r"nfp_[A-Za-z0-9]{36}", r"\b")),
    shape("scalingo-token", "a Scalingo token", &["tk-us-"], "tk-us-", token!(r"tk-us-[A-Za-z0-9_-]{48}")),
    shape(
        "settlemint-token",
        "a SettleMint token",
        &["sm_aat_", "sm_pat_", "sm_sat_"],
        "sm_",
        token!(r"sm_[aps]at_[A-Za-z0-9]{16}", r"\b"),
    ),
    shape(
        "slack-config-token",
        "a Slack configuration token",
        &["xoxe"],
        "xoxe",
        token!(r"(?:xoxe\.xox[bp]-[0-9]-[A-Za-z0-9]{163,166}|xoxe-[0-9]-[A-Za-z0-9]{146})"),
    ),
    shape("sonar-token", "a SonarQube token", &["squ_", "sqp_", "sqa_"], "sq", token!(r"sq[upa]_[a-f0-9]{40}", r"\b")),
    shape("typeform-token", "a Typeform token", &["tfp_"], "tfp_", token!(r"tfp_[A-Za-z0-9_.=-]{59}")),
    shape("xai-key", "an xAI key", &["xai-"], "xai-", token!(r"xai-[A-Za-z0-9]{80}", r"\b")),
];
