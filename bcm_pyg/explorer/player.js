// A readout step by step, with what the map says at every node.
import { shown } from './drawing.js';

const part = (id) => document.getElementById(id);

/** Plays the trace of a route: the nodes whose edges were scored. */
export class Player {
  constructor(page, session, repaint) {
    this.page = page;
    this.session = session;
    this.repaint = repaint;
    this.route = null;
    this.trace = [];
    this.step = -1; // -1: the whole route
    part('step').addEventListener('input', () => {
      this.stop();
      this.goTo(Number(part('step').value));
    });
    part('back').addEventListener('click', () => this.stepBy(-1));
    part('next').addEventListener('click', () => this.stepBy(1));
    part('play').addEventListener('click', () => this.play());
    part('done').addEventListener('click', () => {
      this.stop();
      this.goTo(-1);
    });
  }

  /** Another route: shows it whole. */
  begin(route) {
    const { trace } = route;
    this.stop();
    this.route = route;
    this.trace = trace;
    this.step = -1;
    part('step').max = Math.max(trace.length - 1, 0);
    part('step').value = 0;
    part('player').disabled = trace.length === 0;
  }

  goTo(step) {
    this.step = Math.min(Math.max(step, -1), this.trace.length - 1);
    part('step').value = Math.max(this.step, 0);
    this.repaint();
  }

  stepBy(number) {
    this.stop();
    this.goTo(Math.max(this.step + number, 0));
  }

  /** Goes on by itself, or stops doing so. */
  play() {
    if (this.timer) {
      this.stop();
      return;
    }
    const { length } = this.trace;
    if (this.step + 1 >= length) this.step = -1;
    part('play').textContent = '❚❚';
    part('play').setAttribute('aria-label', 'Pause');
    // A long walk goes faster, so that it takes no more than half a minute.
    const pause = Math.max(40, Math.min(450, 30000 / length));
    this.timer = setInterval(() => {
      this.goTo(this.step + 1);
      if (this.step + 1 >= length) this.stop();
    }, pause);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    part('play').textContent = '▶';
    part('play').setAttribute('aria-label', 'Play');
  }

  /** What is seen at the step, null for the whole route. */
  look() {
    return this.step < 0 ? null : this.session.look(this.route, this.step);
  }

  say(look) {
    const { page, session } = this;
    if (!look) {
      part('said').textContent = session.walks
        ? 'Play to see what the map says at every node.'
        : 'Play to see which nodes the map makes it expand, in order.';
      return;
    }
    const best = look.neighbours.reduce((low, one) => (
      one.value < low.value ? one : low), { value: Infinity });
    const said = [`${this.step + 1} of ${this.trace.length}: at `
      + `${page.nameOf(look.node)}`];
    if (best.value < Infinity) {
      const { unit } = page.about;
      said.push(`the best neighbour is ${page.nameOf(best.node)}, by which the `
        + `map expects ${shown(best.value)}${unit && ` ${unit}`} to the goal`);
    }
    part('said').textContent = `${said.join('; ')}.`;
  }
}
