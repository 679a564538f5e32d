//! Where clients come in.

use super::budget::ByteBudget;
use super::connection::{ServerShared, serve};
use super::export::{Export, ExportReport};
use super::hall::{Guests, Hall};
use super::link::{ClientLink, Socket};
use super::place::{ListenAt, Listener, Rights};
use super::tls::ServerTls;
use crate::store::PowerLoss;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Clients at once.
const MAX_CONNECTIONS: usize = 256;
/// Bytes of requests and replies on their way, of all clients.
const SERVER_BYTES: u64 = 512 << 20;

/// How long a server that ends waits for clients to take their last replies.
const LAST_REPLIES: Duration = Duration::from_secs(2);

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The place to listen at cannot be had.
    #[error("cannot listen at {at}: {reason}")]
    Listen {
        /// Where.
        at: ListenAt,
        /// Why not.
        reason: io::Error,
    },
    /// Not without encryption.
    #[error(
        "{0} can be reached from other machines: clients there need TLS with certificates; without \
         it only loopback addresses such as 127.0.0.1 and Unix sockets are served"
    )]
    Unprotected(SocketAddr),
}

impl Guests for ServerShared {
    const AT_ONCE: usize = MAX_CONNECTIONS;
    const THREAD: &'static str = "requests";

    fn serve(&self, socket: &Arc<Socket>) {
        // A client that breaks off harms nobody but itself.
        let _ = serve(ClientLink::new(Arc::clone(socket)), self);
    }
}

/// Exports that clients can connect to.
pub struct Server {
    exports: Vec<Export>,
    hall: Arc<Hall<ServerShared>>,
    listeners: Vec<(ListenAt, JoinHandle<()>)>,
}

impl Server {
    /// Listens at each of `places`.
    ///
    /// # Errors
    /// A place cannot be had, or is open to others without TLS.
    pub fn start(
        exports: Vec<Export>,
        places: &[ListenAt],
        tls: Option<ServerTls>,
    ) -> Result<Server, ServerError> {
        let of = |e: &Export| (e.sender.clone(), Arc::clone(&e.shared));
        let shared = ServerShared {
            infos: exports.iter().map(|e| e.info.clone()).collect(),
            exports: exports.iter().map(of).collect(),
            tls: tls.map(|t| t.0),
            budget: ByteBudget::new(SERVER_BYTES),
        };
        let mut server = Server {
            exports,
            hall: Hall::of(shared),
            listeners: Vec::new(),
        };
        for at in places {
            server.listen(at)?;
        }
        Ok(server)
    }

    fn listen(&mut self, at: &ListenAt) -> Result<(), ServerError> {
        if let ListenAt::Tcp(address) = at
            && !address.ip().is_loopback()
            && self.hall.guests.tls.is_none()
        {
            return Err(ServerError::Unprotected(*address));
        }
        let failed = |reason| ServerError::Listen {
            at: at.clone(),
            reason,
        };
        let (listener, bound) = Listener::bind(at, Rights::Usual).map_err(failed)?;
        let hall = Arc::clone(&self.hall);
        let thread = std::thread::Builder::new().name("accept".to_owned());
        let thread = thread.spawn(move || hall.accept(&listener));
        self.listeners.push((bound, thread.map_err(failed)?));
        Ok(())
    }

    /// Where clients come in, with the ports that were taken.
    pub fn addresses(&self) -> impl Iterator<Item = &ListenAt> {
        self.listeners.iter().map(|(at, _)| at)
    }

    /// Cuts the power of an export; `None` if there is no such export.
    pub fn power_cut(&self, name: &str) -> Option<PowerLoss> {
        let export = self.exports.iter().find(|e| e.info.name == name)?;
        export.handle().power_cut()
    }

    /// Answers what was asked, flushes every device and ends.
    ///
    /// # Errors
    /// A device failed.
    pub fn stop(self) -> Result<Vec<ExportReport>, String> {
        self.hall.close();
        for (at, thread) in self.listeners {
            at.close(thread);
        }
        let reports = self.exports.into_iter().map(Export::stop);
        let mut reports: Result<Vec<ExportReport>, String> = reports.collect();
        let patience = Instant::now() + LAST_REPLIES;
        let open = || self.hall.open().iter().any(|s| s.strong_count() > 0);
        while open() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
        for socket in self.hall.open().drain(..).filter_map(|s| s.upgrade()) {
            socket.shutdown();
        }
        // The last replies have left after their device ended.
        for (report, (_, shared)) in reports.iter_mut().flatten().zip(&self.hall.guests.exports) {
            report.lateness = shared.lateness().clone();
        }
        reports
    }
}
