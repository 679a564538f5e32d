//! Forwarding of trait methods: the only place besides the trait that spells the signatures.

/// Writes methods of [`Scheme`](crate::Scheme) that hand the call to a field: `forward!(inner: touch size ...)`.
///
/// The special name `ghosts` stands for `most_kept keeps give_up`, `measures` for
/// `meta_bytes stats list_pages`, `conformance` for `state take_notes`.
#[macro_export]
macro_rules! forward {
    (@ $i:tt rename_plan) => {
        fn rename_plan(&mut self, u: &$crate::Update, v: &$crate::View) -> $crate::RenamePlan {
            self.$i.rename_plan(u, v)
        }
    };
    (@ $i:tt tracks_updates) => {
        #[inline(always)]
        fn tracks_updates(&self, named: bool) -> bool {
            self.$i.tracks_updates(named)
        }
    };
    (@ $i:tt foresee) => {
        #[inline]
        fn foresee(&mut self, slot: Slot, a: &$crate::Access, v: &$crate::View) {
            self.$i.foresee(slot, a, v)
        }
    };
    (@ $i:tt rename) => {
        fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &$crate::View) -> bool {
            self.$i.rename(from, to, slot, v)
        }
    };
    (@ $i:tt request) => {
        #[inline(always)]
        fn request(&mut self, r: &$crate::Request, v: &$crate::View) {
            self.$i.request(r, v)
        }
    };
    (@ $i:tt request_done) => {
        #[inline(always)]
        fn request_done(&mut self, r: &$crate::Request, v: &$crate::View) {
            self.$i.request_done(r, v)
        }
    };
    (@ $i:tt admit_request) => {
        #[inline(always)]
        fn admit_request(
            &mut self,
            r: &$crate::Request,
            v: &$crate::View,
        ) -> $crate::Admission {
            self.$i.admit_request(r, v)
        }
    };
    (@ $i:tt admit_page) => {
        #[inline(always)]
        fn admit_page(&mut self, a: &$crate::Access, v: &$crate::View) -> bool {
            self.$i.admit_page(a, v)
        }
    };
    (@ $i:tt admit_read) => {
        #[inline(always)]
        fn admit_read(&mut self, a: &$crate::Access, v: &$crate::View) -> bool {
            self.$i.admit_read(a, v)
        }
    };
    (@ $i:tt full) => {
        #[inline(always)]
        fn full(&self, a: &$crate::Access, v: &$crate::View) -> bool {
            self.$i.full(a, v)
        }
    };
    (@ $i:tt look_ahead) => {
        #[inline(always)]
        fn look_ahead(&self, ahead: &$crate::Ahead) -> u64 {
            self.$i.look_ahead(ahead)
        }
    };
    (@ $i:tt ghosts) => {
        fn most_kept(&self) -> u32 {
            self.$i.most_kept()
        }

        #[inline(always)]
        fn keeps(&self, slot: Slot) -> bool {
            self.$i.keeps(slot)
        }

        #[inline(always)]
        fn give_up(&mut self) -> Option<Slot> {
            self.$i.give_up()
        }
    };
    (@ $i:tt expect) => {
        #[inline(always)]
        fn expect(&mut self, a: &$crate::Access, v: &$crate::View) {
            self.$i.expect(a, v)
        }
    };
    (@ $i:tt insert) => {
        #[inline(always)]
        fn insert(&mut self, slot: Slot, a: &$crate::Access, v: &$crate::View) {
            self.$i.insert(slot, a, v)
        }
    };
    (@ $i:tt touch) => {
        #[inline(always)]
        fn touch(&mut self, slot: Slot, a: &$crate::Access, v: &$crate::View) {
            self.$i.touch(slot, a, v)
        }
    };
    (@ $i:tt remove) => {
        #[inline(always)]
        fn remove(&mut self, slot: Slot, why: $crate::Why, v: &$crate::View) {
            self.$i.remove(slot, why, v)
        }
    };
    (@ $i:tt cleaned) => {
        fn cleaned(&mut self, slots: &[Slot], v: &$crate::View) {
            self.$i.cleaned(slots, v)
        }
    };
    (@ $i:tt forget) => {
        fn forget(&mut self, lpn: Lpn, v: &$crate::View) {
            self.$i.forget(lpn, v)
        }
    };
    (@ $i:tt size) => {
        #[inline(always)]
        fn size(&self) -> usize {
            self.$i.size()
        }
    };
    (@ $i:tt victim) => {
        #[inline(always)]
        fn page_victim(&mut self, a: &$crate::Access, v: &$crate::View) -> Option<Slot> {
            self.$i.page_victim(a, v)
        }

        #[inline]
        fn victim(&mut self, a: &$crate::Access, v: &$crate::View, out: &mut $crate::Unit) {
            self.$i.victim(a, v, out)
        }
    };
    (@ $i:tt candidates) => {
        fn candidates(
            &self,
            v: &$crate::View,
            f: &mut dyn FnMut(Slot) -> bool,
        ) -> Option<Slot> {
            self.$i.candidates(v, f)
        }
    };
    (@ $i:tt next_group) => {
        fn next_group(&self, v: &$crate::View, out: &mut $crate::Unit) {
            self.$i.next_group(v, out)
        }
    };
    (@ $i:tt flush_candidates) => {
        fn flush_candidates(
            &self,
            channel: $crate::types::ChannelId,
            v: &$crate::View,
            f: &mut dyn FnMut($crate::Candidate) -> bool,
        ) -> Option<Slot> {
            self.$i.flush_candidates(channel, v, f)
        }
        fn has_flush_candidates(&self) -> bool {
            self.$i.has_flush_candidates()
        }
    };
    (@ $i:tt background) => {
        fn background(
            &mut self,
            channel: $crate::types::ChannelId,
            outstanding: u32,
            busy: &dyn Fn(Slot) -> bool,
            v: &$crate::View,
            out: &mut $crate::Unit,
        ) -> Option<$crate::After> {
            self.$i.background(channel, outstanding, busy, v, out)
        }
        fn has_background(&self) -> bool {
            self.$i.has_background()
        }
    };
    (@ $i:tt cancels) => {
        fn cancels(&self, op: $crate::types::Op) -> bool {
            self.$i.cancels(op)
        }
    };
    (@ $i:tt meta_bytes) => {
        fn meta_bytes(&self) -> u64 {
            self.$i.meta_bytes()
        }
    };
    (@ $i:tt stats) => {
        fn stats(&self, f: &mut dyn FnMut(&'static str, u64)) {
            self.$i.stats(f)
        }
    };
    (@ $i:tt list_pages) => {
        fn list_pages(&self) -> Option<[u64; 3]> {
            self.$i.list_pages()
        }
    };
    (@ $i:tt measures) => { $crate::forward!($i: meta_bytes stats list_pages); };
    (@ $i:tt state) => {
        #[cfg(feature = "conformance")]
        fn state(&self, v: &$crate::View, out: &mut String) {
            self.$i.state(v, out)
        }
    };
    (@ $i:tt take_notes) => {
        #[cfg(feature = "conformance")]
        fn take_notes(&mut self, out: &mut Vec<($crate::Column, String)>) {
            self.$i.take_notes(out)
        }
    };
    (@ $i:tt conformance) => { $crate::forward!($i: state take_notes); };
    ($i:tt : $($m:ident)*) => { $($crate::forward!(@ $i $m);)* };
}
