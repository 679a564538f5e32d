//! Small worked examples that need nothing outside the project, followed by hand from the rules.

use destage_conformance::drive::{Chips, Config, is_built};
use destage_conformance::reference::{
    SlowCache, SlowConfig, SlowFlash, SlowRequest, Still, look_ahead,
};
use destage_conformance::suites::print;
use destage_scheme::Expr;
use destage_scheme::registry::NAMES;
use destage_types::{Op, StaticLayout};

/// Request, result, evicted, state after. `W1-2` writes pages 1 and 2, `W3<1` page 3 whose old
/// copy is page 1, `@9` at time 9, `!0` while chip 0 collects garbage.
type Row = (&'static str, &'static str, &'static str, &'static str);

struct Example {
    scheme: &'static str,
    pages: u32,
    chips: u32,
    draws: &'static [f64],
    rows: &'static [Row],
}

const fn example(scheme: &'static str, pages: u32, rows: &'static [Row]) -> Example {
    let (chips, draws): (u32, &[f64]) = (1, &[]);
    Example {
        scheme,
        pages,
        chips,
        draws,
        rows,
    }
}

const EXAMPLES: &[Example] = &[
    example(
        "none",
        1,
        &[
            ("W4-5", "MM", "flush{4} flush{5}", "(none)"),
            ("R5", "M", "read{5}", "(none)"),
            ("F", "-", "-", "(none)"),
        ],
    ),
    example(
        "lru",
        2,
        &[
            ("R7", "M", "-", "[7]"),
            ("W7", "H", "-", "[7*]"),
            ("W8", "M", "-", "[8* 7*]"),
            ("R7", "H", "-", "[7* 8*]"),
            ("R9", "M", "flush{8}", "[9 7*]"),
            ("F", "-", "-", "[9 7]"),
            ("W3-4", "MM", "drop{7} drop{9}", "[4* 3*]"),
            ("T3", "-", "-", "[4*]"),
        ],
    ),
    example(
        "clock",
        2,
        &[
            ("W1-2", "MM", "-", "[>1*:0 2*:0]"),
            ("R1", "H", "-", "[>1*:1 2*:0]"),
            ("R3", "M", "flush{2}", "[>1*:0 3:0]"),
            ("W3", "H", "-", "[>1*:0 3*:1]"),
            ("T1", "-", "-", "[>3*:1]"),
            ("W4", "M", "-", "[>3*:1 4*:0]"),
            ("W5", "M", "flush{4}", "[>3*:0 5*:0]"),
        ],
    ),
    example(
        "2q(kin=1,kout=1)",
        3,
        &[
            ("W1-3", "MMM", "-", "A1in[3* 2* 1*] A1out[] Am[]"),
            ("R1", "H", "-", "A1in[3* 2* 1*] A1out[] Am[]"),
            ("W4", "M", "flush{1}", "A1in[4* 3* 2*] A1out[1] Am[]"),
            ("R1", "M", "flush{2}", "A1in[4* 3*] A1out[2] Am[1]"),
            ("W2", "M", "flush{3}", "A1in[4*] A1out[3] Am[2* 1]"),
            ("W5", "M", "drop{1}", "A1in[5* 4*] A1out[3] Am[2*]"),
            ("T3", "-", "-", "A1in[5* 4*] A1out[] Am[2*]"),
            ("W3", "M", "flush{4}", "A1in[3* 5*] A1out[4] Am[2*]"),
        ],
    ),
    example(
        "bplru(block-pages=2,padding=true)",
        3,
        &[
            ("W5", "M", "-", "B2{5*}"),
            ("F", "-", "-", "B2{5}"),
            ("W0-1", "MM", "-", "B2{5} B0{0*,1*}"),
            ("W0", "H", "-", "B0{0*,1*} B2{5}"),
            ("W6", "M", "drop{5}", "B3{6*} B0{0*,1*}"),
            ("F", "-", "-", "B3{6} B0{0,1}"),
            ("W1", "H", "-", "B0{0,1*} B3{6}"),
            ("W6", "H", "-", "B3{6*} B0{0,1*}"),
            ("W8", "M", "flush{1} drop{0}", "B4{8*} B3{6*}"),
            ("W10", "M", "-", "B5{10*} B4{8*} B3{6*}"),
            ("W13", "M", "flush{6} pad-read{7}", "B6{13*} B5{10*} B4{8*}"),
        ],
    ),
    example(
        "vbbms(seq-min-pages=2,migrate=true)",
        5,
        &[
            ("W6", "M", "-", "RRSR: r2{6} ; SRSR: -"),
            ("W0", "M", "-", "RRSR: r0{0} r2{6} ; SRSR: -"),
            ("W8-9", "MM", "-", "RRSR: r0{0} r2{6} ; SRSR: s2{8,9}"),
            ("R6", "H", "-", "RRSR: r2{6} r0{0} ; SRSR: s2{8,9}"),
            ("W0-1", "HM", "flush{8,9}", "RRSR: r2{6} ; SRSR: s0{0,1}"),
            ("W0", "H", "-", "RRSR: r0{0} r2{6} ; SRSR: s0{1}"),
            ("T6", "-", "-", "RRSR: r0{0} ; SRSR: s0{1}"),
        ],
    ),
    example(
        "refcount(fifo,threshold=1,decay_period=3)",
        2,
        &[
            ("W1", "M count->NAND", "-", "[] C{1:1}"),
            ("W1", "M hot->cache", "-", "[1*] C{1:1}"),
            ("W1-2", "HM count->NAND", "decay", "[1*] C{2:1}"),
            ("W1", "M count->NAND", "inval{1}", "[] C{1:1 2:1}"),
        ],
    ),
    example(
        "multihash(lru,m=1,k=2,d=2,h=1,decay-period=4)",
        1,
        &[
            ("W1", "M count->NAND", "-", "[] T[1]"),
            ("W2", "M count->NAND", "-", "[] T[2]"),
            ("W1", "M hot->cache", "-", "[1*] T[3]"),
            ("W3", "M hot->cache", "flush{1} decay", "[3*] T[1]"),
            ("W3", "M count->NAND", "inval{3}", "[] T[2]"),
        ],
    ),
    example(
        "eager(lru,w=1)",
        1,
        &[("W1", "M", "-", "[1*]"), ("W2", "M", "flush{1}", "[2*]")],
    ),
    example(
        "fifo",
        2,
        &[
            ("W1-2", "MM", "-", "[2* 1*]"),
            ("R1", "H", "-", "[2* 1*]"),
            ("W3", "M", "flush{1}", "[3* 2*]"),
            ("T2", "-", "-", "[3*]"),
            ("R1", "M", "-", "[1 3*]"),
            ("W5", "M", "flush{3}", "[5* 1]"),
        ],
    ),
    // Equal counts: the page touched longer ago goes.
    example(
        "lfu",
        2,
        &[
            ("W1", "M", "-", "[1*:1]"),
            ("R1", "H", "-", "[1*:2]"),
            ("W2", "M", "-", "[2*:1 1*:2]"),
            ("W3", "M", "flush{2}", "[3*:1 1*:2]"),
            ("R3", "H", "-", "[3*:2 1*:2]"),
            ("W4", "M", "flush{1}", "[4*:1 3*:2]"),
        ],
    ),
    // The region is the whole list: a clean page goes first wherever it is.
    example(
        "cflru(x=1)",
        3,
        &[
            ("W1-2", "MM", "-", "[] | [2* 1*]"),
            ("R3", "M", "-", "[] | [3 2* 1*]"),
            ("W4", "M", "drop{3}", "[] | [4* 2* 1*]"),
            ("W5", "M", "flush{1}", "[] | [5* 4* 2*]"),
        ],
    ),
    // A ghost of T1 comes back: p grows, so T2 has to give.
    example(
        "arc",
        2,
        &[
            ("W1", "M", "-", "T1[1*] T2[] B1[] B2[] p=0"),
            ("W1", "H", "-", "T1[] T2[1*] B1[] B2[] p=0"),
            ("W2", "M", "-", "T1[2*] T2[1*] B1[] B2[] p=0"),
            ("W3", "M", "flush{2}", "T1[3*] T2[1*] B1[2] B2[] p=0"),
            ("R2", "M", "flush{1}", "T1[3*] T2[2] B1[] B2[1] p=1"),
        ],
    ),
    // Page 2 left, but the stack remembers it: it comes back as LIR and page 1 loses that rank.
    example(
        "lirs(hir=1)",
        2,
        &[
            ("W1", "M", "-", "S[1*L] Q[]"),
            ("W2", "M", "-", "S[2*H 1*L] Q[2*]"),
            ("W3", "M", "flush{2}", "S[3*H 2N 1*L] Q[3*]"),
            ("W2", "M", "flush{3}", "S[2*L] Q[1*]"),
        ],
    ),
    // Page 2 is needed later than page 1 and stays outside; a tie of "never" replaces.
    example(
        "belady",
        1,
        &[
            ("W1", "M insert", "-", "{(1,2)}"),
            ("W2", "M bypass", "-", "{(1,2)}"),
            ("R1", "H", "-", "{(1,inf)}"),
            ("W2", "M insert", "flush{1}", "{(2,inf)}"),
        ],
    ),
    // The block of two pages is divided, its rest is small then; at time 9 the divided block has
    // the lowest frequency: 1/(1*7) against 1/(1*5) and 2/(1*8).
    example(
        "req-block(delta=1)",
        3,
        &[
            ("W0-1@1", "MM", "-", "IRL b1(1,0;a1;t1) ; SRL - ; DRL -"),
            (
                "W0@2",
                "H",
                "-",
                "IRL b1(1;a1;t1) ; SRL - ; DRL b2(0;a1;t2;s)",
            ),
            (
                "W1@3",
                "H",
                "-",
                "IRL - ; SRL b1(1;a2;t1) ; DRL b2(0;a1;t2;s)",
            ),
            (
                "W5@4",
                "M",
                "-",
                "IRL b3(5;a1;t4) ; SRL b1(1;a2;t1) ; DRL b2(0;a1;t2;s)",
            ),
            (
                "W6@9",
                "M",
                "flush{0}",
                "IRL b4(6;a1;t9) b3(5;a1;t4) ; SRL b1(1;a2;t1) ; DRL -",
            ),
        ],
    ),
    // The third page makes the stream longer than two pages: all of it leaves first, newest first.
    example(
        "prober(lru,ssp=2p,rip=8)",
        3,
        &[
            ("W0", "M", "-", "LWRS (1,0,7) ; RDR [0*] ; LDR []"),
            ("W1", "M", "-", "LWRS (2,0,15) ; RDR [1* 0*] ; LDR []"),
            (
                "W2",
                "M LW mig[0, 1]",
                "-",
                "LWRS (3,0,23,L) ; RDR [] ; LDR [0* 1* 2*]",
            ),
            (
                "W9",
                "M",
                "flush{2}",
                "LWRS (3,0,23,L) (4,72,79) ; RDR [9*] ; LDR [0* 1*]",
            ),
            (
                "R1",
                "H",
                "-",
                "LWRS (3,0,23,L) (4,72,79) ; RDR [9*] ; LDR [0* 1*]",
            ),
        ],
    ),
    Example {
        draws: &[0.4, 0.6],
        ..example(
            "procache(lru,p=0.5,c=1p)",
            2,
            &[
                ("W1", "M hot(r=0.4)->cache", "-", "[1*]"),
                ("W2", "M cold(r=0.6)->NAND", "-", "[1*]"),
                ("W1", "H update", "-", "[1*]"),
                ("W1-2", "M cold(size)->NAND", "inval{1}", "[]"),
            ],
        )
    },
    // FIFO does not move the renamed page, and an eviction forgets its pair.
    example(
        "cac(fifo)",
        2,
        &[
            ("W1", "M", "-", "[1*] ; ART{}"),
            ("W5<1", "H", "remap 1->5", "[5*] ; ART{5:1}"),
            ("W6", "M", "-", "[6* 5*] ; ART{5:1}"),
            ("W7", "M", "flush{5}", "[7* 6*] ; ART{}"),
        ],
    ),
    Example {
        chips: 2,
        ..example(
            "gcar(fifo)",
            2,
            &[
                ("W0", "M", "-", "[0*]"),
                ("W1", "M", "-", "[1* 0*]"),
                ("W3!0", "M", "flush{1}", "[3* 0*]"),
                ("W5", "M", "flush{0}", "[5* 3*]"),
            ],
        )
    },
    // Idle chips: the clean page first, then the oldest dirty one of all chips.
    Example {
        chips: 2,
        ..example(
            "ecr(lru)",
            3,
            &[
                ("W0-1", "MM", "-", "clean[] c0[0*] c1[1*]"),
                ("R2", "M", "-", "clean[2] c0[0*] c1[1*]"),
                ("W3", "M", "drop{2}", "clean[] c0[0*] c1[3* 1*]"),
                ("W5", "M", "flush{0}", "clean[] c0[] c1[5* 3* 1*]"),
            ],
        )
    },
    Example {
        chips: 2,
        ..example(
            "ecr-eps",
            2,
            &[
                ("W0", "M", "-", "clean[] c0[0*] c1[]"),
                ("R1", "M", "-", "clean[] c0[0*] c1[1]"),
                ("W2", "M", "flush{0}", "clean[] c0[2*] c1[1]"),
            ],
        )
    },
    Example {
        chips: 2,
        ..example(
            "cflru-eps",
            2,
            &[
                ("R1", "M", "-", "clean[1] c0[] c1[]"),
                ("W0", "M", "-", "clean[1] c0[0*] c1[]"),
                ("R1", "H", "-", "clean[1] c0[0*] c1[]"),
                ("W2", "M", "drop{1}", "clean[] c0[2* 0*] c1[]"),
                ("W4", "M", "flush{0}", "clean[] c0[4* 2*] c1[]"),
            ],
        )
    },
    // Without a device nothing is ever written back.
    example(
        "awb(lru)",
        1,
        &[("W1", "M", "-", "[1*]"), ("W2", "M", "flush{1}", "[2*]")],
    ),
];

/// The request and the chips that collect garbage during it.
fn request(text: &str) -> (SlowRequest, Option<usize>) {
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let (text, chip) = match text.split_once('!') {
        Some((text, chip)) => (text, Some(number(chip) as usize)),
        None => (text, None),
    };
    let (text, at) = text.split_once('@').unwrap_or((text, "0"));
    let (text, prev) = match text.split_once('<') {
        Some((text, prev)) => (text, vec![Some(number(prev) * 8)]),
        None => (text, Vec::new()),
    };
    let (op, pages) = text.split_at(1);
    let (first, last) = pages.split_once('-').unwrap_or((pages, pages));
    let mut request = match op {
        "R" => SlowRequest::read_pages(8, number(first), number(last)),
        "W" => SlowRequest::write_pages(8, number(first), number(last)),
        "T" => SlowRequest::pages(Op::Trim, 8, number(first), number(last)),
        _ => SlowRequest::new(Op::Flush, 0, 0),
    };
    (request.arrival, request.prev) = (number(at), prev);
    (request, chip)
}

fn without_times(state: &str) -> &str {
    state.split(" CQCT=").next().unwrap_or(state)
}

fn collect_garbage(chips: &mut Chips, chip: Option<usize>) {
    chips.gc.fill(false);
    chip.into_iter().for_each(|c| chips.gc[c] = true);
}

fn run(example: &Example, boxed: bool) {
    let expr = Expr::parse(example.scheme).expect("a legal expression");
    let (mut requests, gc): (Vec<SlowRequest>, Vec<Option<usize>>) =
        example.rows.iter().map(|row| request(row.0)).unzip();
    look_ahead(&mut requests, 8, false);
    let config = Config {
        layout: StaticLayout::flat(1, example.chips),
        draws: (!example.draws.is_empty()).then(|| example.draws.to_vec()),
        boxed,
        ..Config::new(example.pages, 8)
    };
    let mut drive = config.drive(&expr, &requests);
    for ((row, request), chip) in example.rows.iter().zip(&requests).zip(gc) {
        collect_garbage(drive.chips(), chip);
        let got = drive.step(request);
        let got = (
            got.result.as_str(),
            got.evicted.as_str(),
            without_times(&got.state),
        );
        assert_eq!(got, (row.1, row.2, row.3), "{}: {}", example.scheme, row.0);
    }
}

/// The slow model must say the same: two readings of the rules and one by hand.
fn run_model(example: &Example) {
    let (mut requests, gc): (Vec<SlowRequest>, Vec<Option<usize>>) =
        example.rows.iter().map(|row| request(row.0)).unzip();
    look_ahead(&mut requests, 8, false);
    let chips = std::rc::Rc::new(std::cell::RefCell::new(Still::idle(example.chips as usize)));
    assert_eq!(chips.chips(), example.chips as usize);
    let config = SlowConfig::new(example.pages as usize, 8)
        .draws(example.draws)
        .flash(chips.clone());
    let mut model = SlowCache::new(example.scheme, config).expect("a model");
    for ((row, request), chip) in example.rows.iter().zip(&requests).zip(gc) {
        chips.borrow_mut().gc.fill(false);
        if let Some(chip) = chip {
            chips.borrow_mut().gc[chip] = true;
        }
        let got = model.step(request);
        let got = (
            got.result.as_str(),
            got.evicted.as_str(),
            got.state.as_str(),
        );
        let at = print(std::slice::from_ref(request));
        assert_eq!(
            got,
            (row.1, row.2, row.3),
            "model of {}: {at}",
            example.scheme
        );
    }
}

#[test]
fn own_examples_are_reproduced() {
    let mut seen = Vec::new();
    for example in EXAMPLES {
        run_model(example);
        let expr = Expr::parse(example.scheme).expect("a legal expression");
        if is_built(&expr) {
            run(example, false);
            run(example, true);
            seen.extend(expr.chain().map(|l| l.scheme().name));
        }
    }
    for name in NAMES {
        assert!(seen.contains(name), "no own example of {name}");
    }
}
