use super::*;
use gatehost_sdk::Status;

/// Characters without any meaning, the same each time, so that no secret stands in this file.
impl Default for Settings {
    fn default() -> Self {
        gatehost_sdk::__defaults()
    }
}

fn noise(alphabet: &str, length: usize) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut state: u32 = 12_345;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        alphabet[(state >> 16) as usize % alphabet.len()]
    };
    (0..length).map(next).collect()
}

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

fn file(text: &str) -> File {
    File::new("a.txt", text)
}

fn codes(text: &str) -> Vec<String> {
    let verdict = judge(&file(text), &Settings::default());
    assert_eq!(Secrets::ABOUT.undeclared(&verdict), [""; 0]);
    verdict.findings.into_iter().map(|finding| finding.code).collect()
}

fn samples() -> Vec<(&'static str, String)> {
    let letters = |length| noise(LETTERS, length);
    let hex = |length| noise(HEX, length);
    let lower = |length| noise("abcdefghijklmnopqrstuvwxyz0123456789", length);
    let digits = |length| noise("0123456789", length);
    vec![
        ("private-key", format!("-----BEGIN RSA {} KEY-----\n{}\n", "PRIVATE", letters(64))),
        ("private-key", format!("\"-----BEGIN {} KEY-----\\n{}\\n\"", "PRIVATE", letters(64))),
        ("private-key", format!("-----BEGIN OPENSSH {} KEY-----\r\n{}\r\n", "PRIVATE", letters(70))),
        ("aws-access-key", format!("AKIA{}", noise(CAPITALS, 16))),
        ("aws-access-key", format!("ASIA{}", noise(CAPITALS, 16))),
        ("aws-secret-key", format!("aws_secret_access_key = {}", letters(40))),
        ("github-token", format!("ghp_{}", letters(36))),
        ("github-token", format!("ghs_{}", letters(36))),
        ("github-fine-grained-token", format!("github_pat_{}_{}", letters(22), letters(59))),
        ("gitlab-token", format!("glpat-{}", letters(20))),
        ("slack-token", format!("xoxb-{}-{}-{}", noise("0123456789", 12), noise("0123456789", 12), letters(24))),
        (
            "slack-webhook",
            format!("https://hooks.slack.com/services/T{}/B{}/{}", noise(CAPITALS, 9), noise(CAPITALS, 9), letters(24)),
        ),
        ("stripe-key", format!("sk_live_{}", letters(24))),
        ("stripe-key", format!("rk_live_{}", letters(24))),
        ("google-api-key", format!("AIza{}", letters(35))),
        ("google-oauth-secret", format!("GOCSPX-{}", letters(28))),
        ("jwt", format!("eyJ{}.eyJ{}.{}", letters(30), letters(40), letters(43))),
        ("openai-key", format!("sk-proj-{}T3BlbkFJ{}", letters(20), letters(20))),
        ("anthropic-key", format!("sk-ant-api03-{}", letters(95))),
        ("npm-token", format!("npm_{}", letters(36))),
        ("pypi-token", format!("pypi-AgEIcHlwaS5vcmc{}", letters(60))),
        ("sendgrid-key", format!("SG.{}.{}", letters(22), letters(43))),
        ("huggingface-token", format!("hf_{}", noise("abcdefghijklmnopqrstuvwxyzABCDEFGH", 34))),
        ("digitalocean-token", format!("dop_v1_{}", noise(HEX, 64))),
        ("azure-storage-key", format!("AccountKey={}==", letters(86))),
        ("slack-app-token", format!("xapp-1-A{}-{}-{}", noise(CAPITALS, 10), digits(13), hex(64))),
        ("1password-token", format!("ops_eyJ{}", letters(250))),
        ("adobe-secret", format!("p8e-{}", letters(32))),
        ("age-key", format!("AGE-SECRET-KEY-1{}", noise("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))),
        ("alibaba-key", format!("LTAI{}", letters(20))),
        ("artifactory-key", format!("AKCp{}", letters(69))),
        ("atlassian-token", format!("ATATT3{}", letters(186))),
        ("azure-client-secret", format!("aB38Q~{}", letters(34))),
        ("clojars-token", format!("CLOJARS_{}", lower(60))),
        ("cloudflare-origin-key", format!("v1.0-{}-{}", hex(24), hex(146))),
        ("databricks-token", format!("dapi{}", hex(32))),
        ("discord-webhook", format!("https://discord.com/api/webhooks/{}/{}", digits(18), letters(68))),
        ("docker-token", format!("dckr_pat_{}", letters(27))),
        ("doppler-token", format!("dp.pt.{}", letters(43))),
        ("duffel-token", format!("duffel_live_{}", letters(43))),
        ("dynatrace-token", format!("dt0c01.{}.{}", noise(CAPITALS, 24), noise(CAPITALS, 64))),
        ("easypost-key", format!("EZAK{}", letters(54))),
        ("figma-token", format!("figd_{}", letters(40))),
        ("flyio-token", format!("fo1_{}", letters(43))),
        ("flyio-token", format!("fm2_{}", letters(120))),
        ("frameio-token", format!("fio-u-{}", letters(64))),
        ("grafana-token", format!("glsa_{}_{}", letters(32), hex(8))),
        ("grafana-token", format!("glc_eyJ{}", letters(60))),
        ("groq-key", format!("gsk_{}", letters(52))),
        ("heroku-key", format!("HRKU-AA{}", letters(58))),
        ("infracost-token", format!("ico-{}", letters(32))),
        ("linear-key", format!("lin_api_{}", letters(40))),
        ("mailgun-key", format!("MAILGUN_API_KEY=key-{}", hex(32))),
        ("mailchimp-key", format!("mailchimp_key = {}-us12", hex(32))),
        ("mapbox-token", format!("sk.eyJ{}.{}", letters(70), letters(22))),
        ("newrelic-key", format!("NRAK-{}", noise(CAPITALS, 27))),
        ("notion-token", format!("ntn_{}{}", digits(11), letters(35))),
        ("nuget-key", format!("oy2{}", lower(43))),
        ("openshift-token", format!("sha256~{}", letters(43))),
        ("perplexity-key", format!("pplx-{}", letters(48))),
        ("planetscale-token", format!("pscale_tkn_{}", letters(43))),
        ("postman-key", format!("PMAK-{}-{}", hex(24), hex(34))),
        ("prefect-key", format!("pnu_{}", letters(36))),
        ("pulumi-token", format!("pul-{}", hex(40))),
        ("readme-key", format!("rdme_{}", lower(70))),
        ("replicate-token", format!("r8_{}", letters(37))),
        ("rubygems-key", format!("rubygems_{}", hex(48))),
        ("sendinblue-key", format!("xkeysib-{}-{}", hex(64), letters(16))),
        ("sentry-token", format!("sntryu_{}", hex(64))),
        ("shippo-token", format!("shippo_live_{}", hex(40))),
        ("shopify-token", format!("shpat_{}", hex(32))),
        ("sourcegraph-token", format!("sgp_{}_{}", hex(16), hex(40))),
        ("square-token", format!("sq0atp-{}", letters(22))),
        ("supabase-token", format!("sbp_{}", hex(40))),
        ("tailscale-key", format!("tskey-auth-{}-{}", letters(12), letters(24))),
        ("telegram-token", format!("{}:AA{}", digits(9), letters(33))),
        ("terraform-token", format!("{}.atlasv1.{}", letters(14), letters(67))),
        ("twilio-key", format!("TWILIO_KEY=SK{}", hex(32))),
        ("vault-token", format!("hvs.{}", letters(95))),
        ("aws-bedrock-key", format!("ABSKQmVkcm9ja0FQSUtleS{}", letters(110))),
        ("artifactory-reference-token", format!("cmVmdGtu{}", letters(56))),
        ("contentful-token", format!("CFPAT-{}", letters(43))),
        ("defined-networking-key", format!("dnkey-{}-{}", letters(26), letters(52))),
        ("facebook-token", format!("EAAC{}", letters(150))),
        ("flutterwave-key", format!("FLWSECK-{}-19ab-X", hex(32))),
        ("maxmind-key", format!("{}_{}_mmk", letters(6), letters(29))),
        ("netlify-token", format!("nfp_{}", letters(36))),
        ("scalingo-token", format!("tk-us-{}", letters(48))),
        ("settlemint-token", format!("sm_aat_{}", letters(16))),
        ("slack-config-token", format!("xoxe.xoxp-1-{}", letters(166))),
        ("sonar-token", format!("squ_{}", hex(40))),
        ("typeform-token", format!("tfp_{}", letters(59))),
        ("xai-key", format!("xai-{}", letters(80))),
        ("1password-secret-key", format!("A3-{}-{}-23ABC-45DEF-67GHJ", noise(CAPITALS, 6), noise(CAPITALS, 11))),
        ("airtable-token", format!("AIRTABLE_TOKEN=pat{}.{}", letters(14), hex(64))),
        ("authress-key", format!("sc_{}.{}.acc-{}.{}", letters(24), letters(4), lower(20), letters(60))),
        ("aws-access-key", format!("A3TX{}", noise(CAPITALS, 16))),
        ("aws-bedrock-key", format!("bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t{}", letters(90))),
        ("beamer-key", format!("beamer_key = b_{}", letters(44))),
        ("clickhouse-key", format!("4b1d{}", letters(38))),
        ("dropbox-token", format!("DROPBOX_TOKEN=sl.{}", letters(135))),
        ("dropbox-token", format!("dropbox: {}AAAAAAAAAA{}", letters(11), letters(43))),
        ("encoded-jwt", format!("ZXlK{}", letters(160))),
        ("flyio-token", format!("fm1a_{}", letters(120))),
        ("gitlab-session-cookie", format!("_gitlab_session={}", lower(32))),
        ("gitlab-token", format!("gloas-{}", letters(64))),
        ("gitlab-token", format!("GR1348941{}", letters(20))),
        ("gocardless-token", format!("GOCARDLESS_TOKEN=live_{}", letters(40))),
        ("grafana-token", format!("eyJrIjoi{}", letters(90))),
        ("harness-token", format!("pat.{}.{}.{}", letters(22), letters(24), letters(20))),
        ("huggingface-token", format!("api_org_{}", noise("abcdefghijklmnopqrstuvwxyzABCDEFGH", 34))),
        ("intra42-secret", format!("s-s4t2ud-{}", hex(64))),
        ("lob-key", format!("live_{}", hex(35))),
        ("mailgun-key", format!("mailgun_signing_key = {}-{}-{}", hex(32), hex(8), hex(8))),
        ("octopus-key", format!("API-{}", noise(CAPITALS, 26))),
        ("plaid-token", format!("access-production-{}-{}-{}-{}-{}", hex(8), hex(4), hex(4), hex(4), hex(12))),
        ("sidekiq-credential", format!("https://{}:{}@gems.contribsys.com/", "1a2b3c4d", "5e6f7a8b")),
        ("sidekiq-credential", format!("BUNDLE_GEMS__CONTRIBSYS__COM={}:{}", "1a2b3c4d", "5e6f7a8b")),
        ("slack-token", format!("xoxa-2-{}", letters(40))),
        (
            "slack-webhook",
            format!(
                "https://hooks.slack.com/workflows/T{}/A{}/{}/{}",
                noise(CAPITALS, 9),
                noise(CAPITALS, 9),
                digits(18),
                letters(24)
            ),
        ),
        ("square-access-token", format!("square_token: EAAA{}", letters(60))),
        (
            "teams-webhook",
            format!(
                "https://acme.webhook.office.com/webhookb2/{0}@{0}/IncomingWebhook/{1}/{0}",
                "1a2b3c4d-1a2b-1a2b-1a2b-1a2b3c4d5e6f",
                hex(32)
            ),
        ),
        ("twitter-bearer-token", format!("{}{}%3D{}", "A".repeat(22), letters(20), letters(50))),
        ("yandex-token", format!("AQVN{}", letters(36))),
        ("yandex-token", format!("t1.{}.{}", letters(120), letters(86))),
    ]
}

#[test]
fn every_shape_is_found_and_never_repeated() {
    for (code, secret) in samples() {
        for text in [format!("x = \"{secret}\"\n"), format!("export KEY={secret}\n"), secret.clone()] {
            assert_eq!(codes(&text), [code], "{text}");
        }
        let verdict = judge(&file(&format!("a\nkey: {secret}")), &Settings::default());
        let shown = format!("{verdict:?}");
        let tail: String = secret.trim().chars().rev().take(20).collect::<Vec<_>>().into_iter().rev().collect();
        assert!(!shown.contains(tail.trim()), "{shown}");
        assert_eq!(verdict.findings[0].place.as_ref().and_then(|place| place.line), Some(2), "{code}");
    }
    let untested: Vec<&str> = SHAPES
        .iter()
        .map(|shape| shape.code)
        .filter(|code| !samples().iter().any(|(known, _)| known == code))
        .collect();
    assert!(untested.is_empty(), "without a sample: {untested:?}");
}

#[test]
fn what_only_looks_like_one_passes() {
    let letters = |length| noise(LETTERS, length);
    for text in [
        String::new(),
        "password = \"hunter2\"".to_owned(),
        "if line.starts_with(\"-----BEGIN RSA PRIVATE KEY-----\") {".to_owned(),
        format!("-----BEGIN PUBLIC KEY-----\n{}\n", letters(64)),
        format!("-----BEGIN CERTIFICATE-----\n{}\n", letters(64)),
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
        "aws_secret_access_key = ${AWS_SECRET_ACCESS_KEY}".to_owned(),
        format!("xAKIA{}", noise(CAPITALS, 16)),
        format!("AKIA{}", noise(CAPITALS, 40)),
        format!("ghp_{}", "x".repeat(36)),
        "ghp_your_token_here".to_owned(),
        "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}".to_owned(),
        "xoxb-your-token".to_owned(),
        format!("sk_test_{}", letters(24)),
        format!("pk_live_{}", letters(24)),
        "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX".to_owned(),
        "eyJhbGciOiJIUzI1NiJ9".to_owned(),
        format!("sha256-{}", letters(44)),
        noise(HEX, 64),
        "AIzaSy...".to_owned(),
        "npm_config_registry=https://registry.example.com".to_owned(),
        "SG.short.key".to_owned(),
        "hf_hub_download(repo_id)".to_owned(),
        "risk-assessment-and-task-management-for-everybody-here".to_owned(),
        "A3-PAPER-A4-PAPER".to_owned(),
        "API-REFERENCE-AND-GUIDES".to_owned(),
        format!("data:font/woff2;base64,{}/{}/", "A".repeat(60), letters(90)),
        format!("t1.{} = t1.id", letters(8)),
        format!("EAAA{}", letters(60)),
    ] {
        assert_eq!(codes(&text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_private_key_is_found_in_pieces_and_in_base64() {
    let key = "PRIVATE KEY";
    let (body, line) = (noise(LETTERS, 240), noise(LETTERS, 64));
    let pem = format!("-----BEGIN RSA {key}-----\n{line}\n{line}\n{line}\n-----END RSA {key}-----\n");
    let cut = |length: usize| {
        let pieces: Vec<&str> = (0..body.len() / length).map(|at| &body[at * length..(at + 1) * length]).collect();
        format!("'-----BEGIN {key}-----' + '{}'", pieces.join("' + '"))
    };
    let encoded = encoded(&pem);
    let wrapped: Vec<&str> = (0..encoded.len() / 64).map(|at| &encoded[at * 64..(at + 1) * 64]).collect();
    for text in [
        cut(12),
        cut(8),
        pem.replacen("PRIVATE", "PRIV' + 'ATE", 1),
        pem.replacen(" PRIVATE ", "' + ' PRIVATE' + ' ", 1),
        pem.replacen("PRIVATE", "PRIV\u{200b}ATE", 1),
        pem.replace('-', "\\x2d"),
        pem.replace('-', "&#45;"),
        pem.replace("-----BEGIN RSA", "---- BEGIN SSH2 ENCRYPTED").replace("KEY-----", "KEY ----"),
        format!("tls.key: {encoded}\n"),
        format!("key: |\n  {}\n", wrapped.join("\n  ")),
        format!("PuTTY-User-Key-File-3: ssh-ed25519\nPublic-Lines: 1\n{line}\nPrivate-Lines: 1\n{line}\n"),
    ] {
        assert_eq!(codes(&text), ["private-key"], "{text}");
    }
    let certificate = pem.replace(&format!("RSA {key}"), "CERTIFICATE");
    for text in [
        format!("tls.crt: {}\n", self::encoded(&certificate)),
        certificate,
        format!("[\"-----BEGIN {key}-----\", \"Alpha1\", \"Bravo2\", \"Delta3\"]"),
        format!("const BEGIN: &str = \"-----BEGIN\"; const KIND: &str = \"{key}\"; let X1 = parse(BEGIN);"),
        format!("PuTTY-User-Key-File-3: ssh-ed25519\nPublic-Lines: 1\n{line}\n"),
    ] {
        assert_eq!(codes(&text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_private_key_is_found_in_json_and_xml() {
    let (key, public) = (noise(LETTERS, 86), noise(LETTERS, 80));
    let rsa = format!("{{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\"{public}\",\"d\":\"{key}\"}}");
    let xml = format!("<RSAKeyValue><Modulus>{public}</Modulus><D>{key}==</D></RSAKeyValue>");
    for text in [
        rsa.clone(),
        format!("{{\"keys\": [{{\"use\": \"sig\"}}, {rsa}]}}"),
        rsa.replace(',', ",\n  ").replace(':', ": "),
        rsa.replace('"', "\\\""),
        format!("{{\"d\": \"{}_-x1\", \"x\": \"a\", \"crv\": \"Ed25519\", \"kty\": \"OKP\"}}", &key[..39]),
        format!("const key = {{ kty: 'EC', crv: 'P-256', d: '{}' }};", &key[..43]),
        format!("{{\"kty\": \"oct\", \"alg\": \"A128KW\", \"k\": \"{}\"}}", &key[..22]),
        format!("kty: EC\ncrv: P-256\nd: {}\n", &key[..43]),
        xml.clone(),
        xml.replace('>', ">\n  "),
        xml.replace('<', "&lt;").replace('>', "&gt;"),
        xml.replace('<', "\\u003c").replace('>', "\\u003e"),
        format!("<DSAKeyValue><P>{public}</P><X>{}=</X></DSAKeyValue>", &key[..27]),
    ] {
        assert_eq!(codes(&text), ["private-key"], "{text}");
    }
    for text in [
        format!("{{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\"{public}\",\"kid\":\"{key}\"}}"),
        format!("[{{\"kty\":\"EC\",\"x\":\"{public}\"}}, {{\"d\":\"{key}\"}}]"),
        "const jwk = { kty: 'EC', d: privateKey.export({ format: 'jwk' }).d };".to_owned(),
        "{\"kty\":\"EC\",\"d\":\"the private part, in base64url\"}".to_owned(),
        // RFC 7517, appendix A.2.
        "{\"kty\":\"EC\",\"d\":\"870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE\"}".to_owned(),
        format!("<RSAKeyValue><Modulus>{public}</Modulus><Exponent>AQAB</Exponent></RSAKeyValue>"),
        format!("<RSAKeyValue><Modulus>{public}</Modulus></RSAKeyValue><D>{key}</D>"),
        "xml.Append(\"<RSAKeyValue><D>\").Append(Convert.ToBase64String(parameters.D)).Append(\"</D></RSAKeyValue>\");"
            .to_owned(),
    ] {
        assert_eq!(codes(&text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_private_key_is_found_in_hexadecimal() {
    let pem = format!("-----BEGIN RSA {} KEY-----\n{}\n{}\n", "PRIVATE", noise(LETTERS, 64), noise(LETTERS, 64));
    let random: Vec<u8> = noise(LETTERS, 120).into_bytes();
    let der = |head: &[u8]| [head, &random].concat();
    let joined = |bytes: &[u8], before: &str, between: &str| {
        bytes.iter().map(|byte| format!("{before}{byte:02x}")).collect::<Vec<_>>().join(between)
    };
    let xxd = |bytes: &[u8]| -> String {
        let line = |(number, row): (usize, &[u8])| {
            let pairs: Vec<String> = row.chunks(2).map(|pair| joined(pair, "", "")).collect();
            format!(
                "{:08x}: {:39}  {}\n",
                number * 16,
                pairs.join(" "),
                String::from_utf8_lossy(row).replace('\n', ".")
            )
        };
        bytes.chunks(16).enumerate().map(line).collect()
    };
    let hexdump = |bytes: &[u8]| -> String {
        let line = |(number, row): (usize, &[u8])| {
            let halves: Vec<String> = row.chunks(8).map(|half| joined(half, "", " ")).collect();
            format!("{:08x}  {:48}  |................|\n", number * 16, halves.join("  "))
        };
        bytes.chunks(16).enumerate().map(line).collect()
    };
    let (pkcs1, pkcs8, sec1) = (
        der(&[0x30, 0x82, 4, 0xa4, 2, 1, 0, 2, 0x82, 1, 1, 0]),
        der(&[0x30, 0x82, 4, 0xbe, 2, 1, 0, 0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 1, 5, 0]),
        der(&[0x30, 0x77, 2, 1, 1, 4, 32]),
    );
    for text in [
        xxd(pem.as_bytes()),
        hexdump(pem.as_bytes()),
        joined(pem.as_bytes(), "", ""),
        joined(pem.as_bytes(), "", "").to_uppercase(),
        format!("static const char key[] = {{ {} }};", joined(pem.as_bytes(), "0x", ", ")),
        format!("key = \"{}\"", joined(pem.as_bytes(), "\\x", "")),
        joined(&pkcs1, "", ""),
        joined(&pkcs1, "", ":"),
        joined(&pkcs8, "0x", ",\n"),
        joined(&sec1, "", ""),
        xxd(&pkcs8),
        format!(
            "Private-Key: (2048 bit)\nprivateExponent:\n    {}\n",
            joined(&random[..30], "", ":").replace("41:", "41:\n    ")
        ),
        format!("Private-Key: (256 bit)\npriv:\n    {}\npub:\n", joined(&random[..30], "", ":")),
    ] {
        assert_eq!(codes(&text), ["private-key"], "{text}");
    }
    let certificate = der(&[0x30, 0x82, 3, 0x5a, 0x30, 0x82, 2, 0x42, 0xa0, 3, 2, 1, 2]);
    let public = der(&[0x30, 0x82, 1, 0x0a, 2, 0x82, 1, 1, 0]);
    let request = der(&[0x30, 0x82, 2, 0x57, 2, 1, 0, 0x30, 0x12, 0x31, 0x10, 0x30, 0x0e]);
    for text in [
        joined(&certificate, "", ""),
        joined(&public, "0x", ", "),
        joined(&request, "", ":"),
        joined(
            b"-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ",
            "",
            "",
        ),
        "privateExponent:\n  the exponent, as hexadecimal digits\n".to_owned(),
        "priv: ad:de:af:ba:be:fe:ed:ad:de:af:ba:be:fe:ed:ad:de:af\n".to_owned(),
        "phone: 3082 555 0100, mac 30:82:a1:00:00:01\n".to_owned(),
    ] {
        assert_eq!(codes(&text), Vec::<String>::new(), "{text}");
    }
}

fn encoded(text: &str) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let sixes = |three: &[u8]| {
        let bits = three.iter().fold(0usize, |bits, byte| bits << 8 | usize::from(*byte));
        [18, 12, 6, 0].map(|shift| char::from(ALPHABET[bits >> shift & 63]))
    };
    text.as_bytes().chunks_exact(3).flat_map(sixes).collect()
}

#[test]
fn what_stands_before_a_token_does_not_hide_it() {
    let token = format!("ghp_{}", noise(LETTERS, 36));
    let key = format!("AKIA{}", noise(CAPITALS, 16));
    for before in ["\\n", "a\\t", "TOKEN_", "token%3D", "\\u003d", "x="] {
        assert_eq!(codes(&format!("\"{before}{token}\"")), ["github-token"], "{before}");
        assert_eq!(codes(&format!("\"{before}{key}_\"")), ["aws-access-key"], "{before}");
    }
}

#[test]
fn the_header_of_a_key_does_not_make_it_a_placeholder() {
    let key = format!(
        "-----BEGIN PGP {} KEY BLOCK-----\nComment: Alice <alice@example.com>\n\n{}\n",
        "PRIVATE",
        noise(LETTERS, 64)
    );
    assert_eq!(codes(&key), ["private-key"]);
    assert_eq!(codes(&key.replace(&noise(LETTERS, 64), &"EXAMPLE+".repeat(8))), Vec::<String>::new());
}

/// A word beside a key says nothing about it; one inside of it does.
#[test]
fn a_comment_does_not_make_a_key_a_placeholder() {
    let (head, body) = (format!("-----BEGIN RSA {} KEY-----", "PRIVATE"), noise(LETTERS, 64));
    for text in [
        format!("\"{head}\\n\" + // for example\n  \"{body}\\n\"\n"),
        format!("{head}\nProc-Type: 4,ENCRYPTED\nDEK-Info: EXAMPLE,12345678\n\n{body}\n"),
        format!("key = [\n  \"{head}\",  # dummy, replace me\n  \"{body}\",\n]\n"),
    ] {
        assert_eq!(codes(&text), ["private-key"], "{text}");
    }
    assert_eq!(codes(&format!("{head}\n{}EXAMPLE{}\n", &body[..32], &body[32..])), Vec::<String>::new());
}

#[test]
fn settings_allow_and_skip() {
    let token = format!("ghp_{}", noise(LETTERS, 36));
    let judged = |settings: &str| judge(&file(&token), &serde_json::from_str(settings).expect("settings"));
    assert_eq!(judged("{}").status, Status::Fail);
    assert_eq!(judged(&format!(r#"{{"allow": ["^{token}$"]}}"#)).status, Status::Pass);
    assert_eq!(judged(r#"{"allow": ["nothing"]}"#).status, Status::Fail);
    assert_eq!(judged(r#"{"skip": ["github-token"]}"#).status, Status::Pass);
    assert_eq!(judged(r#"{"skip": ["github"]}"#).status, Status::Abstain);
    assert_eq!(judged(r#"{"allow": ["("]}"#).status, Status::Abstain);
}

#[test]
fn a_binary_file_is_searched() {
    let mut bytes = b"\xFF\xFE\0".to_vec();
    bytes.extend(format!(" ghp_{} ", noise(LETTERS, 36)).bytes());
    let file = File::new("a.bin", bytes);
    assert_eq!(judge(&file, &Settings::default()).status, Status::Fail);
}

#[test]
fn utf16_is_searched_as_text() {
    let text = format!("a\r\nTOKEN=ghp_{}\r\n", noise(LETTERS, 36));
    let little: Vec<u8> = [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    for bytes in [little, big] {
        let file = File::new("a.env", bytes);
        let place = judge(&file, &Settings::default()).findings.remove(0).place.expect("a place");
        assert_eq!((place.line, place.column), (Some(2), Some(7)));
    }
}

#[test]
fn a_private_key_is_found_however_it_is_spelled() {
    let (head, foot) =
        (format!("-----BEGIN RSA {} KEY-----", "PRIVATE"), format!("-----END RSA {} KEY-----", "PRIVATE"));
    let noise = noise(LETTERS, 192);
    let lines: Vec<&str> = [&*head, &noise[..64], &noise[64..128], &noise[128..], &*foot].to_vec();
    let quoted = |mark: &str| lines.iter().map(|line| format!("\"{line}{mark}\"")).collect::<Vec<_>>();
    let joined = quoted("\\n").join(" +\n  ");
    for spelled in [
        lines.join("\n"),
        lines.join("\r\n"),
        lines.join("\\n"),
        joined,
        quoted("\\n").join("\n    "),
        quoted("\\n").join(" . "),
        format!("[{}]", quoted("").join(", ")),
        format!("{{\"a\": \"{{\\\"key\\\": \\\"{}\\\"}}\"}}", lines.join("\\\\n")),
        lines.iter().map(|line| format!("# {line}\n")).collect(),
        lines.iter().map(|line| format!(" * {line}\n")).collect(),
        lines.iter().map(|line| format!("// {line}\n")).collect(),
        lines.join("\\\n"),
        lines.join("&#10;"),
        lines.join("&#xA;"),
        lines.join("%0A"),
        lines.join("%0A").replace(' ', "%20"),
        lines.join("%0A").replace(' ', "+"),
        lines.join("<br>\n"),
        lines.join("<br/>"),
        lines.join("\\u000a"),
        lines.join(" "),
    ] {
        assert_eq!(codes(&spelled), ["private-key"], "{spelled}");
    }
    for harmless in [
        format!("if text.startswith(\"{head}\"):\n    return parse_private_key(text, password=None)\n"),
        format!("PEM_HEADER = \"{head}\"\nPEM_FOOTER = \"{foot}\"\nMAX = 12345678901234567890\n"),
        format!("{head}\n...\n{foot}\n{}\n", &noise[..64]),
        format!("{head}\n{}\n{foot}\n", "MIIEXAMPLEEXAMPLEexample123".repeat(3)),
    ] {
        assert_eq!(codes(&harmless), Vec::<String>::new(), "{harmless}");
    }
}

#[test]
fn a_finding_is_allowed_by_a_comment_or_a_baseline() {
    let token = format!("ghp_{}", noise(LETTERS, 36));
    for (text, expected) in [
        (format!("t = \"{token}\"  # gate:allow-secret\n"), 0),
        (format!("a\n// gate:allow-secret: revoked\nt = \"{token}\"\n"), 0),
        (format!("// gate:allow-secret\n\nt = \"{token}\"\n"), 1),
        (format!("t = \"{token}\"\n// gate:allow-secret\n"), 1),
    ] {
        assert_eq!(codes(&text).len(), expected, "{text}");
    }
    let found = judge(&file(&token), &Settings::default()).findings.remove(0);
    let key = found.key.expect("a key");
    assert!(key.starts_with("sha256:") && key.len() == 23, "{key}");
    let hint = found.hint.expect("a hint");
    assert!(hint.contains("gate:allow-secret") && hint.contains(&key), "{hint}");
    let settings = |key: &str| serde_json::from_str(&format!(r#"{{"baseline": ["{key}"]}}"#)).expect("settings");
    assert_eq!(judge(&file(&token), &settings(&key)).status, Status::Pass);
    assert_eq!(judge(&file(&token), &settings("sha256:0000000000000000")).status, Status::Fail);
}

#[test]
fn what_tests_make_for_themselves_is_a_warning() {
    let key = format!("-----BEGIN {} KEY-----\n{}\n", "PRIVATE", noise(LETTERS, 64));
    let token = format!("ghp_{}", noise(LETTERS, 36));
    let judged = |path: &str, text: &str, settings: &str| {
        judge(&File::new(path, text), &serde_json::from_str(settings).expect("settings"))
    };
    for path in [
        "tests/key.pem",
        "pkg/testdata/a.pem",
        "src/auth_test.go",
        "a.spec.ts",
        "test_a.py",
        "x/Fixtures/a",
        "caddytest/a.key",
        "README.md",
    ] {
        let verdict = judged(path, &key, "{}");
        assert_eq!((verdict.status, verdict.findings.len()), (Status::Pass, 1), "{path}");
        assert_eq!(judged(path, &key, r#"{"in_tests": "error"}"#).status, Status::Fail, "{path}");
        assert!(judged(path, &key, r#"{"in_tests": "ignore"}"#).findings.is_empty(), "{path}");
        assert_eq!(judged(path, &token, "{}").status, Status::Fail, "{path}");
    }
    for path in ["src/key.pem", "contest/a.pem", "latest.py", "latest/a.pem"] {
        assert_eq!(judged(path, &key, "{}").status, Status::Fail, "{path}");
    }
}

#[test]
fn published_examples_are_none() {
    for text in [
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6y",
        "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
        "xoxb-123456789012-123456789012-abcdefghijklmnopqrstuvwx",
        "ghp_1234567890abcdefghijklmnopqrstuvwxyz",
    ] {
        assert_eq!(codes(text), Vec::<String>::new(), "{text}");
    }
}
