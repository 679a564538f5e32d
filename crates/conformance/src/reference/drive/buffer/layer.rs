//! Layers that write back on idle channels, on a drive (DR-7).

use super::Buffer;
use crate::reference::ahead::Ahead;
use crate::reference::background::{Flight, WriteBack};
use crate::reference::choosing::{Question, choose_by_chip};
use crate::reference::co_active::Quota;
use crate::reference::expr::SlowExpr;
use crate::reference::scheme::Group;

/// Is this the name of such a layer?
pub(super) fn is_layer(name: &str) -> bool {
    ["awb", "eager", "idle-clean"].contains(&name)
}

/// A background layer, or a policy with work of its own.
pub(super) struct Layer {
    back: WriteBack,
    ahead: Option<Ahead>,
    quota: Option<Quota>,
}

impl Layer {
    /// That of an expression, if it has one.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub(super) fn new(expr: &SlowExpr, capacity: usize) -> Result<Option<Layer>, String> {
        let quota = Quota::of(expr)?;
        let (back, ahead) = match expr.name.as_str() {
            "awb" => (WriteBack::new(expr)?, None),
            "eager" => (WriteBack::eager(expr, capacity)?, None),
            "idle-clean" => (WriteBack::ahead(), Some(Ahead::new(expr, capacity)?)),
            _ if quota.is_some() => (WriteBack::of_scheme(), None),
            _ => return Ok(None),
        };
        Ok(Some(Layer { back, ahead, quota }))
    }
}

impl Buffer {
    /// Tells `idle-clean` of it.
    pub(super) fn tell_ahead(&mut self, of: impl FnOnce(&mut Ahead)) {
        if let Some(ahead) = self.layer.as_mut().and_then(|l| l.ahead.as_mut()) {
            of(ahead);
        }
    }

    /// A read or write has come.
    pub(super) fn note_arrival(&mut self) {
        let (_, program) = self.store.flash.times();
        let now = self.store.now;
        let quota = self.layer.as_mut().and_then(|l| l.quota.as_mut());
        quota.into_iter().for_each(|q| q.request(now, program));
    }

    /// Pages are clean and stay.
    pub(super) fn cleaned(&mut self, pages: &[u64]) {
        self.scheme.cleaned(pages, &self.store);
        self.tell_ahead(|ahead| ahead.cleaned(pages));
    }

    /// A page leaves, and nobody programs it.
    pub(super) fn removed(&mut self, lpn: u64) {
        self.scheme.remove(lpn);
        self.store.frames.remove(&lpn);
        self.states.remove(&(lpn as usize));
        self.drop_translation(lpn);
        self.tell_ahead(|ahead| ahead.left(lpn, false));
    }

    /// The pages that are written back next on an idle channel.
    pub(super) fn choose(&mut self, channel: usize, busy: &dyn Fn(usize) -> bool) -> Vec<u64> {
        let (Some(layer), Some(channels)) = (&mut self.layer, self.store.flash.by_channel()) else {
            return Vec::new();
        };
        if layer.back.outstanding(channel) >= layer.back.depth {
            return Vec::new();
        }
        let busy = |lpn: u64| busy(lpn as usize);
        let (scheme, store) = (self.scheme.as_ref(), &self.store);
        let question = Question {
            back: &layer.back,
            scheme,
            store,
            channels,
            busy: &busy,
        };
        let (pages, _): Group = match (&mut layer.quota, &mut layer.ahead) {
            (Some(quota), _) => {
                let chips = channels.chips_of(channel);
                let chosen = choose_by_chip(quota, &chips, scheme, store, &busy);
                chosen.iter().for_each(|&(chip, _)| quota.count(chip));
                (chosen.into_iter().map(|(_, lpn)| lpn).collect(), None)
            }
            (None, Some(ahead)) => {
                let found = question.choose_ahead(ahead, channel);
                ahead.name(&found.0);
                found
            }
            (None, None) => question.choose(channel),
        };
        pages
    }

    /// A page that was named is in an open unit, at this place.
    pub(super) fn note_flight(&mut self, lpn: usize, place: usize, channel: usize) {
        let flights = self.layer.iter_mut().map(|layer| &mut layer.back.flights);
        for flights in flights {
            flights.push(Flight {
                token: place as u32,
                page: Some(lpn as u64),
                channel: Some(channel),
                stale: false,
                host: true,
            });
        }
    }

    /// A page was trimmed or went past the cache in part: it does not leave when older data of it are on flash.
    pub(super) fn outdate_flights(&mut self, lpn: u64) {
        let flights = self.layer.iter_mut().flat_map(|l| &mut l.back.flights);
        let of_page = flights.filter(|flight| flight.page == Some(lpn));
        of_page.for_each(|flight| flight.stale = true);
    }

    /// The frame of the data at this place is free. Does their page leave?
    pub(super) fn end_flight(&mut self, place: usize) -> bool {
        let Some(layer) = &mut self.layer else {
            return false;
        };
        let flights = &mut layer.back.flights;
        let at = flights.iter().position(|f| f.token == place as u32);
        let flight = at.map(|at| flights.remove(at));
        flight.is_some_and(|flight| !flight.stale && !layer.back.keep_clean)
    }
}
