// The value field of the goal, computed beside everything else.

/** Milliseconds at a time, so that drags go on. */
const SLICE = 6;
/** Share of the nodes that colours must tell apart; beyond, all is far. */
const SHARE = 0.98;

/** Computes fields in slices, the latest goal after the one under way. */
export class FieldWorker {
  /**
   * @param {Session} session What is explored.
   * @param {function} done Is given { values, most, isCut } and the time.
   */
  constructor(session, done) {
    this.session = session;
    this.done = done;
    this.job = null;
  }

  cancel() { this.job = null; }

  /** `again`: what is under way is of another map or graph. */
  start(again = false) {
    if (again) this.cancel();
    if (this.job) return; // it looks for a new goal when it ends
    const { goal, planner } = this.session;
    const job = { goal, turns: planner.field(goal), spent: 0 };
    this.job = job;
    const work = () => {
      if (this.job !== job) return;
      const result = this.slice(job);
      if (!result) {
        setTimeout(work);
        return;
      }
      this.job = null;
      this.done(fieldOf(result), job.spent);
      if (this.session.goal !== goal) this.start();
    };
    setTimeout(work);
  }

  /** Works for a short while; the values once all are there. */
  slice(job) {
    const begin = performance.now();
    let turn = job.turns.next();
    while (!turn.done && performance.now() - begin < SLICE) {
      turn = job.turns.next();
    }
    job.spent += performance.now() - begin;
    return turn.value;
  }
}

/** Values with the one from which on colours stay the same. */
export function fieldOf(values) {
  const known = values.filter((value) => value < Infinity).sort();
  const highest = known.at(-1) ?? 0;
  const most = known[Math.floor(SHARE * (known.length - 1))] ?? 0;
  const isCut = highest > 1.1 * most;
  return { values, most: isCut ? most : highest, isCut };
}
