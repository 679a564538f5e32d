//! Where clients come in.

use super::budget::{BytePool, ServerLimits};
use super::connection::{ServerShared, serve};
use super::export::{Export, ExportReport};
use super::hall::{Guests, Hall, OpenConnection};
use super::place::{ListenAt, OpenPlace, Rights};
use super::tls::ServerTls;
use crate::store::PowerLoss;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

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
    const THREAD: &'static str = "requests";

    fn at_once(&self) -> usize {
        self.limits.beginnings
    }

    fn of_one_client(&self) -> usize {
        self.limits.beginnings / 2
    }

    fn serve(&self, guest: &Arc<OpenConnection>) {
        // A client that breaks off harms nobody but itself.
        let _ = serve(guest, self);
    }
}

/// Exports that clients can connect to. Dropping it closes its places and ends its exports.
pub struct Server {
    places: Vec<OpenPlace>,
    hall: Arc<Hall<ServerShared>>,
    exports: Vec<Export>,
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
        limits: ServerLimits,
    ) -> Result<Server, ServerError> {
        let of = |e: &Export| (e.sender.clone(), Arc::clone(&e.shared));
        let shared = ServerShared {
            infos: exports.iter().map(|e| e.info.clone()).collect(),
            exports: exports.iter().map(of).collect(),
            tls,
            limits,
            pool: BytePool::new(limits.pool),
            count: AtomicU64::new(0),
        };
        let mut server = Server {
            places: Vec::new(),
            hall: Hall::of(shared),
            exports,
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
        let hall = Arc::clone(&self.hall);
        let place = OpenPlace::open(at, Rights::Usual, move |listener| hall.accept(listener));
        self.places
            .push(place.map_err(|reason| ServerError::Listen {
                at: at.clone(),
                reason,
            })?);
        Ok(())
    }

    /// Where clients come in, with the ports that were taken.
    pub fn addresses(&self) -> impl Iterator<Item = &ListenAt> {
        self.places.iter().map(|place| &place.at)
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
        let Server {
            places,
            hall,
            exports,
        } = self;
        hall.close();
        drop(places);
        let reports = exports.into_iter().map(Export::stop);
        let mut reports: Result<Vec<ExportReport>, String> = reports.collect();
        let patience = Instant::now() + LAST_REPLIES;
        let is_open = || hall.open().iter().any(|guest| guest.strong_count() > 0);
        while is_open() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
        for guest in hall.open().drain(..).filter_map(|guest| guest.upgrade()) {
            guest.socket.shutdown();
        }
        // The last replies have left after their device ended.
        for (report, (_, shared)) in reports.iter_mut().flatten().zip(&hall.guests.exports) {
            report.lateness = shared.lateness().clone();
        }
        reports
    }
}
