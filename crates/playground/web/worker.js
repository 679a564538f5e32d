// One engine in a Web Worker. Questions come one after the other, and each gets its answer.

const PIECE = 4 << 20;
const PATIENCE_MS = 100;

let engine, file, position, piece, panic, told;

const bytes = (place, length) => new Uint8Array(engine.memory.buffer, place, length);
const text = (place, length) => new TextDecoder().decode(bytes(place, length));

// What the engine asks of this page, and tells it.
const host = {
  read(place, length) {
    try {
      if (!piece || piece.length === 0) {
        if (!file || position >= file.size) return 0;
        const part = file.slice(position, position + PIECE);
        piece = new Uint8Array(new FileReaderSync().readAsArrayBuffer(part));
        position += piece.length;
      }
      const now = piece.subarray(0, length);
      bytes(place, now.length).set(now);
      piece = piece.subarray(now.length);
      return now.length;
    } catch {
      return -1; // The file has changed or is gone.
    }
  },
  reading: (requests) => tell('reading', requests, 0, { read: position, size: file?.size ?? 0 }),
  preparing: (done, all) => tell('preparing', done, all),
  running: (done, all) => tell('running', done, all),
  panicked(place, length) { panic = text(place, length); },
};

function tell(stage, done, all, more = {}) {
  const now = performance.now();
  if (now - told < PATIENCE_MS) return;
  told = now;
  postMessage({ progress: { stage, done, all, ...more } });
}

// An engine with the memory of another one, which so has its trace and its devices.
async function start({ module, memory }) {
  engine = (await WebAssembly.instantiate(module, { host })).exports;
  if (!memory) return null;
  const missing = memory.byteLength - engine.memory.buffer.byteLength;
  if (missing > 0) engine.memory.grow(missing / 65536);
  new Uint8Array(engine.memory.buffer).set(new Uint8Array(memory));
  return null;
}

function ask(question) {
  const asked = new TextEncoder().encode(JSON.stringify(question));
  bytes(engine.question(asked.length), asked.length).set(asked);
  const place = engine.ask();
  return JSON.parse(text(place, engine.answer_len()));
}

// Why the engine stopped: a trap without a panic is memory that the browser does not give.
function stopped(error) {
  const size = Math.round(engine.memory.buffer.byteLength / 2 ** 20);
  return panic
    ? `the engine failed, which is a defect of destage: ${panic}`
    : `the engine stopped with ${size} MiB of memory: the browser gives no more (${error.message})`;
}

onmessage = async ({ data }) => {
  const { id, order } = data;
  [file, position, piece, panic, told] = [data.file, 0, null, null, 0];
  const begun = performance.now();
  try {
    if (order === 'start') {
      postMessage({ id, answer: await start(data) });
    } else if (order === 'memory') {
      const memory = engine.memory.buffer.slice(0);
      postMessage({ id, answer: memory }, [memory]);
    } else {
      postMessage({ id, ...ask(data.question), ms: performance.now() - begun });
    }
  } catch (error) {
    postMessage({ id, error: engine ? stopped(error) : String(error), dead: true });
  }
};
