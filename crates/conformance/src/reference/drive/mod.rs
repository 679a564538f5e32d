//! Drives that can be bought (D-1 to D-11, D-13 to D-17, S-0.1 to S-0.7, S-1.1 to S-1.8, S-2.1 to S-2.7, S-3.1 to S-3.6):
//! a slow model of units, a bounded buffer, paced collection, an SLC cache, a mapping table on flash, handles and the host's side, over the array that it shares with the slow
//! model of devices of pages. Operations and waiting requests are searched in turn; the mapping is a table.
//! (DEVICE_MODEL.md, "Drives with units")
//!
//! Choices that the specification leaves open. Each has a code, the rule of this model, and the alternatives.
//!
//! | code | question | rule here | alternatives |
//! |--|--|--|--|
//! | D-1/1 | How is a transfer rounded? | Bytes times `t_byte`, up to whole nanoseconds, each grant by itself. | down; a unit as a whole |
//! | D-2/1 | From when does a program hold its die? | A program of several pages: from the instant it asks for its first grant. A program of one page: from that grant, as before. | all from the grant |
//! | D-2/2 | Which free block does a frontier take? | The next pool in turn that has one; there the least worn, then the lowest. | in order of erase |
//! | D-3/1 | What are the candidates of dynamic allocation? | Frontiers in `allocation_order`. The load is the number of host programs queued or running on the die; programs that wait for `rmw` count. | planes apart |
//! | D-3/2 | Do host and collector share units where they share a block? | No. Each has its own open unit in the block. | mixed units |
//! | D-3/3 | What can a static frontier without room do to others? | Its pages are passed over; the next dirty pages in order are handed over. Pages of a FLUSH wait in their order. | all wait |
//! | D-4/1 | What does FLUSH wait for? | Pages dirty at its start are handed over at once, whatever `depth` says. Then all open host units are closed, and all host units under way are waited for. Data that no unit could take before (DR-4, DR-5) are waited for first. | only units with older data |
//! | D-4/2 | When is a page with FUA handed over? | All pages of the request, once the last has its frame; on demand a layer may do so page by page before. The request is done at the later of `t_dram` and the programs. With `nvm` FUA changes nothing. | page by page |
//! | D-4/5 | Which programs does FUA wait for? | Those under way that have data of its pages, older data too: versions of a page become durable in their order. | that of the newest data |
//! | D-4/6 | What is a preflush? | A FLUSH of its own in the slot of the write, which is fetched anew when the FLUSH is done. With `nvm` there is none. | a flag of the command |
//! | D-4/3 | In which order are units closed? | By frontier. | in the order in which they were opened |
//! | D-4/4 | When in its instant does `unit_hold` close a unit? | Before all else that the host's side does. | after what was foreseen before |
//! | D-5/1 | What uses the bus in a read? | The command phase, then the array, then one grant for all wanted bytes, as before. | one grant after the array for command and data |
//! | D-5/2 | How many bytes does a missed unit move? | The whole mapping unit (`read_fill = page`). | requested sectors |
//! | D-5/3 | What of a unit that was never written? | It is answered in `t_dram`, as no hit. | flash read |
//! | D-5/4 | When does a missed page enter the buffer? | At the start of the read. A hit on it takes `t_dram`. | at the end of the read |
//! | D-5/5 | When does `t_read_unit` apply? | To every array read that wants one mapping unit, the collector's too. | host reads only |
//! | D-5/6 | Which missed pages enter the buffer? | All: those read from memory and those never written too. | pages read from flash |
//! | D-6/1 | What is the command phase of a multi-plane read? | One `t_cmd_read` for each page with a valid place, in one grant before the array. | one for all; one before each transfer |
//! | D-6/2 | Who reads first in a block over all dies? | The same page of all dies, then the next page. | die after die |
//! | D-6/3 | What if no block can take collected places? | They wait, in order. Validity is looked at again when they are handed on. | they keep the older verdict |
//! | D-6/4 | When is a victim collected whole? | When no later page has a valid place, whatever the debt says. | at the next read |
//! | D-7/1 | Do reads of old data join? | No: one array read for each partial unit. Data in the buffer or in units under way are not read. | one for each page |
//! | D-8/1 | Does a rewrite of a clean page take a frame? | It uses its own frame, but counts as granted and may not overtake. | no grant |
//! | D-8/2 | Which page does a frame come from? | A free frame, else the next clean page in the policy's order. | dirty pages first handed over |
//! | D-8/3 | Is a rewrite of an occupied page a hit of the policy? | Yes: `lru` moves it, `fifo` leaves it at its place. | a new page |
//! | D-8/4 | In which order are things done after a program ends? | Drain, flushes, writes that wait, progress, then flushes again, whose last pages may have left. | writes first |
//! | D-8/5 | Where are data read whose frame was given back at `transfer_end`, before the program ends? | In `t_dram`, as no hit. | they wait for the program |
//! | D-8/6 | May a rewrite in place overtake writes that wait? | Yes: it takes no frame. | no |
//! | D-9/1 | Which units count against `depth`? | All host units queued or running, also those of flushes and progress. | those of drain |
//! | D-10/1 | Do clean pages keep a group in the circle? | Yes: a group leaves with its last frame. The pointer passes groups without dirty pages, and clears their bits. | dirty pages only |
//! | D-10/2 | Which clean page is evicted? | The first in the order of the pointer, which does not move. | the pointer moves |
//! | D-10/3 | Which hits set the bit? | Writes that hit a page of the group in any state. | dirty pages only |
//! | D-10/4 | Which pages move the pointer? | Those handed over, or replaced in their open unit, while no dirty page comes before them in the order. Other pages of a FLUSH or FUA do not. | those of drain only |
//! | D-11/1 | What is h of a padded unit? | All its places, because padding uses them up. | places with data |
//! | D-11/2 | When are places taken off the debt? | At the end of their read, as many as are valid then. The debt may become negative. | at the start of the read |
//! | D-11/3 | What if the host needs a block and owes nothing? | The collector goes on while the host may take no block. These places are not taken off the debt. | the run stands still |
//! | D-11/4 | What of victims without valid places? | They are erased at once while B < gc_high, without debt. | they wait for debt that never grows |
//! | D-11/5 | When does the debt vanish for want of a victim? | At each host unit, and whenever the collector looks for a victim. | at host units only, which stops for ever |
//! | D-11/6 | What if B > gc_low, but no block is erased yet? | The host waits, and the collector goes on as in D-11/3. | the host waits alone |
//! | D-11/7 | What if a collected block waits for the collector's open unit and there is no victim? | That unit is closed with padding if B > gc_low. Otherwise the host gets no block by that, and the padding would be collected without end. | always; the run stands still |
//! | D-11/8 | What are the places still to be read of a victim? | Those whose read has not been queued. With none left the next victim counts. | not handed on |
//! | D-11/9 | How does a FIFO treat a program that the debt holds? | As if it were not there. It keeps its number. | reads wait behind it |
//! | D-11/10 | When may the collector not start? | While a host read waits on the die, or after `gc_burst` places read from the die since a host program started there, while a host program could start. | per GC unit |
//! | D-11/11 | What does `gc_hold` do while the debt holds host programs? | The collector goes on; programs held by the debt are not waited for. | deadlock |
//! | D-11/12 | How long is the host's part of a drive-wide block? | Units go to any die whose part has room. A new block is taken when all parts are full. | a part of each die at a time |
//! | D-11/13 | In which order do collectors act in one instant? | Plane by plane, on each all dies. Frontiers have the same order. | `allocation_order` |
//! | D-11/14 | What is collected before the run? | What the debt of full host units asks for, in no time and read by read, or until the host may take a block. Victims under way and debts go on in the run, so it begins with the free blocks that it will have later. | whole blocks while the host needs one and no more are free than the middle of the marks: some two blocks too few |
//! | D-12/1 | May the host use up a shared block that the collector took from the reserve? | No: it opens no unit while B < gc_low. Otherwise the collector can be left without room for its victim. | the host goes on |
//! | D-13/1 | What is linked in? | The bytes of the request; times are rounded up to nanoseconds. | mapping units |
//! | D-13/2 | When does a read without flash leave? | `t_dram` after its start. A read with hits and misses leaves with the last part. | `t_dram` after the last part |
//! | D-13/3 | In which order does the host's side act in one instant? | First what follows from programs that ended (D-8/4). Then ends by request, commands in order of fetch, and arrivals by request. | arrivals first; in the order in which events were foreseen |
//! | D-15/1 | Which shares do steps have? | A draw below the product of the shares so far reaches the step. Its time is added to those before. | one draw a step |
//! | D-15/2 | What does `t_suspend` hold up? | The die, once for each suspension; several reads then follow each other. It passes even if no read is next any more. | each read |
//! | D-15/3 | Which numbers do draws use? | One number of 53 bits for each array read, from SplitMix64 started with the seed of the run. Reads draw in the order of their first grants, of one instant by channel. | a draw at the start of the array phase; a generator for each die |
//! | D-16/1 | When has a command started (`command_order = fifo`)? | A read when it is queued, a write when it has all its frames, a FLUSH when it has come. | when it is done |
//! | D-16/2 | Is the order by fetch also that of the links? | No. Links serve as commands come; the start keeps the order. | one order for all |
//! | D-17/1 | How is the pace rounded? | b/rate and m/rate each up to nanoseconds. | one common fraction |
//! | D-17/2 | Do pages that hit dirty frames count for the pace? | Yes: all mapping units that the request touches. | frames only |
//! | D-17/3 | What is q where all places left of a victim are valid? | `gc_ratio_max`, as for the debt. | 0, so that what is moved then costs nothing |
//! | S-0.5/1 | Which places change the debt with an SLC cache? | Less: those of reads that were called for while a place was owed (D-11/2, D-11/3); none of folding. More: those of static blocks, one by one with v, n and B of that moment, each after its hand-over and before its full unit is queued. The average of D-17 counts host units alone. | all reads; before the hand-over; as one sum for each read |
//! | S-0.5/2 | What are v and n of a victim in SLC mode? | v its valid places still to be read, n b' times its places still to be read: its share of a native block. | n its own places |
//! | S-0.5/3 | What is h of a host unit in SLC mode? | In a dynamic block: the places of a native unit. In a static one: there is no charge, and nothing for the average of D-17. | its own places; 0 with an average |
//! | S-0.5/4 | What if a place of a static block is handed over and there is no victim? | The debt is 0, as with a host unit (D-11/5). | it stays |
//! | S-0.9/1 | Which places are `folded`? | All that leave blocks in SLC mode, whatever called for it. | those that the debt called for are `moved` |
//! | S-1.1/1 | How many places does a unit in SLC mode count for a pause? | Its own, with padding. | those of a native unit |
//! | S-1.1/2 | How many frames must the buffer have? | With an SLC cache one SLC unit of each open host frontier. Progress closes native units that the buffer cannot fill (D-8). | one native unit |
//! | S-1.1/3 | Where in a block lie the places of its SLC mode? | They are the first pages of each plane. | every b'-th page |
//! | S-1.1/4 | How many places has a unit for a scheme that drains by itself (`reserve`)? | Those of a native unit, whatever its mode. | its own |
//! | S-1.2/1 | Which blocks are static, and which does the host take? | The last s/pools of each pool. A static block is never a native one. The one that has been free longest; at the start in ascending order. Taking it does not move the turn of the pools. | pools in turn; least worn |
//! | S-1.3/1 | What does the precondition write? | Native blocks alone: data at rest were folded. The cache is empty at the start. The host goes on with the native block that it had open. | SLC blocks too |
//! | S-1.3/2 | Which free block becomes a dynamic SLC block? | The one that the frontier would take as a native one (D-2/2). Wear counts the erases of both modes. | that with the fewest erases in SLC mode |
//! | S-1.3/3 | Which blocks does d count? | Those in SLC mode that are not static, from their opening to the end of their erase. | until the last program of their data |
//! | S-1.5/1 | When is the drive idle? | No command has been inside for `slc_idle`, counted from the end of the last one. Collectors act before arrivals of the same instant, so a fold may be queued in the instant in which a command arrives. | no operation in the array either |
//! | S-1.5/2 | When does `slc_keep` count? | When a victim is chosen: closed SLC blocks, whether their programs have ended or not. Only one whose programs have ended is taken. A victim under way goes on. | after each read |
//! | S-1.5/3 | When does the host wait for folding? | A page that was to be handed over found no frontier, and none has been handed over since then; or an entry or a FLUSH waits until units can take data. And `fold` keeps this GC unit from taking a block. Otherwise `fold` folds nothing. | while the GC unit cannot take a block |
//! | S-1.5/4 | Which of several victims goes on? | Two may be under way. Collection (debt, or D-11/3) takes the first that is not static, folding the first in SLC mode. Each chooses a next one if there is none for it. Collection goes first. One read is outstanding. | one victim at a time |
//! | S-1.5/5 | What is D-11/3 with SLC? | The host needs a block and can take none of the three kinds, and B <= gc_low or no native block is erased. Otherwise a frontier waits for folding alone. | each frontier that waits |
//! | S-1.5/6 | What if there is cause to fold and B <= gc_low? | Nothing is folded, also without a victim of collection. Collection goes on only as the debt or D-11/3 says. | collection is forced; folding goes on |
//! | S-1.5/7 | Which rules of collection hold for folding? | Its reads belong to the bursts of `gc_hold`, and its places count for `gc_burst` (D-11/10). A collector without a victim of collection closes its unit as D-11/7 says, also if it could fold. | folding holds no host program |
//! | S-1.5/8 | When are open units closed for folding? | There is cause (b), owed < 1 and B > gc_low; no SLC block is closed or under way; no place is on its way to a unit, and no program or erase of the collector is queued or runs. | with B <= gc_low too |
//! | S-1.7/1 | Which of two victims with as many valid places is taken? | With an SLC cache: one in SLC mode, then the one whose last unit was queued first. Without: the one that has had this number longest. | one rule for all |
//! | S-1.7/2 | What of victims without valid places? | While B < gc_high collection erases a native or dynamic one without debt (D-11/4). Folding takes static and others as any SLC block. | at once, whatever B is |
//! | S-0.2/1 | Which programs are the load of a frontier? | Of one of the host: those of host and map. Of one of the collector, which chooses a die where blocks lie on all dies: those of the collector alone. | map units count for both |
//! | S-0.4/1 | In which order is tried again what waits for a block? | Translation pages that are written back, in order; one more waits behind them, also if a unit is open. Then data of the host (DR-4), then collectors. Each time a block is erased. | whichever fits |
//! | S-0.4/2 | What makes room for translation pages that wait? | Collectors of GC units with B <= gc_low go on as in D-11/3. | the debt of others |
//! | S-0.5/5 | Which program class has a map unit? | That of the collector, so D-11/10 holds for it. Its GC unit owes a native unit for it, which the average of D-17 does not count. | that of the host |
//! | S-2.1/1 | What does the precondition write of the table? | The translation pages of all that is mapped, ascending, after all data. Full units owe as those of the host do. Collection before the run updates nothing, and D-17 counts the overwrites alone. | nothing |
//! | S-2.1/2 | When does work of the mapping in memory end? | Before operations of the array that end in the same instant, in the order in which it began. | after them |
//! | S-2.2/1 | When does a read ask for its translations? | After all its pages have been looked for, ascending. Units without data, and those in the buffer, in a unit under way, or waiting for room, ask for nothing. | page by page |
//! | S-2.2/2 | When does a hand-over ask? | After its place has been taken, before a full unit is closed. Old data of a partial unit (D-7) are read when its translation is there. TRIM asks after the mapping has been dropped. | before |
//! | S-2.3/1 | What of a translation page that was never written? | Its entries are present as soon as they have slots. | a load in no time |
//! | S-2.3/2 | When is a translation page in memory? | While its map unit is open, queued or runs, or while it waits for a block. Its load takes `t_dram`. | while its unit is open |
//! | S-2.3/3 | Who joins a load? | An entry that gets a slot while its page is being read. So does a further request for an entry that is being loaded, or waits for a slot. | entries without a slot too |
//! | S-2.3/4 | Where are the data of a read? | Where they are when its last translation is there and, with slots in memory of the host, `t_hmb` has passed. | where they were |
//! | S-2.3/5 | What comes first when a load ends? | All who asked for its entries, in that order; then slots are given out. | slots first |
//! | S-2.4/1 | Where does a program wait for translations? | In its place in the queue of its die, as for old data: programs of the host behind it wait. | not yet in the queue |
//! | S-2.5/1 | What is the order of the slots? | By last ask; a slot that is given out is the first. Hand-over by collection does not count. | by load |
//! | S-2.5/2 | What of an entry that is asked for while it is written back? | It waits until that is gone, then goes to the end of those that wait for a slot. | it stays |
//! | S-2.5/3 | Which entries become clean with `batch`? | All of the page with a slot, those that are loaded too. | those that are present |
//! | S-2.5/4 | When does a slot come free that was written back? | In the instant of its hand-over, once buses and dies have been granted what was queued: the map unit that it filled comes before the next load. | at once |
//! | S-2.6/1 | Which slots are in the drive? | The first ones in order, with those being loaded and written back. | those that are present |
//! | S-2.7/1 | When is an entry of a moved place looked for? | When its place is handed on. One that waits for a slot or is written back is not there. | at the end of the victim |
//! | S-2.7/2 | Which rules of collection hold for updates? | They follow the victim before the next read, and count for no debt, burst or idle time. A burst stays as long. | those of its reads |
//! | S-2.7/3 | Which map unit is closed for a block that waits (D-11/7)? | The open one, wherever it is, if it holds a place of the block. | none |
//! | S-3.1/1 | When does a page take the handle of a request? | When it is written into its frame, or past the buffer. Data that wait for room keep theirs. Before the run it is 0. | at the start of the request |
//! | S-3.1/2 | Which address counts for `placement`? | The first byte of the request, for all its pages. | that of each page |
//! | S-3.2/1 | Which handles can be stuck (D-11/3), or wait for folding? | Those that a request has written with, and 0. | all |
//! | S-3.2/2 | In which order are units closed? | By handle, then by frontier (D-4/3). | by frontier |
//! | S-3.4/1 | Whose are blocks of the collector? | With `initial` nobody's. With `persistent` those of the handle, and so is what is moved out of them. Blocks of the map are nobody's. | those of their data |
//! | S-3.6/1 | Which places are moved ones of a handle? | All that leave its blocks, folded ones too. | those of native blocks |
//!
//! Which data leave under a scheme of the other models, and what of writes that it does not admit: DR-4 to DR-6 of
//! docs/DECISIONS.md.
//!
//! DR-7 there says when layers are asked. DR-10 and DR-11 say how schemes and layers see the dies, DR-14 when `cac` renames
//! pages.
//!
//! Not modelled: background layers on demand, a frontier smaller than its GC unit, summary pages (metadata is 0).
//! The run ends at rest: queued work ends, and the debt is collected.

mod buffer;
mod collect;
mod config;
mod dies;
mod drain;
mod frames;
mod frontiers;
mod ftl;
mod geometry;
mod handles;
mod host;
mod instant;
mod layers;
mod leaving;
mod map_cache;
mod mapping;
mod model;
mod outcome;
mod queues;
mod random;
mod random_inside;
mod reads;
mod slc;
mod state;

pub use config::{Drain, DriveConfig};
pub use geometry::DrivePlace;
pub use handles::HandleCounts;
pub use instant::instant_write_amplification;
pub use map_cache::MapCounts;
pub use model::DriveModel;
pub use outcome::{DriveOp, DriveOutcome, DriveRequest, DriveTimes};
pub use random::{random_drive, random_load, random_slc_drive};
pub use random_inside::{random_handles_drive, random_inside_drive};

#[cfg(test)]
mod tests;
