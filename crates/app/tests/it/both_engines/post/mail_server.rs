//! A mail server that speaks SMTP with STARTTLS, implicit TLS and AUTH, and can be told to misbehave.

use std::io::Result;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tempfile::NamedTempFile;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// How the server behaves.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Manner {
    Good,
    /// Answers `RCPT` with this line.
    Refuses(&'static str),
    /// Does not answer `MAIL`.
    Hangs,
    /// Closes the connection in the middle of the text.
    Closes,
    /// Takes this long for each text.
    Slow(Duration),
}

/// How connections are secured.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Security {
    None,
    Starttls,
    Implicit,
}

/// What the server took.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    pub(crate) from: String,
    pub(crate) to: Vec<String>,
    pub(crate) text: String,
    pub(crate) is_secure: bool,
    /// What `AUTH PLAIN` said.
    pub(crate) login: Option<String>,
}

#[derive(Clone)]
pub(crate) struct MailServer {
    pub(crate) port: u16,
    pub(crate) connections: Arc<AtomicUsize>,
    received: Arc<Mutex<Vec<Mail>>>,
    manner: Arc<Mutex<Manner>>,
    security: Security,
    acceptor: TlsAcceptor,
    certificate: Arc<NamedTempFile>,
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}
type Line = BufReader<Box<dyn Stream>>;

impl MailServer {
    pub(crate) async fn start(security: Security, manner: Manner) -> MailServer {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = NamedTempFile::new().unwrap();
        std::fs::write(certificate.path(), made.cert.pem()).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config =
            config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = MailServer {
            port: listener.local_addr().unwrap().port(),
            connections: Arc::default(),
            received: Arc::default(),
            manner: Arc::new(Mutex::new(manner)),
            security,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificate: Arc::new(certificate),
        };
        let own = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                own.connections.fetch_add(1, SeqCst);
                let own = own.clone();
                tokio::spawn(async move { own.serve(Box::new(stream)).await });
            }
        });
        server
    }

    pub(crate) fn behave(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    pub(crate) fn received(&self) -> Vec<Mail> {
        self.received.lock().unwrap().clone()
    }

    /// The certificate to trust.
    pub(crate) fn root(&self) -> PathBuf {
        self.certificate.path().to_owned()
    }

    async fn serve(&self, stream: Box<dyn Stream>) -> Result<()> {
        let stream: Box<dyn Stream> = match self.security {
            Security::Implicit => Box::new(self.acceptor.accept(stream).await?),
            _ => stream,
        };
        let mut line = BufReader::new(stream);
        say(&mut line, "220 mail.test ESMTP").await?;
        let mut is_secure = self.security == Security::Implicit;
        let mut mail = Mail { from: String::new(), to: vec![], text: String::new(), is_secure, login: None };
        while let Some(command) = heard(&mut line).await? {
            let manner = *self.manner.lock().unwrap();
            let verb = command.split([' ', ':']).next().unwrap_or_default().to_uppercase();
            match verb.as_str() {
                "EHLO" if self.security == Security::Starttls && !is_secure => {
                    say(&mut line, "250-mail.test\r\n250-STARTTLS\r\n250 8BITMIME").await?;
                }
                "EHLO" => say(&mut line, "250-mail.test\r\n250-AUTH PLAIN LOGIN\r\n250 8BITMIME").await?,
                "STARTTLS" => {
                    say(&mut line, "220 go ahead").await?;
                    line = BufReader::new(Box::new(self.acceptor.accept(line.into_inner()).await?));
                    is_secure = true;
                }
                "AUTH" if command.ends_with("AG1lAGh1bnRlcjI=") => {
                    mail.login = Some("me".to_owned());
                    say(&mut line, "235 welcome").await?;
                }
                "AUTH" => say(&mut line, "535 5.7.8 wrong credentials").await?,
                "MAIL" if manner == Manner::Hangs => std::future::pending().await,
                "MAIL" => {
                    (mail.from, mail.to, mail.is_secure) = (between(&command), vec![], is_secure);
                    say(&mut line, "250 ok").await?;
                }
                "RCPT" => match manner {
                    Manner::Refuses(answer) => say(&mut line, answer).await?,
                    _ => {
                        mail.to.push(between(&command));
                        say(&mut line, "250 ok").await?;
                    }
                },
                "DATA" => {
                    say(&mut line, "354 go on").await?;
                    if manner == Manner::Closes {
                        heard(&mut line).await?;
                        return Ok(());
                    }
                    mail.text = text(&mut line).await?;
                    if let Manner::Slow(pause) = manner {
                        tokio::time::sleep(pause).await;
                    }
                    self.received.lock().unwrap().push(mail.clone());
                    say(&mut line, "250 taken").await?;
                }
                "QUIT" => return say(&mut line, "221 bye").await,
                "NOOP" | "RSET" => say(&mut line, "250 ok").await?,
                _ => say(&mut line, "502 what?").await?,
            }
        }
        Ok(())
    }
}

async fn say(line: &mut Line, text: &str) -> Result<()> {
    line.get_mut().write_all(format!("{text}\r\n").as_bytes()).await?;
    line.get_mut().flush().await
}

async fn heard(line: &mut Line) -> Result<Option<String>> {
    let mut text = String::new();
    let count = line.read_line(&mut text).await?;
    Ok((count > 0).then(|| text.trim_end().to_owned()))
}

/// The text up to the dot, without the dots that were added to lines that begin with one.
async fn text(line: &mut Line) -> Result<String> {
    let mut text = String::new();
    while let Some(next) = heard(line).await? {
        if next == "." {
            break;
        }
        text.push_str(next.strip_prefix('.').unwrap_or(&next));
        text.push('\n');
    }
    Ok(text)
}

fn between(command: &str) -> String {
    command.split(['<', '>']).nth(1).unwrap_or_default().to_owned()
}
