//! Answers of policies of both kinds for the stages that layers are made for.

/// The methods of [`Scheme`](crate::Scheme) in which a policy has no part, and those that only ask
/// its `policy`.
macro_rules! no_part_in_other_stages {
    () => {
        fn rename_plan(
            &mut self,
            _update: &$crate::Update,
            _v: &$crate::View,
        ) -> $crate::RenamePlan {
            $crate::RenamePlan::default()
        }

        #[inline(always)]
        fn on_request(&mut self, r: &$crate::Request, v: &$crate::View) -> $crate::Admission {
            self.policy.on_request(r, v);
            $crate::Admission::PerPage
        }

        fn background_pages(
            &self,
            _channel: $crate::types::ChannelId,
            _v: &$crate::View,
            _visit: &mut dyn FnMut($crate::BackgroundPage) -> bool,
        ) -> bool {
            false
        }

        fn stats(&self, out: &mut $crate::SchemeStats) {
            self.policy.stats(out);
        }

        fn lists(&self, v: &$crate::View, out: &mut $crate::PageLists) {
            self.policy.lists(v, out);
        }

        #[cfg(feature = "conformance")]
        fn state(&self, v: &$crate::View, out: &mut String) {
            self.policy.state(v, out);
        }
    };
}

pub(super) use no_part_in_other_stages;
