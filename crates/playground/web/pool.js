// Web Workers with an engine each, and the jobs that wait for them.

/** How many workers: one a processor, as each has a copy of the trace. */
const MOST_WORKERS = 8;

export class EngineError extends Error {}

/** One worker. */
class Engine {
  constructor(module) {
    this.worker = new Worker(new URL('worker.js', import.meta.url), { type: 'module' });
    this.waiting = new Map();
    this.next = 0;
    this.onprogress = () => {};
    this.dead = false;
    this.worker.onmessage = ({ data }) => this.take(data);
    this.worker.onerror = (event) => {
      this.dead = true;
      for (const { reject } of this.waiting.values()) reject(new EngineError(event.message ?? 'the worker does not start'));
    };
    this.module = module;
  }

  take(data) {
    if (data.progress) return this.onprogress(data.progress);
    const { resolve, reject } = this.waiting.get(data.id);
    this.waiting.delete(data.id);
    this.dead ||= Boolean(data.dead);
    if (data.error === undefined) resolve(data.answer);
    else reject(new EngineError(data.error));
  }

  order(message, transfer = []) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ ...message, id }, transfer);
    });
  }

  start(memory) {
    return this.order({ order: 'start', module: this.module, memory }, memory ? [memory] : []);
  }

  ask(question, file) {
    return this.order({ order: 'ask', question, file });
  }

  memory() {
    return this.order({ order: 'memory' });
  }
}

/** All workers. The first one reads the trace; the others begin as its copies. */
export class Pool {
  constructor(module) {
    this.module = module;
    this.size = Math.min(navigator.hardwareConcurrency || 2, MOST_WORKERS);
    this.engines = [];
    this.setup = [];
    this.jobs = [];
    this.generation = 0;
    this.onprogress = () => {};
    this.onidle = () => {};
  }

  async engine(memory) {
    const engine = new Engine(this.module);
    engine.onprogress = (progress) => this.onprogress(progress, engine);
    await engine.start(memory);
    return engine;
  }

  /** Another worker, for what goes on beside the trace. */
  extra() {
    return this.engine();
  }

  /** Ends all workers and their jobs; the first one is new. */
  async restart() {
    this.generation += 1;
    for (const engine of this.engines) engine.worker.terminate();
    this.engines = [];
    this.jobs = [];
    this.setup = [];
    const generation = this.generation;
    const engine = await this.engine();
    if (generation !== this.generation) {
      engine.worker.terminate();
      throw new EngineError('superseded');
    }
    this.engines = [engine];
    return engine;
  }

  /** Asks the first worker what every worker has to know. */
  async teach(question, file) {
    const answer = await this.engines[0].ask(question, file);
    this.setup.push({ question, file });
    return answer;
  }

  /** Makes the other workers copies of `of`. */
  async copy(of = this.engines[0]) {
    const generation = this.generation;
    const others = Array.from({ length: this.size - 1 }, async () => this.engine(await of.memory()));
    const copies = await Promise.all(others);
    if (generation !== this.generation) {
      for (const engine of copies) engine.worker.terminate();
      return;
    }
    for (const engine of this.engines) if (engine !== of) engine.worker.terminate();
    this.engines = [of, ...copies];
    for (const engine of copies) engine.plan = of.plan;
    this.pump();
  }

  /** Puts jobs in the place of those that wait. `run(engine)` does one. */
  replaceJobs(jobs) {
    this.jobs = [...jobs];
    this.pump();
  }

  get busy() {
    return this.jobs.length > 0 || this.engines.some((engine) => engine.busy);
  }

  pump() {
    for (const engine of this.engines) {
      if (engine.busy || engine.dead || this.held?.(engine)) continue;
      const job = this.jobs.shift();
      if (!job) break;
      engine.busy = true;
      this.work(engine, job);
    }
  }

  async work(engine, job) {
    const generation = this.generation;
    await job(engine);
    if (generation !== this.generation) return;
    engine.busy = false;
    if (engine.dead) await this.replace(engine, generation);
    if (generation !== this.generation) return;
    this.pump();
    if (!this.busy) this.onidle();
  }

  /** A worker in the place of one whose engine stopped learns all again. */
  async replace(engine, generation) {
    engine.worker.terminate();
    const fresh = await this.engine();
    for (const { question, file } of this.setup) await fresh.ask(question, file);
    if (generation !== this.generation) return fresh.worker.terminate();
    this.engines = this.engines.map((one) => (one === engine ? fresh : one));
  }
}
