//! The local certificate authority: made, used by the Frontend API, taken back. The stores are those of a home of the
//! test's own; the store of the system is never touched.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::support::{Home, Server, mode, status, text};

/// `latchkey trust` of somebody with a home of their own.
fn trust(home: &Home, flags: &[&str]) -> Output {
    let mut command = home.command(&[&["trust", "--skip-system"], flags].concat());
    command.env("HOME", home.path("home")).env("PATH", "/usr/bin:/bin").output().unwrap()
}

fn authority(home: &Home) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(home.path("data/local-ca.pem")).unwrap()
}

/// The answer to a GET over TLS at a name, by somebody who trusts only the authority.
async fn get(
    address: SocketAddr,
    trusted: &CertificateDer<'static>,
    name: &str,
    path: &str,
) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(builder.with_root_certificates(roots).with_no_client_auth());
    let stream = TcpStream::connect(address).await?;
    let server_name = name.to_owned().try_into().unwrap();
    let mut stream = TlsConnector::from(config).connect(server_name, stream).await?;
    let host = format!("{name}:{}", address.port());
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(text(&answer))
}

/// The host that the announced publishable key names.
fn key_host(server: &Server) -> String {
    let key = server.announced("publishable key").strip_prefix("pk_test_").unwrap();
    text(&STANDARD_NO_PAD.decode(key).unwrap()).trim_end_matches('$').to_owned()
}

fn json_of(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn after_trust_the_key_names_a_host_with_https_and_the_earlier_key_keeps_working() {
    let home = Home::new();
    let server = home.serve();
    let (before, secret) = (key_host(&server), server.announced("secret key").to_owned());
    let handshake =
        "/v1/client/handshake?redirect_url=http%3A%2F%2Flocalhost%3A3000%2F&suffixed_cookies=true";
    server.stop();
    let made = trust(&home, &["--skip-browsers"]);
    assert!(made.status.success(), "{made:?}");
    let said = text(&made.stdout);
    let file = home.path("data/local-ca.pem");
    assert!(said.contains(&format!("NODE_EXTRA_CA_CERTS={}", file.display())), "{said}");
    assert!(said.contains("block third-party cookies") && said.contains("--plain"), "{said}");
    assert_eq!((mode(&home.path("data/local-ca.key")), mode(&file)), (0o600, 0o600));

    let server = home.serve();
    let (address, port) = (server.frontend, server.frontend.port());
    assert_eq!(key_host(&server), format!("latchkey.localhost:{port}"));
    assert_eq!(server.announced("frontend url"), format!("https://latchkey.localhost:{port}"));
    assert_eq!(server.announced("sign-in page"), format!("https://latchkey.localhost:{port}/sign-in"));
    let trusted = authority(&home);
    let answer =
        get(address, &trusted, "latchkey.localhost", "/.well-known/openid-configuration").await.unwrap();
    assert_eq!(json_of(&answer)["issuer"], format!("https://latchkey.localhost:{port}"));
    let page = get(address, &trusted, "latchkey.localhost", "/sign-in").await.unwrap();
    assert!(status(&page) == 200 && page.contains(server.announced("publishable key")), "{page}");
    let answer = get(address, &trusted, "latchkey.localhost", handshake).await.unwrap();
    assert_eq!(status(&answer), 307, "{answer}");
    for name in ["localhost", "other.localhost"] {
        assert_eq!(status(&get(address, &trusted, name, "/v1/environment").await.unwrap()), 200, "{name}");
    }

    // Plain HTTP at the same port, for whoever has the earlier key.
    let plain = server.get_frontend("/.well-known/openid-configuration", &format!("localhost:{port}"));
    assert_eq!(json_of(&plain)["issuer"], format!("http://{before}"));
    assert_eq!(server.status("/v1/jwks", &secret), 200);
    let plain = home.json(&["env", "next", "--json", "--plain"]).0;
    assert!(plain["NEXT_PUBLIC_CLERK_PROXY_URL"].as_str().unwrap().starts_with("http://localhost"));
    for (framework, has_pages) in [("next", true), ("html", true), ("python", false)] {
        let block = text(&home.run(&["env", framework]).stdout);
        assert_eq!(
            block.contains("allow them for latchkey.localhost, or print this with --plain."),
            has_pages,
            "{block}"
        );
    }
    let short = home.json(&["env", "next", "--json"]).0;
    assert_eq!(short["NEXT_PUBLIC_CLERK_PROXY_URL"], Value::Null);
    assert_eq!(short["NEXT_PUBLIC_CLERK_SIGN_IN_URL"], Value::Null);
    assert_eq!(short["CLERK_SECRET_KEY"], secret);
    server.stop();

    assert!(trust(&home, &["--skip-browsers", "--remove"]).status.success());
    assert!(!home.path("data/local-ca.pem").exists() && !home.path("data/local-ca.key").exists());
    let server = home.serve();
    assert_eq!((key_host(&server), server.announced("secret key")), (before.clone(), &*secret));
    assert!(get(server.frontend, &trusted, "latchkey.localhost", "/healthz").await.is_err());
    assert_eq!(status(&server.get_frontend("/v1/environment", "localhost")), 200);
}

#[test]
fn trust_changes_nothing_when_it_only_shows_what_it_would_do() {
    let home = Home::new();
    let mut command = home.command(&["trust", "--print"]);
    let shown = command.env("HOME", home.path("home")).env("PATH", "/usr/bin:/bin").output().unwrap();
    let said = text(&shown.stdout);
    assert!(shown.status.success() && said.contains("local-ca.pem"), "{shown:?}");
    if Path::new("/usr/sbin/update-ca-certificates").exists() {
        assert!(said.contains("sudo install -m 0644") && said.contains("update-ca-certificates"), "{said}");
    }
    assert!(!home.path("data").exists() && !home.path("home").exists());
    let nothing = trust(&home, &["--remove"]);
    assert!(nothing.status.success() && text(&nothing.stderr).contains("no local certificate authority"));
}

#[test]
fn without_certutil_people_are_told_what_to_install_and_not_that_it_worked() {
    let home = Home::new();
    let without = |flags: &[&str]| {
        let mut command = home.command(&[&["trust", "--skip-system"], flags].concat());
        command.env("HOME", home.path("home")).env("PATH", "/nowhere").output().unwrap()
    };
    let refused = without(&[]);
    let (said, why) = (text(&refused.stdout), text(&refused.stderr));
    assert_eq!(refused.status.code(), Some(1), "{said} {why}");
    assert!(
        said.contains("sudo apt install libnss3-tools") && !said.contains("Start the server again"),
        "{said}"
    );
    assert!(why.contains("these stores do not trust it yet: browsers.") && why.contains("--plain"), "{why}");
    let left_out = without(&["--skip-browsers"]);
    assert!(left_out.status.success() && text(&left_out.stdout).contains("Start the server again"));
}

#[test]
fn browsers_are_told_by_their_own_stores_and_forget_it_again() {
    let home = Home::new();
    if !Path::new("/usr/bin/certutil").exists() {
        // Where NSS has no tools, people are told which package to install.
        let said = text(&trust(&home, &[]).stdout);
        assert!(said.contains("libnss3-tools"), "{said}");
        return;
    }
    let made = trust(&home, &[]);
    assert!(made.status.success(), "{made:?}");
    let database = format!("sql:{}", home.path("home/.pki/nssdb").display());
    let listed = || {
        let output = std::process::Command::new("/usr/bin/certutil").args(["-L", "-d", &database]).output();
        text(&output.unwrap().stdout)
    };
    assert!(listed().contains("Latchkey local CA"), "{}", listed());
    assert!(trust(&home, &[]).status.success(), "a second time changes nothing");
    assert_eq!(listed().matches("Latchkey local CA").count(), 1);
    assert!(trust(&home, &["--remove"]).status.success());
    assert!(!listed().contains("Latchkey"), "{}", listed());
}

#[test]
fn a_damaged_authority_is_no_reason_not_to_start() {
    let home = Home::new();
    assert!(trust(&home, &["--skip-browsers"]).status.success());
    std::fs::write(home.path("data/local-ca.key"), "half").unwrap();
    let server = home.serve();
    assert!(server.log().contains("speaks plain HTTP only"), "{}", server.log());
    assert_eq!(status(&server.get_frontend("/v1/environment", "localhost")), 200);
    let again = trust(&home, &["--skip-browsers"]);
    assert!(again.status.code() == Some(1) && text(&again.stderr).contains("trust --remove"), "{again:?}");
    assert!(trust(&home, &["--skip-browsers", "--remove"]).status.success());
    assert!(trust(&home, &["--skip-browsers"]).status.success());
}

#[test]
fn a_removal_that_a_store_refused_can_be_finished_later() {
    let home = Home::new();
    assert!(trust(&home, &["--skip-browsers"]).status.success());
    let (bin, database) = (home.path("bin"), home.path("home/.pki/nssdb"));
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::create_dir_all(&database).unwrap();
    std::fs::write(database.join("cert9.db"), "").unwrap();
    let remove = |certutil: &str| {
        let program = bin.join("certutil");
        std::fs::write(&program, format!("#!/bin/sh\n{certutil}\n")).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = home.command(&["trust", "--skip-system", "--remove"]);
        let path = format!("{}:/usr/bin:/bin", bin.display());
        command.env("HOME", home.path("home")).env("PATH", path).output().unwrap()
    };
    let (key, certificate) = (home.path("data/local-ca.key"), home.path("data/local-ca.pem"));
    // One that refuses to take it out, and one that cannot even be read.
    for certutil in ["test $1 = -L", "exit 1"] {
        let refused = remove(certutil);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert!(text(&refused.stderr).contains("latchkey trust --remove"), "{refused:?}");
        assert!(!key.exists() && certificate.exists());
    }
    let server = home.serve();
    assert!(!key_host(&server).contains("latchkey.localhost"), "nothing is said of HTTPS that does not work");
    server.stop();
    assert!(remove("exit 0").status.success());
    assert!(!certificate.exists());
}
