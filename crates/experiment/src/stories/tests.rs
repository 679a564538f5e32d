//! Each story happens: what it promises is in its scenes at its instant, and its first scheme is the better one.

use super::*;
use destage_record::Scene;
use destage_record::scene::{CodedPage, SceneEvent, SceneOperation};
use destage_types::Lpn;

/// A story that was told.
struct Told {
    story: Story,
    scenes: [Scene; 2],
}

fn told(name: &str) -> Told {
    let story = Story::find(name).unwrap_or_else(|failure| panic!("{}", failure.text()));
    let mut warnings = Warnings::unsaid();
    let runs = story.watch(&mut warnings);
    let runs = runs.unwrap_or_else(|failure| panic!("{name}: {}", failure.text()));
    let [first, second] = <[WatchedRun; 2]>::try_from(runs).ok().expect("two schemes");
    let mean = |run: &WatchedRun| run.record.latency_ns.unwrap().all.mean.unwrap();
    assert!(
        mean(&first) < 0.9 * mean(&second),
        "{name}: the first scheme answers faster"
    );
    let in_window = |run: &WatchedRun| {
        let [begin, end] = [&run.scene.start.so_far, &run.scene.end.so_far];
        (end.response_sum - begin.response_sum) as f64 / (end.requests - begin.requests) as f64
    };
    assert!(
        in_window(&first) < 0.8 * in_window(&second),
        "{name}: in the window, too"
    );
    let (from, to) = story.window().unwrap();
    assert!((from.0..to.0).contains(&story.at), "{name}");
    for run in [&first, &second] {
        // The figures under the picture are those of the table.
        assert_eq!(run.scene.run.mean_ns, Some(mean(run)), "{name}");
        assert_eq!((run.scene.from, run.scene.to), (from.0, to.0), "{name}");
    }
    let scenes = [first.scene, second.scene];
    Told { story, scenes }
}

impl Told {
    /// Pages that each scheme evicts at the instant.
    fn evicted(&self) -> [Vec<CodedPage>; 2] {
        self.scenes
            .each_ref()
            .map(|scene| evicted_at(scene, self.story.at))
    }

    /// The request that arrives at the instant, and how long it takes under each scheme.
    fn response_times(&self) -> [u64; 2] {
        self.scenes
            .each_ref()
            .map(|scene| response_at(scene, self.story.at))
    }
}

fn evicted_at(scene: &Scene, time: u64) -> Vec<CodedPage> {
    let of_event = |event: &SceneEvent| match event {
        SceneEvent::Evict { at, pages } if *at == time => pages.clone(),
        _ => Vec::new(),
    };
    scene.events.iter().flat_map(of_event).collect()
}

fn evictions(scene: &Scene) -> impl Iterator<Item = (u64, CodedPage)> + '_ {
    let of_event = |event: &SceneEvent| match event {
        SceneEvent::Evict { at, pages } => pages.iter().map(|&page| (*at, page)).collect(),
        _ => Vec::new(),
    };
    scene.events.iter().flat_map(of_event)
}

fn response_at(scene: &Scene, time: u64) -> u64 {
    let sent = |event: &SceneEvent| match event {
        SceneEvent::Request(request) if request.at == time => Some(request.id),
        _ => None,
    };
    let sent = scene
        .events
        .iter()
        .find_map(sent)
        .expect("a request arrives then");
    let done = |event: &SceneEvent| match event {
        SceneEvent::Done { id, response, .. } if *id == sent => Some(*response),
        _ => None,
    };
    scene
        .events
        .iter()
        .find_map(done)
        .expect("it is complete in the window")
}

/// The pages of a list just before `time`.
fn list_before(scene: &Scene, name: &str, time: u64) -> Vec<Lpn> {
    let lists = &scene.start.lists;
    let number = lists
        .iter()
        .position(|list| list.name == name)
        .expect("a list of the start");
    let mut list = lists[number].pages.clone();
    for event in scene.events.iter().take_while(|event| event.at().0 < time) {
        if let SceneEvent::Splice {
            list: of,
            start,
            removed,
            pages,
            ..
        } = event
            && *of == number
        {
            list.splice(*start..start + removed, pages.iter().copied());
        }
    }
    list.into_iter().map(CodedPage::page).collect()
}

/// Dies that have work which was queued before `time` and is not over.
fn busy_dies(scene: &Scene, time: u64) -> Vec<u32> {
    let operation = |event: &SceneEvent| match event {
        SceneEvent::Operation(operation) => Some(operation.clone()),
        _ => None,
    };
    let all = scene.events.iter().filter_map(operation);
    let runs = |op: &SceneOperation| op.queued < time && time < op.end;
    let mut dies: Vec<u32> = all
        .chain(scene.start.busy.clone())
        .filter(runs)
        .map(|op| op.die)
        .collect();
    dies.sort_unstable();
    dies.dedup();
    dies
}

/// Steps of write-backs of the pages of a scene at `time`.
fn write_backs(scene: &Scene, time: u64) -> Vec<(Lpn, &'static str)> {
    let step = |event: &SceneEvent| match event {
        SceneEvent::WriteBack { at, page, step } if *at == time => Some((*page, *step)),
        _ => None,
    };
    scene.events.iter().filter_map(step).collect()
}

#[test]
fn every_story_has_two_sentences_and_a_name() {
    let all = stories();
    assert_eq!(all.len(), 7);
    for story in &all {
        assert_eq!(
            story.text.matches(". ").count() + 1,
            2,
            "{}: {}",
            story.name,
            story.text
        );
        assert!(
            story.text.ends_with('.') && story.promise.ends_with('.'),
            "{}",
            story.name
        );
        let words = story.promise.split(|c: char| !c.is_ascii_digit());
        let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        for page in &story.pages {
            assert!(numbers.contains(page), "{}: {page}", story.name);
        }
    }
    let fault = Story::find("why-lru-wait").unwrap_err();
    assert!(
        fault.text().contains("did you mean `why-lru-waits`?"),
        "{}",
        fault.text()
    );
}

#[test]
fn lru_waits_for_the_program_of_a_dirty_page() {
    let told = told("why-lru-waits");
    let [cflru, lru] = told.evicted();
    assert_eq!(cflru, [CodedPage::new(Lpn(13_311), false)]);
    assert_eq!(lru, [CodedPage::new(Lpn(88), true)]);
    let [quick, slow] = told.response_times();
    assert_eq!(quick, 1000, "the time of the DRAM");
    assert!(slow > 600_000, "{slow}: the time of a program");
}

#[test]
fn req_block_merges_what_was_split() {
    let told = told("what-req-block-merges");
    let at = told.story.at;
    let [pages, _] = told.evicted();
    let among = |name: &str| {
        let list = list_before(&told.scenes[0], name, at);
        pages
            .iter()
            .filter(|page| list.contains(&page.page()))
            .count()
    };
    let (rest, split) = (among("IRL"), among("DRL"));
    assert!(
        rest > 0 && split > 0 && rest + split == pages.len(),
        "{rest} and {split}"
    );
    // The next write of as many pages needs no eviction.
    let large = |event: &&SceneEvent| match event {
        SceneEvent::Request(request) => request.at > at && request.pages == 8,
        _ => false,
    };
    let next = told.scenes[0].events.iter().find(large);
    let next = next.expect("a large write arrives").clone();
    let SceneEvent::Request(request) = next else {
        unreachable!()
    };
    assert_eq!(request.page, Lpn(2384));
    let [quick, slow] = told
        .scenes
        .each_ref()
        .map(|scene| response_at(scene, request.at));
    assert!(quick == 1000 && slow > 600_000, "{quick} against {slow}");
    let evicts = evicted_at(&told.scenes[1], request.at);
    assert!(!evicts.is_empty());
}

#[test]
fn prober_evicts_the_stream() {
    let told = told("how-prober-keeps-a-stream-out");
    let at = told.story.at;
    let [stream, lru] = told.evicted();
    // The stream begins at 32 MiB.
    let of_stream = |page: &CodedPage| page.page() >= Lpn(8192);
    assert!(
        !stream.is_empty() && stream.iter().all(of_stream),
        "{stream:?}"
    );
    let kept_apart = list_before(&told.scenes[0], "LDR", at);
    assert!(kept_apart.contains(&stream[0].page()), "{kept_apart:?}");
    let hot = Lpn(422);
    assert!(lru.iter().any(|page| page.page() == hot), "{lru:?}");
    let again = |event: &&SceneEvent| match event {
        SceneEvent::Request(request) => request.at > at && request.page == hot,
        _ => false,
    };
    let again = told.scenes[0]
        .events
        .iter()
        .find(again)
        .expect("page 422 is written again");
    let [hit, miss] = told
        .scenes
        .each_ref()
        .map(|scene| response_at(scene, again.at().0));
    assert!(hit == 1000 && miss > 600_000, "{hit} against {miss}");
}

#[test]
fn cac_renames_what_lru_programs() {
    let told = told("what-cac-saves");
    let renamed = SceneEvent::Rename {
        at: told.story.at,
        from: Lpn(2811),
        to: Lpn(2902),
    };
    assert!(told.scenes[0].events.contains(&renamed));
    let old = |(at, page): (u64, CodedPage)| {
        at > told.story.at && page.page() == Lpn(2811) && page.is_dirty()
    };
    assert!(!evictions(&told.scenes[0]).any(old));
    assert!(evictions(&told.scenes[1]).any(old));
    let writes = told.scenes.each_ref().map(|scene| scene.run.flash_writes);
    assert!(writes[0] < writes[1] / 2, "{writes:?}");
}

#[test]
fn ecr_takes_a_page_of_an_idle_die() {
    let told = told("ecr-chooses-the-idle-chip");
    let die = |pages: &[CodedPage]| (pages[0].page().0 % 8) as u32;
    let [ecr, lru] = told.evicted();
    let named = [ecr[0], lru[0]].map(|page| page.page().0);
    assert_eq!(told.story.pages, named);
    let [of_ecr, of_lru] = told
        .scenes
        .each_ref()
        .map(|scene| busy_dies(scene, told.story.at));
    assert!(
        !of_ecr.contains(&die(&ecr)) && !of_ecr.is_empty(),
        "{ecr:?}, busy: {of_ecr:?}"
    );
    assert!(of_lru.contains(&die(&lru)), "{lru:?}, busy: {of_lru:?}");
    let [quick, slow] = told.response_times();
    assert!(slow > 10 * quick, "{quick} against {slow}");
}

#[test]
fn idle_cleaning_is_done_before_a_collection_is_in_the_way() {
    let told = told("idle-cleaning-against-collection");
    let (at, page) = (told.story.at, Lpn(1229));
    assert!(write_backs(&told.scenes[0], at).contains(&(page, "started")));
    let leaves =
        |scene: &Scene| evictions(scene).find(|&(time, found)| time > at && found.page() == page);
    let [clean, dirty] = told
        .scenes
        .each_ref()
        .map(|scene| leaves(scene).expect("it leaves"));
    assert!(!clean.1.is_dirty() && dirty.1.is_dirty());
    // Both leave for the same request.
    assert_eq!(clean.0, dirty.0);
    let [quick, slow] = told
        .scenes
        .each_ref()
        .map(|scene| response_at(scene, clean.0));
    assert!(quick == 1000 && slow > 30_000_000, "{quick} against {slow}");
    // The program waits for a collection of its die.
    let program = |event: &&SceneEvent| match event {
        SceneEvent::Operation(op) => op.cause == "eviction" && op.queued == dirty.0,
        _ => false,
    };
    let events = &told.scenes[1].events;
    let Some(SceneEvent::Operation(program)) = events.iter().find(program) else {
        panic!("a program is queued");
    };
    let collects = |event: &SceneEvent| match event {
        SceneEvent::Operation(op) => {
            let meets = op.begin < program.begin && op.end > program.queued;
            op.cause == "collection" && op.die == program.die && meets
        }
        _ => false,
    };
    assert!(events.iter().any(collects));
}

#[test]
fn draining_leaves_no_dirty_page_to_be_evicted() {
    let told = told("drain-against-on-demand");
    let at = told.story.at;
    let written = |event: &SceneEvent| match event {
        SceneEvent::Request(request) if request.at == at => Some(request.page),
        _ => None,
    };
    let page = told.scenes[0]
        .events
        .iter()
        .find_map(written)
        .expect("a request arrives");
    assert_eq!(page, Lpn(362));
    assert!(write_backs(&told.scenes[0], at).contains(&(page, "queued")));
    let dirty = |scene: &Scene| evictions(scene).filter(|(_, page)| page.is_dirty()).count();
    let [drain, lru] = told.scenes.each_ref().map(dirty);
    assert!(drain == 0 && lru > 0, "{drain} against {lru}");
}
