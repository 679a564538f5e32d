//! Every stage of a scheme, as the cache calls them, and layers that change one stage each.

use super::SchemeStats;
use super::{
    Access, Admission, BackgroundPage, PageLists, RemoveReason, RenamePlan, Request, SchemeNotice,
    Unit, Update, Victim, View, WriteBack, WriteBackQuery,
};
use crate::store::{Ghosts, Upcoming};
use destage_types::{ChannelId, Lpn, Slot};

/// Spells each method of a scheme once, for [`Scheme`], for [`Layer`], which hands it to the scheme
/// inside, and for the layer as a scheme. So no layer can drop a call it does not care about.
macro_rules! stages {
    ($(
        $stage:ident {
            ask {
                $($(#[$doc_ask:meta])*
                fn $ask:ident(&self $(, $in_ask:ident: $of_ask:ty)*) $(-> $out_ask:ty)?;)*
            }
            tell {
                $($(#[$doc_tell:meta])*
                fn $tell:ident(&mut self $(, $in_tell:ident: $of_tell:ty)*) $(-> $out_tell:ty)?;)*
            }
        }
    )*) => {
        /// A cache-management scheme, whole: what the cache asks and tells it, stage by stage. See
        /// [the contract](crate::contract) for the order of calls.
        ///
        /// Page policies implement [`Policy`](crate::Policy), group policies
        /// [`GroupPolicy`](crate::GroupPolicy), layers [`Layer`]; each of them is a scheme by that.
        pub trait Scheme {
            $(
                $($(#[$doc_ask])* fn $ask(&self $(, $in_ask: $of_ask)*) $(-> $out_ask)?;)*
                $($(#[$doc_tell])* fn $tell(&mut self $(, $in_tell: $of_tell)*) $(-> $out_tell)?;)*
            )*
        }

        /// A scheme around another one. It writes the methods of its own stage; whatever it does not
        /// mention goes to the scheme inside.
        ///
        /// `victim` may name any page of the `next_victims`, or any of the `next_units`, of the scheme
        /// inside. That one is not asked for its own then, and hears of the pages in `on_remove` as of any
        /// other.
        ///
        /// A whole layer, which keeps the pages of busy chips if there are others:
        ///
        /// ```
        /// use destage_scheme::info::{OF_INNER, PaperSource, ParamInfo, Role, SchemeInfo};
        /// use destage_scheme::layer::layer_below;
        /// use destage_scheme::contract::{Build, boxed};
        /// use destage_scheme::{Access, Boxed, Env, Expr, Layer, Scheme, Unit, Victim, View, params};
        ///
        /// pub const INFO: SchemeInfo = SchemeInfo {
        ///     name: "idle-first",
        ///     summary: "Takes the first of the next victims whose chip is idle.",
        ///     source: PaperSource {
        ///         paper: "not from a paper",
        ///         ..PaperSource::CLASSIC
        ///     },
        ///     role: Role::VictimFilter,    // where it may stand
        ///     params: &[IdleFirstParams::PARAMS],
        ///     ties: "the order of the scheme inside",
        ///     order: Some("that of the scheme inside, as if all chips were idle"),
        ///     needs_order: |_| true,       // refuses schemes without an order
        ///     chip_aware: true,            // refused where pages have no chip of their own
        ///     metadata: OF_INNER,          // it has none
        ///     without_device: Some(|inner| format!("idle-first({inner}) acts as {inner}")),
        ///     build: Some(boxed::<IdleFirst<Boxed>>),
        ///     ..SchemeInfo::BASE
        /// };
        ///
        /// params! {
        ///     /// Parameters of [`IdleFirst`].
        ///     pub struct IdleFirstParams {
        ///         /// next victims that are looked at
        ///         depth: usize = ParamInfo::frames(1, 1, 16, 1).unit("pages").source("no paper"),
        ///     }
        /// }
        ///
        /// pub struct IdleFirst<S> {
        ///     inner: S,
        ///     depth: usize,
        /// }
        ///
        /// impl<S: Build> Build for IdleFirst<S> {
        ///     fn build(expr: &Expr, env: &Env) -> IdleFirst<S> {
        ///         let inner = S::build(layer_below(expr), env);
        ///         let IdleFirstParams { depth } = IdleFirstParams::of(expr, env);
        ///         IdleFirst { inner, depth }
        ///     }
        /// }
        ///
        /// impl<S: Scheme> Layer for IdleFirst<S> {
        ///     destage_scheme::inside!(inner: S);
        ///
        ///     fn victim(&mut self, a: &Access, v: &View, unit: &mut Unit) -> Victim {
        ///         let (mut left, mut idle) = (self.depth, None);
        ///         self.inner.next_victims(v, &mut |slot| {
        ///             idle = v.device.is_idle(v.chip(slot)).then_some(slot);
        ///             left -= 1;
        ///             idle.is_none() && left > 0
        ///         });
        ///         match idle {
        ///             Some(slot) => Victim::Page(slot),
        ///             None => self.inner.victim(a, v, unit),
        ///         }
        ///     }
        /// }
        ///
        /// let expr = Expr::parse_with("cac(idle-first(arc,depth=8))", &[&INFO]).unwrap();
        /// Boxed::build(&expr, &Env::cache_only(64));
        /// assert!(Expr::parse_with("idle-first(2q)", &[&INFO]).is_err(), "2q has no order");
        /// ```
        pub trait Layer {
            /// The scheme inside.
            type Inner: Scheme + ?Sized;

            /// The scheme inside.
            fn inner(&self) -> &Self::Inner;

            /// The scheme inside.
            fn inner_mut(&mut self) -> &mut Self::Inner;

            $(
                $($(#[$doc_ask])* #[inline(always)] fn $ask(&self $(, $in_ask: $of_ask)*) $(-> $out_ask)? {
                    self.inner().$ask($($in_ask),*)
                })*
                $($(#[$doc_tell])* #[inline(always)] fn $tell(&mut self $(, $in_tell: $of_tell)*) $(-> $out_tell)? {
                    self.inner_mut().$tell($($in_tell),*)
                })*
            )*
        }

        impl<L: Layer> Scheme for L {
            $(
                $($(#[$doc_ask])* #[inline(always)] fn $ask(&self $(, $in_ask: $of_ask)*) $(-> $out_ask)? {
                    Layer::$ask(self $(, $in_ask)*)
                })*
                $($(#[$doc_tell])* #[inline(always)] fn $tell(&mut self $(, $in_tell: $of_tell)*) $(-> $out_tell)? {
                    Layer::$tell(self $(, $in_tell)*)
                })*
            )*
        }
    };
}

stages! {
    mapping {
        ask {
        }
        tell {
            /// The effect of an update on cached pages. Asked for every block of a write that names
            /// old addresses, before `on_request`.
            fn rename_plan(&mut self, update: &Update, v: &View) -> RenamePlan;
            /// Page `from` is page `to` from now on (D11). With a slot: the page in it was `from`, and
            /// `v.frames` already says `to`. Without: says whether `from` was remembered, and remembers
            /// it as `to`. The history of `to` was forgotten before.
            fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool;
        }
    }
    admission {
        ask {
        }
        tell {
            /// A read or write request begins. May a write enter the cache, and how? For a read the answer
            /// does not matter.
            fn on_request(&mut self, r: &Request, v: &View) -> Admission;
            /// May this page enter the cache? Asked about each written page, hit or miss, which goes to flash
            /// otherwise; with read allocation also about each read miss, before room is made.
            fn admit(&mut self, a: &Access, v: &View) -> bool;
        }
    }
    replacement {
        ask {
            /// Must a unit leave before page `a` can enter?
            fn is_full(&self, a: &Access, v: &View) -> bool;
            /// Pages in the order in which they would leave if nothing else happened, until `visit`
            /// says `false`. Schemes without such an order show none.
            fn next_victims(&self, v: &View, visit: &mut dyn FnMut(Slot) -> bool);
            /// A number for a dirty page: of two of them the one with the smaller number comes first in
            /// `next_victims`. `None` where that takes a search; a layer with an order of its own says so too.
            fn place(&self, slot: Slot, v: &View) -> Option<u64>;
            /// Units that could leave, single pages too, put into `unit`, which is empty, one after
            /// the other in the order of eviction: each is the unit that would leave now if those
            /// before it had to stay. Ends where `stop` says so of one, which stays in `unit`, or
            /// with an empty `unit`. With the page that comes in, `incoming`, the state of the
            /// device counts as well: for the victim filter right outside. Without it, what leaves
            /// if nothing else happens: a group policy without an order shows one unit.
            fn next_units(&self, incoming: Option<&Access>, v: &View, unit: &mut Unit, stop: &mut dyn FnMut(&Unit) -> bool);
            /// The first of these for `incoming` that `stop` takes, which takes none without a dirty page. Written with
            /// `next_units`.
            fn next_dirty_unit(&self, incoming: &Access, v: &View, unit: &mut Unit, stop: &mut dyn FnMut(&Unit) -> bool);
        }
        tell {
            /// Page `a` is about to enter: adapt. Once for each page, before room is made for it.
            fn on_miss(&mut self, a: &Access, v: &View);
            /// Page `a` is in `slot` now; `v.frames` holds it.
            fn on_insert(&mut self, slot: Slot, a: &Access, v: &View);
            /// Page `a`, which is in `slot`, is hit; `v.frames` has the state before the access.
            fn on_hit(&mut self, slot: Slot, a: &Access, v: &View);
            /// The page in `slot` leaves; `v.frames` still holds it.
            fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View);
            /// Other events of pages and requests.
            fn on_notice(&mut self, notice: SchemeNotice<'_>, v: &View);
            /// Names what leaves to let `a` in, while there are pages: one page, or the pages put into
            /// `unit`, which is empty.
            fn victim(&mut self, a: &Access, v: &View, unit: &mut Unit) -> Victim;
        }
    }
    write_back {
        ask {
            /// Pages that the scheme keeps apart for a background layer outside and that may go to
            /// `channel`, in the order in which they are to be written, until `visit` says `false`. Says whether there
            /// are any on this or another channel.
            fn background_pages(&self, channel: ChannelId, v: &View, visit: &mut dyn FnMut(BackgroundPage) -> bool) -> bool;
        }
        tell {
            /// Puts pages to write back into `unit`, which is empty.
            fn write_back(&mut self, query: &WriteBackQuery, v: &View, unit: &mut Unit) -> WriteBack;
        }
    }
    ghosts {
        ask {
        }
        tell {
            /// Pages that the scheme remembers, in their slots or apart, if it remembers any: the cache
            /// keeps those slots until they are released.
            fn ghosts(&mut self) -> Option<&mut Ghosts>;
        }
    }
    memory {
        ask {
            /// Reads what the scheme knows of pages that are accessed soon, so that the processor has
            /// it at hand then.
            fn prefetch(&self, upcoming: &Upcoming);
        }
        tell {
        }
    }
    measures {
        ask {
            /// Bytes of metadata with the `pages` that it holds now: live nodes and fixed structures.
            fn metadata_bytes(&self, pages: u64) -> u64;
            /// Counters and gauges of the scheme's own, reported as `scheme_stats`.
            fn stats(&self, out: &mut SchemeStats);
            /// The lists that the scheme keeps its cached pages in.
            fn lists(&self, v: &View, out: &mut PageLists);
            /// The state as the worked examples print it.
            #[cfg(feature = "conformance")]
            fn state(&self, v: &View, out: &mut String);
        }
        tell {
            /// Moves the words noted since the last call to `out`.
            #[cfg(feature = "conformance")]
            fn take_notes(&mut self, out: &mut Vec<crate::Note>);
        }
    }
}

/// The part that every [`Layer`] writes alike: the scheme inside is the field of this name
/// and type.
#[macro_export]
macro_rules! inside {
    ($field:ident: $inner:ty) => {
        type Inner = $inner;

        fn inner(&self) -> &$inner {
            &self.$field
        }

        fn inner_mut(&mut self) -> &mut $inner {
            &mut self.$field
        }
    };
}

/// Questions of layers that take more than one answer of a scheme.
pub trait SchemeExt: Scheme {
    /// Most pages whose slots the scheme keeps after they left, to remember them there.
    fn max_ghosts(&mut self) -> u32 {
        self.ghosts().map_or(0, |ghosts| ghosts.max_in_slots())
    }

    /// The first of the next victims that is acceptable.
    fn first_victim(&self, v: &View, mut accept: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let mut first = None;
        self.next_victims(v, &mut |slot| {
            first = accept(slot).then_some(slot);
            first.is_none()
        });
        first
    }
}

impl<S: Scheme + ?Sized> SchemeExt for S {}

/// Any scheme behind a pointer, for compositions without a static type of their own.
pub struct Boxed(pub Box<dyn Scheme + Send>);

impl Layer for Boxed {
    type Inner = dyn Scheme + Send;

    #[inline]
    fn inner(&self) -> &Self::Inner {
        &*self.0
    }

    #[inline]
    fn inner_mut(&mut self) -> &mut Self::Inner {
        &mut *self.0
    }
}
