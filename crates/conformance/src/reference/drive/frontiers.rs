//! Which frontier takes which data (S-0.3, S-3). (DEVICE_MODEL.md, "Drives with units")

use destage_device::config::WritesOf;

use super::ftl::Ftl;
use super::handles::Writer;
use super::model::DriveModel;

impl Ftl {
    /// The open unit of a writer of the host, or of the map, that takes a logical unit.
    pub fn open_unit_for(&self, lpn: usize, writer: Writer) -> Option<usize> {
        let open = &self.open[self.handles.index(writer)];
        match self.static_allocation {
            true => open[self.geometry.site_of(lpn)],
            false => open.iter().copied().flatten().next(),
        }
    }

    /// Number of a unit's frontier where order matters: that of its writer, of its GC unit, then of its site.
    pub fn frontier_of(&self, unit: usize) -> (usize, usize, usize) {
        let gc_unit = self.gc_unit_of(unit);
        let u = &self.units[unit];
        let writer = self.handles.index(u.writer);
        (writer, self.geometry.turn_of(gc_unit), u.site)
    }

    /// The host's open units, by handle.
    pub(super) fn open_host_units(&self) -> Vec<usize> {
        let hosts = self.handles.hosts();
        let open = hosts.flat_map(|writer| self.open[self.handles.index(writer)].clone());
        open.flatten().collect()
    }

    /// The frontier that data moved out of a block go to, and where it may open units (S-0.3, S-3.4).
    pub(super) fn destination(
        &self,
        gc_unit: usize,
        lpn: usize,
        source: usize,
    ) -> (Writer, Vec<usize>) {
        match lpn >= self.geometry.exported {
            true => (Writer::Map, self.sites_for(lpn)),
            false => (
                self.handles.goes_to(self.blocks[source].writer),
                self.sites_of(gc_unit),
            ),
        }
    }

    /// The open unit of a frontier on one of these sites.
    pub(super) fn open_unit_among(&self, sites: &[usize], writer: Writer) -> Option<usize> {
        let open = &self.open[self.handles.index(writer)];
        sites.iter().find_map(|&site| open[site])
    }

    /// The open units of the collector of a GC unit, by handle.
    pub(super) fn open_gc_units(&self, gc_unit: usize) -> Vec<usize> {
        let gcs = self.handles.gcs();
        let sites = self.sites_of(gc_unit);
        gcs.filter_map(|writer| self.open_unit_among(&sites, writer))
            .collect()
    }
}

impl DriveModel {
    /// The handle of a request; none of them has a tag.
    fn handle_of(&self, i: usize) -> usize {
        let r = &self.requests[i];
        let Some(placement) = &self.device.placement else {
            return r.stream % self.ftl.handles.count;
        };
        let fits = |of: WritesOf| match of {
            WritesOf::Stream(stream) => stream as usize == r.stream,
            WritesOf::Tag(_) => false,
            WritesOf::Addresses(from, to) => from.0 <= r.offset && r.offset < to.0,
        };
        let row = placement.rules().iter().find(|rule| fits(rule.of));
        row.map_or(0, |rule| rule.handle as usize)
    }

    /// A request has written to a page (S-3.1/1).
    pub(super) fn take_handle(&mut self, i: usize, lpn: usize) {
        let handle = self.handle_of(i);
        // One more that may be stuck.
        if !std::mem::replace(&mut self.ftl.handles.used[handle], true) {
            self.look_at_all();
        }
        self.page_handles[lpn] = handle;
    }
}
