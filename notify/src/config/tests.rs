//! Configurations as people write them, and what is said of bad ones.

use super::*;

fn read(text: &str) -> NotifyConfig {
    toml::from_str(text).unwrap_or_else(|e| panic!("{e}"))
}

fn wrong(text: &str) -> Vec<String> {
    read(text).check().1.iter().map(ToString::to_string).collect()
}

const GOOD: &str = r#"
site = "Example Labs"

[mail]
host = "mail.example.org"
from = "GPU-Abrechnung é <gpu@example.org>"
user = "gpu"
password_file = "/etc/gpuledger/mail.password"

[webhook.ops-chat]
shape = "feishu"
url_file = "/etc/gpuledger/feishu.url"
secret_file = "/etc/gpuledger/feishu.secret"

[webhook.bus]
url = "https://bus.example.org/gpu"

[alertmanager]
url = "http://alertmanager:9093"
allow_http = true

[calendar.office]
zone = "Europe/Berlin"
days = ["mon", "tue", "wed", "thu", "fri"]
from = "08:00"
to = "18:00"
holidays = ["2026-12-25"]
"#;

#[test]
fn what_is_not_given_has_its_default() {
    let config = read(GOOD);
    let (calendars, wrong) = config.check();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(calendars.len(), 1);
    let mail = config.mail.unwrap();
    assert_eq!((mail.port(), mail.tls, mail.timeout_seconds), (587, MailTls::Starttls, 60));
    assert!(!config.webhook["ops-chat"].names, "no names of people in a chat unless allowed");
    assert_eq!(config.webhook["bus"].shape, Shape::Generic);
}

#[test]
fn unknown_keys_and_secrets_in_the_configuration_are_refused() {
    for bad in [
        "[mail]\nhost = \"h\"\nfrom = \"a@b.example\"\npassword = \"x\"",
        "[webhook.a]\nurl = \"https://h\"\nsecret = \"x\"",
        "[webhook.a]\nurl = \"https://h\"\nshape = \"teams\"",
        "[alertmanager]\nurl = \"https://h\"\ntoken = \"x\"",
        "[smtp]\nhost = \"h\"",
    ] {
        assert!(toml::from_str::<NotifyConfig>(bad).is_err(), "{bad}");
    }
}

#[test]
fn what_does_not_go_together_says_what_to_do() {
    let mail = |more: &str| format!("[mail]\nhost = \"h\"\nfrom = \"a@b.example\"\n{more}");
    let clear = mail("tls = \"none\"\nuser = \"u\"\npassword_file = \"/p\"");
    assert!(wrong(&clear)[0].contains("not sent in the clear"), "{:?}", wrong(&clear));
    assert!(wrong(&mail("user = \"u\""))[0].contains("password_file"));
    assert!(wrong(&mail("timeout_seconds = 0"))[0].contains("timeout_seconds"));
    assert!(wrong("[mail]\nhost = \"h\"\nfrom = \"nobody\"")[0].starts_with("[notify.mail]: from: "));
    assert!(wrong("[webhook.a]\nurl = \"http://h/secret\"")[0].contains("not https"));
    assert!(wrong("[webhook.a]\nallow_http = true\nurl = \"ftp://h\"")[0].contains("not https"));
    assert!(wrong("[webhook.a]")[0].contains("neither url nor url_file"));
    assert!(wrong("[webhook.a]\nurl = \"https://h\"\nurl_file = \"/f\"")[0].contains("choose one"));
    assert!(
        wrong("[webhook.a]\nurl_file = \"/f\"\nshape = \"slack\"\nsecret_file = \"/s\"")[0].contains("sign nothing")
    );
    let user = wrong("[webhook.a]\nurl = \"https://u:geheim@h\"");
    assert!(user[0].contains("put them into a file") && !user[0].contains("geheim"), "{user:?}");
}

#[test]
fn a_secret_is_one_line_and_is_shown_to_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    let of = |text: &[u8]| {
        std::fs::write(&path, text).unwrap();
        secret("password_file", &path)
    };
    assert_eq!(of(b"geheim\n").unwrap().0, "geheim");
    assert_eq!(format!("{:?}", of(b"geheim\r\n").unwrap()), "(secret)");
    for bad in [&b""[..], b"\n", b"a\nb\n", b"\xff\xfe", &[b'a'; 70_000]] {
        let error = of(bad).unwrap_err();
        assert!(matches!(error, ConfigError::Secret { .. }), "{error}");
    }
    assert!(matches!(secret("password_file", &folder.path().join("none")), Err(ConfigError::File { .. })));
}
