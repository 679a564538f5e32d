//! Encryption: nothing is served without it, and nobody without a certificate.

use crate::serving::{CAPACITY, Client, Serving, Setting};
use destage_live::server::{ListenAt, Server, ServerError, ServerLimits, ServerTls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Issuer {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("signed")
}

fn signed(by: &Issuer) -> (rcgen::Certificate, KeyPair) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
    (params.signed_by(&key, by).expect("signed"), key)
}

fn server_folder(folder: &Path, by: &Issuer) {
    let (certificate, key) = signed(by);
    for (name, text) in [
        ("ca-cert.pem", by.pem()),
        ("server-cert.pem", certificate.pem()),
        ("server-key.pem", key.serialize_pem()),
    ] {
        std::fs::write(folder.join(name), text).expect("written");
    }
}

fn client_config(trusted: &Issuer, by: Option<&Issuer>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.der().clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots);
    Arc::new(match by {
        None => config.with_no_client_auth(),
        Some(by) => {
            let (certificate, key) = signed(by);
            let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
            let chain = vec![certificate.der().clone()];
            config.with_client_auth_cert(chain, key).expect("a pair")
        }
    })
}

type Encrypted = Client<StreamOwned<ClientConnection, TcpStream>>;

fn upgraded(serving: &Serving, config: Arc<ClientConfig>) -> Encrypted {
    let mut plain = Client {
        stream: serving.tcp(),
    };
    plain.greet();
    plain.option(3, b"");
    assert_eq!(plain.option_reply().0, 1 << 31 | 5, "TLS is required");
    plain.option(5, b"");
    assert_eq!(plain.option_reply().0, 1);
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(config, name).expect("a connection");
    Client {
        stream: StreamOwned::new(connection, plain.stream),
    }
}

#[test]
fn clients_with_a_certificate_are_served_and_others_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ours, others) = (authority(), authority());
    server_folder(folder.path(), &ours);
    let tls = ServerTls::from_folder(folder.path()).expect("certificates");
    let serving = Serving::start(Setting {
        tls: Some(tls),
        ..Setting::default()
    });
    let mut client = upgraded(&serving, client_config(&ours, Some(&ours)));
    assert_eq!(client.choose("").0, CAPACITY);
    let data: Vec<u8> = (0..3 << 20).map(|i| (i / 512) as u8).collect();
    for round in 0..3 {
        let at = round * data.len() as u64;
        client.request(0, 1, at, data.len() as u32, &data);
        client.request(0, 0, at, data.len() as u32, b"");
        assert_eq!(client.simple(), 0);
        assert_eq!(client.simple(), 0);
        assert!(client.take(data.len()) == data, "what was written is read");
    }
    for by in [None, Some(&others)] {
        let mut refused = upgraded(&serving, client_config(&ours, by));
        // With TLS 1.3 a client learns of the refusal when it reads.
        let _ = refused.stream.write_all(b"IHAVEOPT\0\0\0\x01\0\0\0\0");
        let mut out = [0; 1];
        let read = std::io::Read::read(&mut refused.stream, &mut out);
        assert!(!matches!(read, Ok(1..)), "served without a certificate");
    }
    drop(client);
    serving.server.stop().expect("an end");
}

#[test]
fn other_machines_are_not_served_without_tls() {
    let everywhere = ListenAt::Tcp("0.0.0.0:0".parse().expect("an address"));
    let started = Server::start(Vec::new(), &[everywhere], None, ServerLimits::default());
    match started {
        Err(error @ ServerError::Unprotected(_)) => {
            assert!(error.to_string().contains("TLS"), "{error}");
        }
        _ => panic!("it must not start"),
    }
}

#[test]
fn a_missing_certificate_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = ServerTls::from_folder(folder.path())
        .err()
        .expect("no files");
    assert!(refused.to_string().contains("ca-cert.pem"), "{refused}");
}
